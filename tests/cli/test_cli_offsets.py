"""Offsets of columns, and the warnings of what float32 loses and of tails."""
import json
import os
import re
import struct
import unittest

from cli_program import ProgramTest

BASE = 1_700_000_000


def npy(rows):
    """Rows of float64 as an .npy file."""
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    head = head.ljust(117) + "\n"
    body = b"".join(struct.pack(f"<{len(row)}d", *row) for row in rows)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + body


class OffsetTest(ProgramTest):
    """far.csv has two groups, 20 apart, in a column of seconds."""

    def setUp(self):
        super().setUp()
        self.rows = [(BASE + 20 * (i % 2) + i % 5 / 8, i * 7 % 11 / 4) for i in range(120)]
        self.write_csv("far.csv", self.rows)

    def write_csv(self, name, rows, first=0, header="id,when,b"):
        lines = [f"{first + i},{when!r},{b!r}" for i, (when, b) in enumerate(rows)]
        self.write(name, "\n".join([header, *lines]) + "\n")

    def fit_far(self, *options, data="far.csv", store="far.store", code=0):
        ids = ["--id", "id"] if data.endswith(".csv") else []
        return self.run_with(code, "fit", data, *ids, "-k", "2", "--seed", "1", "-o", store,
                             *options)

    def info(self, store="far.store"):
        return json.loads(self.output("info", store, "--json"))

    def models(self, store="far.store"):
        """All but the commitments, which differ from store to store."""
        return [{key: model[key] for key in model if key != "commitment"}
                for model in self.info(store)["models"]]


class Rounding(OffsetTest):
    def test_collapse_is_warned_of_by_name_with_the_option(self):
        done = self.fit_far()
        option = re.search(r"warning: column 1 \(when\): .*multiples of 128.*"
                           r"(--offset when=\d+)\n", done.stderr)
        self.assertTrue(option, done.stderr)
        self.assertEqual(self.info()["offsets"], [0, 0])
        os.remove(self.path("far.store"))
        again = self.fit_far(*option[1].split())
        self.assertEqual(again.stderr, "")

    def test_npy_is_looked_at_too(self):
        self.write("far.npy", npy(self.rows))
        done = self.fit_far(data="far.npy")
        self.assertRegex(done.stderr, r"column 1: float32 rounds .* --offset 1=\d+\n")

    def test_auto_says_what_it_takes(self):
        done = self.fit_far("--offset", "auto")
        took = re.fullmatch(r"efface: used --offset when=(\d+)\nefface: these offsets come from .*\n", done.stderr)
        self.assertTrue(took, done.stderr)
        self.assertEqual(self.info()["offsets"], [int(took[1]), 0])
        self.assertEqual(int(took[1]) % 32, 0)
        self.fit_far("--offset", f"when={took[1]}", store="same.store")
        self.assertEqual(self.models(), self.models("same.store"))
        # Nothing is taken where nothing is lost.
        self.assertEqual(self.run_with(0, "fit", "people.csv", "--id", "id", "--owner", "user",
                                       "-k", "3", "-o", "p.store", "--offset", "auto",
                                       "--keep-texts").stderr, "")
        self.assertEqual(self.info("p.store")["offsets"], [0, 0])

    def test_auto_needs_a_file(self):
        done = self.run_with(2, "fit", "-", "--id", "id", "-k", "2", "-o", "x.store",
                             "--offset", "auto", stdin=self.read("far.csv").decode())
        self.assertIn("read only once", done.stderr)
        self.assertFalse(os.path.exists(self.path("x.store")))

    def test_wrong_offsets(self):
        for option, words in {"when": "COLUMN=VALUE", "when=": "COLUMN=VALUE", "=3": "COLUMN=VALUE",
                              "when=nan": "COLUMN=VALUE", "when=1x": "COLUMN=VALUE"}.items():
            self.assertIn(words, self.fit_far("--offset", option, code=2).stderr)
        self.assertIn("no column of values 'else'", self.fit_far("--offset", "else=3", code=2).stderr)
        self.fit_far("--offset", f"1={BASE}")
        self.assertIn("--offset", self.run_with(2, "fit", "-k", "2", "-o", "far.store", "--model",
                                                "b", "--offset", "1=1").stderr)

    def test_values_that_vanish(self):
        self.write_csv("tiny.csv", [(1e-50 if i == 3 else float(i), i) for i in range(50)])
        done = self.fit_far(data="tiny.csv")
        self.assertRegex(done.stderr, r"warning: column 1 \(when\): 1 value other than 0 is too "
                                      r"small for float32 and became 0; multiply")


