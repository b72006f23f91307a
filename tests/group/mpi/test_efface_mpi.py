#!/usr/bin/python3
"""The program efface-mpi under mpirun: the same digests as efface, and one word from all ranks.

usage: test_efface_mpi.py EFFACE EFFACE_MPI MPIEXEC [TEST]

EFFACE_TEST_RANKS has the numbers of ranks for every model, "3" if it is not set.
"""
import array
import json
import os
import random
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli"))
from cli_program import PROGRAM, ProgramTest  # noqa: E402 (takes EFFACE from the arguments)

RANKS = [int(n) for n in os.environ.get("EFFACE_TEST_RANKS", "3").split()]
MPI_PROGRAM, MPIEXEC = (os.path.abspath(sys.argv.pop(1)), sys.argv.pop(1)) if PROGRAM else (None, None)

N_ROWS = 1200
MODELS = {
    "pyramid": ["-k", "3", "--method", "pyramid"],
    "lloyd": ["-k", "4", "--method", "lloyd", "--scale", "minmax"],
    "quantized": ["-k", "3", "--method", "quantized"],
    "tree": ["-k", "3", "--method", "tree"],
    "sums": ["--family", "means"],
    "linear": ["--family", "linear", "--target", "d"],
    "ridge": ["--family", "ridge"],
    "bayes": ["--family", "bayes"],
    "discriminant": ["--family", "discriminant"],
    "components": ["--family", "components", "--columns", "a,b,c", "-n", "2"],
    "fourier": ["--family", "fourier", "--target", "d", "--features", "20"],
    "segmented": ["--family", "segmented", "-k", "3", "--target", "d"],
}
DATA = ["--id", "id", "--owner", "user", "--label", "kind"]


def line(i, salt=0):
    """A row with an id: a function of the id and the salt."""
    numbers = random.Random(1000003 * salt + i)
    values = [20 * (i % 3) + numbers.gauss(0, 1) for _ in range(3)]
    values.append(sum(values) + numbers.gauss(0, 0.5))
    return f"{i},u{i // 5},{'xyz'[i % 3]}," + ",".join(f"{v:.4f}" for v in values)


def table(ids, salt=0):
    return "\n".join(["id,user,kind,a,b,c,d", *(line(i, salt) for i in ids)]) + "\n"


def without_head(text):
    """The same rows without ids, owners and kinds."""
    return "".join(",".join(row.split(",")[3:]) + "\n" for row in text.splitlines())


class RanksTest(ProgramTest):
    def ranks(self, n, *arguments, code=0, stdin="", before=()):
        """Runs efface-mpi on n ranks; with `before`, the last of them behind these words."""
        command = [MPIEXEC, "-n", str(n), MPI_PROGRAM, *arguments]
        if before:
            command = [MPIEXEC, "-n", str(n - 1), MPI_PROGRAM, *arguments,
                       ":", "-n", "1", *before, MPI_PROGRAM, *arguments]
        done = subprocess.run(command, cwd=self.folder, text=True, input=stdin,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}{done.stderr}")
        return done

    def ranks_fail(self, n, code, message, *arguments, before=()):
        """All end with this code; nothing is printed, and one error is said, once."""
        done = self.ranks(n, *arguments, code=code, before=before)
        said = [text for text in done.stderr.splitlines()
                if text.startswith(("efface-mpi:", '{"error"'))]
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(said), 1, done.stderr)
        self.assertIn(message, said[0])
        return said[0]

    def made(self, n, *arguments):
        """What efface-mpi on n ranks or, if that is 0, efface says as JSON."""
        return json.loads(self.ranks(n, *arguments, "--json").stdout) if n else self.json(*arguments)


