"""What a run left in its folder: CSV files and meta.json, read; and how methods, sets and numbers
are called and written in figures and in the report.

A CSV file begins with comments (`# command: ...`, `# run: ...`) and a header; missing numbers are
empty. Values stay the texts they are in the file, so that the paper's numbers are printed with the
digits the paper gives; number() converts.
"""

import csv
import hashlib
import json
import re
from collections import namedtuple
from pathlib import Path

from . import Failure

TABLES = ["table1_loss", "table2_silhouette", "table3_nmi", "table4_runtime"]
FIGURES = [
    "figure1_runtime", "figure2_retrains", "figure2_stream", "figure3_epsilon_loss",
    "figure4_width_loss", "figure5_epsilon_time", "figure6_width_time", "figure7_growth",
    "figure8_latency", "figure9_tradeoff", "figure10_efficiency",
]
OF_THE_PAPER = FIGURES[:7]

MAY_BE_EMPTY = {"figure2_stream"}  # no request did more than correct sums

# How a method or a set is called and looks. Colours are of the palette of Okabe and Ito; dashes
# and points differ too.
Look = namedtuple("Look", "title colour dash point")
METHODS = {
    "kmeans": Look("k-means", "#000000", "solid", 0),
    "lloyd": Look("k-means, forgetting", "#7f7f7f", "(4,4)", 11),
    "quantized": Look("Q-k-means, exact", "#D55E00", "(14,6)", 5),
    "quantized_printed": Look("Q-k-means, as printed", "#E69F00", "(3,4)", 4),
    "quantized_program": Look("Q-k-means, as programmed", "#999933", "(16,4,3,4,3,4)", 12),
    "quantized_fixed": Look("Q-k-means, exact, ε = 1/16", "#AA4499", "(9,3)", 8),
    "tree": Look("DC-k-means, exact", "#0072B2", "solid", 7),
    "tree_printed": Look("DC-k-means, as printed", "#882255", "(2,3)", 10),
    "tree_weighed": Look("DC-k-means, weighed", "#CC79A7", "(10,4,3,4)", 13),
    "tree_quantized": Look("DC-k-means, quantized leaves", "#56B4E9", "(7,4)", 6),
    "pyramid": Look("pyramid", "#009E73", "solid", 9),
}
SETS = {
    "celltype": Look("celltype", "#0072B2", "solid", 7),
    "covtype": Look("covtype", "#D55E00", "(14,6)", 5),
    "mnist": Look("mnist", "#009E73", "(3,4)", 9),
    "postures": Look("postures", "#CC79A7", "(10,4,3,4)", 13),
    "gaussian": Look("gaussian", "#000000", "(7,4)", 6),
    "botnet": Look("botnet", "#E69F00", "(16,4,3,4,3,4)", 11),
    "postures_part": Look("postures_part", "#882255", "(2,3)", 12),
    "botnet_sample": Look("botnet_sample", "#56B4E9", "(9,3)", 10),
}
NOT_EXACT = {"quantized_printed": "no", "quantized_program": "no",  # by the law of bytes
             "tree_printed": "in distribution"}

# For methods and sets that are not listed above.
SPARE = [("#661100", "(2,3)", 6), ("#332288", "(12,3)", 15), ("#44AA99", "(5,3)", 14)]

# How sets are marked that are not the paper's, by kind, and what the marks mean.
STAND_IN = "† stand-in: generated with the paper's N, D, K; not comparable with the paper's data"
PART = "‡ a real part of the paper's set, with another N and K; not comparable with the paper's data"
MARKS = {"stand-in": ("†", STAND_IN), "part": ("‡", PART)}


# ---------------------------------------------------------------- reading


class Table:
    """A CSV file: its name, comments, rows (dictionaries of texts) and the digest of its bytes."""

    def __init__(self, path):
        data = path.read_bytes()
        lines = data.decode("utf-8").splitlines(keepends=True)
        self.name = path.stem
        self.digest = hashlib.sha256(data).hexdigest()
        self.comments = [line[1:].strip() for line in lines if line.startswith("#")]
        self.rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
        for row in self.rows:
            if None in row or None in row.values():
                raise Failure(f"{path.name}: a line has another number of fields than the header: {row}")
            if "method" in row:
                row["method"] = method_key(row["method"])

    def comment(self, what):
        """The texts of the comments `what: text`."""
        return [c.partition(":")[2].strip() for c in self.comments if c.startswith(what + ":")]

    def sets(self):
        """The first row of each set, by its name, in the order of SETS."""
        first = {}
        for row in self.rows:
            first.setdefault(row["set"], row)
        return {name: first[name] for name in ordered(first, SETS)}

    def methods(self):
        return ordered({row["method"]: None for row in self.rows}, METHODS)

    def find(self, **wanted):
        """The rows with these values."""
        return [row for row in self.rows if all(row[f] == value for f, value in wanted.items())]

    def one(self, **wanted):
        """The first row with these values, or None."""
        return next(iter(self.find(**wanted)), None)


