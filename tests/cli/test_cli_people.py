#!/usr/bin/python3
"""People: what a store has of somebody, whose rows there are, new values for rows, new ids, and
columns that are found by their names.

usage: test_cli_people.py PROGRAM [TEST]
"""
import csv
import io
import json
import os
import subprocess
import unittest

from cli_program import N_ROWS, PROGRAM, ProgramTest, rows, write_people

NO_TEXTS = "the store keeps no texts"
UUID = "6F9619FF-8B86-D011-B42D-00CF4FC964FF"

# Ids, owners and classes that are texts; an owner that is empty is none.
NAMES = f"""\
name,user,kind,age,height
p123,anna,"tall, old",31.5,170
p124,anna,small,20.25,150
{UUID},,short,40,160
007,bob,short,50,180
"""
COLUMNS = ["--id", "name", "--owner", "user", "--label", "kind", "--ids", "text"]

SHOW = """\
2 rows
row 4: owner u1, weight 1, no class
  age 40.63
  height 159.37
row 5: owner u1, weight 1, no class
  age 60.03
  height 169.97
models that use them:
  default: k-means, all columns
  tall: k-means, columns height
"""

OWNERS = """\
2 owners; 1 of 4 rows have none
           2  anna
           1  bob
"""


class PeopleTest(ProgramTest):
    def fit_names(self, *more):
        self.write("names.csv", NAMES)
        return self.run_with(0, "fit", "names.csv", *COLUMNS, "-k", "1", "-o", "t.store", *more)


class Names(PeopleTest):
    """One person at every door."""

    def shown(self, *who):
        return self.run_with(0, "show", "t.store", *who).stdout

    def test_texts(self):
        self.write("names.csv", NAMES.replace("bob", '"bob "').replace("anna", "Zo\u00eb", 1)
                   .replace("anna", "Zoe\u0308"))
        self.run_with(0, "fit", "names.csv", *COLUMNS, "-k", "1", "-o", "t.store", "--keep-texts")
        two = self.shown("--owner", "Zo\u00eb")
        self.assertIn("2 rows", two)
        for who in "Zoe\u0308", " Zo\u00eb\t", "\u3000Zo\u00eb":
            self.assertEqual(self.shown("--owner", who), two)
            self.assertEqual(self.shown("--owner-key", who), two)
            self.write("who.txt", f"owner: {who} \n")
            self.assertEqual(self.shown("--from", "who.txt"), two)
        self.assertEqual(self.shown("--owner", "bob"), self.shown("--owner", "bob "))
        for who, near in ("zoe", "Zo\u00eb"), ("BOB", "bob"), ("b ob", "bob"):
            said = self.run_with(4, "show", "t.store", "--owner", who).stderr
            self.assertIn(f'the owners of this store are texts; there is "{near}"', said)
        self.assertIn("the ids of this store are texts",
                      self.run_with(4, "show", "t.store", "--id", "nobody").stderr)

    def test_what_is_no_name(self):
        self.fit_names()
        for who, why in ("a\u200bb", "control"), ("a\nb", "control"), ("\u0378", "define"):
            self.assertIn(why, self.run_with(2, "show", "t.store", "--owner", who).stderr)
        with open(self.path("who.txt"), "wb") as file:
            file.write(b"p123\nowner: b\xffb\n")
        said = self.run_with(1, "forget", "t.store", "--from", "who.txt", "--yes").stderr
        self.assertIn("who.txt, line 2, column 9: ", said)
        self.assertIn("not valid UTF-8", said)

    def test_numbers(self):
        self.fit("n.store")
        one = self.run_with(0, "show", "n.store", "--id", "3,4").stdout
        for who in "3.0,4", " 3 , 4.00 ":
            self.assertEqual(self.run_with(0, "show", "n.store", "--id", who).stdout, one)
        for who in "3.5", "x3", "003":
            said = self.run_with(4, "show", "n.store", "--id", who).stderr
            self.assertTrue("names are numbers here" in said or "begins with a zero" in said)
        self.assertIn("the ids of this store are numbers",
                      self.run_with(4, "show", "n.store", "--id", "12345").stderr)


