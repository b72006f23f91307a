#!/usr/bin/env python3
"""Times training against scikit-learn and faiss, one thread each.

    bench/kmeans/peers.py --data FILE -k K [--scale none|minmax] [--iters 10] [--repeats R]

FILE is a .npy file, plain or gzipped.

What is clocked:
  efface    efface_kmeans_fit, by efface-bench itself, scaling and the rounding to the grid
            included: lloyd after plain k-means++. A fresh process for each round; it fits R times
            and reports its median.
  sklearn   KMeans.fit (lloyd, elkan): n_init=1, max_iter=iters, tol=0, and its k-means++, which
            tries several candidates for each seed and takes the best. It makes the labels of
            the rows too, one pass more.
  faiss     faiss.Kmeans.train on all points. Its seeds are random rows, not k-means++, which is
            less work and often a higher loss.
The peers get float32 rows in memory that are scaled already. The contestants take turns, R rounds,
and the medians of the rounds are compared. Losses are those of the last round. All are given the
same number as seed, which means other seeds to each of them: losses are samples, not a ranking.

Needs numpy, scikit-learn, threadpoolctl and faiss (Debian: python3-sklearn, python3-faiss), and
efface-bench. Both peers spend their time in BLAS, and with Debian's reference BLAS they are many
times slower than they need to be: install an optimized one (libopenblas0). Without one this program
refuses to compare, unless --any-blas is given.
"""

import json
import statistics
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contest import (  # noqa: E402 (it comes before numpy)
    Failure, add_programs, blas, check_programs, last_line, load, loss, to_unit,
)

import faiss  # noqa: E402
import numpy as np  # noqa: E402
import sklearn  # noqa: E402
from experiments.machine import processor  # noqa: E402
from experiments.scripts import parser, positive, run_script  # noqa: E402
from sklearn.cluster import KMeans  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

# ---------------------------------------------------------------- contestants
#
# Each is a function of a task that runs once and returns a dict with at least seconds and iters,
# and either loss or centroids.


class Task:
    def __init__(self, options):
        self.name, self.path, self.k = str(options.data), options.data, options.k
        self.scale, self.iters, self.repeats = options.scale, options.iters, options.repeats
        self.seed, self.bench = options.seed, options.bench
        rows = load(self.path)
        if rows.ndim != 2:
            raise Failure(f"{self.path}: two dimensions are needed, not {rows.ndim}")
        self.n, self.d = rows.shape
        rows = to_unit(rows) if self.scale == "minmax" else rows
        self.rows = np.ascontiguousarray(rows, dtype=np.float32)


def run_efface(task):
    # The shell is there for the peak memory: Linux counts what a process held before exec, so that
    # a child started from here directly would report the memory of this program.
    result = last_line(
        ["/bin/sh", "-c", '"$@"; exit $?', "sh", task.bench, "train", "--data", task.path,
         "-k", task.k, "--method", "lloyd", "--candidates", "1", "--scale", task.scale,
         "--iters", task.iters, "--threads", "1", "--seed", task.seed,
         "--repeats", task.repeats])
    if (result["n"], result["d"], result["k"]) != (task.n, task.d, task.k):
        raise Failure(f"efface-bench read {result['n']} x {result['d']}, k = {result['k']}")
    return result


def run_sklearn(algorithm):
    def run(task, iters=None):
        model = KMeans(n_clusters=task.k, init="k-means++", n_init=1, max_iter=iters or task.iters,
                       tol=0, algorithm=algorithm, random_state=task.seed)
        begin = time.perf_counter()
        model.fit(task.rows)
        seconds = time.perf_counter() - begin
        return {"seconds": seconds, "iters": model.n_iter_, "centroids": model.cluster_centers_}

    return run


def run_faiss(task, iters=None):
    model = faiss.Kmeans(task.d, task.k, niter=iters or task.iters, nredo=1, seed=task.seed,
                         min_points_per_centroid=1, max_points_per_centroid=max(task.n, 256),
                         verbose=False, gpu=False)
    begin = time.perf_counter()
    model.train(task.rows)
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "iters": len(model.obj), "centroids": model.centroids}


