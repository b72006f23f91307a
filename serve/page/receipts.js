// Receipts: the history of a store, and one receipt, to print, to download and to check.

import { ask, get, inWords, send } from './api.js';
import { button, copyButton, digest, el, empty, facts, link, mark, more, notice, path, replace,
    table }
    from './dom.js';
import { action, cost, count, deed, time, whole } from './words.js';
import { verifyPanel } from './checks.js';

const PAGE = 25;

function storeTabs(stores, current) {
    if (stores.length < 2) return null;
    return el('nav', { class: 'tabs', 'aria-label': 'Stores' }, el('ul', null, stores.map((store) =>
        el('li', null, el('a', { href: `#/${path('receipts', store.name)}`,
            'aria-current': store.name === current ? 'page' : null }, store.name)))));
}

function inShort(receipt) {
    const of = (name) => receipt.models.filter((model) => model.action === name).length;
    const parts = [[of('adjusted'), 'adjusted'], [of('repaired'), 'repaired'],
        [of('refitted'), 'fitted again']].filter(([n]) => n > 0);
    return parts.map(([n, text]) => `${n} ${text}`).join(', ') || '–';
}

export async function showReceipts({ main, parts, signal }) {
    const stores = (await get('v1/stores', signal)).stores.filter((store) => !store.error);
    const name = parts[0] || (stores[0] && stores[0].name);
    const heading = el('h1', null, 'Receipts');
    if (!name) {
        replace(main, heading, empty('There is no store that can be read.'));
        return;
    }
    const before = parts[1] ? `&before=${parts[1]}` : '';
    const answer = await get(`v1/stores/${path(name)}/receipts?count=${PAGE}${before}`, signal);
    const receipts = answer.receipts;
    const lead = el('p', { class: 'lead' }, `Every request that changed the store ${name} has one. `
        + 'Each names the digest of the one before, so none can go missing unnoticed.');
    if (receipts.length === 0) {
        replace(main, heading, storeTabs(stores, name), lead,
            empty('No receipts yet', el('p', null, 'The first request makes one.')));
        return;
    }
    const newest = receipts[0].receipt;
    const oldest = receipts[receipts.length - 1].receipt;
    const newer = newest + PAGE + 1;
    replace(main, heading, storeTabs(stores, name), lead,
        table(`Receipts of ${name}`, [{ name: 'Receipt' }, { name: 'What' },
            { name: 'Models' }, { name: 'When' }],
        receipts.map((receipt) => [
            link(path('receipts', name, String(receipt.receipt)),
                `Receipt ${whole(receipt.receipt)}`),
            deed(receipt), inShort(receipt), time(receipt.time)]), true),
        el('nav', { class: 'pages', 'aria-label': 'Pages of receipts' },
            newest < answer.of ? link(newer > answer.of ? path('receipts', name)
                : path('receipts', name, 'before', String(newer)), 'Newer') : el('span'),
            el('span', { class: 'pale' },
                `${whole(oldest)} to ${whole(newest)} of ${whole(answer.of)}`),
            oldest > 1 ? link(path('receipts', name, 'before', String(oldest)), 'Older')
                : el('span')),
        chainCheck(name));
}

// Checks the whole chain of a store.
function chainCheck(name) {
    const key = el('input', { id: 'chain-key', type: 'text', autocomplete: 'off',
        spellcheck: 'false', 'aria-describedby': 'chain-hint' });
    const out = el('div', { 'aria-live': 'polite' });
    const submit = (event) => {
        event.preventDefault();
        const text = key.value.trim();
        check(out, `v1/stores/${path(name)}/receipts/verify`, text, {}, 'The receipts are a chain: '
            + `none is missing, doubled or changed.${text ? ' Each is signed with this key.'
                : ' Signatures were not looked at.'}`);
    };
    return more('Check that no receipt is missing or changed', el('form', { class: 'card',
        novalidate: true, on: { submit } },
    el('label', { for: 'chain-key' }, 'Public key, if receipts are signed'), key,
    el('p', { class: 'hint', id: 'chain-hint' }, '64 hexadecimal digits. Take it from a place that '
        + 'you trust, not from a receipt.'),
    el('button', { type: 'submit' }, 'Check'), out));
}

async function check(out, at, key, body, good) {
    if (key !== '' && !/^[0-9a-fA-F]{64}$/.test(key)) {
        replace(out, notice('bad', el('p', null, 'A public key has 64 hexadecimal digits.')));
        return;
    }
    replace(out, el('p', { class: 'loading' }, 'Checking…'));
    try {
        const answer = await ask(at, key ? { ...body, public_key: key } : body);
        replace(out, answer.valid ? notice('good', el('p', null,
            el('strong', null, key ? 'Valid. ' : 'In order. '), good))
            : notice('bad', el('p', null, el('strong', null,
                answer.signature === 'not signed' ? 'Not signed. '
                    : answer.signature === 'does not match' ? 'The signature does not match. '
                        : 'Not valid. ')),
                el('ul', null, (answer.problems || []).map((text) => el('li', null, text)))));
    } catch (refusal) {
        replace(out, notice('bad', el('p', null, inWords(refusal))));
    }
}

