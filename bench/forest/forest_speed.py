#!/usr/bin/python3
"""Times forests that forget against scikit-learn's ExtraTrees: 100 trees, one thread each.

    bench/forest/forest_speed.py --data FOLDER [--sets NAMES] [--deletions 1000] [--hurt 1000]
                          [--repeats 3]

FOLDER has celltype, covtype and mnist as docs/measured/data.md describes them; the other sets are made by
forest_sets.py. All programs have their defaults; scikit-learn has n_jobs=1.

What is clocked:
  fit         both, R rounds in turn, the medians, by the wall and by the processor; the rows are in
              memory as float32
  two threads our fit with two threads, by the wall: one thread's time by it
  predict     the classes or targets of all training rows
  forget      random rows, one by one: eager, where each request grows what it has to; and lazy,
              with the time of settling at the end, by the number of requests, beside it
  hurt        requests that are chosen to hurt, one by one, eager: the rows with the least and the
              greatest value of each column in turn, and those of the rarest classes
Requests and predictions are clocked by the processor, as other work of the machine would look like
slow requests, and the time of a fit that they are compared with is too. The times include what
Python adds to a request, some ten microseconds. After its last request a
forest has to have the digest of a fresh fit, or the program fails. Memory is what the library says
(efface_model_state_bytes, by efface-bench), exported bytes are those of a file for prediction.

Needs numpy, scikit-learn, the Python package of efface (make python) and efface-bench.
"""

import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contest import (  # noqa: E402 (it comes before numpy)
    Failure, add_package, clock, last_line, use_package,
)

import numpy as np  # noqa: E402
import sklearn  # noqa: E402
from experiments.page import table  # noqa: E402
from experiments.scripts import listed, parser, run_script  # noqa: E402
from forest_sets import has_classes, sets  # noqa: E402
from sklearn import ensemble  # noqa: E402


def median(pairs, place=0):
    return statistics.median(pair[place] for pair in pairs)


def make_peer(y):
    maker = ensemble.ExtraTreesClassifier if has_classes(y) else ensemble.ExtraTreesRegressor
    return maker(100, n_jobs=1, random_state=0)


def make_ours(y, n_threads=1, lazy=False):
    import efface  # from the package that --package names

    maker = efface.ForestClassifier if has_classes(y) else efface.ForestRegressor
    return maker(100, n_threads=n_threads, lazy=lazy, random_state=0)


# ---------------------------------------------------------------- requests


