#!/usr/bin/python3
"""A pass over the rows by two ranks, by two threads, and by a plain MPI k-means, timed in turn.

usage: rank_speed.py BUILD [--rounds N] [--passes N] [--shapes ROWSxCOLUMNSxCLUSTERS,...]

    ranks     2 ranks of 1 thread, in a group over MPI (BUILD/group-speed)
    group     1 rank of 2 threads, in a group of one
    threads   2 threads of plain efface: the same program without a group
    plain     2 ranks of BUILD/plain-mpi-kmeans: floats, nothing exact

A round runs each of them once, one after the other; a ratio is that of one round. Medians are
printed, and of ratios the quartiles too. A pass is one of Lloyd's: every row to its nearest center,
sums, and new centers. Other work on the machine spoils the numbers: ranks wait for each other.
"""
import argparse
import json
import os
import statistics
import sys

from group_runs import group_speed, launch, print_table

SHAPES = "400000x25x16,200000x128x100,60000x784x10"
WAYS = ("ranks", "group", "threads", "plain")


def run_once(options, way, shape):
    rows, columns, clusters = shape
    if way == "plain":
        program = os.path.join(os.path.abspath(options.build), "plain-mpi-kmeans")
        said = launch(2, [program, f"{rows}x{columns}", str(clusters), str(options.passes)])
        return json.loads(said)["median_seconds"], None
    more = {"group": 0} if way == "threads" else {}
    _, run = group_speed(options.build, 2 if way == "ranks" else 1, rows=rows, columns=columns,
                         clusters=clusters, passes=options.passes, repeats=options.repeats,
                         threads=1 if way == "ranks" else 2, **more)
    return run["pass_seconds"], run["digest"]


def measure(options, shape):
    """Seconds of a pass by way, one for each round."""
    seconds = {way: [] for way in WAYS}
    digests = set()
    for _ in range(options.rounds):
        for way in WAYS:
            taken, digest = run_once(options, way, shape)
            seconds[way].append(taken)
            digests |= {digest} - {None}
    if len(digests) != 1:
        sys.exit(f"{shape}: ranks and threads have different digests: {digests}")
    return seconds


def ratio(seconds, above, below):
    """Quartiles of the ratios of rounds: lower, median, upper."""
    ratios = [a / b for a, b in zip(seconds[above], seconds[below])]
    if len(ratios) == 1:
        return ratios * 3
    return statistics.quantiles(ratios, n=4, method="inclusive")


def summary(shape, seconds):
    return {"shape": shape,
            "milliseconds": {way: 1e3 * statistics.median(seconds[way]) for way in WAYS},
            "ratios": {"ranks / threads": ratio(seconds, "ranks", "threads"),
                       "ranks / group": ratio(seconds, "ranks", "group"),
                       "ranks / plain": ratio(seconds, "ranks", "plain")}}


def print_results(results):
    names = list(results[0]["ratios"])
    lines = []
    for result in results:
        rows, columns, clusters = result["shape"]
        lines.append([f"{rows:,} x {columns}, {clusters}",
                      *(f"{result['milliseconds'][way]:.2f}" for way in WAYS),
                      *(f"{middle:.2f} ({low:.2f} to {high:.2f})"
                        for low, middle, high in result["ratios"].values())])
    print_table(["rows x columns, clusters", *(f"{way}, ms" for way in WAYS), *names], lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3, help="of a pass, in each run")
    parser.add_argument("--shapes", default=SHAPES)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    if load > 1:
        print(f"rank_speed: the machine has other work to do (load {load:.1f})", file=sys.stderr)
    results = []
    for text in options.shapes.split(","):
        shape = [int(n) for n in text.split("x")]
        results.append(summary(shape, measure(options, shape)))
    print_results(results)


if __name__ == "__main__":
    main()
