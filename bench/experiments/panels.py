"""What the figures of a run share: what they are drawn from, who looks how, where panels stand."""

import math
from collections import namedtuple

from . import results
from .plotting import WIDTH, Box, text_width
from .results import METHODS, SETS, look

# A figure's table, table 4 (or None) for what retraining takes, and meta.json.
Source = namedtuple("Source", "table costs meta")

PANEL_HEAD = 22  # the height of a panel's title


def method_looks(table):
    methods = table.methods()
    return {m: look(m, METHODS, methods) for m in methods}


def set_looks(table):
    """The looks of the sets, stand-ins marked."""
    sets = table.sets()
    looks = {name: look(name, SETS, list(sets)) for name in sets}
    return {name: looks[name]._replace(title=results.set_title(row)) for name, row in sets.items()}


def readable(colour):
    """A colour that is dark enough for text."""
    return {"#E69F00": "#9a6a00", "#56B4E9": "#2479a8", "#CC79A7": "#a34f7f",
            "#7f7f7f": "#6b6b6b"}.get(colour, colour)


def panel_columns(count):
    """Three panels in a row, but no row with one alone."""
    return 2 if count in (2, 4) else min(3, count)


def panel_rows(count):
    return math.ceil(count / panel_columns(count))


def grid(count, top, height, left, gap, below, right=30):
    """Boxes of panels in rows."""
    columns = panel_columns(count)
    width = (WIDTH - right - left - gap * (columns - 1)) / columns
    boxes = []
    for i in range(count):
        x = left + (i % columns) * (width + gap)
        y = top + PANEL_HEAD + (i // columns) * (height + PANEL_HEAD + below)
        boxes.append(Box(x, y, x + width, y + height))
    return boxes


def is_lowest(boxes, box):
    """Whether no panel stands below this one."""
    return not any(b.left == box.left and b.top > box.top for b in boxes)


def head_panel(sheet, box, row, meta):
    """Writes a panel's set above it, with its size as far as meta.json tells, and room allows."""
    title = results.set_title(row)
    sheet.label(title, box.left, box.top - 12, bold=True)
    known = meta.get("sets", {}).get(row["set"])
    if known:
        size = f"{known['n']:,} × {known['d']}, k = {known['k']}"
        left = box.left + text_width(title) * 1.12 + 10
        if left + text_width(size, 11) < box.right + 6:  # else there is no room for it
            sheet.label(size, left, box.top - 12, size=11)


def name_axes(sheet, box, across, up):
    """Writes what the axes of a panel are, below it and at the left edge of the sheet."""
    sheet.label(across, (box.left + box.right) / 2, box.bottom + 36, "center", 12)
    sheet.label(up, 14, (box.top + box.bottom) / 2, "center", 12, rotate=90)


def extent(values):
    there = [v for v in values if v is not None]
    return min(there), max(there)


def place_log(value, low, high):
    """Where a value stands between two others on a logarithmic axis, from 0 to 1."""
    return math.log(value / low) / math.log(high / low)
