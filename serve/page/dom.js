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

// Has a screen reader say something that a sighted user sees anyway. The region is emptied first,
// so that the same words are said a second time.
export function say(text) {
    const region = document.getElementById('said');
    region.textContent = '';
    setTimeout(() => { region.textContent = text; }, 50);
}

export function notice(kind, ...children) {
    const role = kind === 'bad' ? 'alert' : null;
    return el('div', { class: `notice ${kind}`, role }, ...children);
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

// A wide thing that scrolls by itself. Only while it does, a keyboard can reach it to scroll, and
// it is a region with a name.
function scroller(label, child) {
    const box = el('div', { class: 'scroller' }, child);
    const scrolls = { tabindex: '0', role: 'region', 'aria-label': label };
    new ResizeObserver(() => {
        const wide = box.scrollWidth > box.clientWidth + 1;
        for (const [name, value] of Object.entries(scrolls)) {
            if (wide) box.setAttribute(name, value);
            else box.removeAttribute(name);
        }
    }).observe(box);
    return box;
}

// A table. Columns are { name, number: true|false }; rows are lists of nodes or texts, whose
// first entry is the head of its row. A caption is for screen readers. With `stacks`, a phone shows
// the cells of a row below each other; the roles are said since that layout hides them.
export function table(caption, columns, rows, stacks) {
    const role = (name) => (stacks ? name : null);
    const style = (i) => (columns[i] && columns[i].number ? 'number' : null);
    const head = el('tr', { role: role('row') }, columns.map((column, i) =>
        el('th', { scope: 'col', role: role('columnheader'), class: style(i) }, column.name)));
    const body = rows.map((row) => el('tr', { role: role('row') }, row.map((cell, i) => (i === 0
        ? el('th', { scope: 'row', role: role('rowheader'), class: style(i) }, cell)
        : el('td', { role: role('cell'), 'data-column': stacks ? columns[i].name : null,
            class: style(i) }, cell)))));
    return scroller(caption, el('table', { role: role('table'), class: stacks ? 'stacks' : null },
        el('caption', { class: 'quiet' }, caption),
        el('thead', { role: role('rowgroup') }, head),
        el('tbody', { role: role('rowgroup') }, body)));
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
        el('span', { class: 'screen' }, `${hex.slice(0, 12)}…`),
        el('span', { class: 'paper' }, hex));
}

// What happened to something, or would: a word with a colour. `kind` is a class.
export function mark(kind, text) {
    return el('span', { class: `mark ${kind}` }, text);
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
