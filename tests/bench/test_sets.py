#!/usr/bin/python3
"""The data sets of bench/experiments: the forms of real files, stand-ins, and what is kept.

usage: test_sets.py [TEST]
"""
import gzip
import os
import re
import struct
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

SOURCE = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "bench"))

from experiments import sets

CSV_NAMES = [names[0] for names in sets.BOTNET_FILES]


def gaussian(x, y):
    known = sets.KNOWN["gaussian"]
    np.save(x, np.arange(known.n * known.d, dtype=np.float32).reshape(known.n, known.d))
    np.save(y, (np.arange(known.n) % known.k).astype(np.int32))


class SetsTest(unittest.TestCase):
    """Each test has an empty data folder and an empty folder to work in."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="efface-sets-")
        self.addCleanup(temporary.cleanup)
        self.data, self.work = Path(temporary.name) / "data", Path(temporary.name) / "work"
        self.data.mkdir()

    def expect(self, name, n, d, k):
        """Lets a set have another shape than the paper's in this test."""
        known = {name: sets.KNOWN[name]._replace(n=n, d=d, k=k)}
        patch = mock.patch.dict(sets.KNOWN, known)
        patch.start()
        self.addCleanup(patch.stop)

    def write(self, name, content):
        path = self.data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        return path

    def save(self, name, array):
        path = self.data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wb") if path.suffix == ".gz" else open(path, "wb") as file:
            np.save(file, np.asarray(array))

    def prepare(self, name, **options):
        """The set, its rows and its labels. What holds for every set is checked on the way."""
        ready = sets.prepare(name, self.data, self.work, **options)
        x, y = np.load(ready.x), np.load(ready.y)
        self.assertEqual((x.shape, y.shape), ((ready.n, ready.d), (ready.n,)))
        self.assertTrue(x.flags.c_contiguous)
        self.assertIn(x.dtype, (np.float32, np.uint8))
        self.assertEqual(y.dtype, np.int32)
        self.assertEqual(ready.x, self.work / name / "x.npy")
        self.assertEqual(ready.scale, "none" if name == "mnist" else "minmax")
        return ready, x, y

    def fails(self, name, pattern, **options):
        with self.assertRaisesRegex(sets.Failure, pattern):
            sets.prepare(name, self.data, self.work, **options)
        self.assertFalse((self.work / name / "made.json").exists())


