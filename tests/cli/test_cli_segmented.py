"""Segmented regression: segments, coefficients, predictions, requests, and errors."""
import csv
import io
import json
import unittest

from cli_program import ProgramTest

SLOPES = [(5, 2, -1), (70, -3, 2), (-20, 0, 4)]  # of each group: constant, age, height


def people(ids):
    """Three groups that are far apart; the income is linear in each."""
    for i in ids:
        group = i % 3
        age = 40 * group + i * 7919 % 41 / 4
        height = (90 if group == 1 else 0) + i * 104729 % 37 / 8
        constant, of_age, of_height = SLOPES[group]
        yield i, age, height, constant + of_age * age + of_height * height


class Segmented(ProgramTest):
    def setUp(self):
        super().setUp()
        rows = "".join(f"{i},{a},{h},{y}\n" for i, a, h, y in people(range(90)))
        self.write("people.csv", "id,age,height,income\n" + rows)
        rows = "".join(f"{i},{a},{h}\n" for i, a, h, _ in people(range(200, 206)))
        self.write("new.csv", "id,age,height\n" + rows)

    def fit(self, *options, data="people.csv", store="s.store", code=0):
        return self.run_with(code, "fit", data, "--id", "id", "--family", "segmented", "-o", store,
                             "--seed", "4", *options)

    def table(self, name, store="s.store"):
        text = self.output("export", store, "--table", name, "-o", "-")
        return list(csv.reader(io.StringIO(text)))

    def test_tables(self):
        for method in "lloyd", "quantized", "pyramid", "tree":
            store = f"{method}.store"
            self.fit("-k", "3", "--target", "income", "--method", method, store=store)
            head, *centroids = self.table("centroids", store)
            self.assertEqual(head, ["age", "height"])
            head, *rows = self.table("coefficients", store)
            self.assertEqual(head, ["intercept", "age", "height"])
            for centroid, row in zip(centroids, rows):
                for found, wanted in zip(row, SLOPES[int(float(centroid[0]) / 40)]):
                    self.assertAlmostEqual(float(found), wanted, delta=1e-3)
            self.assertEqual(self.table("segments", store), [["rows", "weight"]] + [["30"] * 2] * 3)

    def test_predicts_and_publishes(self):
        self.fit("-k", "3", "--target", "income")
        text = self.output("predict", "s.store", "new.csv", "--id", "id")
        lines = list(csv.reader(io.StringIO(text)))
        self.assertEqual(lines[0], ["id", "income"])
        for (name, value), (i, _, _, income) in zip(lines[1:], people(range(200, 206))):
            self.assertEqual(name, str(i))
            self.assertAlmostEqual(float(value), income, delta=1e-3)
        self.output("publish", "s.store", "-o", "p.model")  # draws new randomness
        again = self.output("predict", "p.model", "new.csv", "--id", "id")
        for one, other in zip(csv.reader(io.StringIO(again)), lines):
            self.assertEqual(one[0], other[0])
        self.assertEqual(again, self.output("predict", "s.store", "new.csv", "--id", "id"))

    def test_forgets(self):
        words = ("-k", "5", "--target", "income", "--scale", "minmax", "--alpha", "0.5")
        self.fit(*words)
        before = self.table("coefficients")
        self.output("forget", "s.store", "--id", "7,11", "--yes")
        self.assertNotEqual(self.table("coefficients"), before)
        rows = [row for row in self.read("people.csv").decode().splitlines()
                if not row.startswith(("7,", "11,"))]
        self.write("less.csv", "\n".join(rows) + "\n")
        self.fit(*words, data="less.csv", store="less.store")
        for name in "centroids", "coefficients", "segments":
            self.assertEqual(self.table(name), self.table(name, "less.store"))
        self.assertIn("identical", self.output("verify", "s.store"))

    def test_info(self):
        self.fit("-k", "3", "--target", "income", "--no-intercept")
        text = self.output("info", "s.store", "--model", "default")
        self.assertIn("targets 1", text)
        self.assertIn("intercept no", text)
        self.assertRegex(text, r"(?m)^segment +rows +weight$")
        found = json.loads(self.output("info", "s.store", "--model", "default", "--json"))
        self.assertEqual(found["model"]["segments"], [{"rows": 30, "weight": 30}] * 3)

    def test_warnings_and_errors(self):
        done = self.fit("-k", "60", "--target", "income")
        self.assertIn("no more rows than coefficients, 3; try a smaller -k, or --alpha",
                      done.stderr)
        self.refused(2, "needs -k K", "fit", "people.csv", "--family", "segmented", "--target",
                     "income", "-o", "t.store")
        self.refused(2, "needs --target COL", "fit", "people.csv", "--family", "segmented", "-k",
                     "3", "-o", "t.store")
        self.refused(2, "there is no column 'salary'", "fit", "people.csv", "--id", "id",
                     "--family", "segmented", "-k", "3", "--target", "salary", "-o", "t.store")


if __name__ == "__main__":
    unittest.main()
