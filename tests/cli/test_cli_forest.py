"""Forests: classes and targets, missing values, categories, requests, files for prediction, what is
said of them, and errors."""
import csv
import io
import json
import os
import unittest

from cli_program import ProgramTest

KINDS = ["cat", "dog", "emu"]
CITIES = ["Bonn", "Kyiv", "Oslo", "Rome"]
HEADER = "id,user,age,height,city,income,kind"


def person(i):
    """The fields of a row. The kind follows from the age; the income from the city and the age."""
    kind = i % 3
    age = 20 * kind + i * 7919 % 41 / 4
    city = i * 104729 % 4
    income = 1000 * city + 10 * age + i * 31 % 5 / 16
    return [str(i), f"u{i // 4}", str(age), str(150 + i * 13 % 37), CITIES[city], str(income),
            KINDS[kind]]


def people(ids, change=lambda i, fields: None):
    """people.csv with these ids; `change` may alter the fields of a row."""
    lines = [HEADER]
    for i in ids:
        fields = person(i)
        change(i, fields)
        lines.append(",".join(fields))
    return "\n".join(lines) + "\n"


def lose_some(i, fields):
    """Some ages and cities are missing, each in a way of its own."""
    if i % 7 == 2:
        fields[2] = ("", "NA", "?")[i % 3]
    if i % 11 == 5:
        fields[4] = ""


class ForestTest(ProgramTest):
    """people.csv has 90 rows; new.csv has eight others, with neither the income nor the kind."""

    WORDS = ("--id", "id", "--owner", "user", "--family", "forest", "--seed", "7", "--trees", "20")

    def setUp(self):
        super().setUp()
        self.write("people.csv", people(range(90)))
        self.write("new.csv", "\n".join(",".join(line.split(",")[:5]) for line in
                                        people(range(200, 208)).splitlines()) + "\n")

    def fit(self, *options, data="people.csv", store="s.store", code=0):
        return self.run_with(code, "fit", data, *self.WORDS, "-o", store, *options)

    def fit_classes(self, *options, **more):
        return self.fit("--class", "kind", "--categories", "city", "--columns", "age,height,city",
                        *options, **more)

    def fit_target(self, *options, **more):
        return self.fit("--target", "income", "--label", "kind", "--categories", "city", *options,
                        **more)

    def table(self, name="importances", store="s.store"):
        text = self.output("export", store, "--table", name, "-o", "-")
        return list(csv.reader(io.StringIO(text)))

    def predictions(self, store="s.store", data="new.csv", *words):
        text = self.output("predict", store, data, "--id", "id", *words)
        return list(csv.reader(io.StringIO(text)))

    def same(self, one, other):
        """Two stores have the same model, byte for byte."""
        self.assertEqual(self.canonical(one, "a"), self.canonical(other, "b"))


class FirstSteps(ProgramTest):
    """What somebody does who has read no more than the help."""

    def test_columns_of_numbers(self):
        self.write("animals.csv", "age,size,kind\n" + "".join(
            f"{i % 9},{i % 9 * 3 + i % 2},{'cat' if i % 9 < 4 else 'dog'}\n" for i in range(60)))
        self.output("fit", "animals.csv", "--family", "forest", "--class", "kind", "-o", "s.store")
        self.assertEqual(self.output("predict", "s.store", "-", stdin="age,size\n1,3\n8,24\n"),
                         "cat\ndog\n")
        self.output("forget", "s.store", "--id", "3,4", "--yes")
        self.assertIn("identical", self.output("verify", "s.store"))
        self.output("fit", "--family", "forest", "--target", "size", "-o", "s.store", "--model",
                    "size")
        text = self.output("predict", "s.store", "-", "--model", "size", stdin="age\n5\n")
        self.assertEqual(text.splitlines()[0], "size")
        self.assertAlmostEqual(float(text.splitlines()[1]), 15.5, delta=2)
        self.output("rekey", "s.store", "--yes")
        self.assertEqual(self.output("verify", "s.store").count("identical"), 2)
        self.output("drop", "s.store", "--model", "size", "--yes")

    def test_what_is_missing(self):
        self.refused(2, "needs --class COL, the column of DATA with the class of each row; or "
                     "--target COL", "fit", "people.csv", "--family", "forest", "-o", "s.store")
        self.refused(2, "have no classes", "fit", "people.csv", "--family", "linear", "--target",
                     "age", "--class", "user", "-o", "s.store")


