"""The report's summary and tables: quality, time, and how they compare with the paper."""

import math

from . import captions, published, results
from .page import Folded, Grid, Heading, Items, Note, Text, plain
from .results import (
    digits, duration, fixed, is_exact, measured, method_title, microseconds, notes_on, number,
    set_title, with_sd,
)

ROUNDING = 0.0005  # what rounding to three decimals may have taken from a number of the paper


def listed(items):
    """`a, b and c`."""
    items = list(items)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def counted(count, thing):
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def missing(run, name, what):
    """The sentence that stands for a table nobody measured."""
    if run.table(name) is not None:
        return []
    return [Text(f"This run has no {what}: there is no `{name}.csv` with lines in its folder.")]


def set_notes(rows):
    return [Note(note + ".") for note in notes_on(rows)]


# ---------------------------------------------------------------- cells


def beside_paper(ours, paper):
    """A cell: our value, the paper's below."""
    return f"{ours or '–'}\npaper {paper}" if paper else ours or "–"


def paper_with_sd(row, field, unit=""):
    """The paper's value as the paper prints it."""
    value, deviation = (row or {}).get(field), (row or {}).get(f"{field}_sd")
    if not value:
        return ""
    return padded(value) + (f" ±{padded(deviation)}" if deviation else "") + unit


def padded(text):
    """A number of the paper, which has three decimals or more; a CSV file has no zeros at its
    end."""
    return f"{float(text):.3f}" if len(text.partition(".")[2]) < 3 else text


def quality_cell(row):
    return beside_paper(with_sd(row, "mean", 3), paper_with_sd(row, "paper")) if row else ""


def speedup_text(row, best):
    """Our speed-up; k-means is what the others are compared with and has none."""
    if row["method"] == "kmeans":
        return ""
    text = measured(row, "speedup", "×")
    value, space, deviation = text.partition(" ")
    return f"**{value}**{space}{deviation}" if best and value else text


def time_text(row):
    """Our amortized time."""
    seconds = number(row, "seconds")
    return "–" if seconds is None else duration(seconds, number(row, "seconds_sd"))


def runtime_cell(row, best):
    if row is None:
        return ""
    speedup = row.get("paper_speedup") if row["method"] != "kmeans" else ""
    seconds = paper_with_sd(row, "paper_seconds", " s")
    paper = [f"{speedup}×" if speedup else "", seconds]
    paper = ",\n".join(p for p in paper if p)
    lines = [speedup_text(row, best), time_text(row), f"paper {paper}" if paper else ""]
    return "\n".join(line for line in lines if line)


def best_method(table, name):
    """The exact method with the highest speed-up on a set."""
    rows = [r for r in table.find(set=name) if is_exact(r) and r["method"] != "kmeans"]
    rows = [r for r in rows if number(r, "speedup") is not None]
    return max(rows, key=lambda r: number(r, "speedup"))["method"] if rows else None


def size_text(row):
    return f"{int(row['n']):,} × {row['d']}, k {row['k']}"


def by_method(table, cell):
    """A grid: a line for each set, a column for each method."""
    methods = table.methods()
    rows = []
    for name, first in table.sets().items():
        cells = [cell(table.one(set=name, method=m)) for m in methods]
        rows.append([f"{plain(set_title(first))}\n{size_text(first)}", *cells])
    return Grid(["set", *(plain(method_title(m)) for m in methods)], rows)


# ---------------------------------------------------------------- summary


def summary(run):
    meta, costs = run.meta, run.table("table4_runtime")
    blocks = [Text(captions.INTRODUCTION)]
    if meta.get("quick"):
        blocks.append(Text(captions.QUICK))
    if meta.get("note"):
        blocks.append(Text(plain(meta["note"])))
    cut = [plain(set_title({"set": name, **facts}))
           for name, facts in meta.get("sets", {}).items() if facts.get("cut")]
    if cut:
        blocks.append(Text(f"Of {listed(cut)} only a part of the rows was used, so "
                           "that they cannot be compared with the paper either."))
    if costs is None:
        return blocks + missing(run, "table4_runtime", "table of times")
    blocks += [Text(" ".join(conclusions(run, costs))), headline_grid(run, costs),
               Note(captions.HEADLINE), *set_notes(costs.rows)]
    return blocks


