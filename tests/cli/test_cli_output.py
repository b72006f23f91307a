#!/usr/bin/python3
"""What is shown: names and texts of any bytes, ids, models in full, messages as JSON.

usage: test_cli_output.py PROGRAM [TEST]
"""
import json
import os
import sqlite3
import subprocess
import threading
import unittest

from cli_program import N_ROWS, PROGRAM, ProgramTest, TEXTS_NOTE

# Names of columns: a control character, no UTF-8, UTF-8, none, and one name twice.
ODD = b"id,a\x1b[31m,\xff\xfe,\xc3\xa9,,twin,twin\n" + b"".join(
    b"%d,%d,%d,%d,%d,%d,%d\n" % (i, i, i * 7 % 5, i * 3 % 7, i % 3, i % 2, i % 4)
    for i in range(12))


class Names(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("odd.csv", ODD)
        self.output("fit", "odd.csv", "--id", "id", "-k", "2", "--seed", "3", "-o", "odd.store")

    def raw(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, capture_output=True,
                              check=False)

    def test_are_escaped(self):
        text = self.output("info", "odd.store", "--full")
        self.assertIn("columns   6: a\\x1b[31m, \\xff\\xfe, \u00e9, 4, twin, twin\n", text)
        self.assertNotIn("\x1b", text)
        self.assertRegex(text, r"(?m)^ +1 .* a\\x1b\[31m$")
        self.assertRegex(text, r"(?m)^ +4 +0 +2$")
        info = self.json("info", "odd.store", "--full")
        names = ["a\x1b[31m", "\\xff\\xfe", "\u00e9", None, "twin", "twin"]
        self.assertEqual(info["columns"], names)
        self.assertEqual([column["name"] for column in info["model"]["columns"]], names)

    def test_csv_files_get_the_bytes(self):
        self.output("export", "odd.store", "--table", "centroids", "-o", "c.csv")
        self.assertEqual(self.read("c.csv").split(b"\n")[0],
                         b"a\x1b[31m,\xff\xfe,\xc3\xa9,column4,twin,twin")

    def test_in_messages(self):
        done = self.raw("info", b"no\x1b[2J\xff.store")
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"there is no store 'no\\x1b[2J\\xff.store'", done.stderr)
        done = self.raw("info", b"no\x1b\xff.store", "--json")
        self.assertIn("'no\x1b\\xff.store'", json.loads(done.stderr)["error"]["message"])
        self.write("bad.csv", b"x,y\n1,\x1b[2J\xff\n")
        done = self.raw("fit", "bad.csv", "-k", "1", "-o", "n")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn(b"\x1b", done.stderr)
        done.stderr.decode()

    def test_that_come_twice(self):
        self.refused(2, "several columns have the name 'twin'", "fit", "-k", "2", "-o", "odd.store", "--model",
                     "m", "--columns", "twin")
        self.output("fit", "-k", "2", "-o", "odd.store", "--model", "m", "--columns", "5")
        # The same columns in the same order need no names.
        whole = self.output("predict", "odd.store", "odd.csv", "--id", "id", "--model", "default")
        self.assertEqual(len(whole.split()), 13)
        self.refused(1, "several columns have the name 'twin'", "predict", "odd.store", "odd.csv", "--id", "id",
                     "--model", "m")
        self.assertEqual(len(self.output("predict", "odd.store", "odd.csv", "--id", "id", "--model",
                                         "m", "--columns", "5").split()), 13)

    def test_columns_without_names_go_by_their_order(self):
        self.write("plain.csv", "".join(f"{i},{i * i % 7}\n" for i in range(9)))
        self.output("fit", "plain.csv", "-k", "2", "-o", "plain.store")
        self.assertIn("columns   2\n", self.output("info", "plain.store"))
        self.assertEqual(self.json("info", "plain.store")["columns"], [None, None])
        self.write("named.csv", "x,y\n1,2\n")
        self.assertEqual(len(self.output("predict", "plain.store", "named.csv").split()), 1)


