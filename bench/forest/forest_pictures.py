#!/usr/bin/python3
"""Draws the pictures of docs/definition/forest.md and docs/measured/forests.md.

    bench/forest/forest_pictures.py --tree                a tree before and after a person left
    bench/forest/forest_pictures.py --covtype FOLDER      accuracy and time while rows are forgotten
    bench/forest/forest_pictures.py --reuse               draw the second one from its CSV file again

The first has one tree of examples/people.csv and the person whose --owner is given. The second has
100 trees of covtype, as FOLDER/x.npy.gz and y.npy.gz; every fourth row is held out. Rows are
forgotten one by one. At milestones the forest is fitted again to the rows that are left, and has to
have the same digest. The time of training again after each request is that of these fits, with
straight lines between them. One thread; all times are those of the processor. Pictures go to the
folder --out as SVG, and the numbers of the second to forest_covtype.csv there.

Needs gnuplot, numpy and the Python package of efface (make python).
"""

import csv
import struct
import sys
import time
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from contest import Failure, add_package, load, use_package  # noqa: E402

import numpy as np  # noqa: E402
from experiments.plotting import Box, draw, tics, time_axis  # noqa: E402
from experiments.results import Look  # noqa: E402
from experiments.scripts import parser, run_script  # noqa: E402

BLUE, ORANGE = "#0072B2", "#D55E00"  # of the palette of Okabe and Ito

# ---------------------------------------------------------------- a tree

FEATURES = ["age", "income", "visits"]
KINDS = ["daily", "rare", "regular"]
Node = namedtuple("Node", "column threshold counts left right")


