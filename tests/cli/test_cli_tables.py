#!/usr/bin/python3
"""Getting a table in: columns that are not read, a look at a file, tables as people have them.

usage: test_cli_tables.py PROGRAM [TEST]
"""
import contextlib
import gzip
import shlex
import sqlite3
import unittest

from cli_program import N_ROWS, ProgramTest, TEXTS_NOTE, rows, write_people

# People with a name, a date and a truth value beside what a model can use.
HEAD = "id,name,user,age,since,paid,height\n"


def mixed(ids):
    for line in rows(ids):
        i, user, age, height = line.split(",")
        yield f"{i},Name {i},{user},{age},2024-01-{1 + int(i) % 28:02},{int(i) % 2 == 0},{height}\n"


class Columns(ProgramTest):
    WORDS = ("--id", "id", "--owner", "user", "-k", "3", "--seed", "11")

    def setUp(self):
        super().setUp()
        self.write("mixed.csv", HEAD + "".join(mixed(range(N_ROWS))))

    def test_what_is_left_out_is_not_read(self):
        """The store is that of a file without these columns."""
        self.fit()
        wanted = self.canonical("s.store")
        for number, words in enumerate([
                ["--columns", "age,height"], ["--columns", "2,5"], ["--columns", "height,2"],
                ["--ignore", "name,since,paid"], ["--ignore", "1,3-4"],
                ["--ignore", "name", "--ignore", "3,paid"],
                ["--columns", "1-2,height", "--ignore", "name"]]):
            store = f"{number}.store"
            self.output("fit", "mixed.csv", *self.WORDS, "-o", store, *words)
            self.assertEqual(self.canonical(store, store + ".state"), wanted, words)
            self.assertEqual(self.json("info", store)["columns"], ["age", "height"])
        self.output("forget", "0.store", "--owner", "u1", "--yes")
        self.assertIn("identical", self.output("verify", "0.store"))

    def test_messages(self):
        done = self.run_with(1, "fit", "mixed.csv", *self.WORDS, "-o", "n.store")
        self.assertIn('mixed.csv:2:2: "Name 0" is not a number (fields are separated by ","); if '
                      'the column "name" has texts, leave it out, or make it the class, the owner '
                      "or the id", done.stderr)
        self.assertIn("leave them out with --ignore", done.stderr)
        for words, message in [
                (["--columns", "weight"], "there is no column 'weight' to read"),
                (["--ignore", "id"], "there is no column 'id' to leave out"),
                (["--columns", "age,2"], "named before"),
                (["--columns", "age", "--offset", "weight=1"], "no column of values 'weight'")]:
            self.refused(2, message, "fit", "mixed.csv", *self.WORDS, "-o", "n.store", *words)
        self.fit()
        self.refused(2, "leave out --id, --owner, --weight, --label, --ignore", "fit", "-k", "2",
                     "-o", "s.store", "--model", "b", "--ignore", "age")

    def test_targets_and_categories(self):
        words = ["--id", "id", "--owner", "user", "-o"]
        self.output("fit", "mixed.csv", *words, "t.store", "--family", "linear", "--columns", "age",
                    "--target", "height")
        self.assertEqual(self.json("info", "t.store")["columns"], ["age", "height"])
        # Numbers of columns that other options name count those that are not read.
        self.output("fit", "mixed.csv", *words, "n.store", "--family", "linear", "--ignore",
                    "1,3,4", "--target", "5")
        self.assertEqual(self.canonical("t.store", "t"), self.canonical("n.store", "n"))
        self.output("fit", "mixed.csv", *words, "c.store", "--family", "forest", "--class", "paid",
                    "--categories", "name,since", "--seed", "1", "--trees", "5")
        self.refused(2, "the column 'name' is not read; list it with --columns too", "fit",
                     "mixed.csv", *words, "x.store", "--family", "forest", "--class", "paid",
                     "--columns", "age", "--categories", "name")
        done = self.run_with(0, "fit", "mixed.csv", *words, "o.store", "-k", "2", "--ignore",
                             "1,3,paid", "--offset", "5=100", "--offset", "name=3")
        self.assertEqual(self.json("info", "o.store")["offsets"], [0, 100])

    def test_learn_and_update_skip_what_the_store_does_not_have(self):
        self.fit("a.store")
        self.fit("b.store")
        write_people(self.path("new.csv"), range(100, 140))
        self.write("wide.csv", HEAD + "".join(mixed(range(100, 140))))
        ids = ["--id", "id", "--owner", "user"]
        self.output("learn", "a.store", "new.csv", *ids)
        done = self.run_with(0, "learn", "b.store", "wide.csv", *ids)
        self.assertEqual(done.stderr, "efface: wide.csv: not read, for the store has no such "
                                      "columns: name, since, paid\n")
        self.assertEqual(self.canonical("a.store", "a"), self.canonical("b.store", "b"))
        # In another order, too; and what options leave out needs no words.
        lines = [line.strip().split(",") for line in [HEAD, *mixed(range(0, 30))]]
        self.write("turned.csv", "".join(",".join(reversed(line)) + "\n" for line in lines))
        write_people(self.path("same.csv"), range(0, 30))
        self.output("update", "a.store", "same.csv", "--id", "id", "--yes", "--ignore", "user")
        self.output("update", "b.store", "turned.csv", "--id", "id", "--yes", "--ignore",
                    "user,name,since,paid")
        self.assertEqual(self.canonical("a.store", "a"), self.canonical("b.store", "b"))
        done = self.run_with(0, "predict", "b.store", "wide.csv", "--id", "id")
        self.assertEqual(done.stdout, self.output("predict", "a.store", "new.csv", "--id", "id"))
        self.assertEqual(done.stderr, "")
        # A file without names: by numbers.
        self.write("bare.csv", "".join(mixed(range(200, 205))))
        self.output("learn", "b.store", "bare.csv", "--header", "no", "--id", "1", "--owner", "3",
                    "--columns", "2,5")
        self.assertEqual(self.json("show", "b.store", "--id", "203")["rows"][0]["values"],
                         [60.41, 169.59])

    def test_a_column_that_is_missing(self):
        self.fit()
        self.write("less.csv", "id,name,age\n900,x,3\n")
        self.refused(1, "less.csv has no column 'height', which the store has", "learn", "s.store",
                     "less.csv", "--id", "id")
        self.refused(1, "less.csv has no column 'height', which the model needs", "predict",
                     "s.store", "less.csv")


