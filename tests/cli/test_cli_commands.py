#!/usr/bin/python3
"""What the commands do and print.

usage: test_cli_commands.py PROGRAM [TEST]
"""
import array
import json
import os
import re
import shutil
import subprocess
import unittest

from cli_program import N_ROWS, PROGRAM, ProgramTest, without_numbers, write_people

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMANDS = ["fit", "forget", "learn", "update", "show", "owners", "predict", "export", "info",
            "digest", "verify", "check", "compact", "rekey", "publish", "drop", "receipt",
            "serve", "token"]
# These two are commands of another program, which builds without its libraries do not have.
WITH_SERVICE = PROGRAM and os.path.exists(os.path.join(os.path.dirname(PROGRAM), "efface-serve"))
WITH_HELP = [command for command in COMMANDS if WITH_SERVICE or command not in ("serve", "token")]
FAMILIES = ["kmeans", "means", "linear", "ridge", "bayes", "discriminant", "components", "fourier",
            "segmented", "forest", "logistic", "svm"]

INFO = """\
store     s.store
format    N
file      SIZE bytes, SIZE of them free
rows      60
columns   2: age, height
owners    15
labels    0
texts     of ids and owners are not kept, only their numbers
receipts  1; their key is in the store
models    2
  default: k-means, 2 columns
    method pyramid, k 3, iters 10, scale none, empty reseed, passes 1, starts 4
    digest DIGEST
  fine: k-means, 1 column
    method quantized, k 5, iters 10, scale minmax, empty reseed, gamma 0.2
    digest DIGEST
"""

FORGET = """\
4 rows forgotten; receipt 1; TIME s
default, k-means: """


def read_npy(data):
    """The type, the shape and the numbers of an .npy file."""
    assert data[:8] == b"\x93NUMPY\x01\x00"
    n = int.from_bytes(data[8:10], "little")
    assert (10 + n) % 64 == 0 and data[9 + n:10 + n] == b"\n"
    head = data[10:10 + n].decode()
    kind = re.search(r"'descr': '(<..)'", head).group(1)
    shape = tuple(int(x) for x in re.search(r"\(([\d, ]*)\)", head).group(1).split(",") if x.strip())
    numbers = array.array({"<i4": "i", "<f8": "d"}[kind])
    numbers.frombytes(data[10 + n:])
    return kind, shape, list(numbers)


class Help(ProgramTest):
    def test_version(self):
        self.assertRegex(self.output("--version"), r"^efface \d+\.\d+\.\d+\n$")

    def test_help_fits_a_screen(self):
        for arguments in [["--help"], *([command, "--help"] for command in WITH_HELP)]:
            text = self.output(*arguments)
            self.assertLessEqual(text.count("\n"), 24, arguments)
            self.assertLessEqual(max(map(len, text.splitlines())), 80, arguments)
            self.assertIn("usage: efface", text)
            if arguments[0] != "--help":
                self.assertRegex(text, r"(?m)^examples?: efface " + arguments[0])
                self.assertIn("--json", text)
                self.assertEqual(text, self.output("help", arguments[0]))
            else:
                for command in COMMANDS:
                    self.assertRegex(text, rf"(?m)^  {command} +\w")

    @unittest.skipIf(WITH_SERVICE, "this build has the service")
    def test_help_without_the_service(self):
        for command in set(COMMANDS) - set(WITH_HELP):
            for arguments in ([command, "--help"], ["help", command]):
                self.refused(2, "libmicrohttpd-dev", *arguments)
            self.refused(1, "libmicrohttpd-dev", command)

    def test_help_of_a_family(self):
        general = self.output("fit", "--help")
        for family in FAMILIES:
            self.assertIn(family, general)
            text = self.output("fit", "--family", family, "--help")
            self.assertLessEqual(text.count("\n"), 24)
            self.assertLessEqual(max(map(len, text.splitlines())), 80)
            self.assertRegex(text, r"(?m)^examples?: efface fit ")
            self.assertNotEqual(text, general)
            self.assertEqual(text, self.output("help", "fit", f"--family={family}"))
        self.refused(2, "must be kmeans", "fit", "--family", "none", "--help")