def load(folder, name):
    """The table of a CSV file, or None if there is no such file or nothing in it."""
    path = folder / f"{name}.csv"
    table = Table(path) if path.exists() else None
    return table if table is not None and (table.rows or name in MAY_BE_EMPTY) else None


def load_meta(folder):
    path = folder / "meta.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Failure(f"{path.name}: {error}") from error


class Run:
    """The folder of a run, with its tables as they are asked for."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.meta = load_meta(self.folder)
        self.tables = {}

    def table(self, name):
        """A table, or None."""
        if name not in self.tables:
            self.tables[name] = load(self.folder, name)
        return self.tables[name]

    @property
    def deletions(self):
        return f"{self.meta.get('deletions') or 1000:,}"

    def is_comparable(self, row):
        """Whether a row's set is the paper's: no stand-in, and all of its rows."""
        known = self.meta.get("sets", {}).get(row["set"], {})
        return not mark_of(row) and not known.get("cut")


def number(row, field):
    """The value of a field, or None where there is none."""
    text = (row or {}).get(field) or ""
    return float(text) if text.strip() else None


# ---------------------------------------------------------------- names


def method_key(text):
    """`quantized printed` and `quantized_printed` are the same method; unknown ones are as they are."""
    key = re.sub(r"[^a-z0-9]+", "_", text.strip().lower())
    key = {"k_means": "kmeans"}.get(key, key)
    return key if key in METHODS else text


def ordered(names, known):
    """The names that are known in their order, then the others in theirs."""
    return [n for n in known if n in names] + [n for n in names if n not in known]


def look(name, known, others=()):
    """How a method or set looks; unknown ones get looks of their own, by their place in others."""
    if name in known:
        return known[name]
    strangers = [n for n in others if n not in known]
    place = strangers.index(name) if name in strangers else 0
    return Look(name.replace("_", " "), *SPARE[place % len(SPARE)])


def method_title(method):
    return look(method, METHODS).title


def mark_of(row):
    """The mark of a row's set, nothing where it is the paper's."""
    return MARKS.get(row.get("kind") or "", ("", ""))[0]


def set_title(row):
    """The name of a row's set, marked if it is not the paper's."""
    return row["set"] + mark_of(row)


def notes_on(rows):
    """What the marks of these rows' sets mean."""
    kinds = {row.get("kind") for row in rows}
    return [note for kind, (_, note) in MARKS.items() if kind in kinds]


def is_exact(row):
    return row["method"] not in NOT_EXACT


# ---------------------------------------------------------------- numbers


def decimals_for(value, count=3):
    """How many decimals show so many digits of a value, with all before the point."""
    if not value:
        return 0
    exponent = int(f"{abs(value):.{count - 1}e}".partition("e")[2])
    return min(max(count - 1 - exponent, 0), 9)


def digits(value, count=3):
    """At least so many significant digits, and all before the point."""
    return f"{value:,.{decimals_for(value, count)}f}"


def unit_of(seconds):
    """The unit that suits a time, and its size."""
    units = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
    return next((u for u in units if seconds >= 0.9995 * u[1]), ("ns", 1e-9))


def duration(seconds, deviation=None):
    """`1.23 ms`, or `1.23 ±0.05 ms`."""
    unit, size = unit_of(seconds)
    value = seconds / size
    more = f" ±{deviation / size:,.{decimals_for(value)}f}" if deviation else ""
    return f"{digits(value)}{more} {unit}"


def microseconds(row, field):
    value = number(row, field)
    return "" if value is None else duration(value * 1e-6)


def fixed(value, decimals):
    """A number with so many decimals; a minus only where something is left to be negative."""
    text = f"{value:,.{decimals}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text


def with_sd(row, field, decimals):
    """`1.033 ±0.017`, or nothing."""
    mean, deviation = number(row, field), number(row, "sd" if field == "mean" else f"{field}_sd")
    if mean is None:
        return ""
    return fixed(mean, decimals) + (
        f" ±{fixed(deviation, decimals)}" if deviation is not None else "")


def measured(row, field, unit):
    """A number and its deviation, with as many decimals: `163× ±12`, or nothing."""
    value, deviation = number(row, field), number(row, f"{field}_sd")
    if value is None:
        return ""
    more = f" ±{deviation:,.{decimals_for(value)}f}" if deviation else ""
    return digits(value) + unit + more


def times(row, field):
    """A speed-up: `163×`, or nothing."""
    value = number(row, field)
    return "" if value is None else f"{digits(value)}×"