def headline_grid(run, costs):
    losses = run.table("table1_loss")
    methods = [m for m in ("kmeans", "tree", "quantized", "pyramid") if m in costs.methods()]
    rows = []
    for name, first in costs.sets().items():
        cells = []
        for method in methods:
            cost = costs.one(set=name, method=method)
            loss = losses and losses.one(set=name, method=method)
            cells.append(headline_cell(cost, loss, method == best_method(costs, name)))
        rows.append([plain(set_title(first)), *cells])
    titles = {"kmeans": "k-means, retrained"}
    return Grid(["set", *(titles.get(m, method_title(m)) for m in methods)], rows)


def headline_cell(cost, loss, best):
    if cost is None:
        return ""
    first = speedup_text(cost, best) or time_text(cost)
    ratio = with_sd(loss, "mean", 3)
    paper = [paper_with_sd(cost, "paper_seconds", " s") if cost["method"] == "kmeans"
             else cost.get("paper_speedup") and f"{cost['paper_speedup']}×",
             (loss or {}).get("paper") and f"loss {paper_with_sd(loss, 'paper')}"]
    paper = ", ".join(p for p in paper if p)
    lines = [first, f"loss {ratio}" if ratio else "", f"paper {paper}" if paper else ""]
    return "\n".join(line for line in lines if line)


def conclusions(run, costs):
    """Sentences on pyramid and on the paper's best, all computed."""
    sets = costs.sets()
    ours = {s: costs.one(set=s, method="pyramid") for s in sets}
    ours = {s: r for s, r in ours.items() if number(r, "speedup") is not None}
    if not ours:
        return []
    first = [s for s in ours if best_method(costs, s) == "pyramid"]
    yield (f"Of the exact methods, pyramid has the highest speed-up on "
           f"{len(first)} of {counted(len(ours), 'set')}"
           + (f" ({listed(plain(set_title(sets[s])) for s in first)})."
              if 0 < len(first) < len(ours) else "."))
    yield from against_paper(run, costs, ours)
    losses = run.table("table1_loss")
    ratios = {s: number(losses and losses.one(set=s, method="pyramid"), "mean") for s in ours}
    ratios = {s: v for s, v in ratios.items() if v is not None}
    if ratios:
        low, high = min(ratios, key=ratios.get), max(ratios, key=ratios.get)
        yield (f"Its mean loss ratios go from {ratios[low]:.3f} ({plain(set_title(sets[low]))}) to "
               f"{ratios[high]:.3f} ({plain(set_title(sets[high]))}).")


def against_paper(run, costs, ours):
    """How pyramid's speed-up compares with the paper's best where the data are the paper's."""
    factors = {}
    for name, row in ours.items():
        best = paper_best(costs, name)
        if best and run.is_comparable(row):
            factors[name] = number(row, "speedup") / number(best, "paper_speedup")
    if not factors:
        return
    low, high = min(factors, key=factors.get), max(factors, key=factors.get)
    yield (f"On the sets that can be compared its speed-up is {digits(factors[low])} "
           f"({plain(low)}) to {digits(factors[high])} times ({plain(high)}) the best speed-up "
           "that the paper gives for the set.")


def paper_best(costs, name):
    """The row with the highest speed-up of the paper on a set."""
    rows = [r for r in costs.find(set=name) if number(r, "paper_speedup") is not None]
    rows = [r for r in rows if r["method"] in published.METHODS[1:]]
    return max(rows, key=lambda r: number(r, "paper_speedup")) if rows else None


# ---------------------------------------------------------------- tables


def sets_section(run):
    rows = []
    for name in results.ordered(run.meta.get("sets", {}), results.SETS):
        facts = run.meta["sets"][name]
        row = {"set": name, "kind": facts.get("kind", "")}
        rows.append([plain(set_title(row)), plain(facts.get("kind", "")), f"{facts['n']:,}",
                     f"{facts['d']:,}", facts["k"]]
                    + [plain(facts.get(f) or "") for f in ("scale", "source")]
                    + ["yes" if facts.get("cut") else ""])
    head = ["set", "kind", "rows", "columns", "clusters", "scale", "source", "part only"]
    marked = [{"kind": f.get("kind", "")} for f in run.meta.get("sets", {}).values()]
    return [Heading(2, "What is measured"), *(Text(t) for t in captions.DEFINITIONS),
            Items(captions.TERMS), Heading(3, "Sets"), Grid(head, rows), *set_notes(marked)]


