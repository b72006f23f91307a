#!/usr/bin/python3
"""The numbers of docs/measured/performance.md and docs/measured/tree.md: what efface-bench roofline prints, and the
CSV files, tables and figure that performance.py and tree_figures.py make of made-up runs.

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
sys.path[:0] = [str(ROOT / "bench" / room) for room in ("", "kmeans", "performance")]

import performance  # noqa: E402
import performance_figure  # noqa: E402
import performance_profile  # noqa: E402
import performance_tables  # noqa: E402
import tree_figures  # noqa: E402
from experiments import Failure, ratios, takes  # noqa: E402

SIZE = performance.Size(2, 100, 100, 4, 3, 1, (1000, 10000), ((2000000, 8, 16),),
                        ((4000, 40, 1000, 1, (2,)),), None, ())
SETS = {"celltype": (12009, 10, 4), "covtype": (15120, 52, 7), "gaussian": (100000, 25, 5)}


def bench(*words):
    command = [str(BUILD / "efface-bench"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def roofline(*words):
    return bench("roofline", *words)


def fake_set(name):
    n, d, k = SETS[name]
    return SimpleNamespace(name=name, kind="real", x=Path("sets") / name / "x.npy",
                           y=Path("sets") / name / "y.npy", n=n, d=d, k=k, scale="minmax")


def fake_passes(run):
    """Half of the limit on the first shape, three quarters on all others."""
    yield {"what": "machine", "kernels": "ref", "compiler": "cc 1", "peak_gflops": 100.0,
           "read_gbs": 20.0, "triad_gbs": 25.0}
    shapes = {"shapes": [(1000, 8, 4), (1000, 8, 200), (15120, 52, 7)],
              "sweep": [(d, d, k) for d in (8, 32) for k in (4, 12)]}[run.set]
    for i, (n, d, k) in enumerate(shapes):
        part = 0.75 if i else 0.5
        flops = 2 * n * d * k
        name = ("celltype", "", "covtype")[i] if run.set == "shapes" else ""
        yield {"what": "pass", "name": name, "n": n, "d": d, "k": k, "repeats": 3, "passes": 8,
               "bound": "compute", "seconds": flops / (part * 100e9), "gflops": part * 100,
               "gbs": part * 200 / k, "flops_per_byte": k / 2, "read_gbs": 90.0,
               "limit_seconds": flops / 100e9, "fraction": part, "fraction_main_memory": part,
               "rows_moved": 0.01, "rows_undecided": 0.0001}


def fake_requests(run):
    """A request takes 20 microseconds, a batch 50, a row at an edge 12 milliseconds, retraining
    and a fit 10 milliseconds. Losses are 3 and 5, those of k-means 2 and 6."""
    words = list(run.arguments)
    batch = "--batch" in words
    deletions = int(words[words.index("--deletions") + 1])
    n, d, k = SETS[run.set] if run.group != "growth" else (int(run.value), 16, 8)
    us = 50.0 if batch else 12000.0 if run.method.endswith("edges") else 20.0
    n_requests = 1 if batch else deletions
    for seed in range(2):
        loss = (2.0, 6.0)[seed] if run.group == "converged" else (3.0, 5.0)[seed]
        yield {"seed": seed, "loss": loss, "n": n, "d": d, "k": k, "deletions": deletions,
               "requests": n_requests, "train_seconds": 0.01, "baseline_seconds": 0.01,
               "delete_seconds_total": 1e-6 * us * n_requests, "delete_us_mean": us,
               "delete_us_median": us, "delete_us_p99": us, "delete_us_max": us,
               "adjusted": n_requests, "repairs": 0, "refits": 0, "rows_visited_mean": 3.0,
               "state_bytes_per_row": 5.0, "request_us": [us] * n_requests,
               "request_actions": "u" * n_requests, "verified": True}


def shape_of(run):
    return SETS.get(run.set) or tuple(map(int, run.set.split("x")))


def fake_contest(run):
    """Faiss is seven times slower than efface, and its loss twice as large."""
    n, d, k = shape_of(run)
    told = {"efface": (1e-3, 1.0), "efface, lloyd, avx512": (2e-3, 1.0),
            "efface, pyramid": (1e-3 / 2, 1.5), "sklearn lloyd": (9e-3, 1.0),
            "sklearn elkan": (8e-3, 1.0), "intelex, random seeds": (7.5e-3, 1.0),
            "faiss": (7e-3, 2.0)}
    few = "--iters" in run.arguments
    for name, (seconds, loss) in told.items():
        if k < 1000 and name in ("efface, lloyd, avx512", "efface, pyramid"):
            continue
        yield {"contestant": name, "n": n, "d": d, "k": k, "scale": "minmax", "blas": "x",
               "seconds": seconds / (2 if few else 1), "iters": 2 if few else 10, "loss": loss,
               "blas_kernels": ["SkylakeX"],
               **({"peers": {"faiss": "1.2.3"}} if name == "efface" else {})}


def fake_training(run):
    if run.group == "peers":
        yield from fake_contest(run)
        return
    n, d, k = shape_of(run)
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
        self.assertIn("before there is a pass to measure", done.stderr)


class Before(unittest.TestCase):
    def test_two_programs_take_turns(self):
        with tempfile.TemporaryDirectory() as folder:
            programs = []
            for name, seconds in (("then", 3), ("now", 2)):
                program, turns = Path(folder) / name, Path(folder) / "turns"
                program.write_text(f"""#!/bin/sh
                    echo {name} >> {turns}
                    echo '{{"what": "machine"}}'
                    echo '{{"what": "pass", "name": "x", "n": 9, "d": 2, "k": 3,' \\
                        '"seconds": {seconds}, "rows_undecided": 0.0{seconds}}}'
                    """, encoding="ascii")
                program.chmod(0o755)
                programs.append(str(program))
            lines = list(performance.before(programs[1], programs[0]))
            self.assertEqual(turns.read_text(encoding="ascii").split(),
                             2 * performance.BEFORE_ROUNDS * ["then", "now"])
        self.assertEqual(lines[0], {"name": "x", "n": 9, "d": 2, "k": 3, "before_seconds": 3,
                                    "seconds": 2, "ratio": 1.5, "before_rows_undecided": 0.03,
                                    "rows_undecided": 0.02})
        (name, rows), = performance_tables.before_tables(
            [{key: str(value) for key, value in lines[0].items()}])
        self.assertEqual(rows[2], "| x | 9 × 2, k 3 | 3.00 s | 2.00 s | 1.50 | 3.000 % | 2.000 % |")


class Orders(unittest.TestCase):
    def test_a_row_at_an_edge_moves_the_range(self):
        words = ["online", "--data", "gaussian:2,3,40", "-k", "2", "--order", "edges",
                 "--deletions", "9", "--replicates", "2", "--skip-metrics", "--json"]
        for method in performance.WORST_METHODS:
            done = bench(*words, "--method", method, "--scale", "minmax")
            self.assertEqual(done.returncode, 0, done.stderr)
            for line in map(json.loads, done.stdout.splitlines()):
                self.assertEqual(line["reasons"], {"the range of a column changed": 9}, method)

    def test_a_value_that_two_rows_have_is_no_edge(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.csv"
            # The first row alone has the least value, two rows have the greatest.
            path.write_text("a\n0\n1\n1\n2\n2\n", encoding="ascii")
            words = ["online", "--data", str(path), "-k", "1", "--order", "edges", "--baseline",
                     "0", "--replicates", "1", "--skip-metrics", "--method", "lloyd", "--json"]
            self.assertEqual(bench(*words, "--deletions", "1").returncode, 0)
            done = bench(*words, "--deletions", "2")
            self.assertEqual(done.returncode, 1)
            self.assertIn("no row is left", done.stderr)


class Families(unittest.TestCase):
    def test_forgetting_is_verified(self):
        words = ["--data", "gaussian:3,4,50", "--deletions", "20", "--replicates", "2"]
        for family in ("sums", "linear", "ridge", "bayes", "discriminant", "quadratic",
                       "components", "fourier", "segmented", "forest", "logistic", "svm"):
            done = bench("online", "--family", family, "--features", "8", *words, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual([line["verified"] for line in lines], [True, True], family)
            self.assertEqual(lines[0]["adjusted"] + lines[0]["repairs"] + lines[0]["refits"], 20)
            self.assertGreater(lines[0]["state_bytes"], 0)
        done = bench("online", "--family", "linear", *words)
        self.assertIn("verified: every last state", done.stdout)
        self.assertEqual(bench("online", "--family", "none", *words).returncode, 2)


class Ratios(unittest.TestCase):
    def test_of_means_not_a_mean_of_ratios(self):
        ratio, deviation = ratios.of_means([2.0, 6.0], [1.0, 1.0])
        self.assertEqual(ratio, 4.0)
        self.assertAlmostEqual(deviation, 8 ** 0.5)
        ratio, deviation = ratios.of_means([6.0, 6.0], [1.0, 3.0])
        self.assertEqual(ratio, 3.0)  # the mean of the ratios is 4
        self.assertAlmostEqual(deviation, 3 * 2 ** 0.5 / 2)

    def test_a_line_of_trees(self):
        def line(seed, loss, spent):
            return {"seed": seed, "n": 9, "d": 2, "k": 2, "scale": "minmax", "height": 1,
                    "width": 4, "requests": 10, "stopped_at_leaf": 0, "adjusted": 0, "repairs": 10,
                    "refits": 0, "loss": loss, "delete_us_mean": 1e5 * spent,
                    "delete_us_median": 1.0, "delete_us_p99": 1.0, "delete_us_max": 1.0,
                    "train_seconds": 1.0,
                    "delete_seconds_total": spent, "baseline_seconds": 2.0 + seed,
                    "rows_visited_mean": 1.0, "state_bytes_per_row": 1.0, "verified": True}

        def run(group, kind):
            return performance.plan.Run(group, "celltype", kind, "bench", ())

        found = {run("converged", "kmeans"): [line(0, 2.0, 0.0), line(1, 6.0, 0.0)],
                 run("sets", "lloyd"): [line(0, 3.0, 1.0), line(1, 5.0, 3.0)]}
        (told,) = tree_figures.lines_of(found)
        self.assertEqual(told["loss_ratio"], "1")  # (3 + 5) / 2 over (2 + 6) / 2
        self.assertEqual(told["speedup"], "8.33333")  # 2.5 s over (0.2 s + 0.4 s) / 2
        found[run("sets", "lloyd")][0]["verified"] = False
        with self.assertRaises(Failure):
            list(tree_figures.lines_of(found))


class Takes(unittest.TestCase):
    def take(self, request_us, **other):
        line = {"seed": 1, "requests": 3, "adjusted": 3, "repairs": 0, "refits": 0, "loss": 2.0,
                "rows_visited_mean": 0.0, "baseline_seconds": None, "train_seconds": request_us[0],
                "delete_seconds_total": 0.0, "delete_us_mean": 0.0, "delete_us_median": 0.0,
                "delete_us_p99": 0.0, "delete_us_max": 0.0, "request_us": request_us,
                "verified": True}
        return [{**line, **other}]

    def test_a_request_counts_with_its_median(self):
        (line,) = takes.merge([self.take([1.0, 90.0, 5.0]), self.take([2.0, 4.0, 5.0]),
                               self.take([80.0, 3.0, 6.0])], "x")
        self.assertEqual(line["request_us"], [2.0, 4.0, 5.0])
        self.assertEqual([line["delete_us_median"], line["delete_us_p99"], line["delete_us_max"]],
                         [4.0, 5.0, 5.0])
        self.assertAlmostEqual(line["delete_us_mean"], 11 / 3)
        self.assertAlmostEqual(line["delete_seconds_total"], 11e-6)
        self.assertEqual(line["train_seconds"], 2.0)
        self.assertIsNone(line["baseline_seconds"])

    def test_takes_of_other_work_are_refused(self):
        with self.assertRaisesRegex(Failure, "not the same"):
            takes.merge([self.take([1.0] * 3), self.take([1.0] * 3, loss=3.0)], "x")
        (line,) = takes.merge([self.take([1.0] * 3), self.take([1.0] * 3, verified=False)], "x")
        self.assertFalse(line["verified"])


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

    def test_passes_and_fits(self):
        self.assertEqual(self.row("one pass against the limits", "celltype")[7], "50 %")
        self.assertEqual(self.row("a fit against the peers", "gaussian"),
                         ["gaussian", "100,000 × 25, k 5", "1", "1.00 ms", "8.00 ms", "7.50 ms",
                          "7.00 ms", "7.00×", "0.5000"])
        self.assertEqual(self.row("a fit against faiss with our seeding", "gaussian")[2], "1")
        self.assertEqual(self.row("the peers", "faiss"), ["faiss", "1.2.3"])
        # A fit of two iterations takes half of one of ten: an iteration takes a sixteenth.
        self.assertEqual(self.row("fits taken apart", "covtype", "faiss")[2:],
                         ["7.00 ms", "438 µs", "25.2", "110 µs", "2.62 ms"])
        self.assertEqual(self.row("other kernels, another method", "4,000 × 40, k 1,000"),
                         ["4,000 × 40, k 1,000", "2", "1.00 ms", "2.00 ms", "3.50×", "500 µs",
                          "14.0×", "0.7500"])
        self.assertEqual(self.row("bytes a row", "celltype"), ["celltype", "40", "5.00", "5.00", "0.500"])

    def test_speedups_and_batches(self):
        # 10 ms of retraining over (10 ms of training + 100 requests of 20 us) / 100.
        self.assertIn("83.3 (0)", self.row("forgetting, lloyd", "gaussian"))
        # The mean of 3 / 4 and 5 / 4, not of 3 / 2 and 5 / 6.
        self.assertIn("1.0000 (0.3536)", self.row("forgetting, pyramid", "gaussian"))
        self.assertEqual(self.row("batches", "celltype", "pyramid")[3:],
                         ["50.0 µs", "2.00 ms", "2.5 %"])

    def test_the_worst_order_counts(self):
        self.assertEqual(self.row("the worst requests", "gaussian", "tree")[2:],
                         ["10.0 ms", "20.0 µs", "", "20.0 µs", "12.0 ms", "12.0 ms", "1.20",
                          "1.20"])
        self.assertEqual(self.row("the worst requests", "gaussian", "pyramid")[4], "20.0 µs")

    def test_threads(self):
        self.assertEqual(self.row("one and two threads", "2,000,000 × 8, k 16")[4], "1.60")

    def test_time_is_told_by_what_requests_do(self):
        lines = [{"request_us": [1.0, 1.0, 6.0], "request_actions": "uur"},
                 {"request_us": [8.0], "request_actions": "r"}]
        told = dict(performance.by_action(lines))
        self.assertEqual([told["adjusted_us"], told["repaired_us"], told["refitted_us"]],
                         [1.0, 7.0, None])
        self.assertEqual([told["adjusted_part"], told["repaired_part"]], [2 / 16, 14 / 16])
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
        own, of_requests = ("".join("\n".join(rows) + "\n\n" for name, rows in self.tables.items()
                                    if name.startswith(performance_tables.OF_REQUESTS) == requests)
                            for requests in (False, True))
        text = own
        (self.folder / "requests.md").write_text(of_requests, encoding="utf-8")
        performance_tables.check(self.folder / "requests.md", self.folder)
        with self.assertRaisesRegex(Failure, "lacks a table.*growth"):
            (self.folder / "requests.md").write_text(own, encoding="utf-8")
            performance_tables.check(self.folder / "requests.md", self.folder)
        page.write_text(text + "On gaussian it is 2.00 ms, with `3.14` in code.\n",
                        encoding="utf-8")
        performance_tables.check(page, self.folder)
        page.write_text(text + "It is 3.14 times faster.\n", encoding="utf-8")
        with self.assertRaisesRegex(Failure, "numbers that no table has: 3.14"):
            performance_tables.check(page, self.folder)
        page.write_text(text.replace("7.00×", "8.00×"), encoding="utf-8")
        with self.assertRaisesRegex(Failure, "lacks a table.*against the peers"):
            performance_tables.check(page, self.folder)

    def test_figure_is_drawn(self):
        performance_figure.draw_roofline(self.folder)
        svg = (self.folder / "roofline.svg").read_text(encoding="utf-8")
        self.assertIn("celltype: 50 %", svg)
        self.assertIn("drawn from roofline.csv, sha256", svg)


if __name__ == "__main__":
    unittest.main()
