#!/usr/bin/env python3
"""Prints the tables of golden values in test_metrics.c. Needs numpy and scikit-learn.

Inputs are made by integer formulas that test_metrics.c repeats, so that both sides have the same
labels and the same rows. The values are scikit-learn's; the tape (for sub-samples) and the Gaussian
set are written out again here from their definitions in src/base/random/tape.h and src/data/generated/gaussian.c.
"""

import math
import struct

import numpy as np
from sklearn.metrics import (
    adjusted_rand_score,
    normalized_mutual_info_score,
    silhouette_score,
)

MASK32 = 0xFFFFFFFF
MASK64 = 0xFFFFFFFFFFFFFFFF


def mix(i, salt):
    """32 well-mixed bits of two 32-bit numbers."""
    h = (i * 0x9E3779B1 + salt * 0x85EBCA77 + 0x165667B1) & MASK32
    h ^= h >> 15
    h = (h * 0x2C1B3C6D) & MASK32
    h ^= h >> 12
    h = (h * 0x297A2D39) & MASK32
    h ^= h >> 15
    return h


# ---------------------------------------------------------------- NMI and ARI

# name, n, and for a and b each: kind, salt, modulus, scale, offset
AGREEMENT = [
    ("one row", 1, ("INDEX", 0, 1, 1, 5), ("INDEX", 0, 1, 1, 9)),
    ("one cluster in both", 50, ("INDEX", 0, 1, 1, 0), ("INDEX", 0, 1, 1, 4000000000)),
    ("one cluster in a", 50, ("INDEX", 0, 1, 1, 0), ("HASH", 1, 4, 1, 0)),
    ("one cluster in b", 50, ("HASH", 1, 4, 1, 0), ("INDEX", 0, 1, 1, 0)),
    ("two rows", 2, ("INDEX", 0, 2, 1, 0), ("INDEX", 0, 1, 1, 0)),
    ("singletons in both", 64, ("INDEX", 0, 64, 1, 0), ("INDEX", 0, 64, 67108859, 3)),
    ("singletons against one", 64, ("INDEX", 0, 64, 1, 0), ("INDEX", 0, 1, 1, 0)),
    ("singletons against three", 60, ("INDEX", 0, 60, 1, 0), ("HASH", 2, 3, 1, 0)),
    ("the same, renamed", 1000, ("HASH", 3, 9, 1, 0), ("HASH", 3, 9, 400000000, 77)),
    ("unrelated", 1000, ("HASH", 4, 7, 1, 0), ("HASH", 5, 5, 1, 0)),
    ("independent exactly", 400, ("INDEX", 0, 4, 1, 0), ("BLOCK", 0, 100, 1, 0)),
    ("related", 2000, ("HASH", 6, 10, 1, 0), ("NOISY", 6, 10, 1, 0)),
    ("related and sparse", 2000, ("HASH", 6, 10, 429496729, 1), ("NOISY", 6, 10, 429496729, 4)),
    ("finer", 3000, ("HASH", 7, 6, 1, 0), ("HASH", 7, 24, 1, 0)),
    ("blocks", 997, ("BLOCK", 0, 100, 1, 0), ("BLOCK", 0, 70, 1, 0)),
    ("large", 100000, ("HASH", 8, 50, 1, 0), ("NOISY", 8, 50, 85000000, 0)),
    ("many small clusters", 5000, ("HASH", 9, 4000, 1000003, 0), ("NOISY", 9, 4000, 1, 0)),
]


def label(kind, salt, modulus, scale, offset, i):
    if kind == "INDEX":
        part = i % modulus
    elif kind == "BLOCK":
        part = i // modulus
    elif kind == "HASH" or mix(i, salt + 200) % 4 != 0:
        part = mix(i, salt) % modulus
    else:  # NOISY: one row in four is somewhere else
        part = mix(i, salt + 100) % modulus
    return (part * scale + offset) & MASK32


def print_agreement():
    print("static const agreement_case agreement_cases[] = {")
    for name, n, a, b in AGREEMENT:
        labels_a = [label(*a, i) for i in range(n)]
        labels_b = [label(*b, i) for i in range(n)]
        nmi = normalized_mutual_info_score(labels_a, labels_b)
        ari = adjusted_rand_score(labels_a, labels_b)
        fields = ["{%s, %d, %d, %du, %du}" % spec for spec in (a, b)]
        print(f'    {{"{name}", {n}, {fields[0]},')
        print(f"     {fields[1]}, {nmi!r}, {ari!r}}},")
    print("};")


# ---------------------------------------------------------------- silhouette


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & MASK32, (p0 >> 32) ^ c[3] ^ k[1], p0 & MASK32]
        k = [(k[0] + 0x9E3779B9) & MASK32, (k[1] + 0xBB67AE85) & MASK32]
    return c


