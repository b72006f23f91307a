// How long requests took: the histograms of /v1/metrics as a picture.

import { el, empty, freshId, more, replace, table } from './dom.js';
import { columns } from './pictures.js';
import { count, percent, seconds, whole } from './words.js';

// Reads lines such as  efface_request_seconds_bucket{action="predict",le="0.001"} 17
function readBuckets(text) {
    const actions = new Map();
    for (const line of text.split('\n')) {
        const found = /^(\w*request\w*_seconds)_bucket\{(.*)\} ([0-9.e+]+)$/.exec(line);
        if (!found) continue;
        const labels = Object.fromEntries([...found[2].matchAll(/(\w+)="([^"]*)"/g)]
            .map((label) => [label[1], label[2]]));
        const edge = labels.le === '+Inf' ? Infinity : Number(labels.le);
        const action = labels.action || labels.kind || 'requests';
        if (!actions.has(action)) actions.set(action, new Map());
        const buckets = actions.get(action);
        buckets.set(edge, (buckets.get(edge) || 0) + Number(found[3]));
    }
    return actions;
}

// From cumulated counts to counts.
function counts(buckets) {
    let before = 0;
    return [...buckets].sort((a, b) => a[0] - b[0]).map(([edge, sum]) => {
        const n = sum - before;
        before = sum;
        return { edge, n };
    });
}

function quantile(bars, part) {
    const all = bars.reduce((sum, bar) => sum + bar.n, 0);
    let sum = 0;
    for (const bar of bars) {
        sum += bar.n;
        if (sum >= part * all) return bar.edge;
    }
    return Infinity;
}

function trimmed(bars) {
    const first = bars.findIndex((bar) => bar.n > 0);
    const last = bars.length - 1 - [...bars].reverse().findIndex((bar) => bar.n > 0);
    return bars.slice(Math.max(0, first - 1), Math.min(bars.length, last + 2));
}

function edgeText(edge) {
    return edge === Infinity ? 'more' : seconds(edge);
}

function draw(bars, what) {
    const all = bars.reduce((sum, bar) => sum + bar.n, 0);
    const half = quantile(bars, 0.5);
    const most = quantile(bars, 0.99);
    const limit = (edge) => (edge === Infinity ? 'more than the last step'
        : `at most ${seconds(edge)}`);
    const words = `Of ${count(all, 'request')}, half took ${limit(half)}, and 99 of 100 `
        + `${limit(most)}.`;
    const shown = trimmed(bars);
    return [
        el('p', null, words),
        columns(`How long requests took: ${what}`, words,
            shown.map((bar) => ({ name: edgeText(bar.edge), value: bar.n }))),
        more('The same as a table', table('Requests by time', [
            { name: 'Up to' }, { name: 'Requests', number: true }, { name: 'Share', number: true },
        ], shown.map((bar) => [edgeText(bar.edge), whole(bar.n), percent(bar.n / all)]))),
    ];
}

export function latencyPicture(text) {
    const actions = readBuckets(text);
    const total = new Map();
    for (const buckets of actions.values()) {
        for (const [edge, sum] of buckets) total.set(edge, (total.get(edge) || 0) + sum);
    }
    const used = [...actions].filter(([, buckets]) => Math.max(...buckets.values()) > 0).sort();
    if (used.length === 0) return empty('No requests yet');
    const box = el('div', { 'aria-live': 'polite' }, draw(counts(total), 'all requests'));
    const id = freshId('latency');
    const choice = el('select', { id, on: { change: () => {
        const one = used.find(([action]) => action === choice.value);
        replace(box, draw(counts(one ? one[1] : total), one ? one[0] : 'all requests'));
    } } }, el('option', { value: '' }, 'all requests'),
    used.map(([action]) => el('option', { value: action }, action)));
    return el('div', { class: 'card' },
        el('div', { class: 'choice' }, el('label', { for: id }, 'Show'), choice), box);
}
