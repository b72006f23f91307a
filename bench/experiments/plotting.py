"""Figures with gnuplot: a sheet on which panels, keys and labels are placed by the pixel.

A figure is a function that places things on a Sheet; draw() runs it and writes the small print
below: notes, the command behind the figure, the machine. Coordinates are pixels from the upper left
corner.

Panels are plots of gnuplot with margins at given places. Labels and keys do not belong to a panel:
they are collected and plotted at the end, over everything.
"""

import math
import re
import subprocess
import textwrap
from collections import namedtuple

from . import Failure

WIDTH = 860
SMALL_ROW = 14  # the height of a line of small print
SMALL_COLUMNS = 165
GREY = "#404040"

FAMILY = "Helvetica, Arial, 'Liberation Sans', sans-serif"
OPEN_POINTS = {4: 5, 6: 7, 8: 9, 10: 11, 12: 13}  # and the filled ones of the same shape

Box = namedtuple("Box", "left top right bottom")


def quoted(text):
    """A string of gnuplot."""
    return "'" + str(text).replace("'", "''").replace("\n", " ") + "'"


def text_width(text, size=13):
    """About how wide a text is, in pixels."""
    def em(c):
        if c in "iljtfrI.,:;'|()[]!/ -":
            return 0.34
        return 0.85 if c in "mwMW%—" else 0.68 if c.isupper() else 0.6
    return size * sum(em(c) for c in text)


class Sheet:
    """What a figure is drawn on: so high, with small print from `bottom` on."""

    def __init__(self, full, bottom):
        self.full = full
        self.bottom = bottom
        self.script = []
        self.overlay = []  # labels
        self.strokes = []  # plots of the key, in pixels
        self.blocks = 0

    def add(self, *lines):
        self.script += lines

    def block(self, rows):
        """Makes numbers known to gnuplot; their name. A row None ends a line."""
        self.blocks += 1
        name = f"$block{self.blocks}"
        lines = ["" if row is None else " ".join(f"{v:.7g}" for v in row) for row in rows]
        self.add(f"{name} << EOD", *lines, "EOD")
        return name

    def x(self, pixel):
        return f"screen {pixel / WIDTH:.5f}"

    def y(self, pixel):
        return f"screen {1 - pixel / self.full:.5f}"

    def font(self, size, bold=False):
        weight = ":Bold" if bold else ""
        return f"font 'Helvetica{weight},{size:g}'"

    def label(self, text, x, y, align="left", size=13, colour=GREY, bold=False, rotate=None):
        """A text with its baseline's middle at a pixel."""
        turn = f" rotate by {rotate}" if rotate else ""
        self.overlay.append(
            f"set label {quoted(text)} at {self.x(x)}, {self.y(y)} {align} noenhanced"
            f" {self.font(size, bold)} tc rgb '{colour}'{turn}")

    def line(self, look, width=2.0):
        return f"lc rgb '{look.colour}' dt {look.dash} lw {width}"

    def points(self, block, look, every=1):
        """Plots of points; open ones are white inside."""
        size, plots = "ps 0.55", []
        if look.point in OPEN_POINTS:
            white = f"pt {OPEN_POINTS[look.point]} lc rgb '#ffffff'"
            plots.append(f"{block} every {every} with points {white} {size} notitle")
        if look.point:
            own = f"pt {look.point} lc rgb '{look.colour}' lw 1.2"
            plots.append(f"{block} every {every} with points {own} {size} notitle")
        return plots

    def begin_panel(self, box, *settings):
        """Settings for the next plot, in a box of pixels."""
        self.add(
            "reset",
            "set encoding utf8",
            "unset key",
            "set pointintervalbox 0.001",  # else bars have a white gap at their point
            f"set lmargin at {self.x(box.left)}",
            f"set rmargin at {self.x(box.right)}",
            f"set tmargin at {self.y(box.top)}",
            f"set bmargin at {self.y(box.bottom)}",
            f"set border 3 lw 1 lc rgb '{GREY}'",
            f"set tics nomirror out scale 0.6,0.35 textcolor rgb '{GREY}' {self.font(11.5)}",
            "set xtics offset 0,0.6",
            "set grid ytics lt 1 lc rgb '#e4e4e4' lw 0.7",
            *settings)

    def plot(self, plots):
        self.add("plot " + ", \\\n    ".join(plots))

    def key(self, looks, top, lines=True, left=20, right=WIDTH - 20):
        """Samples of looks with their titles, centred, in as many rows as needed; the height."""
        sample = 40 if lines else 14
        widths = [sample + 6 + text_width(look.title, 12.5) for look in looks]
        rows = even_rows(widths, right - left)
        for y, row in zip(range(top + 10, top + 10 + 20 * len(rows), 20), rows):
            total = sum(widths[i] for i in row) + 26 * (len(row) - 1)
            x = (left + right - total) / 2
            for i in row:
                self.stroke(looks[i], x, y, sample, lines)
                self.label(looks[i].title, x + sample + 6, y, size=12.5)
                x += widths[i] + 26
        return 20 * len(rows)

    def stroke(self, look, x, y, width, lines=True):
        """A sample of a look in pixels."""
        if lines:
            ends = self.block([(x, y), (x + width, y)])
            self.strokes.append(f"{ends} with lines {self.line(look)} notitle")
        self.strokes += self.points(self.block([(x + width / 2, y)]), look)

    def finish(self):
        """Plots labels and samples over the whole sheet."""
        self.begin_panel(Box(0, 0, WIDTH, self.full), "unset border", "unset tics", "unset grid",
                         f"set xrange [0:{WIDTH}]", f"set yrange [{self.full}:0]", *self.overlay)
        self.plot(self.strokes or ["NaN notitle"])


