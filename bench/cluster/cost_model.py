#!/usr/bin/python3
"""A model of what fits and requests in a group cost in time (docs/measured/cluster_messages.md), and how far off it is.

usage: cost_model.py BUILD [--nodes 256] [--cores 32] [--gigabits 100] [--latency-us 10]

Measures on this machine what a pass and a round of seeding take on one core, in seconds of the
processor, and what operations of a group take between two ranks. Predicts fits and requests by two ranks here from these numbers and
the counts of message_formulas.py, measures them too, and prints both. Then predicts 10^9 rows of 128
columns on a cluster. Other work on the machine spoils what is measured between ranks: then only the second prediction,
which does not use it, is of use.
"""
import argparse
import math
import os
import statistics
import sys

import message_formulas
from group_runs import group_speed, print_table

SMALL = ((100000, 16, 10), (200000, 32, 50), (100000, 128, 100))
LARGE_ROWS, LARGE_COLUMNS = 10**9, 128
STARTS, SAMPLE_ITERATIONS = 4, 10
SAMPLE_ROWS = 300  # of a cluster at most: four times 75 (efface_kmeans.h, `rate`)


# ------------------------------------------------------------------ time of operations

class Network:
    """Seconds of a message, and bytes in a second."""

    def __init__(self, latency, bandwidth):
        self.latency, self.bandwidth = latency, bandwidth

    def seconds(self, talk, n_ranks):
        """A sum, a minimum, an agreement goes up a tree and down again; a gather goes one way."""
        depth = math.ceil(math.log2(n_ranks)) if n_ranks > 1 else 0
        total = 0
        for kind, (n, n_bytes) in talk.counts.items():
            ways = 1 if kind in ("gather", "broadcast") else 2
            total += ways * (n * depth * self.latency + (n_bytes / self.bandwidth if depth else 0))
        return total


# ------------------------------------------------------------------ measured here

