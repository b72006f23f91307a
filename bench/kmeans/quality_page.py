"""The page of bench/kmeans/quality.py: from the losses of runs to ratios and Markdown.

A case is a dictionary with the name of a set, its shape, k, scaling and what the grid does to it,
and for each contestant a list of runs. A run is a pair: the loss in double precision, and what the
contestant itself chooses by among several runs, its inertia.
"""

from experiments.page import table

GROUP = 10  # runs of a fit with n_init=10
PEER = "scikit-learn"
METHODS = ("lloyd", "pyramid", "tree", "quantized")
JUDGED = ("lloyd", "pyramid")
MOST_MEAN, MOST_MAX = 1.02, 1.05  # of a clustering that is as good as the peer's

INTRODUCTION = """# Quality: how good the clusterings are

This page compares the loss of efface's clusterings with that of scikit-learn's. The loss is the sum of squared distances
of the rows to their nearest centroid. A ratio of 1.01 means a loss one percent higher than scikit-learn's.

What is compared, and how:

- **scikit-learn** is version {sklearn}, `KMeans` with `n_init=1`, `tol=0` and no limit that it would reach: its greedy
  k-means++, and iterations until nothing changes. Its algorithm is `elkan`, which is the same function as `lloyd`. It
  gets the rows in double precision.
- **lloyd** iterates until nothing changes too. **pyramid**, **tree** and **quantized** have their defaults. All of them
  have `candidates=None`: as many candidates for each seed as scikit-learn tries. Loss is computed for everyone by the
  same code, in double precision, from the centroids and the values as they were given.
- **n_init = 1** is {n_runs} fits with seeds of their own, for each contestant. **n_init = 10** is {n_groups} fits, each of
  which is the best of ten runs by the contestant's own inertia, as its estimator chooses. {grouping}
- **Ratios.** *mean* is the mean of our losses over the mean of scikit-learn's, *max* the largest of ours over the
  largest of scikit-learn's. The same seed picks different rows in each program, so single runs are never compared. In brackets is
  the standard error of the mean ratio, in units of its last digit.
- **Bold**, for lloyd and pyramid: a mean above {most_mean} or a max above {most_max}, that is, clearly worse than
  scikit-learn's. The first table lists these cases.
- **Sets.** docs/measured/data.md describes them. At most {rows:,} rows and {values:,} values are taken, a random subset with a
  fixed seed. *minmax* means that each column was mapped to [0, 1] before anyone got the rows, and the loss is of these
  values. *raw* is as the file has it.
- **The grid.** efface rounds values to multiples of the largest one's 2^-23 ([numerics](../definition/numerics.md)). A set that spans
  more than that loses something: columns of which less than 8 bits are kept (*coarse*, efface warns of them), and rows
  that differ in the file but not on the grid (*merged*). The last table has the sets to which it happens. Their loss can
  be as good all the same, for what is lost hardly counts in it.

Made by `{command}`
in {minutes:.0f} minutes of one core, those from the cache included.
"""


# ---------------------------------------------------------------- statistics


def best_of_groups(runs, groups):
    """The losses of fits with several runs, of which the one with the least inertia answers."""
    return [min((runs[i] for i in group), key=lambda run: run[1])[0] for group in groups]


def disjoint_groups(n_runs):
    """As many groups of ten as there are, no run in two of them."""
    return [range(first, first + GROUP) for first in range(0, n_runs - GROUP + 1, GROUP)]


def drawn_groups(n_runs, n_groups, draw):
    """Groups of ten different runs; a run may be in several groups. `draw(n, m)` draws m of n."""
    return [draw(n_runs, GROUP) for _ in range(n_groups)]


def mean(values):
    return sum(values) / len(values)


def relative_variance(values):
    """The squared standard error of the mean, over the squared mean."""
    m, n = mean(values), len(values)
    if n < 2 or m == 0:
        return 0.0
    return sum((x / m - 1) ** 2 for x in values) / (n - 1) / n