class Documents(ProgramTest):
    """The manual and the completion know what --help knows."""

    def options_in_help(self, command):
        if command not in WITH_HELP:
            return set()
        text = self.output(command, "--help")
        if command == "fit":
            text += "".join(self.output("fit", "--family", f, "--help") for f in FAMILIES)
        return set(re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)", text))

    def read_source(self, *path):
        with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
            return file.read()

    def test_man_pages(self):
        for command in COMMANDS:
            page = self.read_source("docs", "use", "man", f"efface-{command}.1").replace("\\-", "-")
            for option in self.options_in_help(command):
                self.assertIn(option, page, command)
            for section in "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES":
                self.assertIn(f"\n.SH {section}\n", page, command)
            self.assertIn(f"efface-{command} (1)", self.read_source("docs", "use", "man", "efface.1")
                          .replace("\\-", "-"))

    @unittest.skipUnless(shutil.which("groff"), "there is no groff")
    def test_man_pages_render(self):
        for name in ["efface", *(f"efface-{command}" for command in COMMANDS)]:
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", f"{name}.1"], text=True,
                                  cwd=os.path.join(SOURCE, "docs", "use", "man"), capture_output=True,
                                  check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def test_bash_completion(self):
        script = os.path.join(SOURCE, "cli", "completion", "efface.bash")

        def complete(*words):
            done = subprocess.run(
                ["bash", "-c", '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _efface;'
                 ' printf "%s\\n" "${COMPREPLY[@]}"', "bash", script, *words],
                text=True, capture_output=True, check=True)
            return set(done.stdout.split())
        self.assertLessEqual(set(COMMANDS), complete("efface", ""))
        self.assertEqual(complete("efface", "fit", "--family", ""), set(FAMILIES))
        self.assertEqual(complete("efface", "fit", "--method", ""),
                         {"lloyd", "quantized", "pyramid", "tree"})
        for command in COMMANDS:
            known = complete("efface", command, "-")
            if command == "receipt":
                known = set().union(*(complete("efface", command, part, "-")
                                      for part in ("keys", "verify", "has")))
            # Help speaks of --sign and --yes of other commands in receipt's example, and so on.
            foreign = {"receipt": {"--sign", "--receipts", "-o"},
                       "show": {"--keep-texts"}, "owners": {"--keep-texts"}}.get(command, set())
            self.assertLessEqual(self.options_in_help(command) - foreign, known, command)

    def test_zsh_completion(self):
        script = self.read_source("cli", "completion", "_efface")
        for command in COMMANDS:
            self.assertRegex(script, rf"'{command}:\w")
            for option in self.options_in_help(command):
                self.assertIn(option + "[", script)


