"""Presets of sums: what they predict, their tables, what info and fit say of them, and errors."""
import csv
import io
import json
import unittest

from cli_program import ProgramTest

KINDS = ["cat", "dog", "emu"]


def animals(ids):
    """Rows of animals.csv: the size is 3 + 2 age - height and a little, and `one` is constant."""
    for i in ids:
        kind = i % 3
        age = i * 7919 % 41 / 4 + (30 if kind == 1 else 0)
        height = kind * 20 + i * 104729 % 37 / 8
        size = 3 + 2 * age - height + i * 31 % 5 / 16
        yield f"{i},{age},{height},1,{size},{KINDS[kind]}"


class ViewTest(ProgramTest):
    """animals.csv has 60 rows; new.csv has five others, without the size."""

    def setUp(self):
        super().setUp()
        header = "id,age,height,one,size,kind"
        self.write("animals.csv", "\n".join([header, *animals(range(60))]) + "\n")
        new = [header, *animals(range(100, 105))]
        self.write("new.csv", "".join(",".join(line.split(",")[:4]) + "\n" for line in new))

    def fit_view(self, family, *options, store="s.store", data="animals.csv", code=0):
        words = [data, "--id", "id"] if data else []
        return self.run_with(code, "fit", *words, "--family", family, "-o", store, *options)

    def fit_linear(self, *options, store="s.store", data="animals.csv"):
        return self.fit_view("linear", "--target", "size", "--label", "kind", *options,
                             store=store, data=data)

    def table(self, *words, store="s.store"):
        text = self.output("export", store, "-o", "-", *words)
        return list(csv.reader(io.StringIO(text)))

    def details(self, *words, store="s.store"):
        return json.loads(self.output("info", store, "--full", "--json", *words))["model"]


