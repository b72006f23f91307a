#!/usr/bin/python3
"""Measures the method tree, draws docs/measured/tree.md's figures and prints its tables.

    bench/kmeans/tree_figures.py --data FILE -k K    trees of many widths and heights on one set
    bench/kmeans/tree_figures.py --sets DIR          the four standard sets, beside the paper's numbers
    bench/kmeans/tree_figures.py --reuse             measure nothing: figures and tables of the CSV files
    bench/kmeans/tree_figures.py --check PAGE        fail if a table of the CSV files is not on the page

Each run is `efface-bench online --method tree`, whose help says what its numbers mean. A set whose
file is DIR/NAME/x.npy or x.npy.gz is called NAME. The numbers go to tree_NAME.csv and tree_sets.csv
in the folder --out, the figures to tree_NAME_loss and tree_NAME_time, as SVG. A line of the
CSV is a tree: means over the replicates, standard deviations (_sd, of the sample), and totals.
What a run printed is kept in --work, and a run that is there already is not done again. Runs of
sets that are not large are done three times (takes.py).

A speed-up is the paper's ratio of means: the mean time of training k-means again, divided by the
mean amortized time of a request, which is (training + all requests) / number of requests. Its
deviation follows from those of both means by the delta method. Retraining does not depend on the
tree, so its time is, for each set and seed, the median of what all runs found; a disturbance of one
run does not count. A loss ratio is a loss divided by the mean loss, over the replicates, of k-means
run to convergence on the rows that are left.

Needs gnuplot to draw. Times are those of the machine as it is: run this alone, or on a machine that
others use as `chrt -f 50 bench/kmeans/tree_figures.py ...`.
"""

import csv
import re
import shlex
import statistics
import sys
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from experiments import Failure, plan, prose, ratios, results, runs, takes  # noqa: E402
from experiments.figures import origin  # noqa: E402
from experiments.figures_curves import bars, curve  # noqa: E402
from experiments.machine import processor  # noqa: E402
from experiments.page import table as markdown  # noqa: E402
from experiments.plotting import GREY, Box, draw, tics, time_axis, wrap  # noqa: E402
from experiments.plotting import WIDTH as PAGE_WIDTH  # noqa: E402
from experiments.results import number  # noqa: E402
from experiments.scripts import parser, run_script  # noqa: E402
from experiments.tables import mean, spread  # noqa: E402

TAKES = 3
LONG = {"mnist"}  # sets whose runs are so long that disturbances even out: one take

WIDTHS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
HEIGHTS = [0, 1, 2, 3]
HEIGHTS_WIDTH = 8

# The kinds of trees that are compared: options of efface-bench, and how they look. Colours are of
# the palette of Okabe and Ito; dashes and points differ too. `shift` is a factor for widths, so
# that bars stand beside each other.
Kind = namedtuple("Kind", "options title colour dash point shift")
KINDS = {
    "lloyd": Kind([], "lloyd leaves", "#0072B2", "solid", 7, 0.94),
    "quantized": Kind(
        ["--leaf-method", "quantized"], "quantized leaves", "#D55E00", "(14,6)", 5, 1.0
    ),
    "weighed": Kind(["--weigh"], "lloyd leaves, weighed", "#009E73", "(3,5)", 9, 1.064),
}

# One more for the tables of --sets, which is not drawn.
ALL_KINDS = KINDS | {
    "quantized-weighed": Kind(
        ["--leaf-method", "quantized", "--weigh"], "quantized leaves, weighed", *[None] * 4
    ),
}

# Sets of --sets: clusters, scale, and the paper's DC-k-means: speed-up, loss ratio and its sd.
SETS = {
    "celltype": (4, "minmax", (15.6, 1.439, 0.157)),
    "covtype": (7, "minmax", (13.0, 1.017, 0.031)),
    "mnist": (10, "none", (25.4, 1.014, 0.003)),
    "gaussian": (5, "minmax", (34.5, 1.003, 0.014)),
}


# ---------------------------------------------------------------- measuring


