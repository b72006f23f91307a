#!/usr/bin/env python3
"""Times linear regression that forgets against scikit-learn's Ridge, one thread each.

    bench/sums/sums_speed.py [--mnist DIR] [--data FILE] [--generated ROWS,COLUMNS] [--repeats R]

DIR has x.npy.gz and y.npy.gz; the label is the target. FILE is a .npy file, plain or gzipped, whose
last column is the target. The generated set is a linear function of normal numbers, and noise; it
is made if nothing else is asked for.

What is clocked:
  efface    efface_sums_fit; each efface_model_forget; a memcpy of the bytes of the state; and the
            first prediction after a request, which computes the coefficients. By
            efface-bench online --family linear, in a fresh process for each round.
  sklearn   Ridge.fit (solver cholesky), with float64 and with float32 rows that are in memory.
The contestants take turns, R rounds, and the medians of the rounds are compared. Fitting again is
what forgetting a row costs scikit-learn, so the speed-up is the time of its fit by that of a
request.

Needs numpy, scipy, scikit-learn and threadpoolctl, and efface-bench. With Debian's reference BLAS
scikit-learn is many times slower than it needs to be: install an optimized one (libopenblas0).
Without one this program refuses to compare, unless --any-blas is given.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # before numpy is imported: libraries read it once

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import sklearn
from scipy.linalg import LinAlgWarning
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_info, threadpool_limits

ALPHA = 1.0


class Failure(Exception):
    """Something the user can mend; the message says what."""


# ---------------------------------------------------------------- data


def load(path):
    try:
        opened = gzip.open(path) if str(path).endswith(".gz") else open(path, "rb")
        with opened as file:
            return np.load(file)
    except (OSError, ValueError) as error:
        raise Failure(f"{path}: {error}") from error


def generate(text):
    try:
        n, d = map(int, text.split(","))
    except ValueError as error:
        raise Failure(f"--generated takes ROWS,COLUMNS, not {text}") from error
    random = np.random.default_rng(1)
    rows = random.standard_normal((n, d + 1), dtype=np.float32)
    rows[:, -1] += rows[:, :-1] @ random.standard_normal(d, dtype=np.float32)
    return rows


def tables(options):
    """Names, and rows whose last column is the target."""
    if options.mnist:
        x, y = load(options.mnist / "x.npy.gz"), load(options.mnist / "y.npy.gz")
        yield "mnist", np.column_stack([x.reshape(len(x), -1), y.astype(x.dtype)])
    if options.data:
        yield str(options.data), load(options.data)
    if options.generated or not (options.mnist or options.data):
        text = options.generated or "1000000,50"
        yield f"generated {text}", generate(text)


# ---------------------------------------------------------------- contestants


def run_efface(path, options):
    command = [options.bench, "online", "--family", "linear", "--data", str(path)]
    command += ["--alpha", str(ALPHA), "--deletions", str(options.deletions), "--replicates", "1"]
    command += ["--baseline", "1", "--threads", "1", "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failure(f"{options.bench}: {error.strerror}") from error
    if done.returncode != 0:
        raise Failure(f"{done.stderr.strip()}\nThe command was: {' '.join(command)}")
    return json.loads(done.stdout.splitlines()[-1])


def run_sklearn(x, y):
    model = Ridge(alpha=ALPHA, solver="cholesky")
    begin = time.perf_counter()
    model.fit(x, y)
    return time.perf_counter() - begin


# ---------------------------------------------------------------- the race


def compare(name, rows, options):
    """Lets the contestants take turns; returns the medians of their rounds."""
    kinds = {"sklearn float64": np.float64, "sklearn float32": np.float32}
    ours, theirs = [], {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, rows)
        for _ in range(options.repeats):
            ours.append(run_efface(path, options))
            for kind, dtype in kinds.items():
                x = np.ascontiguousarray(rows[:, :-1], dtype=dtype)
                y = rows[:, -1].astype(dtype)
                theirs[kind].append(run_sklearn(x, y))
                del x, y

    def median(field):
        return statistics.median(run[field] for run in ours)

    result = {"bench": "sums_speed", "data": name, "n": len(rows), "d": rows.shape[1] - 1,
              "threads": 1, "blas": blas(), "repeats": options.repeats,
              "efface_fit_seconds": median("train_seconds"),
              "forget_us": median("delete_us_median"), "copy_us": median("copy_us"),
              "view_us": median("view_us"), "state_bytes": ours[-1]["state_bytes"],
              "verified": all(run["verified"] for run in ours)}
    for kind, seconds in theirs.items():
        result[kind.replace(" ", "_") + "_fit_seconds"] = statistics.median(seconds)
    best = min(statistics.median(seconds) for seconds in theirs.values())
    result["speedup_over_sklearn"] = 1e6 * best / result["forget_us"]
    return result


def print_result(r):
    print(f"{r['data']}: {r['n']:,} x {r['d']}, a state of {r['state_bytes']:,} bytes")
    ours = r["efface_fit_seconds"]
    for name in ("efface", "sklearn_float64", "sklearn_float32"):
        seconds = r[name + "_fit_seconds"]
        print(f"  fit, {name.replace('_', ' '):16} {1e3 * seconds:>10.1f} ms  {seconds / ours:.2f}")
    print(f"  forgetting a row      {r['forget_us']:>10.1f} us  "
          f"{r['forget_us'] / r['copy_us']:.2f} copies of the state")
    print(f"  a copy of the state   {r['copy_us']:>10.1f} us")
    print(f"  coefficients          {r['view_us']:>10.1f} us")
    print(f"  speed-up of forgetting over the faster fit of scikit-learn: "
          f"{r['speedup_over_sklearn']:,.0f}\n", flush=True)


def blas():
    """The optimized BLAS in use, such as "openblas 0.3.21", or None."""
    for library in threadpool_info():
        if library["user_api"] == "blas":
            return f"{library['internal_api']} {library['version']}"
    return None


def count(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("a whole number of at least 1 is needed")
    return value


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mnist", type=Path, metavar="DIR")
    parser.add_argument("--data", type=Path, metavar="FILE")
    parser.add_argument("--generated", metavar="ROWS,COLUMNS")
    parser.add_argument("--deletions", type=count, default=1000)
    parser.add_argument("--repeats", type=count, default=3, help="rounds (default 3)")
    parser.add_argument("--bench", default="build/efface-bench")
    parser.add_argument("--any-blas", action="store_true", help="compare with a slow BLAS too")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each set")
    return parser.parse_args()


def main():
    options = parse_arguments()
    warnings.filterwarnings("ignore", category=LinAlgWarning)  # pixels that are hardly ever set
    try:
        if blas() is None and not options.any_blas:
            raise Failure(
                "numpy has no optimized BLAS, which would slow scikit-learn down; install one "
                "(apt-get install libopenblas0), or use --any-blas")
        if not os.access(options.bench, os.X_OK):
            raise Failure(f"there is no {options.bench}: build it with make, or use --bench")
        if not options.json:
            print(f"scikit-learn {sklearn.__version__}, numpy {np.__version__}, BLAS {blas()}; "
                  f"one thread, median of {options.repeats} rounds\n")
        with threadpool_limits(limits=1):
            for name, rows in tables(options):
                result = compare(name, rows, options)
                if options.json:
                    print(json.dumps(result), flush=True)
                else:
                    print_result(result)
                if not result["verified"]:
                    raise Failure("a state is not that of a fresh fit")
    except Failure as failure:
        print(f"sums_speed.py: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