class Look(ProgramTest):
    def columns(self, name, *words):
        found = self.json("look", name, *words)
        return {column["name"]: column for column in found["columns"]}

    def test_text(self):
        text = self.output("look", "people.csv")
        self.assertEqual(text.splitlines()[0], f"people.csv: {N_ROWS} rows, 4 columns")
        self.assertRegex(text, r"\n    1  id      whole numbers +0 +60 +0 +59  id\n")
        self.assertRegex(text, r"\n    2  user    texts +0 +15 +owner\n")
        self.assertEqual(text.splitlines()[-1], "  efface fit people.csv --id id --owner user -k 8 "
                                                "--scale standard -o people.store")

    def test_json(self):
        self.write("t.csv", "visit;who;when;ok;x;y;empty;kind\n" + "".join(
            f"{i};p{i // 3};2024-02-{1 + i % 28:02}T10:00Z;{'yes' if i % 2 else 'No'};{i / 4};"
            f"{i},5;;{'abc'[i % 3]}\n" for i in range(9000)))
        found = self.json("look", "t.csv")
        self.assertEqual((found["rows"], found["header"]), (9000, True))
        by_name = {column["name"]: column for column in found["columns"]}
        self.assertEqual({name: column["looks"] for name, column in by_name.items()},
                         {"visit": "whole numbers", "who": "texts", "when": "times",
                          "ok": "true and false", "x": "numbers", "y": "numbers with commas",
                          "empty": "empty", "kind": "texts"})
        self.assertEqual((by_name["x"]["smallest"], by_name["x"]["largest"]), (0, 2249.75))
        self.assertEqual((by_name["who"]["smallest"], by_name["who"]["distinct"]), (None, 3000))
        self.assertEqual((by_name["empty"]["missing"], by_name["empty"]["distinct"]), (9000, 0))
        self.assertFalse(by_name["visit"]["distinct_exact"])
        self.assertAlmostEqual(by_name["visit"]["distinct"], 9000, delta=600)
        self.assertEqual([name for name, column in by_name.items() if "id" in column["could_be"]],
                         ["visit"])
        self.assertEqual(by_name["kind"]["could_be"], ["class"])
        self.assertEqual(by_name["who"]["could_be"], ["owner"])

    def test_the_order_of_rows_does_not_matter(self):
        lines = [f"{i * 7919 % 100003},{i % 4500},w{i % 5000}\n" for i in range(12000)]
        for name, order in ("a.csv", lines), ("b.csv", lines[::-1]):
            self.write(name, "a,b,c\n" + "".join(order))
        first, second = self.json("look", "a.csv"), self.json("look", "b.csv")
        self.assertEqual(first["columns"], second["columns"])
        self.assertTrue(all(c["distinct_exact"] is False for c in first["columns"]))

    def test_other_files(self):
        text = self.read("people.csv").decode()
        self.write("people.csv.gz", gzip.compress(text.encode()))
        self.assertEqual(self.json("look", "people.csv.gz")["columns"],
                         self.json("look", "people.csv")["columns"])
        done = self.run_with(0, "look", "-", stdin=text)
        self.assertIn("standard input: 60 rows", done.stdout)
        self.output("fit", "people.csv", "--id", "id", "--owner", "user", "-k", "2", "-o", "s")
        self.output("predict", "s", "people.csv", "-o", "labels.npy")
        found = self.json("look", "labels.npy")
        self.assertEqual((found["rows"], found["header"]), (60, False))
        self.assertEqual((found["columns"][0]["name"], found["columns"][0]["largest"]), (None, 1))
        self.refused(4, "there is no file 'n'", "look", "n")
        self.write("empty.csv", "")
        self.refused(1, "the file is empty", "look", "empty.csv")

    def test_names_that_a_shell_would_eat(self):
        self.write("it's here.csv", "row id,user's name,a b,$x,\"c,d\",7\n" + "".join(
            f"{i},u{i % 9},{i},{i},never,{i}\n" for i in range(30)))
        command = self.json("look", "it's here.csv", "--header", "yes")["command"]
        self.assertEqual(shlex.split(command),
                         ["efface", "fit", "it's here.csv", "--header", "yes", "--id", "row id",
                          "--owner", "user's name", "--ignore", "3", "-k", "8", "--scale",
                          "standard", "-o", "it's here.store"])
        self.run_with(0, *shlex.split(command)[1:])


