#!/usr/bin/python3
"""bench/kmeans/peers.py: what it prints for the peers that are installed, and which comparisons it
refuses.

    test_peers.py BUILD_DIR
"""

import json
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT / "build"
sys.path[:0] = [str(ROOT / "bench")]

import contest  # noqa: E402
from experiments import Failure  # noqa: E402

PEERS = ROOT / "bench/kmeans/peers.py"


def peers(*words):
    command = [sys.executable, "-B", PEERS, "--bench", BUILD / "efface-bench", "--any-blas",
               "--repeats", "1", "-k", "3", *words]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False)


class Contest(unittest.TestCase):
    def test_all_contestants_get_the_same_rows(self):
        done = peers("--data", "gaussian:3,2,50", "--scale", "minmax", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        first, *others = map(json.loads, done.stdout.splitlines())
        self.assertEqual(first["contestant"], "efface")
        self.assertIn("sklearn lloyd", {line["contestant"] for line in others})
        for line in others:
            self.assertEqual([line[field] for field in ("n", "d", "k")], [150, 2, 3])
            self.assertAlmostEqual(line["ratio"], line["seconds"] / first["seconds"])
            # Blobs that lie apart: all find nearly the same clusters, if they see the same rows.
            self.assertLess(abs(line["loss"] / first["loss"] - 1), 0.5, line["contestant"])

    def test_peers_that_are_not_there_cannot_be_left_out(self):
        done = peers("--data", "gaussian:3,2,50", "--skip", "sklearn elkan,nobody")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("there is no nobody", done.stderr)
        done = peers("--data", "gaussian:3,2,50", "--skip", "sklearn elkan")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("elkan", done.stdout)

    def test_more_contestants_of_efface(self):
        done = peers("--data", "gaussian:3,2,50", "--skip", "sklearn lloyd,sklearn elkan", "--ours",
                     "lloyd:ref,quantized", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {line["contestant"]: line for line in map(json.loads, done.stdout.splitlines())}
        first, forced = found["efface"], found["efface, lloyd, ref"]
        self.assertEqual(forced["kernels"], "ref")
        self.assertEqual(forced["digest"], first["digest"])
        self.assertNotEqual(found["efface, quantized"]["digest"], first["digest"])
        done = peers("--data", "gaussian:3,2,50", "--ours", "lloyd:none")
        self.assertNotEqual(done.returncode, 0)

    def test_a_set_that_nobody_knows_is_refused(self):
        self.assertNotEqual(peers("--data", "nothing:3,2,50").returncode, 0)


class Kernels(unittest.TestCase):
    def check(self, chosen, flags):
        with mock.patch.object(contest, "blas_kernels", lambda: chosen), \
                mock.patch.object(contest, "first_match", lambda *_: flags):
            contest.check_kernels()

    def test_old_kernels_on_a_new_processor_are_refused(self):
        with self.assertRaisesRegex(Failure, "Prescott.*OPENBLAS_CORETYPE=SkylakeX"):
            self.check(["Prescott", "SkylakeX"], "sse3 avx2 avx512f")
        with self.assertRaisesRegex(Failure, "OPENBLAS_CORETYPE=Haswell"):
            self.check(["Nehalem"], "sse3 avx2")

    def test_kernels_that_fit_the_processor_are_not(self):
        self.check(["SkylakeX"], "sse3 avx2 avx512f")
        self.check(["Prescott"], "sse3")
        self.check([], "avx2")


if __name__ == "__main__":
    unittest.main()
