"""The tables of docs/measured/performance.md, from the CSV files that performance.py writes, and the goals
that were set beside what was measured."""

import re

from experiments import Failure, prose, results
from experiments.page import table
from experiments.results import digits, duration, number
from experiments.tables import mean

LIMIT_GOAL = 0.6
PEER_GOAL, PEER_MOONSHOT = 5, 10
THREADS_GOAL, MANY_PRODUCTS, NOISE = 1.7, 10**8, 0.02
SPEEDUP_GOALS = {
    "lloyd": {"celltype": 150, "covtype": 100, "mnist": 100, "gaussian": 60},
    "pyramid": {"celltype": 300, "covtype": 300, "mnist": 500, "gaussian": 500},
}
SPEEDUP_MOONSHOT = 1000
LOSS_GOAL = 1.01
GROWTH_GOAL = 2
BATCH_GOAL = 0.05
WORST_METHODS = ("lloyd", "quantized", "tree", "pyramid")
BYTES_GOALS = {"lloyd": 12, "pyramid": 8}  # a row; for lloyd also a level
LEVELS = 10

NAMES = ["machine", "roofline", "sweep", "training", "threads", "forgetting", "actions", "worst",
         "batches", "growth", "profile"]


# ---------------------------------------------------------------- cells


def percent(value, decimals=0):
    return f"{100 * value:.{decimals}f} %"


def time_of(row, field, unit):
    return duration(number(row, field) * unit)


def factor(value):
    return f"{digits(value)}×"


def verdict(value):
    return "reached" if value else "**missed**"


def shape(row):
    return f"{int(row['n']):,} × {row['d']}, k {row['k']}"


def title(row):
    """The name of a set; shapes that have none are called by their numbers."""
    name = row.get("name", row.get("set", ""))
    return name if re.match(r"[a-z]", name) else shape(row)


# ---------------------------------------------------------------- tables


def machine_tables(rows):
    head = ["processor", "kernels", "multiply-adds, GFLOP/s", "read, GB/s", "triad, GB/s"]
    return [("the machine", table(head, [
        [row["processor"], row["kernels"], *(f"{number(row, field):.1f}" for field in
                                             ("peak_gflops", "read_gbs", "triad_gbs"))]
        for row in rows]))]


def roofline_tables(rows):
    head = ["shape", "n × d, k", "a pass", "GFLOP/s", "GB/s", "limit", "at the limit", "reached",
            "reached, main memory", "rows moved", "rows undecided"]
    return [("one pass against the limits", table(head, [
        [row["name"], shape(row), time_of(row, "seconds", 1), f"{number(row, 'gflops'):.1f}",
         f"{number(row, 'gbs'):.1f}", row["bound"], time_of(row, "limit_seconds", 1),
         percent(number(row, "fraction")), percent(number(row, "fraction_main_memory")),
         percent(number(row, "rows_moved"), 1), percent(number(row, "rows_undecided"), 3)]
        for row in rows]))]


def sweep_tables(rows):
    """The part of the limit by columns and clusters."""
    found = {(int(row["d"]), int(row["k"])): row for row in rows}
    columns, clusters = (sorted({key[i] for key in found}) for i in (0, 1))
    head = ["d", *(f"k {k}" for k in clusters)]
    return [("part of the limit for sets in a cache", table(head, [
        [d, *(percent(number(found[d, k], "fraction")) for k in clusters)]
        for d in columns]))] if found else []


def training_tables(rows):
    head = ["set", "n × d, k", "efface", "scikit-learn lloyd", "scikit-learn elkan", "faiss",
            "faster peer / efface", f"goal {PEER_GOAL}"]
    fields = ("efface_ms", "sklearn_lloyd_ms", "sklearn_elkan_ms", "faiss_ms")
    return [("a fit against the peers", table(head, [
        [row["set"], shape(row), *(time_of(row, field, 1e-3) for field in fields),
         factor(number(row, "ratio")), verdict(number(row, "ratio") >= PEER_GOAL)]
        for row in rows]))] if rows else []


def products(row):
    return int(row["n"]) * int(row["d"]) * int(row["k"])


def threads_goal(row):
    return THREADS_GOAL if products(row) > MANY_PRODUCTS else 1 - NOISE


def threads_tables(rows):
    head = ["set", "n k d, millions", "one thread", "two threads", "ratio", "goal", "",
            "one iteration: one thread", "two threads", "ratio"]
    return [("one and two threads", table(head, [
        [title(row), digits(1e-6 * products(row), 2), time_of(row, "one_ms", 1e-3),
         time_of(row, "two_ms", 1e-3), f"{number(row, 'ratio'):.2f}",
         THREADS_GOAL if products(row) > MANY_PRODUCTS else "not slower",
         verdict(number(row, "ratio") >= threads_goal(row)),
         time_of(row, "first_one_ms", 1e-3), time_of(row, "first_two_ms", 1e-3),
         f"{number(row, 'first_ratio'):.2f}"]
        for row in rows]))]


