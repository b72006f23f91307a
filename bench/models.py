#!/usr/bin/python3
"""Measures what it takes to forget one person, for every model beside a fit to the rows that remain: the
table of README.md.

    bench/models.py                   measure all models, write docs/measured/models.csv and the table
    bench/models.py --model NAME      measure one model of the table again
    bench/models.py --check README    fail if the table of the CSV file is not in README

A model is fitted to rows in memory. Then PEOPLE persons leave, one after the other, each with all of their
rows; after each the model answers a question (it predicts a row), so that nothing is put off. In the end
the same model is fitted again, answers the same question, and has to be byte for byte what it was. Times
are those of one processor, in which waiting for others does not count: the median over the persons, and one
fit. Forests have fewer rows, because they take longer to fit. A new family of models gets a line in MODELS.

Needs `make python`. The order of models in the file is that of MODELS.
"""

import argparse
import csv
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent
RESULTS = SOURCE / "docs" / "measured" / "models.csv"
BEGIN, END = "<!-- models -->", "<!-- /models -->"
PEOPLE, ROWS_OF_PERSON, COLUMNS, CLUSTERS = 25, 10, 10, 10
MANY, SOME = 1_000_000, 100_000
SEED = {"random_state": 7}

# Name in the table, name for --family and its options, class in Python, parameters, rows, what y is.
MODELS = [
    ("k-means, pyramid", "kmeans", "KMeans", {"n_clusters": CLUSTERS, **SEED}, MANY, None),
    ("k-means, Lloyd", "kmeans --method lloyd", "KMeans",
     {"n_clusters": CLUSTERS, **SEED, "method": "lloyd"}, MANY, None),
    ("k-means, the paper's Q", "kmeans --method quantized", "KMeans",
     {"n_clusters": CLUSTERS, **SEED, "method": "quantized"}, MANY, None),
    ("k-means, the paper's DC", "kmeans --method tree", "KMeans",
     {"n_clusters": CLUSTERS, **SEED, "method": "tree"}, MANY, None),
    ("means", "means", "ColumnMeans", {}, MANY, None),
    ("linear and ridge regression", "linear", "LinearRegression", {}, MANY, "number"),
    ("kernel ridge regression", "fourier", "FourierRidge",
     {"gamma": 0.1, "n_components": 100, **SEED}, MANY, "number"),
    ("ridge classifier", "ridge", "RidgeClassifier", {}, MANY, "class"),
    ("naive Bayes", "bayes", "GaussianNB", {}, MANY, "class"),
    ("discriminant analysis", "discriminant", "LinearDiscriminantAnalysis", {}, MANY, "class"),
    ("principal components", "components", "PCA", {}, MANY, None),
    ("segmented regression", "segmented", "SegmentedRegression", {"n_clusters": CLUSTERS, **SEED}, MANY,
     "number"),
    ("logistic regression", "logistic", "LogisticRegression", SEED, MANY, "class"),
    ("linear support vector machine", "svm", "LinearSVC", SEED, MANY, "class"),
    ("forest that votes for a class", "forest --class COL", "ForestClassifier", SEED, SOME, "class"),
    ("forest that predicts a number", "forest --target COL", "ForestRegressor", SEED, SOME, "number"),
]


def make_rows(n_rows):
    """Rows around centers, of three classes, with a number that depends on them; always the same."""
    import numpy as np
    rng = np.random.RandomState(20191105)
    centers = rng.uniform(0, 1, (CLUSTERS, COLUMNS))
    of = rng.randint(0, CLUSTERS, n_rows)
    X = (centers[of] + 0.15 * rng.standard_normal((n_rows, COLUMNS))).astype(np.float32)
    number = X @ rng.standard_normal(COLUMNS) + 0.3 * rng.standard_normal(n_rows)
    return X, {None: None, "number": number.astype(np.float32), "class": (of % 3).astype(np.int64)}


def seconds_of(call):
    begin = time.process_time()
    call()
    return time.process_time() - begin