class Shown(OffsetTest):
    def setUp(self):
        super().setUp()
        self.fit_far("--offset", f"when={BASE}")

    def test_info(self):
        self.assertIn(f"offsets   when {BASE}\n", self.output("info", "far.store"))
        model = json.loads(self.output("info", "far.store", "--full", "--json"))["model"]
        column = model["columns"][0]
        self.assertEqual((column["least"], column["most"], column["offset"]),
                         (BASE, BASE + 20.5, BASE))
        self.assertRegex(self.output("info", "far.store", "--full"), rf"{BASE} +{BASE + 20}\.5 ")

    def test_show_is_the_data(self):
        shown = json.loads(self.output("show", "far.store", "--id", "7", "--json"))
        self.assertEqual(shown["rows"][0]["values"], list(self.rows[7]))
        self.assertIn(f"  when {self.rows[7][0]!r}\n", self.output("show", "far.store", "--id", "7"))
        self.run_with(0, "show", "far.store", "--id", "7", "-o", "seven.csv")
        self.assertIn(f",{self.rows[7][0]!r},".encode(), self.read("seven.csv"))
        # What was shown is what is there, when it comes again.
        before = self.models()
        self.write("back.csv", self.read("seven.csv").replace(b",1,,", b",").replace(
            b"id,owner,weight,label", b"id").replace(b"7,,", b"7,"))
        self.run_with(0, "update", "far.store", "back.csv", "--id", "id", "--yes")
        self.assertEqual(self.models(), before)

    def test_centroids(self):
        lines = self.output("export", "far.store", "--table", "centroids", "-o", "-").splitlines()
        centers = sorted(float(line.split(",")[0]) for line in lines[1:])
        for got, start in zip(centers, (BASE, BASE + 20)):
            self.assertTrue(start < got < start + 1, centers)

    def test_rows_that_come(self):
        turned = [(b, when) for when, b in self.rows[:3]]
        self.write_csv("more.csv", turned, 500, header="id,b,when")
        self.run_with(0, "learn", "far.store", "more.csv", "--id", "id")
        shown = json.loads(self.output("show", "far.store", "--id", "501", "--json"))
        self.assertEqual(shown["rows"][0]["values"], list(self.rows[1]))
        labels = self.output("predict", "far.store", "far.csv", "--id", "id").splitlines()[1:]
        self.assertEqual({line.split(",")[1] for line in labels[::2]}, {labels[0].split(",")[1]})
        self.assertNotEqual(labels[0].split(",")[1], labels[1].split(",")[1])
        self.write("far.npy", npy(self.rows))
        self.assertEqual(self.output("predict", "far.store", "far.npy").splitlines(),
                         [line.split(",")[1] for line in labels])
        self.write("turned.npy", npy([(b, when) for when, b in self.rows]))
        self.write("other.csv", b"id,else,b\n1,1700000000,2\n")
        done = self.run_with(1, "predict", "far.store", "other.csv", "--id", "id", "--columns",
                             "else,b")
        self.assertIn("offset 1700000000", done.stderr)
        self.run_with(0, "verify", "far.store")
        self.run_with(0, "check", "far.store")


class Tails(OffsetTest):
    def test_a_few_rows(self):
        rows = [(i * 37 % 101 / 8, i * 53 % 89 / 8) for i in range(2000)]
        rows[70] = (1e6, -1e6)
        self.write_csv("tail.csv", rows)
        done = self.fit_far(data="tail.csv")
        self.assertRegex(done.stderr, r"warning: 1 of 2000 rows carries 99.9 % of the loss, .*"
                                      r"logarithm.* --scale standard\n")
        # The same of a model that is added, and none of a column that has no tail.
        done = self.run_with(0, "fit", "-k", "2", "-o", "far.store", "--model", "b", "--scale",
                             "minmax")
        self.assertIn("1 of 2000 rows", done.stderr)
        self.assertNotIn("--scale standard", done.stderr)

    def test_one_column(self):
        rows = [(i * 37 % 101 * 1000.0, i * 53 % 89 / 8) for i in range(200)]
        self.write_csv("wide.csv", rows)
        done = self.fit_far(data="wide.csv")
        self.assertRegex(done.stderr, r"warning: column 1 \(when\) carries \d+\.\d\d % of the loss,"
                                      r" so the others hardly count; try --scale standard\n")
        self.assertEqual(self.fit_far("--scale", "minmax", data="wide.csv", store="s").stderr, "")
        self.assertEqual(self.fit_far("--scale", "standard", data="wide.csv", store="t").stderr, "")
        done = self.run_with(0, "fit", "-k", "2", "-o", "s", "--model", "b", "--columns", "when")
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