class Requests(ForestTest):
    def test_forgets_as_if_it_never_had_them(self):
        cases = {"classes": (self.fit_classes, ()), "target": (self.fit_target, ()),
                 "some": (self.fit_classes, ("--rows", "some", "--trees-of-row", "3")),
                 "poisson": (self.fit_target, ("--rows", "poisson", "--min-leaf", "2")),
                 "entropy": (self.fit_classes, ("--criterion", "entropy", "--depth", "4"))}
        gone = {7, 11, 12, 13, 14, 15, 89}
        self.write("less.csv", people(i for i in range(90) if i not in gone))
        for name, (fit, words) in cases.items():
            with self.subTest(name):
                forgot, never = f"{name}.store", f"{name}-never.store"
                fit(*words, store=forgot)
                before = self.canonical(forgot, "a")
                preview = self.output("forget", forgot, "--id", "7", "--dry-run")
                self.assertIn("forest", preview)
                self.assertEqual(self.canonical(forgot, "a"), before)
                self.output("forget", forgot, "--id", "7,11", "--yes")
                self.output("forget", forgot, "--owner", "u3", "--yes")
                self.output("forget", forgot, "--id", "89", "--yes")
                fit(*words, store=never, data="less.csv")
                self.same(forgot, never)
                self.assertEqual(self.table(store=forgot), self.table(store=never))
                self.assertIn("identical", self.output("verify", forgot))
                self.assertEqual(self.output("digest", forgot), self.output("digest", never))
                self.output("check", forgot)

    def test_learns_and_updates(self):
        self.write("few.csv", people(range(60)))
        self.write("rest.csv", people(range(60, 90)))
        wrong = people(range(0, 90, 9), lambda i, fields: fields.__setitem__(2, "77"))
        self.write("wrong.csv", wrong)
        self.write("right.csv", people(range(0, 90, 9)))
        words = ("--id", "id", "--owner", "user", "--label", "kind")
        for name, fit in ("classes", self.fit_classes), ("target", self.fit_target):
            store, whole = f"{name}.store", f"{name}-whole.store"
            fit(store=whole)
            fit(store=store, data="few.csv")
            self.run_with(0, "learn", store, "rest.csv", *words)
            self.run_with(0, "update", store, "wrong.csv", *words, "--yes")
            self.assertNotEqual(self.canonical(store, "a"), self.canonical(whole, "b"))
            self.run_with(0, "update", store, "right.csv", *words, "--yes")
            self.same(store, whole)
            self.assertIn("identical", self.output("verify", store))

    def test_down_to_nothing(self):
        self.fit_classes()
        self.write("all.txt", "".join(f"{i}\n" for i in range(90)))
        self.output("forget", "s.store", "--from", "all.txt", "--yes")
        self.assertIn("identical", self.output("verify", "s.store"))
        self.run_with(1, "predict", "s.store", "new.csv")
        self.run_with(0, "learn", "s.store", "people.csv", "--id", "id", "--owner", "user", "--label",
                      "kind")
        self.fit_classes(store="t.store")
        self.same("s.store", "t.store")

    def test_weights(self):
        """A row of weight 2 counts twice, and is one row."""
        twice = people(range(90)).replace("\n", ",2\n").replace("kind,2", "kind,times", 1)
        self.write("twice.csv", twice)
        self.fit_classes("--weight", "times", data="twice.csv", store="twice.store")
        self.fit_classes()
        self.assertEqual(self.predictions("twice.store"), self.predictions())

    def test_receipts_and_rekeying(self):
        self.fit_classes()
        before = self.canonical("s.store", "a")
        self.output("forget", "s.store", "--id", "5", "--yes")
        self.output("export", "s.store", "--receipts", "-o", "r.jsonl")
        receipt = json.loads(self.read("r.jsonl"))
        self.assertEqual(receipt["forgotten"], 1)
        self.assertIn("forest", json.dumps(receipt))
        self.output("rekey", "s.store", "--seed", "99", "--yes")
        self.assertNotEqual(self.canonical("s.store", "b"), before)
        self.assertIn("identical", self.output("verify", "s.store"))

    def test_models_of_other_families_beside_it(self):
        self.fit_classes()
        self.output("fit", "-k", "3", "--columns", "age,height", "-o", "s.store", "--model",
                    "clusters", "--seed", "1")
        self.output("fit", "--family", "bayes", "--columns", "age,height", "-o", "s.store",
                    "--model", "bayes")
        self.output("forget", "s.store", "--id", "3", "--yes")
        self.assertEqual(self.output("verify", "s.store").count("identical"), 3)


