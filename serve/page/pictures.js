// Pictures as SVG, each with a title, a description, and the same numbers as a table. They are as
// wide as half of the page on a desk, so that their texts have the size of the page's.

import { el, freshId, more, svg, table } from './dom.js';
import { brief, count, number, percent, whole } from './words.js';

function picture(width, height, title, description, ...children) {
    const ids = [freshId('title'), freshId('text')];
    return svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', class: 'picture',
        'aria-labelledby': ids.join(' ') },
    svg('title', { id: ids[0] }, title), svg('desc', { id: ids[1] }, description), ...children);
}

const WIDTH = 500;

// Room to the left of bars for the longest of their names.
function gutter(names) {
    return Math.min(170, 22 + 8.5 * Math.max(1, ...names.map((name) => clip(name).length)));
}

function text(x, y, words, attributes) {
    return svg('text', { x, y, ...attributes }, words);
}

// Upright bars; `bars` are { name, value }.
export function columns(title, description, bars) {
    const [width, height, low, high] = [WIDTH, 210, 178, 22];
    const most = Math.max(1, ...bars.map((bar) => bar.value));
    const step = (width - 20) / bars.length;
    const every = Math.ceil(bars.length / 7);
    return picture(width, height, title, description,
        svg('line', { class: 'axis', x1: 10, x2: width - 10, y1: low, y2: low }),
        bars.map((bar, i) => {
            const x = 10 + i * step;
            const tall = bar.value === 0 ? 0 : Math.max(2, (bar.value / most) * (low - high));
            return svg('g', null,
                svg('rect', { class: 'bar', x: x + step * 0.12, width: step * 0.76, y: low - tall,
                    height: tall, rx: 3 }),
                bar.value > 0 && step > 26 ? text(x + step / 2, low - tall - 6, short(bar.value),
                    { 'text-anchor': 'middle', class: 'tiny' }) : null,
                i % every === 0
                    ? text(x + step / 2, low + 18, bar.name,
                        { 'text-anchor': 'middle', class: 'tiny pale' }) : null);
        }));
}

function short(n) {
    return new Intl.NumberFormat('en', { notation: 'compact' }).format(n);
}

// Clusters on a plane: the area of each is its share of the weight.
function map(data) {
    const [width, height, edge] = [WIDTH, 340, 26];
    const points = data.points;
    const radius = (point) => Math.max(4, Math.sqrt(point.share) * 76);
    const span = (what) => {
        const values = points.map((point) => point[what]);
        const [low, high] = [Math.min(...values), Math.max(...values)];
        return high > low ? [low, high] : [low - 1, high + 1];
    };
    const [[x0, x1], [y0, y1]] = [span('x'), span('y')];
    const most = Math.max(...points.map(radius));
    const place = (value, low, high, from, to) => from
        + ((value - low) / (high - low)) * (to - from);
    const at = (point) => [place(point.x, x0, x1, most + edge, width - most - edge),
        place(point.y, y0, y1, height - most - edge - 12, most + edge - 10)];
    const large = [...points].sort((a, b) => b.share - a.share);
    const top = large[0];
    const words = `${count(points.length, data.row_name)} on the plane of the two first principal `
        + `components. The largest is ${data.row_name} ${top.name}, with ${percent(top.share)} of `
        + 'the weight.';
    const axis = (i) => `${['first', 'second'][i]} component, ${percent(data.axes[i].share)}`;
    return frame(data.title, el('p', { class: 'pale' }, 'Each circle is a ', data.row_name,
        '; its area is the share of the weight. Distances are those of the centers, seen along the '
        + 'two directions in which they differ most; each axis says its share of their variance.'),
    picture(width, height, data.title, words,
        svg('rect', { class: 'ground', x: 1, y: 1, width: width - 2, height: height - 2, rx: 10 }),
        large.map((point) => {
            const [x, y] = at(point);
            return svg('circle', { class: point.share > 0 ? 'bubble' : 'bubble hollow',
                cx: x, cy: y, r: radius(point) },
            svg('title', null, `${data.row_name} ${point.name}: ${count(point.rows, 'row')}, `
                + percent(point.share)));
        }),
        points.map((point) => {
            const [x, y] = at(point);
            const inside = radius(point) > 13;
            return text(x, inside ? y + 5 : y - radius(point) - 5, point.name,
                { 'text-anchor': 'middle', class: 'label' });
        }),
        text(width / 2, height - 12, axis(0), { 'text-anchor': 'middle', class: 'tiny pale' }),
        data.axes.length > 1 ? text(16, height / 2, axis(1), { 'text-anchor': 'middle',
            class: 'tiny pale', transform: `rotate(-90 16 ${height / 2})` }) : null),
    more('The same as a table', table(data.title, [{ name: data.row_name },
        { name: 'Rows', number: true }, { name: 'Weight', number: true },
        { name: 'Share', number: true }, { name: 'First', number: true },
        { name: 'Second', number: true }],
    points.map((point) => [point.name, whole(point.rows), number(point.weight),
        percent(point.share), number(point.x), number(point.y)]))));
}