class Linear(ViewTest):
    def test_coefficients(self):
        self.fit_linear("--columns", "age,height")
        head, row = self.table()
        self.assertEqual(head, ["target", "intercept", "age", "height"])
        self.assertEqual(row[0], "size")
        for found, wanted in zip(row[1:], (3.1, 2, -1)):
            self.assertAlmostEqual(float(found), wanted, delta=0.1)
        self.assertEqual(self.table("--table", "quality")[0],
                         ["target", "r2", "deviation", "freedom"])
        found = json.loads(self.output("export", "s.store", "-o", "-", "--json"))
        self.assertEqual(found["columns"], ["intercept", "age", "height"])
        self.assertEqual(found["rows"], ["size"])
        self.assertEqual([[float(x) for x in row[1:]]], found["coefficients"])

    def test_predicts_rows_without_the_target(self):
        self.fit_linear()
        text = self.output("predict", "s.store", "new.csv", "--id", "id")
        lines = list(csv.reader(io.StringIO(text)))
        self.assertEqual(lines[0], ["id", "size"])
        wanted = [float(line.split(",")[4]) for line in animals(range(100, 105))]
        for (name, value), (i, size) in zip(lines[1:], enumerate(wanted)):
            self.assertEqual(name, str(100 + i))
            self.assertAlmostEqual(float(value), size, delta=0.5)
        # The same whether the target is there or not, in whatever order, by name or by place.
        values = "".join(line.split(",")[1] + "\n" for line in text.splitlines())
        self.write("turned.csv", "size,one,height,age\n" + "".join(
            ",".join(["9", *line.split(",")[3:0:-1]]) + "\n" for line in animals(range(100, 105))))
        self.assertEqual(self.output("predict", "s.store", "turned.csv"), values)
        bare = "".join(",".join(line.split(",")[1:4]) + "\n" for line in animals(range(100, 105)))
        self.write("bare.csv", bare)
        self.assertEqual(self.output("predict", "s.store", "bare.csv"), values)
        self.assertEqual(self.output("predict", "s.store", "new.csv", "--columns", "2-4"), values)
        self.write("full.csv", "".join(line + ",7\n" for line in bare.splitlines()))
        self.assertEqual(self.output("predict", "s.store", "full.csv"), values)
        found = json.loads(self.output("predict", "s.store", "new.csv", "--json"))
        self.assertEqual(found["names"], ["size"])
        self.assertEqual(found["values"], [float(x) for x in values.split()[1:]])
        self.refused(1, "2 columns of values, but the model has 3 features", "predict", "s.store",
                     "-", stdin="1,2\n3,4\n")
        self.refused(2, "--columns names 2 columns, but the model has 3 features", "predict",
                     "s.store", "new.csv", "--columns", "2,3")

    def test_forgets(self):
        self.fit_linear()
        before = self.table()
        self.output("forget", "s.store", "--id", "7,11", "--yes")
        self.assertNotEqual(self.table(), before)
        rows = [row for row in self.read("animals.csv").decode().splitlines()
                if not row.startswith(("7,", "11,"))]
        self.write("less.csv", "\n".join(rows) + "\n")
        self.fit_linear(store="less.store", data="less.csv")
        self.assertEqual(self.table(), self.table(store="less.store"))
        self.assertIn("identical", self.output("verify", "s.store"))

    def test_offsets(self):
        """Predictions are in the units of the file."""
        self.write("far.csv", "id,a,y\n" + "".join(
            f"{i},{1000000 + i % 7},{-5000000 + 2 * (i % 7)}\n" for i in range(20)))
        done = self.fit_view("linear", "--target", "y", data="far.csv")
        self.assertIn("values of 2 columns differ so little", done.stderr)
        self.assertIn("--offset a=1000000 --offset y=-5000000", done.stderr)
        done = self.fit_view("linear", "--target", "y", "--offset", "a=1000000", "--offset",
                             "y=-5000000", data="far.csv", store="good.store")
        self.assertEqual(done.stderr, "")
        text = self.output("predict", "good.store", "-", "--header", "yes",
                           stdin="id,a\n1,1000003\n")
        self.assertEqual(text, "y\n-4999994\n")
        row = self.table(store="good.store")[1]
        self.assertAlmostEqual(float(row[1]), -7000000, delta=1e-3)
        self.assertAlmostEqual(float(row[2]), 2, delta=1e-9)
        self.output("publish", "good.store", "-o", "y.model")
        self.assertEqual(self.output("predict", "y.model", "-", "--header", "yes",
                                     stdin="id,a\n1,1000003\n"), text)

    def test_offsets_without_an_intercept(self):
        self.assertNotIn("move the origin", self.fit_linear("--no-intercept").stderr)
        words = ["--offset", "age=20", "--no-intercept"]
        self.assertIn("move the origin", self.fit_linear(*words, store="t.store").stderr)
        done = self.fit_view("linear", "--target", "size", "--no-intercept", "--model", "b",
                             "--columns", "height", store="t.store", data=None)
        self.assertNotIn("move the origin", done.stderr)
        done = self.fit_view("ridge", "--no-intercept", "--model", "c", store="t.store", data=None)
        self.assertIn("move the origin", done.stderr)
        lines = self.output("info", "t.store", "--model", "c").splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("column "))
        ends = [line.rindex("  ") for line in lines[first:first + 5]]
        self.assertEqual(len(set(ends)), 1)

    def test_targets_and_columns(self):
        self.fit_linear()
        self.fit_view("linear", "--target", "size,2", "--columns", "age", "--model", "two",
                      data=None)
        found = self.table("--model", "two")
        self.assertEqual(found[0], ["target", "intercept", "age"])
        self.assertEqual([row[0] for row in found[1:]], ["size", "height"])
        text = self.output("predict", "s.store", "new.csv", "--model", "two")
        self.assertEqual(text.splitlines()[0], "size,height")
        # A target that is among the columns is a target, and no feature.
        self.fit_view("linear", "--target", "height", "--target", "size", "--columns", "age,size",
                      "--model", "same", data=None)
        found = self.table("--model", "same")
        self.assertEqual(found[0], ["target", "intercept", "age"])
        self.assertEqual([row[0] for row in found[1:]], ["height", "size"])
        # Features that come after a target keep their names.
        self.fit_view("linear", "--target", "age", "--columns", "height,size", "--model", "first",
                      data=None)
        self.assertEqual(self.table("--model", "first")[0],
                         ["target", "intercept", "height", "size"])

    def test_fourier(self):
        words = ["--target", "size", "--columns", "age,height", "--features", "30", "--gamma",
                 "0.01", "--label", "kind"]
        for store, seed in ("a.store", "5"), ("b.store", "5"), ("c.store", "6"):
            self.fit_view("fourier", *words, "--seed", seed, store=store)
        tables = [self.table(store=store) for store in ("a.store", "b.store", "c.store")]
        self.assertEqual(tables[0], tables[1])
        self.assertNotEqual(tables[0], tables[2])
        self.assertEqual(tables[0][0][:3], ["target", "intercept", "feature1"])
        text = self.output("predict", "a.store", "new.csv")
        self.assertEqual(text.splitlines()[0], "size")


