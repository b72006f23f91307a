#!/usr/bin/python3
"""Compares what sums give with scikit-learn: coefficients, components and accuracies.

    bench/sums/sums_peers.py --folder DIR [--rows N] [--only WORDS]

DIR has the sets as docs/measured/data.md describes them: DIR/celltype/x.npy.gz, y.npy.gz and so on; sets
that are not there are left out, and said so. Other tables are generated, well and ill conditioned.

Coefficients: scikit-learn gets the rows in double *on the same grid*: each value rounded to
float32, and then to 23 bits of the largest magnitude of its column. What remains is what the two
solvers do. A normal equation loses with the square of the condition number (that of the centred
columns, scaled to variance 1, without constant ones), so differences up to 1e-9, or that square
times 2^-50 if it is more, are allowed; the program fails beyond that. Columns that depend on others
leave many solutions: then predictions are compared. Without a penalty scikit-learn gets columns
divided by powers of two, for its solver goes by their size.

Accuracies: both are fitted to two thirds of the rows, as they are, and predict the rest. They have
to agree to 0.001.

Needs numpy, scikit-learn and the Python package of efface (make python). To compare with another
scikit-learn, run this program by the python of an environment that has it.
"""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contest import load  # noqa: E402 (it comes before numpy)

import efface  # noqa: E402
import numpy as np  # noqa: E402
import sklearn  # noqa: E402
from experiments.scripts import parser, run_script  # noqa: E402
from sklearn import (  # noqa: E402
    decomposition, discriminant_analysis, linear_model, naive_bayes,
)

FILES = ["celltype", "covtype", "mnist"]


# ---------------------------------------------------------------- data


def snapped(values):
    """Values on the grid of their column, in double."""
    values = values.astype(np.float32).astype(np.float64)
    most = np.abs(values).max(axis=0)
    with np.errstate(divide="ignore"):
        exponents = np.where(most > 0, np.ceil(np.log2(most)), -100)
    exponents += np.ldexp(1.0, exponents.astype(int)) < most  # where the logarithm was rounded
    exponents -= np.ldexp(1.0, exponents.astype(int) - 1) >= most
    step = 23 - np.maximum(exponents, -100).astype(int)
    return np.ldexp(np.rint(np.ldexp(values, step)), -step)


def generated(rng):
    """Tables of features, the last column being the target."""
    n, d = 3000, 20
    base = rng.standard_normal((n, d))
    truth = rng.standard_normal(d)

    def with_target(x, noise=0.1):
        y = x / x.std(axis=0) @ truth + noise * rng.standard_normal(n) + 1.0
        return np.column_stack([x, y])

    yield "normal", with_target(base)
    yield "scales", with_target(base * 10.0 ** np.linspace(-6, 6, d))
    yield "means", with_target(base + 100.0 * np.arange(d))
    for power in (2, 3, 4, 6):
        mixed = base.copy()
        mixed[:, 1] = mixed[:, 0] + 10.0**-power * base[:, 1]
        yield f"nearly dependent 1e-{power}", with_target(mixed)
    wide = rng.standard_normal((60, 50))
    yield "few rows", np.column_stack([wide, wide @ rng.standard_normal(50)])


def condition(x):
    """Of the centred columns, scaled to variance 1, without constant ones."""
    x = x - x.mean(axis=0)
    spread = x.std(axis=0)
    x = x[:, spread > 0] / spread[spread > 0]
    values = np.linalg.svd(x, compute_uv=False)
    return values[0] / values[-1] if values[-1] > 0 else np.inf


# ---------------------------------------------------------------- comparisons


class Report:
    def __init__(self, only):
        self.only = only
        self.n_failed = 0

    def wants(self, *words):
        return self.only is None or any(self.only in word for word in words)

    def line(self, name, what, numbers, good):
        self.n_failed += not good
        print(f"{name:24} {what:34} {numbers}{'' if good else '   TOO DIFFERENT'}", flush=True)


def difference(a, b, spread):
    """How far apart two lists of coefficients are, in units of their columns."""
    a, b = np.atleast_2d(a) * spread, np.atleast_2d(b) * spread
    return np.abs(a - b).max() / np.abs(b).max()


def even(x):
    """Powers of two by which columns get a similar spread, without rounding."""
    spread = x.std(axis=0)
    return 2.0 ** np.round(np.log2(np.where(spread > 0, spread, 1.0)))


