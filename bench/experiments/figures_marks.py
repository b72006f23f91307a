"""The figures that are not curves: which requests cost work (2), histograms of times (8), speed-up
against loss (9)."""

import math

from . import results
from .panels import (
    extent, grid, head_panel, is_lowest, method_looks, name_axes, panel_rows, place_log, readable,
)
from .plotting import WIDTH, Box, padded, powers_of_ten, text_width, tics, time_axis
from .results import SETS, number

# ---------------------------------------------------------------- 2: along the stream

BAND, BAND_GAP, SET_GAP = 22, 4, 16
ACTIONS = {"repaired": ("#D55E00", 0.62), "refitted": ("#000000", 0.95)}  # colour, length
BANDS = {"quantized": "exact", "quantized_printed": "as printed"}


def stream_sets(source):
    """The sets of figure 2: also those in which no request did anything, which table 4 knows."""
    first = source.table.sets()
    if source.costs is not None:
        for row in source.costs.rows:
            if row["method"] in BANDS:
                first.setdefault(row["set"], row)
    return {name: first[name] for name in results.ordered(first, SETS)}


def stream_methods(source):
    """Also those that did nothing on any set."""
    rows = source.table.rows + (source.costs.rows if source.costs else [])
    named = [r["method"] for r in rows if r["method"] in BANDS]
    others = [r["method"] for r in source.table.rows]
    return results.ordered(dict.fromkeys([*named, *others]), BANDS)


def stream_height(source):
    step = len(stream_methods(source)) * (BAND + BAND_GAP) + SET_GAP
    return 34 + len(stream_sets(source)) * step + 48


def place_stream(sheet, source):
    sets, methods = stream_sets(source), stream_methods(source)
    deletions = source.meta.get("deletions") or 1000
    left, right, top = 222, WIDTH - 146, 34
    step = len(methods) * (BAND + BAND_GAP) + SET_GAP
    box = Box(left, top, right, top + step * len(sets) - SET_GAP + 8)
    sheet.label("mean count of a run", right + 75, 9, "center", 11.5)
    for x, action in zip((right + 40, right + 110), ACTIONS):
        sheet.label(action, x, 26, "center", 11.5, readable(ACTIONS[action][0]), bold=True)
    ticks, bands, y = {action: [] for action in ACTIONS}, [], top
    for name, first in sets.items():
        sheet.label(results.set_title(first), 10, y + BAND + BAND_GAP / 2, bold=True)
        for method in methods:
            bands.append((deletions / 2, y + BAND / 2, 0, deletions, y, y + BAND))
            fill_band(sheet, source, (name, method), (left, right, y), ticks)
            y += BAND + BAND_GAP
        y += SET_GAP
    sheet.begin_panel(box, f"set xrange [0:{deletions}]", f"set yrange [{box.bottom}:{top}]",
                      "unset ytics", "set border 1", "unset grid",
                      f"set xtics {request_tics(deletions)}", "set style fill solid 1 noborder")
    plots = [f"{sheet.block(bands)} using 1:2:3:4:5:6 with boxxyerror fc rgb '#f0f0f0' notitle"]
    for action, places in ticks.items():
        if places:
            line = f"nohead lc rgb '{ACTIONS[action][0]}' lw 1.1"
            plots.append(f"{sheet.block(places)} with vectors {line} notitle")
    sheet.plot(plots)
    sheet.label("request", (left + right) / 2, box.bottom + 36, "center", 12)


def request_tics(deletions):
    return tics([deletions * i / 5 for i in range(6)], lambda v: f"{v:,.0f}")


def fill_band(sheet, source, which, place, ticks):
    """The ticks, the title and the counts of a set and method."""
    (name, method), (left, right, y) = which, place
    rows = source.table.find(set=name, method=method)
    runs = [number(r, "replicate") for r in source.table.rows]
    count = int(max(source.meta.get("replicates") or 1, len(set(runs))))
    high = BAND / count
    for row in rows:
        if row["action"] in ACTIONS:
            line = number(row, "replicate") - min(1, *runs, 1)
            length = high * ACTIONS[row["action"]][1]
            bottom = y + high * (line + 0.98)
            ticks[row["action"]].append((number(row, "request"), bottom, 0, -length))
    sheet.label(BANDS.get(method, results.method_title(method)), left - 8, y + BAND / 2, "right",
                11)
    for x, action in zip((right + 40, right + 110), ACTIONS):
        mean = sum(r["action"] == action for r in rows) / count
        sheet.label(f"{mean:,.1f}", x, y + BAND / 2, "center", 11.5)


