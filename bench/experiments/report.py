"""The report of a run: report.md and report.html in its folder, from the CSV files, meta.json and
the drawings that are there. Measures nothing, and types no measured number by hand.

headline() is the table of the README, check() holds report and README against the CSV files.
"""

import math
import statistics
from pathlib import Path

from . import captions, figures, results
from .page import (
    Code, Folded, Grid, Heading, Items, Note, Picture, Text, markdown_table, plain, to_html,
    to_markdown,
)
from .results import (
    Failure, digits, duration, is_exact, is_stand_in, method_title, microseconds, number,
    set_title, times, with_sd,
)

TITLE = "The paper's experiments, with efface"
BEGIN, END = "<!-- headline -->", "<!-- /headline -->"


class Run:
    """A folder, with the tables as they are asked for."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.meta = results.load_meta(self.folder)
        self.tables = {}

    def table(self, name):
        if name not in self.tables:
            self.tables[name] = results.load(self.folder, name)
        return self.tables[name]

    @property
    def deletions(self):
        return f"{self.meta.get('deletions') or 1000:,}"


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


def stand_in_note(rows):
    return [Note(results.STAND_IN + ".")] if any(is_stand_in(r) for r in rows) else []


# ---------------------------------------------------------------- cells


def beside_paper(ours, paper):
    """A cell: our value, the paper's below."""
    return f"{ours or '–'}\npaper {paper}" if paper else ours or "–"


def paper_with_sd(row, field, unit=""):
    """The paper's value as the paper prints it."""
    value, deviation = (row or {}).get(field), (row or {}).get(f"{field}_sd")
    if not value:
        return ""
    return f"{value}{unit}" + (f" ±{deviation}" if deviation else "")


def quality_cell(row):
    return beside_paper(with_sd(row, "mean", 3), paper_with_sd(row, "paper")) if row else ""


def seconds_text(row):
    seconds, deviation = number(row, "seconds"), number(row, "seconds_sd")
    if seconds is None:
        return "–"
    return f"{digits(seconds)} s" + ("" if deviation is None else f" ±{digits(deviation)}")


def speedup_text(row, best):
    text = times(row, "speedup")
    if not text:
        return ""
    deviation = number(row, "speedup_sd")
    more = f" ±{digits(deviation)}" if deviation and row["method"] != "kmeans" else ""
    return (f"**{text}**" if best else text) + more


def runtime_cell(row, best):
    if row is None:
        return ""
    paper = paper_with_sd(row, "paper_seconds", " s")
    if row.get("paper_speedup") and row["method"] != "kmeans":
        paper += f", {row['paper_speedup']}×"
    lines = [speedup_text(row, best), seconds_text(row), f"paper {paper}" if paper else ""]
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
    if costs is None:
        return blocks + missing(run, "table4_runtime", "table of times")
    blocks += [Text(" ".join(conclusions(run, costs))), headline_grid(run, costs),
               Note(captions.HEADLINE), *stand_in_note(costs.rows)]
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
    first = seconds_text(cost) if cost["method"] == "kmeans" else speedup_text(cost, best)
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
    yield from against_paper(costs, ours)
    losses = run.table("table1_loss")
    ratios = {s: number(losses.one(set=s, method="pyramid"), "mean") for s in ours} if losses else {}
    ratios = {s: v for s, v in ratios.items() if v is not None}
    if ratios:
        low, high = min(ratios, key=ratios.get), max(ratios, key=ratios.get)
        yield (f"Its mean loss ratios go from {ratios[low]:.3f} ({plain(set_title(sets[low]))}) to "
               f"{ratios[high]:.3f} ({plain(set_title(sets[high]))}).")


def against_paper(costs, ours):
    """How pyramid's speed-up compares with the paper's best where the data are the paper's."""
    factors = {}
    for name, row in ours.items():
        best = paper_best(costs, name)
        if best and not is_stand_in(row):
            factors[name] = number(row, "speedup") / number(best, "paper_speedup")
    if not factors:
        return
    low, high = min(factors, key=factors.get), max(factors, key=factors.get)
    yield (f"On the sets that are no stand-ins its speed-up is {digits(factors[low])} "
           f"({plain(low)}) to {digits(factors[high])} times ({plain(high)}) the best speed-up "
           "that the paper gives for the set.")


def paper_best(costs, name):
    """The row with the highest speed-up of the paper on a set."""
    rows = [r for r in costs.find(set=name) if number(r, "paper_speedup") is not None]
    rows = [r for r in rows if r["method"] not in ("kmeans", "quantized_fresh")]
    return max(rows, key=lambda r: number(r, "paper_speedup")) if rows else None


# ---------------------------------------------------------------- tables


