#!/usr/bin/python3
"""Wrong usage, things that are not there, and damage: exit codes and messages.

usage: test_cli_errors.py PROGRAM [TEST]
"""
import hashlib
import os
import shutil
import sqlite3
import unittest

from cli_program import PROGRAM, ProgramTest, write_people

# (a part of the message, the command line). s.store has the models default and two.
USAGE = [
    ("there is no command 'forgt'", "forgt s.store"),
    ("unknown option '--frobnicate'", "info s.store --frobnicate"),
    ("unknown option '-x'", "info -x"),
    ("STORE is missing", "info"),
    ("STORE is missing", "forget --id 3 --yes"),
    ("DATA is missing", "learn s.store"),
    ("'more' is one argument too many", "info s.store more"),
    ("--json takes no value", "info s.store --json=yes"),
    ("--model needs a value", "verify s.store --model"),
    ("fit needs -k K", "fit people.csv -o new.store"),
    ("fit needs -o STORE", "fit people.csv -k 3"),
    ("-k cannot be '0'", "fit people.csv -k 0 -o new.store"),
    ("-k cannot be 'three'", "fit people.csv -k three -o new.store"),
    ("-k cannot be '-3'", "fit people.csv -k -3 -o new.store"),
    ("--method cannot be 'magic': it must be lloyd, quantized, pyramid or tree",
     "fit people.csv -k 3 -o new.store --method magic"),
    ("--scale cannot be 'max': it must be none, minmax or standard", "fit people.csv -k 3 -o n --scale max"),
    ("--seed cannot be '1.5'", "fit people.csv -k 3 -o new.store --seed 1.5"),
    ("--gamma cannot be 'nan'", "fit people.csv -k 3 -o new.store --gamma nan"),
    ("gamma", "fit people.csv --id id --owner user -k 3 -o n --method quantized --gamma 7"),
    ("there is no store 'n': give DATA to create it", "fit -k 3 -o n"),
    ("without DATA", "fit -k 3 -o s.store --model x --id id"),
    ("there is no column 'weight'", "fit -k 3 -o s.store --model x --columns age,weight"),
    ("there is no column '3'", "fit -k 3 -o s.store --model x --columns 1-2,3"),
    ("there is no column '2-1'", "fit -k 3 -o s.store --model x --columns 2-1"),
    ("there is no column ''", "fit -k 3 -o s.store --model x --columns 1,"),
    ("named before", "fit -k 3 -o s.store --model x --columns 1,age"),
    ("name", "fit -k 3 -o s.store --model a/b"),
    ("forget needs --id", "forget s.store --yes"),
    ("add --yes", "forget s.store --id 3"),
    ("add --yes", "drop s.store --model two"),
    ("add --yes", "rekey s.store"),
    ("add --yes", "update s.store people.csv --id id"),
    ("update needs --id", "update s.store people.csv --yes"),
    ("show needs --id", "show s.store"),
    (".csv or .json", "show s.store --id 1 -o x.npy"),
    ("--format cannot be 'npy': it must be text, csv or json", "owners s.store --format npy"),
    ("--wait cannot be '-1'", "owners s.store --wait -1"),
    ("drop needs --model", "drop s.store --yes"),
    ("takes one of", "export s.store --labels --table centroids -o x.csv"),
    ("takes one of", "export s.store --table centroids --receipts -o x.csv"),
    ("export needs -o FILE", "export s.store --table centroids"),
    ("there is no family 'x' of models", "fit people.csv --family x -k 3 -o new.store"),
    ("needs -o", "export s.store --labels --model two"),
    (".csv, .npy or .json", "export s.store --labels --model two -o labels.txt"),
    ("receipts are JSON", "export s.store --receipts -o r.csv"),
    ("not JSON", "export s.store --canonical --model two -o - --json"),
    ("has 2 models", "export s.store --labels -o l.csv"),
    ("has 2 models", "predict s.store people.csv --id id --owner user"),
    (".csv, .npy or .json", "predict s.store people.csv -o labels"),
    ("--columns names 1 columns",
     "predict s.store people.csv --id id --owner user --model two --columns age"),
    ("keys, show, verify, has or open", "receipt"),
    ("keys, show, verify, has or open", "receipt sign"),
    ("--class needs a value, but the option --model comes next; if that is the value, write "
     "--class=--model", "fit people.csv --family ridge --class --model x -o new.store"),
    ("-o needs a value, but the option --json comes next", "export s.store --labels -o --json"),
    ("is not the number of a receipt", "receipt show s.store 0"),
    ("needs --secret", "receipt keys --secret a"),
]