def set_name(path):
    """DIR/NAME/x.npy.gz is NAME, NAME.npy is NAME."""
    stem = Path(path).name.split(".")[0]
    return Path(path).resolve().parent.name if stem == "x" else stem


def counts(options):
    return ["--replicates", str(options.replicates), "--deletions", str(options.deletions)]


def run_of(group, name, kind, where, options, extra, take=None):
    """A run of efface-bench; `where` is data, clusters and scale."""
    data, k, scale = where
    words = ["online", "--data", str(data), "-k", str(k), "--scale", scale, *plan.SEEDING]
    words += [*extra, "--threads", "1", *counts(options), "--skip-metrics"]
    return plan.Run(group, name, kind, "bench", tuple(words), take)


def tree_runs(group, name, kind, where, options, extra):
    words = ["--method", "tree", *extra]
    if name in LONG:
        yield run_of(group, name, kind, where, options, words)
        return
    for take in range(1, TAKES + 1):
        yield run_of(group, name, kind, where, options, [*words, "--trace"], take)


def converged_run(name, where, options):
    """k-means run to convergence on the rows that are left. One request for all rows gives the
    same bits as fitting to those that stay."""
    extra = ["--method", "lloyd", "--iters", "0", "--batch", str(options.deletions)]
    return run_of("converged", name, "kmeans", where, options, [*extra, "--baseline", "0"])


FIELDS = """name n d k scale height width kind replicates requests stopped_at_leaf adjusted repairs
    refits loss_ratio loss_ratio_sd request_us request_us_sd request_us_median request_us_p99
    train_ms retrain_ms retrain_ms_sd amortized_us amortized_us_sd speedup speedup_sd rows_visited
    state_bytes_per_row""".split()


def sum_up(name, kind, replicates, retraining, converged):
    """A line of the CSV: the replicates of one tree, the seconds of retraining with each seed, and
    the losses of k-means run to convergence with each seed."""
    first = replicates[0]
    line = {"name": name, "kind": kind, "replicates": len(replicates)}
    line.update({field: first[field] for field in ("n", "d", "k", "scale", "height", "width")})
    for field in ("requests", "stopped_at_leaf", "adjusted", "repairs", "refits"):
        line[field] = sum(r[field] for r in replicates)

    def put(field, values):
        line[field] = f"{mean(values):.6g}"
        if f"{field}_sd" in FIELDS:
            line[f"{field}_sd"] = f"{spread(values):.4g}"

    def put_key(field, key, factor=1.0):
        put(field, [factor * r[key] for r in replicates])

    base = mean(converged)
    amortized = [ratios.amortized(r) for r in replicates]
    speedup, deviation = ratios.of_means(retraining, amortized)
    put("loss_ratio", [r["loss"] / base for r in replicates])
    put_key("request_us", "delete_us_mean")
    put_key("request_us_median", "delete_us_median")
    put_key("request_us_p99", "delete_us_p99")
    put_key("train_ms", "train_seconds", 1e3)
    put("retrain_ms", [1e3 * seconds for seconds in retraining])
    put("amortized_us", [1e6 * seconds for seconds in amortized])
    line["speedup"], line["speedup_sd"] = f"{speedup:.6g}", f"{deviation:.4g}"
    put_key("rows_visited", "rows_visited_mean")
    put_key("state_bytes_per_row", "state_bytes_per_row")
    return line


def collect(results):
    """What the runs printed: the replicates of each tree, by set, kind, height and width; and for
    each set and seed the seconds of retraining, the median of all runs, and the converged loss."""
    runs_of = {}
    for run, printed in results.items():
        runs_of.setdefault((run.group, run.set, run.method), []).append(printed)
    trees, seconds, losses = {}, {}, {}
    for (group, name, kind), printed in runs_of.items():
        what = f"{group}, {name}, {kind}"
        for result in takes.merge(printed, what):
            if not result["verified"]:
                raise Failure(f"{what}: a state was not verified")
            key = (name, result["seed"])
            if group == "converged":
                losses[key] = result["loss"]
                continue
            tree = (name, kind, result["height"], result["width"])
            trees.setdefault(tree, []).append(result)
            seconds.setdefault(key, []).append(result["baseline_seconds"])
    return trees, {key: statistics.median(values) for key, values in seconds.items()}, losses