def sets_section(run):
    rows = []
    for name in results.ordered(run.meta.get("sets", {}), results.SETS):
        facts = run.meta["sets"][name]
        row = {"set": name, "kind": facts.get("kind", "")}
        rows.append([plain(set_title(row)), plain(facts.get("kind", "")), f"{facts['n']:,}",
                     f"{facts['d']:,}", facts["k"]]
                    + [plain(facts.get(f) or "") for f in ("scale", "source", "cut")])
    head = ["set", "kind", "rows", "columns", "clusters", "scale", "source", "cut"]
    marked = [{"kind": f.get("kind", "")} for f in run.meta.get("sets", {}).values()]
    return [Heading(2, "What is measured"), *(Text(t) for t in captions.DEFINITIONS),
            Items(captions.TERMS), Heading(3, "Sets"), Grid(head, rows), *stand_in_note(marked)]


def quality_section(run):
    blocks = [Heading(2, "Quality")]
    for name, (title, text) in captions.QUALITY.items():
        table = run.table(name)
        blocks += [Heading(3, title), Text(text)]
        if table is None:
            blocks += missing(run, name, "such table")
            continue
        blocks += [by_method(table, quality_cell), *stand_in_note(table.rows),
                   *(Text(t) for t in agreement(table))]
        if name == "table2_silhouette":
            blocks.append(Text(captions.TWICE_GAUSSIAN))
    return blocks


def half_unit(text):
    """Half of the last digit of a number: what rounding may have taken."""
    return 0.5 * 10.0 ** -len(text.partition(".")[2])


def agreement(table):
    """How many of our values are the paper's, up to two standard deviations of both together."""
    near, far = 0, []
    for row in table.rows:
        ours, paper = number(row, "mean"), number(row, "paper")
        if ours is None or paper is None or is_stand_in(row):
            continue
        both = math.hypot(number(row, "sd") or 0, number(row, "paper_sd") or 0)
        if abs(ours - paper) <= 2 * both + half_unit(row["paper"]):
            near += 1
        else:
            far.append(f"{plain(method_title(row['method']))} on {plain(row['set'])} "
                       f"({ours:.3f}, paper {row['paper']})")
    if near + len(far):
        rest = f" The others: {'; '.join(far)}." if far else ""
        yield (f"On sets that are no stand-ins, {near} of {counted(near + len(far), 'value')} that "
               "the paper gives too lie within two standard deviations, of both together, of the "
               f"paper's.{rest}")


def time_section(run):
    blocks = [Heading(2, "Time"), Heading(3, f"Table 4: time of {run.deletions} deletions"),
              Text(captions.TIMES)]
    costs = run.table("table4_runtime")
    if costs is None:
        return blocks + missing(run, "table4_runtime", "such table")
    best = {name: best_method(costs, name) for name in costs.sets()}
    grid = by_method(costs, lambda r: runtime_cell(r, bool(r) and best[r["set"]] == r["method"]))
    return blocks + [grid, Note(captions.BEST), *stand_in_note(costs.rows), Text(captions.XEON),
                     Folded("Requests in detail: mean, median, slowest, what they did, memory",
                            [request_grid(costs), *stand_in_note(costs.rows)])]


def request_grid(costs):
    rows = []
    for name, first in costs.sets().items():
        for method in costs.methods():
            row = costs.one(set=name, method=method)
            if row is None:
                continue
            done = [number(row, f) for f in ("untouched", "repairs", "refits")]
            total = sum(v for v in done if v is not None)
            shares = [f"{100 * v / total:.1f}%" if total and v is not None else "" for v in done]
            memory = number(row, "state_bytes_per_row")
            fields = ("request_us", "request_us_median", "request_us_p99", "request_us_max")
            rows.append([plain(set_title(first)), plain(method_title(method)),
                         "yes" if is_exact(row) else "no", *(microseconds(row, f) for f in fields),
                         *shares, digits(memory) if memory is not None else ""])
    head = ["set", "method", "exact", "mean", "median", "99%", "slowest", "untouched", "repaired",
            "refitted", "state, bytes a row"]
    return Grid(head, rows)


# ---------------------------------------------------------------- figures


def figure_blocks(run, names):
    blocks = []
    for name in names:
        source = figures.source_of(run.folder, name)
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
                     f"{plain_number(low)} to {plain_number(high)}" if low and high else "",
                     plain(row.get("paper_bound") or "–")])
    head = ["method", "growth", "measured exponent", "from, to", "the paper's bound"]
    return blocks + [Grid(head, rows), Note(captions.EXPONENTS)]


def plain_number(text):
    value = float(text)
    return f"{value:,.0f}" if value >= 100 else f"{value:g}"


def with_error(text, error):
    return f"{float(text):.3f}" + (f" ±{float(error):.3f}" if error else "")