class Show(PeopleTest):
    def test_text(self):
        self.fit()
        self.output("fit", "-k", "2", "-o", "s.store", "--model", "tall", "--columns", "height",
                    "--method", "lloyd")
        self.output("forget", "s.store", "--id", "6,7", "--yes")
        done = self.run_with(0, "show", "s.store", "--owner", "u1")
        self.assertEqual(done.stdout, SHOW)
        self.assertIn(NO_TEXTS, done.stderr)  # 4 and 5 may be anybody's word for texts
        # Who is named is known.
        self.write("plain.csv", "id,age\n1,2\n")
        self.output("fit", "plain.csv", "--id", "id", "-k", "1", "-o", "p.store")
        self.assertIn("row 1: no owner, weight 1, no class\n  age 2\n",
                      self.output("show", "p.store", "--id", "1"))

    def test_texts_that_are_kept(self):
        self.fit_names("--keep-texts")
        found = self.json("show", "t.store", "--owner", "anna")
        self.assertEqual(found["columns"], ["age", "height"])
        self.assertTrue(found["keeps_texts"])
        self.assertEqual(found["models"], [{"name": "default", "kind": "k-means",
                                            "columns": ["age", "height"]}])
        self.assertEqual(sorted(found["rows"], key=lambda row: row["id"]), [
            {"id": "p123", "owner": "anna", "weight": 1, "label": "tall, old",
             "values": [31.5, 170]},
            {"id": "p124", "owner": "anna", "weight": 1, "label": "small",
             "values": [20.25, 150]}])
        self.write("more.csv", "name,age,height\np5,1,2\n")
        self.output("learn", "t.store", "more.csv", "--id", "name", "--ids", "text")
        self.assertEqual(self.json("show", "t.store", "--id", "p5")["rows"], [
            {"id": "p5", "owner": None, "weight": 1, "label": None, "values": [1, 2]}])

    def test_texts_that_are_not_kept(self):
        self.fit_names()
        done = self.run_with(0, "show", "t.store", "--id", UUID.lower(), "--key", "007", "--json")
        found = json.loads(done.stdout)
        self.assertFalse(found["keeps_texts"])
        self.assertEqual({row["id"]: row["label"] for row in found["rows"]},
                         {UUID.lower(): "short", "007": "short"})
        owners = {row["id"]: row["owner"] for row in found["rows"]}
        self.assertIsNone(owners[UUID.lower()])
        self.assertRegex(owners["007"], r"^number:\d+$")
        self.assertEqual(self.json("show", "t.store", "--owner", owners["007"])["rows"][0]["values"],
                         [50, 180])
        self.assertIn(NO_TEXTS, json.loads(done.stderr)["note"]["message"])

    def test_files(self):
        self.fit_names("--keep-texts")
        said = self.output("show", "t.store", "--key", "007", "--id", UUID, "-o", "f.csv")
        self.assertEqual(said, "2 rows in f.csv\nmodels that use them:\n"
                               "  default: k-means, all columns\n")
        table = list(csv.reader(io.StringIO(self.read("f.csv").decode())))
        self.assertEqual(table[0], ["id", "owner", "weight", "label", "age", "height"])
        self.assertEqual(sorted(table[1:]), [["007", "bob", "1", "short", "50", "180"],
                                             [UUID.lower(), "", "1", "short", "40", "160"]])
        done = self.json("show", "t.store", "--id", "p123", "-o", "f.json")
        self.assertEqual((done["rows"], done["file"], done["format"]), (1, "f.json", "json"))
        self.assertEqual(json.loads(self.read("f.json"))["rows"][0]["id"], "p123")
        self.output("show", "t.store", "--id", "p123", "-o", "f", "--format", "csv")
        self.assertEqual(self.output("show", "t.store", "--id", "p123", "-o", "-"),
                         self.read("f").decode())
        # What was shown can be learned again.
        self.output("forget", "t.store", "--id", "p123", "--yes")
        self.output("learn", "t.store", "f", "--id", "id", "--owner", "owner", "--weight",
                    "weight", "--label", "label")
        self.assertEqual(self.output("show", "t.store", "--id", "p123", "-o", "-"),
                         self.read("f").decode())

    def test_a_list(self):
        self.fit_names("--keep-texts")
        found = json.loads(self.run_with(0, "show", "t.store", "--from", "-", "--json",
                                         stdin="p124\nowner:bob\n").stdout)
        self.assertEqual({row["id"] for row in found["rows"]}, {"p124", "007"})

    def test_missing_are_named_as_given(self):
        self.fit_names()
        # In the order of their numbers, which are hashes under a key of the store's own.
        done = self.run_with(4, "show", "t.store", "--id", "17", "--id", "p9", "--id", "p123",
                             "--owner", "carl", "--owner", "anna")
        for name in ('id "17"', 'id "p9"', 'owner "carl"'):
            self.assertIn(name, done.stderr)
        self.refused(4, 'not found: id "p9"; nothing was changed', "forget", "t.store", "--id",
                     "p9", "--id", "p123", "--yes")
        self.fit()
        missing = ",".join(str(1000 + i) for i in range(12))
        done = self.run_with(4, "forget", "s.store", "--id", missing, "--yes")
        self.assertIn("id 1009 and 2 more", done.stderr)

    def test_bytes_of_any_kind(self):
        with open(self.path("odd.csv"), "wb") as file:
            file.write(b"name,a\x1b[31mge,b\xff\nxy,1,2\n")
        self.output("fit", "odd.csv", "--id", "name", "-k", "1", "-o", "o.store", "--keep-texts")
        shown = self.output("show", "o.store", "--id", "xy")
        self.assertIn("row xy:", shown)
        self.assertIn("  a\\x1b[31mge 1\n  b\\xff 2\n", shown)
        found = self.json("show", "o.store", "--id", "xy")
        self.assertEqual((found["rows"][0]["id"], found["columns"]),
                         ("xy", ["a\x1b[31mge", "b\\xff"]))