function sentence(receipt, store) {
    const when = `On ${time(receipt.time).replace(' at ', ', at ')}, `;
    const made = { forget: `${count(receipt.forgotten, 'row')} of the store ${store} `
            + `${receipt.forgotten === 1 ? 'was' : 'were'} forgotten`,
    learn: `${count(receipt.learned, 'row')} joined the store ${store}`,
    update: `${count(receipt.updated, 'row')} of the store ${store} got other values`,
    publish: `a model of the store ${store} was published`,
    rekey: `models of the store ${store} got other seeds`,
    add: `a model was added to the store ${store}`,
    drop: `a model of the store ${store} was dropped`,
    spread: `the rows of the store ${store} were spread over other parts` }[receipt.kind]
        || `the store ${store} was changed`;
    const models = receipt.models.length === 0 ? '' : `, in the store and in ${
        receipt.models.length === 1 ? 'its model' : receipt.models.length === 2 ? 'both models'
            : `all ${receipt.models.length} models`}`;
    return `${when}${made}${'forget learn update'.includes(receipt.kind) ? models : ''}.`;
}

function download(bytes, name) {
    const url = URL.createObjectURL(new Blob([bytes], { type: 'application/json' }));
    const anchor = el('a', { href: url, download: name });
    document.body.append(anchor);
    anchor.click();
    anchor.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export async function showReceipt({ main, parts, signal, may }) {
    const [store, n] = parts;
    const bytes = await (await send('GET', `v1/stores/${path(store)}/receipts/${n}`, { signal }))
        .arrayBuffer();
    const line = new TextDecoder().decode(bytes);
    const receipt = JSON.parse(line);
    const after = new Map(receipt.models.map((model) => [model.name, model.after]));
    const checked = el('div', { 'aria-live': 'polite' });
    const models = receipt.models;
    replace(main,
        el('nav', { class: 'crumbs', 'aria-label': 'Where you are' },
            link(path('receipts', store), `Receipts of ${store}`)),
        el('div', { class: 'heading' }, el('h1', null, `Receipt ${whole(receipt.receipt)}`),
            el('p', { class: 'actions' },
                button('Print', () => window.print()),
                button('Download', () => download(bytes, `${store}-receipt-${n}.json`)))),
        el('article', { class: 'card receipt', 'aria-label': `Receipt ${whole(receipt.receipt)}` },
            el('div', { class: 'summary' },
                el('p', { class: 'lead' }, sentence(receipt, store)),
                receipt.kind === 'forget' && models.length ? el('p', null, cost(models, true),
                    ' Every model was then byte for byte what it would be, with the same parameters, offsets and seed, had ',
                    receipt.forgotten === 1 ? 'the row' : 'the rows', ' never been there.') : null),
            receipt.group ? notice('plain', el('p', null, 'This request was done together with '
                + `others, as group ${whole(receipt.group)}: the commitments are those before and `
                + 'after the whole group.')) : null,
            el('section', { 'aria-labelledby': 'facts-heading' },
                el('h2', { id: 'facts-heading' }, 'The request'),
                facts([
                    ['Time', el('time', { datetime: receipt.time }, time(receipt.time))],
                    ['Kind', receipt.kind],
                    ['Ids and owners asked for', whole(receipt.requested)],
                    ['Rows forgotten', whole(receipt.forgotten)],
                    receipt.learned ? ['Rows learned', whole(receipt.learned)] : null,
                    receipt.updated ? ['Rows updated', whole(receipt.updated)] : null,
                    receipt.missing ? ['Not there', whole(receipt.missing)] : null,
                    receipt.rows ? ['Root of the hashed ids',
                        digest(receipt.rows.root, true)] : null,
                    ['Digest of the receipt before', /^0+$/.test(receipt.previous)
                        ? 'none: this is the first receipt' : digest(receipt.previous, true)],
                    ['Signed', receipt.signature
                        ? ['with the key ', digest(receipt.public_key, true)]
                        : 'no: nothing shows who made it'],
                ]),
                el('p', { class: 'hint' }, 'A receipt has no ids and no values of rows: ids are in '
                    + 'the root as keyed hashes.')),
            models.length ? el('section', { 'aria-labelledby': 'models-heading' },
                el('h2', { id: 'models-heading' }, 'What happened to each model'),
                table('Models before and after the request', [{ name: 'Model' },
                    { name: 'What happened' }, { name: 'Why' }, { name: 'Before' },
                    { name: 'After' }],
                models.map((model) => [model.name, mark(model.action, action(model.action, true)),
                    [model.reason, model.where ? `, ${model.where}` : ''],
                    digest(model.before), digest(model.after)]), true)) : null),
        models.length && may('read', 'erase') ? el('section', { class: 'step noprint',
            'aria-labelledby': 'verify-heading' },
        el('h2', { id: 'verify-heading' }, 'Verify'),
        el('p', null, 'Fits each model again from the present rows, and compares every '
            + 'byte. You may leave this page meanwhile.'),
        verifyPanel(store, models.map((model) => model.name), after, signal,
            `efface.checks.${store}.${n}`)) : null,
        el('section', { class: 'step noprint', 'aria-labelledby': 'line-heading' },
            el('h2', { id: 'line-heading' }, 'The receipt itself'),
            el('p', { class: 'actions' }, copyButton(line, 'the receipt'),
                receipt.signature ? button('Check the signature', () => check(checked,
                    `v1/stores/${path(store)}/receipts/verify`, receipt.public_key,
                    { receipt: line }, 'The receipt is as it was made, and signed with the key '
                        + 'above. Compare it with the one that you know.'), 'small') : null),
            checked,
            more('Show the line as it is', el('pre', { class: 'line' }, line))));
}
