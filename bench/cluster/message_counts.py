#!/usr/bin/python3
"""What fits and requests in a group take: rounds and bytes, by method and number of ranks.

usage: message_counts.py BUILD [--ranks 1,2,4,7,16] [--requests N] [--rows N]

Runs group-speed (BUILD/group-speed) with each method and family on each number of ranks, prints
tables in markdown, and fails

- if digests differ between numbers of ranks, after the fit or after the requests;
- if a fit, or any single request, takes other rounds or bytes than the formulas of
  message_formulas.py say.
"""
import argparse
import json
import sys

import message_formulas
from group_runs import group_speed, print_table

MODELS = {
    "lloyd": {"method": "lloyd"},
    "lloyd, 3 candidates": {"method": "lloyd", "candidates": 3},
    "quantized": {"method": "quantized"},
    "pyramid": {"method": "pyramid"},
    "tree": {"method": "tree"},
    "sums": {"family": "sums"},
    "bayes": {"family": "bayes"},
    "segmented": {"family": "segmented"},
}
ACTIONS = ("adjusted", "repaired", "refitted")


def fail(name, run, what, predicted, measured):
    sys.exit(f"{name} on {run['ranks']} ranks, {what}: the formulas say {predicted}, but group-speed "
             f"counted {measured}")


def check_fit(name, run, spread):
    predicted = message_formulas.fit(run).counts
    measured = {kind: run["fit"]["by_operation"][kind] for kind in message_formulas.KINDS}
    if predicted != measured:
        fail(name, run, "fit", predicted, measured)
    joined = run["join"]["by_operation"]
    apart = spread == "ranges" or run["ranks"] == 1
    n_own = (joined["gather"][1] - 16 * run["ranks"]) // 8
    predicted = message_formulas.join(run["ranks"], n_own, run["columns"], apart).counts
    if predicted != joined:
        fail(name, run, "joining", predicted, joined)


def check_requests(name, run, requests):
    """Every request must be made of known steps; returns how often each was taken, by action."""
    known = {}
    steps = {action: [] for action in ACTIONS}
    plain = message_formulas.adjusted(run["ranks"], run["columns"]).counts
    n_plain = 0
    for request in requests:
        key = json.dumps(request)
        if key not in known:
            known[key] = message_formulas.explain(run, request)
        if known[key] is None:
            fail(name, run, "a request", "no steps that make it up", key)
        n_plain += all(request[kind] == plain[kind] for kind in plain)
        steps[request["action"]].append(known[key])
    return n_plain, {action: {step: sum(one[step] for one in taken) / len(taken)
                              for step in taken[0]} for action, taken in steps.items() if taken}


def measure(options):
    results = {}
    for name, model in MODELS.items():
        digests = set()
        for i, n_ranks in enumerate(options.ranks):
            spread = "ranges" if i % 2 == 0 else "turns"
            requests, run = group_speed(options.build, n_ranks, rows=options.rows, columns=8,
                                        clusters=10, requests=options.requests, outlier=1,
                                        spread=spread, **model)
            check_fit(name, run, spread)
            run["adjusted_plainly"], run["steps"] = check_requests(name, run, requests)
            run["spread"] = spread
            digests.add(run["digest"])
            results.setdefault(name, []).append(run)
        if len(digests) != 1:
            sys.exit(f"{name}: {len(digests)} digests on {options.ranks} ranks: {digests}")
    return results


# ------------------------------------------------------------------ tables

def table(title, head, lines):
    print(f"\n{title}\n")
    print_table(head, lines)


def number(value):
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def each(run, what, count):
    """Rounds or bytes of one fit or request, or a dash."""
    tally = run[what]
    return number(tally[count] / tally["n"]) if tally["n"] else "-"


def print_tables(results, ranks):
    runs = next(iter(results.values()))
    shape = f"{runs[0]['rows']:,} rows, {runs[0]['columns']} columns, {runs[0]['clusters']} clusters"
    table(f"Rounds of a fit and of a request for one row ({shape}; means; the same on any number of ranks)",
          ["", "fit", *(f"{action} (requests)" for action in ACTIONS)],
          [[name, each(of[0], "fit", "rounds"),
            *(f"{each(of[0], a, 'rounds')} ({of[0][a]['n']})" for a in ACTIONS)]
           for name, of in results.items()])
    for what in ("fit", *ACTIONS):
        table(f"{what}: bytes that a rank gets, by number of ranks", ["", *map(str, ranks)],
              [[name, *(each(run, what, "got") for run in of)]
               for name, of in results.items() if of[0][what]["n"]])
    table("Joining: rounds and bytes that rank 0 gets, by number of ranks and how rows are spread",
          ["", *(f"{run['ranks']}, {run['spread']}" for run in runs)],
          [["rounds", *(each(run, "join", "rounds") for run in runs)],
           ["bytes", *(each(run, "join", "got") for run in runs)]])


def same_rounds(results):
    """Rounds of fits and requests must not depend on the number of ranks."""
    for name, runs in results.items():
        for what in ("fit", *ACTIONS):
            rounds = {run[what]["rounds"] for run in runs}
            if len(rounds) != 1:
                sys.exit(f"{name}, {what}: rounds depend on the number of ranks: {rounds}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--ranks", default="1,2,4,7,16")
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--rows", type=int, default=20000)
    options = parser.parse_args()
    options.ranks = [int(n) for n in options.ranks.split(",")]
    results = measure(options)
    same_rounds(results)
    print_tables(results, options.ranks)


if __name__ == "__main__":
    main()