def measure(model):
    """(seconds to forget a person, the slowest, seconds to fit) of one processor."""
    import efface
    import numpy as np
    name, _, cls, parameters, n_rows, target = model
    X, targets = make_rows(n_rows)
    kind = getattr(efface, cls)
    estimator = kind(**parameters, n_threads=1)
    y = targets[target]
    estimator.fit(X, *([] if y is None else [y]), ids=np.arange(n_rows))
    answer = getattr(estimator, "transform" if cls == "PCA" else "predict")

    def forget(person):
        first = person * ROWS_OF_PERSON
        estimator.forget(ids=np.arange(first, first + ROWS_OF_PERSON))
        answer(X[-1:])

    persons = np.random.RandomState(1).permutation(n_rows // ROWS_OF_PERSON - 1)[:PEOPLE]
    times = [seconds_of(lambda: forget(int(person))) for person in persons]
    before = estimator.digest()
    fit = []

    def verify():
        fit.append(bool(estimator.verify()))
        answer(X[-1:])

    seconds = seconds_of(verify)
    if fit != [True] or estimator.digest() != before:
        sys.exit(f"{name}: the model differs from a fit to the rows that remain")
    return statistics.median(times), max(times), seconds


def read_results():
    with open(RESULTS, encoding="utf-8") as file:
        return {row["model"]: row for row in csv.DictReader(file)}


def write_results(rows):
    fields = ("model", "rows", "forget_seconds", "slowest_seconds", "fit_seconds")
    with open(RESULTS, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[model[0]] for model in MODELS if model[0] in rows)


def in_words(seconds):
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= 0.9995 * unit:
            return f"{seconds / unit:.2g} {name}" if seconds < 99.5 * unit else \
                f"{seconds / unit:.0f} {name}"
    return f"{seconds * 1e6:.2g} µs" if seconds < 99.5e-6 else f"{seconds * 1e6:.0f} µs"


def table(rows):
    """The lines of the table in README."""
    lines = [f"| model | `--family` | in Python | rows | forget one person | the slowest of {PEOPLE} | train again |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for name, family, cls, _, n_rows, _ in MODELS:
        row = rows[name]
        lines.append(f"| {name} | `{family}` | `{cls}` | {n_rows:,} | "
                     f"{in_words(float(row['forget_seconds']))} | "
                     f"{in_words(float(row['slowest_seconds']))} | "
                     f"{in_words(float(row['fit_seconds']))} |")
    return lines


def divided(readme):
    text = Path(readme).read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        sys.exit(f"{readme}: has no {BEGIN} ... {END}")
    before, rest = text.split(BEGIN + "\n", 1)
    between, after = rest.split(END, 1)
    return before, between, after


def check(readme):
    rows = read_results()
    if list(rows) != [model[0] for model in MODELS]:
        sys.exit(f"{RESULTS}: has other models than bench/models.py")
    if divided(readme)[1] != "\n".join(table(rows)) + "\n":
        sys.exit(f"{readme}: the table of models is not that of {RESULTS.name}")
    print(f"{len(rows)} models: the table is that of {RESULTS.name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", action="append", help="measure this one alone")
    parser.add_argument("--check", metavar="README")
    arguments = parser.parse_args()
    if arguments.check:
        check(arguments.check)
        return
    sys.path.insert(0, str(SOURCE / "build" / "python"))
    rows = read_results() if RESULTS.exists() else {}
    for model in MODELS:
        if arguments.model and model[0] not in arguments.model:
            continue
        forget, slowest, fit = measure(model)
        rows[model[0]] = {"model": model[0], "rows": model[4], "forget_seconds": f"{forget:.3g}",
                          "slowest_seconds": f"{slowest:.3g}", "fit_seconds": f"{fit:.3g}"}
        print(model[0], in_words(forget), in_words(slowest), in_words(fit), sep="; ", flush=True)
        write_results(rows)
    if set(rows) == {model[0] for model in MODELS}:
        readme = SOURCE / "README.md"
        before, _, after = divided(readme)
        readme.write_text("\n".join([before + BEGIN, *table(rows), END]) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
