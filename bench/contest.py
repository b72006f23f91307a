"""What the programs share that run efface beside other libraries, each with one thread. To be
imported before numpy: libraries read the number of threads once."""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                  "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
    os.environ[_variable] = "1"

import gzip
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from experiments import Failure
from experiments.machine import first_match
from experiments.runs import output


def load(path):
    """The array of a .npy file, plain or gzipped."""
    try:
        opened = gzip.open(path) if str(path).endswith(".gz") else open(path, "rb")
        with opened as file:
            return np.load(file)
    except (OSError, ValueError) as error:
        raise Failure(f"{path}: {error}") from error


def generate(name, bench):
    """A generated set, in the shape that efface-bench gives it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "set.npy"
        run([bench, "data", name, "--out", path])
        return load(path)


def to_unit(rows):
    """Rows as float32, each column mapped to [0, 1]."""
    low = rows.min(axis=0).astype(np.float64)
    spread = rows.max(axis=0) - low
    spread[spread == 0] = 1.0
    return ((rows - low) / spread).astype(np.float32)


def loss(rows, centroids):
    """The sum of squared distances to the nearest centroid. Distances are in double precision; which
    centroid is nearest is found in single precision, about the mean of the centroids."""
    centroids = np.asarray(centroids, dtype=np.float64)
    origin = centroids.mean(axis=0)
    aside = (centroids - origin).astype(np.float32)
    halves = np.einsum("ij,ij->i", aside, aside) / 2
    total, at_once = 0.0, max(1, (1 << 26) // max(rows.shape[1], len(centroids)))
    for first in range(0, len(rows), at_once):
        part = rows[first:first + at_once]
        nearest = np.argmin(halves - (part - origin).astype(np.float32) @ aside.T, axis=1)
        off = part - centroids[nearest]
        total += float(np.einsum("ij,ij->", off, off))
    return total


def run(command):
    """The lines that a program prints."""
    return output([str(word) for word in command])


def last_line(command):
    """The object in the last line that efface-bench prints with --json."""
    return json.loads(run([*command, "--json"])[-1])


def clock(call):
    """Seconds of the wall, and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - processor


def blas():
    """The optimized BLAS in use, such as "openblas 0.3.21", or None."""
    from threadpoolctl import threadpool_info

    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return f"{found[0]['internal_api']} {found[0]['version']}" if found else None


OLD_KERNELS = {"Prescott", "Core2", "Penryn", "Dunnington", "Atom", "Nano", "Nehalem", "Sandybridge",
               "Athlon", "Opteron", "Opteron_SSE3", "Barcelona", "Bobcat", "Bulldozer", "Piledriver",
               "Steamroller", "Katmai", "Coppermine", "Northwood", "Banias", "generic"}


def blas_kernels():
    """For which processor each copy of OpenBLAS in this process has chosen its kernels. A package
    may bring a copy of its own."""
    from threadpoolctl import threadpool_info

    return sorted({library["architecture"] for library in threadpool_info()
                   if library["internal_api"] == "openblas"})


def check_kernels():
    """Fails where OpenBLAS takes a processor with AVX2 for one without."""
    old = OLD_KERNELS.intersection(blas_kernels())
    flags = first_match(r"^flags\s*:(.*)$", "/proc/cpuinfo") or ""
    if old and "avx2" in flags.split():
        better = "SkylakeX" if "avx512f" in flags.split() else "Haswell"
        raise Failure(f"OpenBLAS runs its kernels for {', '.join(sorted(old))} on a processor with "
                      f"AVX2, which slows the peers down; set OPENBLAS_CORETYPE={better}, or use "
                      "--any-blas")


def check_programs(options):
    """Fails without an optimized BLAS that knows the processor, unless --any-blas is given, and
    without efface-bench."""
    if not options.any_blas:
        check_kernels()
    if blas() is None and not options.any_blas:
        raise Failure("numpy has no optimized BLAS, which would slow the peers down; install one "
                      "(apt-get install libopenblas0), or use --any-blas")
    if options.bench != "none" and not os.access(options.bench, os.X_OK):
        raise Failure(f"there is no {options.bench}: build it with make, or use --bench")


def add_programs(parser):
    """The arguments that check_programs reads."""
    parser.add_argument("--bench", default="build/efface-bench", metavar="PROGRAM")
    parser.add_argument("--any-blas", action="store_true", help="compare with a slow BLAS too")


def add_package(parser):
    parser.add_argument("--package", type=Path, default=Path("build/python"), metavar="DIR")


def use_package(folder):
    """Makes the Python package of efface known that lies in the folder."""
    sys.path.insert(0, str(folder.resolve()))
    try:
        import efface  # noqa: F401
    except ImportError as error:
        raise Failure(f"{error}: run make python first, or use --package") from error