class Law(RanksTest):
    """What efface and efface-mpi make of the same files and requests is the same."""

    REQUESTS = [
        ["learn", "new.csv", *DATA],
        ["forget", "--id", "0,17,640", "--owner", "u90", "--yes"],
        ["update", "moved.csv", "--id", "id", "--owner", "user", "--label", "kind", "--yes"],
        ["forget", "--from", "list.txt", "--skip-missing", "--yes"],
    ]

    def setUp(self):
        super().setUp()
        self.write("rows.csv", table(range(N_ROWS)))
        self.write("new.csv", table(range(5000, 5040)))
        self.write("moved.csv", table(range(100, 130), salt=1))
        self.write("list.txt", "\n".join(str(i) for i in range(300, 700, 7)) + "\n999999\n")

    def play(self, n, store, names):
        """Makes a store with models, and then the requests. Returns all digests on the way. Texts
        have the numbers of the plain store."""
        digests = []
        more = ["rows.csv", *DATA, *(["--like", "plain"] if n else [])]
        for name in names:
            fitted = self.made(n, "fit", *more, "-o", store, "--model", name, "--seed", "5",
                               *MODELS[name])
            digests.append(fitted["model"]["digest"])
            more = []
        for command, *rest in self.REQUESTS:
            report = self.made(n, command, store, *rest)
            self.assertEqual([model["name"] for model in report["models"]], sorted(names))
            digests += [model["digest"] for model in self.made(n, "digest", store)["models"]]
        return digests

    def test_every_model(self):
        want = self.play(0, "plain", MODELS)
        # Nearly all differ: regressions and classifiers of the same sums have the same state.
        self.assertGreater(len(set(want)), 4 * len(MODELS))
        for n in RANKS:
            self.assertEqual(self.play(n, f"parts{n}", MODELS), want, n)
            self.ranks(n, "verify", f"parts{n}")
            self.look(f"parts{n}", n)

    def test_few_ranks(self):
        names = ["segmented", "tree"]
        want = self.play(0, "plain", names)
        for n in 1, 2:
            self.assertEqual(self.play(n, f"parts{n}", names), want, n)

    def look(self, store, n):
        """Other ranks, and what is read of the store."""
        other = n % 3 + 1
        self.ranks_fail(other, 1, f"{n} parts", "info", store)
        self.ranks(other, "spread", store)
        self.assertEqual(self.ranks(other, "digest", store).stdout, self.output("digest", "plain"))
        for what in (["--labels"], ["--canonical"], ["--table", "centroids"]):
            self.output("export", "plain", *what, "--model", "lloyd", "-o", "want.csv")
            self.ranks(other, "export", store, *what, "--model", "lloyd", "-o", "got.csv")
            self.assertEqual(self.read("got.csv"), self.read("want.csv"), what)
        predict = ["rows.csv", "--model", "bayes", "--probabilities", "--id", "id", "--owner",
                   "user", "--label", "kind"]
        self.assertEqual(self.ranks(other, "predict", store, *predict).stdout,
                         self.output("predict", "plain", *predict))
        info, plain = self.made(other, "info", store), self.json("info", "plain")
        self.assertEqual(info["receipts"], plain["receipts"] + 1)  # that of spread
        for model in info["models"] + plain["models"]:
            del model["commitment"]  # salts differ
        for key in "rows", "owners", "labels", "models", "columns":
            self.assertEqual(info[key], plain[key], key)
        self.assertEqual(info["parts"], other)
        self.assertEqual(sum(info["part_rows"]), info["rows"])
        self.assertTrue(self.ranks(other, "check", store).stdout.startswith("no damage; "))


