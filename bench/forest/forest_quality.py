#!/usr/bin/python3
"""Compares the accuracy of forests that forget with scikit-learn's forests.

    bench/forest/forest_quality.py --data FOLDER [--sets NAMES] [--seeds 5]

FOLDER has celltype, covtype and mnist as docs/measured/data.md describes them; the other sets are made by
forest_sets.py. Every fourth row is held out. The numbers are accuracies, or R^2, on these rows, of
100 trees with the defaults of each program, means over the seeds; and the last column is how many
points ours are above scikit-learn's RandomForest.

Needs numpy, scikit-learn and the Python package of efface (make python).
"""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contest import add_package, use_package  # noqa: E402 (it comes before numpy)

import numpy as np  # noqa: E402
import sklearn  # noqa: E402
from experiments.page import table  # noqa: E402
from experiments.scripts import listed, parser, run_script  # noqa: E402
from forest_sets import has_classes, sets  # noqa: E402
from sklearn import ensemble  # noqa: E402


def held_out(n):
    return np.arange(n) % 4 == 3


def score(model, x, y):
    test = held_out(len(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(x[~test], y[~test]).score(x[test], y[test])


def contestants(classes):
    import efface  # from the package that --package names

    if classes:
        return (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier,
                efface.ForestClassifier)
    return ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor, efface.ForestRegressor


def measure(x, y, options):
    """Mean scores of the three."""
    return [np.mean([score(make(100, random_state=seed), x, y) for seed in range(options.seeds)])
            for make in contestants(has_classes(y))]


def parse_arguments():
    arguments = parser(__doc__)
    arguments.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    arguments.add_argument("--sets", type=listed)
    arguments.add_argument("--seeds", type=int, default=5)
    add_package(arguments)
    return arguments.parse_args()


def main():
    options = parse_arguments()
    use_package(options.package)
    head = ["set", "rows x columns", "RandomForest", "ExtraTrees", "efface", "points above"]
    print(f"scikit-learn {sklearn.__version__}, {options.seeds} seeds\n")
    print("\n".join(table(head, [])), flush=True)
    for name, x, y in sets(options.data, options.sets):
        means = measure(x, y, options)
        cells = [name, f"{len(x):,} x {x.shape[1]}", *(f"{m:.4f}" for m in means),
                 f"{100 * (means[2] - means[0]):+.2f}"]
        print(table(head, [cells])[-1], flush=True)


if __name__ == "__main__":
    run_script(main)
