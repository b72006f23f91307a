// The overview: stores and their models, the last requests, and how long requests took.

import { get, inWords, send } from './api.js';
import { digest, el, empty, link, notice, path, replace } from './dom.js';
import { bytes, count, deed, list, time, whole } from './words.js';
import { latencyPicture } from './latency.js';

const LAST = 6;

function byKind(models) {
    const counts = new Map();
    for (const model of models) counts.set(model.kind, (counts.get(model.kind) || 0) + 1);
    return list([...counts].sort().map(([name, n]) => (n === 1 ? name : `${n} × ${name}`)));
}

function modelItem(store, model, opens) {
    return el('li', null,
        el('span', { class: 'name' }, opens
            ? link(path('stores', store.name, 'models', model.name), model.name) : model.name),
        el('span', { class: 'kind' }, model.kind), digest(model.commitment));
}

function storeCard(store, may) {
    if (store.error) {
        return el('article', { class: 'card store' }, el('h3', null, store.name),
            notice('bad', el('p', null, 'This store cannot be read now.'),
                el('p', { class: 'small' }, store.error.message)));
    }
    const opens = may('read', 'predict');
    return el('article', { class: 'card store' },
        el('div', { class: 'heading' },
            el('div', null,
                el('h3', null, link(path('stores', store.name), store.name)),
                el('p', { class: 'pale small' }, count(store.rows, 'row'), ' · ',
                    count(store.columns, 'column'),
                    store.owners ? ` · ${count(store.owners, 'owner')}` : '', ' · ',
                    bytes(store.file_bytes))),
            may('erase', 'read') ? el('p', { class: 'actions' },
                link(path('receipts', store.name), `${count(store.receipts, 'receipt')}`),
                el('a', { class: 'button small', href: `#/${path('find', store.name)}`,
                    'aria-label': `Find a person in ${store.name}` }, 'Find a person')) : null),
        store.models.length
            ? [el('p', { class: 'small' }, `${count(store.models.length, 'model')}: `,
                byKind(store.models)),
            el('ul', { class: 'models' }, store.models.map((model) =>
                modelItem(store, model, opens)))]
            : el('p', { class: 'pale' }, 'No models yet: ', el('code', null, 'efface fit'),
                ' adds one.'));
}

function numbers(stores) {
    const sum = (what) => stores.reduce((total, store) => total + (what(store) || 0), 0);
    const tile = (n, one, many) => el('div', { class: 'tile' },
        el('dt', null, n === 1 ? one : many), el('dd', null, whole(n)));
    return el('dl', { class: 'tiles' }, tile(stores.length, 'store', 'stores'),
        tile(sum((store) => store.rows), 'row', 'rows'),
        tile(sum((store) => store.models && store.models.length), 'model', 'models'),
        tile(sum((store) => store.receipts), 'request', 'requests'));
}

async function lastRequests(stores, box, signal) {
    const changed = stores.filter((store) => store.receipts > 0);
    const lists = await Promise.all(changed.map(async (store) =>
        (await get(`v1/stores/${path(store.name)}/receipts?count=${LAST}`, signal)).receipts
            .map((receipt) => ({ store: store.name, receipt }))));
    const all = lists.flat().sort((a, b) => (a.receipt.time < b.receipt.time ? 1
        : a.receipt.time > b.receipt.time ? -1 : b.receipt.receipt - a.receipt.receipt));
    if (all.length === 0) {
        replace(box, empty('No requests yet', el('p', null, 'The first one that is made shows up '
            + 'here with its receipt.')));
        return;
    }
    replace(box, el('ol', { class: 'requests' }, all.slice(0, LAST).map(({ store, receipt }) =>
        el('li', null,
            link(path('receipts', store, String(receipt.receipt)), deed(receipt)),
            el('span', { class: 'pale' }, `${store}, receipt ${whole(receipt.receipt)}`),
            el('time', { class: 'pale', datetime: receipt.time }, time(receipt.time))))));
}

export async function showOverview({ main, signal, may }) {
    const brief = (await get('v1/stores', signal)).stores;
    // A store that cannot be read must not hide the others.
    const stores = await Promise.all(brief.map(async (store) => (store.error ? store
        : get(`v1/stores/${path(store.name)}`, signal).catch((refusal) => {
            if (refusal.name === 'AbortError' || refusal.status === 401) throw refusal;
            return { name: store.name, error: { message: inWords(refusal) } };
        }))));
    const loading = () => el('div', null, el('p', { class: 'loading' }, 'Loading…'));
    const [requests, latency] = [loading(), loading()];
    replace(main,
        el('div', { class: 'heading' }, el('h1', null, 'Overview'),
            may('read', 'erase') ? el('a', { class: 'button primary', href: '#/find' },
                'Find a person') : null),
        numbers(stores),
        el('section', { 'aria-labelledby': 'stores-heading' },
            el('h2', { id: 'stores-heading' }, 'Stores'),
            stores.length ? el('div', { class: 'cards' }, stores.map((store) =>
                storeCard(store, may))) : empty('No store is served.')),
        el('div', { class: 'halves' },
            may('read', 'erase') ? el('section', { 'aria-labelledby': 'requests-heading' },
                el('h2', { id: 'requests-heading' }, 'Last requests'), requests) : null,
            may('read') ? el('section', { 'aria-labelledby': 'latency-heading' },
                el('h2', { id: 'latency-heading' }, 'How long requests took'), latency) : null));
    const fails = (box) => (refusal) => {
        if (refusal.name === 'AbortError') return;
        replace(box, empty('This could not be loaded.'));
    };
    await Promise.all([
        may('read', 'erase') ? lastRequests(stores, requests, signal).catch(fails(requests)) : null,
        may('read') ? send('GET', 'v1/metrics', { signal }).then((reply) => reply.text())
            .then((text) => replace(latency, latencyPicture(text))).catch(fails(latency)) : null,
    ]);
}
