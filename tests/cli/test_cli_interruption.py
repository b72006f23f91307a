#!/usr/bin/python3
"""Long work: what a terminal shows of it, and what is left when it is interrupted or killed.

usage: test_cli_interruption.py PROGRAM [TEST]
"""
import os
import pty
import random
import re
import signal
import subprocess
import time
import unittest

from cli_program import PROGRAM, ProgramTest

LINE = re.compile(rb"\r(\[[#.]{20}\] \d+ % )?fitting, \d:\d\d(, \d:\d\d left)?\x1b\[K")
ANY_LINE = re.compile(rb"\r(?:\[[#.]{20}\] (?P<part>\d+) % )?(?P<what>[^\r,]+), (?P<took>\d+:\d\d)"
                      rb"(?:, (?P<left>\d+:\d\d) left)?\x1b\[K")


class LongWork(ProgramTest):
    """A fit that takes much longer than a test waits; it ends because it is told to."""

    def setUp(self):
        super().setUp()
        draw = random.Random(5)
        self.write("many.csv", "x,y,z\n" + "".join(
            f"{draw.random():.6f},{draw.random():.6f},{draw.random():.6f}\n" for _ in range(40000)))
        self.before = set(os.listdir(self.folder))
        self.long_fit = ["fit", "many.csv", "-k", "10000", "--iters", "1000", "-o", "s.store"]

    def start_at_terminal(self, *arguments):
        """Runs the program with standard error on a terminal; also hands out the other end of it."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        process = subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, stderr=theirs,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        os.close(theirs)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, ours

    def read_all(self, terminal, seen=b""):
        while True:
            try:
                piece = os.read(terminal, 4096)
            except OSError:  # nobody has the other end any more
                return seen
            if not piece:
                return seen
            seen += piece

    def wait_for_progress(self, process, terminal):
        seen = b""
        while not LINE.search(seen):
            seen += os.read(terminal, 4096)
            self.assertIsNone(process.poll(), seen)
        return seen

    def retry(self):
        self.output("fit", "many.csv", "-k", "2", "--iters", "1", "-o", "s.store")
        self.assertEqual(set(os.listdir(self.folder)), self.before | {"s.store"})
        self.assertTrue(self.output("check", "s.store").startswith("no damage; "))

    def test_interrupted_fit(self):
        for number in signal.SIGINT, signal.SIGTERM:
            process, terminal = self.start_at_terminal(*self.long_fit)
            seen = self.wait_for_progress(process, terminal)
            process.send_signal(number)
            self.assertEqual(process.wait(), 130)
            seen = self.read_all(terminal, seen)
            # The line is gone before anything else is said.
            self.assertRegex(seen, rb"\r\x1b\[K[^\r]*efface:[^\r]* [^\r]+\r\n$")
            self.assertEqual(process.stdout.read(), b"")
            self.assertEqual(set(os.listdir(self.folder)), self.before)
        self.retry()

    def test_interrupted_model_of_a_store(self):
        self.output("fit", "many.csv", "-k", "2", "--iters", "1", "-o", "s.store")
        state = self.canonical("s.store")
        process, terminal = self.start_at_terminal("fit", "--model", "b", *self.long_fit[2:])
        self.wait_for_progress(process, terminal)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 130)
        self.assertEqual([m["name"] for m in self.json("info", "s.store")["models"]], ["default"])
        self.assertEqual(self.canonical("s.store"), state)

    def test_parts_of_a_fit(self):
        process, terminal = self.start_at_terminal(*self.long_fit)
        seen = self.wait_for_progress(process, terminal)
        while len(LINE.findall(seen)) < 4:
            seen += os.read(terminal, 4096)
        process.kill()
        parts = [int(part) for part in re.findall(rb"(\d+) % fitting", seen)]
        self.assertGreater(len(parts), 0, seen)
        self.assertEqual(parts, sorted(parts))

    def test_phases_of_a_forest(self):
        """Every phase is named and has a bar that does not go back, and the time left does not grow
        while nothing is heard of the work."""
        draw = random.Random(8)
        self.write("targets.csv", "x,y,z\n" + "".join(
            f"{draw.random():.6f},{draw.random():.6f},{draw.random():.6f}\n" for _ in range(60000)))
        shown = {}
        for command in (["fit", "targets.csv", "--family", "forest", "--target", "z", "--trees", "60",
                         "--seed", "5", "--threads", "1", "-o", "t.store"],
                        ["verify", "t.store"]):
            process, terminal = self.start_at_terminal(*command)
            seen = self.read_all(terminal)
            self.assertEqual(process.wait(), 0)
            before = {}
            for line in ANY_LINE.finditer(seen):
                what, part = line["what"].decode(), int(line["part"] or -1)
                shown.setdefault(what, []).append(part)
                self.assertGreaterEqual(part, before.get(what, -1), seen)
                before[what] = part
        self.assertTrue({"fitting", "verifying default: fitting"} <= set(shown), shown)
        for what in "fitting", "verifying default: fitting":
            self.assertGreater(len(set(shown[what])), 2, shown)

    def test_interrupted_reading(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        process, terminal = self.start_at_terminal("fit", "pipe", "-k", "2", "-o", "s.store")
        with open(pipe, "wb", buffering=0) as feed:
            feed.write(b"x,y\n" + b"1,2\n3,4\n" * 20000)
            seen = b""
            while not ANY_LINE.search(seen):
                seen += os.read(terminal, 4096)
            self.assertIn(b"reading, 0:0", seen)
            process.send_signal(signal.SIGINT)
            try:
                while process.poll() is None:
                    feed.write(b"5,6\n" * 20000)
            except BrokenPipeError:
                pass
        self.assertEqual(process.wait(), 130)
        self.assertFalse(os.path.exists(self.path("s.store")))

    def test_killed_fit(self):
        process, terminal = self.start_at_terminal(*self.long_fit)
        self.wait_for_progress(process, terminal)
        process.kill()
        process.wait()
        self.assertFalse(os.path.exists(self.path("s.store")))
        self.retry()

    def test_nothing_is_shown_elsewhere(self):
        process = self.start(*self.long_fit)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        time.sleep(1.5)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate()
        self.assertEqual((process.returncode, shown), (130, ""))
        self.assertRegex(said, r"^efface: [^\r\n]+\n$")

    def test_short_work_shows_nothing(self):
        process, terminal = self.start_at_terminal("fit", "people.csv", "--id", "id", "--label",
                                                   "user", "-k", "2", "-o", "n.store")
        self.assertEqual(process.wait(), 0)
        self.assertEqual(self.read_all(terminal), b"")


if __name__ == "__main__":
    assert PROGRAM, __doc__
    unittest.main()
