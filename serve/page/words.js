// Numbers, times and what the service says, as a person would put it.

const WHOLE = new Intl.NumberFormat('en');
const MONTHS = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' };

export function whole(n) {
    return WHOLE.format(n);
}

export function count(n, one, many) {
    return `${whole(n)} ${Number(n) === 1 ? one : many || `${one}s`}`;
}

// A number to six digits; of what may be missing.
export function number(x) {
    if (x === null || x === undefined) return '–';
    if (typeof x !== 'number') return String(x);
    if (Number.isInteger(x) && Math.abs(x) < 1e15) return WHOLE.format(x);
    const size = Math.abs(x);
    if (size !== 0 && (size < 1e-4 || size >= 1e9)) return x.toExponential(4);
    return new Intl.NumberFormat('en', { maximumSignificantDigits: 6 }).format(x);
}

export function brief(x) {
    return new Intl.NumberFormat('en', { maximumSignificantDigits: 3 }).format(x);
}

export function percent(part) {
    return `${new Intl.NumberFormat('en', { maximumFractionDigits: part < 0.1 ? 1 : 0 })
        .format(part * 100)}\u00a0%`;
}

// The beginning of a text that may be long, for a heading.
export function short(text) {
    const letters = [...text];
    return letters.length <= 60 ? text : `${letters.slice(0, 59).join('')}…`;
}

export function bytes(n) {
    const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
    let i = 0;
    while (n >= 1000 && i < units.length - 1) { n /= 1000; i += 1; }
    return `${i === 0 ? n : n.toFixed(n < 10 ? 1 : 0)} ${units[i]}`;
}

export function seconds(s) {
    if (s < 0.001) return `${brief(s * 1e6)}\u00a0µs`;
    if (s < 1) return `${brief(s * 1e3)}\u00a0ms`;
    return `${brief(s)}\u00a0s`;
}

export function time(text) {
    const date = new Date(text);
    if (Number.isNaN(date.getTime())) return String(text);
    return `${new Intl.DateTimeFormat('en-GB', MONTHS).format(date)} UTC`;
}

export function list(texts, last) {
    if (texts.length < 2) return texts.join('');
    return `${texts.slice(0, -1).join(', ')} ${last || 'and'} ${texts[texts.length - 1]}`;
}

const KINDS = {
    forget: ['Forgot', 'forgotten'], learn: ['Learned', 'learned'], update: ['Updated', 'updated'],
    publish: ['Published', 'published'], rekey: ['New seed'], add: ['Model added'],
    drop: ['Model dropped'], spread: ['Rows spread'],
};
// What a receipt is about, in a few words.
export function deed(receipt) {
    const [verb, past] = KINDS[receipt.kind] || [receipt.kind, ''];
    const n = receipt[past];
    return n === undefined || !past || receipt.kind === 'publish' ? verb : `${verb} ${count(n, 'row')}`;
}

const ACTIONS = { adjusted: 'adjusted', repaired: 'repaired', refitted: 'fitted again',
    added: 'added', dropped: 'dropped' };
// What was done to a model, or will be.
export function action(name, done) {
    const text = ACTIONS[name] || name;
    return done ? text : `will be ${text}`;
}

// What forgetting takes, over all models, in a sentence for each way.
export function cost(models, done) {
    const n = models.length;
    if (n === 0) return 'The store has no models: only the rows leave.';
    const whose = (count) => (n === 1 ? 'The model' : count === n ? `All ${n} models`
        : `${count} of ${n} models`);
    const were = (count) => (done ? (count === 1 ? 'was' : 'were') : 'will be');
    const was = done ? 'was' : 'will be';
    return [['adjusted', `adjusted: the part of the rows ${was} subtracted from its sums, and no `
        + `other row ${was} needed.`],
    ['repaired', `repaired: what the rows had shaped ${was} computed again without them.`],
    ['refitted', 'fitted again from scratch, without the rows.']]
        .map(([name, text]) => [models.filter((model) => model.action === name).length, text])
        .filter(([count]) => count > 0)
        .map(([count, text]) => `${whose(count)} ${were(count)} ${text}`).join(' ');
}