class Fit(ProgramTest):
    def test_text(self):
        head = "store: 60 rows, 2 columns; model default: k-means; TIME s\n"
        note = "too few rows for each cluster to take a sample, so it works as lloyd\n"
        given = "k 3, iters 10, scale none, empty reseed"
        self.assertEqual(without_numbers(self.fit()),
                         f"s.{head}method pyramid, {given}, passes 1, starts 4\n{note}"
                         "digest DIGEST\n")
        for number, (said, *words) in enumerate([
                [f"lloyd, {given}", "--method", "lloyd"],
                [f"pyramid, {given}, rate 0.25, passes 1,\nstarts 4", "--rate", "0.25"]]):
            text = self.fit(f"{number}.store", "people.csv", *words)
            self.assertEqual(without_numbers(text),
                             f"{number}.{head}method {said}\ndigest DIGEST\n")
        self.output("fit", "-k", "5", "-o", "s.store", "--model", "fine", "--method", "quantized",
                    "--columns", "height", "--scale", "minmax")
        text = re.sub(r"\d+ bytes, \d+ of", "SIZE bytes, SIZE of", self.output("info", "s.store"))
        text = re.sub(r"\nformat    \d+\n", "\nformat    N\n", text)
        self.assertEqual(without_numbers(text), INFO)

    def test_json(self):
        made = self.json("fit", "people.csv", "--id", "id", "--owner", "user", "-k", "3",
                         "-o", "s.store", "--method", "tree", "--width", "2", "--height", "1")
        info = self.json("info", "s.store")
        self.assertEqual((info["rows"], info["dim"], info["columns"], info["receipts"]),
                         (N_ROWS, 2, ["age", "height"], 0))
        self.assertEqual(info["models"], [made["model"]])
        model = info["models"][0]
        self.assertEqual((model["name"], model["kind"], model["dim"]), ("default", "k-means", 2))
        parameters = model["parameters"]
        self.assertEqual((parameters["method"], parameters["k"], parameters["width"]),
                         ("tree", 3, 2))
        self.assertRegex(model["digest"], "^[0-9a-f]{64}$")
        self.assertEqual((made["fitted"]["works_as"], made["fitted"]["width"], made["note"]),
                         ("tree", 2, None))

    def test_json_says_what_pyramid_works_as(self):
        for number, (words, actual) in enumerate([
                ([], "lloyd"), (["--rate", "0.25"], "pyramid"), (["--method", "lloyd"], "lloyd"),
                (["--method", "quantized"], "quantized")]):
            made = self.json("fit", "people.csv", "--id", "id", "--owner", "user", "-k", "3",
                             "-o", f"{number}.store", *words)
            self.assertEqual(made["fitted"]["works_as"], actual)
            named = words[1] if "--method" in words else "pyramid"
            self.assertEqual(made["model"]["parameters"]["method"], named)
            self.assertEqual(made["note"] is None, actual == named)
            # Models that are added say so as well.
            made = self.json("fit", "-k", "3", "-o", f"{number}.store", "--model", "b", *words)
            self.assertEqual((made["fitted"]["works_as"], made["model"]["parameters"]["method"]),
                             (actual, named))

    def test_family(self):
        options = ["people.csv", "--id", "id", "--owner", "user", "-k", "3", "--seed", "11"]
        self.fit("a.store")
        self.output("fit", *options, "--family", "kmeans", "-o", "b.store")
        self.output("fit", "--family=kmeans", *options, "-o", "c.store")
        self.assertEqual(self.canonical("a.store", "a"), self.canonical("b.store", "b"))
        self.assertEqual(self.canonical("a.store", "a"), self.canonical("c.store", "c"))
        self.output("fit", "--family", "kmeans", "-k", "2", "-o", "a.store", "--model", "second")
        self.assertEqual([m["kind"] for m in self.json("info", "a.store")["models"]],
                         ["k-means", "k-means"])
        for words in ["--family", "none"], ["--family=none"], ["--family", "none", "--json"]:
            self.refused(2, "there is no family 'none' of models: it must be kmeans", "fit",
                         *options, *words, "-o", "d.store")
        self.refused(2, "--family needs a value", "fit", *options, "-o", "d.store", "--family")
        self.refused(2, "-k K, the number of clusters", "fit", "people.csv", "-o", "d.store")
        self.refused(2, "-o STORE", "fit", "people.csv", "-k", "3")
        # After two dashes it is a file.
        self.refused(4, "'--family'", "fit", "-k", "3", "-o", "d.store", "--", "--family")
        self.assertFalse(os.path.exists(self.path("d.store")))

    def test_options_of_methods_reach_the_model(self):
        ways = {
            "tree": ["--method", "tree", "--width", "2"],
            "tree, quantized leaves": ["--method", "tree", "--width", "2",
                                       "--leaf-method", "quantized"],
            "tree, quantized root": ["--method", "tree", "--width", "2",
                                     "--node-method", "quantized"],
            "tree, not weighed": ["--method", "tree", "--width", "2", "--weigh", "no"],
            "defaults": [],
            "plain seeding": ["--method", "lloyd", "--candidates", "1"],
            "greedy seeding": ["--method", "lloyd", "--candidates", "4"],
            "pyramid": ["--method", "pyramid", "--rate", "0.25"],
            "pyramid, one start": ["--method", "pyramid", "--rate", "0.25", "--starts", "1"],
            "pyramid, two passes": ["--method", "pyramid", "--rate", "0.25", "--passes", "2"],
        }
        digests = {}
        for number, (way, words) in enumerate(ways.items()):
            store = f"{number}.store"
            made = self.json("fit", "people.csv", "--id", "id", "--owner", "user", "-k", "3",
                             "--seed", "5", "-o", store, *words)
            digests[made["model"]["digest"]] = way
            self.output("forget", store, "--id", "7", "--yes")
            self.output("verify", store)
        self.assertEqual(len(digests), len(ways), digests)

    def test_same_seed_same_model(self):
        self.fit("a.store")
        self.fit("b.store")
        self.assertEqual(self.canonical("a.store", "a"), self.canonical("b.store", "b"))
        # Without a seed it is random: two of them are not the same.
        for store in "c.store", "d.store":
            self.output("fit", "people.csv", "--id", "id", "--owner", "user", "-k", "9", "-o", store)
        self.assertNotEqual(self.canonical("c.store", "c"), self.canonical("d.store", "d"))

    def test_columns(self):
        for columns, dim in [("age", 1), ("1", 1), ("2,1", 2), ("1-2", 2), ("height,age", 2)]:
            name = "m" + re.sub(r"\W", "-", columns)
            made = self.json("fit", "people.csv", "--id", "id", "--owner", "user", "-k", "2", "-o",
                             name + ".store", "--columns", columns)
            self.assertEqual(made["model"]["dim"], dim, columns)

    def test_like_gives_texts_the_same_ids(self):
        people = [line.split(",") for line in self.read("people.csv").decode().split()[1:]]
        self.write("names.csv", "name,age\n" + "".join(f"p{p[0]},{p[2]}\n" for p in people))
        arguments = ["names.csv", "--id", "name", "-k", "4", "--seed", "5", "-o"]
        for store, more in ("c", []), ("d", ["--like", "c"]), ("e", []):
            self.output("fit", *arguments, store, *more)
        self.assertEqual(self.canonical("c", "c1"), self.canonical("d", "d1"))
        self.assertNotEqual(self.output("export", "c", "--labels", "-o", "-"),
                            self.output("export", "e", "--labels", "-o", "-"))


