"""What the paper says of its own results, in sections 5.2 and D.3 and in Lemma C.3, beside ours: each sentence
with what was measured here and whether it holds. Everything comes from the CSV files of a run.

Sentences that no number decides ("competitive", "fairly expected") are left out.
"""

from statistics import mean

from . import published
from .page import Grid, Heading, Note, Text, plain
from .report_tables import counted, listed, set_notes
from .results import digits, number, set_title

INTRODUCTION = (
    "Sentences of the paper about its results, in its words, and whether they hold in the tables "
    "of this page: for Q-k-means and DC-k-means as efface runs them, on the paper's six sets, of "
    "which two are stand-ins. Times are those of another program on another machine, so a sentence that does not hold here may still hold for the paper's."
)
UNCHANGED = 0.02  # a loss ratio that moves by at most this part of itself during the stream is unchanged
LITTLE = 1.25  # halves of a stream whose numbers of retrainings differ by less have one slope
LEMMA = (
    "Lemma C.3 says that for m deletions no centroid changes with a probability greater than "
    "1 - 2 m T k d^1.5 / (ε γ n). The table has the subtracted term for one deletion with the "
    "paper's T, γ and ε. It would have to be below 1 for the lemma to say anything. Next to it is "
    "the share of requests after which a centroid of some iteration did change."
)


def six(table):
    """The rows of the paper's sets, by method and set; parts of sets left out."""
    found = {}
    for row in table.rows if table is not None else []:
        if row.get("kind") != "part":
            found.setdefault(row.get("method", ""), {})[row["set"]] = row
    return found


def title(row):
    return plain(set_title(row))


def values(rows, field):
    """Sets in ascending order of a field, with its value."""
    pairs = [(title(row), number(row, field)) for row in rows.values()]
    return sorted((pair for pair in pairs if pair[1] is not None), key=lambda pair: pair[1])


def shown(pairs, unit=""):
    return ", ".join(f"{name} {digits(value)}{unit}" for name, value in pairs)


# ---------------------------------------------------------------- section 5.2


def speedups(costs):
    q, dc = costs.get("quantized", {}), costs.get("tree", {})
    if len(q) < 3 or len(dc) < 3:
        return
    by_speed = values(q, "speedup")
    by_ratio = sorted(q.values(), key=lambda r: -number(r, "d") / number(r, "n"))
    wanted = [title(row) for row in by_ratio[:2]]
    yield ("5.2", "\"MNIST has the highest d/n ratio of the datasets we tried, followed by Covtype\"; "
           "these are \"the datasets for which Q-k-means offers the least speedup\"", f"Q-k-means: {shown(by_speed, '×')}",
           {name for name, _ in by_speed[:2]} == set(wanted))
    by_rows = sorted(dc.values(), key=lambda r: number(r, "n"))
    found = [number(row, "speedup") for row in by_rows]
    yield ("5.2", "\"DC-k-means offers consistently increasing speedup as n increases\"",
           "DC-k-means, by n: " + ", ".join(f"{title(r)} {digits(v)}×" for r, v in zip(by_rows, found)),
           found == sorted(found))
    spread = [max(v for _, v in values(rows, "speedup")) / min(v for _, v in values(rows, "speedup"))
              for rows in (q, dc)]
    yield ("5.2", "\"DC-k-means is more consistent across dimensionalities\"",
           f"highest over lowest speed-up: Q-k-means {digits(spread[0])}, DC-k-means {digits(spread[1])}",
           spread[1] < spread[0])
    both = {name: tuple(number(rows[name], "seconds_sd") / number(rows[name], "seconds") for rows in (q, dc))
            for name in q if name in dc and number(q[name], "seconds_sd") is not None}
    if both:
        yield ("5.2", "\"Q-k-means tends to have higher variance around its deletion efficiency\"",
               "relative deviation of the time, Q-k-means and DC-k-means: "
               + "; ".join(f"{title(q[name])} {a:.2f}, {b:.2f}" for name, (a, b) in both.items()),
               *tendency(a > b for a, b in both.values()))
    sets = [name for name in q if name in dc and name in published.SPEEDUP]
    if sets:
        ours = [mean([number(rows[name], "speedup") for name in sets]) for rows in (q, dc)]
        theirs = [mean([published.SPEEDUP[name][i] for name in sets]) for i in (1, 2)]
        yield ("abstract, 1", "the two methods together have \"an average of over 100× improvement\"",
               f"mean of Q-k-means, of DC-k-means, of both: {digits(ours[0])}×, {digits(ours[1])}×, "
               f"{digits(mean(ours))}×; in the paper's table 4 {digits(theirs[0])}×, {digits(theirs[1])}×, "
               f"{digits(mean(theirs))}×", mean(ours) > 100)