def compare_coefficients(report, name, table, alphas=(0.0, 1.0)):
    grid = snapped(table)
    x, y = grid[:, :-1], grid[:, -1]
    spread = x.std(axis=0)
    bare = condition(x)
    units = even(x)
    for alpha in alphas:
        for intercept in (True, False):
            if alpha == 0.0:
                peer = linear_model.LinearRegression(fit_intercept=intercept)
                if "tol" in peer.get_params():  # else it leaves out what is below a millionth
                    peer.set_params(tol=1e-14)
                ours = efface.LinearRegression(fit_intercept=intercept)
            else:
                peer = linear_model.Ridge(alpha, fit_intercept=intercept, solver="svd")
                ours = efface.Ridge(alpha, fit_intercept=intercept)
            scale = units if alpha == 0.0 else 1.0
            peer.fit(x / scale, y)
            ours.fit(table[:, :-1], table[:, -1])
            kappa = bare if intercept else np.linalg.cond(x[:, spread > 0] / spread[spread > 0])
            what = f"alpha {alpha:g}{'' if intercept else ', no intercept'}"
            if kappa > 1e8 and alpha == 0.0:  # there are many solutions, with the same predictions
                theirs, mine = peer.predict(x / scale), ours.predict(x)
                apart = np.abs(theirs - mine).max() / np.abs(theirs).max()
                shown, allowed = "predictions", 1e-7
            else:
                apart = difference(ours.coef_, peer.coef_ / scale, spread)
                shown = "coefficients"
                bad = kappa if alpha == 0.0 else min(kappa, 1e4)  # a penalty mends the worst
                allowed = max(1e-9, bad * bad * 2.0**-50)
            report.line(name, what, f"condition {kappa:8.2e}  {shown} {apart:8.2e}  "
                        f"allowed {allowed:8.2e}", apart <= allowed)


def compare_components(report, name, table, n_components):
    x = snapped(table)
    peer = decomposition.PCA(n_components, svd_solver="full").fit(x)
    ours = efface.PCA(n_components).fit(table)
    values = np.abs(ours.explained_variance_ / peer.explained_variance_ - 1.0).max()
    along = np.abs(np.einsum("ij,ij->i", ours.components_, peer.components_))
    gaps = np.diff(peer.explained_variance_) / peer.explained_variance_[0]
    report.line(name, f"{n_components} components",
                f"variances {values:8.2e}  cosines 1 - {1.0 - along.min():8.2e}"
                f"  smallest gap {np.abs(gaps).min():8.2e}", values <= 1e-9)


def classifiers():
    shrunk = {"reg_param": 0.01}  # without it, scikit-learn refuses what has constant columns
    return [
        ("RidgeClassifier", linear_model.RidgeClassifier(), efface.RidgeClassifier()),
        ("GaussianNB", naive_bayes.GaussianNB(), efface.GaussianNB()),
        ("LinearDiscriminantAnalysis", discriminant_analysis.LinearDiscriminantAnalysis(),
         efface.LinearDiscriminantAnalysis()),
        ("QuadraticDiscriminantAnalysis",
         discriminant_analysis.QuadraticDiscriminantAnalysis(**shrunk),
         efface.QuadraticDiscriminantAnalysis(**shrunk)),
    ]


def compare_classifiers(report, name, x, y):
    order = np.random.default_rng(5).permutation(len(x))
    train, test = order[: 2 * len(x) // 3], order[2 * len(x) // 3 :]
    for what, peer, ours in classifiers():
        if not report.wants(name, what):
            continue
        try:
            theirs = peer.fit(x[train], y[train]).predict(x[test])
        except np.linalg.LinAlgError as error:
            print(f"{name:24} {what:34} scikit-learn: {error}")
            continue
        mine = ours.fit(x[train], y[train]).predict(x[test])
        scores = [float((predicted == y[test]).mean()) for predicted in (theirs, mine)]
        report.line(name, what, f"scikit-learn {scores[0]:.4f}  efface {scores[1]:.4f}"
                    f"  same answer {float((theirs == mine).mean()):.4f}",
                    abs(scores[0] - scores[1]) < 1e-3)


# ---------------------------------------------------------------- the program


def parse():
    arguments = parser(__doc__)
    arguments.add_argument("--folder", type=Path, help="where the sets are; none: generated ones only")
    arguments.add_argument("--rows", type=int, default=20000, help="at most so many of a set's rows")
    arguments.add_argument("--only", help="sets or classifiers whose names have this in them")
    return arguments.parse_args()


def main():
    asked = parse()
    report = Report(asked.only)
    warnings.simplefilter("ignore")
    print(f"efface {efface.__version__}, scikit-learn {sklearn.__version__}")
    for name, table in generated(np.random.default_rng(18)):
        if report.wants(name):
            compare_coefficients(report, name, table)
    for name in FILES if asked.folder is not None else []:
        if not (asked.folder / name / "x.npy.gz").exists():
            print(f"{name} is not there")
            continue
        x = load(asked.folder / name / "x.npy.gz")[: asked.rows].astype(np.float64)
        y = load(asked.folder / name / "y.npy.gz")[: asked.rows]
        x = x.reshape(len(x), -1)
        if report.wants(name):
            varied = x[:, x.std(axis=0) > 0]
            alphas = (1.0,) if name == "mnist" else (0.0, 1.0)
            compare_coefficients(report, name, np.column_stack([x, y]), alphas)
            compare_components(report, name, varied, min(10, varied.shape[1]))
        compare_classifiers(report, name, x, y)
    return 1 if report.n_failed else 0


if __name__ == "__main__":
    run_script(main)
