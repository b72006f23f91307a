#!/usr/bin/python3
"""The page on quality: its numbers from the losses of runs, and runs that are kept for as long as
they are right."""

import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/kmeans"))

import quality  # noqa: E402
import quality_page as qp  # noqa: E402


def a_case(**losses):
    """A case with twenty losses of 100 for each contestant, and others where they are given. The
    inertia is the loss."""
    runs = {who: [(x, x) for x in losses.get(who, (100.0,) * 20)] for who in qp.METHODS}
    runs[qp.PEER] = [(x, x) for x in losses.get("peer", (100.0,) * 20)]
    return {"name": "a", "n": 1000, "d": 3, "k": 4, "scale": "raw", "rows": "0", "runs": runs,
            "n_coarse": 0, "n_merged": 0}


def cells(lines, number=2):
    return [cell.strip() for cell in lines[number].strip("|").split("|")]


class Numbers(unittest.TestCase):
    def test_ratios(self):
        found = qp.Ratio([110.0, 130.0], [100.0, 100.0])
        self.assertAlmostEqual(found.mean, 1.2)
        self.assertAlmostEqual(found.max, 1.3)
        self.assertAlmostEqual(found.error, 0.1)  # deviation 14.14 over the root of 2, over 100
        self.assertEqual(qp.quotient(0.0, 0.0), 1.0)
        self.assertEqual(qp.quotient(1.0, 0.0), float("inf"))

    def test_as_good_is_both(self):
        for ours, good in (([102.0, 102.0], True), ([103.0, 102.0], False),
                              ([98.0, 105.0], True), ([98.0, 106.0], False)):
            self.assertEqual(qp.Ratio(ours, [100.0, 100.0]).is_as_good(), good)

    def test_the_best_of_ten_is_chosen_by_inertia(self):
        runs = [(float(100 + i), float(i % 10 != 7)) for i in range(20)]
        groups = qp.disjoint_groups(20)
        self.assertEqual([list(g) for g in groups], [list(range(10)), list(range(10, 20))])
        self.assertEqual(qp.best_of_groups(runs, groups), [107.0, 117.0])
        self.assertEqual(len(qp.disjoint_groups(19)), 1)

    def test_tables(self):
        groups = qp.disjoint_groups(20)
        case = a_case(lloyd=(101.0,) * 19 + (107.0,), pyramid=(100.0,) * 10 + (106.0,) * 10)
        self.assertEqual(
            cells(qp.ratio_table([case], 1, groups))[4:7],
            ["100, 100", "1.013 (3) / **1.070**", "**1.030 (7)** / **1.060**"])
        self.assertEqual(
            cells(qp.ratio_table([case], 10, groups))[5:7],
            ["1.010 (0) / 1.010", "**1.030 (30)** / **1.060**"])
        worse = qp.worse_table([case, a_case()], groups)
        self.assertEqual([cells(worse, i)[1] for i in range(2, 6)],
                         ["1 of 2", "2 of 2", "1 of 2", "1 of 2"])
        self.assertEqual(cells(worse)[2], "a k 4 raw")

    def test_some_methods_are_never_bold(self):
        table = qp.ratio_table([a_case(tree=(300.0,) * 20)], 1, qp.disjoint_groups(20))
        self.assertEqual(cells(table)[7], "3.000 (0) / 3.000")

    def test_sets_that_span_more_than_the_grid(self):
        case = a_case()
        self.assertEqual(qp.grid_table([case]), ["The grid holds every set."])
        case["n_merged"] = 12
        table = qp.grid_table([case, dict(case, k=9), a_case()])
        self.assertEqual(len(table), 3)
        self.assertEqual(cells(table)[3:], ["0 of 3", "12"])


class Runs(unittest.TestCase):
    def test_loss(self):
        rows = np.array([[0.0, 0.0], [3.0, 4.0], [10.0, 0.0]])
        self.assertEqual(quality.loss(rows, [[0, 0], [10, 1]]), 26.0)

    def test_merged_rows(self):
        rows = np.array([[2.0**20], [0.25], [0.25], [0.3], [0.4], [0.45]], dtype=np.float32)
        self.assertEqual(quality.count_merged(rows), 1)  # steps of 1/8: 2, 2, 2, 3, 4
        self.assertEqual(quality.count_merged(2 * rows), 1)
        rows[0] += 1
        self.assertEqual(quality.count_merged(rows), 2)  # steps of 1/4: 1, 1, 1, 2, 2
        rows[0] *= 2**21
        self.assertEqual(quality.count_merged(rows), 3)

    def test_some_rows(self):
        rows = np.arange(600).reshape(200, 3)
        few = quality.some_rows(rows, 50, 10**6)
        self.assertEqual(few.shape, (50, 3))
        self.assertTrue((np.diff(few[:, 0]) > 0).all())
        self.assertEqual(quality.some_rows(rows, 50, 60).shape, (20, 3))
        np.testing.assert_array_equal(quality.some_rows(rows, 500, 10**6), rows)

    def test_the_cache_knows_its_mark(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cache"
            cache = quality.Cache(path)
            cache.runs("key", "old")["0"] = [1.0, 2.0, 3.0]
            cache.save()
            self.assertEqual(quality.Cache(path).runs("key", "old"), {"0": [1.0, 2.0, 3.0]})
            self.assertEqual(quality.Cache(path).runs("key", "new"), {})
            self.assertEqual([p.name for p in Path(folder).iterdir()], ["cache"])


if __name__ == "__main__":
    unittest.main()
