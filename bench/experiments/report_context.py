"""The report beside its tables: figures, other programs, theory, sanity, and how to repeat it."""

import re

from . import captions, figures, results
from .page import Code, Folded, Grid, Heading, Items, Note, Picture, Text, plain
from .report_tables import counted, missing, stand_in_note
from .results import digits, duration, method_title, number, set_title, with_sd

# ---------------------------------------------------------------- figures


def figure_blocks(run, names):
    blocks = []
    for name in names:
        source = figures.source_of(run, name)
        title, caption = captions.FIGURES[name]
        if source is None:
            blocks.append(Text(f"**{title}.** This run has no `{name}.csv`, so it is not drawn."))
            continue
        marked = figures.shows_stand_ins(name, source)
        note = f" {results.STAND_IN}." if marked else ""
        caption = caption.replace("{deletions}", run.deletions)
        blocks.append(Picture(name, title, f"{caption}{note} Numbers: `{name}.csv`."))
    return blocks


def figures_section(run):
    return [Heading(2, "The paper's figures"), *figure_blocks(run, results.FIGURES[:6]),
            Heading(2, "Growth, latency, and what speed costs"),
            *figure_blocks(run, results.FIGURES[6:])]


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
                     *stand_in_note(table.rows), *(Text(t) for t in peers_sentence(table))]


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
    rows = []
    for row in table.rows:
        error, low, high = row.get("standard_error"), row.get("low"), row.get("high")
        rows.append([plain(method_title(row["method"])),
                     captions.VARIABLES.get(row["variable"], plain(row["variable"])),
                     with_error(row["exponent"], error),
                     f"{rounded(low)} to {rounded(high)}" if low and high else "",
                     plain(row.get("paper_bound") or "–")])
    head = ["method", "growth", "exponent", "measured from, to", "the paper's bound"]
    return blocks + [Grid(head, rows), Note(captions.EXPONENTS)]


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
    return blocks + [Grid(head, rows), *stand_in_note(marks), Text(verdict)]


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
             ("scikit-learn", "sklearn"), ("faiss", "faiss"), ("BLAS", "blas")]
    rows = [[title, fact_text(meta[key])] for title, key in facts if meta.get(key) is not None]
    if meta.get("seconds"):
        rows.append(["the whole run took", f"{meta['seconds'] / 60:,.0f} minutes"])
    commands = meta.get("commands") or []
    blocks = [Heading(2, "How to repeat it"), *(Text(t) for t in captions.REPEAT),
              Grid(["what", "here"], rows)]
    if commands:
        blocks.append(Folded(f"The commands, {len(commands):,} of them",
                             [Code([" ".join(str(c).split()) for c in commands])]))
    return blocks


def fact_text(value):
    return plain(", ".join(map(str, value)) if isinstance(value, list) else value)
