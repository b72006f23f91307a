// The page: which view belongs to the address, who is signed in, and the frame around it.
//
// Addresses are behind '#', and name stores, models, receipts and jobs; never a person.

import { Refusal, get, hasToken, inWords, keepWork, signIn, signOut, whenLost } from './api.js';
import { button, el, link, notice, path, replace, say } from './dom.js';
import { list, time } from './words.js';
import { showSignIn } from './signin.js';
import { showOverview } from './overview.js';
import { showStore } from './store.js';
import { showModel } from './model.js';
import { showPerson } from './person.js';
import { showReceipt, showReceipts } from './receipts.js';
import { showCheck, showChecks } from './checks.js';

const ROUTES = [
    { pattern: /^$/, show: showOverview, nav: 'overview', roles: ['read', 'predict', 'erase'] },
    { pattern: /^stores\/([^/]+)$/, show: showStore, nav: 'overview',
        roles: ['read', 'predict', 'erase'] },
    { pattern: /^stores\/([^/]+)\/models\/([^/]+)$/, show: showModel, nav: 'overview',
        roles: ['read', 'predict'] },
    { pattern: /^find(?:\/([^/]+))?$/, show: showPerson, nav: 'find', roles: ['read', 'erase'] },
    { pattern: /^receipts(?:\/([^/]+)(?:\/before\/(\d+))?)?$/, show: showReceipts, nav: 'receipts',
        roles: ['read', 'erase'] },
    { pattern: /^receipts\/([^/]+)\/(\d+)$/, show: showReceipt, nav: 'receipts',
        roles: ['read', 'erase'] },
    { pattern: /^checks$/, show: showChecks, nav: 'checks', roles: ['read', 'erase'] },
    { pattern: /^checks\/([^/]+)$/, show: showCheck, nav: 'checks', roles: ['read', 'erase'] },
];

const NAV = [
    { name: 'overview', hash: '', text: 'Overview', roles: ['read', 'predict', 'erase'] },
    { name: 'find', hash: 'find', text: 'Find a person', roles: ['read', 'erase'] },
    { name: 'receipts', hash: 'receipts', text: 'Receipts', roles: ['read', 'erase'] },
    { name: 'checks', hash: 'checks', text: 'Checks', roles: ['read', 'erase'] },
];

const main = document.getElementById('main');
const top = document.getElementById('top');
const foot = document.getElementById('foot');

let me = null;
let leaving = new AbortController();

function may(...roles) {
    return me !== null && (me.roles.includes('admin')
        || roles.some((role) => me.roles.includes(role)));
}

function brand() {
    return el('a', { class: 'brand', href: '#/' },
        el('img', { src: 'page/icon.svg', alt: '', width: '26', height: '26' }),
        el('span', null, 'efface'));
}

function frame(current) {
    if (me === null) {
        replace(top, el('div', { class: 'bar' }, brand()));
        replace(foot);
        return;
    }
    const links = NAV.filter((item) => may(...item.roles)).map((item) => el('li', null,
        el('a', { href: `#/${item.hash}`,
            'aria-current': item.name === current ? 'page' : null }, item.text)));
    replace(top, el('div', { class: 'bar' }, brand(),
        el('nav', { 'aria-label': 'Main' }, el('ul', null, links)),
        el('div', { class: 'who' },
            el('span', { class: 'name', title: `Roles: ${me.roles.join(', ')}` }, me.name),
            button('Sign out', leave, 'small'))));
    replace(foot, el('p', null, `Signed in as ${me.name}, with the role`,
        me.roles.length === 1 ? ' ' : 's ', list(me.roles),
        me.expires ? `, until ${time(me.expires)}` : '', '.'));
}

function leave() {
    signOut();
    me = null;
    history.replaceState(null, '', '#/');
    open('You are signed out. The token is not kept.');
}

function title(text) {
    document.title = text ? `${text} · efface` : 'efface';
}

function problem(refusal, again) {
    const words = refusal instanceof Refusal ? inWords(refusal)
        : 'Something went wrong on this page. Reload it; if that does not help, tell the person who runs '
            + 'the service.';
    const box = el('section', { class: 'narrow' },
        el('h1', { tabindex: '-1' }, refusal.status === 404 ? 'Not found' : 'That did not work'),
        notice('bad', el('p', null, words)),
        el('p', { class: 'actions' }, button('Try again', again, 'primary'),
            link('', 'Go to the overview')));
    if (!(refusal instanceof Refusal)) console.error(refusal);
    return box;
}

function noRole(route) {
    return el('section', { class: 'narrow' },
        el('h1', { tabindex: '-1' }, 'Your token may not look at this'),
        notice('warn', el('p', null, `This takes the role ${list(route.roles, 'or')}. The token `,
            el('strong', null, me.name), ` has ${list(me.roles)}.`)),
        el('p', null, 'The person who runs the service can make a token with that role: ',
            el('code', { class: 'command' }, `efface token new NAME --role ${route.roles[0]}`)),
        el('p', { class: 'actions' }, link('', 'Go to the overview'),
            button('Use another token', leave)));
}

function land(first) {
    const heading = main.querySelector('h1');
    if (heading) {
        title(heading.textContent === 'Overview' ? '' : heading.textContent);
        if (!first) {
            heading.setAttribute('tabindex', '-1');
            heading.focus({ preventScroll: true });
        }
    }
    if (!first) window.scrollTo(0, 0);
}

let shown = 0;

// Shows the view of the address. A view that is left is told by its signal.
async function open(message) {
    leaving.abort();
    leaving = new AbortController();
    const signal = leaving.signal;
    const first = shown === 0;
    shown += 1;
    if (me === null) {
        frame(null);
        showSignIn(main, message, (found, text) => {
            signIn(text);
            me = found;
            say(`Signed in as ${me.name}`);
            open();
        });
        title('Sign in');
        return;
    }
    const hash = location.hash.replace(/^#\/?/, '');
    const route = ROUTES.find((one) => one.pattern.test(hash));
    frame(route ? route.nav : null);
    if (!route) {
        replace(main, problem(new Refusal(404, '', ''), () => open()));
    } else if (!may(...route.roles)) {
        replace(main, noRole(route));
    } else {
        const parts = route.pattern.exec(hash).slice(1)
            .map((part) => (part === undefined ? undefined : decodeURIComponent(part)));
        try {
            replace(main, el('p', { class: 'loading', role: 'status' }, 'Loading…'));
            await route.show({ main, parts, signal, may, me, go });
        } catch (refusal) {
            if (signal.aborted || refusal.name === 'AbortError' || refusal.status === 401) return;
            replace(main, problem(refusal, () => open()));
        }
    }
    if (!signal.aborted) land(first);
}

// Goes to another view; the same address is shown again.
function go(...parts) {
    const hash = `#/${parts.length ? path(...parts) : ''}`;
    if (location.hash === hash) open();
    else location.hash = hash;
}

whenLost((refusal) => {
    me = null;
    if (refusal.code === 'idle') keepWork(null);
    open(inWords(refusal));
});

window.addEventListener('hashchange', () => open());

document.getElementById('skip').addEventListener('click', (event) => {
    event.preventDefault();
    main.focus();
});

async function begin() {
    frame(null);
    if (!hasToken()) {
        open();
        return;
    }
    try {
        me = await get('v1/me');
        open();
    } catch (refusal) {
        if (refusal.status !== 401) replace(main, problem(refusal, begin));
    }
}

begin();
