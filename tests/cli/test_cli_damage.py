#!/usr/bin/python3
"""Stores that somebody wrote to: values of the wrong kind, rows that nothing counts; and people
whose number is also a text.

usage: test_cli_damage.py PROGRAM [TEST]
"""
import os
import shutil
import sqlite3
import subprocess
import unittest

from cli_program import PROGRAM, ProgramTest

PEOPLE = "name,user,kind,x,y\n" + "".join(
    f"i{i},p{i % 7},k{i % 3},{i},{i * i % 11}\n" for i in range(40))
FIT = ["--id", "name", "--owner", "user", "--label", "kind", "-k", "2", "--seed", "7"]

# What no SQL of ours ever writes. Each must be found by check.
DAMAGES = [
    "UPDATE rows SET id = id || 'x' WHERE text = 'i5'",
    "UPDATE rows SET id = CAST(CAST(id AS TEXT) AS BLOB) WHERE text = 'i5'",
    "UPDATE rows SET owner = owner || 'x' WHERE text = 'i5'",
    "UPDATE rows SET owner = NULL WHERE text = 'i5'",
    "UPDATE rows SET bucket = bucket + 0.5 WHERE text = 'i5'",
    "UPDATE rows SET weight = weight + 0.5 WHERE text = 'i5'",
    "UPDATE rows SET weight = weight || 'x' WHERE text = 'i5'",
    "UPDATE rows SET class = class || 'x' WHERE text = 'i5'",
    "UPDATE rows SET text = text || char(0) || 'secret' WHERE text = 'i5'",
    "UPDATE rows SET vals = CAST(vals AS TEXT) WHERE text = 'i5'",
    "UPDATE groups SET number = number || 'x' WHERE text = 'p5'",
    "UPDATE groups SET n_rows = n_rows + 0.5 WHERE text = 'p5'",
    "UPDATE groups SET text = text || char(0) || 'secret' WHERE text = 'p5'",
    "UPDATE groups SET bucket = bucket + 1000 WHERE text = 'p5'",
    "UPDATE buckets SET n_rows = n_rows || 'x'",
    "UPDATE buckets SET n_rows = n_rows + 0.5",
    "UPDATE group_buckets SET n_groups = n_groups + 0.5",
    "UPDATE columns SET name = name || char(0) || 'secret' WHERE number = 1",
    "UPDATE models SET name = name || char(0) || 'x'",
    "UPDATE models SET params = CAST(params AS TEXT)",
    "UPDATE models SET family = CAST(family AS BLOB)",
    "UPDATE models SET state = CAST(state AS TEXT)",
    "INSERT INTO states VALUES (1, 'somebody')",
    "UPDATE receipts SET body = CAST(body AS BLOB)",
    "INSERT INTO facts VALUES ('note', 'somebody')",
    "INSERT INTO buckets VALUES (99999, 77, 'somebody')",
    "INSERT INTO group_buckets VALUES (99999, 1, 'somebody')",
    "INSERT INTO groups VALUES (99999, 1, 1, zeroblob(16), 'somebody')",
    "INSERT INTO columns VALUES (3, 'somebody')",
    "DELETE FROM receipts",
]


def is_changed(path, sql):
    """Whether a statement changed a store."""
    connection = sqlite3.connect(path)
    changed = connection.execute(sql).rowcount
    connection.commit()
    connection.close()
    return changed > 0


class Damage(ProgramTest):
    def test_every_damage_is_found(self):
        self.write("people.csv", PEOPLE)
        self.output("fit", "people.csv", *FIT, "--keep-texts", "-o", "whole.store")
        self.output("forget", "whole.store", "--key", "i39", "--yes")
        self.run_with(0, "check", "whole.store")
        for sql in DAMAGES:
            with self.subTest(sql=sql):
                shutil.copy(self.path("whole.store"), self.path("s.store"))
                self.assertTrue(is_changed(self.path("s.store"), sql))
                self.run_with(6, "check", "s.store")

    def test_nobody_is_acknowledged_wrongly(self):
        """A person with damaged records is not forgotten with a text left behind."""
        self.write("people.csv", PEOPLE)
        self.output("fit", "people.csv", *FIT, "--keep-texts", "-o", "whole.store")
        for sql in DAMAGES[:14]:
            with self.subTest(sql=sql):
                shutil.copy(self.path("whole.store"), self.path("s.store"))
                self.assertTrue(is_changed(self.path("s.store"), sql))
                with open(self.path("s.store"), "rb") as file:
                    before = file.read()
                self.run_with(6, "forget", "s.store", "--owner", "p5", "--skip-missing", "--yes")
                with open(self.path("s.store"), "rb") as file:
                    self.assertEqual(before, file.read())