class Files(RanksTest):
    """Whichever files rows come from, and whichever rank reads them."""

    def fit(self, n, store, *files, more=()):
        fitted = self.made(n, "fit", *files, "-k", "3", "--method", "lloyd", "--seed", "2", "-o",
                           store, *more)
        return fitted["model"]["digest"]

    def test_rows_without_ids(self):
        whole = without_head(table(range(250)))
        rows = whole.splitlines(keepends=True)
        self.write("whole.csv", whole)
        for i, (begin, end) in enumerate([(1, 91), (91, 92), (92, 251)]):
            self.write(f"p{i}.csv", "".join([rows[0], *rows[begin:end]]))
        parts = ["p0.csv", "p1.csv", "p2.csv"]
        want = self.fit(0, "one", "whole.csv")
        self.assertEqual(self.fit(0, "several", *parts), want)
        self.assertEqual(self.fit(3, "shares", "whole.csv"), want)
        self.assertEqual(self.fit(3, "each", *parts), want)
        self.assertEqual(self.fit(2, "turns", *parts), want)
        self.output("export", "one", "--labels", "-o", "want.csv")
        self.ranks(2, "export", "turns", "--labels", "-o", "got.csv")
        self.assertEqual(self.read("got.csv"), self.read("want.csv"))

    def test_npy(self):
        numbers = array.array("f", [20 * (i // 4 % 3) + i * 7919 % 101 / 100 for i in range(4 * 100)])
        head = "{'descr': '<f4', 'fortran_order': False, 'shape': (100, 4), }".ljust(117) + "\n"
        self.write("x.npy", b"\x93NUMPY\x01\x00\x76\x00" + head.encode() + numbers.tobytes())
        self.assertEqual(self.fit(3, "parts", "x.npy"), self.fit(0, "plain", "x.npy"))
        self.ranks(3, "verify", "parts")

    def test_texts_are_kept(self):
        self.write("rows.csv", table(range(90)).replace("\n", "\nr", 90))
        more = ["--id", "id", "--owner", "user", "--label", "kind", "--keep-texts"]
        want = self.fit(0, "plain", "rows.csv", more=more)
        self.assertEqual(self.fit(3, "parts", "rows.csv", more=[*more, "--like", "plain"]), want)
        for store in "plain", "parts":
            run = self.output if store == "plain" else lambda *a: self.ranks(3, *a).stdout
            run("forget", store, "--key", "r7", "--owner", "u4", "--yes")
            run("export", store, "--labels", "-o", f"{store}.csv")
        self.assertEqual(self.read("parts.csv"), self.read("plain.csv"))
        self.assertIn(b"\nr89,", self.read("parts.csv"))
        self.assertNotIn(b"\nr7,", self.read("parts.csv"))
        shown = self.ranks(3, "show", "parts", "--key", "r8").stdout
        self.assertIn("row r8: owner u1", shown)

    def test_standard_input(self):
        # The rows of u15 are read by rank 1, which has the key of rank 0 for texts.
        self.write("rows.csv", table(range(150)))
        self.fit(2, "parts", "rows.csv", more=DATA)
        done = self.ranks(2, "forget", "parts", "--from", "-", "--yes", stdin="1\n2\nowner:u15\n")
        self.assertIn("7 rows forgotten", done.stdout)
        done = self.ranks(2, "learn", "parts", "-", *DATA, stdin=table(range(1000, 1003)))
        self.assertIn("3 rows learned", done.stdout)


class Failures(RanksTest):
    """One rank fails, all end, and rank 0 says why, once."""

    def fit(self, *files):
        return ["fit", *files, *DATA, "-k", "3", "--seed", "2", "-o", "parts"]

    def setUp(self):
        super().setUp()
        for i in range(3):
            self.write(f"p{i}.csv", table(range(100 * i, 100 * i + 100)))

    def tearDown(self):
        self.assertFalse(os.path.exists(self.path("parts")))

    def test_files(self):
        said = self.ranks_fail(3, 4, "there is no file 'none.csv'", *self.fit("p0.csv", "none.csv", "p2.csv"))
        self.assertIn("rank 1: ", said)
        self.write("bad.csv", table(range(900, 910)).replace(",", ",x", 40))
        said = self.ranks_fail(3, 1, "bad.csv", *self.fit("p0.csv", "p1.csv", "bad.csv"), "--json")
        error = json.loads(said)["error"]
        self.assertTrue(error["message"].startswith("rank 2: "), said)
        self.assertEqual((error["code"], error["file"]), (1, "bad.csv"))
        said = self.ranks_fail(3, 1, "is on two ranks", *self.fit("p0.csv", "p1.csv", "p0.csv"))
        self.write("other.csv", table(range(900, 910)).replace("a,b,c,d", "a,b,d,c"))
        self.ranks_fail(2, 1, "rank 1: other.csv has other columns", *self.fit("p0.csv", "other.csv"))
        self.write("texts.csv", table(range(900, 910)).replace("\n", "\nr", 10))
        self.ranks_fail(2, 1, "numbers in some files", *self.fit("p0.csv", "texts.csv"))

    def test_arguments(self):
        said = self.ranks_fail(3, 4, "there is no file 'none.csv'", *self.fit("none.csv"))
        self.assertNotIn("rank", said)
        self.ranks_fail(2, 2, "efface-mpi fit --help", "fit", "--nothing")
        self.ranks_fail(2, 2, "no command 'publish'", "publish", "parts")
        self.ranks_fail(2, 2, "forest are of one machine", "fit", "p0.csv", *DATA, "--family", "forest", "-o", "trees")
        self.ranks_fail(2, 4, "there is no store 'parts'", "verify", "parts")
        self.assertIn("usage: efface-mpi fit", self.ranks(2, "fit", "--help").stdout)
        self.assertEqual(self.ranks(2, "--help").stdout.count("usage:"), 1)

    def test_full_disk(self):
        version = subprocess.run([MPIEXEC, "--version"], text=True, capture_output=True, check=False)
        if "Open MPI" not in version.stdout:
            self.skipTest("MPICH itself writes files that are larger than the limit")
        # Blocks of 512 bytes, on the last rank only.
        limited = ["sh", "-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""]
        said = self.ranks_fail(3, 1, "rank 2: ", *self.fit("p0.csv", "p1.csv", "p2.csv"), before=limited)
        self.assertIn("disk", said)

    def test_missing_rows(self):
        self.ranks(2, *self.fit("p0.csv", "p1.csv"))
        before = self.ranks(2, "digest", "parts").stdout
        self.ranks_fail(2, 4, "not found: id 7777", "forget", "parts", "--id", "1,7777", "--yes")
        self.ranks_fail(2, 4, "there is no file 'none.txt'", "forget", "parts", "--from", "none.txt", "--yes")
        self.ranks_fail(2, 2, "add --yes", "forget", "parts", "--id", "1")
        self.ranks_fail(2, 1, "exists already", "learn", "parts", "p0.csv", *DATA)
        self.assertEqual(self.ranks(2, "digest", "parts").stdout, before)
        shutil.rmtree(self.path("parts"))


class Parts(RanksTest):
    def test_plain_efface(self):
        """Plain efface shows a part, and refuses to use it."""
        self.write("rows.csv", table(range(100)))
        self.ranks(2, "fit", "rows.csv", *DATA, "-k", "3", "-o", "parts")
        files = sorted(name for name in os.listdir(self.path("parts")) if name.startswith("part-"))
        self.assertEqual(len(files), 2)
        for number, name in enumerate(files):
            path = os.path.join("parts", name)
            self.assertIn(f"part      {number} of 2", self.output("info", path))
            info = self.json("info", path)
            self.assertEqual((info["part"], info["parts"]), (number, 2))
            message = f"part {number} of 2 of a store"
            self.refused(1, message, "forget", path, "--id", "1", "--yes")
            self.refused(1, message, "learn", path, "rows.csv", *DATA)
            self.refused(1, message, "compact", path)
        self.refused(1, "part 0 of 2 of a store", "verify", os.path.join("parts", files[0]))
        self.refused(1, "store in parts; use efface-mpi", "info", "parts")

    def test_counts(self):
        self.write("rows.csv", table(range(100)))
        done = self.ranks(3, "--count", "fit", "rows.csv", *DATA, "-k", "3", "-o", "parts")
        counted = {words[0]: [int(word) for word in words[1:]]
                   for words in map(str.split, done.stderr.splitlines())
                   if words and words[0] in ("sum_64", "minimum", "broadcast", "agree")}
        self.assertEqual(len(counted), 4, done.stderr)
        for rounds, given, got, all_given, all_got in counted.values():
            self.assertGreater(rounds, 0)
            self.assertGreaterEqual(all_given, given)
            self.assertGreaterEqual(all_got, got)
        self.assertEqual(counted["agree"][3], 3 * counted["agree"][1])
        self.ranks(3, "verify", "parts")


if __name__ == "__main__":
    unittest.main()
