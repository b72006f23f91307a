"""Draws the figures of a run from the CSV files in its folder: figure1_runtime to figure9_tradeoff,
as SVG and PNG, beside the files they are drawn from. Measures nothing.

The paper's are 1 to 6; 7 to 9 (growth, latency, trade-off) are our own. Sets that are stand-ins are
marked wherever they are named. A figure whose CSV file is missing is left out.
"""

import math
from collections import namedtuple
from pathlib import Path

from . import results
from .plotting import (
    GREY, WIDTH, Box, decades, draw, padded, powers_of_ten, quoted, spread, text_width, tics,
    time_axis, wrap,
)
from .results import METHODS, SETS, look, number

# What a figure is: its title, its height without small print, and what places it on a sheet.
Figure = namedtuple("Figure", "title height place")
Source = namedtuple("Source", "table costs meta")  # costs: table 4, or None


def method_looks(table):
    methods = table.methods()
    return {m: look(m, METHODS, methods) for m in methods}


def set_looks(table):
    """The looks of the sets, stand-ins marked."""
    sets = table.sets()
    looks = {name: look(name, SETS, list(sets)) for name in sets}
    return {name: looks[name]._replace(title=results.set_title(row)) for name, row in sets.items()}


def grid(count, top, height, left, gap, below):
    """Boxes of panels in rows of three at most."""
    columns = min(3, count)
    width = (WIDTH - 14 - left - gap * (columns - 1)) / columns
    boxes = []
    for i in range(count):
        x = left + (i % columns) * (width + gap)
        y = top + 22 + (i // columns) * (height + 22 + below)
        boxes.append(Box(x, y, x + width, y + height))
    return boxes


def panel_rows(count):
    return math.ceil(count / 3)


def size_of(row, meta):
    """`12,009 × 10, k = 4` of a set, as far as meta.json tells."""
    known = meta.get("sets", {}).get(row["set"])
    return f"{known['n']:,} × {known['d']}, k = {known['k']}" if known else ""


def head_panel(sheet, box, row, meta):
    title = results.set_title(row)
    sheet.label(title, box.left, box.top - 12, bold=True)
    sheet.label(size_of(row, meta), box.left + text_width(title) + 14, box.top - 12, size=11)


# ---------------------------------------------------------------- 1: amortized time


def place_runtime(sheet, source):
    table = source.table
    looks, sets = method_looks(table), table.sets()
    used = sheet.key(list(looks.values()), 4)
    boxes = grid(len(sets), used + 8, 178, 74, 62, 40)
    for (name, first), box in zip(sets.items(), boxes):
        rows = table.find(set=name)
        low, high = decades(*extent(number(r, "seconds") for r in rows))
        most = max(number(r, "deletions") for r in rows)
        last = panel_below(boxes, box) is None
        sheet.begin_panel(
            box, "set logscale x", f"set xrange [1:{max(most, 10):g}]", "set mxtics 1",
            f"set xtics {tics(powers_of_ten(1, max(most, 10)), lambda v: f'{v:,.0f}')}",
            *time_axis("y", low, high), "set clip two")
        head_panel(sheet, box, first, source.meta)
        if last:
            sheet.label("deletions", (box.left + box.right) / 2, box.bottom + 34, "center", 12)
        sheet.plot([curve(sheet, [r for r in rows if r["method"] == m], "deletions", "seconds",
                          looks[m], points=False)
                    for m in looks if any(r["method"] == m for r in rows)])
    middle = (boxes[0].top + boxes[-1].bottom) / 2
    sheet.label("time per deletion, training included", 14, middle, "center", 12, rotate=90)


def panel_below(boxes, box):
    return next((b for b in boxes if b.left == box.left and b.top > box.top), None)


def extent(values):
    there = [v for v in values if v is not None]
    return min(there), max(there)


def curve(sheet, rows, across, up, style, shift=1.0, points=True):
    """A plot of a field against another."""
    there = [r for r in rows if number(r, up) is not None]
    block = sheet.block(sorted((number(r, across) * shift, number(r, up)) for r in there))
    if points:
        return f"{block} with linespoints {sheet.line(style)} notitle"
    sparse = f"pi {max(len(there) // 4, 1)}"
    return f"{block} with linespoints {sheet.line(style)} {sparse} notitle"


# ---------------------------------------------------------------- 2: retrains along the stream

BAND, BAND_GAP, SET_GAP = 22, 4, 16


def retrain_sets(source):
    """The sets of figure 2: also those in which no request did anything, which table 4 knows."""
    first = source.table.sets()
    if source.costs is not None:
        for row in source.costs.rows:
            if row["method"] in ("quantized", "quantized_fresh"):
                first.setdefault(row["set"], row)
    return {name: first[name] for name in results.ordered(first, SETS)}


def retrain_methods(source):
    named = {r["method"]: None for r in source.table.rows} | {"quantized": None}
    return results.ordered(named, ["quantized", "quantized_fresh"])


def place_retrains(sheet, source):
    sets, methods = retrain_sets(source), retrain_methods(source)
    deletions = source.meta.get("deletions") or 1000
    left, right, top = 190, WIDTH - 150, 34
    step = len(methods) * (BAND + BAND_GAP) + SET_GAP
    box = Box(left, top, right, top + step * len(sets))
    plots, y = [], top
    sheet.label("mean count of a run", right + 75, 10, "center", 11.5)
    for x, what in ((right + 40, "repaired"), (right + 110, "refitted")):
        sheet.label(what, x, 26, "center", 11.5, bold=True)
    ticks = {"repaired": [], "refitted": []}
    bands = []
    for name, first in sets.items():
        sheet.label(results.set_title(first), 14, y + BAND + BAND_GAP / 2, bold=True)
        for method in methods:
            bands.append((0, deletions, y, y + BAND))
            count_band(sheet, source, (name, method), (y, right), ticks)
            y += BAND + BAND_GAP
        y += SET_GAP
    sheet.begin_panel(box, f"set xrange [0:{deletions}]", f"set yrange [{box.bottom}:{top}]",
                      "unset ytics", "set border 1", "unset grid",
                      "set xtics out", "set style fill solid 1 noborder")
    back = sheet.block([((a + b) / 2, (c + d) / 2, a, b, c, d) for a, b, c, d in bands])
    plots.append(f"{back} using 1:2:3:4:5:6 with boxxyerror fc rgb '#f0f0f0' notitle")
    for action, colour, width in (("repaired", "#D55E00", 1.1), ("refitted", "#000000", 1.1)):
        if ticks[action]:
            block = sheet.block(ticks[action])
            plots.append(f"{block} with vectors nohead lc rgb '{colour}' lw {width} notitle")
    sheet.plot(plots)
    sheet.label("request", (left + right) / 2, box.bottom + 32, "center", 12)


def count_band(sheet, source, which, place, ticks):
    """The ticks, the title and the counts of a set and method."""
    (name, method), (y, right) = which, place
    rows = source.table.find(set=name, method=method)
    runs = sorted({r["replicate"] for r in source.table.rows}, key=float)
    count = max(source.meta.get("replicates") or 0, len(runs), 1)
    first = min((float(r) for r in runs), default=0)
    high = BAND / count
    for row in rows:
        low = y + high * (float(row["replicate"]) - min(first, 1))
        long = 0.95 if row["action"] == "refitted" else 0.7
        bottom = low + high * 0.98
        at = float(row["request"])
        ticks.setdefault(row["action"], []).append((at, bottom, 0, -high * long))
    short = {"quantized": "exact", "quantized_fresh": "paper-literal"}
    title = short.get(method, results.method_title(method))
    sheet.label(title, 182, y + BAND / 2, "right", 11.5)
    for x, action in ((right + 40, "repaired"), (right + 110, "refitted")):
        mean = sum(r["action"] == action for r in rows) / count
        sheet.label(f"{mean:,.1f}", x, y + BAND / 2, "center", 11.5)


# ---------------------------------------------------------------- 3 to 6: sweeps


def power_of_two(value):
    power = math.log2(value)
    return f"2^{{{power:.0f}}}" if value < 1 and power == round(power) else f"{value:g}"


def sweep_axis(table, field):
    values = sorted({number(r, field) for r in table.rows})
    low, high = padded(values[0], values[-1], 0.04)
    return ["set logscale x 2", f"set xrange [{low:.6g}:{high:.6g}]", "set mxtics 1",
            f"set xtics {tics(values, power_of_two)}"]


def bars(sheet, rows, fields, style, shift):
    """Bars of one standard deviation; an axis may be logarithmic, so they end above zero."""
    across, up, deviation = fields
    ends = []
    for r in rows:
        mean, sd = number(r, up), number(r, deviation)
        if mean is not None and sd:
            ends.append((number(r, across) * shift, mean, max(mean - sd, mean / 10), mean + sd))
    if not ends:
        return []
    line = f"lc rgb '{style.colour}' dt solid pt 0 lw 1"
    return [f"{sheet.block(ends)} using 1:2:3:4 with yerrorbars {line} notitle"]


def sweep_curves(sheet, table, across, up):
    """Plots of a field for each set, beside each other so that bars can be told apart."""
    looks = set_looks(table)
    plots = []
    for i, (name, style) in enumerate(looks.items()):
        shift = 2 ** (0.055 * (i - (len(looks) - 1) / 2))
        rows = table.find(set=name)
        plots += bars(sheet, rows, (across, up, "sd"), style, shift)
        plots.append(curve(sheet, rows, across, up, style, shift))
    return plots


def place_loss(across, label):
    def place(sheet, source):
        table = source.table
        used = sheet.key(list(set_looks(table).values()), 4)
        box = Box(74, used + 16, WIDTH - 16, sheet.bottom - 44)
        low, high = extent(number(r, "loss_ratio") for r in table.rows)
        scale = ["set logscale y"] if high > 4 * low else ["set format y '%.2f'"]
        sheet.begin_panel(box, *sweep_axis(table, across), *scale)
        sheet.label(label, (box.left + box.right) / 2, box.bottom + 34, "center", 12)
        sheet.label("loss / loss of k-means run to convergence", 14,
                    (box.top + box.bottom) / 2, "center", 12, rotate=90)
        sheet.plot([f"1 lc rgb '{GREY}' dt solid lw 0.8 notitle",
                    *sweep_curves(sheet, table, across, "loss_ratio")])
    return place


def retraining_lines(source):
    """What retraining k-means takes on each set of a sweep, as far as table 4 knows."""
    lines = {}
    for name in source.table.sets():
        found = source.costs and source.costs.one(set=name, method="kmeans")
        if found and number(found, "seconds"):
            lines[name] = number(found, "seconds")
    return lines


def place_time(across, label):
    def place(sheet, source):
        table, retraining = source.table, retraining_lines(source)
        used = sheet.key(list(set_looks(table).values()), 4)
        box = Box(84, used + 16, WIDTH - 16, sheet.bottom - 44)
        values = [number(r, "seconds") for r in table.rows] + list(retraining.values())
        low, high = padded(*extent(values), 0.12)
        sheet.begin_panel(box, *sweep_axis(table, across), *time_axis("y", low, high))
        sheet.label(label, (box.left + box.right) / 2, box.bottom + 34, "center", 12)
        sheet.label("training once and 1,000 deletions", 14, (box.top + box.bottom) / 2,
                    "center", 12, rotate=90)
        plots = []
        for name, seconds in retraining.items():
            plots.append(f"{seconds:.6g} lc rgb '#000000' dt solid lw 1.6 notitle")
            y = box.bottom - (box.bottom - box.top) * place_log(seconds, low, high)
            sheet.label(f"retraining k-means, {set_looks(table)[name].title}: "
                        f"{results.duration(seconds)}", box.right - 4, y - 10, "right", 11.5)
        sheet.plot(plots + sweep_curves(sheet, table, across, "seconds"))
    return place


def place_log(value, low, high):
    """Where a value stands between two others on a logarithmic axis, from 0 to 1."""
    return math.log(value / low) / math.log(high / low)


# ---------------------------------------------------------------- 7: growth


def place_growth(sheet, source):
    table = source.table
    looks = method_looks(table)
    fields = ("request_us", "request_us_median", "retrain_us")
    values = [number(r, f) for r in table.rows for f in fields if number(r, f)]
    low, high = padded(min(values), max(values))
    sizes = sorted({number(r, "n") for r in table.rows})
    left, right = sizes[0] / 1.15, sizes[-1] * 1.15
    box = Box(84, 16, WIDTH - 250, sheet.bottom - 44)
    sheet.begin_panel(box, "set logscale x", f"set xrange [{left:g}:{right:g}]", "set mxtics 1",
                      f"set xtics {tics(powers_of_ten(*sizes[::len(sizes) - 1]), thousands)}",
                      *time_axis("y", low, high, 1e-6))
    ends, plots = [], []
    retrain = retraining_by_size(table, sizes)
    if retrain:
        black = METHODS["kmeans"]
        ends.append((retrain[-1][1], black._replace(title="retraining k-means")))
        plots.append(f"{sheet.block(retrain)} with linespoints {sheet.line(black)} notitle")
    for method, style in looks.items():
        rows = table.find(method=method)
        solid, dashed = style._replace(dash="solid"), style._replace(dash="(6,4)")
        plots.append(curve(sheet, rows, "n", "request_us", dashed._replace(point=0)))
        plots.append(curve(sheet, rows, "n", "request_us_median", solid))
        last = max(rows, key=lambda r: number(r, "n"))
        ends.append((number(last, "request_us_median") or number(last, "request_us"), style))
    sheet.plot(plots)
    label_ends(sheet, ends, box, (low, high))
    sheet.label("rows n", (box.left + box.right) / 2, box.bottom + 34, "center", 12)
    sheet.label("time of a request", 14, (box.top + box.bottom) / 2, "center", 12, rotate=90)


def thousands(value):
    return f"{value:,.0f}"


def retraining_by_size(table, sizes):
    """The time of retraining for each n; methods that measured it agree up to noise: the median."""
    points = []
    for n in sizes:
        found = sorted(number(r, "retrain_us") for r in table.rows
                       if number(r, "n") == n and number(r, "retrain_us"))
        if found:
            points.append((n, found[len(found) // 2]))
    return points


def label_ends(sheet, ends, box, scope):
    """Writes titles beside the last points of curves, moved apart where they would overlap."""
    height = box.bottom - box.top
    places = [box.bottom - height * place_log(value, *scope) for value, _ in ends]
    for (_, style), y in zip(ends, spread(places, 17)):
        sheet.label(style.title, box.right + 10, y, size=12, colour=readable(style.colour))


def readable(colour):
    """A colour that is dark enough for text."""
    return {"#E69F00": "#9a6a00", "#56B4E9": "#2479a8", "#CC79A7": "#a34f7f"}.get(colour, colour)


# ---------------------------------------------------------------- 8: latency

RIDGE = 24  # the height of a method's row


def place_latency(sheet, source):
    table = source.table
    looks, sets = method_looks(table), table.sets()
    names = max(text_width(style.title, 11.5) for style in looks.values())
    boxes = grid(len(sets), 0, RIDGE * len(looks) + 10, names + 22, 22, 40)
    low = min(number(r, "us_low") for r in table.rows if number(r, "us_low"))
    high = max(number(r, "us_high") for r in table.rows)
    for i, ((name, first), box) in enumerate(zip(sets.items(), boxes)):
        sheet.begin_panel(box, *time_axis("x", *decades(low, high), 1e-6), "set border 1",
                          "unset ytics", "unset grid",
                          "set grid xtics lt 1 lc rgb '#e4e4e4' lw 0.7",
                          f"set yrange [0:{len(looks) + 10 / RIDGE:.4f}]", "set xtics rotate by -35")
        head_panel(sheet, box, first, source.meta)
        plots = []
        for place, (method, style) in enumerate(reversed(looks.items())):
            if i % 3 == 0:
                y = box.bottom - RIDGE * (place + 0.35)
                sheet.label(style.title, box.left - 8, y, "right", 11.5, readable(style.colour))
            plots += ridge(sheet, table.find(set=name, method=method), place, style)
        sheet.plot(plots or ["NaN notitle"])
        if panel_below(boxes, box) is None:
            sheet.label("time of a request", (box.left + box.right) / 2, box.bottom + 46,
                        "center", 12)


def ridge(sheet, rows, place, style):
    """A histogram over log bins on a row of its own: filled, the highest bin being the measure."""
    bins = sorted((number(r, "us_low"), number(r, "us_high"), number(r, "count")) for r in rows)
    bins = [(a, b, c / math.log(b / a)) for a, b, c in bins if c and a and b > a]
    if not bins:
        return []
    highest = max(c for _, _, c in bins)
    outline, before = [], None
    for a, b, c in bins:
        up = place + 0.9 * c / highest
        if before is None or a > before * 1.001:
            if before is not None:
                outline += [(before, place), None]
            outline.append((a, place))
        outline += [(a, up), (b, up)]
        before = b
    outline.append((before, place))
    block = sheet.block(outline)
    fill = f"lc rgb '{style.colour}'"
    return [f"{block} using 1:2 with filledcurves y1={place} fs transparent solid 0.35 {fill}"
            " notitle", f"{block} using 1:2 with lines {fill} lw 1.2 notitle"]


# ---------------------------------------------------------------- 9: speed-up against loss


def place_tradeoff(sheet, source):
    table = source.table
    looks = method_looks(table)
    used = sheet.key(list(looks.values()), 4, lines=False)
    box = Box(74, used + 16, WIDTH - 16, sheet.bottom - 44)
    rows = [r for r in table.rows if number(r, "speedup") and number(r, "loss_ratio")]
    low, high = padded(*extent(number(r, "speedup") for r in rows), 0.05)
    least, most = extent(number(r, "loss_ratio") for r in rows)
    room = 0.05 * (most - least) or 0.05
    scope = (least - room, most + 1.6 * room, low, high)
    sheet.begin_panel(box, "set logscale y", f"set yrange [{low:.6g}:{high:.6g}]", "set mytics 1",
                      f"set ytics {tics(round_steps(low, high), lambda v: f'{v:g}×')}",
                      f"set xrange [{scope[0]:.6g}:{scope[1]:.6g}]", "set format x '%.2f'",
                      "set grid xtics")
    plots = []
    for method, style in looks.items():
        own = [r for r in rows if r["method"] == method]
        plots += crosses(sheet, own, style)
        block = sheet.block([(number(r, "loss_ratio"), number(r, "speedup")) for r in own])
        plots.append(f"{block} with points {sheet.line(style)} notitle")
    sheet.plot(plots)
    name_points(sheet, rows, looks, box, scope)
    sheet.label("loss / loss of k-means run to convergence", (box.left + box.right) / 2,
                box.bottom + 34, "center", 12)
    sheet.label("speed-up over retraining, training included", 14, (box.top + box.bottom) / 2,
                "center", 12, rotate=90)


def round_steps(low, high):
    values = [v * m for v in powers_of_ten(low / 10, high) for m in (1, 3)]
    return [v for v in values if low <= v <= high]


def crosses(sheet, rows, style):
    """Thin bars of one standard deviation both ways."""
    ends = []
    for r in rows:
        x, y = number(r, "loss_ratio"), number(r, "speedup")
        across, up = number(r, "loss_ratio_sd") or 0, number(r, "speedup_sd") or 0
        ends.append((x, y, x - across, x + across, max(y - up, y / 10), y + up))
    line = f"lc rgb '{style.colour}' dt solid pt 0 lw 0.6"
    return [f"{sheet.block(ends)} using 1:2:3:4:5:6 with xyerrorbars {line} notitle"]


def name_points(sheet, rows, looks, box, scope):
    """Writes the set beside each point, where it covers least of what is there already."""
    left, right, low, high = scope

    def pixel(row):
        across = (number(row, "loss_ratio") - left) / (right - left)
        up = place_log(number(row, "speedup"), low, high)
        return (box.left + across * (box.right - box.left),
                box.bottom - up * (box.bottom - box.top))

    points = [pixel(r) for r in rows]
    taken = [Box(x - 5, y - 5, x + 5, y + 5) for x, y in points]
    for row, (x, y) in zip(rows, points):
        title = results.set_title(row)
        choices = label_places(x, y, text_width(title, 10.5))
        best = min(choices, key=lambda c: (covered(c[0], taken, box), c[1]))
        taken.append(best[0])
        colour = readable(looks[row["method"]].colour)
        sheet.label(title, best[0].left, (best[0].top + best[0].bottom) / 2, size=10.5,
                    colour=colour)


def label_places(x, y, width):
    """Boxes for a text around a point, and how much less welcome each is."""
    half = width / 2
    corners = [(x + 7, y - 6), (x - 7 - width, y - 6), (x - half, y - 18), (x - half, y + 6),
               (x + 6, y - 15), (x + 6, y + 3), (x - 6 - width, y - 15), (x - 6 - width, y + 3),
               (x + 12, y - 24), (x + 12, y + 12), (x - 12 - width, y - 24)]
    return [(Box(a, b, a + width, b + 12), i) for i, (a, b) in enumerate(corners)]


def covered(place, taken, box):
    """How much of a place is taken, or outside of a box."""
    inside = overlap(place, box)
    area = (place.right - place.left) * (place.bottom - place.top)
    return 10 * (area - inside) + sum(overlap(place, other) for other in taken)


def overlap(a, b):
    width = min(a.right, b.right) - max(a.left, b.left)
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    return max(width, 0) * max(height, 0)


# ---------------------------------------------------------------- all of them


def runtime_height(source):
    return 62 + panel_rows(len(source.table.sets())) * 240


def retrains_height(source):
    step = len(retrain_methods(source)) * (BAND + BAND_GAP) + SET_GAP
    return 34 + len(retrain_sets(source)) * step + 46


def latency_height(source):
    panel = RIDGE * len(source.table.methods()) + 10 + 22 + 40
    return panel_rows(len(source.table.sets())) * panel + 20


EPSILON, LEAVES = "lattice width ε", "width w (number of leaves)"
DRAWINGS = {
    "figure1_runtime": Figure("Time per deletion", runtime_height, place_runtime),
    "figure2_retrains": Figure("Requests that cost work", retrains_height, place_retrains),
    "figure3_epsilon_loss": Figure("Loss against ε", 430, place_loss("epsilon", EPSILON)),
    "figure4_width_loss": Figure("Loss against w", 430, place_loss("width", LEAVES)),
    "figure5_epsilon_time": Figure("Time against ε", 380, place_time("epsilon", EPSILON)),
    "figure6_width_time": Figure("Time against w", 380, place_time("width", LEAVES)),
    "figure7_growth": Figure("Time of a request as n grows", 430, place_growth),
    "figure8_latency": Figure("Times of requests", latency_height, place_latency),
    "figure9_tradeoff": Figure("Speed-up against loss", 560, place_tradeoff),
}


def shows_stand_ins(name, source):
    if name == "figure2_retrains":
        return any(results.is_stand_in(row) for row in retrain_sets(source).values())
    return results.has_stand_ins(source.table)


def small_print(name, source):
    """Notes, the commands and the machine, in rows."""
    table, meta = source.table, source.meta
    rows = [results.STAND_IN] if shows_stand_ins(name, source) else []
    for command in table.comment("command") or [meta.get("command", "")]:
        rows += wrap(f"Made by: {command}", 2)
    runs = table.comment("run")
    if runs:
        more = f"; and {len(runs) - 1} more in {name}.csv" if len(runs) > 1 else ""
        rows += wrap(f"Runs: {runs[0]}{more}", 3)
    facts = [meta.get("processor"), f"kernels {meta.get('kernels')}",
             f"threads {meta.get('threads')}", meta.get("date")]
    return rows + wrap("; ".join(str(f) for f in facts if f), 1)


def origin(table):
    """What a drawing says of where it comes from; check() of the report compares it."""
    return f"drawn from {table.name}.csv, sha256 {table.digest}"


def source_of(folder, name):
    """What a figure is drawn from, or None."""
    table = results.load(folder, name)
    if table is None:
        return None
    return Source(table, results.load(folder, "table4_runtime"), results.load_meta(folder))


def draw_all(folder):
    """Draws every figure whose CSV file is in the folder; their names."""
    folder = Path(folder)
    drawn = []
    for name, figure in DRAWINGS.items():
        source = source_of(folder, name)
        if source is None:
            continue
        height = figure.height(source) if callable(figure.height) else figure.height
        draw(folder / name, figure.title, origin(source.table), height,
             small_print(name, source), lambda sheet, f=figure, s=source: f.place(sheet, s))
        drawn.append(name)
    return drawn
