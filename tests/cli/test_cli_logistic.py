"""Logistic regression and linear machines: predictions, coefficients, requests, and errors."""
import csv
import io
import json
import unittest

from cli_program import ProgramTest


def animals(ids):
    """Two kinds that height tells mostly, and a third one."""
    for i in ids:
        kind = ("cat", "dog", "eel")[i % 3] if i % 7 else "cat"
        height = {"cat": 25, "dog": 60, "eel": 5}[kind] + i * 104729 % 37 - 18
        yield i, height, i * 7919 % 41 / 4, kind


class Logistic(ProgramTest):
    WORDS = ("--id", "id", "--class", "kind", "--seed", "7")

    def setUp(self):
        super().setUp()
        rows = list(animals(range(120)))
        self.write_rows("animals.csv", rows)
        self.write_rows("two.csv", [row for row in rows if row[3] != "eel"])

    def write_rows(self, name, rows):
        self.write(name, "id,height,age,kind\n" + "".join(f"{i},{h},{a},{k}\n" for i, h, a, k in rows))

    def fit(self, family="logistic", data="animals.csv", store="s.store", *options):
        return self.run_with(0, "fit", data, *self.WORDS, "--family", family, "-o", store, *options)

    def test_predicts(self):
        for family in "logistic", "svm":
            store = f"{family}.store"
            self.fit(family, store=store)
            text = self.output("predict", store, "animals.csv", "--id", "id")
            lines = list(csv.reader(io.StringIO(text)))[1:]
            right = sum(found == kind for (_, found), (_, _, _, kind) in zip(lines, animals(range(120))))
            self.assertGreater(right, 80)
        head, *rows = csv.reader(io.StringIO(
            self.output("predict", "logistic.store", "animals.csv", "--id", "id", "--probabilities")))
        self.assertEqual(len(rows), 120)
        for row in rows:
            self.assertAlmostEqual(sum(map(float, row[-3:])), 1.0, delta=1e-5)
        self.refused(1, "no probabilities", "predict", "svm.store", "animals.csv", "--id", "id",
                     "--probabilities")

    def test_forgets_and_learns(self):
        self.fit()
        before = self.output("digest", "s.store")
        self.output("forget", "s.store", "--id", "7,11", "--yes")
        self.assertIn("identical", self.output("verify", "s.store"))
        self.write_rows("less.csv", [row for row in animals(range(120)) if row[0] not in (7, 11)])
        self.fit(data="less.csv", store="less.store")
        for table in "coefficients", "errors", "quality":
            self.assertEqual(self.output("export", "s.store", "--table", table, "-o", "-"),
                             self.output("export", "less.store", "--table", table, "-o", "-"))
        self.write_rows("again.csv", animals((7, 11)))
        self.output("learn", "s.store", "again.csv", "--id", "id", "--label", "kind")
        self.assertEqual(self.output("digest", "s.store"), before)

    def test_info_and_publishing(self):
        self.fit(data="two.csv")
        text = self.output("info", "s.store", "--full")
        self.assertIn("logistic regression", text)
        self.assertRegex(text, r"std\. error")
        model = json.loads(self.output("info", "s.store", "--full", "--json"))["model"]
        (function,) = model["functions"]
        self.assertEqual([term["term"] for term in function["terms"]], ["intercept", "height", "age"])
        sign = 1 if function["name"] == "dog" else -1
        self.assertGreater(sign * function["terms"][1]["coefficient"], 0)
        self.output("publish", "s.store", "-o", "p.model")
        self.assertEqual(self.output("predict", "p.model", "two.csv", "--id", "id"),
                         self.output("predict", "s.store", "two.csv", "--id", "id"))

    def test_options_and_warnings(self):
        self.fit("logistic", "two.csv", "t.store", "--alpha", "3", "--no-intercept", "--lattice", "2",
                 "--sample", "9", "--steps", "12", "--bound", "100")
        found = json.loads(self.output("info", "t.store", "--full", "--json"))["model"]["parameters"]
        self.assertEqual({name: found[name] for name in ("alpha", "intercept", "width", "sample", "steps")},
                         {"alpha": 3, "intercept": False, "width": 2, "sample": 9, "steps": 12})
        done = self.fit("logistic", "two.csv", "u.store", "--steps", "2")
        self.assertIn("ended at its last step", done.stderr)
        self.write_rows("one.csv", [row for row in animals(range(120)) if row[3] == "cat"])
        done = self.fit("svm", "one.csv", "v.store")
        self.assertIn("all rows have one class", done.stderr)
        self.refused(2, "--class", "fit", "two.csv", "--id", "id", "--family", "logistic", "-o", "w.store")


if __name__ == "__main__":
    unittest.main()