def median_run(options, n_ranks, **more):
    """The run whose fit is in the middle of some."""
    runs = sorted((group_speed(options.build, n_ranks, **more)[1] for _ in range(options.repeats)),
                  key=lambda run: run["fit"]["seconds"])
    return runs[len(runs) // 2]


def measure_fit(options, shape):
    """Seconds of the processor, on one core: of a pass, and of all seeding."""
    rows, columns, clusters = shape
    run = median_run(options, 1, rows=rows, columns=columns, clusters=clusters, places=4 * clusters,
                     group=0, passes=4, repeats=3, clock="cpu")
    passes = message_formulas.partitions(run)
    return run["pass_seconds"], max(0, run["fit"]["seconds"] - passes * run["pass_seconds"])


class Core:
    """What one core takes: a pass, for each row, cluster and column; a round of seeding, for each
    row, and for each cluster whatever the number of rows. The last part is what rows near the best
    take: each rank looks at some of its own, so it does not shrink with ranks. For many clusters
    it is too much, and so an upper bound."""

    def __init__(self, options, columns, clusters, few, many):
        (few_pass, few_seeding), (many_pass, many_seeding) = (
            measure_fit(options, (rows, columns, clusters)) for rows in (few, many))
        self.of_pass = (few_pass + many_pass) / ((few + many) * columns * clusters)
        self.of_row = max(0, many_seeding - few_seeding) / ((many - few) * clusters)
        self.of_round = max(0, few_seeding / clusters - few * self.of_row) / clusters

    def seeding(self, rows, clusters, n_cores=1):
        return clusters * (rows * self.of_row + clusters * self.of_round) / n_cores


def measure_network(options):
    said = [group_speed(options.build, 2, rows=1000, latency=20000)[0][0]
            for _ in range(options.repeats)]
    latency = statistics.median(line["small"]["sum_64"] for line in said) / 2
    bandwidth = statistics.median(2 * line["large_bytes"] / line["large"]["sum_64"] for line in said)
    return Network(latency, bandwidth)


# ------------------------------------------------------------------ predictions

def describe(rows, columns, clusters, n_ranks, method, passes=10):
    return {"family": "kmeans", "method": method, "rows": rows, "columns": columns,
            "clusters": clusters, "ranks": n_ranks, "candidates": 1, "passes": passes,
            "iterations": 1 if method == "pyramid" else passes, "stable": 0, "width": 0}


def predict_fit(run, core, network, n_cores=1, jury_rows=None):
    """Seconds of parts of a fit."""
    n, d, k, p = run["rows"], run["columns"], run["clusters"], run["ranks"]
    own, of_pass = n / p, core.of_pass
    parts = {"seeding": core.seeding(own, k, n_cores)}
    passes = message_formulas.partitions(run)
    jury_bytes = 0
    if run["method"] == "pyramid":
        passes += 1  # around the pilot's seeds
        jury = 2 * SAMPLE_ROWS * k if jury_rows is None else jury_rows
        jury_bytes = int(jury * (message_formulas.MEMBER + 4 * d))
        candidates = 2 + int(math.log(k))
        work = k * d * (jury / 2 * (SAMPLE_ITERATIONS + candidates) + jury)
        parts["starts"] = math.ceil(STARTS / p) * work * of_pass / n_cores
    parts["passes"] = passes * own * k * d * of_pass / n_cores
    talk = message_formulas.fit_kmeans(run, jury_bytes, 0)
    parts["messages"] = network.seconds(talk, p)
    return parts, talk, jury_bytes


def memory(run, jury_bytes):
    """Bytes of a node while it fits: its rows with ids, what passes keep for each row, the levels,
    and the jury as it comes, as it is put together, and as two sets."""
    n, d, k, p = run["rows"], run["columns"], run["clusters"], run["ranks"]
    levels = message_formulas.partitions(run) * k * (8 + 12 * d)
    return n / p * (4 * d + 8 + 16 + 8) + levels + 4 * jury_bytes


def compare(options, network):
    """Predicted and measured seconds of fits and requests by two ranks here."""
    lines = []
    for rows, columns, clusters in SMALL:
        core = Core(options, columns, clusters, rows // 4, rows)
        for method in ("lloyd", "pyramid"):
            run = median_run(options, 2, rows=rows, columns=columns, clusters=clusters,
                             places=4 * clusters, method=method, requests=200)
            jury_rows = run["fit"]["by_operation"]["gather"][1] / (24 + 4 * columns)
            parts, _, _ = predict_fit(run, core, network, jury_rows=jury_rows)
            lines.append({"shape": [rows, columns, clusters], "what": f"{method}, fit",
                          "predicted": sum(parts.values()), "measured": run["fit"]["seconds"],
                          "parts": parts})
            if run["adjusted"]["n"]:
                talk = message_formulas.adjusted(2, columns)
                lines.append({"shape": [rows, columns, clusters], "what": f"{method}, adjusted",
                              "predicted": network.seconds(talk, 2),
                              "measured": run["adjusted"]["seconds"]})
    return lines


def predict_large(options, core):
    network = Network(options.latency_us * 1e-6, options.gigabits * 1e9 / 8)
    lines = []
    for clusters in (100, 10000):
        for method in ("lloyd", "pyramid"):
            run = describe(LARGE_ROWS, LARGE_COLUMNS, clusters, options.nodes, method)
            parts, talk, jury_bytes = predict_fit(run, core, network, options.cores)
            lines.append({"method": method, "clusters": clusters, "parts": parts,
                          "rounds": talk.rounds(), "bytes": talk.got(),
                          "memory_bytes": memory(run, jury_bytes),
                          "adjusted_seconds": network.seconds(
                              message_formulas.adjusted(options.nodes, LARGE_COLUMNS),
                              options.nodes)})
    return lines


# ------------------------------------------------------------------ output

def print_comparison(lines):
    print()
    print_table(["rows x columns, clusters", "", "predicted, ms", "measured, ms",
                 "measured / predicted"],
                [["{:,} x {}, {}".format(*line["shape"]), line["what"],
                  f"{1e3 * line['predicted']:.4g}", f"{1e3 * line['measured']:.4g}",
                  f"{line['measured'] / line['predicted']:.2f}"] for line in lines])


def print_large(options, lines):
    print(f"\n{LARGE_ROWS:,} x {LARGE_COLUMNS} rows on {options.nodes} nodes of {options.cores} cores, "
          f"{options.gigabits:g} Gbit/s, {options.latency_us:g} us; seconds\n")
    names = ["seeding", "starts", "passes", "messages"]
    print_table(["", *names, "all", "rounds", "MB a rank gets", "GB of memory",
                 "an adjusted request, ms"],
                [[f"{line['method']}, k = {line['clusters']:,}",
                  *(f"{line['parts'][n]:.3g}" if n in line["parts"] else "-" for n in names),
                  f"{sum(line['parts'].values()):.3g}", f"{line['rounds']:,}",
                  f"{line['bytes'] / 1e6:.3g}", f"{line['memory_bytes'] / 1e9:.3g}",
                  f"{1e3 * line['adjusted_seconds']:.3g}"] for line in lines])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--nodes", type=int, default=256)
    parser.add_argument("--cores", type=int, default=32, help="of a node; taken to share work evenly")
    parser.add_argument("--gigabits", type=float, default=100)
    parser.add_argument("--latency-us", type=float, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    if load > 1:
        print(f"cost_model: the machine has other work to do (load {load:.1f})", file=sys.stderr)
    network = measure_network(options)
    core = Core(options, LARGE_COLUMNS, 100, 20000, 200000)
    small, large = compare(options, network), predict_large(options, core)
    print(f"Measured here, load {load:.1f}: on one core, a pass {1e9 * core.of_pass:.4f} ns a row, "
          f"cluster and column, a round of seeding {1e9 * core.of_row:.2f} ns a row and "
          f"{1e9 * core.of_round:.0f} ns a cluster; between two ranks, a message "
          f"{1e6 * network.latency:.2f} us, {1e-9 * network.bandwidth:.2f} GB/s")
    print_comparison(small)
    print_large(options, large)


if __name__ == "__main__":
    main()