class Kernel(ViewTest):
    WORDS = ["--target", "size", "--columns", "age,height", "--features", "30", "--label", "kind"]

    def test_raw_columns_warn(self):
        self.assertIn("so far apart that the kernel of most pairs is 0; try --scale standard",
                      self.fit_view("fourier", *self.WORDS).stderr)
        self.assertEqual(
            self.fit_view("fourier", *self.WORDS, "--gamma", "0.001", store="b.store").stderr, "")
        done = self.fit_view("fourier", *self.WORDS, "--scale", "standard", store="c.store")
        self.assertEqual(done.stderr, "")
        parameters = self.json("info", "c.store")["models"][0]["parameters"]
        self.assertEqual((parameters["scale"], parameters["gamma"]), ("standard", None))
        self.refused(2, "gamma must be above 0", "fit", "animals.csv", "--id", "id", "--family",
                     "fourier", "-o", "d.store", *self.WORDS, "--gamma", "0")

    def test_requests_follow_the_scale(self):
        self.fit_view("fourier", *self.WORDS, "--scale", "standard", "--seed", "3")
        for i in range(0, 30, 5):
            self.output("forget", "s.store", "--id", f"{i},{i + 1}", "--yes")
        self.output("verify", "s.store")
        before = self.output("predict", "s.store", "new.csv")
        self.output("publish", "s.store", "-o", "p.model")
        self.assertEqual(len(self.output("predict", "p.model", "new.csv").splitlines()),
                         len(before.splitlines()))