class Owners(PeopleTest):
    def test_texts(self):
        self.fit_names("--keep-texts")
        self.assertEqual(self.output("owners", "t.store"), OWNERS)
        self.assertEqual(self.json("owners", "t.store"), {
            "store": "t.store", "rows": 4, "rows_without_owner": 1, "keeps_texts": True,
            "owners": [{"owner": "anna", "rows": 2}, {"owner": "bob", "rows": 1}]})
        self.output("owners", "t.store", "-o", "o.csv")
        self.assertEqual(self.read("o.csv"), b"owner,rows\nanna,2\nbob,1\n")

    def test_numbers(self):
        self.write("n.csv", "id,o,x\n1,9,1\n2,8,1\n3,70,1\n4,9,1\n")
        self.output("fit", "n.csv", "--id", "id", "--owner", "o", "-k", "1", "-o", "n.store")
        done = self.run_with(0, "owners", "n.store", "-o", "-")
        self.assertEqual(done.stdout, "owner,rows\n9,2\n8,1\n70,1\n")
        self.assertNotIn(NO_TEXTS, done.stderr)

    def test_one_form_on_standard_output(self):
        self.fit_names()
        done = self.run_with(2, "owners", "t.store", "--format", "csv", "--json")
        self.assertIn("--json and --format csv", json.loads(done.stderr)["error"]["message"])

    def test_nobody(self):
        self.write("n.csv", "1\n2\n")
        self.output("fit", "n.csv", "-k", "1", "-o", "n.store")
        self.assertEqual(self.output("owners", "n.store"), "0 owners; 2 of 2 rows have none\n")


