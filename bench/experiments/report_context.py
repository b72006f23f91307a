"""The report beside its tables: figures, other programs, theory, sanity, and how to repeat it."""

import math
import re

from . import captions, figures, published, results
from .page import Code, Folded, Grid, Heading, Items, Note, Picture, Text, plain
from .report_tables import counted, missing, set_notes
from .results import digits, duration, method_title, number, set_title, with_sd

EFFICIENCY = "figure10_efficiency"  # stands with the theory

# ---------------------------------------------------------------- figures


def figure_blocks(run, names):
    blocks = []
    for name in names:
        source = figures.source_of(run, name)
        title, caption = captions.FIGURES[name]
        if source is None:
            blocks.append(Text(f"**{title}.** This run has no `{name}.csv`, so it is not drawn."))
            continue
        notes = "".join(f" {note}." for note in figures.notes_of(name, source))
        caption = caption.replace("{deletions}", run.deletions)
        blocks.append(Picture(name, title, f"{caption}{notes} Numbers: `{name}.csv`."))
    return blocks


def figures_section(run):
    others = [name for name in results.FIGURES
              if name not in results.OF_THE_PAPER and name != EFFICIENCY]
    return [Heading(2, "The paper's figures"), *figure_blocks(run, results.OF_THE_PAPER),
            Heading(2, "Growth, latency, and what speed costs"), *figure_blocks(run, others)]


# ---------------------------------------------------------------- peers, theory, sanity


def peers_section(run):
    blocks = [Heading(2, "What you would have today"), Text(captions.PEERS)]
    table = run.table("peers")
    if table is None:
        return blocks + missing(run, "peers", "measurement of other programs")
    contestants = list(dict.fromkeys(r["contestant"] for r in table.rows))
    rows = []
    for name, first in table.sets().items():
        found = [table.one(set=name, contestant=c) for c in contestants]
        rows.append([plain(set_title(first)), *(peer_cell(r) for r in found)])
    return blocks + [Grid(["set", *map(plain, contestants)], rows), Note(captions.PEER_CELLS),
                     *set_notes(table.rows), *(Text(t) for t in peers_sentence(table))]


def peer_cell(row):
    fit, total, factor = (number(row, f) for f in ("fit_seconds", "seconds_1000", "times_pyramid"))
    lines = ["" if total is None else duration(total),
             "" if fit is None else f"{duration(fit)} a fit",
             "" if factor is None else f"{digits(factor)} times pyramid"]
    return "\n".join(line for line in lines if line)


def peers_sentence(table):
    """The fastest program of others on each set, beside pyramid."""
    factors = {}
    for name, first in table.sets().items():
        rows = [r for r in table.find(set=name) if not r["contestant"].startswith("efface")]
        there = [number(r, "times_pyramid") for r in rows]
        there = [v for v in there if v is not None]
        if there:
            factors[set_title(first)] = min(there)
    if factors:
        low, high = min(factors, key=factors.get), max(factors, key=factors.get)
        yield ("Retraining with the fastest program of others takes from "
               f"{digits(factors[low])} ({plain(low)}) to {digits(factors[high])} times "
               f"({plain(high)}) what pyramid takes for the same requests.")


def theory_section(run):
    blocks = [Heading(2, "The shape of the theory"), Text(captions.THEORY),
              Items(captions.BOUNDS)]
    table = run.table("theory")
    if table is None:
        return blocks + missing(run, "theory", "fit of the growth in n and m")
    rows, above = [], []
    for row in table.rows:
        error, low, high = row.get("standard_error"), row.get("low"), row.get("high")
        key = (row["method"], row["variable"])
        if float(row["exponent"]) - 2 * float(error or 0) > published.EXPONENTS.get(key, math.inf):
            above.append(f"{plain(method_title(row['method']))} {captions.VARIABLES[row['variable']]}")
        rows.append([plain(method_title(row["method"])),
                     captions.VARIABLES.get(row["variable"], plain(row["variable"])),
                     with_error(row["exponent"], error),
                     f"{rounded(low)} to {rounded(high)}" if low and high else "",
                     plain(published.BOUNDS.get(key, "–")),
                     f"{published.EXPONENTS[key]:.2f}" if key in published.EXPONENTS else "–"])
    head = ["method", "growth", "exponent", "measured from, to", "the paper's bound",
            "exponent of the bound"]
    verdict = (f"Above that of its bound by more than two standard errors: {'; '.join(above)}." if above else
               "No exponent is above that of its bound by more than two standard errors.")
    return blocks + [Grid(head, rows), Note(captions.EXPONENTS), Text(verdict)]


