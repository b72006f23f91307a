// Requests to the service, and the token.
//
// The token lives in this module and in sessionStorage, so that a reload does not lose it: it is
// gone when the tab is closed, when the user signs out, and after half an hour without a request.
// There is no cookie, and nothing is written to localStorage.

const TOKEN = 'efface.token';
const USED = 'efface.used';
const WORK = 'efface.work';
const IDLE_MS = 30 * 60 * 1000;

let token = null;

// Why a request was refused: `status` of HTTP, 0 if the service did not answer; `code` of the body.
export class Refusal extends Error {
    constructor(status, code, message, wait) {
        super(message);
        this.status = status;
        this.code = code;
        this.wait = wait;
    }
}

function idle() {
    return Date.now() - Number(sessionStorage.getItem(USED) || 0) > IDLE_MS;
}

export function signIn(text) {
    token = text;
    sessionStorage.setItem(TOKEN, text);
    sessionStorage.setItem(USED, String(Date.now()));
}

export function signOut() {
    token = null;
    sessionStorage.clear();
}

// Keeps the work, so that whoever signs in again goes on where they were.
function loseToken() {
    token = null;
    sessionStorage.removeItem(TOKEN);
}

export function hasToken() {
    if (token === null) token = sessionStorage.getItem(TOKEN);
    if (token !== null && idle()) signOut();
    return token !== null;
}

// Called with the refusal when the service does not know the token any more.
let onLost = () => {};
export function whenLost(listener) {
    onLost = listener;
}

// Signs out a page that nobody uses.
setInterval(() => {
    if (token !== null && idle()) {
        signOut();
        onLost(new Refusal(401, 'idle', ''));
    }
}, 20000);

function pause(ms, signal) {
    return new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, ms);
        if (signal) {
            signal.addEventListener('abort', () => {
                clearTimeout(timer);
                reject(new DOMException('', 'AbortError'));
            });
        }
    });
}
export { pause };

async function refusalOf(reply) {
    let code = '';
    let message = '';
    try {
        const body = await reply.json();
        code = body.error.code;
        message = body.error.message;
    } catch (problem) {
        message = reply.statusText;
    }
    return new Refusal(reply.status, String(code), String(message),
        Number(reply.headers.get('Retry-After')) || 0);
}

async function once(method, path, body, signal) {
    const headers = { Authorization: `Bearer ${token}` };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    let reply;
    try {
        reply = await fetch(path, {
            method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
            cache: 'no-store', credentials: 'omit', redirect: 'error',
        });
    } catch (problem) {
        if (problem.name === 'AbortError') throw problem;
        throw new Refusal(0, 'unreachable', '');
    }
    if (!reply.ok) throw await refusalOf(reply);
    return reply;
}

// Makes a request and hands out the reply. What only reads is tried again when the service is busy.
export async function send(method, path, { body, signal, reads = method === 'GET' } = {}) {
    sessionStorage.setItem(USED, String(Date.now()));
    for (let turn = 0; ; turn += 1) {
        try {
            return await once(method, path, body, signal);
        } catch (refusal) {
            if (refusal.status === 401) {
                loseToken();
                onLost(refusal);
            }
            const busy = refusal.status === 503 || refusal.status === 429;
            if (!busy || !reads || turn === 3) throw refusal;
            await pause(Math.min(refusal.wait || 1, 3) * 1000, signal);
        }
    }
}

export async function get(path, signal) {
    return (await send('GET', path, { signal })).json();
}

export async function ask(path, body, signal) {
    return (await send('POST', path, { body, signal, reads: true })).json();
}

export async function change(path, body) {
    return (await send('POST', path, { body })).json();
}

// A token that somebody pasted: who it is, or a refusal.
export async function tryToken(text) {
    const before = token;
    token = text;
    try {
        return await (await once('GET', 'v1/me')).json();
    } finally {
        token = before;
    }
}

// Work in progress, for a reload; it may name a person, so it goes when the work is done.
export function keepWork(work) {
    if (work === null) sessionStorage.removeItem(WORK);
    else sessionStorage.setItem(WORK, JSON.stringify(work));
}
export function keptWork() {
    try {
        return JSON.parse(sessionStorage.getItem(WORK));
    } catch (problem) {
        return null;
    }
}

// A refusal in plain words: what happened, and what can be done.
export function inWords(refusal) {
    const said = refusal.message ? ` The service says: ${refusal.message}` : '';
    switch (refusal.status) {
    case 0: return 'The service cannot be reached. It may be restarting, or the network is down.';
    case 400: return `The service did not understand the request.${said}`;
    case 401:
        if (refusal.code === 'expired_token') {
            return 'This token has expired. Ask for a new one.';
        }
        if (refusal.code === 'idle') return 'You were signed out after half an hour without use.';
        return 'The service does not know this token. Check that all of it was pasted; it may '
            + 'also have been revoked.';
    case 403: return 'Your token does not have the role that this takes.';
    case 404: return 'This is not there. It may have been there before.';
    case 409: return `This does not fit what the store has now.${said}`;
    case 413: return 'The request is larger than the service takes.';
    case 421: return 'The service does not answer under this address. Open it under the name that '
        + 'it was started for.';
    case 422: return `The request is outside of a limit.${said}`;
    case 429: return 'There were too many requests. Wait a moment, then try again.';
    case 500: return 'The store seems to be damaged, or the service has a fault. The request may '
        + 'or may not have been done. The person who runs the service should look at it (efface check).';
    case 503: return 'The service is busy, stopping, or cannot write. Nothing was changed. Try '
        + 'again in a moment.';
    case 507: return 'The disk is full. Nothing was changed.';
    default: return `The service answered with status ${refusal.status}.${said}`;
    }
}