class Ids(ProgramTest):
    TEXTS = ["beta", "a,b", 'say "x"', "\u00fc", "hard\u00a0space", "\\x00"]

    def setUp(self):
        super().setUp()
        def quoted(text):
            return '"' + text.replace('"', '""') + '"'
        self.write("t.csv", "name,who,kind,x\n" + "".join(
            f"{quoted(t)},{quoted('of ' + t)},{'even' if i % 2 else 'odd'},{i}\n"
            for i, t in enumerate(self.TEXTS)))
        self.arguments = ["t.csv", "--id", "name", "--owner", "who", "--label", "kind", "-k", "2",
                          "--seed", "1"]

    def test_texts_are_kept_if_asked_for(self):
        done = self.run_with(0, "fit", *self.arguments, "-o", "numbers.store")
        self.assertEqual(done.stderr, TEXTS_NOTE)
        done = self.run_with(0, "fit", *self.arguments, "-o", "texts.store", "--keep-texts")
        self.assertEqual(done.stderr, "")
        self.assertFalse(self.json("info", "numbers.store")["keeps_texts"])
        info = self.json("info", "texts.store")
        self.assertTrue(info["keeps_texts"])
        self.assertEqual((info["owners"], info["rows_without_owner"], info["labels"]), (6, 0, 2))
        self.output("export", "texts.store", "--labels", "-o", "l.json")
        self.assertEqual(sorted(json.loads(self.read("l.json"))["ids"]), sorted(self.TEXTS))
        self.output("export", "texts.store", "--labels", "-o", "l.csv")
        text = self.read("l.csv").decode()
        self.assertTrue(text.startswith("id,label\n"))
        for line in '"a,b",', '"say ""x""",', "beta,", "\u00fc,":
            self.assertIn("\n" + line, text)
        self.output("export", "numbers.store", "--labels", "-o", "n.json")
        for number in json.loads(self.read("n.json"))["ids"]:
            self.assertIsInstance(number, int)

    def test_numbers_need_no_note(self):
        done = self.run_with(0, "fit", "people.csv", "--id", "id", "--label", "user", "-k", "2",
                             "-o", "n.store")
        self.assertEqual(done.stderr, "")

    def test_predict(self):
        self.run_with(0, "fit", *self.arguments, "-o", "s.store")
        options = ["--id", "name", "--owner", "who", "--label", "kind"]
        found = self.json("predict", "s.store", "t.csv", *options)
        self.assertEqual(found["ids"], self.TEXTS)
        text = self.output("predict", "s.store", "t.csv", *options)
        self.assertTrue(text.startswith("id,label\nbeta,"), text)
        # Columns that the model does not have are passed over, and are no ids.
        found = self.json("predict", "s.store", "t.csv")
        self.assertEqual(set(found), {"model", "rows", "labels"})

    def test_pipes(self):
        data = self.read("people.csv").decode()
        options = ["--id", "id", "--owner", "user"]
        self.output("fit", "-", *options, "-k", "3", "--seed", "11", "-o", "pipe.store", stdin=data)
        self.fit("file.store")
        self.assertEqual(self.canonical("pipe.store", "a"), self.canonical("file.store", "b"))
        self.assertEqual(self.output("predict", "pipe.store", "-", *options, stdin=data),
                         self.output("predict", "pipe.store", "people.csv", *options))
        # Nor do columns of texts need to be named: the model knows its own.
        self.assertEqual(len(self.output("predict", "pipe.store", "-", stdin=data).split()), N_ROWS)
        self.refused(1, "name columns that are not values with --id", "predict", "pipe.store", "-",
                     stdin="".join(data.splitlines(True)[1:]))


class Fit(ProgramTest):
    def test_more_clusters_than_rows(self):
        self.write("two.csv", "x\n1\n2\n")
        done = self.run_with(0, "fit", "two.csv", "-k", "5", "-o", "s.store")
        self.assertEqual(done.stderr, "efface: warning: k is 5, but there are 2 rows: the model has "
                                      "2 centroids\n")
        done = self.run_with(0, "fit", "-k", "3", "-o", "s.store", "--model", "b", "--json")
        self.assertIn("k is 3", json.loads(done.stderr)["warning"]["message"])
        self.assertEqual(len(self.json("info", "s.store", "--model", "b")["model"]["clusters"]), 2)

    def test_coarse_columns(self):
        self.write("c.csv", "x,y,z\n" + "".join(f"{i % 3},{1000 + i * 1e-3},{i * 1e9}\n"
                                                for i in range(9)))
        for words, said, coarse in [
                ([], "of 2 columns; the first is number 1 (x)", [True, True, False]),
                (["--columns", "y,z"], "of 1 column; the first is number 2 (y)", [True, False])]:
            done = self.run_with(0, "fit", "c.csv", "-k", "2", "-o", "c.store")
            self.assertIn("warning: the model keeps less than 8 bits of 2 columns", done.stderr)
            done = self.run_with(0, "fit", "-k", "2", "-o", "c.store", "--model", "more", *words)
            self.assertIn("warning: the model keeps less than 8 bits " + said, done.stderr)
            model = self.json("info", "c.store", "--model", "more")["model"]
            self.assertEqual([column["coarse"] for column in model["columns"]], coarse)
            os.remove(self.path("c.store"))
        self.output("fit", "c.csv", "-k", "2", "-o", "c.store", "--scale", "minmax", "--offset",
                    "y=1000")

    def test_receipt_key_outside(self):
        self.write("r.key", "1f" * 32 + "\n")
        os.chmod(self.path("r.key"), 0o600)
        self.fit("s.store", "people.csv", "--receipt-key", "r.key")
        self.assertEqual(self.json("info", "s.store")["receipt_key"], "outside")
        self.assertIn("their key is kept outside", self.output("info", "s.store"))
        self.assertNotIn(bytes.fromhex("1f" * 32), self.read("s.store"))
        self.run_with(1, "fit", "-k", "2", "-o", "s.store", "--model", "b")
        self.output("fit", "-k", "2", "-o", "s.store", "--model", "b", "--receipt-key", "r.key")
        self.refused(4, "there is no file 'none'", "fit", "people.csv", "--id", "id", "--owner",
                     "user", "-k", "2", "-o", "t.store", "--receipt-key", "none")
        self.assertFalse(os.path.exists(self.path("t.store")))


