#!/usr/bin/env python3
"""Times training against the peers that are installed: scikit-learn, scikit-learn-intelex, faiss and
fastkmeans.

    bench/kmeans/peers.py --data DATA -k K [--scale none|minmax] [--iters 10] [--repeats R]
                          [--threads 1] [--same-seeding] [--skip NAME,NAME]
                          [--ours METHOD[:TABLE],...]

DATA is a .npy file, plain or gzipped, or a generated set as efface-bench names it, such as
gaussian:256,128,3906 (256 clusters, 128 columns, 3,906 rows each).

What is clocked:
  efface      efface_kmeans_fit, by efface-bench itself, scaling and the rounding to the grid
              included: lloyd after plain k-means++. A fresh process for each round; it fits R times
              and reports its median. --ours lloyd:avx512,pyramid adds contestants: the kernels
              of another table, another method.
  sklearn     KMeans.fit (lloyd, elkan): n_init=1, max_iter=iters, tol=0, and its k-means++, which
              tries several candidates for each seed and takes the best; and lloyd with random rows
              as seeds. It makes the labels of the rows too, one pass more.
  intelex     the same class of scikit-learn-intelex, and the same with random rows as seeds.
  faiss       faiss.Kmeans.train on all points. Its seeds are random rows, not k-means++, which is
              less work and often a higher loss.
  fastkmeans  FastKMeans.train on all points, on the processor; random rows as seeds.
With --same-seeding, faiss starts from plain k-means++ seeds as efface does: scikit-learn's
kmeans_plusplus with one candidate makes them, and its time counts. intelex and scikit-learn with
random seeds and fastkmeans, which takes no seeds, are left out.

The peers get float32 rows in memory that are scaled already. The contestants take turns, R rounds,
and the medians of the rounds are compared. Losses are those of the last round. All are given the
same number as seed, which means other seeds to each of them: losses are samples, not a ranking.

Needs numpy, scikit-learn and threadpoolctl, at least one more peer, and efface-bench. The newest
peers come from PyPI (pip install faiss-cpu scikit-learn-intelex fastkmeans, in a virtual
environment); Debian has python3-sklearn and python3-faiss. The peers spend their time in BLAS.
OpenBLAS takes some new processors for old ones and then runs kernels that are many times slower;
this program prints which kernels each copy of OpenBLAS chose, and refuses to compare when a
processor with AVX2 is given older ones: set OPENBLAS_CORETYPE, for example to SkylakeX where there is
AVX-512 and to Haswell where there is not. --any-blas compares all the same.
"""

import importlib
import importlib.metadata
import json
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contest import (  # noqa: E402 (it comes before numpy)
    Failure, add_programs, blas, blas_kernels, check_programs, last_line, load, loss, run, to_unit,
)

import numpy as np  # noqa: E402
import sklearn  # noqa: E402
from experiments.machine import processor  # noqa: E402
from experiments.scripts import parser, positive, run_script  # noqa: E402
from sklearn.cluster import KMeans, kmeans_plusplus  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402


