"""What a service acknowledged to efface-load, and whether its store has it.

The ledger of efface-load has a line for each row that was asked to change. A row can be in several
states only if a request for it had no answer: then it was done or it was not. `Ledger.compare`
reads the rows and the receipts of the store and fails if anything is different.
"""
import collections
import json
import os
import struct
import subprocess

from service_program import PROGRAM, row

LOAD = os.path.join(os.path.dirname(PROGRAM or ""), "efface-load")  # built beside the others
N_LINES = 1009  # of the file of rows; prime, so that ids and lines do not go in step
NEW_ID = 1000000


def new_row(line):
    """Values, label and owner of a line of the file of rows. Values are quarters, as float32 has."""
    group = line % 3
    age = 20 + 20 * group + (line * 7 % 101) / 4
    height = 150 + 10 * group - (line * 13 % 97) / 4
    return [age, height, 2 * age - height / 2], ("red", "green", "blue")[group], f"n{line // 5}"


def write_load_files(folder):
    """Writes `points` and `rows` for efface-load."""
    with open(os.path.join(folder, "points"), "w", encoding="utf-8") as points, \
            open(os.path.join(folder, "rows"), "w", encoding="utf-8") as rows:
        for line in range(N_LINES):
            values, label, owner = new_row(line)
            points.write(json.dumps(values) + "\n")
            rows.write(json.dumps({"values": values, "label": label, "owner_key": owner})[1:-1]
                       + "\n")


def start_load(folder, port, token, *options, name="load"):
    """Starts efface-load; its result goes to NAME.json, its ledger to NAME.ledger."""
    with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as out:
        return subprocess.Popen(
            [LOAD, str(port), "--store", "people", "--points", "points", "--rows", "rows",
             "--ledger", name + ".ledger", *options], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=out, env={**os.environ, "EFFACE_TOKEN": token})


