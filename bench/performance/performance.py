#!/usr/bin/python3
"""Measures how fast efface trains and forgets: the numbers of docs/measured/performance.md and
requests.md.

    performance.py --data DIR [--quick]   measure; write CSV files, the figure, the tables
    performance.py --before PROGRAM       measure passes of another efface-bench too
    performance.py --reuse                measure nothing: figure and tables of the CSV files
    performance.py --check PAGE           fail if a table of the CSV files is not on its page

DIR has the sets celltype, covtype and mnist (docs/measured/data.md says how they lie there); gaussian is
generated. What is measured:

  roofline.csv    one pass over the rows against the limits of the machine (efface-bench roofline,
                  whose help says what is counted); machine.csv has the limits, sweep.csv more
                  shapes, all of them small enough for a cache; before.csv, which --before writes,
                  compares with the efface-bench of another commit, in turns
  training.csv    a fit against scikit-learn, intelex, faiss and fastkmeans, one thread and two,
                  and against faiss with seeds like ours (bench/kmeans/peers.py); versions.csv has
                  their versions; apart.csv takes two sets apart
  threads.csv     a fit with one and with two threads
  forgetting.csv  requests of one row, one after the other, lloyd and pyramid
  worst.csv       the same of all methods, for rows that an adversary would ask for
  batches.csv     as many rows in one request
  growth.csv      requests of pyramid on sets of more and more rows
  profile.csv     in which functions passes, fits and requests spend their time, if there is perf

They go to --out. What a run printed is kept in --work, and a run that is there already is not done
again: stop it and start it as you like. Requests of sets that are not large are done three times
(takes.py). --one-thread does only what needs one processor, and writes nothing; the same command
without it goes on. Times are those of the machine as it is: run this alone, or on a machine that
others use as `chrt -f 50 bench/performance/performance.py ...`. Needs what paper.py needs.

A speed-up is the paper's ratio of means: the mean time of training k-means again, divided by the
mean of (training + all requests) / number of requests. A loss ratio is a loss divided by the mean
loss, over the replicates, of k-means run to convergence on the rows that are left.
"""

import dataclasses
import json
import re
import shlex
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import performance_figure  # noqa: E402
import performance_profile  # noqa: E402
import performance_tables  # noqa: E402
from experiments import Failure, plan, ratios, runs, sets, takes  # noqa: E402
from experiments.machine import machine  # noqa: E402
from experiments.scripts import parser, run_script  # noqa: E402
from experiments.tables import Printed, mean, save, spread  # noqa: E402

SETS = ("celltype", "covtype", "mnist", "gaussian")
METHODS = ("lloyd", "pyramid")
WORST_METHODS = ("lloyd", "quantized", "tree", "pyramid")
WORST_ORDERS = ("seeds", "sample", "cluster", "edges")  # whom an adversary would ask for
LARGE = ((10**6, 16, 100), (10**6, 128, 256), (10**7, 8, 16))  # rows, columns, clusters
# The same, rounds and numbers of threads of the contest. A fit of the last takes minutes.
CONTEST = ((10**6, 16, 100, 3, (1, 2)), (200000, 128, 256, 3, (1, 2)), (10**6, 128, 256, 2, (1, 2)),
           (200000, 768, 1024, 1, (1, 2)), (10**6, 96, 10000, 1, (2,)))