# ---------------------------------------------------------------- 8: latency

RIDGE = 26  # the height of a method's row


def latency_height(source):
    panel = RIDGE * len(source.table.methods()) + 10 + 22 + 34
    return panel_rows(len(source.table.sets())) * panel + 22


def ridge_title(title):
    """A title in one or two lines."""
    first, bracket, rest = title.partition(" (")
    return [first, f"({rest}"] if bracket else [title]


def place_latency(sheet, source):
    table = source.table
    looks, sets = method_looks(table), table.sets()
    lines = [line for style in looks.values() for line in ridge_title(style.title)]
    names = max(text_width(line, 11.5) for line in lines)
    boxes = grid(len(sets), 0, RIDGE * len(looks) + 10, names + 24, 24, 34, 24)
    low = min(number(r, "us_low") for r in table.rows if number(r, "us_low"))
    high = max(number(r, "us_high") for r in table.rows)
    for (name, first), box in zip(sets.items(), boxes):
        head_panel(sheet, box, first, source.meta)
        if is_lowest(boxes, box):
            sheet.label("time of a request", (box.left + box.right) / 2, box.bottom + 36,
                        "center", 12)
        if box.left == boxes[0].left:
            name_ridges(sheet, box, looks)
        sheet.begin_panel(
            box, *time_axis("x", *padded(low, high, 0.02), 1e-6, most=4), "set border 1",
            "unset ytics", "unset grid", "set grid xtics lt 1 lc rgb '#e4e4e4' lw 0.7",
            f"set yrange [0:{len(looks) + 10 / RIDGE:.4f}]")
        plots = []
        for place, (method, style) in enumerate(reversed(looks.items())):
            plots += ridge(sheet, table.find(set=name, method=method), place, style)
        sheet.plot(plots or ["NaN notitle"])


def name_ridges(sheet, box, looks):
    for place, style in enumerate(reversed(looks.values())):
        lines = ridge_title(style.title)
        y = box.bottom - RIDGE * (place + 0.35) - 6.5 * (len(lines) - 1)
        for j, line in enumerate(lines):
            sheet.label(line, box.left - 8, y + 13 * j, "right", 11.5, readable(style.colour))


def ridge(sheet, rows, place, style):
    """A histogram over log bins on a row of its own: filled, the highest bin being the measure."""
    bins = sorted((number(r, "us_low"), number(r, "us_high"), number(r, "count")) for r in rows)
    bins = [(a or b / 2, b, c) for a, b, c in bins if c]
    bins = [(a, b, c / math.log(b / a)) for a, b, c in bins]
    if not bins:
        return []
    highest = max(c for _, _, c in bins)
    outline, before = [], None
    for a, b, c in bins:
        up = place + 0.88 * c / highest
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

STRETCH = 0.03  # the loss axis is nearly linear this far from 1, and logarithmic beyond
LOSS_MARKS = [0.8, 0.9, 0.95, 0.98, 1, 1.02, 1.05, 1.1, 1.2, 1.3, 1.5, 2, 3, 5]


def stretched(ratio):
    return math.asinh((ratio - 1) / STRETCH)


def place_tradeoff(sheet, source):
    table = source.table
    looks = method_looks(table)
    used = sheet.key(list(looks.values()), 4, lines=False)
    box = Box(74, used + 16, WIDTH - 24, sheet.bottom - 50)
    rows = [r for r in table.rows if number(r, "speedup") and number(r, "loss_ratio")]
    scope = tradeoff_scope(rows)
    left, right, low, high = scope
    marks = [m for m in LOSS_MARKS if left <= stretched(m) <= right]
    across = ", ".join(f"'{m:g}' {stretched(m):.6g}" for m in marks)
    sheet.begin_panel(box, "set logscale y", f"set yrange [{low:.6g}:{high:.6g}]", "set mytics 1",
                      f"set ytics {tics(round_steps(low, high), lambda v: f'{v:,g}×')}",
                      f"set xrange [{left:.6g}:{right:.6g}]", f"set xtics ({across})",
                      "set grid xtics", "set errorbars 0")
    plots = []
    for method, style in looks.items():
        own = [r for r in rows if r["method"] == method]
        if own:
            plots.append(crosses(sheet, own, style))
            block = sheet.block([(stretched(number(r, "loss_ratio")), number(r, "speedup"))
                                 for r in own])
            plots += sheet.points(block, style)
    sheet.plot(plots)
    name_points(sheet, rows, looks, box, scope)
    name_axes(sheet, box, "loss / mean loss of k-means (axis stretched around 1)",
              "speed-up over retraining, training included")