class Forget(ProgramTest):
    def test_text_and_owner(self):
        self.fit()
        text = without_numbers(self.output("forget", "s.store", "--owner", "u3", "--yes"))
        self.assertTrue(text.startswith(FORGET), text)
        self.assertRegex(text.splitlines()[1],
                         r"^default, k-means: (adjusted|repaired|refitted) in TIME s$")
        self.assertEqual(self.json("info", "s.store")["rows"], N_ROWS - 4)

    def test_json(self):
        self.fit()
        done = self.json("forget", "s.store", "--id", "1,2", "--id=3", "--id", "2", "--owner", "u5",
                         "--owner-key", "u6", "--yes")
        self.assertEqual((done["requested"], done["forgotten"], done["missing"], done["receipt"]),
                         (5, 11, 0, 1))
        model = done["models"][0]
        self.assertEqual((model["name"], model["kind"]), ("default", "k-means"))
        self.assertTrue(model["reason"])
        self.assertIsInstance(model["where"], str)
        self.assertNotIn("level", model)
        self.assertIn(model["action"], ("adjusted", "repaired", "refitted"))
        for field in "rows_visited", "seconds":
            self.assertGreaterEqual(model[field], 0)
        stored = self.json("info", "s.store")["models"][0]
        self.assertEqual(model["after"], stored["commitment"])
        self.assertNotIn(stored["digest"], json.dumps(done))

    def test_dry_run_changes_nothing_and_needs_no_yes(self):
        self.fit()
        before = self.read("s.store")
        done = self.json("forget", "s.store", "--owner", "u3", "--dry-run")
        self.assertEqual((done["forgotten"], done["dry_run"], done["receipt"]), (4, True, None))
        self.assertEqual(before, self.read("s.store"))

    def test_skip_missing(self):
        self.fit()
        done = self.json("forget", "s.store", "--id", "7,1000", "--owner", "nobody", "--yes",
                         "--skip-missing")
        self.assertEqual((done["requested"], done["forgotten"], done["missing"]), (3, 1, 2))
        self.assertEqual(done["not_found"], [{"id": 1000}, {"owner": "nobody"}])
        said = self.run_with(0, "forget", "s.store", "--id", "8,1000", "--yes", "--skip-missing")
        self.assertIn("1 row forgotten", said.stdout)
        self.assertIn("not found: id 1000", said.stderr)

    def test_nobody_is_found(self):
        """Names with a comma between them are one name of a text; that must not pass for done."""
        self.fit()
        for more in (["--yes"], ["--dry-run"]):
            said = self.run_with(4, "forget", "s.store", "--owner", "u3,u4", "--skip-missing", *more)
            self.assertIn('not found: owner "u3,u4"; nobody ', said.stderr)
            self.assertIn("with its comma that is one name", said.stderr)
            self.assertTrue(said.stdout.startswith("0 rows "), said.stdout)
        self.assertEqual(self.json("info", "s.store")["rows"], N_ROWS)
        # Who was forgotten is missing the second time.
        self.output("forget", "s.store", "--owner", "u3", "--yes")
        self.refused(4, 'not found: owner "u3"; nothing was changed;', "forget", "s.store",
                     "--owner", "u3", "--yes")
        self.refused(4, "nothing was changed (--skip-missing forgets the others)", "forget",
                     "s.store", "--owner", "u3", "--owner", "u4", "--yes")
        done = self.json("forget", "s.store", "--owner", "u3", "--skip-missing", "--yes", code=4)
        self.assertEqual((done["forgotten"], done["not_found"]), (0, [{"owner": "u3"}]))
        said = self.output("receipt", "show", "s.store")
        self.assertIn("no row was forgotten", said)
        self.assertNotIn("Each model is now", said)

    def test_from_file_and_standard_input(self):
        self.fit()
        self.write("list", "5\r\n\nid:6\nowner:u10\nowner-key:u11")
        done = self.json("forget", "s.store", "--from", "list", "--yes")
        self.assertEqual((done["requested"], done["forgotten"]), (4, 10))
        self.output("forget", "s.store", "--from", "-", "--yes", stdin="0\n1\n")
        self.assertEqual(self.json("info", "s.store")["rows"], N_ROWS - 12)
        done = self.run_with(0, "forget", "s.store", "--from", "-", "--yes", "--json")
        self.assertEqual(json.loads(done.stdout)["requested"], 0)

    def test_keys(self):
        self.write("names.csv", 'name,age\n"ward, 7",3\nbeta,4\n7,5\n')
        self.output("fit", "names.csv", "--id", "name", "-k", "1", "-o", "t.store")
        done = self.json("forget", "t.store", "--key", "ward, 7", "--key", "7", "--yes")
        self.assertEqual(done["forgotten"], 2)
        done = self.run_with(4, "forget", "t.store", "--key", "ward", "--yes")
        self.assertIn('not found: id "ward"; nothing was changed', done.stderr)
        self.output("forget", "t.store", "--from", "-", "--yes", stdin="key:beta\n")
        self.assertEqual(self.json("info", "t.store")["rows"], 0)


