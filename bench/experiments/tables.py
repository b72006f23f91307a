"""The CSV files behind the tables and figures, from what the runs printed.

Retraining k-means has nothing to do with the method that it is compared with, so its time is, for
each set and seed, the median of what all runs of the set found: a disturbance of one run does not
count. A speed-up is the paper's: the mean time of retraining over the replicates, divided by the
mean amortized time of a method.
"""

import csv
import math
import statistics

from . import plan, published, ratios, theory
from .ratios import spread
from .theory import mean

MILESTONES = (0, 1, 10, 100, 1000)
CURVE_POINTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
BINS_A_DECADE = 8
RUNTIME_METHODS = ("kmeans", "quantized", "quantized_printed", "tree", "tree_printed", "pyramid")
STREAM_METHODS = ("quantized", "quantized_printed")
ACTIONS = {"r": "repaired", "f": "refitted"}
STREAM_POINTS = 100  # of a curve of figure 2


def cell(value):
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class Printed:
    """What the runs printed, and the commands, by group, set, method and value."""

    timed = ("main", "epsilon_time", "width_time")

    def __init__(self, runner):
        self.lines = {}
        self.commands = {}
        for run, lines in runner.results.items():
            self.lines[run.group, run.set, run.method, run.value] = lines
            self.commands.setdefault(run.group, []).append(runner.shown(run))

    def get(self, group, name, method, value=None):
        return self.lines.get((group, name, method, value), [])

    def retraining(self, name):
        """Seconds by seed: the median of what the runs of a set found, in the groups whose times
        are used."""
        found = {}
        for (group, of_set, _, _), lines in self.lines.items():
            if of_set == name and group in self.timed:
                for line in lines:
                    if line["baseline_seconds"] is not None:  # as printed, nothing is retrained
                        found.setdefault(line["seed"], []).append(line["baseline_seconds"])
        return {seed: statistics.median(values) for seed, values in found.items()}


class Results(Printed):
    """The same of the paper's experiments."""

    def __init__(self, runner, sets):
        super().__init__(runner)
        self.runner = runner
        self.sets = {data_set.name: data_set for data_set in sets}

    def values(self, group, name, method):
        return sorted(key[3] for key in self.lines if key[:3] == (group, name, method))

    def base_losses(self, name):
        """The mean loss of k-means, run to convergence, at each milestone; its key is how many rows
        were forgotten by then."""
        lines = self.get("quality", name, "kmeans")
        return {after: mean([line["losses"][i] for line in lines])
                for i, after in enumerate(lines[0]["metrics_after"])} if lines else {}

    def least_loss(self, name):
        """The least loss of all rows that k-means came to, with any seed of any run."""
        lines = [line["losses"][0] for line in self.get("quality", name, "kmeans")]
        for seed in self.values("baseline", name, "kmeans"):
            lines += [line["loss"] for line in self.get("baseline", name, "kmeans", seed)]
        return min(lines, default=None)

    def place(self, name):
        data_set = self.sets[name]
        return {"set": name, "kind": data_set.kind}

    def shape(self, name):
        data_set = self.sets[name]
        return {**self.place(name), "n": data_set.n, "d": data_set.d, "k": data_set.k}


def save(folder, name, fields, lines, commands):
    """A CSV file; its first lines say which commands it comes from."""
    with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
        for command in commands:
            file.write(f"# run: {command}\n")
        writer = csv.DictWriter(file, fields.split(), lineterminator="\n")
        writer.writeheader()
        for line in lines:
            writer.writerow({field: cell(value) for field, value in line.items()})


# ---------------------------------------------------------------- tables


def at_milestones(lines, field, scales=None):
    """For each replicate its values at the milestones; divided by the scale of each, if given."""
    for line in lines:
        values = dict(zip(line["metrics_after"], line[field]))
        yield {after: value / scales[after] if scales else value
               for after, value in values.items()}


