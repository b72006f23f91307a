"""What the tests of the program share: running it in an empty folder, and data to run it on."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
N_ROWS = 60
TEXTS_NOTE = "efface: ids and owners are stored as numbers only; --keep-texts keeps their texts too\n"


def rows(ids):
    """Rows of people.csv with these ids: three groups, four rows an owner. A function of the id."""
    for i in ids:
        group, spread = i % 3, (i * 7919 % 101) / 100
        yield f"{i},u{i // 4},{20 + 20 * group + spread:.2f},{150 + 10 * group - spread:.2f}"


def write_people(path, ids):
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(["id,user,age,height", *rows(ids)]) + "\n")


class ProgramTest(unittest.TestCase):
    """Each test runs in a folder of its own, where people.csv has the ids from 0 to N_ROWS - 1."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="efface-cli-")
        self.addCleanup(shutil.rmtree, self.folder)
        write_people(self.path("people.csv"), range(N_ROWS))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def start(self, *arguments, **options):
        return subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, **options)

    def run_with(self, code, *arguments, stdin=""):
        """Runs the program, which must end with this exit code."""
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, text=True, input=stdin,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}{done.stderr}")
        return done

    def output(self, *arguments, stdin=""):
        """What the program prints; it must succeed and say nothing on standard error, but that fit
        keeps no texts."""
        done = self.run_with(0, *arguments, stdin=stdin)
        self.assertEqual(done.stderr.replace(TEXTS_NOTE, ""), "", arguments)
        return done.stdout

    def json(self, *arguments, code=0):
        return json.loads(self.run_with(code, *arguments, "--json").stdout)

    def refused(self, code, message, *arguments, stdin=""):
        """The program must end with this code, print nothing, and say `message` among others."""
        done = self.run_with(code, *arguments, stdin=stdin)
        self.assertEqual(done.stdout, "")
        self.assertIn(message, done.stderr)
        if "--json" in arguments:
            self.assertEqual(json.loads(done.stderr)["error"]["code"], code)
        else:
            self.assertTrue(done.stderr.startswith("efface: "), done.stderr)

    def fit(self, store="s.store", data="people.csv", *more):
        """A store with numbers as ids and texts as owners."""
        return self.output("fit", data, "--id", "id", "--owner", "user", "-k", "3",
                           "--seed", "11", "-o", store, *more)

    def canonical(self, store, name="state", *more):
        self.output("export", store, "--canonical", "-o", name, *more)
        return self.read(name)


def without_numbers(text):
    """Output with digests and times taken out, which is the same everywhere."""
    text = re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", text)
    return re.sub(r"\b\d+\.\d{3,6}\b", "TIME", text)