class Predictions(ForestTest):
    def test_classes(self):
        self.fit_classes()
        found = self.predictions()
        self.assertEqual(found[0], ["id", "class"])
        self.assertEqual([row[1] for row in found[1:]], [KINDS[i % 3] for i in range(200, 208)])
        chances = self.predictions("s.store", "new.csv", "--probabilities")
        self.assertEqual(sorted(chances[0][1:]), KINDS)
        for row, (_, kind) in zip(chances[1:], found[1:]):
            numbers = [float(x) for x in row[1:]]
            self.assertAlmostEqual(sum(numbers), 1.0, places=9)
            self.assertEqual(chances[0][1 + numbers.index(max(numbers))], kind)

    def test_targets_in_the_units_of_the_data(self):
        self.fit_target("--offset", "income=2000", "--offset", "age=30")
        found = self.predictions()
        self.assertEqual(found[0], ["id", "income"])
        for row, i in zip(found[1:], range(200, 208)):
            self.assertAlmostEqual(float(row[1]), float(person(i)[5]), delta=400)
        self.output("export", "s.store", "--forest", "-o", "f.model")
        self.assertEqual(self.predictions("f.model"), found)
        # The order of columns does not matter, and the target may be there.
        lines = [line.split(",") for line in self.read("new.csv").decode().splitlines()]
        self.write("turned.csv", "".join(
            ",".join([line[4], line[2], "income" if not i else "5", line[3], line[0]]) + "\n"
            for i, line in enumerate(lines)))
        self.assertEqual(self.predictions("f.model", "turned.csv"), found)
        self.assertEqual(self.predictions("s.store", "turned.csv"), found)

    def test_a_file_predicts_as_the_store_does(self):
        self.write("gaps.csv", "\n".join(
            ",".join(line.split(",")[:5]) for line in
            people(range(200, 240), lose_some).splitlines()) + "\n")
        self.write("holes.csv", people(range(90), lose_some))
        for name, fit in ("classes", self.fit_classes), ("target", self.fit_target):
            kind = "classification" if name == "classes" else "regression"
            store, file = f"{name}.store", f"{name}.forest"
            fit("--missing", data="holes.csv", store=store)
            before = self.canonical(store, "a")
            made = self.json("export", store, "--forest", "-o", file)
            self.assertEqual(made, {"exported": "forest", "model": "default", "file": file,
                                    "format": "predictor"})
            self.assertEqual(self.canonical(store, "a"), before)
            self.assertEqual(self.predictions(file, "gaps.csv"), self.predictions(store, "gaps.csv"))
            if name == "classes":
                words = ("gaps.csv", "--probabilities")
                self.assertEqual(self.predictions(file, *words), self.predictions(store, *words))
            self.output("publish", store, "-o", f"{name}.published")
            self.assertEqual(self.predictions(f"{name}.published", "gaps.csv"),
                             self.predictions(store, "gaps.csv"))
            text = self.output("info", file)
            self.assertIn(f"kind      {kind} forest\n", text)
            self.assertIn("category  city\n", text)
            self.assertIn("missing   values may be missing\n", text)
            found = self.json("info", file)
            self.assertEqual(found["missing"], True)
            self.assertEqual(found["categories"],
                             [column == "city" for column in found["columns"]])
        self.assertNotIn(b"u1", self.read("classes.forest"))

    def test_a_file_is_replaced_and_a_store_is_not(self):
        self.fit_classes()
        self.write("f.model", "something else")
        self.output("export", "s.store", "--forest", "-o", "f.model")
        self.assertEqual(self.predictions("f.model"), self.predictions())
        self.refused(1, "is a store and is not overwritten", "export", "s.store", "--forest", "-o",
                     "s.store")
        self.refused(2, "give -o FILE", "export", "s.store", "--forest", "-o", "-")
        os.mkfifo(self.path("pipe"))  # nobody reads it, and nothing must wait for that
        self.refused(2, "must be a regular file", "export", "s.store", "--forest", "-o", "pipe")
        self.refused(2, "must be a regular file", "export", "s.store", "--forest", "-o", ".")
        self.refused(2, "one of --table, --labels", "export", "s.store", "--forest", "--labels",
                     "-o", "x.csv")
        self.refused(2, "is a published model", "export", "f.model", "--forest", "-o", "g.model")
        self.output("fit", "-k", "2", "--columns", "age,height", "-o", "s.store", "--model", "two")
        self.refused(2, "two is not a forest", "export", "s.store", "--forest", "--model", "two",
                     "-o", "g.model")
        self.run_with(1, "export", "s.store", "--forest", "--model", "default", "-o",
                      "nowhere/g.model")

    def test_labels_of_the_rows(self):
        self.fit_classes()
        text = self.output("export", "s.store", "--labels", "-o", "-")
        lines = list(csv.reader(io.StringIO(text)))
        self.assertEqual(lines[0], ["id", "class"])
        self.assertEqual([row[1] for row in lines[1:]], [KINDS[i % 3] for i in range(90)])