class Classes(ViewTest):
    def test_all_presets(self):
        truth = "".join(KINDS[i % 3] + "\n" for i in range(100, 105))
        self.fit_view("bayes", "--class", "kind", "--columns", "age,height")
        for name, *options in (["ridge", "--alpha", "0.5"], ["discriminant"],
                               ["discriminant", "--quadratic"],
                               ["discriminant", "--shrinkage", "0.1"],
                               ["ridge", "--scale", "standard"],
                               ["discriminant", "--shrinkage", "0.1", "--scale", "standard"]):
            model = "".join([name, *options]).replace("-", "")
            self.fit_view(name, *options, "--columns", "age,height", "--model", model, data=None)
        for model in self.json("info", "s.store")["models"]:
            parameters = model["parameters"]
            self.assertIn(model["kind"],
                          ("naive Bayes", "ridge classifier", "discriminant analysis"))
            self.assertEqual(parameters.get("scale", "none"),
                             "standard" if "standard" in model["name"] else "none")
            self.assertIn(parameters.get("alpha", 0.5), (0.5, 1.0))
            if model["name"].startswith("discriminant"):
                self.assertEqual(parameters["quadratic"], "quadratic" in model["name"])
                if "shrinkage" in model["name"]:
                    self.assertEqual(parameters["shrinkage"], 0.1)
            words = ["--model", model["name"]]
            self.assertEqual(self.output("predict", "s.store", "new.csv", *words), truth, model)
            self.output("publish", "s.store", "-o", f"{model['name']}.model", *words)
            self.assertEqual(self.output("predict", f"{model['name']}.model", "new.csv"), truth)

    def test_probabilities(self):
        self.fit_view("bayes", "--class", "kind", "--columns", "age,height")
        text = self.output("predict", "s.store", "new.csv", "--id", "id", "--probabilities")
        lines = list(csv.reader(io.StringIO(text)))
        self.assertEqual(lines[0][0], "id")
        self.assertEqual(sorted(lines[0][1:]), KINDS)
        for i, line in enumerate(lines[1:]):
            parts = [float(x) for x in line[1:]]
            self.assertAlmostEqual(sum(parts), 1)
            self.assertEqual(lines[0][1 + parts.index(max(parts))], KINDS[(100 + i) % 3])
        found = json.loads(self.output("predict", "s.store", "new.csv", "--probabilities",
                                       "--json"))
        self.assertEqual(found["classes"], lines[0][1:])
        self.assertEqual(found["probabilities"],
                         [[float(x) for x in line[1:]] for line in lines[1:]])
        self.output("publish", "s.store", "-o", "p.model")
        self.assertEqual(self.output("predict", "p.model", "new.csv", "--id", "id",
                                     "--probabilities"), text)
        self.assertEqual(sorted(self.json("info", "p.model")["classes"]), KINDS)
        self.assertIn("classes   3: ", self.output("info", "p.model"))
        self.fit_view("ridge", "--model", "r", data=None)
        self.refused(1, "no probabilities", "predict", "s.store", "animals.csv", "--model", "r",
                     "--probabilities")

    def test_tables(self):
        self.fit_view("bayes", "--class", "kind", "--columns", "age,height")
        found = self.table("--table", "means")
        self.assertEqual(found[0], ["class", "age", "height"])
        self.assertEqual(sorted(row[0] for row in found[1:]), KINDS)
        self.output("publish", "s.store", "-o", "p.model")
        self.assertEqual(self.table("--table", "means", store="p.model"), found)

    def test_numbers_are_classes_too(self):
        text = self.read("animals.csv").decode()
        for number, kind in enumerate(KINDS):
            text = text.replace(kind, str(number - 1))
        self.write("numbers.csv", text)
        self.fit_view("bayes", "--class", "kind", "--columns", "age,height", data="numbers.csv")
        self.assertEqual(self.output("predict", "s.store", "new.csv"),
                         "".join(f"{i % 3 - 1}\n" for i in range(100, 105)))
        text = self.output("predict", "s.store", "new.csv", "--probabilities")
        self.assertEqual(text.splitlines()[0], "-1,0,1")

    def test_labels_are_read_as_those_of_the_store(self):
        header = "id,age,height,one,size,kind"
        text = self.read("animals.csv").decode().replace("emu", "7")
        self.write("animals.csv", text)
        self.fit_view("bayes", "--class", "kind", "--columns", "age,height")
        # A file in which all classes look like numbers: they are the texts that the store has.
        self.write("more.csv", header + "\n200,5,4,1,3,7\n201,5,3,1,3,7\n")
        self.run_with(0, "learn", "s.store", "more.csv", "--id", "id", "--label", "kind")
        self.assertEqual({c["class"]: c["rows"] for c in self.details()["classes"]},
                         {"cat": 20, "dog": 20, "7": 22})
        self.assertEqual(len(self.details()["classes"]), 3)
        self.write("more.csv", header + "\n0,5,4,1,3,7\n")
        self.run_with(0, "update", "s.store", "more.csv", "--id", "id", "--label", "kind", "--yes")
        self.assertEqual({c["class"]: c["rows"] for c in self.details()["classes"]},
                         {"cat": 19, "dog": 20, "7": 23})
        # The other way round, texts among numbers are refused.
        for number, kind in enumerate(("cat", "dog")):
            text = text.replace(kind, str(number))
        self.write("numbers.csv", text)
        self.fit_view("bayes", "--class", "kind", store="n.store", data="numbers.csv")
        self.write("more.csv", header + "\n200,5,4,1,3,yak\n201,5,3,1,3,7\n")
        self.refused(1, "labels are read as numbers", "learn", "n.store", "more.csv", "--id", "id",
                     "--label", "kind")
        self.assertEqual(self.json("info", "n.store")["rows"], 60)

    def test_warnings(self):
        self.fit_view("bayes", "--class", "kind", "--columns", "age,height")
        self.write("more.csv", "id,age,height,one,size,kind\n200,5,4,1,3,yak\n")
        self.run_with(0, "learn", "s.store", "more.csv", "--id", "id", "--label", "kind")
        self.write("none.csv", "id,age,height,one,size\n201,5,4,1,3\n202,4,4,1,2\n")
        self.run_with(0, "learn", "s.store", "none.csv", "--id", "id")
        done = self.fit_view("bayes", "--model", "b", data=None)
        self.assertIn("warning: 2 rows have no class, and take no part", done.stderr)
        self.assertIn("1 class has one row only", done.stderr)
        self.assertIn("'yak'", done.stderr)
        found = self.details("--model", "b")
        self.assertEqual(found["fitted"]["rows_without_class"], 2)
        self.assertEqual({c["class"]: c["rows"] for c in found["classes"]},
                         {"cat": 20, "dog": 20, "emu": 20, "yak": 1})
        self.assertAlmostEqual(sum(c["prior"] for c in found["classes"]), 1)
        # The class leaves with its last row.
        self.output("forget", "s.store", "--id", "200", "--yes")
        self.assertEqual(sorted(c["class"] for c in self.details("--model", "b")["classes"]),
                         KINDS)


