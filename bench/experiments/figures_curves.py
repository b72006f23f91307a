"""The figures that are curves: time per deletion (1), retrainings (2), sweeps over ε and w (3 to 6),
growth (7), deletion efficiency (10)."""

import math

from . import results
from .panels import (
    extent, grid, head_panel, is_lowest, method_looks, name_axes, panel_rows, place_log, readable,
    set_looks,
)
from .plotting import GREY, WIDTH, Box, padded, powers_of_ten, spread, text_width, tics, time_axis
from .results import METHODS, Look, number


def curve(sheet, rows, across, up, style, shift=1.0, every=1):
    """Plots of a field against another: a line and points."""
    there = [r for r in rows if number(r, up) is not None]
    block = sheet.block(sorted((number(r, across) * shift, number(r, up)) for r in there))
    line = f"{block} with lines {sheet.line(style)} notitle"
    return [line, *sheet.points(block, style, every)]


# ---------------------------------------------------------------- 1: time per deletion

RUNTIME_PANEL = 178


def runtime_height(source):
    return 66 + panel_rows(len(source.table.sets())) * 240


def set_panels(sheet, source, looks, up):
    """The rows and the box of a panel for each set, below a key; deletions go across."""
    table, sets = source.table, source.table.sets()
    used = sheet.key(list(looks.values()), 4)
    boxes = grid(len(sets), used + 8, RUNTIME_PANEL, 78, 68, 40)
    for (name, first), box in zip(sets.items(), boxes):
        head_panel(sheet, box, first, source.meta)
        if is_lowest(boxes, box):
            sheet.label("deletions", (box.left + box.right) / 2, box.bottom + 36, "center", 12)
        yield table.find(set=name), box
    middle = (boxes[0].top + boxes[-1].bottom) / 2
    sheet.label(up, 14, middle, "center", 12, rotate=90)


def place_runtime(sheet, source):
    looks = method_looks(source.table)
    if "kmeans" in looks:
        looks["kmeans"] = looks["kmeans"]._replace(title="k-means, retrained")
    for rows, box in set_panels(sheet, source, looks, "time per deletion, training included"):
        runtime_panel(sheet, box, rows, looks)