class Update(ProgramTest):
    def test_is_what_a_fit_to_the_new_rows_is(self):
        """Rows 3, 4 and 5 get the values of 100, 101 and 102."""
        self.fit("s.store")
        new = [line.split(",") for line in rows([100, 101, 102])]
        for i, row in enumerate(new):
            row[0], row[1] = str(3 + i), f"u{(3 + i) // 4}"
        self.write("new.csv", "height,id,age\n" + "".join(
            f"{row[3]},{row[0]},{row[2]}\n" for row in new))
        others = [line for line in rows(range(N_ROWS)) if int(line.split(",")[0]) not in (3, 4, 5)]
        lines = ["id,user,age,height", *map(",".join, new), *others]
        self.write("all.csv", "\n".join(lines) + "\n")
        self.fit("n.store", "all.csv")
        done = self.json("update", "s.store", "new.csv", "--id", "id", "--yes")
        self.assertEqual((done["updated"], done["receipt"]), (3, 1))
        self.assertEqual([m["name"] for m in done["models"]], ["default"])
        self.assertEqual(self.canonical("s.store", "a"), self.canonical("n.store", "b"))
        self.output("verify", "s.store")
        # The owners stay.
        self.assertEqual(self.json("forget", "s.store", "--owner", "u1", "--yes")["forgotten"], 4)

    def test_text(self):
        self.fit()
        write_people(self.path("new.csv"), [7])
        done = self.output("update", "s.store", "-", "--id", "id", "--owner", "user", "--yes",
                           stdin=self.read("new.csv").decode())
        self.assertTrue(done.startswith("1 row updated; receipt 1; "), done)

    def test_what_is_not_given_stays(self):
        self.write("a.csv", "id,o,w,l,x,y\n1,5,3,9,1,2\n2,5,4,8,3,4\n")
        names = ["--owner", "o", "--weight", "w", "--label", "l"]
        self.output("fit", "a.csv", "--id", "id", *names, "-k", "1", "-o", "w.store")
        self.write("b.csv", "y,x,id\n20,10,1\n")
        self.output("update", "w.store", "b.csv", "--id", "id", "--yes")
        self.write("c.csv", "id,o,w,l,x,y\n2,,7,6,30,40\n")
        self.output("update", "w.store", "c.csv", "--id", "id", *names, "--yes")
        self.assertEqual(self.run_with(0, "show", "w.store", "--id", "1,2", "-o", "-").stdout,
                         "id,owner,weight,label,x,y\n1,5,3,9,10,20\n2,5,7,6,30,40\n")

    def test_refused(self):
        self.fit()
        before = self.read("s.store")
        write_people(self.path("new.csv"), [7, 1000])
        options = ["new.csv", "--id", "id", "--owner", "user"]
        self.refused(2, "add --yes", "update", "s.store", *options)
        self.refused(2, "update needs --id COL", "update", "s.store", "new.csv", "--yes")
        self.refused(4, "1000", "update", "s.store", *options, "--yes", "--list", "l")
        self.assertEqual(self.read("s.store"), before)
        self.assertFalse(os.path.exists(self.path("l")))

    def test_texts_in_errors(self):
        self.write("names.csv", "name,age\np1,1\np2,2\n")
        self.output("fit", "names.csv", "--id", "name", "-k", "1", "-o", "t.store")
        self.write("more.csv", "name,age\np2,2\np3,3\n")
        self.refused(4, '"p3"', "update", "t.store", "more.csv", "--id", "name", "--yes")
        self.refused(1, '"p2"', "learn", "t.store", "more.csv", "--id", "name")