def rows_that_hurt(x, y, n):
    """Extremes of columns in turn, and of classes the rows of the rarest ones."""
    columns = [j for j in range(x.shape[1]) if np.ptp(x[:, j]) > 0]
    orders = [np.argsort(x[:, j], kind="stable") for j in columns]
    if has_classes(y):
        count = np.bincount(y)[y]
        orders.append(np.argsort(count, kind="stable"))
    chosen, depth = {}, 0
    while len(chosen) < min(n, len(x) // 2):
        for order in orders:
            chosen[int(order[depth])] = None
            chosen[int(order[-1 - depth])] = None
        depth += 1
    return list(chosen)[:n]


def forget_each(x, y, rows, lazy):
    """Seconds of each request, and of settling at the end."""
    model = make_ours(y, lazy=lazy).fit(x, y, ids=range(len(x)))
    seconds = np.array([clock(lambda row=row: model.forget(ids=[int(row)]))[1] for row in rows])
    settling = clock(model.settle)[1]
    left = np.setdiff1d(np.arange(len(x)), rows)
    if model.digest() != make_ours(y, n_threads=None).fit(x[left], y[left], ids=left).digest():
        raise Failure("a forest after its requests is not that of a fresh fit")
    return seconds, settling


# ---------------------------------------------------------------- sizes


def state_bytes(x, y, options):
    """Bytes of the state with all that is kept to be faster."""
    with tempfile.TemporaryDirectory() as folder:
        data, labels = Path(folder) / "x.npy", Path(folder) / "y.npy"
        command = [options.bench, "online", "--family", "forest", "--data", data]
        command += ["--deletions", "1", "--replicates", "1", "--baseline", "0"]
        if has_classes(y):
            np.save(data, x)
            np.save(labels, y.astype(np.int32))
            command += ["--labels", labels]
        else:
            np.save(data, np.column_stack([x, y]).astype(np.float32))
            command += ["--target", str(x.shape[1] + 1)]  # counted from 1
        return last_line(command)["state_bytes_per_row"] * len(x)


def exported_bytes(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forest"
        model.export(path)
        return path.stat().st_size


# ---------------------------------------------------------------- the race


def measure(x, y, options):
    peer, ours = make_peer(y), make_ours(y)
    two = make_ours(y, n_threads=2)
    fits = {name: [] for name in ("peer", "ours", "two")}
    ids = range(len(x))
    for _ in range(options.repeats):
        fits["peer"].append(clock(lambda: peer.fit(x, y)))
        fits["ours"].append(clock(lambda: ours.fit(x, y, ids=ids)))
        fits["two"].append(clock(lambda: two.fit(x, y, ids=ids)))
    predictions = {
        name: median([clock(lambda model=model: model.predict(x)) for _ in range(options.repeats)],
                     1)
        for name, model in (("peer", peer), ("ours", ours))
    }
    random = np.random.default_rng(0).permutation(len(x))[: min(options.deletions, len(x) // 2)]
    return {
        "peer_fit": median(fits["peer"]), "peer_cpu": median(fits["peer"], 1),
        "fit": median(fits["ours"]), "cpu": median(fits["ours"], 1), "two": median(fits["two"]),
        "peer_predict": predictions["peer"], "predict": predictions["ours"],
        "size": ours.size_, "exported": exported_bytes(ours), "state": state_bytes(x, y, options),
        "eager": forget_each(x, y, random, False)[0], "lazy": forget_each(x, y, random, True),
        "hurt": forget_each(x, y, rows_that_hurt(x, y, options.hurt), False)[0],
    }


FITS = ["set", "rows x columns", "fit, ExtraTrees", "efface", "processor, ExtraTrees", "efface",
        "with two threads", "predict, ExtraTrees", "efface"]
REQUESTS = ["set", "forget, mean", "p50", "p99", "max", "lazy, mean", "p99", "settling",
            "hurt, mean", "p99", "max", "ExtraTrees' fit by a request"]
SIZES = ["set", "nodes of a tree", "depth", "bytes a row and tree", "exported bytes a node"]


def show(seconds):
    return f"{1e3 * seconds:.2f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def lines_of(name, x, r):
    """A line of each table."""
    eager, (lazy, settling), hurt = r["eager"], r["lazy"], r["hurt"]
    shape, size = f"{len(x):,} x {x.shape[1]}", r["size"]
    return (
        [name, shape, show(r["peer_fit"]), show(r["fit"]), show(r["peer_cpu"]), show(r["cpu"]),
         f"{r['fit'] / r['two']:.2f} times as fast", show(r["peer_predict"]), show(r["predict"])],
        [name, show(eager.mean()), show(np.median(eager)), show(np.percentile(eager, 99)),
         show(eager.max()), show(lazy.mean()), show(np.percentile(lazy, 99)),
         show(settling / len(lazy)), show(hurt.mean()), show(np.percentile(hurt, 99)),
         show(hurt.max()), f"{r['peer_cpu'] / eager.mean():,.0f}"],
        [name, f"{size.n_nodes / size.n_trees:,.0f}", size.depth,
         f"{r['state'] / len(x) / size.n_trees:.1f}", f"{r['exported'] / size.n_nodes:.1f}"],
    )


def parse_arguments():
    arguments = parser(__doc__)
    arguments.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    arguments.add_argument("--sets", type=listed)
    arguments.add_argument("--deletions", type=int, default=1000)
    arguments.add_argument("--hurt", type=int, default=1000, help="requests that hurt (default 1000)")
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--bench", default="build/efface-bench")
    add_package(arguments)
    return arguments.parse_args()


def main():
    options = parse_arguments()
    use_package(options.package)
    tables = [], [], []
    load = [os.getloadavg()[0]]
    for name, x, y in sets(options.data, options.sets):
        x = np.ascontiguousarray(x)
        for lines, line in zip(tables, lines_of(name, x, measure(x, y, options))):
            lines.append(line)
        load.append(os.getloadavg()[0])
        print(f"{name}: done", file=sys.stderr, flush=True)
    print(f"scikit-learn {sklearn.__version__}, numpy {np.__version__}; {options.repeats} rounds, "
          f"{options.deletions:,} random requests and {options.hurt:,} that hurt; "
          f"load of the machine {min(load):.1f} to {max(load):.1f}")
    for head, lines in zip((FITS, REQUESTS, SIZES), tables):
        print("", *table(head, lines), sep="\n")


if __name__ == "__main__":
    run_script(main)
