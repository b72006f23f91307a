#!/usr/bin/python3
"""Receipts: signatures, the chain, keys that are kept outside of a store, and lists of rows.

usage: test_cli_receipts.py PROGRAM [TEST]
"""
import json
import os
import re
import resource
import signal
import stat
import unittest

from cli_program import PROGRAM, ProgramTest, write_people

LATER = "if there are later receipts, the store has them: efface check STORE --public-key FILE\n"


class Chain(ProgramTest):
    def make(self, *more):
        """Three receipts: forget, learn, update."""
        self.fit()
        write_people(self.path("new.csv"), [200])
        columns = ["--id", "id", "--owner", "user"]
        self.output("forget", "s.store", "--id", "1", "--yes", *more)
        self.output("learn", "s.store", "new.csv", *columns, *more)
        self.output("update", "s.store", "new.csv", *columns, "--yes", *more)
        self.output("export", "s.store", "--receipts", "-o", "r.jsonl")
        return self.read("r.jsonl").decode().splitlines()

    def problems(self, lines, *more):
        """The lines that verify finds something in."""
        self.write("changed.jsonl", "\n".join(lines) + "\n")
        found = self.json("receipt", "verify", "changed.jsonl", *more, code=3)
        self.assertGreater(found["invalid"], 0)
        said = self.run_with(3, "receipt", "verify", "changed.jsonl", *more).stderr
        for problem in found["problems"]:
            self.assertIn(f"line {problem['line']}: {problem['problem']}", said)
        return {problem["line"] for problem in found["problems"]}

    def test_chain_without_a_key(self):
        lines = self.make()
        self.assertEqual(self.output("receipt", "verify", "r.jsonl"),
                         "receipts 1 to 3, in order: 3 not signed\n"
                         "a receipt that is not signed can have been written by anyone\n")
        self.assertEqual(self.json("receipt", "verify", "r.jsonl")["problems"], [])
        self.assertIn(2, self.problems([lines[0], lines[2]]))  # one is missing
        self.assertIn(2, self.problems([lines[0], lines[0], *lines[1:]]))  # doubled
        self.assertTrue(self.problems([lines[1], lines[0], lines[2]]))  # out of order
        self.assertTrue(self.problems([lines[0].replace('"forgotten":1', '"forgotten":2'),
                                       *lines[1:]]))
        # The first one may have any number.
        self.write("rest.jsonl", "\n".join(lines[1:]) + "\n")
        self.assertTrue(self.output("receipt", "verify", "rest.jsonl").startswith(
            "receipts 2 to 3, in order: "))
        self.output("receipt", "verify", "-", stdin="\n".join(lines))

    def test_signatures(self):
        self.output("receipt", "keys", "--secret", "k.secret", "--public", "k.public")
        self.output("receipt", "keys", "--secret", "o.secret", "--public", "o.public")
        self.make("--sign", "k.secret")
        self.assertEqual(self.output("receipt", "verify", "r.jsonl", "--public-key", "k.public"),
                         "receipts 1 to 3, in order: 3 valid\n" + LATER)
        self.run_with(3, "receipt", "verify", "r.jsonl", "--public-key", "o.public")

    def test_what_the_action_is_called(self):
        """As in reports, and in words: what was done to a model, and why."""
        for line in self.make():
            for model in json.loads(line)["models"]:
                self.assertEqual(list(model),
                                 ["name", "kind", "action", "reason", "before", "after"])
                self.assertEqual(model["kind"], "k-means")
                self.assertIn(model["action"], ("adjusted", "repaired", "refitted"))
                self.assertEqual(model["action"] == "adjusted",
                                 "no other row was needed" in model["reason"])


