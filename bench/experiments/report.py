"""The report of a run: report.md in its folder, from the CSV files, meta.json and the drawings that
are there. Measures nothing, and types no measured number by hand.

headline() is the table of the README, check() holds report and README against the CSV files.
"""

from pathlib import Path

from . import claims, figures, report_context, report_tables, results
from .page import Heading, Picture, plain, table, to_markdown
from .report_tables import best_method, paper_best
from .results import (
    Failure, Run, duration, method_title, microseconds, number, set_title, times, with_sd,
)

TITLE = "The paper's experiments, with efface"
BEGIN, END = "<!-- headline -->", "<!-- /headline -->"


def report_blocks(run):
    return [Heading(1, TITLE), *report_tables.summary(run), *report_tables.sets_section(run),
            *report_tables.quality_section(run), *report_tables.time_section(run),
            *report_context.figures_section(run), *claims.section(run),
            *report_context.peers_section(run),
            *report_context.theory_section(run), *report_context.corollaries_section(run),
            *report_context.loss_bound_section(run), *report_context.sanity_section(run),
            *report_context.repeat_section(run)]


def check_drawings(run, blocks):
    """Fails unless each drawing that the blocks show was made from the CSV file that is there."""
    for picture in (b for b in blocks if isinstance(b, Picture)):
        path = run.folder / f"{picture.name}.svg"
        if not path.exists():
            raise Failure(f"{path.name}: not drawn yet")
        if figures.origin(run.table(picture.name)) not in path.read_text(encoding="utf-8"):
            raise Failure(f"{path.name}: not drawn from the {picture.name}.csv that is there")


def render(folder):
    """The text of report.md; figures.draw_all(folder) comes first."""
    run = Run(folder)
    blocks = report_blocks(run)
    check_drawings(run, blocks)
    return to_markdown(blocks)


def write_report(folder):
    (Path(folder) / "report.md").write_text(render(folder), encoding="utf-8")


def headline(folder):
    """The lines of the README's table."""
    run = Run(folder)
    costs, losses = run.table("table4_runtime"), run.table("table1_loss")
    if costs is None:
        raise Failure("table4_runtime.csv: not there, or empty")
    rows = []
    ours = {name: first for name, first in costs.sets().items() if first["kind"] != "part"}
    for name, first in ours.items():
        found = {m: costs.one(set=name, method=m)
                 for m in ("kmeans", "tree", "quantized", "pyramid")}
        best = paper_best(costs, name)
        loss = losses and losses.one(set=name, method="pyramid")
        rows.append([
            plain(set_title(first)),
            f"{best['paper_speedup']}× ({short_title(best['method'])})" if best else "–",
            *(speedup_cell(found[m], best_method(costs, name))
              for m in ("tree", "quantized", "pyramid")),
            with_sd(loss, "mean", 3) or "–", request_text(found["pyramid"], found["kmeans"])])
    head = ["set", "the paper's best speed-up", "DC-k-means", "Q-k-means", "pyramid",
            "pyramid's loss ratio", "a request to pyramid (retraining)"]
    notes = [line for note in results.notes_on(ours.values()) for line in ("", note + ".")]
    return [*table(head, rows), *notes]


def short_title(method):
    return method_title(method).partition(",")[0]


def speedup_cell(row, best):
    text = times(row, "speedup")
    return f"**{text}**" if text and row["method"] == best else text or "–"


def request_text(row, retraining):
    """What a request takes, and what retraining does."""
    again = number(retraining, "seconds")
    return (microseconds(row, "request_us") or "–") + (f" ({duration(again)})" if again else "")


def check(folder, readme):
    """Raises Failure if the report or the README differ from what the CSV files give."""
    path = Path(folder) / "report.md"
    if not path.exists() or path.read_text(encoding="utf-8") != render(folder):
        raise Failure("report.md: differs from what the CSV files give; write it again")
    if readme is None:
        return
    text = Path(readme).read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise Failure(f"{Path(readme).name}: the markers {BEGIN} and {END} must be there once each")
    between = text.partition(BEGIN)[2].partition(END)[0].strip()
    if between != "\n".join(headline(folder)):
        raise Failure(f"{Path(readme).name}: the headline table differs from the CSV files")
