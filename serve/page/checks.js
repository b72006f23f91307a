// Verifying models: jobs that fit a model again and compare it byte by byte. They go on when the
// page is left; their ids lead back to them.

import { change, get, inWords, pause, send } from './api.js';
import { button, digest, el, empty, facts, link, notice, path, replace, say, table } from './dom.js';
import { jobState, list, percent, time } from './words.js';

const ENDED = ['done', 'failed', 'cancelled'];

function ended(job) {
    return ENDED.includes(job.state);
}

// What came out, in words; `mark` is a class.
function outcome(job) {
    if (job.state === 'done' && job.identical) return { mark: 'identical', text: 'identical' };
    if (job.state === 'done') {
        return { mark: 'different', text: `different: ${job.what || ''} ${job.where || ''}`.trim() };
    }
    return { mark: job.state, text: jobState(job.state) };
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
        const { mark, text } = outcome(job);
        return el('span', { class: `mark ${mark}` }, text);
    }
    const part = typeof job.part === 'number' && job.part >= 0 ? job.part : null;
    return el('span', { class: 'progress' },
        el('progress', { max: '1', value: part === null ? null : String(part),
            'aria-label': `Verifying ${job.model}` }),
        el('span', { class: 'pale' }, job.state === 'waiting' ? 'waiting'
            : part === null ? 'running' : percent(part)));
}

// A panel that verifies models. `after` has the digest that each is expected to have, or null.
export function verifyPanel(store, names, after, signal, key) {
    const out = el('div', { 'aria-live': 'polite' });
    const start = button(names.length === 1 ? 'Verify the model' : 'Verify the models', run, 'primary');
    const rows = new Map();

    function show() {
        const done = [...rows.values()].filter((row) => row.job && ended(row.job));
        const same = done.filter((row) => row.job.identical);
        let head = null;
        if (done.length === names.length) {
            const bad = done.filter((row) => row.job.state === 'done' && !row.job.identical);
            const moved = same.filter((row) => after && after.get(row.name)
                && row.job.digest && after.get(row.name) !== row.job.digest);
            if (same.length === names.length) {
                head = notice('good', el('p', null, el('strong', null, 'Identical. '),
                    names.length === 1 ? 'The model is' : `All ${names.length} models are`,
                    ' byte for byte what a fit to the rows that are there now gives.',
                    moved.length ? ' Later requests have changed '
                        + `${list(moved.map((row) => row.name))} since this receipt.` : ''));
            } else if (bad.length) {
                head = notice('bad', el('p', null, el('strong', null, 'Different. '),
                    `${list(bad.map((row) => row.name))}: not what a fit to the rows gives. `
                    + 'Whoever runs the service should look at it (efface check).'));
            } else {
                head = notice('warn', el('p', null, 'Not every check came to its end.'));
            }
        }
        replace(out, head, table('Checks of models', [{ name: 'Model' }, { name: 'Result' },
            { name: 'Check' }], names.map((name) => {
            const row = rows.get(name);
            return [name, !row ? 'waiting' : row.problem || progress(row.job),
                row && row.job ? link(path('checks', row.job.job), row.job.job.slice(0, 8)) : '–'];
        }), true));
        return head;
    }

    async function one(name, id) {
        const job = id || (await change(
            `v1/stores/${path(store)}/models/${path(name)}/verify`, {})).job;
        if (key) {
            const ids = JSON.parse(sessionStorage.getItem(key) || '{}');
            sessionStorage.setItem(key, JSON.stringify({ ...ids, [name]: job }));
        }
        await follow(job, signal, (news) => {
            rows.set(name, { name, job: news });
            show();
        });
    }

    async function run(event, ids) {
        start.disabled = true;
        rows.clear();
        if (key && !ids) sessionStorage.removeItem(key);
        show();
        for (const name of names) {
            try {
                await one(name, ids && ids[name]);
            } catch (refusal) {
                if (refusal.name === 'AbortError' || refusal.status === 401) return;
                rows.set(name, { name, problem: inWords(refusal), job: null });
            }
        }
        const head = show();
        say(head ? head.textContent : 'The checks have ended');
        start.disabled = false;
        start.textContent = 'Verify again';
    }

    const box = el('div', { class: 'verify' }, el('p', { class: 'actions' }, start), out);
    const before = key && JSON.parse(sessionStorage.getItem(key) || 'null');
    if (before) run(null, before);
    return box;
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
    jobs.map((job) => [link(path('checks', job.job), job.job.slice(0, 8)), job.store, job.model,
        progress(job), job.started ? time(job.started) : '–']), true));
}

export async function showCheck({ main, parts, signal, land }) {
    const box = el('div', { 'aria-live': 'polite' });
    const first = await get(`v1/jobs/${path(parts[0])}`, signal);
    const draw = (job) => replace(box,
        job.state === 'done' && job.identical ? notice('good', el('p', null,
            el('strong', null, 'Identical. '), 'The model is byte for byte what a fit to the rows '
                + 'gives.')) : null,
        facts([
            ['Store', link(path('stores', job.store), job.store)],
            ['Model', job.model],
            ['Result', progress(job)],
            job.started ? ['Started', time(job.started)] : null,
            job.ended ? ['Ended', time(job.ended)] : null,
            job.digest ? ['Digest of the model', digest(job.digest, true)] : null,
            ['Number of the check', el('code', null, job.job)],
        ]),
        ended(job) ? null : el('p', { class: 'actions' }, button('Stop the check', async () => {
            await send('DELETE', `v1/jobs/${path(job.job)}`).catch(() => {});
        })));
    replace(main,
        el('nav', { class: 'crumbs', 'aria-label': 'Where you are' }, link('checks', 'Checks')),
        el('h1', null, `Check of ${first.model}`),
        el('p', { class: 'lead' }, 'It goes on if you leave this page. This address leads back to '
            + 'it.'), box);
    draw(first);
    land();
    if (!ended(first)) await follow(first.job, signal, draw);
}