def counts(row):
    return " / ".join(f"{int(row[field]):,}" for field in ("untouched", "repairs", "refits"))


def forgetting_tables(rows):
    tables = []
    for method, goals in SPEEDUP_GOALS.items():
        own = [row for row in rows if row["method"] == method]
        head = ["set", "retraining", "a request, mean", "median", "p99",
                "untouched / repaired / refitted", "other rows visited", "speed-up (sd)", "goal",
                ""]
        lines = [[row["set"], time_of(row, "retrain_ms", 1e-3),
                  *(time_of(row, field, 1e-6) for field in ("us_mean", "us_median", "us_p99")),
                  counts(row), digits(number(row, "rows_visited")),
                  f"{digits(number(row, 'speedup'))} ({digits(number(row, 'speedup_sd'), 2)})",
                  goals[row["set"]], verdict(number(row, "speedup") >= goals[row["set"]])]
                 for row in own]
        if method == "pyramid":
            head.insert(-3, "loss ratio (sd)")
            for line, row in zip(lines, own):
                line.insert(-3, results.fixed(number(row, "loss_ratio"), 4)
                            + f" ({results.fixed(number(row, 'loss_ratio_sd'), 4)})")
        tables.append((f"forgetting, {method}", table(head, lines)))
    return tables


def actions_tables(rows):
    head = ["set", "method", "untouched", "repaired", "refitted", "part of the time: untouched",
            "repaired", "refitted", "the slowest 1 %"]
    means = ("untouched_us", "repaired_us", "refitted_us")
    parts = ("untouched_part", "repaired_part", "refitted_part", "slowest_part")
    return [("the time of requests by what they do", table(head, [
        [row["set"], row["method"], *(results.microseconds(row, field) for field in means),
         *(percent(number(row, field)) for field in parts)]
        for row in rows]))]


ORDERS = {"seeds": "a seed", "sample": "a row of the sample", "cluster": "a row of one cluster",
          "edges": "a row at an edge"}


def worst_groups(rows):
    """The rows of each set and method by order, with the mean time of a fit of all of them."""
    groups = {}
    for row in rows:
        groups.setdefault((row["set"], row["method"]), {})[row["order"]] = row
    for (name, method), own in groups.items():
        yield name, method, own, mean([number(row, "train_ms") for row in own.values()])


def worst_tables(rows):
    head = ["set", "method", "a fit", *ORDERS.values(), "slowest", "largest mean / fit",
            "slowest / fit"]
    lines = []
    for name, method, own, fit in worst_groups(rows):
        means = [time_of(own[order], "us_mean", 1e-6) if order in own else "" for order in ORDERS]
        slowest = max(1e-3 * number(row, "us_max") for row in own.values())
        lines.append([name, method, duration(1e-3 * fit), *means, duration(1e-3 * slowest),
                      f"{worst_part(own, fit):.2f}", f"{slowest / fit:.2f}"])
    return [("the worst requests", table(head, lines))] if lines else []


def worst_part(own, fit):
    """The mean time of a request in the order that costs most, in fits."""
    return max(1e-3 * number(row, "us_mean") for row in own.values()) / fit


def batches_tables(rows):
    head = ["set", "method", "rows", "in one request", "one by one", "part", "goal 5 %"]
    return [("batches", table(head, [
        [row["set"], row["method"], f"{int(row['rows']):,}", time_of(row, "batch_ms", 1e-3),
         time_of(row, "singles_ms", 1e-3), percent(number(row, "part"), 1),
         verdict(number(row, "part") <= BATCH_GOAL)]
        for row in rows]))]


def growth_tables(rows):
    head = ["rows", "median", "mean", "p99", "the first request", "retraining"]
    fields = ("us_median", "us_mean", "us_p99", "us_first")
    return [("growth", table(head, [
        [f"{int(row['n']):,}", *(time_of(row, field, 1e-6) for field in fields),
         time_of(row, "retrain_ms", 1e-3)]
        for row in rows]))]


def profile_tables(rows):
    lines = {}
    for row in rows:
        name = row["set"]
        if re.match(r"[0-9]", name):
            name = shape(dict(zip("ndk", name.split("x"))))
        told = f"`{row['function']}` {percent(number(row, 'share'))}"
        lines.setdefault((row["what"], name), []).append(told)
    head = ["what", "set", "functions"]
    return [("where the time goes", table(head, [[*key, ", ".join(told)]
                                                 for key, told in lines.items()]))] if rows else []


def bytes_a_row(row):
    levels = LEVELS if row["method"] == "lloyd" else 1
    return number(row, "state_bytes_per_row") / levels


def memory_tables(rows):
    head = ["set", "data", *BYTES_GOALS, "lloyd, a level"]
    lines = []
    for name in dict.fromkeys(row["set"] for row in rows):
        own = {row["method"]: row for row in rows if row["set"] == name}
        data = 4 * int(own["lloyd"]["d"])
        lines.append([name, f"{data:,}", *(digits(number(own[method], "state_bytes_per_row"))
                                           for method in BYTES_GOALS),
                      digits(bytes_a_row(own["lloyd"]))])
    return [("bytes a row", table(head, lines))]


