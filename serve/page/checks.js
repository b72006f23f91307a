// Verifying models: jobs that fit a model again and compare it byte by byte. They go on when the
// page is left; their ids lead back to them.

import { change, get, inWords, pause, send } from './api.js';
import { button, digest, el, empty, facts, link, mark, notice, path, replace, say, table }
    from './dom.js';
import { list, percent, time } from './words.js';

const ENDED = ['done', 'failed', 'cancelled'];

function ended(job) {
    return ENDED.includes(job.state);
}

// What came out, in words; `kind` is a class.
function outcome(job) {
    if (job.state === 'done' && job.identical) return { kind: 'identical', text: 'identical' };
    if (job.state === 'done') {
        const where = `${job.what || ''} ${job.where || ''}`.trim();
        return { kind: 'different', text: `different: ${where}` };
    }
    return { kind: job.state, text: job.state };
}

// Follows a job until it has ended, and calls `each` whenever there is news.
async function follow(id, signal, each) {
    for (let wait = 150; ; wait = Math.min(wait * 1.5, 2000)) {
        const job = await get(`v1/jobs/${path(id)}`, signal);
        each(job);
        if (ended(job)) return job;
        await pause(wait, signal);
    }
}

function progress(job) {
    if (ended(job)) {
        const { kind, text } = outcome(job);
        return mark(kind, text);
    }
    const part = typeof job.part === 'number' && job.part >= 0 ? job.part : null;
    return el('span', { class: 'progress' },
        el('progress', { max: '1', value: part === null ? null : String(part),
            'aria-label': `Verifying ${job.model}` }),
        el('span', { class: 'pale' }, job.state === 'waiting' ? 'waiting'
            : part === null ? 'running' : percent(part)));
}

// What all jobs came to, once they have ended. `after` has the commitments of a receipt, or is null.
function verdict(jobs, after) {
    const same = jobs.filter((job) => job && job.state === 'done' && job.identical);
    const bad = jobs.filter((job) => job && job.state === 'done' && !job.identical);
    const moved = same.filter((job) => after && after.get(job.model) && job.commitment
        && after.get(job.model) !== job.commitment);
    if (bad.length) {
        return notice('bad', el('p', null, el('strong', null, 'Different. '),
            `${list(bad.map((job) => job.model))}: not what a fit to the rows gives. The person who runs `
            + 'the service should look at it (efface check).'));
    }
    if (same.length < jobs.length) {
        return notice('warn', el('p', null, 'Not every check came to its end.'));
    }
    return notice('good', el('p', null, el('strong', null, 'Identical. '),
        jobs.length === 1 ? 'The model is' : `All ${jobs.length} models are`,
        ' byte for byte what a fit to the present rows gives.',
        moved.length ? ' Later requests have changed '
            + `${list(moved.map((job) => job.model))} since this receipt.` : ''));
}

// A panel that verifies models, one after the other. The ids of the jobs are kept under `key`, so
// that the panel goes on after a reload.
export function verifyPanel(store, names, after, signal, key) {
    const out = el('div', { class: 'verify' });
    const start = button(names.length === 1 ? 'Verify the model' : 'Verify the models',
        () => run({}), 'primary');
    const kept = () => JSON.parse(sessionStorage.getItem(key) || 'null');

    async function one(name, id, [result, check]) {
        const job = id || (await change(
            `v1/stores/${path(store)}/models/${path(name)}/verify`, {})).job;
        sessionStorage.setItem(key, JSON.stringify({ ...kept(), [name]: job }));
        replace(check, link(path('checks', job), job.slice(0, 8)));
        return follow(job, signal, (news) => replace(result, progress(news)));
    }

    async function run(ids) {
        const cells = names.map(() => [el('span', null, 'waiting'), el('span', null, '–')]);
        const head = el('div');
        const jobs = [];
        start.disabled = true;
        sessionStorage.setItem(key, JSON.stringify(ids));
        replace(out, head, table('Checks of models', [{ name: 'Model' }, { name: 'Result' },
            { name: 'Check' }], names.map((name, i) => [name, ...cells[i]]), true));
        say('Verifying');
        for (const [i, name] of names.entries()) {
            try {
                jobs.push(await one(name, ids[name], cells[i]));
            } catch (refusal) {
                if (refusal.name === 'AbortError' || refusal.status === 401) return;
                jobs.push(null);
                replace(cells[i][0], ids[name] && refusal.status === 404
                    ? 'The service does not know this check any more.' : inWords(refusal));
            }
        }
        replace(head, verdict(jobs, after));
        say(head.textContent);
        start.disabled = false;
        start.textContent = 'Verify again';
    }

    if (kept()) run(kept());
    return el('div', { class: 'verify' }, el('p', { class: 'actions' }, start), out);
}

export async function showChecks({ main, signal }) {
    const { jobs } = await get('v1/jobs', signal);
    const heading = el('h1', null, 'Checks');
    const lead = el('p', { class: 'lead' }, 'A check fits a model again from the rows that are '
        + 'there, and compares every byte.');
    if (jobs.length === 0) {
        replace(main, heading, lead, empty('No checks yet', el('p', null,
            'Start one on the page of a model or of a receipt.')));
        return;
    }
    replace(main, heading, lead, table('Checks', [{ name: 'Check' }, { name: 'Store' },
        { name: 'Model' }, { name: 'Result' }, { name: 'Started' }],
    jobs.filter((job) => job.kind === 'verify').map((job) => [link(path('checks', job.job), job.job.slice(0, 8)), job.store, job.model,
        progress(job), job.started ? time(job.started) : '–']), true));
}

export async function showCheck({ main, parts, signal }) {
    const box = el('div', { class: 'verify' });
    const first = await get(`v1/jobs/${path(parts[0])}`, signal);
    const stop = el('p', { class: 'actions' }, button('Stop the check', () =>
        send('DELETE', `v1/jobs/${path(first.job)}`).catch(() => {})));
    const draw = (job) => replace(box,
        job.state === 'done' && job.identical ? notice('good', el('p', null,
            el('strong', null, 'Identical. '), 'The model is byte for byte what a fit to the rows '
                + 'gives.')) : null,
        el('div', { class: 'card' }, facts([
            ['Store', link(path('stores', job.store), job.store)],
            ['Model', job.model],
            ['Result', progress(job)],
            job.started ? ['Started', time(job.started)] : null,
            job.ended ? ['Ended', time(job.ended)] : null,
            job.commitment ? ['Commitment to the model', digest(job.commitment, true)] : null,
            job.error ? ['Why', job.error.message] : null,
            ['Number of the check', el('code', null, job.job)],
        ])),
        ended(job) ? null : stop);
    replace(main,
        el('nav', { class: 'crumbs', 'aria-label': 'Where you are' }, link('checks', 'Checks')),
        el('h1', null, `Check of ${first.model}`),
        el('p', { class: 'lead' }, 'It goes on if you leave this page. This address leads back to '
            + 'it.'), box);
    draw(first);
    if (ended(first)) return;
    follow(first.job, signal, draw)
        .then((last) => say(`The check has ended: ${outcome(last).text}`))
        .catch((refusal) => {
            if (refusal.name === 'AbortError' || refusal.status === 401) return;
            replace(box, notice('bad', el('p', null, inWords(refusal))));
        });
}
