#!/usr/bin/python3
"""Published models: publish, and what predict, info and the others make of them.

usage: test_cli_publishing.py PROGRAM [TEST]
"""
import contextlib
import hashlib
import json
import os
import resource
import signal
import sqlite3
import unittest

from cli_program import N_ROWS, ProgramTest, write_people

INFO = """\
published p.model
format    4
kind      k-means
predicts  clusters
tables    centroids (3 rows)
columns   2: age, height
offsets   age 100
"""


class Publish(ProgramTest):
    def setUp(self):
        super().setUp()
        self.fit("s.store", "people.csv", "--scale", "minmax", "--offset", "age=100")

    def names(self):
        return set(os.listdir(self.folder))

    def publish(self, *more):
        return self.json("publish", "s.store", "-o", "p.model", *more)

    def receipts(self):
        return [json.loads(line) for line in
                self.output("export", "s.store", "--receipts", "-o", "-").splitlines()]

    def test_text(self):
        text = self.output("publish", "s.store", "-o", "p.model")
        self.assertRegex(text, r"^default: published as p\.model \(\d+ bytes\); receipt 1; [\d.]+ s\n"
                               r"digest of the file   [0-9a-f]{64}\n$")

    def test_labels_are_those_of_the_store(self):
        self.publish()
        write_people(self.path("new.csv"), range(100, 130))
        arguments = "new.csv", "--id", "id", "--owner", "user"
        labels = self.output("predict", "p.model", *arguments)
        self.assertEqual(labels, self.output("predict", "s.store", *arguments))
        self.assertEqual(labels.count("\n"), 31)
        # Columns of texts that nobody named are passed over; those in another order are found.
        rows = [line.split(",") for line in self.read("new.csv").decode().splitlines()]
        self.write("turned.csv", "".join(f"{h},{u},{a}\n" for _, u, a, h in rows))
        found = self.json("predict", "p.model", "turned.csv")
        self.assertEqual(found["model"], None)
        self.assertEqual(found["labels"], [int(x.split(",")[1]) for x in labels.splitlines()[1:]])
        self.refused(2, "leave --model out", "predict", "p.model", "new.csv", "--model", "default")
        # Without names, columns are known by their places, and so are offsets.
        self.write("bare.csv", "".join(f"{a},{h}\n" for _, _, a, h in rows[1:]))
        self.assertEqual(self.json("predict", "p.model", "bare.csv")["labels"], found["labels"])
        self.write("wide.csv", "".join(f"0,{a},{h}\n" for _, _, a, h in rows[1:]))
        self.assertEqual(self.json("predict", "p.model", "wide.csv", "--columns",
                                   "2,3")["labels"], found["labels"])

    def test_info(self):
        self.publish()
        self.assertTrue(self.output("info", "p.model").startswith(INFO))
        found = self.json("info", "p.model")
        self.assertEqual(found, {"published": "p.model", "format": 4, "kind": "k-means",
                                 "predicts": "clusters", "numbers": 1, "dim": 2,
                                 "tables": [{"name": "centroids", "row": "cluster", "rows": 3}],
                                 "columns": ["age", "height"], "offsets": [100, 0],
                                 "categories": [False, False], "missing": False})
        self.refused(2, "for stores", "info", "p.model", "--full")
        self.refused(2, "for stores", "info", "p.model", "--model", "default")

    def test_predict_to_files(self):
        self.publish()
        labels = self.json("predict", "s.store", "people.csv")["labels"]
        for name in "l.csv", "l.json", "l.npy":
            self.assertEqual(self.json("predict", "p.model", "people.csv", "-o", name),
                             {"model": None, "rows": N_ROWS, "file": name, "format": name[2:]})
        self.assertEqual([int(x) for x in self.read("l.csv").split()], labels)
        self.assertEqual(json.loads(self.read("l.json"))["labels"], labels)
        self.assertEqual([self.read("l.npy")[-4 * N_ROWS:][4 * i] for i in range(N_ROWS)], labels)

    def test_tables_are_those_of_the_store(self):
        self.publish()
        wanted = self.output("export", "s.store", "--table", "centroids", "-o", "-")
        for words in [], ["--table", "centroids"]:
            self.assertEqual(self.output("export", "p.model", *words, "-o", "-"), wanted)
        self.output("export", "s.store", "-o", "s.npy")
        self.output("export", "p.model", "-o", "p.npy")
        self.assertEqual(self.read("s.npy"), self.read("p.npy"))
        found = self.json("export", "p.model", "-o", "-")
        self.assertEqual((found["model"], found["columns"], len(found["centroids"])),
                         (None, ["age", "height"], 3))
        self.refused(4, "the tables of this model are: centroids", "export", "p.model", "--table",
                     "none", "-o", "-")
        for words in ["--labels"], ["--canonical"], ["--receipts"], ["--model", "default"]:
            self.refused(2, "is a published model", "export", "p.model", *words, "-o", "-")

    def test_receipt_names_the_file(self):
        self.output("receipt", "keys", "--secret", "k.sec", "--public", "k.pub")
        first = self.publish("--sign", "k.sec")
        self.output("forget", "s.store", "--id", "5", "--yes", "--sign", "k.sec")
        second = self.publish("--sign", "k.sec", "--force")
        digest = hashlib.blake2b(self.read("p.model"), digest_size=32).hexdigest()
        self.assertEqual(second["digest"], digest)
        self.assertEqual(second["bytes"], len(self.read("p.model")))
        self.assertNotEqual(first["after"], second["after"])
        kinds = [(r["kind"], r.get("published", {}).get("digest")) for r in self.receipts()]
        self.assertEqual(kinds, [("publish", first["digest"]), ("forget", None),
                                 ("publish", second["digest"])])
        self.output("export", "s.store", "--receipts", "-o", "r.jsonl")
        self.output("receipt", "verify", "r.jsonl", "--public-key", "k.pub")
        self.output("check", "s.store", "--public-key", "k.pub")
        self.output("verify", "s.store")

    def test_check_notes_a_file_that_was_never_handed_out(self):
        self.publish()
        self.assertEqual(self.json("check", "s.store")["notes"], [])
        path = os.path.join(self.folder, "s.store")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as store:
            store.execute("INSERT INTO facts VALUES ('unnamed 1', x'')")  # as a killed one leaves
        self.assertIn("\nnote: the file of receipt 1 may never have been handed out",
                      self.output("check", "s.store"))
        found = self.json("check", "s.store")
        self.assertEqual((found["damaged"], len(found["notes"])), (False, 1))

    def test_what_is_refused(self):
        self.write("mine", "mine")
        before, store = self.names(), self.read("s.store")
        self.refused(1, "is there already", "publish", "s.store", "-o", "mine")
        self.refused(1, "is there already", "publish", "s.store", "-o", "mine", "--json")
        self.refused(1, "of the store itself", "publish", "s.store", "-o", "s.store", "--force")
        self.refused(1, "of the store itself", "publish", "s.store", "-o", "s.store-journal",
                     "--force")
        self.refused(1, "not a regular file", "publish", "s.store", "-o", "/dev/full", "--force")
        self.refused(1, "cannot be written", "publish", "s.store", "-o", "no/where")
        self.refused(2, "-o FILE", "publish", "s.store")
        self.refused(2, "-o FILE", "publish", "s.store", "-o", "-")
        self.refused(4, "no model 'x'", "publish", "s.store", "-o", "new", "--model", "x")
        self.refused(4, "no store", "publish", "t.store", "-o", "new")
        self.assertEqual((self.names(), self.read("s.store")), (before, store))
        self.output("fit", "-k", "2", "-o", "s.store", "--model", "second")
        self.refused(2, "2 models", "publish", "s.store", "-o", "new")
        self.output("publish", "s.store", "-o", "new", "--model", "second")

    def test_one_of_several_runs(self):
        self.output("fit", "-k", "2", "-o", "s.store", "--model", "runs")
        self.output("publish", "s.store", "-o", "one", "--model", "runs")
        self.output("fit", "-k", "2", "-o", "s.store", "--model", "runs..2")
        self.refused(1, "one of several runs", "publish", "s.store", "-o", "new", "--model", "runs")

    def test_no_more_is_read_than_there_should_be(self):
        self.publish()
        os.truncate(self.path("p.model"), 4 << 30)
        self.refused(1, "damaged", "info", "p.model")
        kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(kilobytes, 1 << 20)

    def test_no_rows(self):
        self.output("forget", "s.store", "--id", ",".join(map(str, range(N_ROWS))), "--yes")
        before = self.names()
        self.refused(1, "no rows", "publish", "s.store", "-o", "p.model")
        self.assertEqual(self.names(), before)

    def test_other_commands_say_what_it_is(self):
        self.publish()
        for command in (["forget", "p.model", "--id", "1", "--yes"], ["verify", "p.model"],
                        ["publish", "p.model", "-o", "new"], ["check", "p.model"]):
            self.refused(1, "is a published model", *command)
        published = self.read("p.model")
        self.write("p.model", published[:-1] + bytes([published[-1] ^ 1]))
        self.refused(1, "damaged", "info", "p.model")
        self.refused(1, "damaged", "predict", "p.model", "people.csv")

    def test_full_disk(self):
        """No file can grow: the store cannot be written, and there is no file."""
        before, store = self.names(), self.read("s.store")

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        process = self.start("publish", "s.store", "-o", "p.model", preexec_fn=limit)
        printed, said = process.communicate()
        self.assertEqual((process.returncode, printed), (1, ""), said)
        self.assertEqual((self.names() - {"s.store-journal"}, self.read("s.store")),
                         (before - {"s.store-journal"}, store))
        self.publish()


if __name__ == "__main__":
    unittest.main()