class Ratio:
    """Losses of a method over those of the peer."""

    def __init__(self, ours, theirs):
        self.mean = quotient(mean(ours), mean(theirs))
        self.max = quotient(max(ours), max(theirs))
        self.error = self.mean * (relative_variance(ours) + relative_variance(theirs)) ** 0.5

    def is_as_good(self):
        return self.mean <= MOST_MEAN and self.max <= MOST_MAX


def quotient(ours, theirs):
    if theirs == 0:
        return 1.0 if ours == 0 else float("inf")
    return ours / theirs


def losses(case, contestant, n_init, groups):
    runs = case["runs"][contestant]
    return [loss for loss, _ in runs] if n_init == 1 else best_of_groups(runs, groups)


def ratio(case, method, n_init, groups):
    return Ratio(losses(case, method, n_init, groups), losses(case, PEER, n_init, groups))


# ---------------------------------------------------------------- text


def number(value):
    """Three decimals while these say something, then three digits."""
    return f"{value:.3f}" if value < 100 else f"{value:.3g}"


def bold(text, is_bold):
    return f"**{text}**" if is_bold else text


def cell(found, is_judged):
    mean_text = number(found.mean)
    if found.mean < 100:
        mean_text += f" ({round(1000 * found.error)})"
    return " / ".join((bold(mean_text, is_judged and found.mean > MOST_MEAN),
                       bold(number(found.max), is_judged and found.max > MOST_MAX)))


def case_cells(case):
    return [case["name"], f"{case['n']:,} × {case['d']}", str(case["k"]), case["scale"]]


def ratio_table(cases, n_init, groups):
    head = ["set", "rows × columns", "k", "values", f"{PEER}: mean, max",
            *(f"{method}: mean / max" for method in METHODS)]
    rows = []
    for case in cases:
        theirs = losses(case, PEER, n_init, groups)
        rows.append([*case_cells(case), f"{mean(theirs):.5g}, {max(theirs):.5g}",
                     *(cell(ratio(case, method, n_init, groups), method in JUDGED)
                       for method in METHODS)])
    return table(head, rows)


def worse_table(cases, groups):
    """On how many sets a method is as good as the peer, and where it is worse."""
    rows = []
    for method in JUDGED:
        for n_init in (1, 10):
            worse = [f"{case['name']} k {case['k']} {case['scale']}" for case in cases
                      if not ratio(case, method, n_init, groups).is_as_good()]
            rows.append([f"`{method}`, n_init = {n_init}",
                         f"{len(cases) - len(worse)} of {len(cases)}", ", ".join(worse) or "none"])
    return table(["", "as good on", "worse on"], rows)


def grid_table(cases):
    rows = []
    for case in cases:
        name, shape, _, scale = case_cells(case)
        row = [name, shape, scale, f"{case['n_coarse']} of {case['d']}", f"{case['n_merged']:,}"]
        if (case["n_coarse"] or case["n_merged"]) and row not in rows:
            rows.append(row)
    if not rows:
        return ["The grid holds every set."]
    return table(["set", "rows × columns", "values", "coarse columns", "merged rows"], rows)


def page(cases, groups, facts):
    """The whole page. `facts` are those that the introduction names."""
    n_runs = min(len(runs) for case in cases for runs in case["runs"].values())
    head = INTRODUCTION.format(
        n_runs=n_runs, n_groups=len(groups), most_mean=MOST_MEAN, most_max=MOST_MAX, **facts
    )
    sections = [
        (f"Where it is worse than {PEER}", worse_table(cases, groups)),
        ("One run (n_init = 1)", ratio_table(cases, 1, groups)),
        ("The best of ten runs (n_init = 10)", ratio_table(cases, 10, groups)),
        ("Sets that span more than the grid", grid_table(cases)),
    ]
    return head + "".join(f"\n## {title}\n\n" + "\n".join(body) + "\n" for title, body in sections)
