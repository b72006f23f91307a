"""The tables of performance.md and requests.md in docs/measured, from the CSV files that
performance.py writes."""

import re

from experiments import Failure, prose, results
from experiments.page import table
from experiments.results import digits, duration, number
from experiments.tables import mean

METHODS = ("lloyd", "pyramid")
LEVELS = 10

NAMES = ["machine", "roofline", "sweep", "before", "training", "apart", "versions", "threads",
         "forgetting", "actions", "worst", "batches", "growth", "profile"]


# ---------------------------------------------------------------- cells


def percent(value, decimals=0):
    return f"{100 * value:.{decimals}f} %"


def time_of(row, field, unit):
    return duration(number(row, field) * unit)


def factor(value):
    return f"{digits(value)}×"


def shape(row):
    return f"{int(row['n']):,} × {row['d']}, k {int(row['k']):,}"


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


def before_tables(rows):
    head = ["shape", "n × d, k", "before", "now", "before / now", "rows undecided before", "now"]
    return [("passes before and now", table(head, [
        [row["name"], shape(row), time_of(row, "before_seconds", 1), time_of(row, "seconds", 1),
         f"{number(row, 'ratio'):.2f}", percent(number(row, "before_rows_undecided"), 3),
         percent(number(row, "rows_undecided"), 3)]
        for row in rows]))] if rows else []


def training_tables(rows):
    tables = []
    for seeds, title_of in (("random", "a fit against the peers"),
                            ("same", "a fit against faiss with our seeding")):
        own = [row for row in rows if row["seeds"] == seeds]
        peers = [peer for peer in ("sklearn", "intelex", "faiss", "fastkmeans")
                 if any(row[f"{peer}_ms"] for row in own)]
        head = ["set", "n × d, k", "threads", "efface", *peers, "fastest peer / efface",
                "our loss / its loss"]
        if own:
            tables.append((title_of, table(head, [
                [title(row) if re.match(r"[a-z]", row["set"]) else "", shape(row), row["threads"],
                 *(time_of(row, f"{name}_ms", 1e-3) if row[f"{name}_ms"] else ""
                   for name in ("efface", *peers)),
                 factor(number(row, "ratio")), results.fixed(number(row, "loss_ratio"), 4)]
                for row in own])))
    return tables + ours_tables(rows)


def ours_tables(rows):
    """The other contestants of efface, against the same fastest peer."""
    head = ["n × d, k", "threads", "efface", "avx512", "fastest peer / avx512", "pyramid",
            "fastest peer / pyramid", "pyramid's loss / its loss"]
    lines = []
    for row in rows:
        if not row["older_kernels_ms"] and not row["pyramid_ms"] or row["seeds"] != "random":
            continue
        fastest = number(row, "ratio") * number(row, "efface_ms")
        older, pyramid = row["older_kernels_ms"], row["pyramid_ms"]
        lines.append([
            shape(row), row["threads"], time_of(row, "efface_ms", 1e-3),
            time_of(row, "older_kernels_ms", 1e-3) if older else "",
            factor(fastest / float(older)) if older else "",
            time_of(row, "pyramid_ms", 1e-3) if pyramid else "",
            factor(fastest / float(pyramid)) if pyramid else "",
            results.fixed(number(row, "pyramid_loss_ratio"), 4) if pyramid else ""])
    return [("other kernels, another method", table(head, lines))] if lines else []


def apart_tables(rows):
    head = ["set", "program", "a fit", "an iteration", "GFLOP/s", "limit of an iteration",
            "all but ten iterations"]
    return [("fits taken apart", table(head, [
        [row["set"], row["contestant"], time_of(row, "fit_ms", 1e-3),
         time_of(row, "iteration_ms", 1e-3), f"{number(row, 'gflops'):.1f}",
         time_of(row, "limit_ms", 1e-3), time_of(row, "rest_ms", 1e-3)]
        for row in rows]))] if rows else []


def versions_tables(rows):
    return [("the peers", table(["program", "version"], [[row["program"], row["version"]]
                                                        for row in rows]))]


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
    return " / ".join(f"{int(row[field]):,}" for field in ("adjusted", "repairs", "refits"))


def forgetting_tables(rows):
    tables = []
    for method in METHODS:
        own = [row for row in rows if row["method"] == method]
        head = ["set", "retraining", "a request, mean", "median", "p99",
                "adjusted / repaired / refitted", "other rows visited", "speed-up (sd)"]
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
    head = ["set", "method", "adjusted", "repaired", "refitted", "part of the time: adjusted",
            "repaired", "refitted", "the slowest 1 %"]
    means = ("adjusted_us", "repaired_us", "refitted_us")
    parts = ("adjusted_part", "repaired_part", "refitted_part", "slowest_part")
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
        if name in ("profile", "before") and not path.exists():
            files[name] = []  # needs perf or another program, and is no part of a quick run
            continue
        if not path.exists():
            raise Failure(f"{path}: there is no such file; performance.py --data DIR makes it")
        files[name] = results.Table(path).rows
    return files


def all_tables(folder):
    files = load(folder)
    tables = []
    makers = [machine_tables, roofline_tables, sweep_tables, before_tables, training_tables,
              apart_tables, versions_tables, threads_tables, forgetting_tables, actions_tables,
              worst_tables, batches_tables, growth_tables, profile_tables]
    for name, make in zip(NAMES, makers):
        tables += make(files[name])
    return tables + memory_tables(files["forgetting"])


# Of all_tables, those of requests, which have a page of their own.
OF_REQUESTS = ("forgetting, ", "the time of requests", "the worst requests", "batches", "growth",
               "bytes a row")


def check(page, folder):
    """Whether the page has its tables, and no other numbers."""
    own = [one for one in all_tables(folder)
           if one[0].startswith(OF_REQUESTS) == (page.stem == "requests")]
    prose.check(page, own, {"1,000", "5,000"})  # deletions; of five replicates
