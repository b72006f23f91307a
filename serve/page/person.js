// Finding a person or a row, what forgetting them would take, and forgetting them.
//
// Whom somebody looks for never stands in the address. It is kept for a reload, in sessionStorage,
// until the work is done (api.js); what was typed to confirm is not kept.

import { Refusal, ask, change, get, inWords, keepWork, keptWork } from './api.js';
import { button, el, empty, link, mark, notice, path, replace, say, table } from './dom.js';
import { action, cost, count, list, number, short, whole } from './words.js';

const MAX_ROWS = 200;
const BY = {
    owner: { label: 'A person (owner of rows)', noun: 'owner', hint: 'All rows of the owner.' },
    row: { label: 'A row', noun: 'id', hint: 'One row, by its id.' },
};

// What names the rows in a request: numbers or texts, as the store has them.
function whomOf(store, by, text) {
    const are = by === 'owner' ? store.owners_are : store.ids;
    const isNumber = are === 'numbers' || (are !== 'texts' && /^-?\d+$/.test(text));
    if (by === 'owner') return isNumber ? { owners: [text] } : { owner_keys: [text] };
    return isNumber ? { ids: [text] } : { keys: [text] };
}

// A text that cannot be an id of this store, in words; or ''.
function wrongKind(store, by, text) {
    const are = by === 'owner' ? store.owners_are : store.ids;
    if (are !== 'numbers' || /^\d{1,20}$/.test(text)) return '';
    return `In this store, ${by === 'owner' ? 'owners' : 'ids'} are whole numbers.`;
}

// Rows with their texts, if the store keeps them. The owner is left out where all rows are theirs.
function rowsTable(found, by) {
    const names = found.columns.map((name, i) => name || `column ${i}`);
    const has = (what) => found.rows.some((row) => row[what] !== null && row[what] !== undefined);
    const owner = has('owner_key') ? 'owner_key' : 'owner';
    const extra = [by !== 'owner' && has(owner) && [owner, 'Owner'],
        has('label') && ['label', 'Label'],
        found.rows.some((row) => row.weight !== 1) && ['weight', 'Weight']].filter(Boolean);
    const columns = [{ name: 'Id' }, ...extra.map(([, name]) => ({ name })),
        ...names.map((name) => ({ name, number: true }))];
    const order = new Intl.Collator('en', { numeric: true });
    const rows = [...found.rows].sort((a, b) => order.compare(a.key || a.id, b.key || b.id))
        .map((row) => [row.key || row.id, ...extra.map(([what]) => String(row[what] ?? '–')),
            ...row.values.map(number)]);
    return table('Rows that the store has', columns, rows);
}

function previewTable(preview) {
    return table('What it takes, by model', [{ name: 'Model' }, { name: 'What will happen' },
        { name: 'Why' }],
    preview.models.map((model) => [model.name, mark(model.action, action(model.action, false)),
        [model.reason, model.where ? `, ${model.where}` : '']]), true);
}

function sameRows(a, b) {
    return JSON.stringify([a.of, a.rows]) === JSON.stringify([b.of, b.rows]);
}

