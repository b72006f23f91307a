#!/usr/bin/python3
"""The promise: a store that forgot rows has the bytes of one that never had them; and what several
processes, a terminal and a full disk do to it.

usage: test_cli_forgetting.py PROGRAM [TEST]
"""
import os
import pty
import resource
import signal
import sqlite3
import subprocess
import unittest

from cli_program import N_ROWS, PROGRAM, ProgramTest, write_people

GONE = [0, 4, 5, 17, 31, 32, 33, 59]
METHODS = {
    "lloyd": ["--iters", "4"],
    "quantized": ["--epsilon", "0.05", "--gamma", "0.1"],
    "pyramid": ["--rate", "0.5"],
    "tree": ["--width", "2", "--height", "2"],
}


class NeverThere(ProgramTest):
    def fit_both(self, method, options):
        """One store with all rows, one without those that will have been forgotten."""
        write_people(self.path("rest.csv"), (i for i in range(N_ROWS) if i not in GONE))
        for store, data in ("all.store", "people.csv"), ("rest.store", "rest.csv"):
            self.fit(store, data, "--method", method, *options)

    def test_forgotten_is_never_there(self):
        for method, options in METHODS.items():
            with self.subTest(method):
                self.fit_both(method, options)
                self.assertNotEqual(self.canonical("all.store", "a"),
                                    self.canonical("rest.store", "b"))
                self.output("forget", "all.store", "--id", "31,0", "--yes")
                rest = "\n".join(str(i) for i in GONE if i not in (31, 0))
                self.output("forget", "all.store", "--from", "-", "--yes", stdin=rest)
                self.output("export", "all.store", "--canonical", "-o", "a")
                self.output("export", "rest.store", "--canonical", "-o", "b")
                subprocess.run(["cmp", "a", "b"], cwd=self.folder, check=True)
                self.output("verify", "all.store")
                for store in "all.store", "rest.store":
                    os.remove(self.path(store))

    def test_learned_was_always_there(self):
        write_people(self.path("gone.csv"), GONE)
        columns = ["--id", "id", "--owner", "user"]
        for method, options in METHODS.items():
            with self.subTest(method):
                self.fit_both(method, options)
                self.output("learn", "rest.store", "gone.csv", *columns)
                self.assertEqual(self.canonical("all.store", "a"),
                                 self.canonical("rest.store", "b"))
                for store in "all.store", "rest.store":
                    os.remove(self.path(store))


class Processes(ProgramTest):
    def test_two_at_once(self):
        self.fit()
        running = [self.start("forget", "s.store", "--id", str(i), "--yes") for i in range(8)]
        for process in running:
            _, said = process.communicate()
            self.assertEqual(process.returncode, 0, said)
        info = self.json("info", "s.store")
        self.assertEqual((info["rows"], info["receipts"]), (N_ROWS - 8, 8))
        self.output("verify", "s.store")

    def test_busy(self):
        self.fit()
        before = self.read("s.store")
        other = sqlite3.connect(self.path("s.store"), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        self.refused(5, "", "forget", "s.store", "--id", "1", "--yes", "--wait", "0")
        self.output("info", "s.store")  # reading goes on
        other.execute("ROLLBACK")
        other.close()
        self.assertEqual(before, self.read("s.store"))


class Terminal(ProgramTest):
    def at_terminal(self, typed, *arguments, **environment):
        """The exit code, what was printed, and what the terminal showed."""
        master, slave = pty.openpty()
        process = subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, stdin=slave,
                                   stdout=subprocess.PIPE, stderr=slave,
                                   env={"TERM": "xterm", **environment})
        os.close(slave)
        os.write(master, typed.encode())
        printed = process.communicate(timeout=60)[0].decode()
        shown = b""
        try:
            while part := os.read(master, 4096):
                shown += part
        except OSError:  # the other end is closed
            pass
        os.close(master)
        return process.returncode, printed, shown.decode()

    def test_asks(self):
        self.fit()
        before = self.read("s.store")
        for arguments, question in [
                (["forget", "s.store", "--owner", "u3"], "Forget 4 rows of s.store"),
                (["update", "s.store", "people.csv", "--id", "id", "--owner", "user"],
                 "Replace 60 rows of s.store, in every model?"),
                (["drop", "s.store", "--model", "default"], "Drop the model default of s.store?"),
                (["rekey", "s.store"], "Fit all models of s.store again")]:
            for answer in "n\n", "\n", "yep\n":
                code, printed, shown = self.at_terminal(answer, *arguments)
                self.assertEqual((code, printed), (1, ""), shown)
                self.assertIn(question, shown)
                self.assertIn("nothing was changed", shown)
        self.assertEqual(before, self.read("s.store"))
        code, printed, shown = self.at_terminal("y\n", "forget", "s.store", "--owner", "u3")
        self.assertEqual(code, 0, shown)
        self.assertTrue(printed.startswith("4 rows forgotten"))
        code, printed, shown = self.at_terminal("yes\n", "drop", "s.store", "--model", "default")
        self.assertEqual((code, printed), (0, "model default dropped\n"), shown)

    def test_colour(self):
        _, _, shown = self.at_terminal("", "info", "nothing")
        self.assertIn("\033[31m", shown)
        for quiet in {"NO_COLOR": "1"}, {"TERM": "dumb"}:
            _, _, shown = self.at_terminal("", "info", "nothing", **quiet)
            self.assertNotIn("\033", shown)
        self.assertNotIn("\033", self.run_with(4, "info", "nothing").stderr)

    def test_ids_and_answer_cannot_share_standard_input(self):
        self.fit()
        code, _, shown = self.at_terminal("1\n\x04", "forget", "s.store", "--from", "-")
        self.assertEqual(code, 2)
        self.assertIn("--yes", shown)


class FullDisk(ProgramTest):
    def limited(self, n_bytes, *arguments):
        """Runs the program where no file can grow beyond a size."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
        process = self.start(*arguments, preexec_fn=limit)
        printed, said = process.communicate()
        return process.returncode, printed, said

    def test_old_file_stays(self):
        self.fit()
        self.write("labels.csv", "old\n")
        before = set(os.listdir(self.folder))
        code, printed, said = self.limited(64, "export", "s.store", "--labels", "-o", "labels.csv")
        self.assertEqual((code, printed), (1, ""), said)
        self.assertIn("cannot write", said)
        self.assertEqual(self.read("labels.csv"), b"old\n")
        self.assertEqual(set(os.listdir(self.folder)), before)

    def test_no_half_store(self):
        code, _, _ = self.limited(8192, "fit", "people.csv", "--id", "id", "--owner", "user",
                                  "-k", "3", "-o", "s.store")
        self.assertEqual(code, 1)
        self.assertEqual(os.listdir(self.folder), ["people.csv"])

    def test_standard_output(self):
        self.fit()
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, "info", "s.store"], cwd=self.folder, stdout=full,
                                  stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr)
        self.refused(1, "cannot write", "export", "s.store", "--canonical", "-o", "/dev/full")


if __name__ == "__main__":
    assert PROGRAM, __doc__
    unittest.main()