NOT_FOUND = [
    ("there is no store 'n'", "info n"),
    ("there is no store 'n'", "verify n"),
    ("there is no store 'n'", "forget n --id 1 --yes"),
    ("there is no file 'n.csv'", "fit n.csv -k 3 -o new.store"),
    ("there is no file 'n.csv'", "fit n.csv -o new.store"),  # -k is missing as well
    ("there is no file 'n.csv'", "learn s.store n.csv"),
    ("s.store has no receipt 7", "receipt show s.store 7"),
    ("there is no file 'list'", "forget s.store --from list --yes"),
    ("there is no file 'k'", "forget s.store --id 1 --sign k --yes"),
    ("there is no store 'n'", "fit people.csv -k 3 -o new.store --like n"),
    ("not found: id 1000; nothing", "forget s.store --id 1,1000 --yes"),
    ('not found: id "beta"', "forget s.store --id beta --yes"),
    ('not found: id "1,,2"', "forget s.store --id 1,,2 --yes"),
    ('id "18446744073709551616"', "forget s.store --id 18446744073709551616 --yes"),
    ('not found: owner "nobody"', "forget s.store --owner nobody --yes"),
    ('not found: owner "nobody"', "forget s.store --owner nobody --dry-run"),
    ('not found: id "x y";', "forget s.store --from bad --yes"),
    ('not found: owner "nobody"', "show s.store --owner nobody"),
    ("there is no store 'n'", "show n --id 1"),
    ("there is no store 'n'", "owners n"),
    ("there is no store 'n'", "compact n"),
    ("there is no store 'n'", "update n people.csv --id id --yes"),
    ("no model 'n'", "verify s.store --model n"),
    ("no model 'n'", "drop s.store --model n --yes"),
    ("no model 'n'", "rekey s.store --model n --yes"),
    ("no model 'n'", "export s.store --labels --model n -o l.csv"),
    ("no model 'n'", "predict s.store people.csv --id id --owner user --model n"),
    ("there is no file 'n'", "receipt verify n --public-key n"),
]

FAILED = [
    ("exists already: leave DATA out to add a model to it", "fit people.csv -k 3 -o s.store"),
    ("two", "fit -k 3 -o s.store --model two"),
    ("name columns that are not values with --id", "fit people.csv -k 3 -o new.store"),  # the column user is no number
    ("has 3 columns of values, but the store has 2; name columns that are not values with --id",
     "learn s.store wide.csv --header no"),
    ("no column 'height', which the store has", "learn s.store narrow.csv --label x"),
    ("id 0 exists already", "learn s.store people.csv --id id --owner user"),
    ('hole.csv:3:3: "n/a"', "predict s.store hole.csv --model two"),
    ("no column 'height'", "predict s.store narrow.csv --model two"),
    ("", "info people.csv"),
    ("", "check people.csv"),
    ("zero byte", "forget s.store --from zero --yes"),
    ("cannot write nowhere/l.csv", "export s.store --labels --model two -o nowhere/l.csv"),
    ("not a secret key", "forget s.store --id 1 --sign people.csv --yes"),
]


class Errors(ProgramTest):
    def setUp(self):
        super().setUp()
        self.fit()
        self.output("fit", "-k", "2", "-o", "s.store", "--model", "two")
        self.write("wide.csv", "7,1,2\n")
        self.write("narrow.csv", "age,x\n1,2\n")
        self.write("hole.csv", "name,age,height\na,1,2\nb,3,n/a\n")
        self.write("bad", "5\nx y\n6\n")
        self.write("zero", "5\n6\0\n")

    def try_all(self, code, table):
        before = self.read("s.store")
        there = set(os.listdir(self.folder))
        for message, line in table:
            with self.subTest(line):
                self.refused(code, message, *line.split())
        # What is refused leaves no trace.
        self.assertEqual(set(os.listdir(self.folder)), there)
        self.assertEqual(self.read("s.store"), before)

    def test_usage(self):
        self.try_all(2, USAGE)
        done = self.run_with(2)
        self.assertEqual(done.stdout, "")
        self.assertIn("usage: efface COMMAND", done.stderr)

    def test_not_found(self):
        self.try_all(4, NOT_FOUND)

    def test_failed(self):
        self.try_all(1, FAILED)

    def test_no_models(self):
        for name in "default", "two":
            self.output("drop", "s.store", "--model", name, "--yes")
        self.refused(4, "no models", "export", "s.store", "--canonical", "-o", "x")
        self.assertIn("no models", self.run_with(0, "verify", "s.store").stderr)

    def test_secrets_are_not_shown(self):
        everything = ""
        for line in ["fit people.csv --id id --owner user -k 2 -o n.store --seed 7777777777",
                     "info n.store --json", "rekey n.store --seed 7777777777 --yes",
                     "export n.store --receipts -o -", "verify n.store --json"]:
            done = self.run_with(0, *line.split())
            everything += done.stdout + done.stderr
        self.assertNotIn("7777777777", everything)


