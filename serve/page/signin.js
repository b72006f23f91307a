// Signing in: a token is pasted, and the service is asked whose it is.

import { inWords, tryToken } from './api.js';
import { el, notice, replace } from './dom.js';

export function showSignIn(main, message, done) {
    // 'one-time-code' keeps browsers from offering to save the token as a password.
    const field = el('input', {
        id: 'token', type: 'password', autocomplete: 'one-time-code', spellcheck: 'false',
        autocapitalize: 'none', required: true, 'aria-describedby': 'token-help token-problem',
    });
    const problem = el('div', { id: 'token-problem' });
    const button = el('button', { type: 'submit', class: 'primary' }, 'Sign in');
    const refuse = (text) => {
        field.setAttribute('aria-invalid', 'true');
        replace(problem, notice('bad', el('p', null, text)));
        field.focus();
        field.select();
    };
    const submit = async (event) => {
        event.preventDefault();
        const text = field.value.trim();
        if (text === '') {
            refuse('Paste a token first.');
            return;
        }
        if (!/^[\x21-\x7e]+$/.test(text)) {
            refuse('This is not a token: a token is one word of letters, digits, - and _.');
            return;
        }
        button.disabled = true;
        try {
            const me = await tryToken(text);
            field.value = '';
            done(me, text);
        } catch (refusal) {
            refuse(inWords(refusal));
        } finally {
            button.disabled = false;
        }
    };
    replace(main, el('section', { class: 'signin' },
        el('h1', { tabindex: '-1' }, 'Sign in'),
        el('p', { class: 'lead' }, 'Find a person, see what it takes to forget them, forget them, '
            + 'and hand out the receipt.'),
        message ? notice('plain', el('p', null, message)) : null,
        el('form', { class: 'card', novalidate: true, on: { submit } },
            el('label', { for: 'token' }, 'Token'), field,
            el('p', { class: 'hint', id: 'token-help' }, 'It begins with efface_. This tab keeps '
                + 'it until you sign out, close the tab, or leave it alone for half an hour.'),
            problem, button),
        el('p', { class: 'hint' }, 'No token yet? The person who runs the service makes one: ',
            el('code', { class: 'command' }, 'efface token new NAME --role read,erase'))));
    field.focus();
}