class Openings(ProgramTest):
    def test_openings(self):
        """What a request hands out opens its receipt, and no other; others cannot read it."""
        self.fit()
        self.output("forget", "s.store", "--id", "1", "--opening", "one", "--yes")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("one")).st_mode), 0o600)
        digest = self.output("digest", "s.store").split()[1]
        self.output("rekey", "s.store", "--seed", "5", "--opening", "two", "--yes")
        self.output("fit", "-k", "2", "-o", "s.store", "--model", "b", "--opening", "three")
        self.output("publish", "s.store", "--model", "b", "-o", "b.model", "--opening", "four")
        self.output("export", "s.store", "--receipts", "-o", "r.jsonl")
        for name, receipt, model in (("one", 1, "default"), ("two", 2, "default"),
                                     ("three", 3, "b"), ("four", 4, "b")):
            found = self.json("receipt", "open", "r.jsonl", name)["openings"]
            self.assertEqual(found, [{"line": 1, "receipt": receipt, "model": model,
                                      "opens": True}])
        self.assertEqual(self.output("receipt", "open", "r.jsonl", "one"),
                         f"receipt 1, model default: opens; digest {digest}\n")
        self.assertNotIn(digest, self.read("r.jsonl").decode())
        opening = self.read("one").decode()
        for wrong in (opening.replace('"receipt":1', '"receipt":2'),
                      opening.replace(digest, "0" * 64), "{}\n"):
            self.write("wrong", wrong)
            done = self.run_with(3, "receipt", "open", "r.jsonl", "wrong")
            self.assertIn(": does not open: ", done.stdout)
        # A request that fails leaves no file, and one that is there is not replaced.
        self.run_with(4, "forget", "s.store", "--id", "1", "--opening", "none", "--yes")
        self.assertFalse(os.path.exists(self.path("none")))
        self.refused(1, "exists already", "forget", "s.store", "--id", "2", "--opening", "one",
                     "--yes")
        self.assertEqual(self.json("info", "s.store")["receipts"], 4)

    def test_every_change_of_a_model_has_a_receipt(self):
        self.fit()
        self.output("fit", "-k", "2", "-o", "s.store", "--model", "b")
        self.output("rekey", "s.store", "--seed", "5", "--yes")
        self.output("drop", "s.store", "--model", "b", "--yes")
        self.output("fit", "-k", "2", "-o", "s.store", "--model", "b")
        self.output("export", "s.store", "--receipts", "-o", "r.jsonl")
        receipts = [json.loads(line) for line in self.read("r.jsonl").decode().splitlines()]
        self.assertEqual([receipt["kind"] for receipt in receipts], ["add", "rekey", "drop", "add"])
        left = {}
        for receipt in receipts:
            for model in receipt["models"]:
                self.assertEqual(left.get(model["name"], model["before"]), model["before"])
                left[model["name"]] = model["after"]
        self.assertEqual(left, {model["name"]: model["commitment"]
                                for model in self.json("info", "s.store")["models"]})
        self.output("check", "s.store")