def quality_row(results, name, method, replicates, paper):
    """The mean over the milestones is a replicate's value; mean and spread are over replicates."""
    values = [mean(list(found.values())) for found in replicates]
    paper = paper or (None, None)
    row = {**results.shape(name), "method": method, "mean": mean(values), "sd": spread(values),
           "paper": paper[0], "paper_sd": paper[1]}
    for after in MILESTONES:
        found = [replicate[after] for replicate in replicates if after in replicate]
        row[f"after_{after}"] = mean(found) if found else None
    return row


def quality_table(results, field, table):
    """Loss ratio (divided by the mean loss of k-means at the same milestone), silhouette, NMI."""
    for name in results.sets:
        scales = results.base_losses(name) if field == "losses" else None
        for method in plan.METHODS:
            lines = results.get("quality", name, method)
            if not lines or scales == {} or any(None in line[field] for line in lines):
                continue
            replicates = list(at_milestones(lines, field, scales))
            yield quality_row(results, name, method, replicates,
                              published.of(table, name, method))


def amortized(line, deletions):
    """Seconds a request: training once, and as many requests as there are in the benchmark."""
    return line["train_seconds"] / deletions + 1e-6 * line["delete_us_mean"]


def runtime_table(results, deletions):
    for name in results.sets:
        retraining = list(results.retraining(name).values())
        for method in plan.METHODS:
            lines = results.get("main", name, method)
            row = {**results.shape(name), "method": method}
            if method == "kmeans" and retraining:
                row.update(seconds=mean(retraining), seconds_sd=spread(retraining), speedup=1.0)
            elif lines:
                seconds = [amortized(line, deletions) for line in lines]
                speedup, speedup_sd = ratios.of_means(retraining, seconds)
                row.update(seconds=mean(seconds), seconds_sd=spread(seconds), speedup=speedup,
                           speedup_sd=speedup_sd, **request_figures(lines))
            else:
                continue
            paper = published.of(published.SECONDS, name, method) or (None, None)
            row.update(paper_seconds=paper[0], paper_seconds_sd=paper[1],
                       paper_speedup=published.of(published.SPEEDUP, name, method))
            yield row


def request_figures(lines):
    row = {"requests": sum(line["requests"] for line in lines)}
    for field in ("adjusted", "repairs", "refits"):
        row[field] = sum(line[field] for line in lines)
    for field, key in (("request_us", "mean"), ("request_us_median", "median"),
                       ("request_us_p99", "p99"), ("request_us_max", "max")):
        row[field] = mean([line[f"delete_us_{key}"] for line in lines])
    row["state_bytes_per_row"] = mean([line["state_bytes_per_row"] for line in lines])
    return row


PEER_NAMES = {"efface": "efface lloyd", "sklearn lloyd": "scikit-learn lloyd",
              "sklearn elkan": "scikit-learn elkan"}


def peer_table(results, deletions):
    for name in results.sets:
        lines = results.get("peers", name, "all")
        pyramid = results.get("main", name, "pyramid")
        if not lines or not pyramid:
            continue
        ours = mean([amortized(line, deletions) for line in pyramid])
        for line in lines:
            contestant = PEER_NAMES.get(line["contestant"], line["contestant"])
            yield {**results.place(name), "contestant": contestant,
                   "fit_seconds": line["seconds"], "seconds_1000": 1000 * line["seconds"],
                   "times_pyramid": line["seconds"] / ours}


def baseline_table(results):
    for name, expected in published.BASELINE.items():
        if name not in results.sets:
            continue
        lines = [line for seed in results.values("baseline", name, "kmeans")
                 for line in results.get("baseline", name, "kmeans", seed)]
        for measure, (value, within) in expected.items():
            if not lines:
                continue
            found = [line[measure] for line in lines]
            centre = min(found) if measure == "loss" else mean(found)
            remark = f"{'least' if measure == 'loss' else 'mean'} of {len(found)} seeds"
            if results.sets[name].cut:
                remark += "; the set was cut, so it is another one"
            yield {"set": name, "measure": measure, "found": centre, "found_sd": spread(found),
                   "expected": value, "within": int(abs(centre - value) <= within),
                   "remark": remark}


