#!/usr/bin/python3
"""Runs the paper's experiments and writes the report: ours and the paper's numbers side by side.

    bench/paper.py [--data DIR] [--out DIR] [--quick]  measure, draw, report
    bench/paper.py --redraw [--out DIR]                figures and report again, from the CSV files
    bench/paper.py --check [--out DIR] [--readme FILE] fail if report or README differ from them

--data is a folder with the data sets (docs/measured/data.md says how they lie there); for sets that are
missing there are generated stand-ins, which every table and figure marks. What a run printed is
kept in --work, and a run that is there already is not done again: stop it and start it as you like.

--out receives the tables as CSV, the figures as SVG, and report.md.

Times are those of one thread, and of the machine as it is: run this alone, or on a machine that
others use as `chrt -f 50 bench/paper.py ...`. `--part clocked` does the runs that are clocked and
no other, `--part rest` all others: the two can be done at the same time, and then without --part
for the report. Needs numpy and gnuplot, for the comparison with
scikit-learn and faiss those too (scripts/install-packages bench).
"""

import dataclasses
import json
import shlex
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from experiments import Failure, figures, plan, report, runs, sets, tables  # noqa: E402
from experiments.machine import first_match, machine, output_of  # noqa: E402
from experiments.scripts import listed, parser, run_script  # noqa: E402


# ---------------------------------------------------------------- where and by what


def versions_of_peers():
    """Those of a fresh interpreter: importing them here would start their threads."""
    program = ("import json, numpy, sklearn, faiss; from threadpoolctl import threadpool_info; "
               "blas = [f\"{i['internal_api']} {i['version']}\" for i in threadpool_info() "
               "if i['user_api'] == 'blas']; "
               "from importlib.metadata import distributions; "
               "more = sorted(f\"{d.metadata['Name']} {d.version}\" for d in distributions() "
               "if d.metadata['Name'] in ('scikit-learn-intelex', 'fastkmeans')); "
               "print(json.dumps({'numpy': numpy.__version__, 'sklearn': sklearn.__version__, "
               "'faiss': faiss.__version__, 'more_peers': more or None, "
               "'blas': blas[0] if blas else None}))")
    text = output_of(sys.executable, "-c", program)
    return json.loads(text) if text else {}


def first_field(lines, field):
    return next((line[field] for line in lines if field in line), "unknown")


def describe(options, size, chosen, results, seconds):
    lines = [line for lines in results.lines.values() for line in lines]
    described = {}
    for data_set in chosen:
        fields = dataclasses.asdict(data_set)
        described[data_set.name] = {name: fields[name] for name in
                                    ("kind", "n", "d", "k", "scale", "source", "cut")}
    words = ["make", "paper", "DATA=folder"] + (["QUICK=1"] if options.quick else [])
    return {
        "command": shlex.join(words),
        "date": time.strftime("%Y-%m-%d"),
        **machine(),
        **versions_of_peers(),
        "kernels": first_field(lines, "kernels"),
        "compiler": first_field(lines, "compiler"),
        "threads": 1,
        "seeds": sorted({line["seed"] for lines_of in results.lines.items()
                         if lines_of[0][0] == "main" for line in lines_of[1]}),
        "deletions": size.deletions,
        "replicates": size.replicates,
        "quick": options.quick,
        "note": options.note,
        "version": first_match(r'^#define EFFACE_VERSION "(.*)"',
                               HERE.parent / "include/efface/efface.h"),
        "sets": described,
        "commands": [command for group in results.commands.values() for command in group],
        "seconds": round(seconds),
    }


# ---------------------------------------------------------------- the program


def choose_size(options):
    size = plan.QUICK if options.quick else plan.FULL
    given = {"deletions": options.deletions, "replicates": options.replicates,
             "most_rows": options.most_rows}
    size = dataclasses.replace(size, **{k: v for k, v in given.items() if v is not None})
    if options.most_rows:
        size = dataclasses.replace(size, growth=(options.most_rows, 10 * options.most_rows),
                                   efficiency=plan.QUICK.efficiency)
    return size


def measure(options):
    """Runs what has not been run yet, and writes the CSV files; with --part only the runs."""
    size = choose_size(options)
    if options.data is not None and not options.data.is_dir():
        raise Failure(f"{options.data} is no folder; docs/measured/data.md says how to lay it out")
    names = options.sets or sets.names_for(options.data)
    strange = [name for name in names if name not in sets.ALL]
    if strange:
        raise Failure(f"there is no set {strange[0]}; there are {', '.join(sets.ALL)}")
    suffix = f"-{size.most_rows}" if size.most_rows else ""
    runner = runs.Runner(options.work / f"runs{suffix}", options.bench, HERE / "kmeans/peers.py")
    chosen = []
    for name in names:
        data_set = sets.prepare(name, options.data, options.work / f"sets{suffix}", size.most_rows,
                                sets.bench_gaussian(options.bench))
        print(f"{name}: {data_set.n:,} x {data_set.d}, {data_set.source}", file=sys.stderr)
        chosen.append(data_set)
    wanted = plan.all_runs(chosen, size, not options.skip_peers)
    if options.part:
        runner.run_all([run for run in wanted
                        if (run.group in plan.CLOCKED) == (options.part == "clocked")])
        return
    seconds = runner.run_all(wanted)
    results = tables.Results(runner, chosen)
    tables.save_all(results, size.deletions, options.out)
    meta = describe(options, size, chosen, results, seconds)
    (options.out / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")


def parse_arguments():
    arguments = parser(__doc__)
    what = arguments.add_mutually_exclusive_group()
    what.add_argument("--data", type=Path, metavar="DIR")
    what.add_argument("--redraw", action="store_true")
    what.add_argument("--check", action="store_true")
    arguments.add_argument("--out", type=Path, default=Path("build/paper/report"), metavar="DIR")
    arguments.add_argument("--work", type=Path, default=Path("build/paper"), metavar="DIR")
    arguments.add_argument("--bench", default="build/efface-bench", metavar="PATH")
    arguments.add_argument("--readme", type=Path, metavar="FILE")
    arguments.add_argument("--quick", action="store_true", help="minutes: small sets, few requests")
    arguments.add_argument("--sets", type=listed, metavar="NAMES", help="some of them, with commas between")
    arguments.add_argument("--deletions", type=int)
    arguments.add_argument("--replicates", type=int)
    arguments.add_argument("--most-rows", type=int, help="of a set")
    arguments.add_argument("--skip-peers", action="store_true")
    arguments.add_argument("--note", metavar="TEXT", help="on the machine, for the report")
    arguments.add_argument("--part", choices=["clocked", "rest"], help="some of the runs, no report")
    return arguments.parse_args()


def main():
    options = parse_arguments()
    if options.check:
        report.check(options.out, options.readme)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    if not options.redraw:
        measure(options)
    if options.part:
        return
    figures.draw_all(options.out)
    report.write_report(options.out)
    print(f"the report is {options.out / 'report.md'}")


if __name__ == "__main__":
    run_script(main, keeps_runs=True)
