#!/usr/bin/python3
"""A new user runs the paper's experiments, small ones, without data, and stops in between.

    test_paper.py BUILD_DIR
"""

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT / "build"
SMALL = ["--sets", "celltype,covtype", "--most-rows", "300", "--deletions", "5",
         "--replicates", "2", "--skip-peers"]


def start(folder, *words):
    command = [sys.executable, str(ROOT / "bench/paper.py"), "--out", str(folder / "out"),
               "--work", str(folder / "work"), "--bench", str(BUILD / "efface-bench"), *words]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(folder, *words):
    process = start(folder, *words)
    out, error = process.communicate()
    return process.returncode, out, error


class Paper(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = Path(cls.temporary.name)
        # Stopped once it has some runs, and then once more to the end.
        process = start(cls.folder, *SMALL)
        runs = cls.folder / "work/runs-300"
        while process.poll() is None and len(list(runs.glob("*.jsonl"))) < 3:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        cls.stopped = (*process.communicate(), process.returncode)
        cls.n_kept = len(list(runs.glob("*.jsonl")))
        cls.code, cls.out, cls.error = run(cls.folder, *SMALL)

    def test_stopping_says_how_to_go_on(self):
        self.assertEqual(self.stopped[2], 130)
        self.assertIn("the same command goes on from here", self.stopped[1])

    def test_it_goes_on_where_it_was(self):
        self.assertEqual(self.code, 0, self.error)
        self.assertRegex(self.error, rf"\n{self.n_kept} of \d+ runs were there already")

    def test_tables_figures_and_report_are_there(self):
        names = {path.name for path in (self.folder / "out").iterdir()}
        for number in range(1, 11):
            for ending in ("svg", "csv"):
                self.assertTrue([name for name in names if name.startswith(f"figure{number}_")
                                 and name.endswith(ending)], (number, ending))
        self.assertLessEqual({"report.md", "meta.json", "theory.csv", "corollaries.csv",
                              "loss_bound.csv"}, names)

    def test_stand_ins_are_marked(self):
        text = (self.folder / "out/report.md").read_text(encoding="utf-8")
        for line in text.splitlines():
            if re.match(r"\| (celltype|covtype)\b", line):
                self.assertRegex(line, r"^\| (celltype|covtype)†")

    def test_no_place_of_this_machine_is_told(self):
        for path in (self.folder / "out").iterdir():
            self.assertNotIn(str(self.folder), path.read_text(encoding="utf-8"), path.name)

    def test_the_check_finds_a_changed_number(self):
        with tempfile.TemporaryDirectory() as other:
            shutil.copytree(self.folder / "out", Path(other) / "out")
            self.assertEqual(run(Path(other), "--check")[0], 0)
            report = Path(other) / "out/report.md"
            text = report.read_text(encoding="utf-8")
            report.write_text(re.sub(r"loss 1\.000", "loss 0.999", text, count=1),
                              encoding="utf-8")
            code, _, error = run(Path(other), "--check")
            self.assertEqual(code, 1)
            self.assertIn("report.md", error)

    def test_mistakes_are_answered(self):
        code, _, error = run(self.folder, "--data", "no-such-folder")
        self.assertEqual((code, "is no folder" in error), (1, True))
        code, _, error = run(self.folder, "--sets", "iris")
        self.assertEqual((code, "there is no set iris" in error), (1, True))


if __name__ == "__main__":
    unittest.main()
