#!/usr/bin/env python3
"""What forgetting one row of a big store costs: bytes read, and time with start-up and syncs.

usage: store_cold.py PROGRAM [--rows N] [--columns D] [--forgets K] [--folder DIR]

PROGRAM is efface-bench-store of a release build. The store has a pyramid and a quantized model; the
rows that are forgotten are outside the pyramid's sample. Each is forgotten by a process of its own,
so that the time is what a person who types the command waits for. The operating system's cache is
warm. Required: median under 2 % of the file and under 100 ms.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--forgets", type=int, default=51)
    parser.add_argument("--folder", default=".")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = os.path.join(folder, "big.efface")
        begin = time.perf_counter()
        made = subprocess.run([program, "make", path, str(options.rows), str(options.columns),
                               str(options.forgets)], check=True, capture_output=True, text=True)
        size = os.path.getsize(path)
        print(f"store of {options.rows} rows x {options.columns}: {size / 1e6:.1f} MB, made in "
              f"{time.perf_counter() - begin:.1f} s")
        times, reads, touched = [], [], 0
        for number in made.stdout.split():
            begin = time.perf_counter()
            ran = subprocess.run([program, "forget", path, number], check=True,
                                 capture_output=True, text=True)
            times.append(time.perf_counter() - begin)
            report = json.loads(ran.stdout)
            reads.append(report["read"])
            touched += report["quantized"] != "adjusted" or report["pyramid"] != "adjusted"
        print(f"{len(times)} rows forgotten, {touched} of them with a repair")
        print(f"read: median {statistics.median(reads) / 1e3:.1f} kB "
              f"({100 * statistics.median(reads) / size:.3f} % of the file), "
              f"most {max(reads) / 1e3:.1f} kB")
        print(f"time: median {1e3 * statistics.median(times):.1f} ms, "
              f"most {1e3 * max(times):.1f} ms")


if __name__ == "__main__":
    main()