// Parts of a whole, as lying bars, the largest first.
function shares(data) {
    const [width, row] = [WIDTH, 30];
    const parts = [...data.parts].sort((a, b) => b.share - a.share).slice(0, 40);
    const left = gutter(parts.map((part) => part.name));
    const height = parts.length * row + 6;
    const most = Math.max(1e-9, ...parts.map((part) => part.share));
    const words = parts.slice(0, 3)
        .map((part) => `${part.name}: ${percent(part.share)}`).join(', ');
    return frame(data.title, data.text ? el('p', { class: 'pale' }, data.text) : null,
        picture(width, height, data.title, words, parts.map((part, i) => {
            const y = i * row + 4;
            const long = Math.max(1, (part.share / most) * (width - left - 64));
            return svg('g', null,
                text(left - 12, y + 16, clip(part.name), { 'text-anchor': 'end' }),
                svg('rect', { class: 'bar', x: left, y: y + 2, width: long,
                    height: row - 12, rx: 3 }),
                text(left + long + 8, y + 16, percent(part.share), { class: 'pale' }));
        })),
        more('The same as a table', table(data.title, [{ name: data.row_name },
            { name: data.measure || 'Weight', number: true }, { name: 'Share', number: true }],
        data.parts.map((part) => [part.name, number(part.value), percent(part.share)]))));
}

function clip(name) {
    return name.length > 20 ? `${name.slice(0, 19)}…` : name;
}

// Coefficients: lying bars around zero, with whiskers of two standard errors.
function effects(data) {
    const [width, row, right] = [WIDTH, 34, 70];
    const scaled = data.bars.every((bar) => bar.effect !== null && bar.effect !== undefined);
    const bars = [...data.bars].map((bar) => ({ ...bar,
        at: scaled ? bar.effect : bar.value,
        whisker: 2 * ((scaled ? bar.effect_error : bar.error) || 0) }))
        .sort((a, b) => Math.abs(b.at) - Math.abs(a.at)).slice(0, 30);
    const low = Math.min(0, ...bars.map((bar) => bar.at - bar.whisker));
    const high = Math.max(0, ...bars.map((bar) => bar.at + bar.whisker));
    const span = high - low || 1;
    const left = gutter(bars.map((bar) => bar.name));
    const room = low < 0 ? 64 : 4; // for the numbers of bars that point to the left
    const x = (value) => left + room + ((value - low) / span) * (width - left - right - room);
    const height = bars.length * row + 10;
    const whiskers = bars.some((bar) => bar.whisker > 0);
    const what = scaled ? `Change of ${data.title} when a column grows by one standard deviation`
        : `Change of ${data.title} when a column grows by one`;
    const words = bars.slice(0, 3).map((bar) => `${bar.name}: ${number(bar.at)}`).join(', ');
    return frame(data.title, el('p', { class: 'pale' }, what,
        whiskers ? '; whiskers are two standard errors.' : '.',
        data.quality !== null && data.quality !== undefined
            ? ` The model explains ${percent(data.quality)} of the variance.` : ''),
    picture(width, height, what, words,
        svg('line', { class: 'axis', x1: x(0), x2: x(0), y1: 0, y2: height }),
        bars.map((bar, i) => {
            const y = i * row + 6;
            const [from, to] = [Math.min(x(0), x(bar.at)), Math.max(x(0), x(bar.at))];
            const middle = y + 11;
            const [a, b] = [x(bar.at - bar.whisker), x(bar.at + bar.whisker)];
            return svg('g', null,
                text(left - 12, y + 16, clip(bar.name), { 'text-anchor': 'end' }),
                svg('rect', { class: bar.at < 0 ? 'bar under' : 'bar', x: from, y: y + 2,
                    width: Math.max(1, to - from), height: 18, rx: 3 }),
                bar.whisker > 0 ? svg('path', { class: 'whisker',
                    d: `M${a} ${middle}H${b}M${a} ${middle - 5}v10M${b} ${middle - 5}v10` }) : null,
                text(bar.at < 0 ? Math.min(a, from) - 6 : Math.max(b, to) + 6, y + 16,
                    brief(bar.at), { class: 'pale', 'text-anchor': bar.at < 0 ? 'end' : 'start' }));
        })),
    more('The same as a table', table(`Coefficients of ${data.title}`, [{ name: 'Column' },
        { name: 'Coefficient', number: true }, { name: 'Standard error', number: true },
        scaled ? { name: 'Per deviation', number: true } : null].filter(Boolean),
    [...(data.intercept === null || data.intercept === undefined ? []
        : [['intercept', number(data.intercept), number(data.intercept_error)]
            .concat(scaled ? ['–'] : [])]),
    ...data.bars.map((bar) => [bar.name, number(bar.value), number(bar.error)]
        .concat(scaled ? [number(bar.effect)] : []))])));
}