class Info(ProgramTest):
    def test_a_model_in_full(self):
        self.fit("s.store", "people.csv", "--method", "lloyd")
        text = self.output("info", "s.store", "--full")
        self.assertIn("\nmodel     default\nkind      k-means\n"
                      "params    method lloyd, k 3, iters 10, candidates default, scale none,\n"
                      "          empty reseed, bound default\n"
                      "fitted    works_as lloyd, iterations 1, converged yes\nloss ", text)
        self.assertRegex(text, r"\nloss      \d+\.\d+\n")
        model = self.json("info", "s.store", "--model", "default")["model"]
        self.assertEqual([cluster["rows"] for cluster in model["clusters"]], [N_ROWS // 3] * 3)
        self.assertEqual([cluster["weight"] for cluster in model["clusters"]], [N_ROWS // 3] * 3)
        self.assertEqual(model["kind"], "k-means")
        self.assertEqual(model["parameters"], {"method": "lloyd", "k": 3, "iters": 10, "candidates": None,
                                               "scale": "none", "empty": "reseed", "bound": None})
        self.assertEqual(model["fitted"], {"works_as": "lloyd", "sample": None, "iterations": 1,
                                           "converged": True, "epsilon": None, "width": None})
        self.assertEqual(model["note"], None)
        self.assertGreater(model["loss"], 0)
        self.assertEqual(model["columns"][0]["name"], "age")
        self.assertAlmostEqual(model["columns"][0]["least"], 20, places=3)
        listed = self.json("info", "s.store")["models"][0]
        self.assertEqual(listed, {key: model[key] for key in listed})
        self.assertNotIn("model", self.json("info", "s.store"))

    def test_pyramid_with_a_sample_and_without(self):
        self.fit()
        text = self.output("info", "s.store", "--full")
        self.assertIn("\nparams    method pyramid, k 3, iters 10, ", text)
        note = "too few rows for each cluster to take a sample, so it works as lloyd"
        self.assertIn(f"note      {note}\n", text)
        model = self.json("info", "s.store", "--full")["model"]
        self.assertEqual((model["parameters"]["method"], model["fitted"]["works_as"],
                          model["fitted"]["sample"], model["note"]),
                         ("pyramid", "lloyd", None, note))
        self.fit("t.store", "people.csv", "--rate", "0.25")
        model = self.json("info", "t.store", "--full")["model"]
        sample = model["fitted"]["sample"]
        self.assertEqual((model["parameters"]["method"], model["fitted"]["works_as"], model["note"]),
                         ("pyramid", "pyramid", None))
        self.assertTrue(16 <= sample < N_ROWS, sample)
        self.assertIn(f"fitted    works_as pyramid, sample {sample}, ",
                      self.output("info", "t.store", "--full"))

    def test_parameters_of_methods(self):
        self.fit()
        for name, words, expected in [
                ("q", ["--method", "quantized", "--gamma", "0.5", "--scale", "minmax"],
                 {"gamma": 0.5, "epsilon": None, "scale": "minmax"}),
                ("p", ["--method", "pyramid", "--rate", "0.5", "--passes", "2"],
                 {"rate": 0.5, "passes": 2, "starts": 4, "epsilon": None}),
                ("g", ["--candidates", "3"], {"candidates": 3}),
                ("a", ["--candidates", "1"], {"candidates": 1}),
                ("d", [], {"candidates": None, "rate": None, "passes": 1, "starts": 4}),
                ("t", ["--method", "tree", "--width", "2", "--leaf-method", "quantized", "--weigh", "yes"],
                 {"width": 2, "height": 1, "leaf_method": "quantized", "node_method": "lloyd",
                  "weigh": True, "gamma": 0.2})]:
            self.output("fit", "-k", "2", "-o", "s.store", "--model", name, "--seed", "424242",
                        *words)
            model = self.json("info", "s.store", "--model", name)["model"]
            self.assertEqual({**model["parameters"], **expected}, model["parameters"])
            text = self.output("info", "s.store", "--model", name)
            self.assertNotIn("424242", text + json.dumps(model))
        self.assertIn(", candidates 1, ", self.output("info", "s.store", "--model", "a"))
        self.assertIn(", candidates default, ", self.output("info", "s.store", "--model", "d"))
        self.refused(2, "has 7 models", "info", "s.store", "--full")
        self.refused(4, "no model 'x'", "info", "s.store", "--model", "x")

    def test_no_rows(self):
        self.fit()
        self.output("forget", "s.store", "--from", "-", "--yes",
                    stdin="".join(f"{i}\n" for i in range(N_ROWS)))
        model = self.json("info", "s.store", "--full")["model"]
        self.assertEqual((model["clusters"], model["loss"]), ([], 0))

    def test_owners(self):
        self.write("o.csv", "who,x\n1,1\n1,2\n,3\n0,4\n")
        self.output("fit", "o.csv", "--owner", "who", "-k", "1", "-o", "o.store")
        info = self.json("info", "o.store")
        self.assertEqual((info["owners"], info["rows_without_owner"]), (2, 1))
        self.assertIn("owners    2; 1 row has none\n", self.output("info", "o.store"))
        self.assertEqual(info["notes"], [])
        self.assertEqual(info["bytes"], os.path.getsize(self.path("o.store")))


class Messages(ProgramTest):
    """With --json, every line on standard error is an object with one field."""

    def messages(self, code, *arguments, stdin=""):
        done = self.run_with(code, *arguments, "--json", stdin=stdin)
        return [json.loads(line) for line in done.stderr.splitlines()]

    def error(self, code, *arguments):
        found = [m["error"] for m in self.messages(code, *arguments) if "error" in m]
        self.assertEqual(len(found), 1, found)
        self.assertEqual(set(found[0]), {"code", "status", "message", "file", "line", "column"})
        self.assertEqual(found[0]["code"], code)
        return found[0]

    def test_errors(self):
        self.fit()
        self.assertEqual(self.error(2, "info")["status"], "usage")
        self.assertEqual(self.error(2, "nonsense")["status"], "usage")
        self.assertEqual(self.error(2, "fit", "-k", "3", "-o", "s.store", "--model", "a/b")["status"],
                         "bad argument")
        self.assertEqual(self.error(4, "info", "none")["status"], "not found")
        self.assertEqual(self.error(4, "verify", "s.store", "--model", "none")["status"],
                         "not found")
        self.assertEqual(self.error(1, "fit", "people.csv", "-k", "3", "-o", "s.store")["status"],
                         "failed")
        self.write("bad.csv", "x,y\n1,2\n3,oh\n")
        error = self.error(1, "fit", "bad.csv", "-k", "1", "-o", "n")
        self.assertEqual((error["status"], error["file"], error["line"], error["column"]),
                         ("bad format", "bad.csv", 3, 2))
        error = self.error(4, "forget", "s.store", "--id", "1000", "--yes")
        self.assertEqual((error["file"], error["line"]), (None, None))

    def test_notes_and_warnings(self):
        arguments = ["fit", "people.csv", "--id", "id", "--owner", "user", "-k", "3", "-o", "n"]
        self.assertEqual(self.messages(0, *arguments), [
            {"note": {"message": TEXTS_NOTE[len("efface: "):-1]}}])

    def test_after_two_dashes_it_is_a_name(self):
        done = self.run_with(4, "info", "--", "--json")
        self.assertEqual(done.stderr.split(":")[0], "efface")


class Busy(ProgramTest):
    def test_wait(self):
        self.fit()
        arguments = ["fit", "-k", "2", "-o", "s.store", "--model", "b"]
        database = sqlite3.connect(self.path("s.store"), isolation_level=None,
                                   check_same_thread=False)
        self.addCleanup(database.close)
        database.execute("BEGIN IMMEDIATE")
        # Who waited for the usual five seconds would get it.
        release = threading.Timer(4, database.execute, ["ROLLBACK"])
        release.start()
        self.run_with(5, *arguments, "--wait", "0")
        done = self.run_with(5, *arguments, "--wait", "0.01", "--json")
        self.assertEqual(json.loads(done.stderr)["error"]["code"], 5)
        release.cancel()
        release.join()
        self.refused(2, "--wait cannot be '-1'", *arguments, "--wait", "-1")
        release = threading.Timer(0.3, database.execute, ["ROLLBACK"])
        release.start()
        self.addCleanup(release.join)
        self.output(*arguments, "--wait", "100")
        for line in "info s.store", "check s.store", "verify s.store", \
                "export s.store --labels --model b -o l.csv", "predict s.store people.csv --model b":
            self.run_with(0, *line.split(), "--wait", "1")


if __name__ == "__main__":
    assert PROGRAM, __doc__
    unittest.main()
