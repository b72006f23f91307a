// One store: what it has, and its models.

import { get } from './api.js';
import { digest, el, empty, facts, link, path, replace, table } from './dom.js';
import { bytes, list, whole } from './words.js';

const MAX_NAMES = 20;
const IDS = { numbers: 'numbers', texts: 'texts', unknown: 'not known' };

export async function showStore({ main, parts, signal, may }) {
    const store = await get(`v1/stores/${path(parts[0])}`, signal);
    const opens = may('read', 'predict');
    const names = (store.column_names || []).map((name, i) => name || `column ${i}`);
    replace(main,
        el('nav', { class: 'crumbs', 'aria-label': 'Where you are' }, link('', 'Overview')),
        el('div', { class: 'heading' }, el('h1', null, store.name),
            may('read', 'erase') ? el('a', { class: 'button primary',
                href: `#/${path('find', store.name)}` }, 'Find a person') : null),
        el('section', { 'aria-labelledby': 'models-heading' },
            el('h2', { id: 'models-heading' }, 'Models'),
            store.models.length === 0
                ? empty('No models yet', el('p', null,
                    el('code', null, 'efface fit'), ' adds one.'))
                : table('Models of this store', [{ name: 'Model' }, { name: 'Kind' },
                    { name: 'Columns', number: true }, { name: 'Commitment' }],
                store.models.map((model) => [
                    opens ? link(path('stores', store.name, 'models', model.name), model.name)
                        : model.name,
                    model.kind, whole(model.columns), digest(model.commitment)]), true)),
        el('section', { 'aria-labelledby': 'has-heading' },
            el('h2', { id: 'has-heading' }, 'What it has'),
            el('div', { class: 'card' }, facts([
                ['Rows', whole(store.rows)],
                ['Columns', names.length > MAX_NAMES
                    ? `${whole(store.columns)}: ${names.slice(0, MAX_NAMES).join(', ')}, …`
                    : `${whole(store.columns)}: ${list(names)}`],
                store.owners ? ['Owners', whole(store.owners)] : ['Owners', 'none'],
                store.labels ? ['Different labels', whole(store.labels)] : null,
                ['Ids are', IDS[store.ids] || store.ids],
                ['Texts of ids and owners', store.keeps_texts ? 'are kept' : 'are not kept'],
                ['File', bytes(store.file_bytes)],
                ['Receipts', may('read', 'erase')
                    ? link(path('receipts', store.name), whole(store.receipts))
                    : whole(store.receipts)],
            ]))));
}