def end_load(test, process, name="load"):
    """Waits for it and returns its result."""
    code = process.wait()
    test.assertEqual(code, 0)
    with open(test.path(name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def floats(values):
    """As the store keeps them."""
    return struct.unpack(f"{len(values)}f", struct.pack(f"{len(values)}f", *values))


class Ledger:
    """The rows of a store that began with the ids of make_store."""

    def __init__(self, n_rows):
        self.states = {number: {("first", number)} for number in range(n_rows)}
        self.receipts = {}  # number: (kind, how many rows)
        self.unanswered = collections.Counter()
        self.open = {}  # requests without an answer since compare: (id, states before, after)
        self.refused = collections.Counter()
        self.next_id = NEW_ID

    def read(self, test, name="load"):
        """Adds the ledger of a run."""
        found = collections.defaultdict(list)
        with open(test.path(name + ".ledger"), encoding="ascii") as file:
            for text in file:
                result, kind, number, line, receipt, request = text.split()
                number, receipt = int(number), int(receipt)
                after = None if kind == "forget" else ("line", int(line))
                before = self.states.get(number, {None})
                self.next_id = max(self.next_id, number + 1)
                if result == "done":
                    test.assertGreater(receipt, 0, text)
                    test.assertIn(kind == "learn", {state is None for state in before}, text)
                    found[receipt].append(kind)
                    self.states[number] = {after}
                elif result == "lost":
                    self.unanswered[kind] += request not in self.open
                    self.open.setdefault(request, []).append((number, before, after))
                    self.states[number] = before | {after}
                else:
                    self.refused[int(result)] += 1
        for receipt, kinds in found.items():
            test.assertNotIn(receipt, self.receipts, "two requests have the same receipt")
            test.assertEqual(len(set(kinds)), 1, "two requests have the same receipt")
            self.receipts[receipt] = kinds[0], len(kinds)

    def row(self, state):
        """Owner, label and values of a row in a state."""
        kind, number = state
        if kind == "first":
            return f"u{number // 4}", ("red", "green", "blue")[number % 3], floats(row(number))
        values, label, owner = new_row(number)
        return owner, label, floats(values)

    def write_ids(self, path):
        """The rows that there are, for --id-file."""
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(f"{number}\n" for number in sorted(self.states)))

    def compare(self, test, store="people.store"):
        """Compares with the store, and takes over what became of requests without an answer."""
        rows = read_rows(test, store)
        for number in rows.keys() - self.states.keys():
            test.fail(f"the row {number} was never acknowledged nor asked for")
        for number, states in self.states.items():
            found = rows.get(number)
            fitting = {state for state in states
                       if (found is None if state is None else found == self.row(state))}
            test.assertTrue(fitting, f"the row {number} is {found}, not one of {states}")
            self.states[number] = fitting
        self.states = {number: states for number, states in self.states.items()
                       if states != {None}}
        self.compare_receipts(test, store)
        self.open = {}

    def compare_receipts(self, test, store):
        """Each acknowledged request has its receipt. Others belong to requests without an answer
        whose rows are changed."""
        receipts = read_receipts(test, store)
        numbers = {receipt["receipt"] for receipt in receipts}
        test.assertEqual(numbers, set(range(1, len(receipts) + 1)))
        for number, (kind, n_rows) in self.receipts.items():
            test.assertIn(number, numbers, "an acknowledged request has no receipt")
            receipt = receipts[number - 1]
            test.assertEqual(receipt["kind"], kind)
            count = {"forget": "forgotten", "learn": "learned", "update": "updated"}[kind]
            test.assertEqual((receipt[count], receipt["rows"]["count"]), (n_rows, n_rows))
        sure = possible = 0
        for rows in self.open.values():
            now = [self.states.get(number, {None}) for number, _, _ in rows]
            done = {after in states for states, (_, _, after) in zip(now, rows)}
            test.assertEqual(len(done), 1, "a request without an answer is half done")
            possible += True in done
            sure += True in done and any(not states & before
                                         for states, (_, before, _) in zip(now, rows))
        others = [receipts[number - 1] for number in numbers - self.receipts.keys()]
        test.assertLessEqual(sure, len(others), "a change has no receipt")
        test.assertLessEqual(len(others), possible, "a receipt has no change")
        for receipt in others:  # from now on they are known
            self.receipts[receipt["receipt"]] = receipt["kind"], receipt["rows"]["count"]

    def write_csv(self, path):
        """The rows that there must be, as a file of data."""
        with open(path, "w", encoding="utf-8") as file:
            file.write("id,user,kind,age,height,income\n")
            for number, states in sorted(self.states.items()):
                (state,) = states
                owner, label, values = self.row(state)
                file.write(f"{number},{owner},{label},{','.join(map(repr, values))}\n")


def read_rows(test, store):
    """(owner, label, values) of each row of a store, by ids that are numbers."""
    listed = json.loads(test.run_program("export", store, "--labels", "--model", "default",
                                         "--json", "-o", "-"))
    ids = listed["ids"]
    with open(test.path("all-ids"), "w", encoding="ascii") as file:
        file.write("".join(f"{number}\n" for number in ids))
    if not ids:
        return {}
    shown = json.loads(test.run_program("show", store, "--from", "all-ids", "--json"))
    return {int(one["id"]): (one["owner"], one["label"], floats(one["values"]))
            for one in shown["rows"]}


def read_receipts(test, store):
    lines = test.run_program("export", store, "--receipts", "-o", "-").splitlines()
    return [json.loads(line.rstrip(",")) for line in lines if line.startswith("{")]


def check_store(test, store="people.store"):
    """No damage, a chain of receipts, and models that are those of a fresh fit."""
    test.run_program("check", store)
    test.run_program("export", store, "--receipts", "-o", "receipts.jsonl")
    if os.path.getsize(test.path("receipts.jsonl")):
        test.run_program("receipt", "verify", "receipts.jsonl")
    os.remove(test.path("receipts.jsonl"))
    test.run_program("verify", store)