# Tables as people have them: a name, the file, what look says of columns, what a plain fit of all of
# it says (None: it succeeds), and what a look notes (or ""). Where look has a command, it succeeds.
NUMBERS = "".join(f"{i},{i * i % 17}\n" for i in range(30))
UGLY = [
    ("dates", "x,when\n" + "".join(f"{i},2024-02-{1 + i % 28:02}\n" for i in range(30)),
     ["whole numbers", "dates"], ':2:2: "2024-02-01" is not a number', ""),
    ("times", "x,when\n1,2024-02-29 10:00:00.25\n2,2024-02-29T23:59+02:00\n3,2024-03-01\n",
     ["whole numbers", "times"], "is not a number", ""),
    ("no date", "x,when\n1,2023-02-29\n2,2024-13-01\n", ["whole numbers", "texts"],
     "is not a number", ""),
    ("truth", "x,paid\n1,TRUE\n2,False\n3,t\n4,no\n", ["whole numbers", "true and false"],
     'the column "paid"', ""),
    ("pandas", ",x,y\n0,1.0,2.5\n1,3.0,nan\n2,4.0,1.5\n", ["whole numbers"] * 2 + ["numbers"],
     '"nan" is not a finite number', ""),
    ("decimal commas", "x;y\n1,5;2\n2,5;3\n", ["numbers with commas", "whole numbers"],
     '"1,5" is not a number (fields are separated by ";")', ""),
    ("thousands", 'x,y\n"1,234",1\n"2,345",2\n', ["numbers with commas", "whole numbers"],
     "is not a number", ""),
    ("Latin-1", b"x,stra\xdfe\n1,K\xf6ln\n2,Bonn\n", ["whole numbers", "texts"],
     "K\\xF6ln", "1 field is not UTF-8"),
    ("UTF-16", "x,y\n1,2\n".encode("utf-16"), None, "UTF-16", ""),
    ("two columns of one name", "x,y,x\n1,2,3\n4,5,6\n", ["whole numbers"] * 3, None,
     "column 3 (x) has the name of another column"),
    ("an empty column", "x,y,z\n1,,2\n3,,4\n", ["whole numbers", "empty", "whole numbers"],
     "the field is empty", ""),
    ("words for missing", "x,y\n1,NA\n2,?\n3,null\n", ["whole numbers", "empty"],
     '"NA" is not a number', ""),
    ("a mark and CR LF", "\ufeffx,y\r\n1,2\r\n3,4\r\n", ["whole numbers"] * 2, None, ""),
    ("quoted numbers", 'x,y\n"1","2.5"\n"3","4"\n', ["whole numbers", "numbers"], None, ""),
    ("units", "x,y\n1,5 kg\n2,7 kg\n", ["whole numbers", "texts"], '"5 kg" is not a number', ""),
    ("percent", "x,y\n1,5%\n2,7%\n", ["whole numbers", "texts"], '"5%" is not a number', ""),
    ("one bad field", "x,y\n" + NUMBERS + "x1,5\n" + NUMBERS, ["texts", "whole numbers"],
     ':32:1: "x1" is not a number', "60 of 61 fields are numbers; the first that is not is in line 32"),
    ("beyond 2^53", "x,y\n9007199254740993,1\n9007199254740995,2\n", ["whole numbers"] * 2, None,
     "2 whole numbers are beyond 2^53"),
    ("infinite", "x,y\n1,inf\n2,3\n", ["whole numbers", "texts"], '"inf" is not a finite number', ""),
    ("a ragged row", "x,y\n1,2\n3\n", None, ":3: the row has 1 fields, but the first line has 2", ""),
    ("a blank line", "x,y\n1,2\n\n3,4\n", None, ":3: the line is blank", ""),
    ("no header", "1,Berlin\n2,Bonn\n", ["whole numbers", "texts"], "is not a number", ""),
    ("a header only", "x,y\n", None, "no rows", ""),
    ("tabs", "x\ty\n1\t2\n3\t4\n", ["whole numbers"] * 2, None, ""),
    ("one column", "x\n1\n2\n", ["whole numbers"], None, ""),
    ("UUIDs", "key,mail,x\n" + "".join(
        f"0a1b2c3d-0000-4000-8000-{i:012},{i % 4}@example.org,{i}\n" for i in range(20)),
     ["texts", "texts", "whole numbers"], 'the column "key"', ""),
    ("zeros before", "id,x\n007,1\n008,2\n", ["whole numbers", "whole numbers"], None, ""),
    ("nothing but texts", "a,b\nx,y\nz,w\n", ["texts", "texts"], "is not a number", ""),
]


