#!/usr/bin/python3
"""How the work of a rank grows with the number of ranks: instructions spent in libefface.

usage: rank_growth.py BUILD [--ranks 1,2,4,8] [--rows N] [--requests N]

Every rank runs group-speed (BUILD/group-speed) under valgrind's callgrind, which counts
instructions by object file, so that waiting for other ranks, which happens inside MPI, does not
count. Twice: with as many rows in all (they are shared out), and with as many rows for each rank.
Prints the rank that does most. Instructions are those of the AVX2 kernels, as callgrind knows no
wider ones. Only runs that do the same can be compared: it fails if fits made different numbers of
passes, and requests are of one kind, those that repair a lloyd model and only adjust a pyramid.
"""
import argparse
import glob
import os
import re
import sys
import tempfile

from group_runs import group_speed, print_table
from message_formulas import partitions

METHODS = {"lloyd": "repaired", "pyramid": "adjusted"}  # and the requests that are counted
COLUMNS, CLUSTERS, PLACES = 16, 10, 60


def spent(path, library="libefface.so"):
    """Instructions of a callgrind file that were spent in a library itself, not in what it calls."""
    names, in_library, is_call, total = {}, False, False, 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            found = re.match(r"ob=\((\d+)\)(?: (.*))?", line)
            if found:
                number, name = found.groups()
                names[number] = name or names[number]
                in_library = library in names[number]
                continue
            found = re.match(r"cob=\((\d+)\) (.*)", line)
            if found:
                names[found.group(1)] = found.group(2)
            elif line.startswith("calls="):
                is_call = True  # the next line has what the called function took
            elif re.match(r"[+*\d-]", line):
                total += 0 if is_call or not in_library else int(line.split()[1])
                is_call = False
    return total


def count(options, n_ranks, function, **more):
    """Instructions within calls of a function, by rank; and what group-speed says."""
    with tempfile.TemporaryDirectory(prefix="efface-growth-") as folder:
        before = ["valgrind", "-q", "--tool=callgrind", f"--toggle-collect={function}",
                  f"--callgrind-out-file={folder}/%p"]
        _, run = group_speed(options.build, n_ranks, before, columns=COLUMNS, clusters=CLUSTERS,
                             places=PLACES, **more)
        counts = [spent(path) for path in glob.glob(os.path.join(folder, "*"))]
    if len(counts) != n_ranks or min(counts) == 0:
        sys.exit(f"{function} on {n_ranks} ranks: callgrind has counted {counts}")
    return counts, run


def measure(options, method, n_ranks, n_rows):
    """Fits and requests are counted in runs of their own."""
    fits, run = count(options, n_ranks, "efface_kmeans_fit", rows=n_rows, method=method)
    requests, after = count(options, n_ranks, "efface_model_forget", rows=n_rows, method=method,
                            only=METHODS[method], requests=options.requests)
    n_requests = after[METHODS[method]]["n"]
    return {"method": method, "ranks": n_ranks, "rows": n_rows, "digest": after["digest"],
            "partitions": partitions(run), "fit": max(fits), "fit_mean": sum(fits) / n_ranks,
            "request": max(requests) / n_requests, "requests": n_requests}


def measure_all(options, ranks, rows_each):
    results = [measure(options, method, n, options.rows * (n if rows_each else 1))
               for method in METHODS for n in ranks]
    for method in METHODS:
        of = [result for result in results if result["method"] == method]
        if len({result["partitions"] for result in of}) != 1:
            sys.exit(f"{method}: fits with different numbers of passes cannot be compared: {of}")
        if not rows_each and len({result["digest"] for result in of}) != 1:
            sys.exit(f"{method}: digests differ: {of}")
    return results


def print_results(title, results, ranks):
    lines = []
    for method in METHODS:
        of = [result for result in results if result["method"] == method]
        for what, unit in (("fit", "fit"), ("request", f"a request, {METHODS[method]}")):
            cells = [f"{result[what]:,.0f} ({result[what] / of[0][what]:.3f})" for result in of]
            lines.append([f"{method}, {unit}", *cells])
    print(f"\n{title}\n")
    print_table(["", *(f"{n} ranks" if n > 1 else "1 rank" for n in ranks)], lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--ranks", default="1,2,4,8")
    parser.add_argument("--rows", type=int, default=10000, help="in all, and of a rank")
    parser.add_argument("--requests", type=int, default=40)
    options = parser.parse_args()
    ranks = [int(n) for n in options.ranks.split(",")]
    shared, each = (measure_all(options, ranks, rows_each) for rows_each in (False, True))
    print(f"Instructions in libefface of the rank that does most ({COLUMNS} columns, {CLUSTERS} "
          "clusters); in brackets: as a part of one rank's")
    print_results(f"{options.rows:,} rows in all", shared, ranks)
    print_results(f"{options.rows:,} rows on each rank", each, ranks)


if __name__ == "__main__":
    main()
