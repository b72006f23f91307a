"""Runs commands one after the other, keeps what they print, and goes on where it was stopped.

What a run printed is kept in a file of its own, after a line that says which command it was, of
which program and on which files. It is used again if all three are the same, and it appears only
when the run is done.
"""

import functools
import hashlib
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

from . import Failure


@functools.cache
def fingerprint(path):
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()[:16]


def shown_path(word):
    """A path as it may be printed: what says which set it is, not where it lies."""
    return "/".join(Path(word).parts[-2:]) if "/" in word else word


def duration(seconds):
    seconds = round(seconds)
    return f"{seconds} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def output(command):
    """The lines that a program prints."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise Failure(f"{done.stderr.strip()}\nThe command was: {shlex.join(command)}")
    return done.stdout.splitlines()


class Runner:
    def __init__(self, folder, bench, peers):
        self.folder = Path(folder)
        self.programs = {"bench": [str(bench)], "peers": [sys.executable, str(peers)],
                         "printed": [str(Path(bench).with_name("efface-as-printed"))]}
        if not Path(bench).exists():
            raise Failure(f"there is no {bench}: build it with make, or use --bench")
        self.marks = {name: fingerprint(words[-1]) for name, words in self.programs.items()
                      if Path(words[-1]).exists()}
        self.programs["peers"] += ["--bench", str(bench), "--json"]
        self.results = {}

    def shown(self, run):
        """The command as a reader may repeat it."""
        program = {"bench": "efface-bench", "printed": "efface-as-printed",
                   "peers": "bench/kmeans/peers.py"}[run.program]
        return shlex.join([program, *map(shown_path, run.arguments)])

    def head(self, run):
        files = [word for word in run.arguments if "/" in word and Path(word).is_file()]
        return {"command": list(run.arguments), "program": self.marks.get(run.program),
                "files": [fingerprint(word) for word in files]}

    def kept(self, run):
        """What the run printed, if it was done before with the same program."""
        try:
            with open(self.folder / f"{run.key}.jsonl", encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
        except (OSError, ValueError):
            return None
        head = self.head(run)
        if not lines or any(lines[0].get(name) != head[name] for name in head):
            return None
        return lines

    def run(self, run):
        command = [*self.programs[run.program], *run.arguments]
        if run.program == "bench":
            command.append("--json")
        begin = time.monotonic()
        printed = output(command)
        head = {**self.head(run), "seconds": time.monotonic() - begin}
        lines = [head, *map(json.loads, printed)]
        part = self.folder / f"{run.key}.part"
        part.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        part.rename(self.folder / f"{run.key}.jsonl")
        return lines

    def run_all(self, runs):
        """Returns the seconds that all of them took, now or before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        begin, total, n_kept = time.monotonic(), 0.0, 0
        for number, run in enumerate(runs, 1):
            lines = self.kept(run)
            if lines is not None:
                n_kept += 1
            else:
                place = f"[{number:>{len(str(len(runs)))}} of {len(runs)}]"
                print(f"{place} {run.title}: ", end="", file=sys.stderr, flush=True)
                lines = self.run(run)
                spent = time.monotonic() - begin
                print(f"{lines[0]['seconds']:.1f} s, {duration(spent)} so far",
                      file=sys.stderr, flush=True)
            total += lines[0]["seconds"]
            self.results[run] = lines[1:]
        if n_kept:
            print(f"{n_kept} of {len(runs)} runs were there already", file=sys.stderr)
        return total
