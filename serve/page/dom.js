// Elements, made without ever reading a text as HTML, and the few pieces that all views share.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
        if (value === null || value === undefined || value === false) continue;
        if (name === 'on') {
            for (const [event, listener] of Object.entries(value)) {
                element.addEventListener(event, listener);
            }
        } else {
            element.setAttribute(name, value === true ? '' : value);
        }
    }
    append(element, children);
    return element;
}

function append(element, children) {
    for (const child of children) {
        if (Array.isArray(child)) append(element, child);
        else if (child !== null && child !== undefined && child !== false) element.append(child);
    }
}

// An element of HTML, or of SVG. Children are nodes, texts, or lists of these; null is left out.
export function el(name, attributes, ...children) {
    return fill(document.createElement(name), attributes, children);
}
export function svg(name, attributes, ...children) {
    return fill(document.createElementNS(SVG, name), attributes, children);
}

export function replace(element, ...children) {
    element.replaceChildren();
    append(element, children);
    return element;
}

let numbers = 0;
export function freshId(stem) {
    numbers += 1;
    return `${stem}-${numbers}`;
}

// Has a screen reader say something that a sighted user sees anyway.
export function say(text) {
    document.getElementById('said').textContent = text;
}

export function notice(kind, ...children) {
    return el('div', { class: `notice ${kind}`, role: kind === 'bad' ? 'alert' : null }, ...children);
}

export function button(text, listener, kind) {
    return el('button', { type: 'button', class: kind || null, on: { click: listener } }, text);
}

export function link(hash, ...children) {
    return el('a', { href: `#/${hash}` }, ...children);
}

// The path of a route: parts that may have any letters are encoded.
export function path(...parts) {
    return parts.map(encodeURIComponent).join('/');
}

// A wide thing that scrolls by itself; a keyboard can scroll it too, if there is need to.
export function scroller(label, child) {
    const box = el('div', { class: 'scroller', role: 'region', 'aria-label': label }, child);
    new ResizeObserver(() => {
        if (box.scrollWidth > box.clientWidth + 1) box.setAttribute('tabindex', '0');
        else box.removeAttribute('tabindex');
    }).observe(box);
    return box;
}

// A table. Columns are { name, number: true|false, wide }; rows are lists of nodes or texts, whose
// first entry is the head of its row.
export function table(caption, columns, rows, hideCaption) {
    const head = el('tr', null, columns.map((column) =>
        el('th', { scope: 'col', class: column.number ? 'number' : null }, column.name)));
    const body = rows.map((row) => el('tr', null, row.map((cell, i) =>
        el(i === 0 ? 'th' : 'td', { scope: i === 0 ? 'row' : null,
            class: columns[i] && columns[i].number ? 'number' : null }, cell))));
    return scroller(caption, el('table', null,
        el('caption', { class: hideCaption ? 'quiet' : null }, caption),
        el('thead', null, head), el('tbody', null, body)));
}

// Pairs of a term and what it is.
export function facts(pairs) {
    return el('dl', { class: 'facts' }, pairs.filter(Boolean).map(([term, ...values]) =>
        el('div', null, el('dt', null, term), el('dd', null, values))));
}

// A digest: its beginning, or all of it on paper and for whoever copies it.
export function digest(hex, whole) {
    if (!hex) return el('span', { class: 'pale' }, 'none');
    if (whole) return el('code', { class: 'digest' }, hex);
    return el('code', { class: 'digest short', title: hex },
        el('span', { class: 'screen' }, `${hex.slice(0, 12)}…`), el('span', { class: 'paper' }, hex));
}

export function copyButton(text, what) {
    const copy = button('Copy', async () => {
        try {
            await navigator.clipboard.writeText(text);
            copy.textContent = 'Copied';
            say(`Copied ${what}`);
        } catch (problem) {
            copy.textContent = 'Select it by hand';
        }
        setTimeout(() => { copy.textContent = 'Copy'; }, 2500);
    }, 'small');
    copy.setAttribute('aria-label', `Copy ${what}`);
    return copy;
}

export function more(summary, ...children) {
    return el('details', null, el('summary', null, summary), ...children);
}

export function empty(title, ...children) {
    return el('div', { class: 'empty' }, el('p', { class: 'strong' }, title), ...children);
}