def corollaries_section(run):
    blocks = [Heading(3, "Corollaries 4.2.1 and 4.2.2: deletion efficiency"),
              Text(captions.EFFICIENCY)]
    table = run.table("corollaries")
    if table is None:
        return blocks + missing(run, "corollaries", "such measurement")
    rows = []
    for row in table.rows:
        holds = "yes" if row["within"] == "1" else "no"
        promised = row["promised"] == "1"
        rows.append([plain(method_title(row["method"])), fraction(row["alpha"]),
                     f"{float(row['bound']):.3f}",
                     with_error(row["exponent"], row["standard_error"]),
                     with_error(row["relative"], row["relative_error"]),
                     "yes" if promised else "no",
                     f"**{holds}**" if promised and holds == "no" else holds])
    head = ["method", "α", "1 - α", "exponent of the time in n", "over training / m", "promised",
            "holds"]
    broken = [row for row in table.rows if row["promised"] == "1" and row["within"] != "1"]
    verdict = ("What is promised holds." if not broken else
               f"{counted(len(broken), 'promise')} of the paper did not hold in this measurement.")
    return blocks + [Grid(head, rows), Note(captions.EFFICIENCY_NOTE), Text(verdict),
                     *figure_blocks(run, [EFFICIENCY])]


def fraction(text):
    """`3/8` for 0.375."""
    return "/".join(map(str, float(text).as_integer_ratio()))


def loss_bound_section(run):
    blocks = [Heading(3, "Corollary 4.1.1: the loss of Q-k-means"), Text(captions.LOSS_BOUND)]
    table = run.table("loss_bound")
    if table is None:
        return blocks + missing(run, "loss_bound", "such comparison")
    rows = []
    for row in table.rows:
        least, loss, bound = (number(row, f) for f in ("least_loss", "loss", "bound"))
        rows.append([plain(set_title(row)), figures.curves.sweep_mark(number(row, "epsilon")),
                     digits(least, 4), f"{digits(loss, 4)} ({loss / least:.3f})",
                     f"{digits(bound, 4)} ({bound / least:,.1f})", f"{bound / loss:,.1f}"])
    head = ["set", "ε", "least loss found", "loss of Q-k-means, exact (over the least)",
            "bound (over the least)", "bound / loss"]
    broken = [row for row in table.rows if number(row, "loss") > number(row, "bound")]
    verdict = ("Every mean loss is below its bound." if not broken
               else f"{counted(len(broken), 'mean loss')} are above their bounds.")
    return blocks + [Grid(head, rows), Note(captions.LOSS_BOUND_NOTE), *set_notes(table.rows),
                     Text(verdict)]


def rounded(text):
    value = float(text)
    return f"{value:,.0f}" if value >= 100 else f"{value:g}"


def with_error(text, error):
    return f"{float(text):.3f}" + (f" ±{float(error):.3f}" if error else "")


def sanity_section(run):
    blocks = [Heading(2, "Sanity of the baseline"), Text(captions.SANITY)]
    table = run.table("sanity")
    if table is None:
        return blocks + missing(run, "sanity", "such comparison")
    rows, marks, differ = [], [], 0
    kinds = run.meta.get("sets", {})
    for row in table.rows:
        agrees = (row["within"] or "").strip().lower() in ("1", "yes", "true")
        differ += not agrees
        marked = {"set": row["set"], "kind": kinds.get(row["set"], {}).get("kind", "")}
        marks.append(marked)
        found = with_sd(row, "found", decimals_of(row))
        rows.append([plain(set_title(marked)), plain(row["measure"]), found,
                     plain(row["expected"]), "yes" if agrees else "**no**", plain(row["remark"])])
    verdict = f"{len(rows) - differ} of {counted(len(rows), 'value')} agree."
    head = ["set", "measure", "found (± spread over seeds)", "expected", "agrees", "remark"]
    return blocks + [Grid(head, rows), *set_notes(marks), Text(verdict)]


def decimals_of(row):
    """As many decimals as the expected value has, and one more."""
    return 1 + max((len(d) for d in re.findall(r"\d\.(\d+)", row["expected"])), default=2)


# ---------------------------------------------------------------- how to repeat


def repeat_section(run):
    meta = run.meta
    facts = [("command", "command"), ("date", "date"), ("efface", "version"), ("commit", "commit"),
             ("processor", "processor"), ("cores", "cores"), ("memory, GB", "memory_gb"),
             ("system", "system"), ("compiler", "compiler"), ("kernel table", "kernels"),
             ("threads", "threads"), ("seeds", "seeds"), ("deletions", "deletions"),
             ("replicates", "replicates"), ("Python", "python"), ("numpy", "numpy"),
             ("scikit-learn", "sklearn"), ("faiss", "faiss"), ("more peers", "more_peers"),
             ("BLAS", "blas")]
    rows = [[title, fact_text(meta[key])] for title, key in facts if meta.get(key) is not None]
    if meta.get("seconds"):
        rows.append(["all runs together took", f"{meta['seconds'] / 60:,.0f} minutes"])
    commands = meta.get("commands") or []
    blocks = [Heading(2, "How to repeat it"), *(Text(t) for t in captions.REPEAT),
              Grid(["what", "here"], rows)]
    if commands:
        blocks.append(Folded(f"The commands, {len(commands):,} of them",
                             [Code([" ".join(str(c).split()) for c in commands])]))
    return blocks


def fact_text(value):
    return plain(", ".join(map(str, value)) if isinstance(value, list) else value)