class RealFiles(SetsTest):
    def check(self, name, x, y):
        ready, rows, labels = self.prepare(name)
        self.assertEqual((ready.kind, ready.cut), ("real", False))
        self.assertNotIn("tand-in", ready.source)
        np.testing.assert_array_equal(rows, np.float32(x))
        np.testing.assert_array_equal(labels, y)
        return rows

    def test_npy_plain_and_gzipped(self):
        x, y = np.arange(12.0).reshape(6, 2) / 7, np.uint8([0, 1, 2, 3, 3, 3])
        for name in ("celltype", "covtype", "postures", "botnet"):
            for end in ("", ".gz"):
                self.expect(name, 6, 2, 4)
                self.save(f"{name}/x.npy{end}", x)
                self.save(f"{name}/y.npy{end}", y)
                self.check(name, x, y)

    def test_bytes_stay_bytes(self):
        x = np.arange(8, dtype=np.uint8).reshape(4, 2)
        self.expect("mnist", 4, 2, 2)
        self.save("mnist/x.npy", x)
        self.save("mnist/y.npy", np.int64([0, 1, 0, 1]))
        self.assertEqual(self.check("mnist", x, [0, 1, 0, 1]).dtype, np.uint8)

    def test_rows_in_columns_first_order(self):
        x = np.asfortranarray(np.arange(8, dtype=np.float32).reshape(4, 2))
        self.expect("celltype", 4, 2, 2)
        self.save("celltype/x.npy", x)
        self.save("celltype/y.npy", [0, 1, 0, 1])
        self.check("celltype", x, [0, 1, 0, 1])

    def test_covtype_with_header_and_id(self):
        self.expect("covtype", 3, 2, 3)
        lines = ["Id,Elevation,Soil_Type7,Slope,Cover_Type", "1,2596,0,3,5", "2,2590,0,2,2",
                 "3,2804,0,9.5,1"]
        for name in ("train.csv", "train.csv.gz"):
            path = self.write(f"covtype/{name}", "\n".join(lines) + "\n")
            self.check("covtype", [[2596, 3], [2590, 2], [2804, 9.5]], [5, 2, 1])
            path.unlink()

    def test_covtype_without_header_is_cut_at_the_balanced_rows(self):
        self.expect("covtype", 3, 2, 2)
        # The second column is constant in the first three rows only.
        self.write("covtype/covtype.data.gz", "5,1,7,1\n6,1,8,2\n5,1,9,2\n5,2,9,3\n5,3,9,4\n")
        self.check("covtype", [[5, 7], [6, 8], [5, 9]], [1, 2, 2])

    def test_mnist_idx(self):
        self.expect("mnist", 3, 4, 3)
        x = np.uint8([[0, 255, 3, 4], [5, 6, 7, 8], [9, 10, 11, 0]])
        images = struct.pack(">4B3I", 0, 0, 8, 3, 3, 2, 2) + x.tobytes()
        self.write("mnist/train-images-idx3-ubyte", images)
        labels = struct.pack(">4BI3B", 0, 0, 8, 1, 3, 7, 0, 9)
        self.write("mnist/train-labels-idx1-ubyte.gz", labels)
        self.assertEqual(self.check("mnist", x, [7, 0, 9]).dtype, np.uint8)

    def test_mnist_idx_damaged(self):
        self.expect("mnist", 3, 4, 3)
        self.write("mnist/train-images-idx3-ubyte", struct.pack(">4B3I", 0, 0, 8, 3, 3, 2, 2))
        self.write("mnist/train-labels-idx1-ubyte", struct.pack(">4BI3B", 0, 0, 8, 1, 3, 7, 0, 9))
        self.fails("mnist", r"train-images-idx3-ubyte: 0 bytes of values, .*\(3, 2, 2\)")
        self.write("mnist/train-images-idx3-ubyte", b"nonsense")
        self.fails("mnist", "train-images-idx3-ubyte: not an IDX file")

    def test_postures(self):
        self.expect("postures", 2, 15, 2)
        header = "Class,User," + ",".join(f"{c}{i}" for i in range(12) for c in "XYZ")
        full = [i + 0.5 for i in range(15)]

        def line(first, values):
            return ",".join([first, *map(str, values), *["?"] * (36 - len(values))])

        lines = [header, ",".join(["0"] * 38), line("1,0", full), line("2,5", full[:12]),
                 line("5,14", full[::-1] + [1, 2, 3])]
        self.write("postures/Postures.csv", "\n".join(lines) + "\n")
        self.check("postures", [full, full[::-1]], [1, 5])

    def test_postures_with_other_columns(self):
        self.write("postures/Postures.csv", "User,Class,X0\n1,2,3\n")
        self.fails("postures", "Postures.csv: the columns are not Class, User, X0")

    def write_botnet(self, names):
        for i, name in enumerate(names):
            lines = ["MI_dir_L5_weight,MI_dir_L5_mean", f"{i},1.5e9", f"{i}.25,-2"]
            self.write(f"botnet/{name}", "\n".join(lines[: 3 - i % 2]) + "\n")
        x = [[i + 0.25 * j, -2 if j else 1.5e9] for i in range(11) for j in range(2 - i % 2)]
        return x, [i for i in range(11) for j in range(2 - i % 2)]

    def test_botnet(self):
        self.expect("botnet", 17, 2, 11)
        flat = [names[1] for names in sets.BOTNET_FILES]
        numbered = [names[2] + ".gz" for names in sets.BOTNET_FILES]
        for names in (CSV_NAMES, flat, numbered):
            x, y = self.write_botnet(names)
            self.check("botnet", x, y)
            for name in names:
                (self.data / "botnet" / name).unlink()

    def test_botnet_with_a_file_missing(self):
        self.write_botnet([name for name in CSV_NAMES if name != "mirai_attacks/syn.csv"])
        self.fails("botnet", "mirai_attacks/syn.csv is missing")

    def test_labels_missing(self):
        self.save("celltype/x.npy.gz", [[1.0]])
        self.fails("celltype", "y.npy is missing, beside x.npy.gz")

    def test_other_shapes(self):
        rows = [[0, 1], [2, 3], [4, 5]]
        for n, d, k in ((4, 2, 2), (3, 3, 2), (3, 2, 3)):
            self.expect("celltype", n, d, k)
            self.save("celltype/x.npy", rows)
            self.save("celltype/y.npy", [0, 1, 1])
            expected = f"{n} rows, {d} columns and {k} classes are expected"
            self.fails("celltype", expected + ".*found are 3, 2 and 2")
        self.save("celltype/y.npy", [0, 1])
        self.fails("celltype", r"rows of shape \(3, 2\) and labels of shape \(2,\)")

    def test_the_shape_is_checked_before_rows_are_taken(self):
        self.expect("celltype", 4, 2, 2)
        self.save("celltype/x.npy", [[0, 1], [2, 3], [4, 5]])
        self.save("celltype/y.npy", [0, 1, 1])
        self.fails("celltype", "expected", most_rows=3)

    def test_bad_values(self):
        self.expect("celltype", 2, 1, 2)
        self.save("celltype/x.npy", [[0.0], [np.nan]])
        self.save("celltype/y.npy", [0, 1])
        self.fails("celltype", "not finite")
        self.save("celltype/x.npy", [[0.0], [1.0]])
        self.save("celltype/y.npy", [0.5, 1])
        self.fails("celltype", "labels of whole numbers")
        self.save("celltype/y.npy", ["a", "b"])
        self.fails("celltype", "labels of whole numbers")
        self.write("celltype/x.npy", "no array")
        self.fails("celltype", "celltype/x.npy: ")

    def test_damaged_archives(self):
        good = gzip.compress(bytes(1000))
        for bad in (good[:-9], good[:10] + b"\xff" * 20, b"no archive"):
            self.save("celltype/y.npy", [0, 1])
            (self.data / "celltype" / "x.npy.gz").write_bytes(bad)
            self.fails("celltype", "celltype/x.npy.gz: ")

    def test_a_folder_without_known_files(self):
        self.write("covtype/forest.csv", "1\n")
        self.fails("covtype", "none of the files it could have: x.npy, y.npy; or train.csv")

    def test_no_such_folder(self):
        self.data = self.data / "nothing"
        self.fails("covtype", "there is no folder")

    def test_parts_are_not_the_sets(self):
        for name in ("postures_part", "botnet_sample"):
            self.save(f"{name}/x.npy.gz", [[1.0]])
            self.save(f"{name}/y.npy.gz", [1])
        for name in ("postures", "botnet"):
            self.assertEqual(self.prepare(name, most_rows=100)[0].kind, "stand-in")


