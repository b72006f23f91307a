"""The roofline of docs/measured/performance.md: rates of passes against operations for each byte, under the
limits of the machine."""

from experiments import results
from experiments.figures import origin
from experiments.figures_marks import arrange
from experiments.panels import extent, name_axes, place_log, readable
from experiments.plotting import WIDTH, Box, draw, padded, tics, wrap
from experiments.results import SETS, Look, look, number
from performance_tables import title

HEIGHT = 470
LIMIT = Look("limit of the machine", "#404040", "solid", 0)
POINT = "a pass; the thin line ends at its own limit"


def roof(rows, machine):
    """The corners of the limit from the least to the most operations for a byte."""
    left, right = across(rows)
    peak, read = number(machine, "peak_gflops"), number(machine, "read_gbs")
    corner = min(max(peak / read, left), right)
    return [(x, min(peak, read * x)) for x in (left, corner, right)]


def across(rows):
    return padded(*extent(number(row, "flops_per_byte") for row in rows), 0.12)


def up(rows, machine):
    least = min(min(number(row, "gflops") for row in rows),
                min(y for _, y in roof(rows, machine)))
    return least / 1.5, 1.5 * number(machine, "peak_gflops")


def own_limit(row):
    """Operations per second at the limit of this shape, whatever cache it is in."""
    return number(row, "gflops") / number(row, "fraction")


def steps(low, high):
    values = [m * 10.0**e for e in range(-3, 7) for m in (1, 2, 5)]
    return [v for v in values if low <= v <= high]


def place_roofline(sheet, rows, machine):
    looks = [look(title(row), SETS, [title(r) for r in rows]) for row in rows]
    used = sheet.key([LIMIT, Look(POINT, "#0072B2", "solid", 7)], 4)
    box = Box(74, used + 20, WIDTH - 30, sheet.bottom - 50)
    (left, right), (low, high) = across(rows), up(rows, machine)
    sheet.begin_panel(
        box, "set logscale xy", f"set xrange [{left:.6g}:{right:.6g}]",
        f"set yrange [{low:.6g}:{high:.6g}]", "set mxtics 1", "set mytics 1",
        f"set xtics {tics(steps(left, right), '{:g}'.format)}",
        f"set ytics {tics(steps(low, high), '{:g}'.format)}", "set grid xtics")
    plots = [f"{sheet.block(roof(rows, machine))} with lines {sheet.line(LIMIT, 2.4)} notitle"]
    for row, style in zip(rows, looks):
        place = number(row, "flops_per_byte")
        rate = number(row, "gflops")
        whisker = sheet.block([(place, rate), (place, own_limit(row))])
        plots.append(f"{whisker} with lines lc rgb '{style.colour}' dt solid lw 0.8 notitle")
        plots += sheet.points(sheet.block([(place, rate)]), style)
    sheet.plot(plots)
    name_points(sheet, rows, looks, machine, box, (left, right, low, high))
    name_axes(sheet, box, "operations for each byte of the rows (k / 2)", "GFLOP/s, one thread")


def name_points(sheet, rows, looks, machine, box, scope):
    """Writes shape and part of the limit beside each point, where there is room."""
    left, right, low, high = scope
    peak, read = number(machine, "peak_gflops"), number(machine, "read_gbs")

    def pixel(x, y):
        return (box.left + place_log(x, left, right) * (box.right - box.left),
                box.bottom - place_log(y, low, high) * (box.bottom - box.top))

    points, taken, titles = [], [], []
    for i in range(100):
        place = left * (right / left) ** (i / 100)
        x, y = pixel(place, min(peak, read * place))
        taken.append(Box(x - 4, y - 2, x + 4, y + 2))
    for row in rows:
        place = number(row, "flops_per_byte")
        x, y = pixel(place, number(row, "gflops"))
        points.append((x, y))
        taken += [Box(x - 5, y - 5, x + 5, y + 5),
                  Box(x - 4, pixel(place, own_limit(row))[1], x + 4, y)]
        titles.append(f"{title(row)}: {100 * number(row, 'fraction'):.0f} %")
    for place, text, style in zip(arrange(points, titles, taken, box), titles, looks):
        sheet.label(text, place.left, (place.top + place.bottom) / 2, size=10.5,
                    colour=readable(style.colour))


def draw_roofline(folder):
    table = results.load(folder, "roofline")
    machine = results.Table(folder / "machine.csv").rows[0]
    small = wrap(f"Run: {table.comment('run')[0]}. Limits: float32 multiply-adds in registers, "
                 f"{number(machine, 'peak_gflops'):.1f} GFLOP/s, and reading main memory, "
                 f"{number(machine, 'read_gbs'):.1f} GB/s. Sets that fit a cache have a limit "
                 "above the slope.")
    small += wrap("; ".join([machine["processor"], f"kernels {machine['kernels']}", "threads 1",
                             machine["date"]]), 1)
    draw(folder / "roofline", "One pass over the rows, and the limits of the machine",
         origin(table), HEIGHT, small, lambda sheet: place_roofline(sheet, table.rows, machine))