class Missing(ForestTest):
    def test_refused_without_the_option(self):
        """The message says where, and what to do."""
        self.write("holes.csv", people(range(90), lose_some))
        done = self.fit_classes(data="holes.csv", code=1)
        self.assertIn("holes.csv:4:3: ", done.stderr)  # the age of the id 2
        self.assertIn("--missing lets values be missing", done.stderr)
        done = self.fit("--class", "kind", code=1)
        self.assertIn("columns of texts with --categories", done.stderr)
        self.fit_classes()
        self.refused(1, "holes.csv:4:3: ", "predict", "s.store", "holes.csv")
        self.refused(1, "holes.csv:4:3: ", "learn", "s.store", "holes.csv", "--id", "id", "--owner",
                     "user", "--label", "kind")

    def test_forgets_rows_with_gaps(self):
        self.write("holes.csv", people(range(90), lose_some))
        gone = {2, 5, 9, 16, 40}
        self.write("less.csv", people((i for i in range(90) if i not in gone), lose_some))
        self.write("more.csv", people(gone, lose_some))
        for name, fit in ("classes", self.fit_classes), ("target", self.fit_target):
            store, never = f"{name}.store", f"{name}-never.store"
            fit("--missing", data="holes.csv", store=store)
            before = self.canonical(store, "c")
            self.output("forget", store, "--id", ",".join(map(str, gone)), "--yes")
            fit("--missing", data="less.csv", store=never)
            self.same(store, never)
            self.run_with(0, "learn", store, "more.csv", "--id", "id", "--owner", "user", "--label",
                        "kind")
            self.assertEqual(self.canonical(store, "a"), before)
            self.assertIn("identical", self.output("verify", store))

    def test_shown_as_missing(self):
        self.write("holes.csv", people(range(90), lose_some))
        self.fit_classes("--missing", data="holes.csv")
        self.assertIn("  age missing\n", self.run_with(0, "show", "s.store", "--id", "2").stdout)
        found = self.json("show", "s.store", "--id", "2")
        self.assertIsNone(found["rows"][0]["values"][found["columns"].index("age")])
        text = self.run_with(0, "show", "s.store", "--id", "2", "--format", "csv").stdout
        row = dict(zip(*csv.reader(io.StringIO(text))))
        self.assertEqual(row["age"], "")
        text = self.output("info", "s.store", "--full")
        self.assertRegex(text, r"(?m)^ +1 +0 +49.75 +age  \(13 missing\)$")
        self.assertRegex(text, r"(?m)^ +3 +category +category +city  \(8 missing\)$")
        columns = {column["name"]: column for column in self.json("info", "s.store", "--full")
                   ["model"]["columns"]}
        self.assertEqual((columns["age"]["missing"], columns["age"]["category"]), (13, False))
        self.assertEqual((columns["city"]["missing"], columns["city"]["category"]), (8, True))

    def test_rows_without_class_or_target(self):
        def lose(i, fields):
            if i % 9 == 4:
                fields[5] = ""
        self.write("holes.csv", people(range(90), lose))
        done = self.fit_target("--missing", data="holes.csv")
        self.assertIn("10 rows have no target, and take no part in the model", done.stderr)
        self.assertIn("identical", self.output("verify", "s.store"))
        few = people(range(90, 100)).splitlines()
        self.write("few.csv", "".join(line.rpartition(",")[0] + "\n" for line in few))
        self.output("learn", "s.store", "few.csv", "--id", "id", "--owner", "user")
        done = self.run_with(0, "fit", "--family", "forest", "-o", "s.store", "--model", "kind",
                             "--columns", "age,height,city")
        self.assertIn("10 rows have no class, and take no part in the model", done.stderr)
        self.assertEqual(self.output("verify", "s.store").count("identical"), 2)

    def test_several_files(self):
        self.write("a.csv", people(range(50)))
        self.write("b.csv", people(range(50, 90), lose_some))
        self.write("ab.csv", people(range(90), lambda i, f: lose_some(i, f) if i >= 50 else None))
        words = ("--class", "kind", "--categories", "city", "--missing")
        self.run_with(0, "fit", "a.csv", "b.csv", *self.WORDS, *words, "-o", "two.store")
        self.fit(*words, data="ab.csv", store="one.store")
        self.same("two.store", "one.store")