class StandIns(SetsTest):
    def test_each_says_what_it_is(self):
        for name in sets.STAND_INS:
            ready, x, y = self.prepare(name, most_rows=2000)
            self.assertEqual((ready.kind, ready.n, ready.cut), ("stand-in", 2000, True))
            self.assertTrue(ready.source.startswith("Stand-in"), ready.source)
            self.assertEqual((ready.d, ready.k), (sets.KNOWN[name].d, sets.KNOWN[name].k))
            self.assertEqual(len(np.unique(y)), ready.k)
            self.assertTrue(np.isfinite(x).all())
            self.assertEqual(x.dtype, np.uint8 if name == "mnist" else np.float32)

    def test_without_a_folder(self):
        self.data = None
        self.assertEqual(self.prepare("celltype")[0].kind, "stand-in")

    def test_whole_ones_have_the_shape_and_class_sizes_of_the_paper(self):
        names = ("celltype", "covtype", "mnist", "postures", "gaussian", "botnet")
        self.assertEqual(sets.NAMES, names)
        for name, stand_in in sets.STAND_INS.items():
            known = sets.KNOWN[name]
            self.assertEqual((sum(stand_in.sizes), len(stand_in.sizes)), (known.n, known.k))
        for name in ("celltype", "covtype", "postures"):
            ready, _, y = self.prepare(name)
            self.assertEqual((ready.n, ready.cut), (sets.KNOWN[name].n, False))
            sizes = np.unique(y, return_counts=True)[1]
            np.testing.assert_array_equal(sizes, sets.STAND_INS[name].sizes)

    def test_the_same_every_time(self):
        for name in sets.STAND_INS:
            first, second = (sets.draw_stand_in(name, 500) for _ in range(2))
            np.testing.assert_array_equal(first[0], second[0])
            np.testing.assert_array_equal(first[1], second[1])

    def test_classes_keep_their_shares(self):
        _, _, y = self.prepare("botnet", most_rows=10183)
        sizes = np.array(sets.STAND_INS["botnet"].sizes)
        np.testing.assert_allclose(np.bincount(y), sizes / 100, atol=2)

    def test_rows_of_a_class_are_not_together(self):
        y = self.prepare("covtype", most_rows=700)[2]
        self.assertGreater((np.diff(y) != 0).sum(), 500)

    def test_classes_differ(self):
        """The mean of a class is not the mean of all: labels belong to the rows."""
        for name in sets.STAND_INS:
            x, y = sets.draw_stand_in(name, 4000)
            x = x.astype(np.float64)
            standard = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9)
            off = [np.abs(standard[y == c].mean(axis=0)).max() for c in np.unique(y)]
            self.assertGreater(np.median(off), 0.25, name)

    def test_digits_are_mostly_paper(self):
        x, _ = sets.draw_stand_in("mnist", 1000)
        self.assertTrue(0.7 < (x == 0).mean() < 0.9)
        self.assertEqual(x.max(), 255)

    def test_fewer_rows_than_classes(self):
        self.fails("botnet", "botnet has 11 classes.*not 10", most_rows=10)