def lines_of(results):
    trees, seconds, losses = collect(results)
    for (name, kind, _, _), replicates in trees.items():
        keys = [(name, r["seed"]) for r in replicates]
        yield sum_up(name, kind, replicates, [seconds[key] for key in keys],
                     [losses[key] for key in keys])


def save(path, command, runner):
    first = next(iter(runner.results.values()))[0]
    shown = dict.fromkeys(f"run: {runner.shown(run)}" for run in runner.results)
    comments = [f"command: {command}", *shown]
    comments.append(f"processor: {processor()}; kernels: {first['kernels']}; threads: 1")
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {comment}\n" for comment in comments)
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines_of(runner.results))


def own_command(words, options):
    return shlex.join(["bench/kmeans/tree_figures.py", *words, *counts(options)])


def run_all(all_runs, options):
    runner = runs.Runner(options.work, options.bench, HERE / "peers.py")
    runner.run_all(all_runs)
    return runner


def set_runs(name, options):
    where = (options.data, options.k, options.scale)
    yield converged_run(name, where, options)
    for key, kind in KINDS.items():
        # A tree of height 0 has no centroids to weigh, and one of height 1 is among the widths.
        heights = [h for h in HEIGHTS if h > 1 or (h == 0 and key != "weighed")]
        sweeps = {"widths": ([1], WIDTHS), "heights": (heights, [HEIGHTS_WIDTH])}
        for group, (sweep_heights, sweep_widths) in sweeps.items():
            extra = ["--height", ",".join(map(str, sweep_heights))]
            extra += ["--width", ",".join(map(str, sweep_widths)), *kind.options]
            yield from tree_runs(group, name, key, where, options, extra)


def measure_set(options):
    name = set_name(options.data)
    shown = runs.shown_path(str(options.data))
    words = ["--data", shown, "-k", str(options.k), "--scale", options.scale]
    runner = run_all(list(set_runs(name, options)), options)
    save(options.out / f"tree_{name}.csv", own_command(words, options), runner)


def sets_runs(options):
    for name, (k, scale, _) in SETS.items():
        data = "gaussian"
        if name != "gaussian":
            files = [options.sets / name / file for file in ("x.npy", "x.npy.gz")]
            there = [file for file in files if file.exists()]
            if not there:
                raise Failure(f"{files[0]}: there is no such file, nor {files[1].name}")
            data = there[0]
        where = (data, k, scale)
        yield converged_run(name, where, options)
        for key, kind in ALL_KINDS.items():
            yield from tree_runs("sets", name, key, where, options, kind.options)


def measure_sets(options):
    runner = run_all(list(sets_runs(options)), options)
    save(options.out / "tree_sets.csv", own_command(["--sets", "DIR"], options), runner)


def load(path):
    """The lines of a CSV file, numbers being numbers."""
    lines = results.Table(path).rows
    for line in lines:
        for field in line.keys() - {"name", "scale", "kind"}:
            line[field] = float(line[field]) if re.search(r"[.e]", line[field]) else int(line[field])
    return lines


# ---------------------------------------------------------------- figures


def small_print(table):
    """The commands behind a figure's curves, and the machine, in rows."""
    sweep = next(run for run in table.comment("run") if "--height 1 " in run)
    others = [" ".join(kind.options) for kind in KINDS.values() if kind.options]
    return [*wrap(f"{sweep}; again with {' and with '.join(others)}"),
            f"processor: {table.comment('processor')[0]}; bars: one standard deviation, of a "
            "speed-up by the delta method"]