def tape(seed, purpose, sub, index, step):
    words = philox(
        [index & MASK32, index >> 32, step, purpose + 256 * sub], [seed & MASK32, seed >> 32]
    )
    return words[0] | words[1] << 32


# name, n, d, number of clusters, spread of a cluster, singles, minmax, max_rows
SILHOUETTE = [
    ("two rows, two clusters and a twin", 3, 1, 2, 1, 0, 0, 0),
    ("apart", 400, 3, 4, 900, 0, 0, 0),
    ("overlapping", 601, 5, 6, 9000, 0, 0, 0),
    ("mixed up", 333, 17, 3, 60000, 0, 0, 0),
    ("one point a cluster", 100, 4, 5, 1, 0, 0, 0),
    ("with singletons", 250, 2, 3, 3000, 40, 0, 0),
    ("minmax", 500, 7, 5, 5000, 0, 1, 0),
    ("minmax with singletons", 129, 16, 4, 7000, 9, 1, 0),
    ("wide", 64, 300, 3, 5000, 0, 0, 0),
    ("a sample", 600, 5, 6, 9000, 0, 0, 200),
    ("a small sample", 600, 5, 3, 2000, 0, 0, 17),
    ("a sample, minmax", 1000, 3, 4, 4000, 30, 1, 333),
]


def row_id(i):
    """Ids that are in no order."""
    return mix(i, 901) << 32 | mix(i, 902)


def row_label(i, n_clusters, n, singles):
    return 1000000 + i if i >= n - singles else mix(i, 903) % n_clusters


def row_value(i, j, n_clusters, spread):
    return mix((mix(i, 903) % n_clusters) * 1000 + j, 904) % 50000 + mix(i * 1000 + j, 905) % spread


def print_silhouette():
    print("static const silhouette_case silhouette_cases[] = {")
    for name, n, d, n_clusters, spread, singles, minmax, max_rows in SILHOUETTE:
        values = np.array(
            [[row_value(i, j, n_clusters, spread) for j in range(d)] for i in range(n)], float
        )
        labels = np.array([row_label(i, n_clusters, n, singles) for i in range(n)])
        if minmax:
            low, high = values.min(axis=0), values.max(axis=0)
            values = (values - low) / (high - low)
        rows = sorted(range(n), key=lambda i: (tape(0, 4, 0, row_id(i), 0), row_id(i)))
        rows = rows[: max_rows or n]
        score = silhouette_score(values[rows], labels[rows])
        print(
            f'    {{"{name}", {n}, {d}, {n_clusters}, {spread}, {singles}, {minmax}, {max_rows}, '
            f"{float(score)!r}}},"
        )
    print("};")


# ---------------------------------------------------------------- the Gaussian set

GAUSSIAN_SEED = 20190711

# clusters, columns, rows a cluster, seed
GAUSSIAN = [(3, 5, 40, GAUSSIAN_SEED), (1, 1, 1, 0), (5, 25, 2000, 1), (2, 32767, 3, MASK64)]


def unit(bits):
    return ((bits >> 12) + 0.5) * 2.0**-52


def gaussian_value(rows_per_cluster, seed, row, column):
    cluster = row // rows_per_cluster
    centre = unit(tape(seed, 5, 0, MASK64 - cluster, column))
    step = column - column % 2
    attempt = 0
    while True:
        a = 2 * unit(tape(seed, 5, attempt, row, step)) - 1
        b = 2 * unit(tape(seed, 5, attempt, row, step + 1)) - 1
        s = a * a + b * b
        if s < 1:
            break
        attempt += 1
    normal = (b if column % 2 else a) * math.sqrt(-2 * math.log(s) / s)
    return float(np.float32(centre + math.sqrt(0.8) * normal))


def checksum(n_clusters, n_columns, rows_per_cluster, seed):
    """FNV-1a over the bytes of the values, row by row."""
    result = 0xCBF29CE484222325
    for row in range(n_clusters * rows_per_cluster):
        for column in range(n_columns):
            value = gaussian_value(rows_per_cluster, seed, row, column)
            for byte in struct.pack("<f", value):
                result = ((result ^ byte) * 0x100000001B3) & MASK64
    return result


def print_gaussian():
    n_clusters, n_columns, rows_per_cluster, seed = GAUSSIAN[0]
    print("static const gaussian_row gaussian_rows[] = {")
    for row in (0, 1, 39, 40, 79, 80, 119):
        values = ", ".join(
            f"{gaussian_value(rows_per_cluster, seed, row, j):.9g}" for j in range(n_columns)
        )
        print(f"    {{{row}, {{{values}}}}},")
    print("};")
    print()
    print("static const gaussian_case gaussian_cases[] = {")
    for case in GAUSSIAN:
        print("    {%d, %d, %d, %du, " % case + f"UINT64_C(0x{checksum(*case):016X})}},")
    print("};")


if __name__ == "__main__":
    print_agreement()
    print()
    print_silhouette()
    print()
    print_gaussian()
