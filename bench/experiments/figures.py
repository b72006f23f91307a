"""Draws the figures of a run from the CSV files in its folder: figure1_runtime to
figure10_efficiency, as SVG, beside the files they are drawn from. Measures nothing.

The paper's are 1 to 6; the others (which requests cost work, growth, latency, trade-off, deletion
efficiency) are our own. Sets that are stand-ins or parts are marked wherever they are named. A
figure whose CSV file is missing or empty is left out.
"""

from collections import namedtuple

from . import figures_curves as curves
from . import figures_marks as marks
from . import results
from .panels import Source
from .plotting import draw, wrap

# What a figure is: its title, its height without small print (or a function of the source), and
# what places it on a sheet.
Figure = namedtuple("Figure", "title height place")


EPSILON = "lattice width ε of Q-k-means"
LEAVES = "width w of DC-k-means (number of leaves)"
FIGURES = {
    "figure1_runtime": Figure("Time per deletion", curves.runtime_height, curves.place_runtime),
    "figure2_retrains": Figure("Retrainings", curves.runtime_height, curves.place_retrains),
    "figure2_stream": Figure("Requests that cost work", marks.stream_height, marks.place_stream),
    "figure3_epsilon_loss": Figure("Loss against ε", 430, curves.place_loss("epsilon", EPSILON)),
    "figure4_width_loss": Figure("Loss against w", 430, curves.place_loss("width", LEAVES)),
    "figure5_epsilon_time": Figure(
        "Time against ε", 380, curves.place_time("epsilon", EPSILON, "Q-k-means")),
    "figure6_width_time": Figure(
        "Time against w", 380, curves.place_time("width", LEAVES, "DC-k-means")),
    "figure7_growth": Figure("Time of a request as n grows", 440, curves.place_growth),
    "figure8_latency": Figure("Times of requests", marks.latency_height, marks.place_latency),
    "figure9_tradeoff": Figure("Speed-up against loss", 600, marks.place_tradeoff),
    "figure10_efficiency": Figure(
        "n^α deletions from n rows", curves.efficiency_height, curves.place_efficiency),
}


def source_of(run, name):
    """What a figure is drawn from, or None."""
    table = run.table(name)
    source = Source(table, run.table("table4_runtime"), run.meta)
    return source if table is not None and (table.rows or marks.stream_sets(source)) else None


def notes_of(name, source):
    """What the marks of sets mean."""
    if name == "figure2_stream":
        return results.notes_on(marks.stream_sets(source).values())
    return results.notes_on(source.table.rows)


def small_print(name, source):
    """Notes, the commands and the machine, in rows."""
    table, meta = source.table, source.meta
    rows = notes_of(name, source)
    for command in table.comment("command") or [meta.get("command")]:
        if command:
            rows += wrap(f"Made by: {command}", 2)
    runs = table.comment("run")
    if runs:
        rows += wrap(f"Runs: {runs[0]}", 3)
        if len(runs) > 1:
            rows.append(f"and {len(runs) - 1} more, which {name}.csv lists")
    facts = [meta.get("processor"), f"kernels {meta.get('kernels')}",
             f"threads {meta.get('threads')}", meta.get("date")]
    return rows + wrap("; ".join(str(f) for f in facts if f), 1)


def origin(table):
    """What a drawing says of where it comes from; check() of the report compares it."""
    return f"drawn from {table.name}.csv, sha256 {table.digest}"


def draw_all(folder):
    """Draws every figure whose CSV file is in the folder; their names."""
    run = results.Run(folder)
    drawn = []
    for name, figure in FIGURES.items():
        source = source_of(run, name)
        if source is None:
            continue
        height = figure.height(source) if callable(figure.height) else figure.height
        draw(run.folder / name, figure.title, origin(source.table), height,
             small_print(name, source), lambda sheet, f=figure, s=source: f.place(sheet, s))
        drawn.append(name)
    return drawn
