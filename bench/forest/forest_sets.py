"""The sets that forest_quality.py and forest_speed.py measure: files, and generated ones.

A set is a name, rows as float32, and y: classes (whole numbers) or a target (float64). Generated
sets are the same in every run.
"""

from contest import Failure, load

import numpy as np


def load_set(folder, name, n_rows=None):
    x, y = load(folder / name / "x.npy.gz"), load(folder / name / "y.npy.gz")
    return x.reshape(len(x), -1)[:n_rows].astype(np.float32), y[:n_rows].astype(np.int64)


# ---------------------------------------------------------------- classes


def gaussian(random):
    """Five clusters in 25 columns that overlap a little."""
    y = random.integers(0, 5, 20_000)
    return random.normal(0, 1, (5, 25))[y] + random.normal(0, 1.8, (20_000, 25)), y


def letters(random):
    """26 classes of 4 kinds each, in 16 columns of whole numbers from 0 to 15."""
    y = random.integers(0, 26, 20_000)
    kind = random.integers(0, 4, 20_000)
    middle = random.integers(2, 14, (26, 16))[y] + random.integers(-2, 3, (26, 4, 16))[y, kind]
    return np.clip(np.rint(random.normal(middle, 3)), 0, 15), y


def tails(random):
    """Lognormal columns; the class depends on their logarithms."""
    logs = random.normal(0, 3, (20_000, 12))
    score = logs[:, 0] + logs[:, 1] * (logs[:, 2] > 0) - logs[:, 3] + random.normal(0, 1, 20_000)
    return np.exp(logs), np.digitize(score, [-3, 0, 3])


def cauchy(random):
    """Columns without a mean; the class depends on what lies near 0."""
    x = random.standard_cauchy((20_000, 10))
    score = np.arctan(x[:, 0]) + np.arctan(x[:, 1]) * np.sign(x[:, 2]) + 0.5 * np.arctan(x[:, 3])
    return x, np.digitize(score + random.normal(0, 0.2, 20_000), [-0.8, 0.8])


def skewed(random):
    """Five columns; of five classes the rarest has one row in 500."""
    y = random.choice(5, 40_000, p=[0.8, 0.15, 0.04, 0.008, 0.002])
    return random.normal(0, 2, (5, 5))[y] + random.normal(0, 1, (40_000, 5)), y


def random_labels(random):
    """Two classes that no column tells."""
    return random.normal(0, 1, (20_000, 8)), random.integers(0, 2, 20_000)


def xor(random):
    """The class is the sign of the product of two of 20 columns."""
    x = random.uniform(-1, 1, (20_000, 20))
    return x, (x[:, 0] * x[:, 1] > 0).astype(np.int64)


# ---------------------------------------------------------------- targets


def friedman(random):
    x = random.uniform(0, 1, (10_000, 10))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3]
    return x, y + 5 * x[:, 4] + random.normal(0, 1, len(x))


def long_target(random):
    """Lognormal columns, and a lognormal target."""
    logs = random.normal(0, 2, (10_000, 8))
    y = 0.3 * logs[:, 0] + 0.3 * np.abs(logs[:, 1]) + 0.2 * logs[:, 2] * (logs[:, 3] > 0)
    return np.exp(logs), np.exp(y + random.normal(0, 0.2, len(y)))


def pieces(random):
    """A target that is constant on boxes."""
    x = random.uniform(0, 1, (10_000, 6))
    cells = np.floor(4 * x[:, 0]).astype(int), np.floor(3 * x[:, 1]).astype(int)
    return x, random.normal(0, 3, (4, 3))[cells] + (x[:, 2] > 0.7) + random.normal(0, 0.5, len(x))


def random_target(random):
    """A target that no column tells."""
    return random.normal(0, 1, (20_000, 8)), random.normal(0, 1, 20_000)


# ---------------------------------------------------------------- all of them


CLASSES = {
    "letters": letters,
    "lognormal": tails,
    "cauchy": cauchy,
    "skewed": skewed,
    "random labels": random_labels,
    "xor": xor,
}
TARGETS = {"friedman": friedman, "long target": long_target, "pieces": pieces,
           "random target": random_target}


def sets(folder, names=None):
    """Names, rows and y, one set after the other; all, or those of `names`."""

    def generate(make):
        x, y = make(np.random.default_rng(1))
        return x.astype(np.float32), y

    def elevation():
        x = load_set(folder, "covtype")[0]
        return x[:, 1:], x[:, 0].astype(np.float64)

    makers = {
        "celltype": lambda: load_set(folder, "celltype"),
        "covtype": lambda: load_set(folder, "covtype"),
        "mnist": lambda: load_set(folder, "mnist", 20_000),
        "gaussian": lambda: generate(gaussian),
        **{name: lambda make=make: generate(make) for name, make in CLASSES.items()},
        **{name: lambda make=make: generate(make) for name, make in TARGETS.items()},
        "elevation": elevation,
    }
    unknown = sorted(set(names or []) - set(makers))
    if unknown:
        raise Failure(f"there is no set {unknown[0]}; there are {', '.join(makers)}")
    for name, make in makers.items():
        if not names or name in names:
            yield name, *make()


def has_classes(y):
    return y.dtype.kind == "i"