class Signatures(ProgramTest):
    def test_sign_and_verify(self):
        self.fit()
        self.output("receipt", "keys", "--secret", "k.secret", "--public", "k.public")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("k.secret")).st_mode), 0o600)
        self.refused(1, "exists already", "receipt", "keys", "--secret", "k.secret",
                     "--public", "other")
        self.output("forget", "s.store", "--id", "1", "--sign", "k.secret", "--yes")
        write_people(self.path("new.csv"), [200])
        self.output("learn", "s.store", "new.csv", "--id", "id", "--owner", "user",
                    "--sign", "k.secret")
        for name in "r.json", "r.jsonl":
            self.output("export", "s.store", "--receipts", "-o", name)
            self.assertEqual(self.output("receipt", "verify", name, "--public-key", "k.public"),
                             "receipts 1 to 2, in order: 2 valid\n" + LATER)
        self.assertEqual(json.loads(self.read("r.json")),
                         [json.loads(line) for line in self.read("r.jsonl").splitlines()])
        self.assertEqual(self.json("receipt", "verify", "r.json", "--public-key", "k.public"), {
            "valid": 2, "invalid": 0, "not_signed": 0, "not_compared": 0, "signatures": True,
            "problems": [], "receipts": [{"line": line, "valid": True, "signature": "valid"}
                                         for line in (2, 3)]})

        changed = self.read("r.jsonl").decode().replace('"forgotten":1', '"forgotten":2')
        self.write("changed.jsonl", changed)
        done = self.run_with(3, "receipt", "verify", "changed.jsonl", "--public-key", "k.public")
        # The second names the first as it was.
        self.assertEqual(done.stdout, "2 receipts: 1 whose signature does not match, 1 changed, or "
                                      "not in its place\n")
        self.assertIn("line 1: the signature does not match", done.stderr)
        self.output("receipt", "keys", "--secret", "o.secret", "--public", "o.public")
        self.run_with(3, "receipt", "verify", "r.json", "--public-key", "o.public")
        self.output("forget", "s.store", "--id", "2", "--yes")
        self.output("export", "s.store", "--receipts", "-o", "r.json")
        found = self.json("receipt", "verify", "r.json", "--public-key", "k.public", code=3)
        self.assertEqual((found["valid"], found["invalid"], found["not_signed"]), (2, 1, 1))

    def test_what_nobody_signed_is_not_valid(self):
        self.fit()
        self.output("receipt", "keys", "--secret", "k.secret", "--public", "k.public")
        self.output("forget", "s.store", "--id", "1", "--yes")
        self.output("forget", "s.store", "--id", "2", "--sign", "k.secret", "--yes")
        self.output("export", "s.store", "--receipts", "-o", "r.jsonl")
        said = self.output("receipt", "verify", "r.jsonl")
        self.assertEqual(said.splitlines()[0],
                         "receipts 1 to 2, in order: 1 signed with a key that was not compared, "
                         "1 not signed")
        self.assertIn("can have been written by anyone", said)
        found = self.json("receipt", "verify", "r.jsonl")
        self.assertEqual((found["valid"], found["not_signed"], found["not_compared"]), (0, 1, 1))
        self.assertEqual([(one["valid"], one["signature"]) for one in found["receipts"]],
                         [(False, "not signed"), (False, "not compared")])
        # One that somebody made up: alone it is in order, and vouched for by nobody.
        forged = self.read("r.jsonl").decode().splitlines()[0].replace('"forgotten":1',
                                                                       '"forgotten":9')
        self.write("forged", forged + "\n")
        self.assertEqual(self.output("receipt", "verify", "forged").splitlines()[0],
                         "receipt 1, in order: 1 not signed")
        self.run_with(3, "receipt", "verify", "forged", "--public-key", "k.public")

    def test_nothing_to_verify_is_no_success(self):
        self.output("receipt", "keys", "--secret", "k.secret", "--public", "k.public")
        self.write("empty", "[\n]\n")
        self.refused(1, "no receipts", "receipt", "verify", "empty", "--public-key", "k.public")
        self.refused(1, "not a public key", "receipt", "verify", "empty", "--public-key",
                     "k.secret")

    def test_a_secret_key_that_others_can_read(self):
        self.fit()
        self.output("receipt", "keys", "--secret", "k.secret", "--public", "k.public")
        os.chmod(self.path("k.secret"), 0o644)
        done = self.run_with(0, "forget", "s.store", "--id", "1", "--sign", "k.secret", "--yes")
        self.assertIn("warning", done.stderr)


