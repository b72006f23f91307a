"""Draws the figures of a run from the CSV files in its folder: figure1_runtime to figure9_tradeoff,
as SVG and PNG, beside the files they are drawn from. Measures nothing.

The paper's are 1 to 6; 7 to 9 (growth, latency, trade-off) are our own. Sets that are stand-ins are
marked wherever they are named. A figure whose CSV file is missing or empty is left out.
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
    "figure2_retrains": Figure(
        "Requests that cost work", marks.retrains_height, marks.place_retrains),
    "figure3_epsilon_loss": Figure("Loss against ε", 430, curves.place_loss("epsilon", EPSILON)),
    "figure4_width_loss": Figure("Loss against w", 430, curves.place_loss("width", LEAVES)),
    "figure5_epsilon_time": Figure(
        "Time against ε", 380, curves.place_time("epsilon", EPSILON, "Q-k-means")),
    "figure6_width_time": Figure(
        "Time against w", 380, curves.place_time("width", LEAVES, "DC-k-means")),
    "figure7_growth": Figure("Time of a request as n grows", 440, curves.place_growth),
    "figure8_latency": Figure("Times of requests", marks.latency_height, marks.place_latency),
    "figure9_tradeoff": Figure("Speed-up against loss", 600, marks.place_tradeoff),
}


def source_of(run, name):
    """What a figure is drawn from, or None."""
    table = run.table(name)
    source = Source(table, run.table("table4_runtime"), run.meta)
    return source if table is not None and (table.rows or marks.retrain_sets(source)) else None


def shows_stand_ins(name, source):
    if name == "figure2_retrains":
        return any(results.is_stand_in(row) for row in marks.retrain_sets(source).values())
    return results.has_stand_ins(source.table)


def small_print(name, source):
    """Notes, the commands and the machine, in rows."""
    table, meta = source.table, source.meta
    rows = [results.STAND_IN] if shows_stand_ins(name, source) else []
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