def read_people(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def fit_tree(people, options):
    import efface

    model = efface.ForestClassifier(
        1, random_state=options.seed, max_depth=3, min_samples_split=6, min_samples_leaf=2)
    return model.fit([[float(p[name]) for name in FEATURES] for p in people],
                     [KINDS.index(p["kind"]) for p in people], ids=[int(p["id"]) for p in people],
                     owners=[p["owner"] or None for p in people])


def read_tree(model):
    """The tree of a forest with one that is not deeper than 5, from canonical bytes."""
    data = model.encode()
    n_classes = struct.unpack_from("<Q", data, 52)[0]
    at = 60 + 8 * n_classes

    def read(form):
        nonlocal at
        values = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        return values

    def node():
        head, = read("<I")
        if head & 3 == 0:
            return Node(None, None, dict(read("<Iq") for _ in range(head >> 8)), None, None)
        threshold, = read("<f")
        left = node()
        return Node(head >> 8, threshold, None, left, node())

    return node()


def leaves(node):
    return 1 if node.column is None else leaves(node.left) + leaves(node.right)


def is_same_split(node, other):
    return (node.column, node.threshold) == (other.column, other.threshold)


def draw_tree(sheet, node, other, unit, new, top, left=0, above=None):
    """A node and all below it; `other` is what stands at its place in the other tree. Places where
    the trees divide rows otherwise are orange."""
    new = new or other is None or not is_same_split(node, other)
    x, width = 20 + (left + leaves(node) / 2) * unit, 112
    colour = ORANGE if new else BLUE
    if above:
        sheet.overlay.append(f"set arrow from {above[0]},{above[1] + 17} to {x},{top - 17} nohead "
                             f"lw {1.8 if new else 1.2} lc rgb '{ORANGE if new else '#909090'}'")
    fill = {True: "#fbe6d9", False: "#eaf3f9" if node.column is not None else "#ffffff"}[new]
    sheet.overlay.append(
        f"set object rect from {x - width / 2},{top - 17} to {x + width / 2},{top + 17} behind "
        f"fc rgb '{fill}' fs solid border lc rgb '{colour}' lw {1.8 if new else 1.2}")
    if node.column is None:
        parts = [f"{n} {KINDS[c]}" for c, n in sorted(node.counts.items())]
        moved = not new and node.counts != other.counts
        for i, part in enumerate(parts):
            sheet.label(part, x, top + 11 * i - 5.5 * (len(parts) - 1), "center", 11, bold=moved)
        return
    threshold = f"{node.threshold:,.0f}" if node.threshold >= 1000 else f"{node.threshold:.1f}"
    sheet.label(f"{FEATURES[node.column]} ≤ {threshold}", x, top, "center", 11.5)
    middle = left + leaves(node.left)
    draw_tree(sheet, node.left, other and other.left, unit, new, top + 62, left, (x, top))
    draw_tree(sheet, node.right, other and other.right, unit, new, top + 62, middle,
              (x, top))


def draw_trees(options):
    people = read_people(options.people)
    model = fit_tree(people, options)
    before = read_tree(model)
    report = model.forget(owners=options.owner)
    after = read_tree(model)
    left = [p for p in people if p["owner"] != options.owner]
    if model.digest() != fit_tree(left, options).digest():
        raise Failure("the tree is not that of a fresh fit")
    print(report)
    most = max(leaves(before), leaves(after))
    unit = 820 / most

    def place(sheet):
        gone = len(people) - len(left)
        sheet.label(f"before: {len(people)} rows", 20, 16, size=13, bold=True)
        draw_tree(sheet, before, after, unit, False, 42)
        sheet.label(f"after {options.owner}, who had {gone} rows, left: {len(left)} rows",
                    20, 286, size=13, bold=True)
        draw_tree(sheet, after, before, unit, False, 312)

    small = ["Rows for which the condition holds go left. Orange: another split, and all below it "
             "was grown again. Bold: a leaf that lost rows. bench/forest/forest_pictures.py --tree"]
    draw(options.out / "forest_tree", "A tree before and after a person left",
         "bench/forest/forest_pictures.py --tree", 534, small, place)


# ---------------------------------------------------------------- accuracy and time


def measure(options):
    import efface

    x, y = load(options.covtype / "x.npy.gz"), load(options.covtype / "y.npy.gz").astype(int)
    x = x.reshape(len(x), -1)
    held = np.arange(len(x)) % 4 == 3
    order = np.random.default_rng(1).permutation(np.flatnonzero(~held))
    n_gone = options.deletions

    def fit(ids):
        model = efface.ForestClassifier(100, random_state=0, n_threads=1)
        begin = time.process_time()
        model.fit(x[ids], y[ids], ids=ids)
        return model, time.process_time() - begin

    model, seconds = fit(order)
    rows, spent, trained, last = [], seconds, seconds, seconds
    milestones = np.unique(np.linspace(0, n_gone, 21).astype(int))
    gone = 0
    for milestone in milestones:
        for row in order[gone:milestone]:
            begin = time.process_time()
            model.forget(ids=[int(row)])
            spent += time.process_time() - begin
        fresh, seconds = fit(order[milestone:])
        if fresh.digest() != model.digest():
            raise Failure(f"after {milestone} rows the forest is not that of a fresh fit")
        trained += (milestone - gone) * (last + seconds) / 2
        last, gone = seconds, milestone
        rows.append({"deletions": milestone, "accuracy": model.score(x[held], y[held]),
                     "fresh_accuracy": fresh.score(x[held], y[held]), "forget_seconds": spent,
                     "train_seconds": trained, "fit_seconds": seconds})
        print(rows[-1], flush=True)
    with open(options.out / "forest_covtype.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def draw_curves(options):
    with open(options.out / "forest_covtype.csv", encoding="utf-8") as file:
        rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
    ours = Look("forgetting, row by row", BLUE, "solid", 0)
    theirs = Look("training again after each row", ORANGE, "(6,4)", 6)
    most = rows[-1]["deletions"]

    def panel(sheet, box, fields, title, *settings):
        steps = tics(np.linspace(0, most, 5), lambda v: f"{v:,.0f}")
        sheet.begin_panel(box, f"set xrange [0:{most:g}]", f"set xtics {steps}", *settings)
        plots = []
        for field, look in zip(fields, (ours, theirs)):
            block = sheet.block([(r["deletions"], r[field]) for r in rows])
            plots += [f"{block} with lines {sheet.line(look)} notitle", *sheet.points(block, look)]
        sheet.plot(plots)
        sheet.label(title, box.left - 40, box.top - 16, size=12.5, bold=True)
        sheet.label("deletions", (box.left + box.right) / 2, box.bottom + 36, "center", 12)

    def place(sheet):
        sheet.key([ours, theirs], 4)
        least = min(r["accuracy"] for r in rows)
        panel(sheet, Box(60, 62, 410, 300), ("accuracy", "fresh_accuracy"),
              "accuracy on rows that were held out", "set format y '%.2f'",
              f"set yrange [{least - 0.02:.3f}:*]")
        low, high = rows[0]["forget_seconds"] / 2, rows[-1]["train_seconds"] * 2
        panel(sheet, Box(500, 62, 825, 300), ("forget_seconds", "train_seconds"),
              "time since the beginning, with the first fit", *time_axis("y", low, high))

    small = ["covtype, 100 trees, one thread. At each circle both forests have the same digest: "
             "they are the same bytes. bench/forest/forest_pictures.py --covtype"]
    draw(options.out / "forest_covtype", "Accuracy and time while rows are forgotten",
         "bench/forest/forest_pictures.py --covtype", 356, small, place)


def parse_arguments():
    arguments = parser(__doc__)
    arguments.add_argument("--tree", action="store_true")
    arguments.add_argument("--people", type=Path, default=HERE.parents[1] / "examples/people.csv")
    arguments.add_argument("--owner", default="p8")
    arguments.add_argument("--seed", type=int, default=4)
    arguments.add_argument("--covtype", type=Path, metavar="FOLDER")
    arguments.add_argument("--deletions", type=int, default=10_000)
    arguments.add_argument("--reuse", action="store_true")
    arguments.add_argument("--out", type=Path, default=HERE.parents[1] / "docs/measured/figures")
    add_package(arguments)
    return arguments.parse_args()


def main():
    options = parse_arguments()
    if options.tree or options.covtype:
        use_package(options.package)
    if options.tree:
        draw_trees(options)
    if options.covtype:
        measure(options)
    if options.covtype or options.reuse:
        draw_curves(options)


if __name__ == "__main__":
    run_script(main)