class Ugly(ProgramTest):
    def test_all(self):
        self.assertGreaterEqual(len(UGLY), 20)
        for number, (what, text, looks, said, note) in enumerate(UGLY):
            with self.subTest(what):
                name, store = f"{number}.csv", f"{number}.store"
                self.write(name, text)
                words = ["fit", name, "-k", "2", "-o", f"all-{store}"]
                if said is None:
                    self.run_with(0, *words)
                else:
                    self.refused(1, said, *words)
                if looks is None:
                    self.refused(1, said, "look", name)
                    continue
                found = self.json("look", name)
                self.assertEqual([column["looks"] for column in found["columns"]], looks)
                self.assertIn(note, "\n".join(found["notes"]))
                self.assertEqual(found["notes"] == [], note == "")
                if found["command"] is None:
                    self.assertEqual(what, "nothing but texts")
                    continue
                self.run_with(0, *shlex.split(found["command"])[1:])
                self.assertIn("identical", self.output("verify", store))

    def test_many_rows_with_one_bad_field(self):
        lines = [f"{i},{i % 97}.5,{i * 31 % 1009}\n" for i in range(100000)]
        lines[77777] = "77777,12.5,13O\n"
        self.write("many.csv", "id,x,y\n" + "".join(lines))
        self.refused(1, 'many.csv:77779:3: "13O" is not a number', "fit", "many.csv", "--id", "id",
                     "-k", "2", "-o", "s.store")
        found = self.json("look", "many.csv")
        self.assertEqual(found["notes"], ["column y: 99999 of 100000 fields are numbers; the first "
                                          "that is not is in line 77779"])
        self.assertEqual(found["command"], "efface fit many.csv --id id --ignore y -k 8 --scale "
                                           "standard -o many.store")