def width_panel(sheet, box, table, field, title, *settings, level=None):
    """Plots a field against the width, with bars of one standard deviation, and a line at a level."""
    sheet.begin_panel(box, "set logscale x 2", "set xrange [0.85:310]", "set mxtics 1",
                      f"set xtics ({','.join(map(str, WIDTHS))})", *settings)
    plots = [] if level is None else [f"{level:.6g} lc rgb '{GREY}' dt solid lw 1 notitle"]
    for key, kind in KINDS.items():
        rows = table.find(kind=key, height="1")
        plots += bars(sheet, rows, ("width", field, field + "_sd"), kind, kind.shift)
        plots += curve(sheet, rows, "width", field, kind, kind.shift)
    sheet.plot(plots)
    middle = (box.left + box.right) / 2
    sheet.label(title, middle, box.top - 12, "center", 12, bold=True)
    sheet.label("width w (number of leaves)", middle, box.bottom + 36, "center", 12)


def draw_loss(path, table):
    def place(sheet):
        box = Box(60, 30 + sheet.key(list(KINDS.values()), 4), PAGE_WIDTH - 24, 390)
        width_panel(sheet, box, table, "loss_ratio", "loss / loss of k-means run to convergence",
                    "set format y '%.2f'", level=1)

    draw(path, "Loss ratio against width", origin(table), 440, small_print(table), place)


def draw_time(path, table):
    def place(sheet):
        rows = table.find(height="1")
        requests = [number(row, "request_us") for row in rows]
        speedups = [number(row, "speedup") for row in rows]
        retraining = 1e3 * mean([number(row, "retrain_ms") for row in table.rows])
        top = 30 + sheet.key(list(KINDS.values()), 4)
        width_panel(sheet, Box(76, top, 420, 390), table, "request_us",
                    "mean time of a request; line: retraining",
                    *time_axis("y", min(requests) / 1.5, retraining * 2, 1e-6), level=retraining)
        low, high = min(speedups) / 1.3, max(speedups) * 1.3
        marks = [v for v in (1, 2, 5, 10, 20, 50, 100, 200, 500) if low <= v <= high]
        width_panel(sheet, Box(500, top, PAGE_WIDTH - 24, 390), table, "speedup",
                    "speed-up over retraining, training included", "set logscale y",
                    f"set yrange [{low:.6g}:{high:.6g}]", "set mytics 1",
                    f"set ytics {tics(marks, str)}")

    draw(path, "Time of a request and speed-up against width", origin(table), 440,
         small_print(table), place)


# ---------------------------------------------------------------- tables


def shown(value):
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def with_sd(line, field, decimals):
    return f"{line[field]:.{decimals}f} ({line[field + '_sd']:.{decimals}f})"


def share(line, field="stopped_at_leaf"):
    return f"{100 * line[field] / line['requests']:.1f}%"


def find(lines, **wanted):
    for line in lines:
        if all(line[field] == value for field, value in wanted.items()):
            return line
    return None


def widths_tables(lines):
    widths = sorted({line["width"] for line in lines if line["height"] == 1})
    trees = {w: [find(lines, height=1, width=w, kind=key) for key in KINDS] for w in widths}
    titles = [kind.title for kind in KINDS.values()]

    def of_each(cell):
        return [[w, *(cell(t) for t in trees[w])] for w in widths]

    def median(t):
        return f"{share(t)}, median {shown(t['request_us_median'])} µs"

    def time(t):
        return f"{shown(t['request_us'])} µs, {shown(t['speedup'])}"

    def memory(t):
        return shown(t["state_bytes_per_row"])

    head = ["w", *titles]
    return [
        ("loss ratio, mean (sd)", markdown(head, of_each(lambda t: with_sd(t, "loss_ratio", 3)))),
        ("mean time of a request, speed-up with training", markdown(head, of_each(time))),
        ("requests that stop at the leaf", markdown(head, of_each(median))),
        ("bytes a row beyond the data", markdown(head, of_each(memory))),
    ]


