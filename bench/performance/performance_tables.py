"""The tables of docs/measured/performance.md, from the CSV files that performance.py writes."""

import re

from experiments import Failure, prose, results
from experiments.page import table
from experiments.results import digits, duration, number
from experiments.tables import mean

METHODS = ("lloyd", "pyramid")
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
            "faster peer / efface"]
    fields = ("efface_ms", "sklearn_lloyd_ms", "sklearn_elkan_ms", "faiss_ms")
    return [("a fit against the peers", table(head, [
        [row["set"], shape(row), *(time_of(row, field, 1e-3) for field in fields),
         factor(number(row, "ratio"))]
        for row in rows]))] if rows else []


def products(row):
    return int(row["n"]) * int(row["d"]) * int(row["k"])


def threads_tables(rows):
    head = ["set", "n k d, millions", "one thread", "two threads", "ratio",
            "one iteration: one thread", "two threads", "ratio"]
    return [("one and two threads", table(head, [
        [title(row), digits(1e-6 * products(row), 2), time_of(row, "one_ms", 1e-3),
         time_of(row, "two_ms", 1e-3), f"{number(row, 'ratio'):.2f}",
         time_of(row, "first_one_ms", 1e-3), time_of(row, "first_two_ms", 1e-3),
         f"{number(row, 'first_ratio'):.2f}"]
        for row in rows]))]


def counts(row):
    return " / ".join(f"{int(row[field]):,}" for field in ("untouched", "repairs", "refits"))


def forgetting_tables(rows):
    tables = []
    for method in METHODS:
        own = [row for row in rows if row["method"] == method]
        head = ["set", "retraining", "a request, mean", "median", "p99",
                "untouched / repaired / refitted", "other rows visited", "speed-up (sd)"]
        lines = [[row["set"], time_of(row, "retrain_ms", 1e-3),
                  *(time_of(row, field, 1e-6) for field in ("us_mean", "us_median", "us_p99")),
                  counts(row), digits(number(row, "rows_visited")),
                  f"{digits(number(row, 'speedup'))} ({digits(number(row, 'speedup_sd'), 2)})"]
                 for row in own]
        if method == "pyramid":
            head.insert(-1, "loss ratio (sd)")
            for line, row in zip(lines, own):
                line.insert(-1, results.fixed(number(row, "loss_ratio"), 4)
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
    head = ["set", "method", "rows", "in one request", "one by one", "part"]
    return [("batches", table(head, [
        [row["set"], row["method"], f"{int(row['rows']):,}", time_of(row, "batch_ms", 1e-3),
         time_of(row, "singles_ms", 1e-3), percent(number(row, "part"), 1)]
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


def memory_tables(rows):
    head = ["set", "data", *METHODS, "lloyd, a level"]
    lines = []
    for name in dict.fromkeys(row["set"] for row in rows):
        own = {row["method"]: row for row in rows if row["set"] == name}
        data = 4 * int(own["lloyd"]["d"])
        lines.append([name, f"{data:,}", *(digits(number(own[method], "state_bytes_per_row"))
                                           for method in METHODS),
                      digits(number(own["lloyd"], "state_bytes_per_row") / LEVELS)])
    return [("bytes a row", table(head, lines))]


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
    tables = []
    makers = [machine_tables, roofline_tables, sweep_tables, training_tables, threads_tables,
              forgetting_tables, actions_tables, worst_tables, batches_tables, growth_tables,
              profile_tables]
    for name, make in zip(NAMES, makers):
        tables += make(files[name])
    return tables + memory_tables(files["forgetting"])


def check(page, folder):
    prose.check(page, all_tables(folder), {"1,000", "5,000"})  # deletions; of five replicates