def tradeoff_scope(rows):
    """The ranges of the axes, with room for names."""
    low, high = padded(*extent(number(r, "speedup") for r in rows), 0.05)
    left, right = extent(stretched(number(r, "loss_ratio")) for r in rows)
    room = 0.07 * (right - left) or 1
    return min(left - room, stretched(0.98)), right + room, low, high


def round_steps(low, high):
    values = [v * m for v in powers_of_ten(low / 10, high) for m in (1, 3)]
    return [v for v in values if low <= v <= high]


def crosses(sheet, rows, style):
    """Thin bars of one standard deviation both ways."""
    ends = []
    for r in rows:
        x, y = number(r, "loss_ratio"), number(r, "speedup")
        across, up = number(r, "loss_ratio_sd") or 0, number(r, "speedup_sd") or 0
        ends.append((stretched(x), y, stretched(x - across), stretched(x + across),
                     max(y - up, y / 10), y + up))
    line = f"lc rgb '#80{style.colour[1:]}' dt solid lw 0.8 pt 7 ps 0"
    return f"{sheet.block(ends)} using 1:2:3:4:5:6 with xyerrorbars {line} notitle"


def name_points(sheet, rows, looks, box, scope):
    """Writes the set beside each point, where it covers least of what is there already."""
    left, right, low, high = scope

    def pixel(row, ratio):
        across = (stretched(ratio) - left) / (right - left)
        up = place_log(number(row, "speedup"), low, high)
        return (box.left + across * (box.right - box.left),
                box.bottom - up * (box.bottom - box.top))

    points, taken = [], []
    for row in rows:
        ratio, deviation = number(row, "loss_ratio"), number(row, "loss_ratio_sd") or 0
        x, y = pixel(row, ratio)
        points.append((x, y))
        taken.append(Box(x - 5, y - 5, x + 5, y + 5))
        taken.append(Box(pixel(row, ratio - deviation)[0], y - 1,
                         pixel(row, ratio + deviation)[0], y + 1))
    titles = [results.set_title(row) for row in rows]
    for place, title, row in zip(arrange(points, titles, taken, box), titles, rows):
        sheet.label(title, place.left, (place.top + place.bottom) / 2, size=10.5,
                    colour=readable(looks[row["method"]].colour))


def arrange(points, titles, taken, box):
    """A place for each title near its point: one after the other, and again when all are there."""
    places = [None] * len(points)
    for _ in range(4):
        for i, ((x, y), title) in enumerate(zip(points, titles)):
            others = taken + [p for j, p in enumerate(places) if p is not None and j != i]
            choices = label_places(x, y, text_width(title, 10.5))
            places[i] = min(choices, key=lambda c: covered(c[0], others, box) + c[1])[0]
    return places


def label_places(x, y, width):
    """Boxes for a text around a point, and how much less welcome each is."""
    half = width / 2
    near = [(x + 7, y - 6), (x - half, y - 18), (x - half, y + 6), (x - 7 - width, y - 6),
            (x + 6, y - 15), (x + 6, y + 3), (x - 6 - width, y - 15), (x - 6 - width, y + 3)]
    far = [(x + 14, y - 22), (x + 14, y + 10), (x - 14 - width, y - 22), (x - 14 - width, y + 10)]
    cost = [*(2 * i for i in range(len(near))), *[60] * len(far)]
    return [(Box(a, b, a + width, b + 12), c) for (a, b), c in zip(near + far, cost)]


def covered(place, taken, box):
    """How much of a place is taken, or outside of a box."""
    area = (place.right - place.left) * (place.bottom - place.top)
    return 10 * (area - overlap(place, box)) + sum(overlap(place, other) for other in taken)


def overlap(a, b):
    width = min(a.right, b.right) - max(a.left, b.left)
    height = min(a.bottom, b.bottom) - max(a.top, b.top)
    return max(width, 0) * max(height, 0)