class Learn(ProgramTest):
    def test_new_ids_among_texts(self):
        """They are printed as other commands take them."""
        self.write("names.csv", "name,age\np1,1\np2,2\n")
        self.output("fit", "names.csv", "--id", "name", "-k", "1", "-o", "t.store")
        self.write("plain.csv", "age\n20\n30\n")
        said = self.output("learn", "t.store", "plain.csv", "--ids-out", "ids")
        self.assertRegex(said.splitlines()[1], r"^new ids: number:\d+, number:\d+$")
        self.output("forget", "t.store", "--from", "ids", "--yes")
        self.assertEqual(self.json("info", "t.store")["rows"], 2)

    def test_new_ids(self):
        self.fit()
        self.write("plain.csv", "age,height\n" + "20,150\n" * 12)
        done = self.json("learn", "s.store", "plain.csv", "--ids-out", "ids")
        self.assertEqual(len(set(done["ids"])), 12)
        self.assertEqual([int(line) for line in self.read("ids").split()], done["ids"])
        text = self.output("learn", "s.store", "plain.csv")
        self.assertRegex(text.splitlines()[1], r"^new ids: (\d+, ){9}\d+ and 2 more$")
        self.output("forget", "s.store", "--from", "ids", "--yes")
        self.assertEqual(self.json("info", "s.store")["rows"], N_ROWS + 12)

    def test_ids_are_not_written_over_anything(self):
        self.fit()
        before = self.read("s.store")
        self.write("plain.csv", "age,height\n20,150\n")
        self.write("ids", "mine\n")
        self.refused(1, "ids exists already", "learn", "s.store", "plain.csv", "--ids-out", "ids")
        self.refused(1, "exists already", "learn", "s.store", "plain.csv", "--ids-out", "new",
                     "--list", "ids")
        self.refused(1, "cannot write", "learn", "s.store", "plain.csv", "--ids-out", "no/ids")
        self.refused(2, "--ids-out", "learn", "s.store", "people.csv", "--id", "id",
                     "--ids-out", "new")
        self.assertEqual((self.read("ids"), self.read("s.store")), (b"mine\n", before))
        self.assertFalse(os.path.exists(self.path("new")))

    def test_columns_by_name(self):
        self.fit("a.store")
        self.fit("b.store")
        more = [line.split(",") for line in rows(range(100, 400))]
        self.write("more.csv", "id,user,age,height\n" + "".join(",".join(m) + "\n" for m in more))
        self.write("turned.csv", "height,id,age,user\n" + "".join(
            f"{m[3]},{m[0]},{m[2]},{m[1]}\n" for m in more))
        for store, data in ("a.store", "more.csv"), ("b.store", "turned.csv"):
            self.output("learn", store, data, "--id", "id", "--owner", "user")
        self.assertEqual(self.canonical("a.store", "a"), self.canonical("b.store", "b"))
        # Without names columns are in order.
        self.write("plain.csv", "1,2\n")
        done = self.json("learn", "a.store", "plain.csv")
        shown = self.json("show", "a.store", "--id", str(done["ids"][0]))
        self.assertEqual(shown["rows"][0]["values"], [1, 2])
        before = self.read("a.store")
        for head, message in [("age,weight", "no column 'height', which the store has"),
                              ("age", "no column 'height', which the store has"),
                              ("weight,size", "a column 'weight' that the store does not have"),
                              ("age,age", "a column 'age' that the store does not have")]:
            self.write("odd.csv", head + "\n" + ",".join("7" for _ in head.split(",")) + "\n")
            self.refused(1, message, "learn", "a.store", "odd.csv")
        self.assertEqual(self.read("a.store"), before)

    def test_pipes(self):
        self.fit()
        text = "age,height\n20,150\n"
        self.output("learn", "s.store", "-", stdin=text)
        self.refused(1, "standard input", "learn", "s.store", "-", stdin="age,height\n20,x\n")
        done = subprocess.run(["bash", "-c", f"'{PROGRAM}' learn s.store <(printf '{text}')"],
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.json("info", "s.store")["rows"], N_ROWS + 2)


class Compact(ProgramTest):
    def test_compact(self):
        write_people(self.path("many.csv"), range(5000))
        self.fit("s.store", "many.csv")
        self.write("list", "\n".join(map(str, range(100, 5000))))
        self.output("forget", "s.store", "--from", "list", "--yes")
        size = os.path.getsize(self.path("s.store"))
        state = self.canonical("s.store")
        done = self.json("compact", "s.store")
        self.assertEqual((done["store"], done["before"]), ("s.store", size))
        self.assertEqual(done["after"], os.path.getsize(self.path("s.store")))
        self.assertLess(done["after"], size)
        self.assertEqual(self.canonical("s.store"), state)
        self.output("check", "s.store")
        self.assertEqual(self.output("compact", "s.store"),
                         f"s.store: {done['after']} bytes before, {done['after']} after\n")


if __name__ == "__main__":
    assert PROGRAM, __doc__
    unittest.main()
