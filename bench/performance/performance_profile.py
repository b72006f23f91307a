"""Where the time goes, by function: profiles of passes, fits and requests with Linux's perf.

Shares are of all samples of a process, reading or making its rows included; a function that the
compiler put into another one counts there.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from experiments import Failure, plan
from experiments.runs import shown_path

MIN_SHARE = 0.03  # of a function that is worth a line
FIELDS = "what set function share"
PASSES = ["--method", "pyramid", *plan.SEEDING, "--starts", 1, "--iters", 3, "--passes", 10]


def cases(chosen, large):
    """What is profiled: (what, set, words of efface-bench)."""
    for data_set in chosen:
        n, d, k = data_set.n, data_set.d, data_set.k
        repeats = max(16, 4 * 10**9 // (n * d * (k + 10)))
        words = ["--data", f"gaussian:1,{d},{n}", "-k", k, *PASSES, "--repeats", repeats]
        yield "passes", data_set.name, ["train", *words]
    for n, d, k in large:
        if n * d * k < 10**10:
            words = ["--data", f"gaussian:1,{d},{n}", "-k", k, *PASSES, "--repeats", 16]
            yield "passes", "x".join(map(str, (n, d, k))), ["train", *words]
    for data_set in chosen:
        words = ["--data", data_set.x, "-k", data_set.k, "--scale", data_set.scale]
        repeats = max(12, 4 * 10**9 // (data_set.n * data_set.d * (data_set.k + 10)))
        words += ["--method", "lloyd", *plan.SEEDING, "--repeats", repeats]
        yield "a fit", data_set.name, ["train", *words]
    for data_set in chosen:
        words = ["--data", data_set.x, "-k", data_set.k, "--scale", data_set.scale]
        words += ["--method", "lloyd", *plan.SEEDING, "--skip-metrics", "--baseline", 0]
        words += ["--replicates", 1]
        deletions = 300 if data_set.n * data_set.d > 10**7 else 3000
        yield "requests, lloyd", data_set.name, ["online", *words, "--deletions", deletions]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{command[0]}: {done.stderr.strip()[-300:]}")
    return done.stdout


def functions(report):
    """(name, share) from what `perf report -F overhead,sym` prints, the largest first."""
    found = re.findall(r"^\s*([\d.]+)%\s+\[[.k]\]\s+(\S+)", report, re.MULTILINE)
    return sorted(((name, float(share) / 100) for share, name in found), key=lambda f: -f[1])


def profile(bench, words):
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "perf.data")
        run("perf", "record", "-q", "-e", "cpu-clock", "-F", "2000", "-o", data, "--",
            str(bench), *map(str, words))
        return functions(run("perf", "report", "-i", data, "--stdio", "--no-children",
                             "-F", "overhead,sym"))


def measure(bench, chosen, large):
    """Lines of profile.csv and the commands behind them; nothing where there is no perf."""
    lines, commands = [], []
    for what, name, words in cases(chosen, large) if shutil.which("perf") else ():
        for function, share in profile(bench, words):
            if share >= MIN_SHARE:
                lines.append({"what": what, "set": name, "function": function, "share": share})
        commands.append("perf record efface-bench " + " ".join(shown_path(str(w)) for w in words))
    return lines, commands
