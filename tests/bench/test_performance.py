#!/usr/bin/python3
"""The numbers of docs/performance.md: what efface-bench roofline prints, and the CSV files, tables
and figure that performance.py makes of made-up runs.

    test_performance.py BUILD_DIR
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT / "build"
sys.path.insert(0, str(ROOT / "bench"))

import performance  # noqa: E402
import performance_figure  # noqa: E402
import performance_profile  # noqa: E402
import performance_tables  # noqa: E402
from experiments import Failure  # noqa: E402

SIZE = performance.Size(2, 100, 100, 4, 3, 1, (1000, 10000), ((2000000, 8, 16),), None, ())
SETS = {"celltype": (12009, 10, 4), "gaussian": (100000, 25, 5)}


def roofline(*words):
    command = [str(BUILD / "efface-bench"), "roofline", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def fake_set(name):
    n, d, k = SETS[name]
    return SimpleNamespace(name=name, kind="real", x=Path("sets") / name / "x.npy",
                           y=Path("sets") / name / "y.npy", n=n, d=d, k=k, scale="minmax")


def fake_passes(run):
    """Half of the limit on the first shape, three quarters on all others."""
    yield {"what": "machine", "kernels": "ref", "compiler": "cc 1", "peak_gflops": 100.0,
           "read_gbs": 20.0, "triad_gbs": 25.0}
    shapes = {"shapes": [(1000, 8, 4), (1000, 8, 200)],
              "sweep": [(d, d, k) for d in (8, 32) for k in (4, 12)]}[run.set]
    for i, (n, d, k) in enumerate(shapes):
        part = 0.75 if i else 0.5
        flops = 2 * n * d * k
        yield {"what": "pass", "name": "" if i else "celltype", "n": n, "d": d, "k": k,
               "repeats": 3, "passes": 8, "bound": "compute", "seconds": flops / (part * 100e9),
               "gflops": part * 100, "gbs": part * 200 / k, "flops_per_byte": k / 2,
               "read_gbs": 90.0, "limit_seconds": flops / 100e9, "fraction": part,
               "fraction_main_memory": part, "rows_moved": 0.01, "rows_undecided": 0.0001}


def fake_requests(run):
    """A request takes 20 microseconds, a batch 50, retraining and a fit 10 milliseconds."""
    words = list(run.arguments)
    batch = "--batch" in words
    deletions = int(words[words.index("--deletions") + 1])
    n, d, k = SETS[run.set] if run.group != "growth" else (int(run.value), 16, 8)
    us = 50.0 if batch else 20.0
    n_requests = 1 if batch else deletions
    for seed in range(2):
        yield {"seed": seed, "n": n, "d": d, "k": k, "deletions": deletions,
               "requests": n_requests, "train_seconds": 0.01, "baseline_seconds": 0.01,
               "delete_seconds_total": 1e-6 * us * n_requests, "delete_us_mean": us,
               "delete_us_median": us, "delete_us_p99": us, "delete_us_max": us,
               "untouched": n_requests, "repairs": 0, "refits": 0, "rows_visited_mean": 3.0,
               "loss_ratio": 1.004 if run.method == "pyramid" else None,
               "state_bytes_per_row": 5.0, "request_us": [us] * n_requests,
               "request_actions": "u" * n_requests, "verified": True}


def fake_training(run):
    if run.group == "peers":
        for name, seconds in (("efface", 1e-3), ("sklearn lloyd", 9e-3), ("sklearn elkan", 8e-3),
                              ("faiss", 7e-3)):
            n, d, k = SETS[run.set]
            yield {"contestant": name, "n": n, "d": d, "k": k, "scale": "minmax", "blas": "x",
                   "seconds": seconds}
        return
    n, d, k = SETS.get(run.set) or tuple(map(int, run.set.split("x")))
    yield {"n": n, "d": d, "k": k, "digest": "d", "seconds": 1.0 if run.value == 1 else 0.625}


def fake_lines(run):
    if run.group == "roofline":
        return list(fake_passes(run))
    return list((fake_training if run.group in ("peers", "threads") else fake_requests)(run))


class Roofline(unittest.TestCase):
    def test_small_shape_gives_plausible_numbers(self):
        done = roofline("--shapes", "2000,8,4", "--quick", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        machine, measured = map(json.loads, done.stdout.splitlines())
        for field in ("peak_gflops", "read_gbs", "triad_gbs"):
            self.assertGreater(machine[field], 0.1, field)
        self.assertEqual([measured[f] for f in ("n", "d", "k")], [2000, 8, 4])
        for field in ("seconds", "gflops", "gbs", "read_gbs", "fraction", "fraction_main_memory"):
            self.assertGreater(measured[field], 0, field)
        self.assertLessEqual(measured["fraction"], 1.5)
        self.assertEqual(measured["flops_per_byte"], 2)
        self.assertAlmostEqual(measured["gflops"] * measured["seconds"], 2e-9 * 2000 * 8 * 4)
        self.assertLessEqual(measured["rows_moved"], 1)

    def test_table_has_a_line_for_each_shape(self):
        done = roofline("--shapes", "500,3,2;600,4,3", "--quick")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 8)

    def test_shapes_that_are_none_are_refused(self):
        for text in ("", "1,2", "1,2,3;", "0,2,3", "1,2,3 4", "x", ";".join(["9,1,2"] * 40)):
            self.assertEqual(roofline("--shapes", text, "--quick").returncode, 2, text)

    def test_a_fit_that_comes_to_rest_has_no_passes(self):
        done = roofline("--shapes", "100,2,1", "--quick")
        self.assertEqual(done.returncode, 1)
        self.assertIn("come to rest", done.stderr)


class Numbers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        chosen = [fake_set(name) for name in SETS]
        found = {run: fake_lines(run) for run in performance.all_runs(chosen, SIZE)}
        runner = SimpleNamespace(results=found, shown=lambda run: run.key)
        performance.save_all(performance.Found(runner), list(SETS), SIZE, cls.folder)
        cls.tables = dict(performance_tables.all_tables(cls.folder))

    def row(self, table, *begin):
        rows = [[cell.strip() for cell in line.strip("|").split("|")]
                for line in self.tables[table]]
        return next(row for row in rows if row[:len(begin)] == list(begin))

    def test_goals_are_judged(self):
        self.assertEqual(self.row("goals", "a pass at 60 % of the limit")[1:],
                         ["celltype: 50 %; 1,000 × 8, k 200: 75 %", "**missed**, 1 of 2 reached"])
        self.assertEqual(self.row("goals", "a fit 5 times faster than the faster peer")[2],
                         "reached")
        self.assertEqual(
            self.row("goals", "a fit 10 times faster than the faster peer (moonshot)")[1:],
            ["celltype: 7.00×; gaussian: 7.00×", "**missed**"])
        self.assertEqual(self.row("goals", "`lloyd`: at most 12 bytes a row and level")[1],
                         "celltype: 0.500; gaussian: 0.500")

    def test_speedups_and_batches(self):
        self.assertIn("500 (0)", self.row("forgetting, lloyd", "gaussian"))
        self.assertIn("1.0040 (0.0000)", self.row("forgetting, pyramid", "gaussian"))
        self.assertEqual(self.row("batches", "celltype", "pyramid")[3:],
                         ["50.0 µs", "2.00 ms", "2.5 %", "reached"])

    def test_threads_have_to_scale_where_there_is_work(self):
        self.assertEqual(self.row("one and two threads", "2,000,000 × 8, k 16")[4:7],
                         ["1.60", "1.7", "**missed**"])
        self.assertEqual(self.row("one and two threads", "gaussian")[4:7],
                         ["1.60", "not slower", "reached"])

    def test_time_is_told_by_what_requests_do(self):
        lines = [{"request_us": [1.0, 1.0, 6.0], "request_actions": "uur"},
                 {"request_us": [8.0], "request_actions": "r"}]
        told = dict(performance.by_action(lines))
        self.assertEqual([told["untouched_us"], told["repaired_us"], told["refitted_us"]],
                         [1.0, 7.0, None])
        self.assertEqual([told["untouched_part"], told["repaired_part"]], [2 / 16, 14 / 16])
        self.assertEqual(told["slowest_part"], 8 / 16)

    def test_functions_of_a_profile(self):
        report = "# Overhead  Symbol\n#\n    20.50%  [.] nearest\n    30.00%  [.] scores_of\n"
        self.assertEqual(performance_profile.functions(report),
                         [("scores_of", 0.3), ("nearest", 0.205)])
        rows = [{"what": "passes", "set": "10x2x3", "function": "nearest", "share": "0.205"},
                {"what": "passes", "set": "10x2x3", "function": "move_row", "share": "0.05"}]
        ((_, lines),) = performance_tables.profile_tables(rows)
        self.assertEqual(lines[2], "| passes | 10 × 2, k 3 | `nearest` 20 %, `move_row` 5 % |")

    def test_states_that_are_not_verified_are_refused(self):
        run = performance.run_of("forget", "celltype", "lloyd", ["--deletions", 3])
        lines = [dict(line, verified=False) for line in fake_requests(run)]
        found = performance.Found(SimpleNamespace(results={run: lines}, shown=str))
        with self.assertRaises(Failure):
            performance.requests(found, "forget", "celltype", "lloyd")

    def test_page_is_compared_with_the_files(self):
        page = self.folder / "page.md"
        text = "".join("\n".join(rows) + "\n\n" for rows in self.tables.values())
        page.write_text(text + "On gaussian it is 2.00 ms, with `3.14` in code.\n",
                        encoding="utf-8")
        performance_tables.check(page, self.folder)
        page.write_text(text + "It is 3.14 times faster.\n", encoding="utf-8")
        with self.assertRaisesRegex(Failure, "numbers that no table has: 3.14"):
            performance_tables.check(page, self.folder)
        page.write_text(text.replace("7.00×", "8.00×"), encoding="utf-8")
        with self.assertRaisesRegex(Failure, "has not the table.*goals"):
            performance_tables.check(page, self.folder)

    def test_figure_is_drawn(self):
        performance_figure.draw_roofline(self.folder)
        svg = (self.folder / "roofline.svg").read_text(encoding="utf-8")
        self.assertIn("celltype: 50 %", svg)
        self.assertIn("drawn from roofline.csv, sha256", svg)
        self.assertGreater((self.folder / "roofline.png").stat().st_size, 10000)


if __name__ == "__main__":
    unittest.main()
