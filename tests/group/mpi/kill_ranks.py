#!/usr/bin/python3
"""Ranks that work on a store in parts are killed, some or all of them, or mpirun, at any time: while
they do requests, finish one that was interrupted, make a store, or spread it over other parts.
After each kill every acknowledged request is in force, and the one under way wholly is or wholly is
not; check finds nothing, every model verifies and is that of its rows, each request has its
receipt, no journal is left, and no file has bytes of forgotten rows.

usage: kill_ranks.py CLUSTER-WORKER [KILLS] [SEED]
"""
import collections
import os
import random
import shutil
import sys
import tempfile
import time
import unittest

import mpi_ranks

WORKER = sys.argv.pop(1) if len(sys.argv) > 1 else None
N_KILLS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 10
SEED = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else None
N_RANKS = 3


class KillTest(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="kill_ranks-")
        self.folder = os.path.join(self.place, "parts")
        self.ledger = os.path.join(self.place, "ledger")
        self.run_under_way = None
        self.is_done = False
        self.seen = collections.Counter()
        self.chance = random.Random()

    def tearDown(self):
        self.run_under_way.kill_all()
        if self.is_done:
            shutil.rmtree(self.place)

    def start(self, command, n_ranks, pace=0, folder=None, ledger=None):
        run = mpi_ranks.Run(n_ranks, [WORKER, command, folder or self.folder,
                                      ledger or self.ledger, pace,
                                      self.chance.randrange(2 ** 32)], self.place)
        self.run_under_way = run
        return run

    def good(self, command, n_ranks, **more):
        code, said, wrong = self.start(command, n_ranks, **more).end()
        self.assertEqual(code, 0, said + wrong)
        return said

    def n_asked(self):
        with open(self.ledger, encoding="ascii") as file:
            return sum(line.startswith("a") for line in file)

    # ---------------------------------------------------------------- one kill

    def wait_for_ranks(self, run, n_ranks):
        while run.process.poll() is None and len(run.pids()) < n_ranks:
            time.sleep(0.002)

    def wait_for_requests(self, run, n):
        asked = self.n_asked()
        while run.process.poll() is None and self.n_asked() < asked + n:
            time.sleep(0.001)

    def kill_some(self, run):
        """One rank, some, all; or mpirun, whose ranks then end by themselves or go on."""
        pids = run.pids()
        if self.chance.random() < 0.15:
            pids = [run.process.pid]
            self.seen["kills of mpirun"] += 1
        else:
            pids = self.chance.sample(pids, self.chance.randint(min(1, len(pids)), len(pids)))
        for pid in pids:
            mpi_ranks.kill(pid)
        code, said, wrong = run.bury(2)
        self.seen["kills"] += 1
        return code, said + wrong

    def kill_within(self, command, n_ranks, most_seconds, requests=0, **more):
        run = self.start(command, n_ranks, **more)
        self.wait_for_ranks(run, n_ranks)
        if requests:
            self.wait_for_requests(run, requests)
        time.sleep(self.chance.uniform(0, most_seconds))
        ended = run.process.poll() is not None
        code, wrote = self.kill_some(run)
        if ended:
            self.assertEqual(code, 0, wrote)
        # What a rank says of a failure is the group's, for others are gone; not the store's.
        for line in wrote.splitlines():
            if line.startswith("cluster_worker"):
                self.assertRegex(line, "group|rank|reach|MPI", wrote)
        return ended

    # ---------------------------------------------------------------- what is left

    def check(self, folder=None, ledger=None):
        """Returns whether a part was behind."""
        folder, ledger = folder or self.folder, ledger or self.ledger
        n_ranks = mpi_ranks.n_parts(folder)
        if mpi_ranks.has_journal(folder, self.place):
            self.seen["journals"] += 1
            if self.chance.random() < 0.4:
                ended = self.kill_within("open", n_ranks, 0.5, pace=30, folder=folder,
                                         ledger=ledger)
                self.seen["kills while a request was finished"] += not ended
        words = self.good("check", n_ranks, folder=folder, ledger=ledger).split()
        result = {words[i]: int(words[i + 1]) for i in range(0, len(words), 2)}
        for name, number in result.items():
            self.seen[name] += number
        self.assertFalse(mpi_ranks.has_journal(folder, self.place))
        # SQLite's journal of a part stays; the next request empties it.
        names = sorted(name for name in os.listdir(folder) if not name.endswith("-journal"))
        self.assertEqual([name.split("-of-")[0] for name in names],
                         ["manifest", *(f"part-{i}" for i in range(n_ranks))])
        mpi_ranks.check_bytes(self, WORKER, [folder], [ledger])

    def kill_work(self):
        pace = self.chance.choice((0, 10, 40, 80))
        self.kill_within("work", mpi_ranks.n_parts(self.folder), 0.05 + pace / 100,
                         requests=self.chance.randint(1, 4), pace=pace)
        self.check()

    def kill_spread(self):
        n_ranks = self.chance.choice((2, 3, 4))
        pace = self.chance.choice((0, 20, 60))
        before = mpi_ranks.read_manifest(self.folder)
        ended = self.kill_within("spread", n_ranks, 0.4 + pace / 200, pace=pace)
        after = mpi_ranks.read_manifest(self.folder)
        self.assertIn(after, (before, (n_ranks, before[1] + 1)))
        self.seen["spreads killed before they were done" if after == before
                  else "spreads killed after it"] += not ended
        self.check()

    def kill_make(self):
        folder, ledger = (os.path.join(self.place, name) for name in ("other", "other-ledger"))
        with open(ledger, "wb"):
            pass
        ended = self.kill_within("make", N_RANKS, 0.6, pace=self.chance.choice((0, 20)),
                                 folder=folder, ledger=ledger)
        if not os.path.exists(os.path.join(folder, "manifest")):
            self.seen["stores not made"] += not ended
            self.good("make", N_RANKS, folder=folder, ledger=ledger)
        else:
            self.seen["stores made"] += not ended
        self.check(folder, ledger)
        shutil.rmtree(folder)

    def test_kills(self):
        seed = SEED if SEED is not None else random.randrange(2 ** 32)
        self.chance.seed(seed)
        begin = time.monotonic()
        with open(self.ledger, "wb"):
            pass
        self.good("make", N_RANKS)
        number = 0
        while self.seen["kills"] < N_KILLS or not self.seen["behind"]:
            what = (self.kill_spread if number % 5 == 3 else
                    self.kill_make if number % 10 == 5 else self.kill_work)
            try:
                what()
            except BaseException:
                print(f"kill {self.seen['kills']}, seed {seed}, left in {self.place}",
                      file=sys.stderr)
                raise
            number += 1
        print(f"seed {seed}, {time.monotonic() - begin:.0f} s, {self.n_asked()} requests: "
              f"{dict(self.seen)}")
        self.is_done = True


if __name__ == "__main__":
    unittest.main()