class Gaussian(SetsTest):
    def test_generated(self):
        self.expect("gaussian", 40, 3, 5)
        ready, x, y = self.prepare("gaussian", gaussian=gaussian)
        self.assertEqual((ready.kind, ready.cut), ("generated", False))
        np.testing.assert_array_equal(x, np.arange(120).reshape(40, 3))
        np.testing.assert_array_equal(y, np.arange(40) % 5)

    def test_of_another_shape(self):
        def other(x, y):
            np.save(x, np.zeros((4, 2)))
            np.save(y, np.arange(4))
        self.fails("gaussian", "expected", gaussian=other)

    def test_nobody_makes_it(self):
        self.fails("gaussian", "needs efface-bench")
        self.fails("gaussian", "cannot make", gaussian=sets.bench_gaussian("./no-such-program"))


class Cutting(SetsTest):
    def test_rows_stay_with_their_labels_and_in_order(self):
        self.expect("gaussian", 1000, 3, 5)
        ready, x, y = self.prepare("gaussian", most_rows=100, gaussian=gaussian)
        self.assertEqual((ready.n, ready.cut), (100, True))
        rows = x[:, 0] / 3
        self.assertTrue((np.diff(rows) > 0).all())
        np.testing.assert_array_equal(y, rows % 5)
        self.assertTrue(rows.min() < 200 and rows.max() >= 800)  # not the first ones

    def test_real_files(self):
        self.expect("celltype", 50, 1, 2)
        self.save("celltype/x.npy", np.arange(50.0)[:, None])
        self.save("celltype/y.npy", np.arange(50) // 25)
        ready, x, y = self.prepare("celltype", most_rows=20)
        self.assertEqual((ready.kind, ready.n, ready.cut), ("real", 20, True))
        np.testing.assert_array_equal(y, x[:, 0] // 25)
        self.work = self.work / "other"
        again = self.prepare("celltype", most_rows=20)[1]
        np.testing.assert_array_equal(x, again)

    def test_more_than_there_are(self):
        self.expect("gaussian", 40, 3, 5)
        ready, _, _ = self.prepare("gaussian", most_rows=41, gaussian=gaussian)
        self.assertEqual((ready.n, ready.cut), (40, False))


class Keeping(SetsTest):
    def setUp(self):
        super().setUp()
        self.expect("celltype", 6, 1, 2)
        self.save_rows(0)

    def save_rows(self, first):
        self.save("celltype/x.npy", np.arange(first, first + 6.0)[:, None])
        self.save("celltype/y.npy", [0, 0, 0, 1, 1, 1])

    def made_again(self, **options):
        """Whether the set is made, and not taken as it is."""
        with mock.patch.object(sets.np, "save", wraps=np.save) as save:
            sets.prepare("celltype", self.data, self.work, **options)
        return save.called

    def test_only_once(self):
        self.assertTrue(self.made_again())
        self.assertFalse(self.made_again())
        self.assertFalse(self.made_again(most_rows=6))

    def test_another_number_of_rows(self):
        self.made_again()
        self.assertTrue(self.made_again(most_rows=4))
        self.assertFalse(self.made_again(most_rows=4))
        self.assertTrue(self.made_again())

    def test_another_time_or_size_of_a_file(self):
        self.made_again()
        for name in ("x.npy", "y.npy"):
            os.utime(self.data / "celltype" / name, (1, 1))
            self.assertTrue(self.made_again())
        with open(self.data / "celltype" / "y.npy", "ab") as file:
            file.write(b" ")
        os.utime(self.data / "celltype" / "y.npy", (1, 1))
        self.assertTrue(self.made_again())

    def test_another_file(self):
        self.made_again()
        self.save("celltype/x.npy.gz", np.arange(6.0)[:, None])
        (self.data / "celltype" / "x.npy").unlink()
        self.assertTrue(self.made_again())

    def test_new_values_arrive(self):
        self.made_again()
        self.save_rows(100)
        os.utime(self.data / "celltype" / "x.npy", (1, 1))
        self.assertEqual(self.prepare("celltype")[1][0, 0], 100)

    def test_a_stand_in_is_no_real_set(self):
        self.made_again()
        kept = self.data / "celltype"
        kept.rename(self.data / "elsewhere")
        self.expect("celltype", 6, 10, 4)
        self.assertTrue(self.made_again())
        self.assertFalse(self.made_again())
        (self.data / "elsewhere").rename(kept)
        self.expect("celltype", 6, 1, 2)
        self.assertTrue(self.made_again())
        self.assertEqual(self.prepare("celltype")[0].kind, "real")

    def test_another_recipe(self):
        self.made_again()
        with mock.patch.object(sets, "RECIPE", sets.RECIPE + 1):
            self.assertTrue(self.made_again())

    def test_a_file_that_is_gone_or_unfinished(self):
        for name in ("x.npy", "y.npy", "made.json"):
            self.made_again()
            (self.work / "celltype" / name).unlink()
            self.assertTrue(self.made_again(), name)
        (self.work / "celltype" / "made.json").write_text("{", encoding="utf-8")
        self.assertTrue(self.made_again())

    def test_a_failure_leaves_no_set(self):
        self.made_again()
        self.save("celltype/x.npy", [[1.0]])
        self.fails("celltype", "labels of shape")


class Names(SetsTest):
    def test_unknown(self):
        with self.assertRaisesRegex(sets.Failure, "no set iris; there are celltype, covtype"):
            sets.prepare("iris", None, self.work)

    def test_the_page_has_the_shapes(self):
        page = (SOURCE / "docs" / "measured" / "data.md").read_text(encoding="utf-8")
        for name, known in sets.KNOWN.items():
            line = rf"^\| `{name}` \|.*\| {known.n:,} \| {known.d} \| {known.k} \|"
            self.assertTrue(re.search(line, page, re.M), line)
            for form in sets.FORMS.get(name, []):
                for names in form.files:
                    self.assertIn(names[0].rsplit("/", 1)[-1].split(".")[0], page)


if __name__ == "__main__":
    unittest.main()