export async function showPerson({ main, parts, signal, may, me, go }) {
    const stores = (await get('v1/stores', signal)).stores.filter((store) => !store.error);
    if (stores.length === 0) {
        replace(main, el('h1', null, 'Find a person'),
            empty('There is no store that can be read.'));
        return;
    }
    const kept = keptWork();
    const start = kept && stores.some((store) => store.name === kept.store)
        && (!parts[0] || parts[0] === kept.store) ? kept : null;
    const result = el('div', { class: 'steps' });
    const problem = el('div', { id: 'find-problem' });

    const choice = el('select', { id: 'store' }, stores.map((store) => el('option',
        { value: store.name, selected: store.name === (start ? start.store : parts[0]) },
        store.name)));
    const theStore = () => stores.find((store) => store.name === choice.value);
    const field = el('input', { id: 'whom', type: 'text', autocomplete: 'off', spellcheck: 'false',
        autocapitalize: 'none', 'aria-describedby': 'whom-hint find-problem' });
    const hint = el('p', { class: 'hint', id: 'whom-hint' });
    const label = el('label', { for: 'whom' });
    const radio = (by) => el('input', { type: 'radio', name: 'by', id: `by-${by}`, value: by,
        on: { change: () => adapt() } });
    const radios = { owner: radio('owner'), row: radio('row') };
    const chosen = () => (radios.owner.checked ? 'owner' : 'row');
    // Of radio buttons that are not in a document yet, both can be checked.
    const choose = (by) => Object.entries(radios).forEach(([name, one]) => {
        one.checked = name === by;
    });

    function adapt() {
        const store = theStore();
        // A store from which everybody was forgotten still answers that it has nothing of somebody.
        const hasOwners = store.owners > 0 || store.owners_are !== 'unknown';
        radios.owner.disabled = !hasOwners;
        if (!hasOwners) choose('row');
        const by = chosen();
        const are = by === 'owner' ? store.owners_are : store.ids;
        label.textContent = by === 'owner' ? 'Owner' : 'Id of the row';
        hint.textContent = `${BY[by].hint}${are === 'numbers' ? ' A whole number.'
            : are === 'texts' ? ' A text, exactly as it was in the data.' : ''}`;
        field.setAttribute('inputmode', are === 'numbers' ? 'numeric' : 'text');
    }
    choice.addEventListener('change', adapt);
    choose(start ? start.by : 'owner');
    if (start) field.value = start.text;
    adapt();

    function refuse(text) {
        field.setAttribute('aria-invalid', 'true');
        replace(problem, notice('bad', el('p', null, text)));
        field.focus();
    }

    async function submit(event) {
        event.preventDefault();
        const store = theStore();
        const are = chosen() === 'owner' ? store.owners_are : store.ids;
        const text = are === 'numbers' ? field.value.trim() : field.value;
        const wrong = text.trim() === '' ? 'Type whom to look for.'
            : wrongKind(theStore(), chosen(), text);
        field.removeAttribute('aria-invalid');
        replace(problem);
        if (wrong) {
            refuse(wrong);
            return;
        }
        await look({ store: theStore().name, by: chosen(), text });
    }

    async function look(work) {
        keepWork(work);
        const store = stores.find((one) => one.name === work.store);
        const whom = whomOf(store, work.by, work.text);
        const at = `v1/stores/${path(store.name)}`;
        replace(result, el('p', { class: 'loading', role: 'status' }, 'Looking…'));
        let found;
        try {
            found = await ask(`${at}/find`, { ...whom, limit: MAX_ROWS }, signal);
            if (found.rows.length === 0) found = null;
        } catch (refusal) {
            if (refusal.name === 'AbortError') return;
            if (refusal.status === 401) return;
            if (refusal.status !== 404) {
                replace(result, notice('bad', el('p', null, inWords(refusal))));
                return;
            }
            found = null;
        }
        // Who pastes a text often takes a space along; but a space may also be a part of a text.
        if (found === null && work.text !== work.text.trim()) {
            await look({ ...work, text: work.text.trim() });
            return;
        }
        if (found === null) {
            replace(result, nothing(store, work));
            say('Nothing was found');
            return;
        }
        await offer(store, work, whom, found, work.sent ? notice('warn', el('p', null, 'A request '
            + 'to forget these rows was sent before, but they are still there.')) : null);
    }

    function nothing(store, work) {
        const noun = BY[work.by].noun;
        const sent = work.sent ? el('p', null, 'A request to forget this was sent before the page '
            + 'was reloaded, and it has been done: look at ', link(path('receipts', store.name),
            'the last receipts'), '.') : null;
        keepWork(null);
        return empty(`The store ${store.name} has nothing of this ${noun}.`,
            sent || el('p', null, 'Check the spelling, the kind of id and the store. If it was '
                + 'forgotten, one of ', link(path('receipts', store.name), 'the receipts'),
            ' is about it.'));
    }

    async function offer(store, work, whom, found, news) {
        const at = `v1/stores/${path(store.name)}`;
        const takes = el('div', { class: 'step' },
            el('p', { class: 'loading' }, 'Working out what forgetting takes…'));
        const confirm = el('div');
        const who = work.by === 'owner' ? `owner ${short(work.text)}` : `row ${short(work.text)}`;
        replace(result,
            news,
            el('section', { class: 'step', 'aria-labelledby': 'has-heading' },
                el('h2', { id: 'has-heading' },
                    `The store has ${count(found.of, 'row')} of ${who}`),
                found.of > found.rows.length ? el('p', { class: 'pale' },
                    `${whole(found.rows.length)} of them are shown.`) : null,
                rowsTable(found, work.by)),
            el('section', { class: 'step', 'aria-labelledby': 'takes-heading' },
                el('h2', { id: 'takes-heading' }, 'What forgetting takes'), takes),
            confirm);
        say(`Found ${count(found.of, 'row')}`);
        try {
            const preview = await ask(`${at}/preview`, whom, signal);
            say(`Found ${count(found.of, 'row')}. ${cost(preview.models, false)}`);
            replace(takes, el('p', null, cost(preview.models, false)),
                preview.models.length ? previewTable(preview) : null,
                el('p', { class: 'hint' }, 'Whatever it takes, afterwards every model is byte for '
                    + 'byte what it would be had the rows never been there.'));
        } catch (refusal) {
            if (refusal.name === 'AbortError') return;
            replace(takes, notice('warn', el('p', null, inWords(refusal))));
        }
        replace(confirm, may('erase') ? confirmation(store, work, whom, found)
            : notice('warn', el('p', null, 'You can look at this, but not forget it: the token ',
                el('strong', null, me.name), ` has ${list(me.roles)}, and forgetting `,
                'takes erase.')));
    }

    function confirmation(store, work, whom, found) {
        const noun = BY[work.by].noun;
        const typed = el('input', { id: 'typed', type: 'text', autocomplete: 'off',
            spellcheck: 'false', autocapitalize: 'none',
            'aria-describedby': 'typed-hint typed-problem' });
        const wrong = el('div', { id: 'typed-problem' });
        const send = el('button', { type: 'submit', class: 'danger' },
            `Forget ${count(found.of, 'row')}`);
        const stop = (text) => {
            typed.setAttribute('aria-invalid', 'true');
            replace(wrong, notice('bad', el('p', null, text)));
            typed.focus();
        };
        const forget = async (event) => {
            event.preventDefault();
            if (typed.value.trim() !== work.text.trim()) {
                stop(`This is not the ${noun} that you looked for. Type ${work.text} to confirm.`);
                return;
            }
            send.disabled = true;
            typed.removeAttribute('aria-invalid');
            replace(wrong, el('p', { class: 'loading', role: 'status' }, 'Forgetting…'));
            await forgetNow(store, work, whom, found, stop);
            send.disabled = false;
        };
        return el('section', { class: 'step danger-zone', 'aria-labelledby': 'forget-heading' },
            el('h2', { id: 'forget-heading' }, 'Forget'),
            el('p', null, `${count(found.of, 'row')} will leave the store and every model. This `
                + 'cannot be undone.'),
            el('form', { novalidate: true, on: { submit: forget } },
                el('label', { for: 'typed' }, `Type the ${noun} to confirm`), typed,
                el('p', { class: 'hint', id: 'typed-hint' }, 'It is ', el('code', null, work.text),
                    '.'),
                wrong,
                el('p', { class: 'actions' }, send, button('Not now', () => {
                    keepWork(null);
                    field.value = '';
                    replace(result);
                    field.focus();
                }))));
    }

    async function forgetNow(store, work, whom, found, stop) {
        const at = `v1/stores/${path(store.name)}`;
        try {
            const now = await ask(`${at}/find`, { ...whom, limit: MAX_ROWS }, signal);
            if (now.of === 0) throw new Refusal(404, 'not_found', '');
            if (!sameRows(now, found)) {
                await offer(store, work, whom, now, notice('warn', el('p', null, 'The rows have '
                    + 'changed since you looked at them. Nothing was forgotten: look again, and '
                    + 'confirm again.')));
                result.scrollIntoView({ block: 'start' });
                return;
            }
            keepWork({ ...work, sent: true });
            const done = await change(`${at}/forget`, whom);
            keepWork(null);
            say(`${count(done.forgotten, 'row')} forgotten`);
            if (!signal.aborted) go('receipts', store.name, String(done.receipt));
        } catch (refusal) {
            if (refusal.name === 'AbortError' || refusal.status === 401) return;
            if (refusal.status === 404) {
                keepWork(null);
                replace(result, notice('warn', el('p', null, 'The rows are not there any more: '
                    + 'someone else has forgotten them meanwhile. The receipt is among ',
                link(path('receipts', store.name), 'the last receipts'), '.')));
                result.querySelector('a').focus();
            } else if (refusal.status === 0) {
                stop('The service did not answer, and the request may or may not have been done. '
                    + 'Look for the rows again before you repeat it.');
            } else {
                keepWork(work);
                stop(inWords(refusal));
            }
        }
    }

    replace(main,
        el('h1', null, 'Find a person'),
        el('p', { class: 'lead' }, 'See what a store has of a person, what it takes to forget '
            + 'them, and forget them.'),
        el('form', { class: 'card find', novalidate: true, on: { submit } },
            el('div', null, el('label', { for: 'store' }, 'Store'), choice),
            el('fieldset', null, el('legend', null, 'Look for'),
                Object.entries(BY).map(([by, { label: text }]) => el('span', { class: 'radio' },
                    radios[by], el('label', { for: `by-${by}` }, text)))),
            el('div', null, label, field, hint),
            el('button', { type: 'submit', class: 'primary' }, 'Look'), problem),
        result);
    if (start) await look(start);
}