class Keys(ProgramTest):
    def test_receipt_key_outside(self):
        self.output("receipt", "keys", "--receipt-key", "r.key")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("r.key")).st_mode), 0o600)
        self.output("receipt", "keys", "--receipt-key", "other.key")
        self.refused(1, "exists already", "receipt", "keys", "--receipt-key", "r.key")
        self.fit("s.store", "people.csv", "--receipt-key", "r.key")
        before = self.read("s.store")
        for more in [], ["--receipt-key", "other.key"]:
            self.refused(1, "receipt key", "forget", "s.store", "--id", "1", "--yes", *more)
            self.refused(1, "receipt key", "compact", "s.store", *more)
            self.refused(1, "receipt key", "rekey", "s.store", "--yes", *more)
        self.assertEqual(self.read("s.store"), before)
        self.run_with(0, "show", "s.store", "--owner", "u0")  # to look, no key is needed
        key = ["--receipt-key", "r.key"]
        self.output("forget", "s.store", "--id", "1", "--yes", *key)
        self.output("compact", "s.store", *key)
        self.output("rekey", "s.store", "--yes", *key)
        self.output("drop", "s.store", "--model", "default", "--yes", *key)

    def test_all_keys_or_none(self):
        self.write("there", "")
        self.refused(1, "exists already", "receipt", "keys", "--secret", "a", "--public", "b",
                     "--receipt-key", "there")
        self.refused(2, "needs --secret", "receipt", "keys")
        self.refused(2, "needs --secret", "receipt", "keys", "--secret", "a", "--receipt-key", "c")
        self.assertEqual(set(os.listdir(self.folder)), {"people.csv", "there"})
        self.output("receipt", "keys", "--secret", "a", "--public", "b", "--receipt-key", "c")


class Check(ProgramTest):
    def test_every_receipt_is_looked_at(self):
        self.fit()
        for name in ("a", "b"):
            self.output("receipt", "keys", "--secret", name + ".key", "--public", name + ".pub")
        for number, more in enumerate((("--sign", "a.key"), ("--sign", "b.key"), (),
                                       ("--sign", "a.key")), 1):
            self.output("forget", "s.store", "--id", str(number), "--yes", *more)
        done = self.run_with(6, "check", "s.store", "--public-key", "a.pub")
        self.assertEqual(done.stdout, "receipts without a valid signature of this key: 2 of 4, "
                                      "the first is receipt 2; they were signed by nobody or with "
                                      "another key, or changed later\n")
        self.assertIn("no other problem was found", done.stderr)
        self.assertNotIn("damaged", done.stderr)
        self.output("check", "s.store")