def runtime_panel(sheet, box, rows, looks):
    low, high = padded(*extent(number(r, "seconds") for r in rows))
    most = max(*(number(r, "deletions") for r in rows), 10)
    sheet.begin_panel(
        box, "set logscale x", f"set xrange [1:{most:g}]", "set mxtics 1",
        f"set xtics {tics(powers_of_ten(1, most), lambda v: f'{v:,.0f}')}",
        *time_axis("y", low, high))
    plots = []
    for method, style in looks.items():
        own = [r for r in rows if r["method"] == method]
        if own:
            every = max(len(own) // 4, 1)
            plots += curve(sheet, own, "deletions", "seconds", style, every=every)
    sheet.plot(plots)


# ---------------------------------------------------------------- 2: retrainings


def place_retrains(sheet, source):
    looks = method_looks(source.table)
    up = "retrainings so far, mean of the replicates"
    for rows, box in set_panels(sheet, source, looks, up):
        most = max(number(r, "deletions") for r in rows)
        high = max(*(number(r, "retrains") for r in rows), 1)
        sheet.begin_panel(box, f"set xrange [0:{most:g}]", f"set yrange [0:{1.08 * high:.6g}]",
                          f"set xtics {tics([most * i / 4 for i in range(5)], '{:,.0f}'.format)}",
                          "set mxtics 1", "set mytics 1", "set format y '%.4g'")
        sheet.plot([f"{block_of(sheet, rows, method)} with lines {sheet.line(style)} notitle"
                    for method, style in looks.items()])


def block_of(sheet, rows, method):
    own = [r for r in rows if r["method"] == method]
    return sheet.block(sorted((number(r, "deletions"), number(r, "retrains")) for r in own))


# ---------------------------------------------------------------- 3 to 6: sweeps


def sweep_mark(value):
    """1/16 rather than 0.0625, also where a CSV file has not all digits."""
    inverse = 1 / value
    near = abs(inverse - round(inverse)) < 1e-5 * inverse
    return f"1/{inverse:.0f}" if value < 1 and near else f"{value:g}"


def sweep_axis(table, field):
    values = sorted({number(r, field) for r in table.rows})
    low, high = padded(values[0], values[-1], 0.04)
    values = values[:: math.ceil(len(values) / 16)]
    return ["set logscale x 2", f"set xrange [{low:.6g}:{high:.6g}]", "set mxtics 1",
            f"set xtics {tics(values, sweep_mark)}"]


def bar(mean, deviation):
    """The ends of a bar; an axis may be logarithmic, so it ends above zero."""
    deviation = deviation or 0
    return max(mean - deviation, mean / 5), mean + deviation


def bars(sheet, rows, fields, style, shift):
    """Bars of one standard deviation."""
    across, up, deviation = fields
    ends = []
    for r in rows:
        mean, sd = number(r, up), number(r, deviation)
        if mean is not None and sd:
            ends.append((number(r, across) * shift, mean, *bar(mean, sd)))
    if not ends:
        return []
    line = f"lc rgb '{style.colour}' dt solid lw 1 pt 7 ps 0"
    return [f"{sheet.block(ends)} using 1:2:3:4 with yerrorbars {line} notitle"]


def sweep_curves(sheet, table, across, up):
    """Plots of a field for each set, beside each other so that bars can be told apart."""
    looks = set_looks(table)
    plots = []
    for i, (name, style) in enumerate(looks.items()):
        shift = 2 ** (0.055 * (i - (len(looks) - 1) / 2))
        rows = table.find(set=name)
        plots += bars(sheet, rows, (across, up, "sd"), style, shift)
        plots += curve(sheet, rows, across, up, style, shift)
    return plots


def loss_axis(table):
    """Linear, unless the ratios are too far apart for that."""
    low, high = extent(number(r, "loss_ratio") for r in table.rows)
    if high <= 4 * low:
        return ["set format y '%.2f'"]
    low, high = padded(min(low, 1), high)
    marks = [v for v in (0.5, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000) if low <= v <= high]
    return ["set logscale y", f"set yrange [{low:.6g}:{high:.6g}]", "set mytics 1",
            f"set ytics {tics(marks, lambda v: f'{v:g}')}"]


def place_loss(across, label):
    """A figure of loss ratios against a parameter."""
    def place(sheet, source):
        table = source.table
        used = sheet.key(list(set_looks(table).values()), 4)
        box = Box(74, used + 16, WIDTH - 24, sheet.bottom - 50)
        sheet.begin_panel(box, *sweep_axis(table, across), *loss_axis(table))
        name_axes(sheet, box, label, "loss / mean loss of k-means")
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


def place_time(across, label, method):
    """A figure of times against a parameter of a method."""
    def place(sheet, source):
        table, retraining = source.table, retraining_lines(source)
        looks = set_looks(table)
        key = [s._replace(title=f"{method} on {s.title}") for s in looks.values()]
        key += [METHODS["kmeans"]._replace(
            title=f"retraining k-means on {looks[name].title}: {results.duration(seconds)}")
                for name, seconds in retraining.items()]
        used = sheet.key(key, 4)
        box = Box(84, used + 16, WIDTH - 24, sheet.bottom - 50)
        values = [end for r in table.rows for end in bar(number(r, "seconds"), number(r, "sd"))]
        low, high = padded(*extent(values + list(retraining.values())), 0.1)
        sheet.begin_panel(box, *sweep_axis(table, across), *time_axis("y", low, high))
        name_axes(sheet, box, label, "time per deletion, training included")
        plots = [f"{seconds:.6g} {sheet.line(METHODS['kmeans'])} notitle"
                 for seconds in retraining.values()]
        sheet.plot(plots + sweep_curves(sheet, table, across, "seconds"))
    return place


# ---------------------------------------------------------------- 7: growth


def place_growth(sheet, source):
    table = source.table
    looks = method_looks(table)
    ends, plots = [], []
    sizes = sorted({number(r, "n") for r in table.rows})
    retrain = retraining_by_size(table, sizes)
    again = METHODS["kmeans"]._replace(title="retraining k-means")
    if retrain:
        ends.append((retrain[-1][1], again))
    for method, style in looks.items():
        last = max(table.find(method=method), key=lambda r: number(r, "n"))
        ends.append((number(last, "request_us_median") or number(last, "request_us"), style))
    room = max(text_width(style.title, 12) for _, style in ends)
    used = sheet.key([Look("median", GREY, "solid", 0), Look("mean", GREY, "(6,4)", 0)], 4,
                     right=WIDTH - room)
    box = Box(84, used + 10, WIDTH - room - 26, sheet.bottom - 50)
    scope = growth_panel(sheet, box, table, sizes)
    if retrain:
        plots.append(f"{sheet.block(retrain)} with lines {sheet.line(again, 2.4)} notitle")
    for method, style in looks.items():
        rows = table.find(method=method)
        solid, dashed = style._replace(dash="solid"), style._replace(dash="(6,4)", point=0)
        plots += curve(sheet, rows, "n", "request_us", dashed)
        plots += curve(sheet, rows, "n", "request_us_median", solid)
    sheet.plot(plots)
    label_ends(sheet, ends, box, scope)
    name_axes(sheet, box, "rows n", "time of a request")


def growth_panel(sheet, box, table, sizes):
    """Sets up the axes; the range of times."""
    fields = ("request_us", "request_us_median", "retrain_us")
    values = [number(r, f) for r in table.rows for f in fields if number(r, f)]
    low, high = padded(min(values), max(values))
    left, right = sizes[0] / 1.15, sizes[-1] * 1.15
    marks = tics(powers_of_ten(sizes[0], sizes[-1]), lambda v: f"{v:,.0f}")
    sheet.begin_panel(box, "set logscale x", f"set xrange [{left:g}:{right:g}]", "set mxtics 1",
                      f"set xtics {marks}", *time_axis("y", low, high, 1e-6))
    return low, high


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
        sheet.label(style.title, box.right + 8, y, size=12, colour=readable(style.colour))


# ---------------------------------------------------------------- 10: deletion efficiency

# How the curves of an alpha look: colour, dash, point.
ALPHA_LOOKS = [("#0072B2", "solid", 7), ("#D55E00", "(14,6)", 5), ("#009E73", "(7,4)", 9),
               ("#CC79A7", "(10,4,3,4)", 13)]


def efficiency_height(source):
    return 66 + panel_rows(len(source.table.methods())) * 240


def place_efficiency(sheet, source):
    table = source.table
    alphas = sorted({number(r, "alpha") for r in table.rows})
    looks = {alpha: Look("α = {}/{}".format(*alpha.as_integer_ratio()), *ALPHA_LOOKS[i % 4])
             for i, alpha in enumerate(alphas)}
    used = sheet.key([*looks.values(), Look("training / m", GREY, "(2,4)", 0)], 4)
    methods = method_looks(table)
    boxes = grid(len(methods), used + 8, RUNTIME_PANEL, 78, 68, 40)
    for (method, style), box in zip(methods.items(), boxes):
        sheet.label(style.title, box.left, box.top - 12, bold=True)
        if is_lowest(boxes, box):
            sheet.label("rows n", (box.left + box.right) / 2, box.bottom + 36, "center", 12)
        efficiency_panel(sheet, box, table.find(method=method), looks)
    middle = (boxes[0].top + boxes[-1].bottom) / 2
    sheet.label("time per deletion, training included", 14, middle, "center", 12, rotate=90)


def efficiency_panel(sheet, box, rows, looks):
    sizes = sorted({number(r, "n") for r in rows})
    values = [number(r, field) for r in rows for field in ("seconds", "training")]
    left, right = padded(sizes[0], sizes[-1], 0.04)
    sheet.begin_panel(box, "set logscale x", f"set xrange [{left:g}:{right:g}]", "set mxtics 1",
                      f"set xtics {tics(sizes, lambda v: f'{v:,.0f}')}",
                      *time_axis("y", *padded(*extent(values))))
    plots = []
    for alpha, style in looks.items():
        own = [r for r in rows if number(r, "alpha") == alpha]
        plots += curve(sheet, own, "n", "training", style._replace(dash="(2,4)", point=0))
        plots += curve(sheet, own, "n", "seconds", style)
    sheet.plot(plots)