# ---------------------------------------------------------------- goals


def each(rows, text, met):
    """What was measured of each row, and whether it was enough: of all, or of how many."""
    good = sum(map(met, rows))
    told = "; ".join(f"{title(row)}: {text(row)}" for row in rows)
    if good == len(rows):
        return told, "reached"
    return told, f"**missed**, {good} of {len(rows)} reached" if good else "**missed**"


def goals_table(files):
    def rows(name, **wanted):
        return [row for row in files.get(name, [])
                if all(row[field] == value for field, value in wanted.items())]

    def by_method(method):
        return rows("forgetting", method=method)

    def speedup(row):
        return factor(number(row, "speedup"))

    def ratio(row):
        return f"{number(row, 'ratio'):.2f}"

    goals = []

    def add(goal, own, text, met):
        if own:
            goals.append([goal, *each(own, text, met)])

    add(f"a pass at {percent(LIMIT_GOAL)} of the limit", rows("roofline"),
        lambda r: percent(number(r, "fraction")), lambda r: number(r, "fraction") >= LIMIT_GOAL)
    for goal, name in ((PEER_GOAL, ""), (PEER_MOONSHOT, " (moonshot)")):
        add(f"a fit {goal} times faster than the faster peer{name}", rows("training"),
            lambda r: factor(number(r, "ratio")), lambda r, g=goal: number(r, "ratio") >= g)
    many = [row for row in rows("threads") if products(row) > MANY_PRODUCTS]
    few = [row for row in rows("threads") if products(row) <= MANY_PRODUCTS]
    add(f"two threads {THREADS_GOAL} times as fast as one where n k d > 10^8", many, ratio,
        lambda r: number(r, "ratio") >= THREADS_GOAL)
    add("two threads not slower than one on small data", few, ratio,
        lambda r: number(r, "ratio") >= 1 - NOISE)
    for method, wanted in SPEEDUP_GOALS.items():
        told = ", ".join(f"{name} {goal}" for name, goal in wanted.items())
        add(f"`{method}`: speed-up {told}", by_method(method), speedup,
            lambda r, w=wanted: number(r, "speedup") >= w[r["set"]])
        add(f"`{method}`: speed-up {SPEEDUP_MOONSHOT:,} (moonshot)", by_method(method), speedup,
            lambda r: number(r, "speedup") >= SPEEDUP_MOONSHOT)
    add(f"`pyramid`: mean loss ratio at most {LOSS_GOAL}", by_method("pyramid"),
        lambda r: results.fixed(number(r, "loss_ratio"), 4),
        lambda r: number(r, "loss_ratio") <= LOSS_GOAL)
    for method in WORST_METHODS:
        own = [{"set": name, "part": worst_part(orders, fit)} for name, _, orders, fit
               in worst_groups(rows("worst", method=method))]
        add(f"`{method}`: the worst request costs at most one fit (mean)", own,
            lambda r: f"{r['part']:.2f}", lambda r: r["part"] <= 1)
    if rows("growth"):
        medians = [number(row, "us_median") for row in rows("growth")]
        grown = max(medians) / min(medians)
        goals.append([f"median of a request flat within {GROWTH_GOAL} as n grows",
                      f"largest / smallest {grown:.2f}", verdict(grown <= GROWTH_GOAL)])
    for method in SPEEDUP_GOALS:
        add(f"`{method}`: a batch costs at most 5 % of single requests",
            rows("batches", method=method), lambda r: percent(number(r, "part"), 1),
            lambda r: number(r, "part") <= BATCH_GOAL)
    for method, most in BYTES_GOALS.items():
        level = " and level" if method == "lloyd" else ""
        add(f"`{method}`: at most {most} bytes a row{level}", by_method(method),
            lambda r: digits(bytes_a_row(r)), lambda r, m=most: bytes_a_row(r) <= m)
    return ("goals", table(["goal", "measured", ""], goals))


# ---------------------------------------------------------------- all of it


def load(folder):
    files = {}
    for name in NAMES:
        path = folder / f"{name}.csv"
        if name == "profile" and not path.exists():
            files[name] = []  # needs perf, and is no part of a quick run
            continue
        if not path.exists():
            raise Failure(f"{path}: there is no such file; performance.py --data DIR makes it")
        files[name] = results.Table(path).rows
    return files


def all_tables(folder):
    files = load(folder)
    tables = [goals_table(files)]
    makers = [machine_tables, roofline_tables, sweep_tables, training_tables, threads_tables,
              forgetting_tables, actions_tables, worst_tables, batches_tables, growth_tables,
              profile_tables]
    for name, make in zip(NAMES, makers):
        tables += make(files[name])
    return tables + memory_tables(files["forgetting"])


def check(page, folder):
    prose.check(page, all_tables(folder), {"1,000", "5,000"})  # deletions; of five replicates