class Components(ViewTest):
    def test_components(self):
        self.fit_view("components", "-n", "2", "--columns", "age,height,size", "--label", "kind")
        text = self.output("predict", "s.store", "animals.csv", "--id", "id")
        self.assertEqual(text.splitlines()[0], "id,c1,c2")
        found = self.details()
        self.assertEqual([c["component"] for c in found["components"]], ["c1", "c2"])
        self.assertAlmostEqual(found["components"][0]["share"] + found["components"][1]["share"],
                               found["components"][1]["cumulated"])
        self.assertIn("component     variance        share    cumulated\nc1  ",
                      self.output("info", "s.store", "--full"))
        self.assertEqual(self.table("--table", "components")[0], ["age", "height", "size"])
        self.output("publish", "s.store", "-o", "p.model")
        self.assertEqual(self.output("predict", "p.model", "animals.csv", "--id", "id"), text)


class Info(ViewTest):
    def test_linear(self):
        self.write("small.csv", "id,a,b,y\n1,0,5,1\n2,1,5,3\n3,2,5,5\n4,3,5,9\n")
        done = self.fit_view("linear", "--target", "y", data="small.csv")
        self.assertIn("warning: 1 feature is constant, or depends on others, and is left out: 2 "
                      "(b)", done.stderr)
        text = self.output("info", "s.store", "--full")
        self.assertIn("target    y\n          r2 0.965714", text)
        self.assertIn("\nterm       coefficient   std. error            t\n", text)
        self.assertIn("\na                  2.6      0.34641      7.50555\n", text)
        self.assertIn("\nb                    0            -            -\n", text)
        self.assertIn("\ndropped   b\n", text)
        found = self.details()
        self.assertEqual(found["dropped"], [{"feature": "b"}])
        target, = found["targets"]
        self.assertEqual(target["name"], "y")
        self.assertAlmostEqual(target["r2"], 0.9657142857, places=9)
        self.assertEqual(target["freedom"], 2)
        self.assertEqual([term["term"] for term in target["terms"]], ["intercept", "a", "b"])
        self.assertAlmostEqual(target["terms"][1]["coefficient"], 2.6, places=6)
        self.assertIsNone(target["terms"][2]["error"])
        self.fit_view("linear", "--target", "y", "--no-intercept", "--model", "n", data=None)
        target, = self.details("--model", "n")["targets"]
        self.assertEqual([term["term"] for term in target["terms"]], ["a", "b"])

    def test_long_lists_are_cut(self):
        self.fit_view("fourier", "--target", "size", "--columns", "age,height", "--features", "50",
                      "--gamma", "0.01", "--label", "kind")
        text = self.output("info", "s.store", "--full")
        self.assertIn("\n... and 31 more; efface export --table coefficients\n", text)
        self.assertEqual(text.count("\nfeature") + text.count("\nintercept"), 20)
        self.assertEqual(len(self.details()["targets"][0]["terms"]), 51)

    def test_down_to_no_rows(self):
        for family, *words in (["linear", "--target", "size", "--label", "kind"],
                               ["components", "--label", "kind"], ["bayes", "--class", "kind"]):
            store = f"{family}.store"
            self.fit_view(family, *words, store=store)
            digest = self.json("info", store)["models"][0]["digest"]
            self.write("ids", "\n".join(map(str, range(60))))
            self.output("forget", store, "--from", "ids", "--yes")
            self.refused(1, "no rows", "predict", store, "animals.csv")
            self.assertIn("\nview      the model has no rows, so that nothing can be computed from "
                          "them;\n          learn rows first\n",
                          self.output("info", store, "--full"))
            self.assertIn("identical", self.output("verify", store))
            self.output("learn", store, "animals.csv", "--id", "id", "--label", "kind")
            self.assertEqual(self.json("info", store)["models"][0]["digest"], digest)

    def test_too_few_rows(self):
        self.write("one.csv", "id,a,b\n1,2,3\n")
        done = self.fit_view("components", data="one.csv")
        self.assertIn("cannot predict yet: principal components need two rows", done.stderr)
        self.assertIn("need two rows", self.details()["view"])
        self.refused(1, "need two rows", "predict", "s.store", "one.csv")

    def test_messages_have_the_texts_of_classes(self):
        self.write("one.csv", "id,a,b,kind\n1,2,3,cat\n2,3,1,cat\n3,5,2,cat\n4,9,8,red emu\n")
        done = self.fit_view("discriminant", "--quadratic", "--class", "kind", data="one.csv")
        self.assertIn("cannot predict yet: class 'red emu' has only one row", done.stderr)
        self.assertIn("class 'red emu' has only one row", self.details()["view"])
        self.refused(1, "class 'red emu' has only one row", "predict", "s.store", "one.csv")