class Damage(ProgramTest):
    def change(self, sql, *values):
        """Changes the store behind the library's back."""
        database = sqlite3.connect(self.path("s.store"))
        database.execute(sql, values)
        database.commit()
        database.close()

    def test_different(self):
        # A model of before a request, put back under its own seal, and a head that agrees with it.
        self.fit()
        shutil.copy(self.path("s.store"), self.path("before.store"))
        self.write("new.csv", "id,user,age,height\n3,u0,20.50,149.50\n")
        self.output("update", "s.store", "new.csv", "--id", "id", "--owner", "user",
                    "--yes")
        database = sqlite3.connect(self.path("s.store"))
        seals = "SELECT (SELECT seal FROM {0}models), (SELECT value FROM facts WHERE name = 'head')"
        database.execute("ATTACH ? AS before", [self.path("before.store")])
        old, head = database.execute(seals.format("before.")).fetchone()
        new, head = database.execute(seals.format("main.")).fetchone()
        total = int.from_bytes(head[248:264], "little")
        total += int.from_bytes(old, "little") - int.from_bytes(new, "little")
        head = head[:248] + (total % 2**128).to_bytes(16, "little") + head[264:]
        seal = hashlib.blake2b(head, digest_size=32).digest()
        database.execute("REPLACE INTO facts VALUES ('head', ?), ('seal', ?)", [head, seal])
        for table in ["models", "states"]:
            database.execute(f"DELETE FROM main.{table}")
            database.execute(f"INSERT INTO main.{table} SELECT * FROM before.{table}")
        database.commit()
        database.close()
        done = self.run_with(3, "verify", "s.store")
        self.assertRegex(done.stdout, r"^default: DIFFERENT from a model fitted now to the \d+ rows of the store; digest [0-9a-f]{64}\n  first difference: ")
        found = self.json("verify", "s.store", code=3)
        self.assertFalse(found["identical"])
        model = found["models"][0]
        self.assertFalse(model["identical"])
        self.assertRegex(model["where"], r"^level \d+")
        self.assertEqual(set(model), {"name", "identical", "rows", "digest", "what", "where"})
        self.assertTrue(done.stdout.endswith(
            f"first difference: {model['what']}, {model['where']}\n"), done.stdout)

    def test_damaged_state(self):
        self.fit()
        self.change("UPDATE models SET digest = zeroblob(32)")
        done = self.run_with(6, "check", "s.store")
        self.assertIn("default", done.stdout)
        self.assertIn("damaged", done.stderr)
        found = self.json("check", "s.store", code=6)
        self.assertTrue(found["damaged"])
        self.assertEqual(len(found["problems"]), 1)
        self.change("UPDATE models SET state = zeroblob(7)")
        self.refused(6, "", "export", "s.store", "--labels", "-o", "l.csv")

    def test_damaged_file(self):
        self.fit()
        with open(self.path("s.store"), "r+b") as file:
            file.truncate(os.path.getsize(self.path("s.store")) // 2)
        self.run_with(6, "check", "s.store")
        self.refused(6, "", "forget", "s.store", "--id", "1", "--yes")

    def test_learn_is_all_or_nothing(self):
        self.fit()
        write_people(self.path("new.csv"), [100, 101, 5])
        before = self.read("s.store")
        self.refused(1, "5", "learn", "s.store", "new.csv", "--id", "id", "--owner", "user")
        self.assertEqual(before, self.read("s.store"))


if __name__ == "__main__":
    assert PROGRAM, __doc__
    unittest.main()
