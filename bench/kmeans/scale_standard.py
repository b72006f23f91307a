#!/usr/bin/python3
"""Measures the scale `standard`: how often a request moves the unit of a column, and how good models are
beside those of a pipeline with a StandardScaler.

    bench/kmeans/scale_standard.py --data DIRECTORY moves|quality|steps|views [--sets NAMES] [--requests N]

moves    requests to forget a random row, to models of one cluster (units do not depend on the number of
         clusters) with seeds of their own; beside what the formula expects for the columns
quality  k-means with scale="standard" beside Pipeline(StandardScaler(), KMeans()): sums of squares within
         clusters, in exact deviations, over seeds
steps    the same for units of deviations that are rounded to 2, 4 and 8 steps an octave, beside exact ones
views    ridge and components beside the pipelines of scikit-learn: R^2 of held-out rows, differences

The sets are raw: columns as they were measured. Needs `make python` and scikit-learn.
"""

import argparse
import gzip
import math
import sys
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "build" / "python"))

SETS = ("celltype", "covtype", "postures_part", "botnet_sample", "mnist")
CLUSTERS = {"celltype": 4, "covtype": 7, "postures_part": 5, "botnet_sample": 9, "mnist": 10}
UNITS = [10.0 ** (j % 7 - 3) for j in range(1000)]
"""Sets that came scaled get columns of very different size back."""


def load(directory, name):
    with gzip.open(directory / name / "x.npy.gz") as file:
        X = np.load(file).astype(np.float64)
    with gzip.open(directory / name / "y.npy.gz") as file:
        y = np.load(file)
    spread = X.max(axis=0) - X.min(axis=0)
    if name != "mnist" and np.allclose(spread[spread > 0], spread.max(), rtol=0.01):
        X = X * UNITS[: X.shape[1]]
    return X.astype(np.float32), y


def expected_moves(X):
    """Of one request: four steps an octave of the deviation, and centres four units apart."""
    X = X.astype(np.float64)
    deviation = X.std(axis=0)
    used = deviation > 0
    z = (X[:, used] - X[:, used].mean(axis=0)) / deviation[used]
    units = np.abs(z**2 - 1).mean(axis=0) * 2 / math.log(2)
    centres = np.abs(z).mean(axis=0) / 4
    return (units + centres).sum() / len(X)


def simulated_moves(X, n_requests):
    """The same counted, for a new seed and a random row each time: (requests, columns) that moved."""
    X = X.astype(np.float64)
    X = X[:, X.std(axis=0) > 0]
    n, d = X.shape
    mean, variance = X.mean(axis=0), X.var(axis=0)
    rng = np.random.default_rng(2)
    requests = columns = 0
    for row in rng.integers(n, size=n_requests):
        away = X[row] - mean
        new_mean = mean - away / (n - 1)
        new_variance = np.maximum(variance * n / (n - 1) - away**2 * n / (n - 1) ** 2, 1e-300)
        theta, phi = rng.uniform(size=(2, d))
        steps, new_steps = 2 * np.log2(variance) + theta, 2 * np.log2(new_variance) + theta
        pitch = 4 * 2 ** ((np.floor(steps) + 0.5 - theta) / 4)
        moved = np.floor(steps) != np.floor(new_steps)
        moved |= np.floor(mean / pitch - phi + 0.5) != np.floor(new_mean / pitch - phi + 0.5)
        requests += moved.any()
        columns += moved.sum()
    return requests, columns


def count_reasons(X, scale, arguments):
    """How often requests had which reason."""
    import efface

    each = arguments.requests // arguments.models
    rng = np.random.default_rng(1)
    reasons = {}
    for seed in range(arguments.models):
        model = efface.KMeans(1, method="lloyd", max_iter=1, candidates=1, scale=scale,
                              random_state=seed).fit(X, ids=range(len(X)))
        for row in rng.choice(len(X), each, replace=False):
            reason = model.forget(ids=[int(row)]).reason
            reasons[reason] = reasons.get(reason, 0) + 1
        assert seed % 50 != 0 or model.verify()
    return reasons


def moves(X, _, name, arguments):
    n, d = X.shape
    n_done = arguments.requests // arguments.models * arguments.models
    reasons = count_reasons(X, "standard", arguments)
    moved = reasons.get("the unit of a column changed", 0)
    ranges = sum(n for reason, n in reasons.items() if "range" in reason)
    ends = sum(n for reason, n in count_reasons(X, "minmax", arguments).items() if "range" in reason)
    wanted = expected_moves(X)
    requests, columns = simulated_moves(X, 10000)
    print(f"{name}: {n} x {d}: of {n_done} requests to {arguments.models} models {moved} moved a unit "
          f"({100 * moved / max(n_done, 1):.2f} %), {ranges} a range (minmax: {ends}); expected "
          f"{100 * wanted:.2f} % ({wanted * n / d:.1f} d/n); simulated with 10000 seeds "
          f"{requests / 100:.2f} % of requests ({columns / 100:.2f} % counting columns)", flush=True)