PEERS = {
    "sklearn lloyd": run_sklearn("lloyd"),
    "sklearn elkan": run_sklearn("elkan"),
    "faiss": run_faiss,
}


# ---------------------------------------------------------------- the race


def compare(task):
    """Lets the contestants take turns; returns a list of results, ours first."""
    contestants = {} if task.bench == "none" else {"efface": run_efface}
    contestants.update(PEERS)
    runs = {name: [] for name in contestants}
    for run in PEERS.values():
        run(task, iters=1)  # not clocked: libraries load and allocate at their first call
    for _ in range(task.repeats):
        for name, run in contestants.items():
            runs[name].append(run(task))

    results = []
    for name, done in runs.items():
        last = done[-1]
        seconds = [run["seconds"] for run in done]
        result = {
            "bench": "peers", "data": task.name, "contestant": name, "n": task.n, "d": task.d,
            "k": task.k, "scale": task.scale, "threads": 1, "blas": blas(),
            "iters": int(last["iters"]), "seconds": statistics.median(seconds),
            "seconds_of_rounds": seconds,
            "loss": last["loss"] if "loss" in last else loss(task.rows, last["centroids"]),
        }
        if name == "efface":
            result.update({key: last[key] for key in ("kernels", "digest", "peak_rss_bytes")})
            result["data_bytes"] = 4 * task.n * task.d
            if len({run["digest"] for run in done}) != 1:
                raise Failure("efface: the digest differs between rounds")
        results.append(result)
    ours = results[0]["seconds"] if results[0]["contestant"] == "efface" else None
    for result in results:
        result["ratio"] = result["seconds"] / ours if ours else None
    return results


def print_table(results):
    first = results[0]
    print(f"{first['data']}: {first['n']:,} x {first['d']}, k = {first['k']}, scale "
          f"{first['scale']}")
    print(f"  {'':14} {'iters':>5} {'ms':>10} {'ratio':>7} {'loss':>14} {'memory / data':>14}")
    for r in results:
        ratio = f"{r['ratio']:.2f}" if r["ratio"] else "-"
        memory = f"{r['peak_rss_bytes'] / r['data_bytes']:.2f}" if "data_bytes" in r else "-"
        print(f"  {r['contestant']:14} {r['iters']:>5} {1e3 * r['seconds']:>10.2f} {ratio:>7} "
              f"{r['loss']:>14.7g} {memory:>14}")
    print(flush=True)


def run_task(task, as_json):
    results = compare(task)
    if as_json:
        for result in results:
            print(json.dumps(result), flush=True)
    else:
        print_table(results)


def print_header(options):
    print(processor())
    print(f"scikit-learn {sklearn.__version__}, faiss {faiss.__version__} "
          f"({faiss.get_compile_options().strip()}), numpy {np.__version__}, "
          f"BLAS {blas() or 'of reference, slow'}")
    print(f"one thread, median of {options.repeats} rounds; ratio = time / efface's time\n")


def parse_arguments():
    arguments = parser(__doc__)
    arguments.add_argument("--data", type=Path, metavar="FILE", required=True)
    arguments.add_argument("-k", type=positive, required=True, help="number of clusters")
    arguments.add_argument("--scale", choices=("none", "minmax"), default="none")
    arguments.add_argument("--iters", type=positive, default=10)
    arguments.add_argument("--repeats", type=positive, default=5, help="rounds (default 5)")
    arguments.add_argument("--seed", type=int, default=1)
    add_programs(arguments)
    arguments.add_argument("--json", action="store_true", help="one line of JSON for each result")
    return arguments.parse_args()


def main():
    options = parse_arguments()
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    faiss.omp_set_num_threads(1)
    check_programs(options)
    if not options.json:
        print_header(options)
    with threadpool_limits(limits=1):
        run_task(Task(options), options.json)


if __name__ == "__main__":
    run_script(main)
