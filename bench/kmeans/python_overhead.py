#!/usr/bin/env python3
"""What the Python package costs: a fit against scikit-learn's, and a forget against C's.

    PYTHONPATH=build/python bench/kmeans/python_overhead.py [--data FILE.npy[.gz] -k K] [--repeats R]

Without --data it makes the Gaussian benchmark set (100,000 x 25, k = 5).

fit      efface.KMeans(method="lloyd") and sklearn.cluster.KMeans(algorithm="lloyd"), one thread,
         with the same work: n_init=1, max_iter=10, tol=0, k-means++; but theirs tries several
         candidates for each seed, ours one (candidates=1). Both are given the same float32 array;
         efface makes the ids of the rows from their content. scikit-learn's fit makes labels_
         too, one pass more; ours makes them when they are read, so that is timed as well. The
         contestants take turns, R rounds, and the medians are compared. It is the time of the
         processor, which other work on the machine disturbs less than the clock's.
forget   a thousand calls of forget(id) on a pyramid. The overhead is the time of the loop in Python
         less what the C library says each call took.
"""

import statistics
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contest import clock, load  # noqa: E402 (it comes before numpy)

import efface  # noqa: E402
import numpy as np  # noqa: E402
from experiments.scripts import parser, run_script  # noqa: E402
from sklearn.cluster import KMeans as TheirKMeans  # noqa: E402

ITERATIONS = 10
N_FORGETS = 1000


def compare_fits(X, k, repeats):
    """Median seconds of our fit, of our fit with labels, and of theirs."""
    ours = efface.KMeans(k, method="lloyd", candidates=1, max_iter=ITERATIONS, random_state=0,
                         n_threads=1)
    theirs = TheirKMeans(k, n_init=1, max_iter=ITERATIONS, tol=0, random_state=0,
                         algorithm="lloyd")
    works = (lambda: ours.fit(X), lambda: ours.fit(X).labels_, lambda: theirs.fit(X))
    for work in works:
        work()  # what is loaded only once
    times = [[clock(work)[1] for work in works] for _ in range(repeats)]
    return [statistics.median(column) for column in zip(*times)]


def forget_overhead(X, k):
    """Seconds of a call of forget, and what of it Python adds."""
    model = efface.KMeans(k, method="pyramid", random_state=0, n_threads=1)
    model.fit(X, ids=np.arange(len(X)))
    ids = np.random.default_rng(0).permutation(len(X))[:N_FORGETS].tolist()
    begin = time.perf_counter()
    reports = [model.forget(i) for i in ids]
    total = time.perf_counter() - begin
    assert model.verify()
    inside = sum(report.seconds for report in reports)
    return total / N_FORGETS, (total - inside) / N_FORGETS


def main():
    options = parser(__doc__)
    options.add_argument("--data")
    options.add_argument("-k", type=int, default=5)
    options.add_argument("--repeats", type=int, default=5)
    arguments = options.parse_args()
    warnings.simplefilter("ignore")

    X = load(arguments.data) if arguments.data else efface.datasets.make_gaussian()[0]
    X = np.ascontiguousarray(X.reshape(len(X), -1), dtype=np.float32)
    ours, with_labels, theirs = compare_fits(X, arguments.k, arguments.repeats)
    call, overhead = forget_overhead(X, arguments.k)
    print(f"{X.shape[0]:,} x {X.shape[1]}, k = {arguments.k}, one thread")
    print(f"fit      scikit-learn {theirs:.3f} s, efface {ours:.3f} s: {theirs / ours:.2f} x")
    print(f"         with labels_ {with_labels:.3f} s: {theirs / with_labels:.2f} x")
    print(f"forget   {call * 1e6:.1f} us a call, of which Python {overhead * 1e6:.2f} us")


if __name__ == "__main__":
    run_script(main)
