// The overview: stores and their models, the last requests, and how long requests took.

import { get, inWords, send } from './api.js';
import { el, digest, empty, link, notice, path, replace } from './dom.js';
import { bytes, count, deed, family, list, time, whole } from './words.js';
import { latencyPicture } from './latency.js';

const LAST = 6;

function byFamily(models) {
    const counts = new Map();
    for (const model of models) counts.set(model.family, (counts.get(model.family) || 0) + 1);
    return list([...counts].sort().map(([name, n]) => `${n} ${family(name)}`));
}

function unreadCard(store) {
    return el('article', { class: 'card' }, el('h3', null, store.name),
        notice('bad', el('p', null, 'This store cannot be read now.'),
            el('p', { class: 'small' }, store.error.message)));
}

function storeCard(store, may) {
    if (store.error) return unreadCard(store);
    const opens = may('read', 'predict');
    const models = store.models.map((model) => el('li', null,
        el('span', { class: 'name' }, opens
            ? link(path('stores', store.name, 'models', model.name), model.name) : model.name),
        el('span', { class: 'chip' }, family(model.family)),
        digest(model.digest)));
    return el('article', { class: 'card' },
        el('h3', null, link(path('stores', store.name), store.name)),
        el('p', { class: 'pale' }, count(store.rows, 'row'), ' · ', count(store.columns, 'column'),
            store.owners ? ` · ${count(store.owners, 'owner')}` : '', ' · ',
            bytes(store.file_bytes)),
        models.length
            ? [el('p', { class: 'small pale' }, byFamily(store.models)),
                el('ul', { class: 'models' }, models)]
            : el('p', { class: 'pale' }, 'No models yet: efface fit adds one.'),
        may('erase', 'read') ? el('p', { class: 'actions' },
            link(path('find', store.name), 'Find a person'),
            link(path('receipts', store.name), `${count(store.receipts, 'receipt')}`)) : null);
}

function numbers(stores) {
    const sum = (what) => stores.reduce((total, store) => total + what(store), 0);
    const tile = (n, text) => el('div', { class: 'tile' }, el('dd', null, whole(n)),
        el('dt', null, text));
    return el('dl', { class: 'tiles' },
        tile(stores.length, stores.length === 1 ? 'store' : 'stores'),
        tile(sum((s) => s.rows), 'rows'),
        tile(sum((s) => s.models.length), 'models'),
        tile(sum((s) => s.receipts), 'requests'));
}

async function lastRequests(stores, box, signal) {
    const lists = await Promise.all(stores.filter((store) => store.receipts > 0).map(async (store) =>
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
            el('span', { class: 'pale' }, `${store} · receipt ${whole(receipt.receipt)}`),
            el('time', { class: 'pale', datetime: receipt.time }, time(receipt.time))))));
}

export async function showOverview({ main, signal, may }) {
    const brief = (await get('v1/stores', signal)).stores;
    // A store that cannot be read must not hide the others.
    const all = await Promise.all(brief.map(async (store) => (store.error ? store
        : get(`v1/stores/${path(store.name)}`, signal).catch((refusal) => {
            if (refusal.name === 'AbortError' || refusal.status === 401) throw refusal;
            return { name: store.name, error: { message: inWords(refusal) } };
        }))));
    const stores = all.filter((store) => !store.error);
    const requests = el('div', { 'aria-live': 'polite' }, el('p', { class: 'loading' }, 'Loading…'));
    const latency = el('div', null, el('p', { class: 'loading' }, 'Loading…'));
    replace(main,
        el('div', { class: 'heading' }, el('h1', null, 'Overview'),
            may('read', 'erase') ? el('a', { class: 'button primary', href: '#/find' },
                'Find a person') : null),
        numbers(stores),
        el('section', { 'aria-labelledby': 'stores-heading' },
            el('h2', { id: 'stores-heading' }, 'Stores'),
            el('div', { class: 'cards' }, all.map((store) => storeCard(store, may)))),
        el('div', { class: 'halves' },
            may('read', 'erase') ? el('section', { 'aria-labelledby': 'requests-heading' },
                el('h2', { id: 'requests-heading' }, 'Last requests'), requests) : null,
            may('read') ? el('section', { 'aria-labelledby': 'latency-heading' },
                el('h2', { id: 'latency-heading' }, 'How long requests took'), latency) : null));
    const fails = (box) => (refusal) => {
        if (refusal.name === 'AbortError') return;
        replace(box, el('p', { class: 'pale' }, 'This could not be loaded.'));
    };
    await Promise.all([
        may('read', 'erase') ? lastRequests(stores, requests, signal).catch(fails(requests)) : null,
        may('read') ? send('GET', 'v1/metrics', { signal }).then((reply) => reply.text())
            .then((text) => replace(latency, latencyPicture(text))).catch(fails(latency)) : null,
    ]);
}