# With several candidates for each seed.
SKIPPED = ("--skip", "sklearn lloyd,sklearn elkan,intelex")
APART = ("covtype", "mnist")  # sets whose fits are taken apart, by fits of fewer iterations
FEW_ITERATIONS, ITERATIONS = 2, 10
MANY_CLUSTERS = 1000  # peers that are to seed as we do would take many times a fit
OLDER_KERNELS = "avx512"  # where vnni takes over from them
TAKES = 3
TAKEN = ("forget", "batch", "worst")  # groups with several takes of each run
SWEEP_VALUES = 2**21  # of a set: 8 MB
SWEEP_COLUMNS, SWEEP_CLUSTERS = (8, 32, 128), (4, 12, 48, 192)
GROWTH_COLUMNS, GROWTH_CLUSTERS = 16, 8


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is measured."""

    replicates: int
    deletions: int
    most_lloyd: int  # deletions where one of them takes long
    worst: int  # deletions
    train_repeats: int
    peer_repeats: int
    growth: tuple  # numbers of rows
    large: tuple  # shapes
    contest: tuple  # shapes
    most_rows: int | None  # of a set
    roofline: tuple  # options


FULL = Size(5, 1000, 1000, 10, 15, 5, (10**4, 10**5, 10**6, 10**7), LARGE, CONTEST, None, ())
QUICK = Size(2, 20, 10, 4, 3, 1, (1000, 10000), ((20000, 8, 16),), ((2000, 8, 16, 1, (1, 2)),),
             2000, ("--quick", "--shapes", "2000,8,4;2000,16,20"))


# ---------------------------------------------------------------- the runs


def run_of(group, name, method, words, value=None, program="bench"):
    return plan.Run(group, name, method, program, tuple(map(str, words)), value)


def all_takes(runs_of_set, data_set):
    """The takes of runs, one after the other. Runs of large sets are so long that disturbances even
    out: one take."""
    first = list(runs_of_set)
    if plan.is_large(data_set):
        return first
    return [dataclasses.replace(run, value=take) for take in range(1, TAKES + 1) for run in first]


def sweep_shapes():
    return ";".join(f"{SWEEP_VALUES // d},{d},{k}" for d in SWEEP_COLUMNS for k in SWEEP_CLUSTERS)


def roofline_runs(size):
    yield run_of("roofline", "shapes", "pass", ["roofline", *size.roofline])
    if not size.roofline:
        words = ["roofline", "--seconds", 0.5, "--shapes", sweep_shapes()]
        yield run_of("roofline", "sweep", "pass", words)


def thread_runs(name, words, repeats):
    """Fits of one and of ten iterations: the seeding is in the first."""
    for iterations in (1, 10):
        for threads in (1, 2):
            extra = ["--method", "lloyd", *plan.SEEDING, "--iters", iterations,
                     "--threads", threads, "--repeats", repeats]
            yield run_of("threads", name, f"lloyd_{iterations}", ["train", *words, *extra], threads)


def large_name(shape):
    return "x".join(map(str, shape))


def data_words(data_set):
    return ["--data", data_set.x, "-k", data_set.k, "--scale", data_set.scale]


def ours_beside(d, k):
    """More contestants of efface where it has something to choose."""
    short = [f"lloyd:{OLDER_KERNELS}"] if d >= 32 and 64 <= k < 10 * MANY_CLUSTERS else []
    sampled = ["pyramid"] if k >= MANY_CLUSTERS else []
    return ["--ours", ",".join(short + sampled)] if short + sampled else []


def contests(chosen, size):
    """Of each: its name, words, numbers of threads, clusters, and what comes with random seeds."""
    for data_set in chosen:
        yield (data_set.name, [*data_words(data_set), "--repeats", size.peer_repeats], (1, 2),
               data_set.k, [])
    for n, d, k, rounds, numbers in size.contest:
        words = ["--data", f"gaussian:{k},{d},{n // k}", "-k", k, "--repeats", rounds]
        yield large_name((n, d, k)), words, numbers, k, [*SKIPPED, *ours_beside(d, k)]


def peer_runs(chosen, size):
    for name, words, numbers, k, beside in contests(chosen, size):
        for n_threads in numbers:
            yield run_of("peers", name, "random", [*words, *beside, "--threads", n_threads],
                         n_threads, program="peers")
        if k < MANY_CLUSTERS:
            yield run_of("peers", name, "same", [*words, *SKIPPED, "--same-seeding"], 1,
                         program="peers")
        if name in APART:
            yield run_of("peers", name, "few", [*words, "--iters", FEW_ITERATIONS], 1,
                         program="peers")


def training_runs(chosen, size):
    for data_set in chosen:
        yield from thread_runs(data_set.name, data_words(data_set), size.train_repeats)
    for n, d, k in size.large:
        repeats = 1 if n * d * k > 10**10 else 3
        words = ["--data", f"gaussian:1,{d},{n}", "-k", k]
        yield from thread_runs(large_name((n, d, k)), words, repeats)


def worst_runs(data_set, words, size):
    """Method and order together are the method of a run."""
    for method in WORST_METHODS:
        for order in WORST_ORDERS:
            if order == "sample" and method != "pyramid":
                continue
            yield run_of("worst", data_set.name, f"{method}_{order}",
                         [*words, "--method", method, "--order", order, "--deletions", size.worst,
                          "--baseline", 0, "--skip-metrics"])


def request_runs(data_set, words, size):
    for method in METHODS:
        own = [*words, "--method", method]
        slow = method == "lloyd" and plan.is_large(data_set)
        deletions = min(size.most_lloyd, size.deletions) if slow else size.deletions
        yield run_of("forget", data_set.name, method,
                     [*own, "--deletions", deletions, "--skip-metrics", "--trace"])
        yield run_of("batch", data_set.name, method,
                     [*own, "--deletions", size.deletions, "--batch", size.deletions,
                      "--skip-metrics"])
    yield from worst_runs(data_set, words, size)


def forgetting_runs(chosen, size):
    for data_set in chosen:
        words = ["online", *plan.options_of(data_set, labels=False), "--replicates",
                 size.replicates]
        # k-means run to convergence on the rows that are left: one request for all of them gives
        # the same bits as fitting to those that stay.
        yield run_of("converged", data_set.name, "kmeans",
                     [*words, "--method", "lloyd", "--iters", 0, "--deletions", size.deletions,
                      "--batch", size.deletions, "--baseline", 0, "--skip-metrics"])
        yield from all_takes(request_runs(data_set, words, size), data_set)


def growth_runs(size):
    for n in size.growth:
        data = f"gaussian:{GROWTH_CLUSTERS},{GROWTH_COLUMNS},{n // GROWTH_CLUSTERS}"
        words = ["online", "--data", data, "-k", GROWTH_CLUSTERS, "--scale", "minmax"]
        words += ["--method", "pyramid", *plan.SEEDING, "--deletions", size.deletions]
        words += ["--replicates", 3]
        yield run_of("growth", "gaussian", "pyramid", [*words, "--skip-metrics", "--trace"], n)


def all_runs(chosen, size, peers=True):
    """Those with two threads last."""
    return [*roofline_runs(size), *(peer_runs(chosen, size) if peers else ()),
            *forgetting_runs(chosen, size), *growth_runs(size), *training_runs(chosen, size)]


# ---------------------------------------------------------------- the CSV files


class Found(Printed):
    """What the runs of this program printed, several takes being one."""

    timed = ("forget", "batch")

    def __init__(self, runner):
        super().__init__(runner)
        taken = {}
        for key in [key for key in self.lines if key[0] in TAKEN]:
            taken.setdefault(key[:3], []).append(self.lines.pop(key))
        for key, printed in taken.items():
            self.lines[*key, None] = takes.merge(printed, ", ".join(key))
        self.commands = {group: list(dict.fromkeys(commands))
                         for group, commands in self.commands.items()}

    def converged(self, name):
        """The mean loss of k-means run to convergence."""
        return mean([line["loss"] for line in self.get("converged", name, "kmeans")])


def shape_of(line):
    return {field: line[field] for field in ("n", "d", "k")}


BEFORE_ROUNDS = 3
BEFORE_SHAPES = ([], ["--shapes", "100000,768,1024"])  # the usual ones, and one more
BEFORE = "name n d k before_seconds seconds ratio before_rows_undecided rows_undecided"


def before(bench, other):
    """Passes of two programs in turns, medians of rounds."""
    for words in BEFORE_SHAPES:
        rounds = {program: [] for program in (other, bench)}
        for _ in range(BEFORE_ROUNDS):
            for program, measured in rounds.items():
                lines = map(json.loads, runs.output([program, "roofline", *words, "--json"]))
                measured.append([line for line in lines if line["what"] == "pass"])
        for then, now in zip(zip(*rounds[other]), zip(*rounds[bench])):
            seconds = [statistics.median(line["seconds"] for line in lines)
                       for lines in (then, now)]
            yield {"name": now[0]["name"], **shape_of(now[0]), "before_seconds": seconds[0],
                   "seconds": seconds[1], "ratio": seconds[0] / seconds[1],
                   "before_rows_undecided": then[0]["rows_undecided"],
                   "rows_undecided": now[0]["rows_undecided"]}


PASS = """name n d k repeats passes bound seconds gflops gbs flops_per_byte read_gbs limit_seconds
    fraction fraction_main_memory rows_moved rows_undecided"""


def passes(found, name):
    return [{field: line[field] for field in PASS.split()}
            for line in found.get("roofline", name, "pass") if line["what"] == "pass"]


def machine_lines(found):
    lines = [line for line in found.get("roofline", "shapes", "pass") if line["what"] == "machine"]
    about = machine()
    for line in lines:
        yield {"processor": about["processor"], "cores": about["cores"],
               "system": about["system"], "date": time.strftime("%Y-%m-%d"),
               **{field: line[field] for field in
                  ("kernels", "compiler", "peak_gflops", "read_gbs", "triad_gbs")}}


TRAINING = """set n d k threads seeds efface_ms older_kernels_ms pyramid_ms sklearn_ms intelex_ms
    faiss_ms fastkmeans_ms fastest ratio older_kernels_ratio loss_ratio pyramid_loss_ratio"""
PEERS = ("sklearn", "intelex", "faiss", "fastkmeans")


def training(found, names):
    """A line a contest: milliseconds, the fastest peer, its time divided by ours, our loss divided
    by its loss. Several ways of one peer count with the fastest."""
    for name in names:
        for seeds in ("random", "same"):
            for n_threads in (1, 2):
                lines = found.get("peers", name, seeds, n_threads)
                if lines:
                    yield contest_of(name, seeds, n_threads, lines)


def contest_of(name, seeds, n_threads, lines):
    """A line of training.csv."""
    by_name = {line["contestant"]: line for line in lines}
    first = by_name["efface"]
    older, pyramid = (by_name.get(f"efface, {other}")
                      for other in (f"lloyd, {OLDER_KERNELS}", "pyramid"))
    best = {}
    for contestant, line in by_name.items():
        peer = re.split("[ ,]", contestant)[0]
        if peer in PEERS:
            best[peer] = min(line, best.get(peer, line), key=lambda line: line["seconds"])
    fastest = min(best.values(), key=lambda line: line["seconds"])

    def ms(line):
        return 1e3 * line["seconds"] if line else None

    def against(line, field, other):
        return other[field] / line[field] if line else None

    return {"set": name, **shape_of(first), "threads": n_threads, "seeds": seeds,
            "efface_ms": ms(first), "older_kernels_ms": ms(older), "pyramid_ms": ms(pyramid),
            **{f"{peer}_ms": ms(best.get(peer)) for peer in PEERS},
            "fastest": fastest["contestant"], "ratio": against(first, "seconds", fastest),
            "older_kernels_ratio": against(older, "seconds", fastest),
            "loss_ratio": first["loss"] / fastest["loss"],
            "pyramid_loss_ratio": pyramid["loss"] / fastest["loss"] if pyramid else None}


APART_FIELDS = """set n d k contestant fit_ms iteration_ms rest_ms gflops limit_ms"""


def apart(found, names):
    """What an iteration takes of a fit, as the difference of two fits, what the rest takes, and the
    limit of the machine for an iteration: a pass over the rows."""
    limits = {line["name"]: line["limit_seconds"] for line in passes(found, "shapes")}
    for name in names:
        few = {line["contestant"]: line for line in found.get("peers", name, "few", 1)}
        for line in found.get("peers", name, "random", 1) if few else ():
            less = few[line["contestant"]]
            if (less["iters"], line["iters"]) != (FEW_ITERATIONS, ITERATIONS):
                continue  # it came to rest before
            each = (line["seconds"] - less["seconds"]) / (ITERATIONS - FEW_ITERATIONS)
            yield {"set": name, **shape_of(line), "contestant": line["contestant"],
                   "fit_ms": 1e3 * line["seconds"], "iteration_ms": 1e3 * each,
                   "rest_ms": 1e3 * (line["seconds"] - ITERATIONS * each),
                   "gflops": 2e-9 * line["n"] * line["d"] * line["k"] / each,
                   "limit_ms": 1e3 * limits[name]}


def peer_versions(found):
    """The versions of the peers, and the kernels that BLAS chose."""
    told = {(name, version): None
            for runs_of in found.lines.values() for line in runs_of if "peers" in line
            for name, version in [*line["peers"].items(),
                                  ("kernels of OpenBLAS", " ".join(line["blas_kernels"]))]}
    for name, version in told:
        yield {"program": name, "version": version}


def threads(found, names):
    for name in names:
        (first_one, first_two), (one, two) = (
            [found.get("threads", name, f"lloyd_{iterations}", t)[0] for t in (1, 2)]
            for iterations in (1, 10))
        if one["digest"] != two["digest"]:
            raise Failure(f"{name}: one and two threads do not give the same model")
        yield {"set": name, **shape_of(one), "one_ms": 1e3 * one["seconds"],
               "two_ms": 1e3 * two["seconds"], "ratio": one["seconds"] / two["seconds"],
               "first_one_ms": 1e3 * first_one["seconds"],
               "first_two_ms": 1e3 * first_two["seconds"],
               "first_ratio": first_one["seconds"] / first_two["seconds"]}


ACTIONS = {"u": "adjusted", "r": "repaired", "f": "refitted"}


def by_action(lines):
    """The mean time of requests by what they did, the part of all time that goes to each, and to
    the slowest hundredth of them."""
    all_us = [us for line in lines for us in line["request_us"]]
    for letter, action in ACTIONS.items():
        own = [us for line in lines for us, done in zip(line["request_us"], line["request_actions"])
               if done == letter]
        yield f"{action}_us", mean(own) if own else None
        yield f"{action}_part", sum(own) / sum(all_us)
    slowest = sorted(all_us)[-max(1, len(all_us) // 100):]
    yield "slowest_part", sum(slowest) / sum(all_us)


def actions(found, names):
    for line in all_requests(found, "forget", names):
        lines = found.get("forget", line["set"], line["method"])
        yield {**{field: line[field] for field in
                  ("set", "method", "adjusted", "repairs", "refits", "us_median")},
               **dict(by_action(lines))}


def check_verified(lines, what):
    if not all(line["verified"] for line in lines):
        raise Failure(f"{what}: a state was not verified")


def means_of(lines):
    """What the replicates of a run have in common, means and sums."""
    def mean_of(field, factor=1.0):
        return factor * mean([line[field] for line in lines])

    return {**shape_of(lines[0]), "replicates": len(lines), "requests": lines[0]["requests"],
            "train_ms": mean_of("train_seconds", 1e3), "us_mean": mean_of("delete_us_mean"),
            "us_median": mean_of("delete_us_median"), "rows_visited": mean_of("rows_visited_mean"),
            "us_max": max(line["delete_us_max"] for line in lines),
            **{field: sum(line[field] for line in lines)
               for field in ("adjusted", "repairs", "refits")}}


def requests(found, group, name, method):
    """Means of the replicates of a run, or None."""
    lines = found.get(group, name, method)
    if not lines:
        return None
    check_verified(lines, f"{group}, {name}, {method}")
    again = found.retraining(name)
    speedup, speedup_sd = ratios.of_means([again[line["seed"]] for line in lines],
                                          [ratios.amortized(line) for line in lines])
    base = found.converged(name)
    losses = [line["loss"] / base for line in lines]
    return {
        "set": name, "method": method, **means_of(lines), "deletions": lines[0]["deletions"],
        "retrain_ms": 1e3 * mean(list(again.values())),
        "us_p99": mean([line["delete_us_p99"] for line in lines]),
        "speedup": speedup, "speedup_sd": speedup_sd,
        "loss_ratio": mean(losses), "loss_ratio_sd": spread(losses),
        "state_bytes_per_row": mean([line["state_bytes_per_row"] for line in lines]),
    }


REQUESTS = """set method n d k replicates deletions requests retrain_ms train_ms us_mean us_median
    us_p99 us_max adjusted repairs refits rows_visited speedup speedup_sd loss_ratio loss_ratio_sd
    state_bytes_per_row"""


WORST = """set method order n d k replicates requests train_ms us_mean us_median us_max adjusted
    repairs refits rows_visited"""


def worst(found, names):
    for name in names:
        for method in WORST_METHODS:
            for order in WORST_ORDERS:
                lines = found.get("worst", name, f"{method}_{order}")
                if not lines:
                    continue
                check_verified(lines, f"worst, {name}, {method}, {order}")
                yield {"set": name, "method": method, "order": order, **means_of(lines)}


def all_requests(found, group, names):
    lines = [requests(found, group, name, method) for name in names for method in METHODS]
    return [line for line in lines if line is not None]


def batches(found, names):
    """One request for all rows, against as many as there are rows, at the mean of those made."""
    for line in all_requests(found, "batch", names):
        single = requests(found, "forget", line["set"], line["method"])
        singles = 1e-3 * single["us_mean"] * line["deletions"]
        batch = 1e-3 * line["us_mean"]
        yield {"set": line["set"], "method": line["method"], "rows": line["deletions"],
               "batch_ms": batch, "singles_ms": singles, "part": batch / singles,
               "retrain_ms": line["retrain_ms"]}


GROWTH = """n d k replicates requests retrain_ms us_median us_mean us_p99 us_first
    state_bytes_per_row"""


def growth(found, size):
    for n in size.growth:
        lines = found.get("growth", "gaussian", "pyramid", n)
        told = {**means_of(lines),
                "retrain_ms": 1e3 * mean([line["baseline_seconds"] for line in lines]),
                "us_p99": mean([line["delete_us_p99"] for line in lines]),
                "us_first": mean([line["request_us"][0] for line in lines]),
                "state_bytes_per_row": mean([line["state_bytes_per_row"] for line in lines])}
        yield {field: told[field] for field in GROWTH.split()}


def save_all(found, names, size, out):
    def put(name, fields, lines, group):
        save(out, name, fields, list(lines), found.commands.get(group, []))

    put("machine", "processor cores system date kernels compiler peak_gflops read_gbs triad_gbs",
        machine_lines(found), "roofline")
    put("roofline", PASS, passes(found, "shapes"), "roofline")
    put("sweep", PASS, passes(found, "sweep"), "roofline")
    contested = [*names, *(large_name(shape[:3]) for shape in size.contest)]
    put("training", TRAINING, training(found, contested), "peers")
    put("apart", APART_FIELDS, apart(found, names), "peers")
    put("versions", "program version", peer_versions(found), "peers")
    everything = [*names, *map(large_name, size.large)]
    put("threads", "set n d k one_ms two_ms ratio first_one_ms first_two_ms "
        "first_ratio", threads(found, everything), "threads")
    put("forgetting", REQUESTS, all_requests(found, "forget", names), "forget")
    put("actions", "set method adjusted repairs refits us_median adjusted_us adjusted_part "
        "repaired_us repaired_part refitted_us refitted_part slowest_part",
        actions(found, names), "forget")
    put("worst", WORST, worst(found, names), "worst")
    put("batches", "set method rows batch_ms singles_ms part retrain_ms", batches(found, names),
        "batch")
    put("growth", GROWTH, growth(found, size), "growth")


# ---------------------------------------------------------------- the program


def prepare(options, size):
    """The sets, which must be the real ones."""
    work = options.work / ("sets-quick" if options.quick else "sets")
    chosen = []
    for name in SETS:
        data_set = sets.prepare(name, options.data, work, size.most_rows,
                                sets.bench_gaussian(options.bench))
        if data_set.kind == "stand-in":
            raise Failure(f"{options.data} has no {name}; docs/measured/data.md says how to lay it out")
        chosen.append(data_set)
    return chosen


def measure(options):
    size = QUICK if options.quick else FULL
    if not options.data.is_dir():
        raise Failure(f"{options.data} is no folder")
    chosen = prepare(options, size)
    folder = options.work / ("runs-quick" if options.quick else "runs")
    runner = runs.Runner(folder, options.bench, HERE.parent / "kmeans/peers.py")
    wanted = all_runs(chosen, size, not options.skip_peers)
    if options.one_thread:
        runner.run_all([run for run in wanted if run.group != "threads"])
        return
    seconds = runner.run_all(wanted)
    print(f"all runs took {runs.duration(seconds)}", file=sys.stderr)
    save_all(Found(runner), [data_set.name for data_set in chosen], size, options.out)
    if not options.quick:
        lines, commands = performance_profile.measure(options.bench, chosen, size.large)
        save(options.out, "profile", performance_profile.FIELDS, lines, commands)


def parse_arguments():
    arguments = parser(__doc__)
    what = arguments.add_mutually_exclusive_group(required=True)
    what.add_argument("--data", type=Path, metavar="DIR")
    what.add_argument("--before", metavar="PROGRAM")
    what.add_argument("--reuse", action="store_true")
    what.add_argument("--check", type=Path, metavar="PAGE")
    arguments.add_argument("--out", type=Path, default=Path("docs/measured/performance"), metavar="DIR")
    arguments.add_argument("--work", type=Path, default=Path("build/performance"), metavar="DIR")
    arguments.add_argument("--bench", default="build/efface-bench", metavar="PATH")
    arguments.add_argument("--quick", action="store_true", help="a minute: small sets, few requests")
    arguments.add_argument("--skip-peers", action="store_true")
    arguments.add_argument("--one-thread", action="store_true",
                        help="measure what needs one processor, and write nothing")
    return arguments.parse_args()


def main():
    options = parse_arguments()
    if options.check is not None:
        performance_tables.check(options.check, options.out)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    if options.before is not None:
        save(options.out, "before", BEFORE, list(before(options.bench, options.before)),
             [shlex.join(["efface-bench", "roofline", *words]) for words in BEFORE_SHAPES])
    elif not options.reuse:
        measure(options)
    if options.one_thread:
        return
    performance_figure.draw_roofline(options.out)
    for name, rows in performance_tables.all_tables(options.out):
        print(f"{name}:\n\n" + "\n".join(rows) + "\n")


if __name__ == "__main__":
    run_script(main, keeps_runs=True)