class Has(ProgramTest):
    def test_has(self):
        self.fit()
        self.output("forget", "s.store", "--owner", "u1", "--list", "gone", "--yes")
        self.output("forget", "s.store", "--id", "1", "--list", "one", "--yes")
        self.output("export", "s.store", "--receipts", "-o", "r.jsonl")
        lines = self.read("gone").decode().split()
        self.assertEqual(len(lines), 4)
        for line in lines:
            self.assertRegex(line, "^[0-9a-f]{32}$")
        has = ["receipt", "has", "r.jsonl", "s.store", "--list"]
        when = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
        self.assertEqual(when.sub("TIME", self.output(*has, "gone", "--id", "4")),
                         "4 is in receipt 1 (forgotten, TIME)\n")
        self.assertEqual(when.sub("TIME", self.output(*has, "one", "--id", "1")),
                         "1 is in receipt 2 (forgotten, TIME)\n")
        self.write("later.jsonl", self.read("r.jsonl").decode().splitlines()[1] + "\n")
        self.assertIn("1 is in receipt 2 (", self.output(
            "receipt", "has", "later.jsonl", "s.store", "--list", "one", "--id", "1"))
        done = self.run_with(4, *has, "gone", "--id", "4,1")
        self.assertEqual(when.sub("TIME", done.stdout),
                         "1 is not in receipt 1 (forgotten, TIME); receipts have ids of rows, not "
                         "owners\n"
                         "4 is in receipt 1 (forgotten, TIME)\n")
        found = self.json(*has, "gone", "--id", "5,6")
        self.assertEqual([(one["receipt"], one["kind"]) for one in found["receipts"]],
                         [(1, "forget")])
        self.assertEqual(found["ids"], [{"id": 5, "has": True}, {"id": 6, "has": True}])
        # The order of a list means nothing; what is in it does.
        self.write("turned", "\n".join(reversed(lines)))
        self.output(*has, "turned", "--id", "4")
        self.write("short", "\n".join(lines[1:]))
        self.refused(3, "no receipt of r.jsonl has the root", *has, "short", "--id", "4")
        self.write("bad", "xyz\n")
        self.refused(1, "line 1: 'xyz' is not a hash", *has, "bad", "--id", "4")

    def test_what_became_of_a_row(self):
        """A row that was learned is in a receipt, which proves no deletion."""
        self.fit()
        write_people(self.path("new.csv"), [200])
        self.output("learn", "s.store", "new.csv", "--id", "id", "--owner", "user", "--list", "l")
        self.output("export", "s.store", "--receipts", "-o", "r.jsonl")
        has = ["receipt", "has", "r.jsonl", "s.store", "--list", "l", "--id", "200"]
        done = self.run_with(0, *has)
        self.assertRegex(done.stdout, r"^200 is in receipt 1 \(learned, \S+\)\n$")
        self.assertIn("not about rows that were forgotten", done.stderr)
        self.output("forget", "s.store", "--id", "200", "--yes")
        self.output("export", "s.store", "--receipts", "-o", "r.jsonl")
        self.assertRegex(self.output(*has), r"^200 is in receipt 1 \(learned, \S+\) and receipt 2 "
                                            r"\(forgotten, \S+\)\n$")

    def test_another_store(self):
        """Under another key every answer would be no."""
        self.fit()
        self.fit("o.store")
        self.output("forget", "s.store", "--id", "4", "--list", "l", "--yes")
        self.output("export", "s.store", "--receipts", "-o", "r.jsonl")
        ask = ["--list", "l", "--id", "4"]
        self.refused(3, "receipt 1 of r.jsonl was not written by o.store", "receipt", "has",
                     "r.jsonl", "o.store", *ask)
        self.output("forget", "o.store", "--id", "5", "--yes")
        self.refused(3, "whose key is another one", "receipt", "has", "r.jsonl", "o.store", *ask)
        self.output("receipt", "keys", "--receipt-key", "r.key")
        done = self.run_with(4, "receipt", "has", "r.jsonl", *ask, "--receipt-key", "r.key")
        self.assertIn("name STORE to know whether it is the key", done.stderr)

    def test_numbers_that_were_printed(self):
        """What efface shows for a text that it does not keep can be given back."""
        self.write("names.csv", "name,user,age\np1,anna,1\np2,anna,2\np3,bob,3\n")
        self.output("fit", "names.csv", "--id", "name", "--owner", "user", "-k", "1", "-o",
                    "t.store")
        owners = self.run_with(0, "owners", "t.store").stdout
        owner = re.search(r"2  (number:\d+)\n", owners).group(1)
        shown = self.run_with(0, "show", "t.store", "--owner", owner).stdout
        self.assertEqual(self.run_with(0, "show", "t.store", "--owner", "anna").stdout,
                         shown.replace(owner, "anna"))
        numbers = [int(number) for number in re.findall(r"row number:(\d+): ", shown)]
        self.assertEqual(len(numbers), 2)
        for more in (["--json"], ["-o", "-"]):
            self.assertIn(f"number:{numbers[0]}",
                          self.run_with(0, "show", "t.store", "--owner", "anna", *more).stdout)
        self.write("who", f"number:{numbers[0]}\nowner:{owner}\n")
        self.run_with(0, "show", "t.store", "--from", "who")
        self.assertIn("is written number:N",
                      self.run_with(4, "show", "t.store", "--id", str(numbers[0])).stderr)
        number = numbers[0]
        self.output("forget", "t.store", "--id", f"number:{number}", "--list", "l", "--yes")
        self.output("export", "t.store", "--receipts", "-o", "r.jsonl")
        has = ["receipt", "has", "r.jsonl", "t.store", "--list", "l", "--id"]
        for form in (f"number:{number}", str(number)):
            self.assertIn(" is in receipt 1 (forgotten, ", self.output(*has, form))
        for form in (f"{number:,}", f"{number:.4e}"):
            self.assertIn("with all its digits", self.run_with(4, *has, form).stderr)
        self.assertIn("needs all its digits", self.run_with(4, *has, str(number + 1)).stderr)

    def test_texts_and_keys(self):
        self.write("names.csv", "name,age\np1,1\np2,2\np3,3\n")
        self.output("receipt", "keys", "--receipt-key", "r.key")
        self.output("fit", "names.csv", "--id", "name", "-k", "1", "-o", "t.store",
                    "--receipt-key", "r.key")
        key = ["--receipt-key", "r.key"]
        self.output("forget", "t.store", "--id", "p2", "--list", "l", "--yes", *key)
        self.output("export", "t.store", "--receipts", "-o", "r.jsonl")
        self.assertIn("p2 is in receipt 1 (", self.output(
            "receipt", "has", "r.jsonl", "t.store", "--list", "l", "--id", "p2", *key))
        self.assertIn("p1 is not in receipt 1 (", self.run_with(
            4, "receipt", "has", "r.jsonl", "t.store", "--list", "l", "--id", "p1", *key).stdout)
        self.refused(1, "key", "receipt", "has", "r.jsonl", "t.store", "--list", "l", "--id", "p2")
        self.refused(2, "name the store", "receipt", "has", "r.jsonl", "--list", "l", "--id", "p2",
                     *key)

    def test_with_the_key_alone(self):
        self.output("receipt", "keys", "--receipt-key", "r.key")
        key = ["--receipt-key", "r.key"]
        self.fit("s.store", "people.csv", *key)
        self.output("forget", "s.store", "--id", "9", "--list", "l", "--yes", *key)
        self.output("export", "s.store", "--receipts", "-o", "r.jsonl")
        self.output("receipt", "has", "r.jsonl", "--list", "l", "--id", "9", *key)
        self.run_with(4, "receipt", "has", "r.jsonl", "--list", "l", "--id", "8", *key)

    def test_usage(self):
        self.fit()
        self.write("l", "")
        self.refused(2, "--list", "receipt", "has", "r", "s.store", "--id", "1")
        self.refused(2, "--id", "receipt", "has", "r", "s.store", "--list", "l")
        self.refused(2, "STORE or --receipt-key", "receipt", "has", "r", "--list", "l", "--id", "1")
        self.refused(4, "there is no file 'r'", "receipt", "has", "r", "s.store", "--list", "l",
                     "--id", "1")
        self.refused(2, "--list", "forget", "s.store", "--id", "1", "--dry-run", "--list", "new")