def tendency(each):
    """A verdict on a sentence with "tends to": whether it holds on most sets, and on how many."""
    each = list(each)
    return sum(each) > len(each) / 2, f"{sum(each)} of {counted(len(each), 'set')}"


def stream_quality(losses):
    moved, kept = [], []
    for method, name in (("quantized", "Q-k-means"), ("tree", "DC-k-means")):
        for row in losses.get(method, {}).values():
            first, last = number(row, "after_0"), number(row, "after_1000")
            if first is None or last is None:
                continue
            (moved if abs(last / first - 1) > UNCHANGED else kept).append(
                f"{name} on {title(row)} {first:.3f} to {last:.3f}")
    if moved or kept:
        yield ("5.2", "\"statistical performance remains virtually unchanged throughout the benchmark\"",
               f"loss ratio after training and after 1,000 deletions: within {UNCHANGED:.0%} in {len(kept)} of "
               f"{len(kept) + len(moved)} cases" + (f"; not {'; '.join(moved)}" if moved else ""), not moved,
               "" if not moved else f"{len(kept)} of {len(kept) + len(moved)}")


# ---------------------------------------------------------------- section D.3


def retrainings(table):
    rows = [r for r in (table.rows if table is not None else [])
            if r["set"] == "mnist" and r["method"] == "quantized"]
    counts = {int(float(r["deletions"])): float(r["retrains"]) for r in rows}
    last = max(counts, default=0)
    if not last or last // 2 not in counts:
        return
    first, second = counts[last // 2], counts[last] - counts[last // 2]
    yield ("D.3.1", "on MNIST \"our retraining looks like somewhat of a constant slope across the deletions\"",
           f"requests that did more than correct sums: {digits(first)} in the first {last // 2:,}, {digits(second)} "
           f"in the next", max(first, second) < LITTLE * min(first, second))


def curve(table, name, x, y):
    rows = [r for r in table.rows if r["set"] == name]
    return sorted((number(r, x), number(r, y)) for r in rows)


def sweeps(run):
    losses = run.table("figure3_epsilon_loss")
    if losses is not None:
        names = [n for n, row in losses.sets().items() if row["kind"] != "part"]
        ends = {n: curve(losses, n, "epsilon", "loss_ratio") for n in names}
        flat = [n for n, points in ends.items() if points[-1][1] == points[-2][1]]
        yield ("D.3.2", "\"Q-k-means performance rapidly deteriorates as ε → 1\", \"consistent across "
               "the six datasets\"",
               "loss ratio at the least ε and at 1: "
               + "; ".join(f"{title(losses.sets()[n])} {p[0][1]:.3f}, {p[-1][1]:.3f}" for n, p in ends.items())
               + (f". At 1/2 and 1 it is the same on {listed(plain(n) for n in flat)}: there the first "
                  "iteration does not lower the loss, and the seeds are the model" if flat else ""),
               all(p[-1][1] > 1.25 * p[0][1] for p in ends.values()))
    widths = run.table("figure4_width_loss")
    if widths is not None:
        names = [n for n, row in widths.sets().items() if row["kind"] != "part"]
        ends = {n: [v for _, v in curve(widths, n, "width", "loss_ratio")] for n in names}
        rising = [n for n, v in ends.items() if v == sorted(v)]
        yield ("D.3.2", "\"The general trend among the datasets is that performance decreases as "
               "width increases, but this is not always monotonically the case\"", "loss ratio at the least and the greatest width: "
               + "; ".join(f"{title(widths.sets()[n])} {v[0]:.3f}, {v[-1]:.3f}" for n, v in ends.items())
               + f"; monotone on {counted(len(rising), 'set')}",
               *tendency(v[-1] > v[0] for v in ends.values()))
    times = run.table("figure5_epsilon_time")
    if times is not None:
        points = curve(times, "covtype", "epsilon", "seconds")
        if points:
            yield ("D.3.3", "on Covtype \"the runtimes for Q-k-means monotonically increase as ε → 0\"",
                   f"from {digits(1e6 * points[-1][1])} µs at {points[-1][0]:g} to {digits(1e6 * points[0][1])} µs at "
                   f"{points[0][0]:.3g}", [t for _, t in points] == sorted((t for _, t in points), reverse=True))
    times = run.table("figure6_width_time")
    if times is not None:
        points = sorted((seconds, width) for width, seconds in curve(times, "covtype", "width", "seconds"))
        if len(points) > 2:
            yield ("D.3.3", "on Covtype DC-k-means is fastest \"at approximately 32-64 leaves\"",
                   "fastest: " + ", ".join(f"{digits(1e6 * s)} µs at {w:.0f}" for s, w in points[:3]),
                   {w for _, w in points[:2]} <= {32, 64})


# ---------------------------------------------------------------- Lemma C.3


def lemma_rows(run, costs):
    bounds = run.table("loss_bound")  # it has the epsilon of each set
    for row in bounds.rows if bounds is not None else []:
        cost = costs.get("quantized", {}).get(row["set"])
        if cost is None:
            continue
        n, d, k = (number(row, field) for field in ("n", "d", "k"))
        done = [number(cost, field) or 0 for field in ("adjusted", "repairs", "refits")]
        yield [title(row), f"{published.stability_loss(n, d, k, number(row, 'epsilon')):,.1f}",
               f"{100 * (1 - done[0] / sum(done)):.1f}%"]


# ---------------------------------------------------------------- the section


def claims(run):
    costs, losses = six(run.table("table4_runtime")), six(run.table("table1_loss"))
    yield from speedups(costs)
    yield from stream_quality(losses)
    yield from retrainings(run.table("figure2_retrains"))
    yield from sweeps(run)


def verdict(holds, remark=""):
    if holds:
        return f"holds: {remark}" if remark else "holds"
    return f"**does not hold**{': ' + remark if remark else ''}"


def section(run):
    """The blocks of the report."""
    found = list(claims(run))
    blocks = [Heading(2, "What the paper says of its results"), Text(INTRODUCTION)]
    if not found:
        return blocks + [Text("This run has none of the tables that they are about.")]
    table = run.table("table4_runtime") or run.table("table1_loss")
    notes = set_notes(r for r in table.rows if r["kind"] != "part") if table is not None else []
    rows = [[where, said, ours, verdict(*rest)] for where, said, ours, *rest in found]
    held = sum(bool(claim[3]) for claim in found)
    blocks += [Grid(["where", "the paper", "here", ""], rows), *notes,
               Text(f"{held} of {counted(len(found), 'sentence')} hold.")]
    rows = list(lemma_rows(run, six(run.table("table4_runtime"))))
    if rows:
        blocks += [Heading(3, "Lemma C.3: how likely centroids are to stay"), Text(LEMMA),
                   Grid(["set", "2 T k d^1.5 / (ε γ n)", "requests that moved a centroid"], rows),
                   Note("A request that moved a bound of the scale, and so meant a refit, counts as one that did."),
                   *notes]
    return blocks