class Types(ProgramTest):
    """Truth values, dates, times and decimal commas: declared, and kept with the store."""

    TYPES = ("--type", "paid=truth", "--type", "since=date", "--type", "at=time", "--type",
             "price=comma")
    MODEL = ("--id", "id", "-k", "2", "--seed", "5", "--scale", "standard")
    WORDS = (*MODEL, *TYPES)

    @staticmethod
    def line(i):
        return (f"{i};{'yes' if i % 3 else 'No'};2024-01-{1 + i % 28:02};"
                f"1970-01-0{1 + i % 7}T{i % 24:02}:00;{i},5;{i % 11}\n")

    def setUp(self):
        super().setUp()
        self.head = "id;paid;since;at;price;x\n"
        self.write("t.csv", self.head + "".join(map(self.line, range(40))))
        # The same as numbers.
        self.write("n.csv", "id,paid,since,at,price,x\n" + "".join(
            f"{i},{1 if i % 3 else 0},{19723 + i % 28},{86400 * (i % 7) + 3600 * (i % 24)},{i}.5,"
            f"{i % 11}\n" for i in range(60)))

    def test_a_model_of_numbers(self):
        """Types change no number: the model is that of the numbers that fields stand for."""
        self.output("fit", "t.csv", *self.WORDS, "-o", "t.store")
        self.write("some.csv", "".join(self.read("n.csv").decode().splitlines(True)[:41]))
        self.output("fit", "some.csv", *self.MODEL, "-o", "n.store")
        self.assertEqual(self.canonical("t.store", "t"), self.canonical("n.store", "n"))
        self.assertEqual(self.json("info", "t.store")["types"],
                         ["truth", "date", "time", "comma", "number"])
        self.assertIn("types     paid truth, since date, at time, price comma\n",
                      self.output("info", "t.store"))
        self.assertEqual(self.json("info", "n.store")["types"], ["number"] * 5)
        # learn, update and predict read the same without being told.
        self.write("more.csv", self.head + "".join(map(self.line, range(40, 60))))
        self.output("learn", "t.store", "more.csv", "--id", "id")
        lines = self.read("n.csv").decode().splitlines(True)
        self.write("more-n.csv", lines[0] + "".join(lines[41:]))
        self.output("learn", "n.store", "more-n.csv", "--id", "id")
        self.assertEqual(self.canonical("t.store", "t"), self.canonical("n.store", "n"))
        self.assertEqual(self.output("predict", "t.store", "t.csv", "--id", "id"),
                         self.output("predict", "n.store", "some.csv", "--id", "id"))
        self.write("new.csv", "id;x;paid;since;at;price\n7;1;f;1999-12-31;2000-01-01;2,25\n")
        self.output("update", "t.store", "new.csv", "--id", "id", "--yes")
        self.output("forget", "t.store", "--id", "8", "--yes")
        self.assertIn("identical", self.output("verify", "t.store"))
        self.assertEqual(self.json("show", "t.store", "--id", "7")["rows"][0]["values"],
                         [False, "1999-12-31", "2000-01-01T00:00:00Z", 2.25, 1])
        # What is shown can be read again.
        self.output("show", "t.store", "--id", "7,9", "-o", "shown.csv")
        self.assertIn(b"7,,1,,false,1999-12-31,2000-01-01T00:00:00Z,\"2,25\",1\n",
                      self.read("shown.csv"))
        before = self.canonical("t.store", "before")
        self.output("update", "t.store", "shown.csv", "--id", "id", "--yes", "--ignore",
                    "owner,weight,label")
        self.assertEqual(self.canonical("t.store", "after"), before)
        self.assertIn("  since 1999-12-31\n", self.output("show", "t.store", "--id", "7"))
        self.assertIn("  price 2,25\n", self.output("show", "t.store", "--id", "7"))
        # A published model is told.
        self.output("publish", "t.store", "-o", "p.model")
        self.assertEqual(len(self.output("predict", "p.model", "t.csv", *self.TYPES).split()), 40)

    def test_what_does_not_fit(self):
        self.output("fit", "t.csv", *self.WORDS, "-o", "t.store")
        before = self.read("t.store")
        self.write("bad.csv", self.head + self.line(90) + "91;no;2024-02-30;1970-01-01;1;1\n")
        self.refused(1, 'bad.csv:3:3: "2024-02-30" is not a date such as 2024-02-29, as which the '
                        "column is read; correct it, or leave the row out", "learn", "t.store",
                     "bad.csv", "--id", "id")
        self.assertEqual(self.read("t.store"), before)
        self.refused(2, "--type cannot be 'since=day': it must be COLUMN=TYPE", "fit", "t.csv",
                     "-k", "2", "-o", "n", "--type", "since=day")
        self.refused(2, "there is no column of values 'when'", "fit", "t.csv", "-k", "2", "-o", "n",
                     "--type", "when=date")
        self.run_with(0, "check", "t.store")

    def test_types_that_were_changed_are_damage(self):
        for number, change in enumerate([
                "UPDATE facts SET value = zeroblob(20) WHERE name = 'types'",
                "UPDATE facts SET value = zeroblob(19) WHERE name = 'types'",
                "UPDATE facts SET value = X'" + "09000000" * 5 + "' WHERE name = 'types'",
                "DELETE FROM facts WHERE name = 'types'"]):
            store = f"{number}.store"
            self.output("fit", "t.csv", *self.WORDS, "-o", store)
            with contextlib.closing(sqlite3.connect(self.path(store))) as file, file:
                self.assertEqual(file.execute(change).rowcount, 1)
            self.refused(6, "types of its columns", "info", store)

    def test_an_offset_of_times(self):
        self.write("w.csv", "id,when\n" + "".join(
            f"{i},2024-02-29T12:{i % 60:02}:{i % 7:02}.5Z\n" for i in range(50)))
        words = ["w.csv", "--id", "id", "-k", "2", "--type", "when=time", "-o"]
        done = self.run_with(0, "fit", *words, "far.store")
        self.assertIn("float32 rounds its values", done.stderr)
        done = self.run_with(0, "fit", *words, "near.store", "--offset", "auto")
        self.assertIn("used --offset when=1709207552", done.stderr)
        self.assertEqual(self.json("show", "near.store", "--id", "9")["rows"][0]["values"],
                         ["2024-02-29T12:09:02.500Z"])
        self.assertIn(" --type when=time --offset auto ", self.json("look", "w.csv")["command"])


class Nobody(ProgramTest):
    """A request that finds nobody says why it may be."""

    def test_hints(self):
        self.fit()
        self.write("plain.csv", "age,height\n1,2\n3,4\n5,9\n")
        self.output("fit", "plain.csv", "-k", "2", "-o", "plain.store")
        for arguments, message in [
                (["s.store", "--id", "999"], "the ids of this store are numbers"),
                (["s.store", "--owner", "Ada"], "the owners of this store are texts"),
                (["plain.store", "--owner", "Ada"], "no row of this store has an owner; rows are "
                                                    "found by their ids"),
                (["plain.store", "--owner", "7"], "no row of this store has an owner"),
                (["plain.store", "--id", "999"], "the ids of this store are numbers")]:
            self.refused(4, message, "forget", *arguments, "--yes")


if __name__ == "__main__":
    unittest.main()
