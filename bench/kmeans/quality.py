#!/usr/bin/python3
"""Compares the losses of all methods with scikit-learn's, run to convergence.

    bench/kmeans/quality.py --folder DIR --cache FILE [--sets NAMES] [--seeds 30] [--out docs/measured/quality.md]

DIR has the sets as docs/measured/data.md describes them: DIR/celltype/x.npy.gz and so on; sets that are not
there are left out, and said so. The generated sets come from efface-bench. The page that is written
says what is compared and how.

--cache names a file, outside of the tree, that keeps the loss of each run, so that an interrupted
run goes on and a second one is quick. Runs of scikit-learn are kept for its version. Runs of efface
are kept as long as its bits are the same: the first seed is run again each time, and if the digest
of its model is another one, all runs of that method on that set are. --fresh runs all of efface's
again.

Needs numpy, scikit-learn and the Python package of efface (make python). To compare with another
scikit-learn, run this program by the python of an environment that has it.
"""

import hashlib
import json
import multiprocessing
import os
import shlex
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contest import (  # noqa: E402 (it comes before numpy)
    Failure, add_package, generate, load, loss, to_unit, use_package,
)

import numpy as np  # noqa: E402
import quality_page as qp  # noqa: E402
import sklearn  # noqa: E402
from experiments.scripts import parser, positive, run_script  # noqa: E402
from sklearn.cluster import KMeans as PeerKMeans  # noqa: E402

# The sets with their numbers of clusters: those of the paper where it has one. celltype is scaled
# already in its file.
FILES = [
    ("celltype", (4,), ("raw",)),
    ("covtype", (7,), ("raw", "minmax")),
    ("mnist", (10,), ("raw", "minmax")),
    ("botnet_sample", (10, 25), ("raw", "minmax")),
    ("postures_part", (10, 25), ("raw", "minmax")),
]
GENERATED = [
    ("scales", (8, 25), ("raw", "minmax")),
    ("tails", (8, 25), ("raw", "minmax")),
    ("duplicates", (8, 25), ("raw", "minmax")),
]
CHUNK = 10  # runs that a process does at a time
METHOD_OPTIONS = {"lloyd": {"max_iter": None}}


# ---------------------------------------------------------------- data