const MAX_COLUMNS = 7;
// The columns in which the rows of a profile differ most, in their order.
function strongest(data, rows) {
    const size = (j) => Math.max(...rows.map((one) => Math.abs(one.differences[j] || 0)));
    return data.columns.map((name, j) => j).sort((a, b) => size(b) - size(a))
        .slice(0, MAX_COLUMNS).sort((a, b) => a - b);
}

// What marks each cluster or class: how far each column lies from the mean, in deviations.
function profile(data) {
    const [width, row, top] = [WIDTH, 34, 34];
    const rows = data.rows.slice(0, 30);
    const left = gutter(rows.map((one) => one.name));
    const shown = strongest(data, rows);
    const names = shown.map((j) => data.columns[j]);
    const step = (width - left - 6) / names.length;
    const height = top + rows.length * row + 6;
    const most = Math.max(0.5, ...rows.flatMap((one) => shown
        .map((j) => Math.abs(one.differences[j] || 0))));
    const words = rows.map((one) => {
        const z = shown.map((j) => one.differences[j]);
        const at = z.reduce((best, value, i) => (Math.abs(value || 0) > Math.abs(z[best] || 0)
            ? i : best), 0);
        return `${data.row_name} ${one.name}: ${names[at]} ${(z[at] || 0) < 0 ? 'below' : 'above'}`;
    }).slice(0, 4).join('; ');
    return frame(data.title, el('p', { class: 'pale' }, data.text,
        shown.length < data.columns.length ? ` These ${shown.length} of ${
            whole(data.columns.length)} columns differ most.` : ''),
        picture(width, height, data.title, words,
            names.map((name, j) => text(left + (j + 0.5) * step, 18,
                name.length * 7 > step
                    ? `${name.slice(0, Math.max(2, Math.floor(step / 8)))}…` : name,
                { 'text-anchor': 'middle', class: 'tiny pale' })),
            names.map((name, j) => svg('line', { class: 'axis faint', x1: left + (j + 0.5) * step,
                x2: left + (j + 0.5) * step, y1: top - 6, y2: height - 4 })),
            rows.map((one, i) => {
                const y = top + i * row;
                return svg('g', null,
                    text(left - 12, y + 19, clip(one.name), { 'text-anchor': 'end' }),
                    names.map((name, j) => {
                        const z = one.differences[shown[j]] || 0;
                        const long = (Math.abs(z) / most) * (step * 0.44);
                        const middle = left + (j + 0.5) * step;
                        return svg('rect', { class: z < 0 ? 'bar under' : 'bar',
                            x: z < 0 ? middle - long : middle, y: y + 5, width: Math.max(0.5, long),
                            height: 18, rx: 2 }, svg('title', null,
                            `${one.name}, ${name}: ${number(one.values[shown[j]])}`));
                    }));
            })),
        more('The same as a table', table(data.title, [{ name: data.row_name },
            ...data.columns.map((name) => ({ name, number: true }))],
        data.rows.map((one) => [one.name, ...one.values.map(number)]))));
}

function frame(title, words, ...children) {
    return el('figure', { class: 'card' }, el('figcaption', null, el('h3', null, title), words),
        ...children);
}

const KINDS = { map, shares, effects, profile };

// A picture of GET .../picture.
export function draw(data) {
    const kind = KINDS[data.kind];
    return kind ? kind(data) : null;
}