def optional(name):
    """A module, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


faiss = optional("faiss")
intelex = optional("sklearnex.cluster")
fastkmeans = optional("fastkmeans")

# ---------------------------------------------------------------- contestants
#
# Each is a function of a task that runs once and returns a dict with at least seconds and iters,
# and either loss or centroids.


class Task:
    def __init__(self, options, folder):
        self.name, self.k = str(options.data), options.k
        self.scale, self.iters, self.repeats = options.scale, options.iters, options.repeats
        self.seed, self.bench, self.threads = options.seed, options.bench, options.threads
        self.path = options.data if Path(options.data).exists() else self.make(folder)
        rows = load(self.path)
        if rows.ndim != 2:
            raise Failure(f"{self.path}: two dimensions are needed, not {rows.ndim}")
        self.n, self.d = rows.shape
        rows = to_unit(rows) if self.scale == "minmax" else rows
        self.rows = np.ascontiguousarray(rows, dtype=np.float32)

    def make(self, folder):
        """A generated set as a file, so that all contestants read the same rows."""
        path = Path(folder) / "set.npy"
        name, _, sizes = self.name.partition(":")
        words = [word for option, size in zip(("--clusters", "--columns", "--rows"),
                                              sizes.split(",") if sizes else ())
                 for word in (option, size)]
        run([self.bench, "data", name, *words, "--out", path])
        return path


def clocked(fit):
    begin = time.perf_counter()
    done = fit()
    return time.perf_counter() - begin, done


def run_efface(method="lloyd", kernels=None):
    # The shell is there for the peak memory: Linux counts what a process held before exec, so that
    # a child started from here directly would report the memory of this program.
    set_kernels = f"EFFACE_KERNELS={kernels} " if kernels else ""

    def run_once(task):
        result = last_line(
            ["/bin/sh", "-c", f'{set_kernels}"$@"; exit $?', "sh", task.bench, "train",
             "--data", task.path, "-k", task.k, "--method", method, "--candidates", "1",
             "--scale", task.scale, "--iters", task.iters, "--threads", task.threads,
             "--seed", task.seed, "--repeats", task.repeats])
        if (result["n"], result["d"], result["k"]) != (task.n, task.d, task.k):
            raise Failure(f"efface-bench read {result['n']} x {result['d']}, k = {result['k']}")
        if kernels and result["kernels"] != kernels:
            raise Failure(f"efface-bench has no kernels {kernels} on this processor")
        return result

    return run_once


def ours(options):
    """Contestants of efface, by name: lloyd with the kernels it chooses, and those of --ours."""
    found = {"efface": run_efface()}
    for words in options.ours:
        method, _, kernels = words.partition(":")
        name = ", ".join(["efface", *(word for word in (method, kernels) if word)])
        found[name] = run_efface(method, kernels or None)
    return found


def run_sklearn(algorithm, estimator=KMeans, init="k-means++"):
    def run_once(task, iters=None):
        model = estimator(n_clusters=task.k, init=init, n_init=1, max_iter=iters or task.iters,
                          tol=0, algorithm=algorithm, random_state=task.seed)
        seconds, _ = clocked(lambda: model.fit(task.rows))
        return {"seconds": seconds, "iters": model.n_iter_, "centroids": model.cluster_centers_}

    return run_once


def run_faiss(seeding=None):
    def run_once(task, iters=None):
        model = faiss.Kmeans(task.d, task.k, niter=iters or task.iters, nredo=1, seed=task.seed,
                             min_points_per_centroid=1, verbose=False, gpu=False,
                             max_points_per_centroid=max(task.n, 256))
        seconds, _ = clocked(lambda: model.train(
            task.rows, init_centroids=seeding(task) if seeding else None))
        return {"seconds": seconds, "iters": len(model.obj), "centroids": model.centroids}

    return run_once


def plain_seeds(task):
    return kmeans_plusplus(task.rows, task.k, random_state=task.seed, n_local_trials=1)[0]


def run_fastkmeans(task, iters=None):
    model = fastkmeans.FastKMeans(task.d, task.k, niter=iters or task.iters, gpu=False, tol=-1.0,
                                  seed=task.seed, max_points_per_centroid=max(task.n, 1))
    seconds, _ = clocked(lambda: model.train(task.rows))
    return {"seconds": seconds, "iters": iters or task.iters, "centroids": model.centroids}


def peers(options):
    """The peers that are installed and wanted, by name."""
    found = {"sklearn lloyd": run_sklearn("lloyd"), "sklearn elkan": run_sklearn("elkan")}
    if not options.same_seeding:
        found["sklearn, random seeds"] = run_sklearn("lloyd", init="random")
    if intelex:
        found["intelex"] = run_sklearn("lloyd", intelex.KMeans)
    if intelex and not options.same_seeding:
        found["intelex, random seeds"] = run_sklearn("lloyd", intelex.KMeans, "random")
    if faiss and options.same_seeding:
        found["faiss, k-means++"] = run_faiss(plain_seeds)
    elif faiss:
        found["faiss"] = run_faiss()
    if fastkmeans and not options.same_seeding:
        found["fastkmeans"] = run_fastkmeans
    unknown = set(options.skip) - set(found)
    if unknown:
        raise Failure(f"--skip: there is no {', '.join(sorted(unknown))}; the peers are "
                      f"{', '.join(found)}")
    return {name: run_peer for name, run_peer in found.items() if name not in options.skip}


def versions():
    """The versions of the peers that are installed."""
    found = {"scikit-learn": sklearn.__version__, "numpy": np.__version__}
    if faiss:
        found["faiss"] = faiss.__version__
    for name in ("scikit-learn-intelex", "fastkmeans", "torch"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def set_threads(number):
    """Tells the libraries that threadpoolctl does not know how many threads to use."""
    if faiss:
        faiss.omp_set_num_threads(number)
    if intelex:
        importlib.import_module("daal4py").daalinit(number)
    if fastkmeans:
        importlib.import_module("torch").set_num_threads(number)


# ---------------------------------------------------------------- the race


def compare(task, contestants):
    """Lets the contestants take turns; returns a list of results, ours first."""
    for name, run_peer in contestants.items():
        if not name.startswith("efface"):
            run_peer(task, iters=1)  # not clocked: libraries load and allocate at their first call
    rounds = {name: [] for name in contestants}
    for _ in range(task.repeats):
        for name, run_once in contestants.items():
            rounds[name].append(run_once(task))

    results = [result_of(task, name, done) for name, done in rounds.items()]
    ours = results[0]["seconds"] if results[0]["contestant"] == "efface" else None
    for result in results:
        result["ratio"] = result["seconds"] / ours if ours else None
    return results


def result_of(task, name, done):
    last = done[-1]
    seconds = [run_once["seconds"] for run_once in done]
    result = {
        "bench": "peers", "data": task.name, "contestant": name, "n": task.n, "d": task.d,
        "k": task.k, "scale": task.scale, "threads": task.threads, "blas": blas(),
        "iters": int(last["iters"]), "seconds": statistics.median(seconds),
        "seconds_of_rounds": seconds,
        "loss": last["loss"] if "loss" in last else loss(task.rows, last["centroids"]),
    }
    if name.startswith("efface"):
        result.update({key: last[key] for key in ("kernels", "digest", "peak_rss_bytes")})
        result["data_bytes"] = 4 * task.n * task.d
        result["peers"] = versions()
        result["blas_kernels"] = blas_kernels()
        if len({run_once["digest"] for run_once in done}) != 1:
            raise Failure(f"{name}: the digest differs between rounds")
    return result


def print_table(results):
    first = results[0]
    print(f"{first['data']}: {first['n']:,} x {first['d']}, k = {first['k']}, scale "
          f"{first['scale']}")
    print(f"  {'':21} {'iters':>5} {'ms':>10} {'ratio':>7} {'loss':>14} {'memory / data':>14}")
    for r in results:
        ratio = f"{r['ratio']:.2f}" if r["ratio"] else "-"
        memory = f"{r['peak_rss_bytes'] / r['data_bytes']:.2f}" if "data_bytes" in r else "-"
        print(f"  {r['contestant']:21} {r['iters']:>5} {1e3 * r['seconds']:>10.2f} {ratio:>7} "
              f"{r['loss']:>14.7g} {memory:>14}")
    print(flush=True)


def run_task(task, contestants, as_json):
    results = compare(task, contestants)
    if as_json:
        for result in results:
            print(json.dumps(result), flush=True)
    else:
        print_table(results)


def print_header(options):
    print(processor())
    print(", ".join(f"{name} {version}" for name, version in versions().items()))
    print(f"BLAS {blas() or 'of reference, slow'}; kernels: {', '.join(blas_kernels()) or '-'}")
    print(f"{options.threads} thread{'s' if options.threads > 1 else ''}, median of "
          f"{options.repeats} rounds; ratio = time / efface's time\n")


def parse_arguments():
    arguments = parser(__doc__)
    arguments.add_argument("--data", metavar="DATA", required=True)
    arguments.add_argument("-k", type=positive, required=True, help="number of clusters")
    arguments.add_argument("--scale", choices=("none", "minmax"), default="none")
    arguments.add_argument("--iters", type=positive, default=10)
    arguments.add_argument("--repeats", type=positive, default=5, help="rounds (default 5)")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--threads", type=positive, default=1)
    arguments.add_argument("--same-seeding", action="store_true",
                           help="only peers whose seeds are those of k-means++")
    arguments.add_argument("--skip", type=lambda text: text.split(","), default=[],
                           metavar="NAME,NAME", help="leave peers out, such as 'sklearn elkan'")
    arguments.add_argument("--ours", type=lambda text: text.split(","), default=[],
                           metavar="METHOD[:TABLE],...", help="more contestants of efface")
    add_programs(arguments)
    arguments.add_argument("--json", action="store_true", help="one line of JSON for each result")
    return arguments.parse_args()


def main():
    options = parse_arguments()
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    set_threads(options.threads)
    check_programs(options)
    contestants = {} if options.bench == "none" else ours(options)
    contestants.update(peers(options))
    if not options.json:
        print_header(options)
    with threadpool_limits(limits=options.threads), tempfile.TemporaryDirectory() as folder:
        run_task(Task(options, folder), contestants, options.json)


if __name__ == "__main__":
    run_script(main)