def some_rows(rows, most_rows, most_values):
    """At most so many rows, drawn with a fixed seed, in the order they had."""
    most = min(most_rows, most_values // rows.shape[1])
    if len(rows) > most:
        rows = rows[np.sort(np.random.default_rng(1).choice(len(rows), most, replace=False))]
    return np.ascontiguousarray(rows, dtype=np.float32)


def make_cases(options):
    """The cases, and the rows of each by the name that a case has for them."""
    cases, data = [], {}
    for name, ks, scales in FILES + GENERATED:
        if options.sets and name not in options.sets:
            continue
        if (name, ks, scales) in GENERATED:
            rows = generate(name, options.bench)
        else:
            path = options.folder / name / "x.npy.gz"
            if not path.exists():
                print(f"quality.py: there is no {path}: left out", file=sys.stderr)
                continue
            rows = load(path)
        rows = some_rows(rows, options.rows, options.values)
        for scale in scales:
            values = rows if scale == "raw" else to_unit(rows)
            fingerprint = hashlib.sha256(values.tobytes()).hexdigest()[:16]
            data[fingerprint] = values
            for k in ks:
                n, d = values.shape
                cases.append({"name": name, "n": n, "d": d, "k": k, "scale": scale,
                              "rows": fingerprint})
    if not cases:
        raise Failure("no set is left")
    return cases, data


# ---------------------------------------------------------------- runs


def fit_peer(rows, k, seed):
    return PeerKMeans(k, init="k-means++", n_init=1, max_iter=100_000, tol=0, algorithm="elkan",
                      random_state=seed).fit(rows)


def fit_ours(rows, k, method, seed):
    import efface  # from the package that --package names

    options = {"max_iter": 10, **METHOD_OPTIONS.get(method, {})}
    model = efface.KMeans(k, method=method, candidates=None, random_state=seed, n_threads=1,
                          **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of coarse columns, which count_coarse asks for
        return model.fit(rows, ids=range(len(rows)))


def count_coarse(rows):
    """How many columns efface warns of as too coarse for the grid: it names only the first few, so
    the list behind the warning is asked for."""
    import efface

    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        with efface.create(Path(folder) / "store", rows) as store:
            store.fit("any", efface.KMeans(1, method="lloyd", max_iter=1, n_threads=1))
            return len(store.load("any")._models.findings(0)[1])


def count_merged(rows):
    """How many different rows are not different any more on the grid (docs/definition/numerics.md, 2)."""
    significand, exponent = np.frexp(np.abs(rows).max())
    exponent = int(exponent) - (significand == 0.5)  # the largest is at most 2^exponent
    grid = np.rint(np.ldexp(rows.astype(np.float64), 23 - exponent)).astype(np.int32)
    return len(np.unique(rows, axis=0)) - len(np.unique(grid, axis=0))


_data = {}  # what the processes have, by fingerprint; they are forked after it is filled
_double = {}  # the same in double precision, one at a time


def in_double(fingerprint):
    if fingerprint not in _double:
        _double.clear()
        _double[fingerprint] = _data[fingerprint].astype(np.float64)
    return _double[fingerprint]


def run_chunk(task):
    """Runs of one contestant on one case: for each seed the loss, the inertia and the time."""
    fingerprint, k, contestant, seeds = task
    single, double = _data[fingerprint], in_double(fingerprint)
    found = []
    for seed in seeds:
        begin = time.process_time()
        if contestant == qp.PEER:
            model = fit_peer(double, k, seed)
        else:
            model = fit_ours(single, k, contestant, seed)
        result = loss(double, model.cluster_centers_), float(model.inertia_)
        found.append([*result, time.process_time() - begin])
    return task, found


def first_digest(task):
    fingerprint, k, method = task
    return fit_ours(_data[fingerprint], k, method, 0).digest()


def grid_facts(fingerprint):
    rows = _data[fingerprint]
    return {"n_coarse": count_coarse(rows), "n_merged": count_merged(rows)}


class Cache:
    """The runs that are there already: for each key a mark, and the runs by seed. Runs with
    another mark count no more."""

    def __init__(self, path):
        self.path = path
        self.entries = {}
        if path is not None and path.exists():
            self.entries = json.loads(path.read_text(encoding="utf-8"))

    def runs(self, key, mark):
        entry = self.entries.get(key)
        if entry is None or entry["mark"] != mark:
            entry = self.entries[key] = {"mark": mark, "runs": {}}
        return entry["runs"]

    def save(self):
        if self.path is None:
            return
        part = self.path.with_name(self.path.name + ".part")
        part.write_text(json.dumps(self.entries), encoding="utf-8")
        part.replace(self.path)


def key_of(case, contestant):
    return f"{case['name']} {case['rows']} k={case['k']} {contestant}"


def find_runs(cases, options, processes, cache):
    """Sees to it that the cache has all runs; returns the runs of each key."""
    contestants = (qp.PEER, *qp.METHODS)
    where, tasks = {}, []
    for case in cases:
        for contestant in contestants:
            key = key_of(case, contestant)
            if contestant == qp.PEER:
                mark = f"scikit-learn {sklearn.__version__}"
            else:
                mark = processes.apply(first_digest, ((case["rows"], case["k"], contestant),))
                if options.fresh:
                    cache.entries.pop(key, None)
            where[key] = cache.runs(key, mark)
            missing = [s for s in range(options.pool) if str(s) not in where[key]]
            for first in range(0, len(missing), CHUNK):
                seeds = missing[first : first + CHUNK]
                tasks.append((case["rows"], case["k"], contestant, seeds))
    keys = {(c["rows"], c["k"], who): key_of(c, who) for c in cases for who in contestants}
    saved = time.monotonic()
    for done, (task, found) in enumerate(processes.imap_unordered(run_chunk, tasks), 1):
        for seed, run in zip(task[3], found):
            where[keys[task[:3]]][str(seed)] = run
        if time.monotonic() - saved > 20 or done == len(tasks):
            cache.save()
            saved = time.monotonic()
            print(f"quality.py: {done} of {len(tasks)} parts", file=sys.stderr, flush=True)
    return where


def compare(options):
    """The page."""
    cases, data = make_cases(options)
    _data.update(data)
    cache = Cache(options.cache)
    with multiprocessing.get_context("fork").Pool(options.jobs) as processes:
        where = find_runs(cases, options, processes, cache)
        on_grid = dict(zip(data, processes.map(grid_facts, data)))
    seconds = 0.0
    for case in cases:
        case.update(on_grid[case["rows"]], runs={})
        for contestant in (qp.PEER, *qp.METHODS):
            runs = [where[key_of(case, contestant)][str(s)] for s in range(options.pool)]
            case["runs"][contestant] = [(run[0], run[1]) for run in runs]
            seconds += sum(run[2] for run in runs)
    if options.pool >= options.seeds * qp.GROUP:
        groups = qp.disjoint_groups(options.pool)[: options.seeds]
        grouping = "No run is in two of these fits."
    else:
        random = np.random.default_rng(2)
        groups = qp.drawn_groups(
            options.pool, options.seeds,
            lambda n, m: [int(i) for i in random.choice(n, m, replace=False)])
        grouping = (f"The ten are drawn from the {options.pool} runs, so that fits share runs: "
                    "their largest loss is less extreme than that of fits which do not, and "
                    "errors are larger than they seem.")
    facts = {"sklearn": sklearn.__version__, "grouping": grouping, "rows": options.rows,
             "values": options.values, "minutes": seconds / 60, "command": command()}
    return qp.page(cases, groups, facts)


def command():
    """This run as one would type it, with folders of this machine left out."""
    words, path_next = ["bench/kmeans/quality.py"], False
    for word in sys.argv[1:]:
        words.append(Path(word).name if path_next and os.path.isabs(word) else word)
        path_next = word in ("--folder", "--cache", "--out", "--package", "--bench")
    return shlex.join(words)


# ---------------------------------------------------------------- the command


def parse_arguments():
    arguments = parser(__doc__)
    names = [name for name, _, _ in FILES + GENERATED]
    arguments.add_argument("--folder", type=Path, default=Path("."), metavar="DIR")
    arguments.add_argument("--sets", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    arguments.add_argument("--seeds", type=positive, default=30, help="fits with n_init=10 (30)")
    arguments.add_argument("--pool", type=positive, help="runs of each contestant (10 for each seed)")
    arguments.add_argument("--rows", type=positive, default=10_000, help="rows of a set at most")
    arguments.add_argument("--values", type=positive, default=4_000_000, help="rows × columns at most")
    arguments.add_argument("--jobs", type=positive, default=os.cpu_count(), help="processes")
    arguments.add_argument("--cache", type=Path, metavar="FILE", help="keeps the runs")
    arguments.add_argument("--fresh", action="store_true", help="efface's runs are all done again")
    arguments.add_argument("--out", type=Path, metavar="FILE", help="the page (standard output)")
    add_package(arguments)
    arguments.add_argument("--bench", default="build/efface-bench", metavar="PROGRAM")
    options = arguments.parse_args()
    options.pool = options.pool or options.seeds * qp.GROUP
    if options.pool < qp.GROUP:
        arguments.error(f"--pool must be at least {qp.GROUP}")
    return options


def main():
    options = parse_arguments()
    use_package(options.package)
    text = compare(options)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    run_script(main)