class Words(ProgramTest):
    """receipt show, for people."""

    def test_forgotten(self):
        self.fit()
        self.output("receipt", "keys", "--secret", "k.secret", "--public", "k.public")
        self.output("forget", "s.store", "--owner", "u1", "--sign", "k.secret", "--yes")
        self.output("export", "s.store", "--receipts", "-o", "r.jsonl")
        said = self.output("receipt", "show", "s.store", "1")
        for words in ("Receipt 1 of ", " UTC\n", "4 rows of data were forgotten",
                      "named 1 id or owner.", "\n  default (k-means): ", "What this receipt proves",
                      "What it does not prove", "was not compared with one that you trust"):
            self.assertIn(words, said)
        for place in (["s.store"], ["r.jsonl"], ["r.jsonl", "1"]):
            self.assertEqual(self.output("receipt", "show", *place), said)
        said = self.output("receipt", "show", "r.jsonl", "--public-key", "k.public")
        self.assertIn("Signature: valid; made with the secret half of k.public.", said)
        found = self.json("receipt", "show", "r.jsonl", "--public-key", "k.public")
        self.assertEqual((found["receipt"], found["kind"], found["signature"], found["text"]),
                         (1, "forget", "valid", said))
        self.refused(4, "r.jsonl has no receipt 2", "receipt", "show", "r.jsonl", "2")
        self.refused(1, "neither a store nor a file of receipts", "receipt", "show", "people.csv")

    def test_not_vouched_for(self):
        self.fit()
        self.refused(4, "s.store has no receipts yet", "receipt", "show", "s.store")
        self.output("receipt", "keys", "--secret", "k.secret", "--public", "k.public")
        self.output("forget", "s.store", "--id", "1", "--yes")
        said = self.output("receipt", "show", "s.store")
        self.assertIn("By itself nothing, and nothing about the other receipts", said)
        self.assertIn("Signature: not signed. Anyone can have written this receipt.", said)
        self.run_with(3, "receipt", "show", "s.store", "--public-key", "k.public")
        self.output("forget", "s.store", "--id", "2", "--sign", "k.secret", "--yes")
        self.output("export", "s.store", "--receipts", "-o", "r.jsonl")
        self.write("forged", self.read("r.jsonl").decode().splitlines()[1].replace(
            '"forgotten":1', '"forgotten":9').replace("k-means", "k\x1bmeans"))
        done = self.run_with(3, "receipt", "show", "forged")
        self.assertIn("Signature: does not match.", done.stdout)
        self.assertLess(done.stdout.index("DOES NOT MATCH"), done.stdout.index("9 rows"))
        self.assertNotIn("was in this request", done.stdout)
        self.refused(1, "efface export s.store --receipts", "receipt", "verify", "s.store")
        self.assertNotIn("\x1b", done.stdout)

    def test_other_requests(self):
        self.fit()
        write_people(self.path("new.csv"), [200])
        self.output("learn", "s.store", "new.csv", "--id", "id", "--owner", "user")
        self.output("update", "s.store", "new.csv", "--id", "id", "--yes", "--owner", "user")
        self.output("rekey", "s.store", "--yes")
        self.output("fit", "-k", "2", "-o", "s.store", "--model", "b")
        self.output("publish", "s.store", "--model", "b", "-o", "b.model")
        self.output("drop", "s.store", "--model", "b", "--yes")
        for number, words in enumerate(("Nothing was forgotten.", "the rows were not forgotten.",
                                        "fitted again with new random seeds", "A model was added.",
                                        "written to a file for prediction", "A model was removed."), 1):
            said = self.output("receipt", "show", "s.store", str(number))
            self.assertIn(words, said)
            self.assertNotIn("?", said)
            self.assertNotIn("had the rows never been there", said)