class Files(ProgramTest):
    """Files that are in the way, or are a store."""

    def setUp(self):
        super().setUp()
        self.write("people.csv", PEOPLE)

    def test_a_store_is_not_written_over(self):
        self.output("fit", "people.csv", *FIT, "-o", "s.store")
        os.symlink("s.store", self.path("link"))
        for name in ("s.store", "link"):
            done = self.run_with(1, "export", "s.store", "--canonical", "-o", name)
            self.assertIn("is a store", done.stderr)
        self.run_with(0, "check", "s.store")

    def test_the_journal_of_a_store_that_is_gone(self):
        """SQLite would roll it back into the new store."""
        self.write("s.store-journal", "pages of another store")
        done = self.run_with(2, "fit", "people.csv", *FIT, "-o", "s.store")
        self.assertIn("move or remove it", done.stderr)
        self.write("s.store-journal", "")
        self.output("fit", "people.csv", *FIT, "-o", "s.store")
        self.run_with(0, "check", "s.store")

    def test_pages_that_move(self):
        self.output("fit", "people.csv", *FIT, "-o", "s.store")
        connection = sqlite3.connect(self.path("s.store"), isolation_level=None)
        connection.execute("PRAGMA auto_vacuum = 1")
        connection.execute("VACUUM")
        connection.close()
        self.assertIn("auto_vacuum", self.run_with(6, "check", "s.store").stdout)
        done = self.run_with(1, "forget", "s.store", "--key", "i3", "--yes")
        self.assertIn("auto_vacuum", done.stderr)

    def test_an_answer_that_nobody_gets(self):
        """What was done is not called undone."""
        self.output("fit", "people.csv", *FIT, "-o", "s.store")
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([PROGRAM, "forget", "s.store", "--key", "i3", "--yes"],
                                  cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True,
                                  check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the command was done", done.stderr)
        self.run_with(4, "show", "s.store", "--key", "i3")

    def test_receipts_that_are_taken_away(self):
        self.output("receipt", "keys", "--secret", "secret", "--public", "public")
        self.output("fit", "people.csv", *FIT, "-o", "s.store")
        for i in range(3):
            self.output("forget", "s.store", "--key", f"i{i}", "--sign", "secret", "--yes")
        self.run_with(0, "check", "s.store", "--public-key", "public")
        self.assertTrue(is_changed(self.path("s.store"),
                                   "DELETE FROM facts WHERE name = 'signature'"))
        self.run_with(6, "check", "s.store")


class NumbersAndTexts(ProgramTest):
    def test_007(self):
        self.write("a.csv", "id,x\n007,1\n7,2\n")
        self.output("fit", "a.csv", "--id", "id", "-k", "1", "-o", "s.store")
        self.assertIn("1 row forgotten", self.output("forget", "s.store", "--id", "7", "--yes"))
        self.assertIn("row 007", self.output("show", "s.store", "--id", "007"))

    def test_a_text_that_looks_like_a_number(self):
        """Owners of the store are texts, so a later file with numbers only has texts too."""
        self.write("a.csv", "id,owner,x\n1,anna,1\n2,77,2\n")
        self.write("b.csv", "id,owner,x\n11,77,11\n12,7,12\n")
        self.output("fit", "a.csv", "--id", "id", "--owner", "owner", "-k", "1", "-o", "s.store")
        self.output("learn", "s.store", "b.csv", "--id", "id", "--owner", "owner")
        self.assertIn("2 rows forgotten",
                      self.output("forget", "s.store", "--owner", "77", "--yes"))

    def test_a_number_store_takes_no_texts(self):
        self.write("a.csv", "id,owner,x\n1,5,1\n2,77,2\n")
        self.write("b.csv", "id,owner,x\n11,anna,11\n12,7,12\n")
        self.output("fit", "a.csv", "--id", "id", "--owner", "owner", "-k", "1", "-o", "s.store")
        done = self.run_with(1, "learn", "s.store", "b.csv", "--id", "id", "--owner", "owner")
        self.assertIn('"anna" is not a whole number', done.stderr)
        self.write("c.csv", "id,owner,x\n11,8,11\n12,7,12\n")
        done = self.run_with(1, "learn", "s.store", "c.csv", "--id", "id", "--owner", "owner",
                             "--ids", "text")
        self.assertIn("the ids of the store are whole numbers", done.stderr)

    def test_ids_that_are_texts(self):
        self.write("a.csv", "id,x\na,1\n5,2\nb,3\n")
        self.write("b.csv", "id,x\n5,99\n")
        self.output("fit", "a.csv", "--id", "id", "-k", "1", "-o", "s.store")
        self.output("update", "s.store", "b.csv", "--id", "id", "--yes")
        self.assertIn("1 row forgotten", self.output("forget", "s.store", "--id", "5", "--yes"))

    def test_lists_as_other_programs_write_them(self):
        self.write("a.csv", "id,x\nalpha,1\nbeta,2\n")
        self.write("list", b"\xef\xbb\xbfalpha\r\n\tbeta \r\n".decode())
        self.output("fit", "a.csv", "--id", "id", "-k", "1", "-o", "s.store")
        self.assertIn("2 rows forgotten",
                      self.output("forget", "s.store", "--from", "list", "--yes"))

    def test_the_number_of_no_owner(self):
        self.write("a.csv", "id,x\n1,1\n")
        self.output("fit", "a.csv", "--id", "id", "-k", "1", "-o", "s.store")
        done = self.run_with(2, "forget", "s.store", "--owner", str(2**64 - 1), "--yes")
        self.assertIn("no owner", done.stderr)


if __name__ == "__main__":
    assert PROGRAM, __doc__
    unittest.main()
