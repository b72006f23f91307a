// One model: what it is, pictures of it, its facts and tables, and its check.

import { get, inWords } from './api.js';
import { copyButton, digest, el, empty, facts, link, more, path, replace, table }
    from './dom.js';
import { count, list, number, whole } from './words.js';
import { draw } from './pictures.js';
import { verifyPanel } from './checks.js';

const PAGE = 50;
const PREDICTS = { clusters: 'a cluster', classes: 'a class', values: 'values',
    probabilities: 'probabilities' };

function factValue(value) {
    if (value === true) return 'yes';
    if (value === false) return 'no';
    return number(value);
}

const MAX_NAMES = 8;
function shortened(names) {
    return names.length <= MAX_NAMES ? names
        : [...names.slice(0, MAX_NAMES - 1), `${names.length - MAX_NAMES + 1} other columns`];
}

// A table of the model, with pages. It is read when it is opened first.
function tableOf(at, info, signal) {
    const box = el('div', { 'aria-live': 'polite' });
    let read = false;
    const load = async (from) => {
        replace(box, el('p', { class: 'loading' }, 'Loading…'));
        try {
            const page = await get(`${at}/tables/${path(info.name)}?from=${from}&count=${PAGE}`,
                signal);
            const jump = (to, text) => el('button', { type: 'button', class: 'small',
                disabled: to < 0 || to >= page.of, on: { click: () => load(to) } }, text);
            replace(box, table(info.name, [{ name: page.row_name || '' },
                ...page.columns.map((name) => ({ name, number: true }))],
            page.rows.map((row) => [String(row.row), ...row.values.map(number)])),
            page.of > PAGE ? el('p', { class: 'pages' }, jump(from - PAGE, 'Before'),
                el('span', { class: 'pale' }, `${whole(from + 1)} to ${
                    whole(Math.min(from + PAGE, page.of))} of ${whole(page.of)}`),
                jump(from + PAGE, 'Next')) : null);
        } catch (refusal) {
            if (refusal.name !== 'AbortError') replace(box, el('p', null, inWords(refusal)));
        }
    };
    const details = more(`${info.name}: ${count(info.rows, 'row')} of ${
        count(info.columns, 'number')}`, box);
    details.addEventListener('toggle', () => {
        if (details.open && !read) {
            read = true;
            load(0);
        }
    });
    return details;
}

export async function showModel({ main, parts, signal, may }) {
    const [store, name] = parts;
    const at = `v1/stores/${path(store)}/models/${path(name)}`;
    const model = await get(at, signal);
    const pictures = el('div', { class: 'pictures' }, el('p', { class: 'loading' }, 'Drawing…'));
    const inputs = model.columns.filter((column) => column.input)
        .map((column, i) => column.name || `column ${i}`);
    const params = model.facts.filter((fact) => fact.parameter && fact.value !== null);
    const rest = model.facts.filter((fact) => !fact.parameter && fact.value !== null
        && fact.name !== 'classes'); // they are listed by their names
    const pairs = (some) => some.map((fact) => [fact.name.replaceAll('_', ' '),
        factValue(fact.value)]);
    const predicts = model.predicts === 'nothing' ? '' : ` From ${list(shortened(inputs))} it `
        + `predicts ${PREDICTS[model.predicts] || model.predicts}.`;
    const forgotten = model.rows > 0 ? ''
        : ' It is what a fit to no rows gives, and predicts nothing.';
    replace(main,
        el('nav', { class: 'crumbs', 'aria-label': 'Where you are' }, link('', 'Overview'),
            link(path('stores', store), store)),
        el('h1', null, model.name),
        el('p', { class: 'lead' }, `A model of the kind ${model.kind}, fitted to ${count(model.rows, 'row')}.${predicts}${
            forgotten}`),
        el('p', { class: 'digestline' }, el('span', { class: 'pale' }, 'Commitment'),
            digest(model.commitment, true), copyButton(model.commitment, 'the commitment')),
        may('read') ? el('section', { 'aria-labelledby': 'picture-heading' },
            el('h2', { id: 'picture-heading' }, 'A look at it'), pictures) : null,
        el('section', { 'aria-labelledby': 'facts-heading' },
            el('h2', { id: 'facts-heading' }, 'Facts'),
            el('div', { class: 'halves' },
                el('div', { class: 'card' }, el('h3', null, 'Parameters'),
                    params.length ? facts(pairs(params)) : el('p', { class: 'pale' }, 'none')),
                el('div', { class: 'card' }, el('h3', null, 'The fitted model'), facts([
                    ['rows', whole(model.rows)], ['weight', number(model.weight)],
                    model.classes && model.classes.length
                        ? ['classes', list(model.classes.map(String))] : null,
                    ...pairs(rest)])))),
        may('read') && model.tables.length ? el('section', { 'aria-labelledby': 'tables-heading' },
            el('h2', { id: 'tables-heading' }, 'Tables'),
            el('div', { class: 'card folds' }, model.tables.map((info) =>
                tableOf(at, info, signal)))) : null,
        may('read', 'erase') ? el('section', { class: 'step', 'aria-labelledby': 'verify-heading' },
            el('h2', { id: 'verify-heading' }, 'Verify'),
            el('p', null, 'Fits the model again from the present rows, and compares '
                + 'every byte. You may leave this page meanwhile.'),
            verifyPanel(store, [name], null, signal, `efface.checks.${store}.${name}`)) : null);
    if (!may('read')) return;
    get(`${at}/picture`, signal).then((answer) => {
        replace(pictures, model.rows === 0
            ? empty('The model has no rows: there is nothing to draw.')
            : answer.pictures.length ? answer.pictures.map(draw)
                : empty('There is no picture of this model yet.'));
    }).catch((refusal) => {
        if (refusal.name !== 'AbortError') {
            replace(pictures, el('p', { class: 'pale' }, `No picture: ${inWords(refusal)}`));
        }
    });
}