# ---------------------------------------------------------------- figures


def points_up_to(deletions):
    return [point for point in CURVE_POINTS if point <= deletions]


def runtime_curves(results, deletions):
    for name in results.sets:
        retraining = results.retraining(name)
        for method in RUNTIME_METHODS:
            lines = results.get("main", name, method)
            for point in points_up_to(deletions):
                if method == "kmeans":
                    # k-means pays for training too: m + 1 of them for m deletions
                    values = [seconds * (point + 1) / point for seconds in retraining.values()]
                else:
                    values = [theory.amortized(line, point) for line in lines]
                if values:
                    yield {**results.place(name), "method": method, "deletions": point,
                           "seconds": mean(values)}


def retrains(results, deletions):
    """How many of the first requests were not answered by correcting sums, on average."""
    step = max(1, deletions // STREAM_POINTS)
    for name in results.sets:
        for method in STREAM_METHODS:
            lines = results.get("main", name, method)
            for point in range(0, deletions + 1, step) if lines else ():
                counts = [sum(letter in ACTIONS for letter in line["request_actions"][:point])
                          for line in lines]
                yield {**results.place(name), "method": method, "deletions": point,
                       "retrains": mean(counts), "sd": spread(counts)}


def stream(results):
    for name in results.sets:
        for method in STREAM_METHODS:
            for line in results.get("main", name, method):
                for request, letter in enumerate(line["request_actions"], 1):
                    if letter in ACTIONS:
                        yield {**results.place(name), "method": method,
                               "replicate": line["replicate"], "request": request,
                               "action": ACTIONS[letter]}


def loss_sweep(results, group, method, column):
    for name in results.sets:
        base = results.base_losses(name)
        for value in results.values(group, name, method):
            lines = results.get(group, name, method, value)
            if not base:
                continue
            ratios = [line["loss"] / base[line["deletions"]] for line in lines]
            yield {**results.place(name), "deletions": lines[0]["deletions"], column: value,
                   "loss_ratio": mean(ratios), "sd": spread(ratios)}


def time_sweep(results, group, method, column, deletions):
    for value in results.values(group, plan.TIMED_SET, method):
        lines = results.get(group, plan.TIMED_SET, method, value)
        seconds = [amortized(line, deletions) for line in lines]
        yield {**results.place(plan.TIMED_SET), "deletions": deletions, column: value,
               "seconds": mean(seconds), "sd": spread(seconds),
               "request_us": mean([line["delete_us_mean"] for line in lines])}


def growth(results):
    for method in plan.GROWTH_METHODS:
        for n in results.values("growth", "gaussian", method):
            lines = results.get("growth", "gaussian", method, n)
            yield {"method": method, "n": n,
                   "request_us": mean([mean(theory.settled(line)) for line in lines]),
                   "request_us_median": mean([line["delete_us_median"] for line in lines]),
                   "first_us": mean([sum(line["request_us"][:2]) for line in lines]),
                   "retrain_us": 1e6 * statistics.median(
                       [line["baseline_seconds"] for line in lines])}


def latencies(results):
    """A histogram: bins of equal width on a logarithmic scale."""
    for name in results.sets:
        for method in plan.METHODS:
            if method == "kmeans":
                continue
            counts = {}
            for line in results.get("main", name, method):
                for us in line["request_us"]:
                    number = math.floor(BINS_A_DECADE * math.log10(max(us, 1e-3)))
                    counts[number] = counts.get(number, 0) + 1
            for number in sorted(counts):
                yield {**results.place(name), "method": method,
                       "us_low": 10 ** (number / BINS_A_DECADE),
                       "us_high": 10 ** ((number + 1) / BINS_A_DECADE), "count": counts[number]}


def tradeoff(loss_rows, runtime_rows):
    """The paper's sets and stand-ins; with the parts of sets there would be too many points."""
    losses = {(row["set"], row["method"]): row for row in loss_rows}
    for row in runtime_rows:
        loss = losses.get((row["set"], row["method"]))
        if loss is None or row["method"] == "kmeans" or row["kind"] == "part":
            continue
        yield {"set": row["set"], "kind": row["kind"], "method": row["method"],
               "speedup": row["speedup"], "speedup_sd": row["speedup_sd"],
               "loss_ratio": loss["mean"], "loss_ratio_sd": loss["sd"]}


# ---------------------------------------------------------------- all of them

QUALITY = "set kind n d k method mean sd paper paper_sd " + " ".join(
    f"after_{after}" for after in MILESTONES)
RUNTIME = """set kind n d k method requests seconds seconds_sd speedup speedup_sd request_us
    request_us_median request_us_p99 request_us_max adjusted repairs refits state_bytes_per_row
    paper_seconds paper_seconds_sd paper_speedup"""


def save_all(results, deletions, folder):
    def put(name, fields, lines, *groups):
        lines = list(lines)
        commands = [command for group in groups for command in results.commands.get(group, [])]
        save(folder, name, fields, lines, commands)
        return lines

    losses = put("table1_loss", QUALITY, quality_table(results, "losses", published.LOSS),
                 "quality")
    put("table2_silhouette", QUALITY,
        quality_table(results, "silhouettes", published.SILHOUETTE), "quality")
    put("table3_nmi", QUALITY, quality_table(results, "nmis", published.NMI), "quality")
    runtimes = put("table4_runtime", RUNTIME, runtime_table(results, deletions), "main")
    put("peers", "set kind contestant fit_seconds seconds_1000 times_pyramid",
        peer_table(results, deletions), "peers")
    put("sanity", "set measure found found_sd expected within remark", baseline_table(results),
        "baseline")
    put("figure1_runtime", "set kind method deletions seconds",
        runtime_curves(results, deletions), "main")
    put("figure2_retrains", "set kind method deletions retrains sd",
        retrains(results, deletions), "main")
    put("figure2_stream", "set kind method replicate request action", stream(results), "main")
    put("figure3_epsilon_loss", "set kind deletions epsilon loss_ratio sd",
        loss_sweep(results, "epsilon", "quantized", "epsilon"), "epsilon")
    put("figure4_width_loss", "set kind deletions width loss_ratio sd",
        loss_sweep(results, "width", "tree", "width"), "width")
    put("figure5_epsilon_time", "set kind deletions epsilon seconds sd request_us",
        time_sweep(results, "epsilon_time", "quantized", "epsilon", deletions), "epsilon_time")
    put("figure6_width_time", "set kind deletions width seconds sd request_us",
        time_sweep(results, "width_time", "tree", "width", deletions), "width_time")
    rows = put("figure7_growth", "method n request_us request_us_median first_us retrain_us",
               growth(results), "growth")
    put("figure8_latency", "set kind method us_low us_high count", latencies(results), "main")
    put("figure9_tradeoff", "set kind method speedup speedup_sd loss_ratio loss_ratio_sd",
        tradeoff(losses, runtimes), "main")
    put("theory", "method variable exponent standard_error low high",
        theory.exponents(results, rows, points_up_to(deletions - 2)), "growth")
    rows = put("figure10_efficiency", "method alpha n m seconds sd training",
               theory.efficiency(results), "efficiency")
    put("corollaries", "method alpha promised bound exponent standard_error relative "
        "relative_error within", theory.corollaries(rows), "efficiency")
    put("loss_bound", "set kind n d k epsilon least_loss loss loss_sd bound",
        theory.loss_bounds(results), "quality", "baseline")
