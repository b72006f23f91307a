#!/usr/bin/python3
"""The figures and the report of the paper's experiments, from a made-up run (sample_run.py).

usage: test_report.py [TEST]
"""
import csv
import json
import re
import shutil
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

from sample_run import SampleRun

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from experiments import figures, report, results  # noqa: E402 (the path comes first)

STAND_INS = ("postures", "botnet")
PARTS = ("botnet_sample",)
UNMARKED = {"figure5_epsilon_time", "figure6_width_time", "figure7_growth", "figure10_efficiency"}


def rows_of(folder, name):
    with open(folder / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def change(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path.name} has no {old}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def texts_of(path):
    """All text of a drawing, as it is read."""
    root = xml.etree.ElementTree.parse(path).getroot()
    return ["".join(e.itertext()).strip() for e in root.iter() if e.tag.endswith("}text")]


MADE = tempfile.TemporaryDirectory()


def setUpModule():
    """Draws and reports a run once; each test gets a copy of the folder."""
    folder = Path(MADE.name)
    SampleRun(folder).write()
    figures.draw_all(folder)
    report.write_report(folder)


def tearDownModule():
    MADE.cleanup()


class RunTest(unittest.TestCase):
    """A test with a folder of its own, in which the run is drawn and reported."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name) / "run"
        shutil.copytree(MADE.name, self.folder)

    def redraw(self, *names):
        """Draws these figures again, and no other."""
        for name in results.FIGURES:
            if name not in names:
                (self.folder / f"{name}.csv").unlink()
        self.assertEqual(figures.draw_all(self.folder), list(names))

    def has(self, part, text):
        """Like assertIn, without the whole text in the message."""
        self.assertTrue(part in text, f"{part!r} is not there")

    def markdown(self):
        return (self.folder / "report.md").read_text(encoding="utf-8")


class Figures(RunTest):
    def test_all_are_drawn(self):
        for name in results.FIGURES:
            root = xml.etree.ElementTree.parse(self.folder / f"{name}.svg").getroot()
            width, height = map(float, root.get("viewBox").split()[2:])
            self.assertEqual(width, 860, name)
            self.assertTrue(300 < height < 1100, name)
            texts = texts_of(self.folder / f"{name}.svg")
            self.assertGreater(len(texts), 15, name)
            self.assertTrue(any("bench/paper.py --data DATA" in t for t in texts), name)
            self.assertTrue(any("Sample Processor <1> & co" in t for t in texts), name)

    def test_stand_ins_and_parts_are_marked(self):
        for name in results.FIGURES:
            texts = texts_of(self.folder / f"{name}.svg")
            self.assertEqual(results.STAND_IN in texts, name not in UNMARKED, name)
            self.assertEqual(results.PART in texts, name not in UNMARKED, name)
            for marked, mark in [(n, "†") for n in STAND_INS] + [(n, "‡") for n in PARTS]:
                self.assertEqual(marked + mark in texts, name not in UNMARKED, name)
                self.assertNotIn(marked, texts, name)

    def test_come_out_the_same_each_time(self):
        path = self.folder / "figure7_growth.svg"
        before = path.read_bytes()
        self.redraw("figure7_growth")
        self.assertEqual(path.read_bytes(), before)

    def test_methods_have_their_names(self):
        texts = texts_of(self.folder / "figure9_tradeoff.svg")
        for method in results.METHODS:
            if method not in ("kmeans", "quantized_fixed"):  # the latter is in figure 7 alone
                self.assertIn(results.METHODS[method].title, texts)
        self.assertIn("k-means, retrained", texts_of(self.folder / "figure1_runtime.svg"))

    def test_looks_differ(self):
        for known in (results.METHODS, results.SETS):
            for part in ("colour", "point"):
                self.assertEqual(len({getattr(s, part) for s in known.values()}), len(known), part)
        strangers = [results.look(name, results.METHODS, ["a", "b"]) for name in ("a", "b")]
        self.assertNotEqual(strangers[0][1:], strangers[1][1:])

    def test_counts_along_the_stream(self):
        rows = rows_of(self.folder, "figure2_stream")
        texts = texts_of(self.folder / "figure2_stream.svg")
        for name in ("covtype", "mnist"):
            count = sum(r["set"] == name and r["method"] == "quantized printed"
                        and r["action"] == "refitted" for r in rows)
            self.assertIn(f"{count / 5:,.1f}", texts)

    def test_steps_of_a_sweep_are_fractions(self):
        change(self.folder / "figure3_epsilon_loss.csv", "0.00390625,", "0.000976562,")
        self.redraw("figure3_epsilon_loss")
        texts = texts_of(self.folder / "figure3_epsilon_loss.svg")
        self.assertEqual([t for t in texts if t.startswith("1/")],
                         [f"1/{2**i}" for i in (10, 8, 7, 6, 5, 4, 3, 2, 1)])

    def test_strangers_come_out(self):
        with open(self.folder / "figure9_tradeoff.csv", "a", encoding="utf-8") as file:
            file.write("ca'ts & <dogs>,real,brand_new,77,1,1.05,0.01\n")
        with open(self.folder / "figure1_runtime.csv", "a", encoding="utf-8") as file:
            file.writelines(f"ca'ts & <dogs>,real,brand_new,{m},{0.1 / m}\n" for m in (1, 10, 100))
        self.redraw("figure1_runtime", "figure9_tradeoff")
        for name in ("figure1_runtime", "figure9_tradeoff"):
            texts = texts_of(self.folder / f"{name}.svg")
            self.assertIn("ca'ts & <dogs>", texts)
            self.assertIn("brand new", texts)

    def test_a_stream_in_which_nothing_happens(self):
        path = self.folder / "figure2_stream.csv"
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        header = next(i for i, line in enumerate(lines) if line.startswith("set,"))
        path.write_text("".join(lines[: header + 1]), encoding="utf-8")
        self.redraw("figure2_stream")
        texts = texts_of(self.folder / "figure2_stream.svg")
        self.assertEqual(texts.count("0.0"), 28)
        self.assertIn("botnet†", texts)


class FewSets(unittest.TestCase):
    def test_of_a_short_run(self):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            SampleRun(folder, sets=("covtype", "gaussian")).write()
            meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
            (folder / "meta.json").write_text(json.dumps(meta | {"quick": True}), encoding="utf-8")
            self.assertEqual(figures.draw_all(folder), results.FIGURES)
            report.write_report(folder)
            text = (folder / "report.md").read_text(encoding="utf-8")
            self.assertIn("This is a short run", text)
            self.assertNotIn("stand-in:", text)
            self.assertNotIn("†", "".join(report.headline(folder)))


class Report(RunTest):
    def test_has_every_value(self):
        markdown = self.markdown()
        for name in results.TABLES[:3]:
            for row in rows_of(self.folder, name):
                ours = f"{float(row['mean']):.3f} ±{float(row['sd']):.3f}"
                paper = (f"paper {float(row['paper']):.3f} ±{float(row['paper_sd']):.3f}"
                         if row["paper"] else "")
                self.has(f"{ours}<br>{paper}" if paper else ours, markdown)
        for row in rows_of(self.folder, "table4_runtime"):
            if row["paper_speedup"] and row["method"] != "kmeans":
                paper = f"paper {row['paper_speedup']}×,<br>{float(row['paper_seconds']):.3f} ±"
                self.has(paper, markdown)
        for name, field in (("theory", "exponent"), ("sanity", "expected")):
            for row in rows_of(self.folder, name):
                self.has(row[field], markdown)
        for row in rows_of(self.folder, "table1_loss"):
            milestones = (row[f"after_{after}"] for after in (0, 1, 10, 100, 1000))
            self.has(" | ".join(f"{float(value):.4f}" for value in milestones), markdown)
        self.has("| 3/8 | 0.625 | 0.613 ±0.021 | -0.012 ±0.020 | yes | yes |", markdown)
        self.has("| 1/16 | 188.1 | 200.1 (1.064) | 6,123 (32.6) | 30.6 |", markdown)

    def test_times_keep_three_digits(self):
        for value, text in ((0.0118249, "0.0118"), (9.96, "9.96"), (9.996, "10.0"), (99.96, "100"),
                            (1234.5, "1,234"), (0, "0"), (0.99951, "1.00")):
            self.assertEqual(results.digits(value), text)
        for seconds, text in ((2.5e-6, "2.50 µs"), (9.999e-4, "1.00 ms"), (0.0999, "99.9 ms"),
                              (75.04, "75.0 s"), (3e-9, "3.00 ns")):
            self.assertEqual(results.duration(seconds), text)
        self.assertEqual(results.duration(1.234e-3, 5.67e-5), "1.23 ±0.06 ms")
        row = {"speedup": "16.912", "speedup_sd": "1.127"}
        self.assertEqual(results.measured(row, "speedup", "×"), "16.9× ±1.1")

    def test_marks_stand_ins_everywhere(self):
        markdown = self.markdown()
        text = markdown.replace("\\", "")
        for name in STAND_INS:
            self.assertIsNone(re.search(rf"{name}(?!†|_sample)", text), name)
        self.assertIsNone(re.search("botnet_sample(?!‡)", text))
        tables = re.findall(r"(?:^\|.*\n)+\n(.*\n\n)?(.*)", markdown, flags=re.M)
        marked = [t for t in re.split(r"\n\n(?=\|)", markdown)[1:] if "†" in t.split("\n\n")[0]]
        self.assertEqual(len(tables) - len(marked), 4)  # theory (2), sanity, how to repeat
        for table in marked:
            below = "\n".join(table.split("\n\n")[1:4])
            self.assertIn(results.STAND_IN, below)
            self.assertEqual(results.PART in below, "‡" in table.split("\n\n")[0])
        for name in results.FIGURES:
            caption = re.search(rf"\({name}\.svg\)\n\n(.*)", markdown).group(1)
            self.assertEqual(results.STAND_IN in caption, name not in UNMARKED)
            self.assertEqual(results.PART in caption, name not in UNMARKED)

    def test_the_best_exact_method_is_bold(self):
        path = self.folder / "table4_runtime.csv"
        fastest = next(r for r in rows_of(self.folder, "table4_runtime")
                       if r["set"] == "celltype" and r["method"] == "quantized_printed")
        change(path, f"{fastest['seconds_sd']},{fastest['speedup']},",
               f"{fastest['seconds_sd']},99999,")
        report.write_report(self.folder)
        line = next(x for x in self.markdown().split("### Table 4")[1].splitlines()
                    if x.startswith("| celltype"))
        self.assertIn("99,999×", line)
        self.assertNotIn("**99,999", line)
        self.assertEqual(line.count("**"), 2)
        self.assertTrue(line.split("|")[-2].strip().startswith("**"))  # pyramid is the last

    def test_links_of_markdown_are_there(self):
        for target in re.findall(r"\]\(([^)#]+)\)", self.markdown()):
            self.assertTrue((self.folder / target).exists(), target)

    def test_signs_mean_themselves(self):
        self.has(r"10 iterations \& \<few\> seeds \| not converged", self.markdown())
        self.has("-k 7 # <&>", self.markdown().split("```text")[1])

    def test_says_what_is_missing(self):
        for name in ("peers", "theory", "sanity", "table3_nmi", "figure7_growth"):
            (self.folder / f"{name}.csv").unlink()
        report.write_report(self.folder)
        markdown = self.markdown()
        for name in ("peers", "theory", "sanity", "table3_nmi"):
            self.assertRegex(markdown, rf"This run has no [\w ]+: there is no `{name}\.csv`")
        self.has("This run has no `figure7_growth.csv`", markdown)
        self.assertNotIn("figure7_growth.svg", markdown)

    def test_a_note_on_the_machine(self):
        meta = json.loads((self.folder / "meta.json").read_text(encoding="utf-8"))
        meta["note"] = "The machine was <busy>."
        (self.folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
        report.write_report(self.folder)
        self.has(r"The machine was \<busy\>.", self.markdown())

    def test_says_what_the_paper_mixed_up(self):
        self.has("Table 2 lists Gaussian twice and MNIST not at all", self.markdown())

    def claims(self):
        """The lines of the table of the paper's sentences."""
        part = self.markdown().split("## What the paper says of its results")[1].split("\n## ")[0]
        return [line for line in part.splitlines() if line.startswith(("| 5.2", "| D.3", "| abstract"))]

    def test_sentences_of_the_paper_hold_or_not(self):
        def of(words):
            (line,) = [line for line in self.claims() if words in line]
            return line.split(" | ")[-1]

        self.assertEqual(len(self.claims()), 11)
        self.assertIn("holds", of("least speedup"))
        self.assertIn("holds", of("more consistent"))
        rows = rows_of(self.folder, "table4_runtime")
        for method, speedup in (("quantized", "0.5"), ("tree", "0.0001")):  # of the smallest set
            row = next(r for r in rows if r["set"] == "celltype" and r["method"] == method)
            change(self.folder / "table4_runtime.csv", ",".join(row.values()),
                   ",".join({**row, "speedup": speedup}.values()))
        report.write_report(self.folder)
        self.assertIn("does not hold", of("least speedup"))
        self.assertIn("does not hold", of("more consistent"))

    def test_growth_stands_beside_the_bounds(self):
        self.has("10,000 to 10,000,000 | O(1 / epsilon) | 0.30 |", self.markdown())
        self.has("No exponent is above that of its bound", self.markdown())
        change(self.folder / "theory.csv", "tree,n,0.702,", "tree,n,0.752,")
        report.write_report(self.folder)
        self.has("by more than two standard errors: DC-k-means, exact of a request, in n.", self.markdown())

    def test_a_run_without_the_tables_of_sentences(self):
        for name in ("table4_runtime", "table1_loss", "figure2_retrains", "figure3_epsilon_loss",
                     "figure4_width_loss", "figure5_epsilon_time", "figure6_width_time", "loss_bound"):
            (self.folder / f"{name}.csv").unlink(missing_ok=True)
        report.write_report(self.folder)
        self.has("none of the tables that they are about", self.markdown())

    def test_sets_that_were_cut_are_not_compared(self):
        meta = json.loads((self.folder / "meta.json").read_text(encoding="utf-8"))
        for name in ("celltype", "covtype", "postures"):
            meta["sets"][name]["cut"] = True
        (self.folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
        report.write_report(self.folder)
        self.has("Of celltype, covtype and postures† only a part of the rows", self.markdown())
        self.has("6 of 6 means lie within", self.markdown())
        self.has("8 of 8 means lie within", self.markdown())

    def test_counts_what_agrees(self):
        """What the paper prints, on its own sets; k-means is 1 by construction in table 1."""
        self.has("12 of 12 means lie within two standard errors", self.markdown())
        self.has("16 of 16 means lie within two standard errors", self.markdown())
        rows = rows_of(self.folder, "table1_loss")
        for method in ("kmeans", "tree"):  # not counted
            row = next(r for r in rows if r["set"] == "mnist" and r["method"] == method)
            change(self.folder / "table1_loss.csv",
                   f"mnist,real,60000,784,10,{method},{row['mean']}",
                   f"mnist,real,60000,784,10,{method},1.6")
        report.write_report(self.folder)
        self.has("12 of 12 means lie within two standard errors", self.markdown())
        # Two standard errors are 2 sqrt(0.0123^2 + 0.017^2) / sqrt(5) = 0.0188.
        row = next(r for r in rows if r["set"] == "mnist" and r["method"] == "tree_printed")
        for mean, near in (("1.032", 12), ("1.034", 11), ("1.5", 11)):
            change(self.folder / "table1_loss.csv",
                   f"mnist,real,60000,784,10,tree_printed,{row['mean']}",
                   f"mnist,real,60000,784,10,tree_printed,{mean}")
            row["mean"] = mean
            report.write_report(self.folder)
            self.has(f"{near} of 12 means lie within", self.markdown())
        self.has("DC-k-means, as printed on mnist (1.500, paper 1.014: 51.8 standard errors)",
                 self.markdown())


class Check(RunTest):
    def setUp(self):
        super().setUp()
        self.readme = self.folder / "README.md"
        table = "\n".join(report.headline(self.folder))
        self.readme.write_text(f"# x\n\n{report.BEGIN}\n{table}\n{report.END}\n", encoding="utf-8")

    def fails(self, words):
        with self.assertRaisesRegex(results.Failure, words):
            report.check(self.folder, self.readme)

    def test_passes(self):
        report.check(self.folder, self.readme)

    def test_headline_has_all_sets(self):
        lines = report.headline(self.folder)
        self.assertEqual(len(lines), 2 + 6 + 2)
        self.assertIn("| celltype | 163.3× (Q-k-means) |", lines[2])
        self.assertIn("| postures† |", lines[5])
        self.assertIn("stand-in", lines[-1])
        self.assertEqual({line.count("|") for line in lines[:8]}, {8})

    def test_a_number_of_a_table(self):
        row = rows_of(self.folder, "table1_loss")[5]
        change(self.folder / "table1_loss.csv", row["mean"], "1.234")
        self.fails(r"report\.md: differs")

    def test_a_number_of_a_figure(self):
        row = rows_of(self.folder, "figure7_growth")[3]
        change(self.folder / "figure7_growth.csv", row["request_us"], "1.234")
        self.fails(r"figure7_growth\.svg: not drawn from")

    def test_a_report_that_was_edited(self):
        change(self.folder / "report.md", "pyramid", "pyramids")
        self.fails(r"report\.md: differs")

    def test_a_figure_that_is_gone(self):
        (self.folder / "figure3_epsilon_loss.svg").unlink()
        self.fails("figure3_epsilon_loss.svg: not drawn yet")

    def test_a_readme(self):
        text = self.readme.read_text(encoding="utf-8")
        change(self.readme, "163.3", "163.4")
        self.fails(r"README\.md: the headline table differs")
        self.readme.write_text(text.replace(report.END, ""), encoding="utf-8")
        self.fails(r"README\.md: the markers")

    def test_a_damaged_file(self):
        with open(self.folder / "peers.csv", "a", encoding="utf-8") as file:
            file.write("mnist,real\n")
        self.fails(r"peers\.csv: a line has another number of fields")
        (self.folder / "meta.json").write_text("{", encoding="utf-8")
        self.fails(r"meta\.json")


if __name__ == "__main__":
    unittest.main()