def sanity_section(run):
    blocks = [Heading(2, "Sanity of the baseline"), Text(captions.SANITY)]
    table = run.table("sanity")
    if table is None:
        return blocks + missing(run, "sanity", "such comparison")
    rows, differ = [], 0
    kinds = run.meta.get("sets", {})
    for row in table.rows:
        agrees = (row["within"] or "").strip().lower() in ("1", "yes", "true")
        differ += not agrees
        marked = {"set": row["set"], "kind": kinds.get(row["set"], {}).get("kind", "")}
        found = with_sd(row, "found", decimals_of(row))
        rows.append([plain(set_title(marked)), plain(row["measure"]), found,
                     plain(row["expected"]), "yes" if agrees else "**no**", plain(row["remark"])])
    verdict = (f"{len(rows) - differ} of {counted(len(rows), 'value')} agree."
               if rows else "Nothing was compared.")
    head = ["set", "measure", "found", "expected", "agrees", "remark"]
    return blocks + [Grid(head, rows), Text(verdict)]


def decimals_of(row):
    """As many decimals as the expected value has, and one more."""
    last = row["expected"].split()[-1] if row["expected"].split() else ""
    return min(len(last.partition(".")[2]) + 1, 6)


# ---------------------------------------------------------------- how to repeat


def repeat_section(run):
    meta = run.meta
    facts = [("command", "command"), ("date", "date"), ("efface", "version"), ("commit", "commit"),
             ("processor", "processor"), ("cores", "cores"), ("memory, GB", "memory_gb"),
             ("system", "system"), ("compiler", "compiler"), ("kernel table", "kernels"),
             ("threads", "threads"), ("seeds", "seeds"), ("deletions", "deletions"),
             ("replicates", "replicates"), ("Python", "python"), ("scikit-learn", "sklearn"),
             ("faiss", "faiss"), ("BLAS", "blas")]
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


# ---------------------------------------------------------------- the report


def report_blocks(run):
    return [Heading(1, TITLE), *summary(run), *sets_section(run), *quality_section(run),
            *time_section(run), *figures_section(run), *peers_section(run), *theory_section(run),
            *sanity_section(run), *repeat_section(run)]


def drawings_of(run, blocks):
    """The SVG files the blocks show, each drawn from the CSV file that is there."""
    texts = {}
    for picture in (b for b in blocks if isinstance(b, Picture)):
        path = run.folder / f"{picture.name}.svg"
        if not path.exists() or not path.with_suffix(".png").exists():
            raise Failure(f"{path.name}: not drawn yet, as SVG and as PNG")
        texts[picture.name] = path.read_text(encoding="utf-8")
        if figures.origin(run.table(picture.name)) not in texts[picture.name]:
            raise Failure(f"{path.name}: not drawn from the {picture.name}.csv that is there")
    return texts


def render(folder):
    """The texts of report.md and report.html."""
    run = Run(folder)
    blocks = report_blocks(run)
    return {"report.md": to_markdown(blocks),
            "report.html": to_html(TITLE, blocks, drawings_of(run, blocks))}


def write_report(folder):
    """Writes report.md and report.html; figures.draw_all(folder) comes first."""
    for name, text in render(folder).items():
        (Path(folder) / name).write_text(text, encoding="utf-8")


def headline(folder):
    """The lines of the README's table."""
    run = Run(folder)
    costs, losses = run.table("table4_runtime"), run.table("table1_loss")
    if costs is None:
        raise Failure("table4_runtime.csv: not there, or empty")
    rows = []
    for name, first in costs.sets().items():
        found = {m: costs.one(set=name, method=m)
                 for m in ("kmeans", "tree", "quantized", "pyramid")}
        best = paper_best(costs, name)
        loss = losses and losses.one(set=name, method="pyramid")
        rows.append([
            plain(set_title(first)),
            f"{best['paper_speedup']}× ({short_title(best['method'])})" if best else "–",
            *(speedup_cell(found[m], best_method(costs, name)) for m in ("tree", "quantized")),
            speedup_cell(found["pyramid"], best_method(costs, name)),
            with_sd(loss, "mean", 3) or "–", request_text(found["pyramid"], found["kmeans"])])
    head = ["set", "the paper's best speed-up", "DC-k-means", "Q-k-means", "pyramid",
            "pyramid's loss ratio", "a request to pyramid (retraining)"]
    note = ["", results.STAND_IN + "."] if results.has_stand_ins(costs) else []
    return [*markdown_table(Grid(head, rows)), *note]


def short_title(method):
    return method_title(method).partition(",")[0]


def speedup_cell(row, best):
    text = times(row, "speedup")
    return f"**{text}**" if text and row["method"] == best else text or "–"


def request_text(row, retraining):
    ours, again = microseconds(row, "request_us"), microseconds(retraining, "request_us")
    return (ours or "–") + (f" ({again})" if again else "")


def check(folder, readme):
    """Raises Failure if the report or the README differ from what the CSV files give."""
    for name, text in render(folder).items():
        path = Path(folder) / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            raise Failure(f"{name}: differs from what the CSV files give; write it again")
    text = Path(readme).read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise Failure(f"{Path(readme).name}: has not the markers {BEGIN} and {END}, once each")
    between = text.partition(BEGIN)[2].partition(END)[0].strip()
    if between != "\n".join(headline(folder)):
        raise Failure(f"{Path(readme).name}: the headline table differs from the CSV files")