class Categories(ForestTest):
    def test_by_name_or_number_and_in_several_options(self):
        self.fit("--class", "kind", "--categories", "city")
        self.fit("--class", "kind", "--categories", "3", store="number.store")
        self.same("s.store", "number.store")
        self.fit("--class", "kind", "--categories", "city,height", store="two.store")
        self.fit("--class", "kind", "--categories", "height", "--categories", "city",
                 store="apart.store")
        self.same("two.store", "apart.store")

    def test_numbers_of_columns_of_the_model(self):
        """A model over some columns has its categories where they are there."""
        self.fit_target("--columns", "height,city", store="some.store")
        columns = self.json("info", "some.store", "--full")["model"]["columns"]
        self.assertEqual([(column["name"], column["category"]) for column in columns],
                         [("height", False), ("city", True), ("income", False)])
        self.assertEqual([row[0] for row in self.table(store="some.store")[1:]],
                         ["height", "city"])
        found = self.predictions("some.store")
        for row, i in zip(found[1:], range(200, 208)):
            self.assertAlmostEqual(float(row[1]), float(person(i)[5]), delta=700)

    def test_a_category_that_was_not_there(self):
        self.fit_classes()
        text = self.output("predict", "s.store", "-",
                           stdin="age,height,city,income\n5,160,Atlantis,7\n")
        self.assertEqual(text, "cat\n")

    def test_a_model_that_is_added_knows_the_categories(self):
        self.fit("--class", "kind", "--categories", "city")
        self.output("fit", "--family", "forest", "--target", "income", "-o", "s.store", "--model",
                    "income", "--seed", "7", "--trees", "20")
        columns = self.json("info", "s.store", "--model", "income")["model"]["columns"]
        self.assertEqual([column["name"] for column in columns if column["category"]], ["city"])
        self.fit_target(store="t.store")
        self.assertEqual(self.canonical("s.store", "a", "--model", "income"),
                         self.canonical("t.store", "b"))

    def test_errors(self):
        self.refused(2, "--target names a column of categories", "fit", "people.csv", *self.WORDS,
                     "--target", "income", "--label", "kind", "--categories", "city,income", "-o",
                     "t.store")
        self.refused(2, "cannot be 'city,,height'", "fit", "people.csv", *self.WORDS, "--class",
                     "kind", "--categories", "city,,height", "-o", "t.store")
        self.refused(2, "take numbers only: leave out --categories", "fit", "people.csv",
                     "--family", "linear", "--target", "income", "--categories", "city", "-o",
                     "t.store")
        self.refused(2, "take numbers only: leave out --missing", "fit", "people.csv", "-k", "3",
                     "--missing", "-o", "t.store")
        done = self.fit("--class", "kind", "--categories", "town", code=2)
        self.assertIn("town", done.stderr)