class Others(ProgramTest):
    def test_learn(self):
        self.fit()
        write_people(self.path("new.csv"), range(100, 108))
        done = self.json("learn", "s.store", "new.csv", "--id", "id", "--owner", "user")
        self.assertEqual((done["learned"], done["receipt"]), (8, 1))
        self.assertEqual([m["name"] for m in done["models"]], ["default"])
        self.output("verify", "s.store")
        self.assertEqual(self.json("info", "s.store")["rows"], N_ROWS + 8)

    def test_verify(self):
        self.fit()
        self.assertEqual(without_numbers(self.output("verify", "s.store")),
                         f"default: identical to a model fitted now to the {N_ROWS} rows of the store; "
                         "digest DIGEST\n")
        found = self.json("verify", "s.store", "--model", "default")
        digest = self.json("info", "s.store")["models"][0]["digest"]
        self.assertEqual(found, {"identical": True, "models": [
            {"name": "default", "identical": True, "rows": N_ROWS, "digest": digest}]})

    def test_predict(self):
        self.fit()
        options = ["--id", "id", "--owner", "user"]
        head, *lines = self.output("predict", "s.store", "people.csv", *options).split()
        self.assertEqual(head, "id,label")
        ids, labels = map(list, zip(*(map(int, line.split(",")) for line in lines)))
        self.assertEqual(ids, list(range(N_ROWS)))
        self.assertEqual(len(labels), N_ROWS)
        self.assertEqual(sorted(set(labels)), [0, 1, 2])
        self.assertEqual(labels[:3] * 20, labels)  # the group of a row is its id modulo 3
        for name in "l.csv", "l.npy", "l.json":
            self.output("predict", "s.store", "people.csv", *options, "-o", name)
        self.assertEqual(self.read("l.csv").decode().split(), [head, *lines])
        self.assertEqual(read_npy(self.read("l.npy")), ("<i4", (N_ROWS,), labels))
        self.assertEqual(json.loads(self.read("l.json")),
                         {"model": "default", "rows": N_ROWS, "ids": ids, "labels": labels})
        self.assertEqual(self.json("predict", "s.store", "people.csv", *options)["labels"], labels)
        self.assertEqual(self.json("predict", "s.store", "people.csv", *options, "-o", "l.npy"),
                         {"model": "default", "rows": N_ROWS, "file": "l.npy", "format": "npy"})
        # Columns that the model does not have are passed over, texts as well.
        found = self.output("predict", "s.store", "people.csv")
        self.assertEqual([int(x) for x in found.split()], labels)
        # Columns are found by name, in whatever order, and others are passed over.
        people = [line.split(",") for line in self.read("people.csv").decode().split()[1:]]
        self.write("turned.csv", "height,x,age\n" + "".join(f"{p[3]},1,{p[2]}\n" for p in people))
        found = self.output("predict", "s.store", "turned.csv")
        self.assertEqual([int(x) for x in found.split()], labels)

    def test_predict_with_a_model_of_some_columns(self):
        self.fit()
        self.output("fit", "-k", "3", "-o", "s.store", "--model", "tall", "--columns", "height")
        options = ["--id", "id", "--owner", "user", "--model", "tall", "--columns", "height"]
        found = self.json("predict", "s.store", "people.csv", *options)
        self.assertEqual(sorted(set(found["labels"])), [0, 1, 2])
        # The model knows the names of its columns.
        self.assertEqual(found, self.json("predict", "s.store", "people.csv", *options[:-2]))

    def test_export(self):
        self.fit()
        for name in "c.csv", "c.npy", "c.json", "l.csv", "l.npy", "l.json":
            what = ["--table", "centroids"] if name[0] == "c" else ["--labels"]
            self.output("export", "s.store", *what, "-o", name)
        head, *lines = self.read("c.csv").decode().splitlines()
        centroids = [[float(x) for x in line.split(",")] for line in lines]
        self.assertEqual(head, "age,height")
        self.assertEqual(len(centroids), 3)
        self.assertEqual(read_npy(self.read("c.npy")), ("<f8", (3, 2), sum(centroids, [])))
        self.assertEqual(json.loads(self.read("c.json")), {
            "model": "default", "columns": ["age", "height"], "centroids": centroids})
        head, *lines = self.read("l.csv").decode().splitlines()
        self.assertEqual(head, "id,label")
        ids, labels = zip(*(map(int, line.split(",")) for line in lines))
        self.assertEqual(ids, tuple(range(N_ROWS)))
        self.assertEqual(read_npy(self.read("l.npy")), ("<i4", (N_ROWS,), list(labels)))
        self.assertEqual(json.loads(self.read("l.json")), {
            "model": "default", "ids": list(ids), "labels": list(labels)})
        self.assertEqual(self.output("export", "s.store", "--labels", "-o", "-"),
                         self.read("l.csv").decode())
        self.assertEqual(self.json("export", "s.store", "--labels", "-o", "l.csv"), {
            "exported": "labels", "model": "default", "file": "l.csv", "format": "csv"})

    def test_export_tables(self):
        self.fit("s.store", "people.csv", "--offset", "age=100")
        wanted = self.output("export", "s.store", "--table", "centroids", "-o", "-")
        self.assertEqual(self.output("export", "s.store", "-o", "-"), wanted)
        ages = sorted(float(line.split(",")[0]) for line in wanted.splitlines()[1:])
        for age, group in zip(ages, (20.5, 40.5, 60.5)):
            self.assertAlmostEqual(age, group, delta=0.5)
        self.assertEqual(self.json("export", "s.store", "-o", "t.csv"), {
            "exported": "centroids", "model": "default", "file": "t.csv", "format": "csv"})
        self.assertEqual(self.read("t.csv").decode(), wanted)
        self.refused(4, "there is no table none; the tables of this model are: centroids",
                     "export", "s.store", "--table", "none", "-o", "new.csv")
        self.refused(2, "one of --table", "export", "s.store", "--table", "centroids", "--labels",
                     "-o", "new.csv")
        self.assertFalse(os.path.exists(self.path("new.csv")))

    def test_sums(self):
        self.output("fit", "people.csv", "--id", "id", "--owner", "user", "--family", "means",
                    "-o", "s.store")
        self.output("fit", "--family", "kmeans", "-k", "3", "--model", "groups", "-o", "s.store")
        families = {m["name"]: m["kind"] for m in self.json("info", "s.store")["models"]}
        self.assertEqual(families, {"default": "means", "groups": "k-means"})
        self.output("forget", "s.store", "--id", "1", "--yes")
        for name in families:
            self.output("verify", "s.store", "--model", name)
        wanted = self.output("export", "s.store", "--model", "default", "--table", "means", "-o", "-")
        self.output("publish", "s.store", "--model", "default", "-o", "means.model")
        self.assertEqual(self.output("export", "means.model", "--table", "means", "-o", "-"), wanted)
        self.refused(2, "efface fit --family means --help", "fit", "people.csv", "--id", "id",
                     "--family", "means", "-k", "3", "-o", "new.store")

    def test_export_leaves_no_other_files(self):
        self.fit()
        before = set(os.listdir(self.folder))
        self.output("export", "s.store", "--canonical", "-o", "state")
        self.run_with(1, "export", "s.store", "--canonical", "-o", "nowhere/state")
        self.assertEqual(set(os.listdir(self.folder)) - before, {"state"})

    def test_rekey_and_drop(self):
        self.fit()
        self.output("fit", "-k", "4", "-o", "s.store", "--model", "b", "--seed", "1")
        before = [m["digest"] for m in self.json("info", "s.store")["models"]]
        done = self.json("rekey", "s.store", "--yes", "--seed", "99")
        self.assertEqual([m["name"] for m in done["models"]], ["b", "default"])
        after = [m["digest"] for m in self.json("info", "s.store")["models"]]
        self.assertFalse(set(before) & set(after))
        self.assertEqual(done["receipt"], 2)
        self.output("rekey", "s.store", "--model", "b", "--yes")
        self.output("verify", "s.store")
        self.assertEqual(self.json("drop", "s.store", "--model", "b", "--yes"), {"dropped": "b"})
        self.assertEqual(self.output("drop", "s.store", "--model", "default", "--yes"),
                         "model default dropped\n")
        info = self.json("info", "s.store")
        self.assertEqual((info["rows"], info["models"]), (N_ROWS, []))

    def test_check(self):
        self.fit()
        self.assertEqual(self.output("check", "s.store"),
                         f"no damage; {N_ROWS} rows, 1 model, 0 receipts checked\n")
        self.assertEqual(self.json("check", "s.store"),
                         {"damaged": False, "rows": N_ROWS, "models": 1, "receipts": 0,
                          "problems": [], "notes": []})


if __name__ == "__main__":
    assert PROGRAM, __doc__
    unittest.main()