class Lists(ProgramTest):
    def test_never_over_another_file(self):
        self.fit()
        self.write("l", "mine\n")
        before = self.read("s.store")
        self.refused(1, "l exists already", "forget", "s.store", "--id", "1", "--list", "l",
                     "--yes")
        self.refused(4, "not found: id 1000", "forget", "s.store", "--id", "1000", "--list", "new",
                     "--yes")
        self.assertEqual((self.read("l"), self.read("s.store")), (b"mine\n", before))
        self.assertFalse(os.path.exists(self.path("new")))

    def test_nothing_is_lost_if_it_cannot_be_written(self):
        """A list that outgrows the limit, of a store that has room: the hashes are said instead."""
        n = 20000
        self.write("x.csv", "".join(f"{i}\n" for i in range(n)))
        self.output("fit", "x.csv", "--header", "no", "-k", "1", "--iters", "1", "-o", "s.store")
        self.write("all", "".join(f"{i}\n" for i in range(n)))
        most = os.path.getsize(self.path("s.store")) + 65536
        self.assertLess(most, 33 * n)

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        process = self.start("forget", "s.store", "--from", "all", "--list", "l", "--yes",
                             preexec_fn=limit)
        printed, said = process.communicate()
        self.assertEqual(process.returncode, 1, said[:1000])
        self.assertTrue(printed.startswith(f"{n} rows forgotten"), printed)
        first, *hashes = said.splitlines()
        self.assertIn("the store was changed, but l cannot be written", first)
        self.assertFalse(os.path.exists(self.path("l")))
        self.write("said", "".join(line.removeprefix("efface: ") + "\n" for line in hashes))
        self.output("export", "s.store", "--receipts", "-o", "r.jsonl")
        self.output("receipt", "has", "r.jsonl", "s.store", "--list", "said", "--id", "0,19999")


if __name__ == "__main__":
    assert PROGRAM, __doc__
    unittest.main()