def within(Z, labels):
    """Sum of squares around the means of clusters."""
    total = 0.0
    for label in np.unique(labels):
        part = Z[labels == label]
        total += ((part - part.mean(axis=0)) ** 2).sum()
    return total


def quality(X, _, name, arguments):
    import efface
    from sklearn.cluster import KMeans
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    k = CLUSTERS[name]
    Z = StandardScaler().fit_transform(X.astype(np.float64))
    kinds = {
        "pipeline": lambda s: make_pipeline(
            StandardScaler(), KMeans(k, n_init=1, max_iter=300, random_state=s)).fit(X)[-1].labels_,
        "standard": lambda s: efface.KMeans(k, method="lloyd", max_iter=None, scale="standard",
                                            random_state=s).fit(X).labels_,
        "pyramid": lambda s: efface.KMeans(k, scale="standard", random_state=s).fit(X).labels_,
        "minmax": lambda s: efface.KMeans(k, method="lloyd", max_iter=None, scale="minmax",
                                          random_state=s).fit(X).labels_,
    }
    losses = {kind: np.array([within(Z, fit(s)) for s in range(arguments.seeds)])
              for kind, fit in kinds.items()}
    base = losses["pipeline"]
    print(f"{name} {X.shape} k={k}: " + ", ".join(
        f"{kind} median {np.median(v) / np.median(base):.4f} best {v.min() / base.min():.4f}"
        for kind, v in losses.items()), flush=True)


def steps(X, _, name, arguments):
    import efface

    k = CLUSTERS[name]
    X = X.astype(np.float64)
    deviation = X.std(axis=0)
    X, deviation = X[:, deviation > 0], deviation[deviation > 0]
    Z = (X - X.mean(axis=0)) / deviation
    found = {}
    for an_octave in (0, 2, 4, 8):
        losses = []
        for s in range(arguments.seeds):
            rng = np.random.default_rng(s)
            off = rng.uniform(-0.5, 0.5, X.shape[1]) / an_octave if an_octave else 0.0
            model = efface.KMeans(k, method="lloyd", max_iter=None, random_state=s)
            losses.append(within(Z, model.fit((Z / 2.0**off).astype(np.float32)).labels_))
        found[an_octave] = np.array(losses)
    base = found.pop(0)
    print(f"{name} k={k}: " + ", ".join(
        f"{an_octave} an octave: median {np.median(v) / np.median(base):.4f} "
        f"best {v.min() / base.min():.4f}" for an_octave, v in found.items()), flush=True)


def views(X, y, name, arguments):
    import efface
    from sklearn import decomposition, linear_model
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    order = np.random.default_rng(3).permutation(len(X))[:20000]
    X, half = X[order].astype(np.float64), len(order) // 2
    target = X[:, -1] if name != "mnist" else y[order].astype(np.float64)
    X = X[:, :-1][:, X[:half, :-1].std(axis=0) > 0].astype(np.float32)
    row = []
    for alpha in (1.0, 1000.0):
        ours = efface.Ridge(alpha, scale="standard", offset="auto").fit(X[:half], target[:half])
        theirs = make_pipeline(StandardScaler(), linear_model.Ridge(alpha)).fit(
            X[:half].astype(np.float64), target[:half])
        row.append(f"ridge alpha {alpha:g}: R^2 {ours.score(X[half:], target[half:]):.5f} "
                   f"{theirs.score(X[half:].astype(np.float64), target[half:]):.5f}")
    scores = []
    for seed in range(arguments.seeds):
        ours = efface.FourierRidge(1e-2, n_components=200, scale="standard", offset="auto",
                                   random_state=seed).fit(X[:half], target[:half])
        theirs = make_pipeline(
            StandardScaler(),
            RBFSampler(gamma=1 / X.shape[1], n_components=200, random_state=seed),
            linear_model.Ridge(1e-2)).fit(X[:half].astype(np.float64), target[:half])
        scores.append([ours.score(X[half:], target[half:]),
                       theirs.score(X[half:].astype(np.float64), target[half:])])
    mean, error = np.mean(scores, axis=0), np.std(scores, axis=0) / math.sqrt(len(scores))
    row.append(f"Fourier: R^2 {mean[0]:.4f} ({error[0]:.4f}) {mean[1]:.4f} ({error[1]:.4f})")
    ours = efface.PCA(3, scale="standard", offset="auto").fit(X)
    theirs = make_pipeline(StandardScaler(), decomposition.PCA(3)).fit(X.astype(np.float64))
    difference = np.abs(ours.explained_variance_ratio_ - theirs[-1].explained_variance_ratio_).max()
    row.append(f"PCA: shares {ours.explained_variance_ratio_.sum():.5f}, "
               f"largest difference {difference:.1e}")
    print(f"{name}: " + "; ".join(row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["moves", "quality", "steps", "views"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS[:4]))
    parser.add_argument("--requests", type=int, default=10000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--models", type=int, default=500)
    arguments = parser.parse_args()
    for name in arguments.sets.split(","):
        globals()[arguments.what](*load(arguments.data, name), name, arguments)


if __name__ == "__main__":
    main()