def key_rows(widths, room):
    """Which samples stand in each row of a key."""
    rows, used = [[]], 0.0
    for i, width in enumerate(widths):
        if rows[-1] and used + 26 + width > room:
            rows.append([])
            used = 0.0
        used += width + (26 if rows[-1] else 0)
        rows[-1].append(i)
    return rows


def even_rows(widths, room):
    """As many rows as are needed, of about the same length."""
    count = len(key_rows(widths, room))
    less = range(int(max(widths)), int(room), 10)
    return key_rows(widths, next((r for r in less if len(key_rows(widths, r)) == count), room))


# ---------------------------------------------------------------- axes


def padded(low, high, part=0.06):
    """A logarithmic range with some room."""
    room = (high / low) ** part if high > low else 1.5
    return low / room, high * room


def tics(values, name):
    return "(" + ", ".join(f"{quoted(name(v))} {v:.7g}" for v in values) + ")"


def powers_of_ten(low, high):
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [10.0**i for i in range(first, last + 1)]


def time_name(seconds):
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if seconds >= size * 0.999:
            return f"{seconds / size:,.10g} {unit}"
    return f"{seconds:g} s"


def time_axis(axis, low, high, unit=1.0, most=8):
    """A logarithmic axis of times with units, so many at most; finer where decades are few."""
    values = powers_of_ten(low, high)
    values = values[:: math.ceil(len(values) / most)]
    if len(values) < 3:
        values = sorted(v * m for v in powers_of_ten(low / 10, high) for m in (1, 2, 5))
    values = [v for v in values if low * 0.999 <= v <= high * 1.001]
    return [f"set logscale {axis}", f"set {axis}range [{low:.7g}:{high:.7g}]",
            f"set {axis}tics {tics(values, lambda v: time_name(v * unit))}",
            f"set m{axis}tics 1"]


def spread(places, gap):
    """Moves places apart so that they are at least gap from each other, each as little as can be
    while they keep their order."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    for _ in range(200):
        still = True
        for a, b in zip(order, order[1:]):
            lack = gap - (moved[b] - moved[a])
            if lack > 1e-6:
                moved[a] -= lack / 2
                moved[b] += lack / 2
                still = False
        if still:
            break
    return moved


# ---------------------------------------------------------------- drawing


def wrap(text, most=None):
    rows = textwrap.wrap(text, SMALL_COLUMNS, break_on_hyphens=False)
    if most is not None and len(rows) > most:
        rows = [*rows[: most - 1], rows[most - 1] + " …"]
    return rows


def run_gnuplot(name, script):
    try:
        done = subprocess.run(["gnuplot"], input=script, capture_output=True, text=True,
                              check=False)
    except OSError as error:
        raise Failure(f"gnuplot: {error.strerror} (Debian: gnuplot-nox)") from error
    if done.returncode != 0 or "warning" in done.stderr.lower():
        raise Failure(f"{name}: gnuplot says\n{done.stderr.strip()}")


def finish_svg(path, title, origin):
    """Gives a drawing its title, its origin and fonts that exist elsewhere."""
    text = path.read_text(encoding="utf-8")
    escaped = title.replace("&", "&amp;").replace("<", "&lt;")
    text = text.replace("<title>Gnuplot</title>", f"<title>{escaped}</title>")
    text = re.sub(r"<desc>.*?</desc>", f"<desc>{origin}</desc>", text, count=1)
    text = re.sub(r"<title>gnuplot_plot_\w+</title>", "", text)  # browsers would show them
    text = re.sub(r"(id='gpPt\d+' stroke-width=)'[\d.]+'", r"\1'0.42'", text)  # of open points
    text = text.replace('"Helvetica:Bold"', '"Helvetica" font-weight="bold"')
    text = text.replace('font-family="Helvetica"', f'font-family="{FAMILY}"')
    path.write_text(text, encoding="utf-8")


def draw(path, title, origin, height, small_print, place):
    """Draws a figure as SVG: `place(sheet)` puts things on the sheet."""
    full = height + SMALL_ROW * len(small_print) + 12
    output = path.with_suffix(".svg")
    sheet = Sheet(full, height)
    place(sheet)
    for i, row in enumerate(small_print):
        sheet.label(row, 10, height + 8 + SMALL_ROW * i, size=10, colour="#606060")
    sheet.finish()
    terminal = f"svg size {WIDTH},{full} font 'Helvetica,13' background 'white'"
    head = [f"set terminal {terminal}", f"set output {quoted(output)}", "set multiplot"]
    run_gnuplot(path.name, "\n".join([*head, *sheet.script, "unset multiplot", ""]))
    finish_svg(output, title, origin)