def quality_section(run):
    blocks = [Heading(2, "Quality"), Text(captions.AGREEMENT)]
    for name, (title, text) in captions.QUALITY.items():
        table = run.table(name)
        blocks += [Heading(3, title), Text(text)]
        if table is None:
            blocks += missing(run, name, "such table")
            continue
        blocks += [by_method(table, quality_cell), *set_notes(table.rows),
                   *(Text(t) for t in agreement(run, table)), *milestones_block(table)]
        if name == "table2_silhouette":
            blocks.append(Text(captions.TWICE_GAUSSIAN))
    return blocks


def milestones_block(table):
    """The same table at each milestone."""
    fields = [f for f in table.rows[0] if f.startswith("after_")]
    fields = [f for f in fields if any(row[f] for row in table.rows)]
    if not fields:
        return []
    rows = []
    for name, first in table.sets().items():
        for method in table.methods():
            row = table.one(set=name, method=method)
            if row:
                values = [number(row, f) for f in fields]
                rows.append([plain(set_title(first)), plain(method_title(method)),
                             *("" if v is None else fixed(v, 4) for v in values)])
    head = ["set", "method", *(f"{int(f.removeprefix('after_')):,}" for f in fields)]
    return [Folded(captions.MILESTONES, [Grid(head, rows), *set_notes(table.rows)])]


def can_differ(row, table_name):
    """Whether a row measures what the paper measured, and is not 1 by construction."""
    if row["method"] == "kmeans":
        return table_name != "table1_loss"
    return row["method"] in published.LITERAL


def agreement(run, table):
    """How many of our means are the paper's, up to two standard errors of the difference."""
    near, far = 0, []
    for row in table.rows:
        ours, paper = number(row, "mean"), number(row, "paper")
        if ours is None or paper is None or not run.is_comparable(row):
            continue
        if not can_differ(row, table.name):
            continue
        error = math.hypot((number(row, "sd") or 0) / math.sqrt(run.meta.get("replicates") or 1),
                           (number(row, "paper_sd") or 0) / math.sqrt(published.REPLICATES))
        if abs(ours - paper) <= 2 * error + ROUNDING:
            near += 1
        else:
            far.append(f"{plain(method_title(row['method']))} on {plain(row['set'])} "
                       f"({ours:.3f}, paper {padded(row['paper'])}: "
                       f"{abs(ours - paper) / error:.1f} standard errors)" if error else
                       f"{plain(method_title(row['method']))} on {plain(row['set'])} "
                       f"({ours:.3f}, paper {padded(row['paper'])})")
    if near + len(far):
        rest = f" The others: {'; '.join(far)}." if far else ""
        yield (f"{near} of {counted(near + len(far), 'mean')} lie within two standard errors of "
               "the paper's." + rest)


def time_section(run):
    blocks = [Heading(2, "Time"), Heading(3, f"Table 4: time of {run.deletions} deletions"),
              Text(captions.TIMES)]
    costs = run.table("table4_runtime")
    if costs is None:
        return blocks + missing(run, "table4_runtime", "such table")
    best = {name: best_method(costs, name) for name in costs.sets()}
    grid = by_method(costs, lambda r: runtime_cell(r, bool(r) and best[r["set"]] == r["method"]))
    return blocks + [grid, Note(captions.BEST), *set_notes(costs.rows), Text(captions.XEON),
                     Folded("Requests in detail: how long they take, what they do, memory",
                            [request_grid(costs), *set_notes(costs.rows)])]


def request_grid(costs):
    rows = []
    for name, first in costs.sets().items():
        for method in costs.methods():
            row = costs.one(set=name, method=method)
            if number(row, "request_us") is None:  # k-means, whose requests are retraining
                continue
            done = [number(row, f) for f in ("adjusted", "repairs", "refits")]
            total = sum(v for v in done if v is not None)
            shares = [f"{100 * v / total:.1f}%" if total and v is not None else "" for v in done]
            memory = number(row, "state_bytes_per_row")
            fields = ("request_us", "request_us_median", "request_us_p99", "request_us_max")
            rows.append([plain(set_title(first)), plain(method_title(method)),
                         results.NOT_EXACT.get(method, "yes"), *(microseconds(row, f) for f in fields),
                         *shares, digits(memory) if memory is not None else ""])
    head = ["set", "method", "exact", "mean", "median", "99%", "slowest", "adjusted", "repaired",
            "refitted", "state, bytes a row"]
    return Grid(head, rows)
