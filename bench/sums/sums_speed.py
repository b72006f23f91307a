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

import statistics
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contest import (  # noqa: E402 (it comes before numpy)
    Failure, add_programs, blas, check_programs, clock, last_line, load,
)

import numpy as np  # noqa: E402
import sklearn  # noqa: E402
from experiments.scripts import parser, positive, run_script  # noqa: E402
from scipy.linalg import LinAlgWarning  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

ALPHA = 1.0


# ---------------------------------------------------------------- data


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
    return last_line([options.bench, "online", "--family", "linear", "--data", path, "--alpha", ALPHA,
                      "--deletions", options.deletions, "--replicates", "1", "--baseline", "1",
                      "--threads", "1"])


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
                model = Ridge(alpha=ALPHA, solver="cholesky")
                theirs[kind].append(clock(lambda x=x, y=y, model=model: model.fit(x, y))[0])
                del x, y

    def median(field):
        return statistics.median(run[field] for run in ours)

    result = {"data": name, "n": len(rows), "d": rows.shape[1] - 1,
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


def parse_arguments():
    arguments = parser(__doc__)
    arguments.add_argument("--mnist", type=Path, metavar="DIR")
    arguments.add_argument("--data", type=Path, metavar="FILE")
    arguments.add_argument("--generated", metavar="ROWS,COLUMNS")
    arguments.add_argument("--deletions", type=positive, default=1000)
    arguments.add_argument("--repeats", type=positive, default=3, help="rounds (default 3)")
    add_programs(arguments)
    return arguments.parse_args()


def main():
    options = parse_arguments()
    warnings.filterwarnings("ignore", category=LinAlgWarning)  # pixels that are hardly ever set
    check_programs(options)
    print(f"scikit-learn {sklearn.__version__}, numpy {np.__version__}, BLAS {blas()}; "
          f"one thread, median of {options.repeats} rounds\n")
    with threadpool_limits(limits=1):
        for name, rows in tables(options):
            result = compare(name, rows, options)
            print_result(result)
            if not result["verified"]:
                raise Failure("a state is not that of a fresh fit")


if __name__ == "__main__":
    run_script(main)