def heights_table(lines):
    rows = []
    for key, kind in KINDS.items():
        for h in HEIGHTS:
            # At height 0 there is nothing to be wide.
            t = find(lines, height=h, kind=key, **({"width": HEIGHTS_WIDTH} if h else {}))
            if t is None:
                continue
            row = [kind.title, h, HEIGHTS_WIDTH**h, with_sd(t, "loss_ratio", 3)]
            row += [shown(t["request_us"]), shown(t["speedup"])]
            row += [share(t) if h else "", shown(t["state_bytes_per_row"])]
            rows.append(row)
    head = ["", "h", "leaves", "loss ratio (sd)", "µs", "speed-up", "stop at the leaf"]
    head.append("bytes a row")
    return ("heights at width 8", markdown(head, rows))


def sets_tables(lines):
    speed, loss, leaf, cost = [], [], [], []
    for name, (k, _, (paper_speed, paper_loss, paper_sd)) in SETS.items():
        trees = [find(lines, name=name, kind=key) for key in ALL_KINDS]
        first = trees[0]
        rows = f"{first['n']:,} x {first['d']}, k {k}"
        retraining = shown(1e3 * first["retrain_ms"])
        speed.append([name, rows, first["width"], paper_speed])
        speed[-1] += [with_sd(t, "speedup", 1) for t in trees]
        loss.append([name, f"{paper_loss:.3f} ({paper_sd:.3f})"])
        loss[-1] += [with_sd(t, "loss_ratio", 3) for t in trees]
        leaf.append([name, *(f"{t['stopped_at_leaf']:,} of {t['requests']:,}" for t in trees)])
        cost.append([name, retraining, *(shown(t["request_us"]) for t in trees)])
        cost[-1] += [f"{4 * first['d']:,}", shown(first["state_bytes_per_row"])]
    titles = [kind.title for kind in ALL_KINDS.values()]
    bytes_head = ["bytes a row: data", "state beyond it"]
    return [
        ("speed-up with training, mean (sd)", markdown(["set", "rows", "w", "paper", *titles], speed)),
        ("loss ratio of the sets, mean (sd)", markdown(["set", "paper", *titles], loss)),
        ("requests of the sets that stop at the leaf", markdown(["set", *titles], leaf)),
        ("mean µs and memory", markdown(["set", "retraining, µs", *titles, *bytes_head], cost)),
    ]


def all_tables(folder):
    tables = []
    for path in sorted(folder.glob("tree_*.csv")):
        lines = load(path)
        if path.stem == "tree_sets":
            tables += sets_tables(lines)
        else:
            tables += [*widths_tables(lines), heights_table(lines)]
    return tables


# ---------------------------------------------------------------- the program


def check(page, folder):
    # Deletions, cluster sizes in round numbers, requests.
    prose.check(page, all_tables(folder), {"1,000", "6,500", "5,000"})


def draw_all(folder):
    for path in sorted(folder.glob("tree_*.csv")):
        if path.stem == "tree_sets":
            continue
        table = results.Table(path)
        draw_loss(folder / f"{path.stem}_loss", table)
        draw_time(folder / f"{path.stem}_time", table)


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--bench", default="build/efface-bench", metavar="PATH")
    what = arguments.add_mutually_exclusive_group(required=True)
    what.add_argument("--data", type=Path, metavar="FILE")
    what.add_argument("--sets", type=Path, metavar="DIR")
    what.add_argument("--reuse", action="store_true")
    what.add_argument("--check", type=Path, metavar="PAGE")
    arguments.add_argument("-k", type=int, default=7)
    arguments.add_argument("--scale", choices=["none", "minmax"], default="minmax", help="for --data")
    arguments.add_argument("--out", type=Path, default=Path("docs/measured/figures"), metavar="DIR")
    arguments.add_argument("--work", type=Path, default=Path("build/trees"), metavar="DIR")
    arguments.add_argument("--replicates", type=int, default=5)
    arguments.add_argument("--deletions", type=int, default=1000)
    options = arguments.parse_args()
    if options.check is not None:
        check(options.check, options.out)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    if options.data is not None:
        measure_set(options)
    if options.sets is not None:
        measure_sets(options)
    draw_all(options.out)
    for name, rows in all_tables(options.out):
        print(f"{name}:\n\n" + "\n".join(rows) + "\n")


if __name__ == "__main__":
    run_script(main, keeps_runs=True)