class Errors(ViewTest):
    def refused_fit(self, code, message, *words):
        self.refused(code, message, "fit", "animals.csv", "--id", "id", "-o", "s.store", *words)

    def test_targets(self):
        label = ["--label", "kind"]
        linear = ["--family", "linear", *label]
        self.refused_fit(2, "there is no column 'sise'; did you mean 'size'?", *linear,
                         "--target", "sise")
        self.refused_fit(2, "there is no column 'colour' of values; there are 4: age, height, one, "
                         "size", *linear, "--target", "colour")
        self.refused_fit(2, "names a column that was named before", *linear, "--target", "size,4")
        self.refused_fit(2, "no feature is left", *linear, "--target", "size", "--columns", "size")
        self.refused_fit(2, "no feature is left", *linear, "--target", "1", "--target", "2,3,4")
        self.refused_fit(2, "fit --family linear needs --target COL", *linear)
        self.refused_fit(2, "family kmeans have no targets", "-k", "2", *label, "--target", "size")
        self.refused_fit(2, "family bayes have no targets", "--family", "bayes", "--class", "kind",
                         "--target", "size")
        self.refused_fit(2, "unknown option '--alpha'", "--family", "bayes", "--class", "kind",
                         "--alpha", "1")
        self.refused_fit(2, "alpha must be", *linear, "--target", "size", "--alpha", "-1")

    def test_classes(self):
        self.refused_fit(2, "family linear have no classes", "--family", "linear", "--target",
                         "size", "--class", "kind")
        self.refused_fit(2, "fit --family bayes needs --class COL", "--family", "bayes")
        self.refused_fit(2, "leave out --label", "--family", "bayes", "--class", "kind", "--label",
                         "one")
        self.fit_linear()
        self.refused(2, "leave out --class", "fit", "-o", "s.store", "--model", "b", "--family",
                     "bayes", "--class", "kind")
        self.refused(2, "--probabilities are those of classes", "predict", "s.store",
                     "animals.csv", "--probabilities")
        self.fit_view("linear", "--target", "height", data="people.csv", store="people.store",
                      code=1)
        self.output("fit", "people.csv", "--id", "id", "--owner", "user", "--family", "linear",
                    "--target", "height", "-o", "people.store")
        self.refused(1, "have no labels", "fit", "-o", "people.store", "--model", "b", "--family",
                     "bayes")

    def test_numbers_that_are_none(self):
        self.write("bad.csv", "id,a,y\n1,2,3\n2,nan,4\n")
        self.refused(1, 'bad.csv:3:2: "nan" is not a finite number', "fit", "bad.csv", "--id",
                     "id", "--family", "linear", "--target", "y", "-o", "s.store")


if __name__ == "__main__":
    unittest.main()