class Said(ForestTest):
    def test_importances(self):
        self.fit_target()
        head, *rows = self.table()
        self.assertEqual(head[:2], ["column", "share"])
        self.assertEqual([row[0] for row in rows], ["age", "height", "city"])
        shares = {row[0]: float(row[1]) for row in rows}
        self.assertAlmostEqual(sum(shares.values()), 1.0, places=9)
        self.assertEqual(max(shares, key=shares.get), "city")
        found = json.loads(self.output("export", "s.store", "-o", "-", "--json"))
        self.assertEqual(found["rows"], ["age", "height", "city"])

    def test_info(self):
        self.fit_classes("--depth", "9", "--min-split", "3")
        text = self.output("info", "s.store")
        self.assertIn("  default: classification forest, 3 columns\n", text)
        for word in "trees 20", "depth 9", "split 3":
            self.assertIn(word, text)
        text = self.output("info", "s.store", "--full")
        self.assertRegex(text, r"(?m)^class +rows +weight$")
        self.assertRegex(text, r"(?m)^cat +30 +30$")
        self.assertRegex(text, r"(?m)^input +importance$")
        self.assertRegex(text, r"(?m)^age +\d+\.\d\d %$")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        found = self.json("info", "s.store", "--full")["model"]
        self.assertIn(20, found["parameters"].values())
        self.assertGreater(found["fitted"]["nodes"], 20)
        names = [one["input"] for one in found["importances"]]
        self.assertEqual(sorted(names), ["age", "city", "height"])
        shares = [one["share"] for one in found["importances"]]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.fit_target(store="t.store")
        self.assertIn("\ntarget    income\n", self.output("info", "t.store", "--full"))
        self.assertEqual(self.json("info", "t.store", "--full")["model"]["target"], "income")

    def test_a_store_says_when_it_takes_missing_values(self):
        self.write("holes.csv", people(range(300, 310), lose_some))
        self.fit_classes()
        words = ("holes.csv", "--id", "id", "--owner", "user", "--label", "kind")
        self.refused(1, "if all models of the store were fitted with --missing", "learn",
                     "s.store", *words)

    def test_a_number_that_stands_for_a_text_says_so(self):
        self.write("places.csv", "id,place,size,kind\n1,Rome,5,a\n2,7,6,b\n")
        self.output("fit", "places.csv", "--id", "id", "--family", "forest", "--class", "kind",
                    "--categories", "place", "-o", "s.store")
        text = self.output("show", "s.store", "--id", "1,2")
        self.assertRegex(text, r"(?m)^  place \S+ \(stands for a text\)$")
        self.assertIn("  place 7\n", text)
        self.assertIn("  size 5\n", text)

    def test_five_importances_are_shown(self):
        self.write("wide.csv", "".join(
            ",".join(str((i + 1) * (j + 3) % 17) for j in range(9)) + f",{i % 3}\n"
            for i in range(60)))
        self.output("fit", "wide.csv", "--header", "no", "--family", "forest", "--class", "10",
                    "-o", "wide.store")
        text = self.output("info", "wide.store", "--full")
        self.assertEqual(sum(line.startswith("column") and line.endswith("%")
                             for line in text.splitlines()), 5)
        self.assertIn("... and 4 more; efface export --table importances\n", text)

    def test_warnings(self):
        self.write("far.csv", "id,a,y\n" + "".join(
            f"{i},{i % 7},{-5000000 + 2 * (i % 7)}\n" for i in range(20)))
        words = ("--id", "id", "--family", "forest", "--target", "y")
        done = self.run_with(0, "fit", "far.csv", *words, "-o", "far.store")
        self.assertIn("values of the target differ so little", done.stderr)
        self.assertIn("--offset y=-5000000", done.stderr)
        done = self.run_with(0, "fit", "far.csv", *words, "--offset", "y=-5000000", "-o",
                             "near.store")
        self.assertEqual(done.stderr, "")
        done = self.run_with(0, "fit", "far.csv", "--id", "id", "--family", "forest", "--class",
                             "y", "-o", "few.store")
        self.assertEqual(done.stderr, "")
        self.write("one.csv", "id,a,y\n" + "".join(f"{i},{i},same\n" for i in range(20)))
        done = self.run_with(0, "fit", "one.csv", "--id", "id", "--family", "forest", "--class",
                             "y", "-o", "one.store")
        self.assertIn("all rows have the class 'same'", done.stderr)
        self.write("many.csv", "id,a,y\n" + "".join(f"{i},{i % 5},{i}\n" for i in range(40)))
        done = self.run_with(0, "fit", "many.csv", "--id", "id", "--family", "forest", "--class",
                             "y", "-o", "many.store")
        self.assertIn("there are 40 classes in 40 rows; if the column is one of numbers, predict "
                      "it with --target", done.stderr)

    def test_errors(self):
        words = ("fit", "people.csv", *self.WORDS, "--categories", "city", "-o", "t.store")
        self.refused(2, "needs --class COL", *words)
        self.refused(2, "a target or a class: leave out --target or --class", *words, "--target",
                     "income", "--class", "kind")
        self.refused(2, "predicts one column: give one --target", *words, "--label", "kind",
                     "--target", "income,age")
        self.refused(2, "did you mean 'income'?", *words, "--label", "kind", "--target", "incom")
        self.refused(2, "it must be all, some or poisson", *words, "--class", "kind", "--rows",
                     "half")
        self.refused(2, "it must be gini or entropy", *words, "--class", "kind", "--criterion",
                     "mse")
        self.refused(2, "it needs --rows some", *words, "--class", "kind", "--trees-of-row", "3")
        self.refused(2, "more than there are trees, 20", *words, "--class", "kind", "--rows",
                     "some", "--trees-of-row", "30")
        self.refused(2, "--trees cannot be '0'", *words, "--class", "kind", "--trees", "0")
        self.run_with(2, *words, "--class", "kind", "--min-split", "1")
        self.run_with(2, *words, "--class", "kind", "--trees", "70000")
        self.fit_classes()
        self.refused(2, "without DATA, classes are the labels", "fit", "--family", "forest",
                     "--class", "kind", "-o", "s.store", "--model", "two")
        self.output("fit", "people.csv", "--id", "id", "--owner", "user", "--label", "kind",
                    "--family", "forest", "--target", "income", "--categories", "city", "-o",
                    "t.store")


if __name__ == "__main__":
    unittest.main()
