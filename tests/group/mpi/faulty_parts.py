#!/usr/bin/python3
"""A store in parts of which one part is in trouble, while no process dies: its disk is full or
read-only, its file is missing, from an older backup or of another store; and groups that work on
one store at the same time. What fails says on which rank and why, and changes nothing, unless the
request was decided; when all is in order again, so is the store.

usage: faulty_parts.py EFFACE-MPI EFFACE CLUSTER-WORKER [SEED]
The disks are mounted in mount namespaces of the test's own. Where that is not allowed, the exit
code is 77.
"""
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PRIVATE = "EFFACE_TEST_PRIVATE_MOUNTS"
if __name__ == "__main__" and PRIVATE not in os.environ:
    os.environ[PRIVATE] = "1"
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False,
                                           stderr=subprocess.DEVNULL).returncode != 0:
        print("no mounts are allowed here", file=sys.stderr)
        sys.exit(77)
    os.execvp("unshare", ["unshare", "-m", sys.executable, "-B", *sys.argv])

import mpi_ranks

EFFACE_MPI, EFFACE, WORKER = sys.argv[1:4] if len(sys.argv) > 3 else (None, None, None)
del sys.argv[1:4]
SEED = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else None
N_RANKS = 3
BUSY, DAMAGED = 5, 6
DECIDED = "the request is done in part 0"

# Each rank sees a folder of its own at the path of the disk.
WRAPPER = """#!/bin/sh
exec unshare -m sh -c '
    mount --bind {place}/disk-$OMPI_COMM_WORLD_RANK {place}/disk && exec "$@"' sh "$@"
"""


class PartsTest(mpi_ranks.PlacedTest):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="faulty_parts-")
        self.addCleanup(shutil.rmtree, self.place)
        self.folder = self.path("disk/parts")
        for name in ("disk", *(f"disk-{rank}" for rank in range(N_RANKS))):
            os.mkdir(self.path(name))
        self.wrapper = self.write("wrapper", WRAPPER)
        os.chmod(self.wrapper, 0o755)
        self.draw(SEED)

    # ---------------------------------------------------------------- both stores

    def start(self, *command, wrapper=()):
        run = mpi_ranks.Run(N_RANKS, command, self.place, wrapper=wrapper)
        self.addCleanup(run.kill_all)
        return run

    def try_mpi(self, *arguments):
        code, said, wrong = self.start(EFFACE_MPI, *arguments, wrapper=[self.wrapper]).end()
        return code, said, "\n".join(line for line in wrong.splitlines()
                                     if line.startswith("efface-mpi"))

    def mpi(self, *arguments):
        code, said, wrong = self.try_mpi(*arguments)
        self.assertEqual(code, 0, said + wrong)
        return said

    def refused(self, code, pattern, *arguments):
        result = self.try_mpi(*arguments)
        self.assertEqual(result[0], code, result)
        self.assertRegex(result[2], pattern)
        return result[2]

    def plain(self, *arguments):
        return subprocess.run([EFFACE, *arguments], check=True, capture_output=True, text=True,
                              cwd=self.place).stdout

    def write_rows(self, name, ids):
        lines = ["id,person,x,y,z"]
        for i in ids:
            values = random.Random(i)
            lines.append(f"{i},{i // 3}," +
                         ",".join(f"{i % 4 * 5 + values.random():.6f}" for _ in range(3)))
        return self.write(name, "\n".join(lines) + "\n")

    def learn(self, first, n):
        return ("learn", "STORE", self.write_rows("more.csv", range(first, first + n)),
                "--id", "id", "--owner", "person")

    def forget(self, *ids):
        return ("forget", "STORE", "--yes", *(word for i in ids for word in ("--id", str(i))))

    def in_parts(self, command):
        return [self.folder if word == "STORE" else word for word in command]

    def do_plainly(self, command):
        self.plain(*("plain.store" if word == "STORE" else word for word in command))

    def begin(self):
        fit = ("fit", self.write_rows("rows.csv", range(600)), "--id", "id", "--owner", "person",
               "-k", "5", "--method", "pyramid", "--seed", "7", "-o")
        self.mpi(*fit, self.folder)
        self.plain(*fit, "plain.store")
        self.good_both(self.forget(3))

    def compare(self):
        self.assertEqual(self.mpi("digest", self.folder), self.plain("digest", "plain.store"))

    def good_both(self, command):
        self.mpi(*self.in_parts(command))
        self.do_plainly(command)
        self.compare()

    def end(self):
        self.mpi("verify", self.folder)
        self.mpi("check", self.folder)

    def part(self, rank):
        return self.path(f"disk-{rank}/parts/part-{rank}-of-{N_RANKS}.0.efface")

    # ---------------------------------------------------------------- disks

    def mount(self, *arguments):
        subprocess.run(["mount", *arguments], check=True)

    def mount_memory(self, rank):
        disk = self.path(f"disk-{rank}")
        self.mount("-t", "tmpfs", "-o", "size=6m", "none", disk)
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=False)
        return disk

    def fill(self, disk, leave):
        """Fills the disk, but for so many bytes."""
        stat = os.statvfs(disk)
        with open(os.path.join(disk, "filler"), "wb") as file:
            os.posix_fallocate(file.fileno(), 0, stat.f_bavail * stat.f_frsize - leave)

    def do_on_full_disk(self, rank, disk, leave, command):
        """Returns what became of it."""
        self.fill(disk, leave)
        code, said, wrong = self.try_mpi(*self.in_parts(command))
        if code != 0:
            self.assertRegex(wrong, rf"rank {rank}: .*full")
            if DECIDED not in wrong:
                self.compare()  # nothing has changed
        os.remove(os.path.join(disk, "filler"))
        if code == 0 or DECIDED in wrong:
            self.do_plainly(command)
        return "done" if code == 0 else "decided" if DECIDED in wrong else "refused"

    def check_full_disk(self, rank):
        became = {"done": 0, "decided": 0, "refused": 0}
        disk = self.mount_memory(rank)
        self.begin()
        for i, leave in enumerate((0, 4096, 16384, 32768, 65536, 131072, 262144)):
            result = self.do_on_full_disk(rank, disk, leave, self.learn(10000, 1500))
            became[result] += 1
            # The next request finishes one that is decided.
            self.good_both(self.forget(*range(10 * i + 10, 10 * i + 14)))
            if result != "refused":
                self.good_both(self.forget(*range(10000, 11500)))
            became[self.do_on_full_disk(rank, disk, leave // 4, self.forget(
                *range(10 * i + 100, 10 * i + 105)))] += 1
            self.good_both(self.forget(10 * i + 200))
        self.end()
        print(f"disk of rank {rank} full: {became}")
        self.assertGreater(became["refused"] + became["decided"], 2)

    def test_full_disk_of_rank_0(self):
        self.check_full_disk(0)

    def test_full_disk_of_rank_1(self):
        self.check_full_disk(1)

    def test_read_only(self):
        disks = [self.mount_memory(rank) for rank in range(N_RANKS)]
        self.begin()
        for rank, disk in enumerate(disks):
            self.mount("-o", "remount,ro", disk)
            for command in (self.forget(20), self.learn(10000, 2)):
                self.refused(1, rf"rank {rank}: .*(read-?only|written)", *self.in_parts(command))
            self.compare()
            self.mount("-o", "remount,rw", disk)
            self.good_both(self.forget(30 + rank))
        self.end()

    # ---------------------------------------------------------------- files

    def test_missing(self):
        self.begin()
        for rank in range(N_RANKS):
            os.rename(self.part(rank), self.path("away"))
            for command in (["digest", self.folder], self.in_parts(self.forget(20))):
                self.refused(1, rf"rank {rank}: .*part-{rank}", *command)
            os.rename(self.path("away"), self.part(rank))
            self.assertFalse(glob.glob(self.path("disk-[12]/parts/manifest")))
            self.good_both(self.forget(20 + rank))
        self.end()

    def test_older_part(self):
        self.begin()
        old = [shutil.copy(self.part(rank), self.path(f"old-{rank}")) for rank in range(N_RANKS)]
        old_plain = shutil.copy(self.path("plain.store"), self.path("old-plain"))
        for n_requests in (1, 2):
            self.good_both(self.forget(50 + n_requests))
            for rank in range(N_RANKS):
                shutil.copy(self.part(rank), self.path("new"))
                shutil.copy(old[rank], self.part(rank))
                for command in (["digest", self.folder], ["verify", self.folder],
                                self.in_parts(self.forget(20)), self.in_parts(self.learn(1000, 2)),
                                ["spread", self.folder]):
                    self.refused(DAMAGED, "different age", *command)
                shutil.copy(self.path("new"), self.part(rank))
                self.compare()
        # All of them from one backup are a store.
        for rank in range(N_RANKS):
            shutil.copy(old[rank], self.part(rank))
        shutil.copy(old_plain, self.path("plain.store"))
        self.good_both(self.forget(60))
        self.end()

    def test_part_of_another_store(self):
        self.begin()
        for rank in range(N_RANKS):
            shutil.move(self.path(f"disk-{rank}/parts"), self.path(f"disk-{rank}/others"))
        os.remove(self.path("plain.store"))
        self.begin()
        for rank in range(N_RANKS):
            shutil.copy(self.part(rank), self.path("own"))
            shutil.copy(self.part(rank).replace("/parts/", "/others/"), self.part(rank))
            for command in (["digest", self.folder], self.in_parts(self.forget(20))):
                self.refused(DAMAGED, rf"rank {rank}: .*is not part {rank} of this store", *command)
            shutil.copy(self.path("own"), self.part(rank))
        self.good_both(self.forget(60))
        self.end()

    # ---------------------------------------------------------------- groups at the same time

    def start_work(self, lane, n_requests, pace=10):
        return self.start(WORKER, "work", self.path("shared"), self.path(f"ledger-{lane}"), pace,
                          self.chance.randrange(2 ** 32), lane, 2, n_requests)

    def count_lines(self, lane, letter):
        with open(self.path(f"ledger-{lane}"), encoding="ascii") as file:
            return sum(line.startswith(letter) for line in file)

    def check_both(self):
        """The request that has no answer, if any, is of lane 0."""
        code, said, wrong = self.start(
            WORKER, "check", self.path("shared"), self.path("ledger-0"), 0, 0,
            self.path("ledger-1")).end()
        self.assertEqual(code, 0, wrong)
        mpi_ranks.check_bytes(self, WORKER, [self.path("shared")],
                              [self.path("ledger-0"), self.path("ledger-1")])
        return said

    def begin_lanes(self):
        for lane in range(2):
            self.write(f"ledger-{lane}", "")
        code, _, wrong = self.start(WORKER, "make", self.path("shared"), self.path("ledger-0"), 0,
                                    0).end()
        self.assertEqual(code, 0, wrong)

    def test_two_groups(self):
        """Two groups write, and others read. Nobody waits for ever."""
        self.begin_lanes()
        writers = [self.start_work(lane, 60) for lane in range(2)]
        n_read = n_busy = 0
        while any(run.process.poll() is None for run in writers):
            code, _, wrong = self.start(EFFACE_MPI, "digest", self.path("shared")).end()
            self.assertIn(code, (0, BUSY), wrong)
            n_read += code == 0
            n_busy += code == BUSY
        for run in writers:
            code, _, wrong = run.end()
            self.assertEqual(code, 0, wrong)
        self.check_both()
        print(f"two groups: {[self.count_lines(lane, 'd') for lane in range(2)]} requests done, "
              f"{[self.count_lines(lane, 'u') for lane in range(2)]} busy; read {n_read} times, "
              f"{n_busy} busy")

    def test_one_of_two_groups_dies(self):
        """What it left undone, the other finishes."""
        self.begin_lanes()
        counts = {}
        for _ in range(8):
            other = self.start_work(1, 20)
            run = self.start_work(0, 10 ** 6, pace=60)
            before = self.count_lines(0, "a")
            n_requests = self.chance.randint(1, 3)
            while run.process.poll() is None and \
                    self.count_lines(0, "a") < before + n_requests:
                time.sleep(0.001)
            time.sleep(self.chance.uniform(0, 0.6))
            for pid in run.pids():
                mpi_ranks.kill(pid)
            run.bury()
            code, _, wrong = other.end()
            self.assertEqual(code, 0, wrong)
            for name, number in re.findall(r"(\S+) (\d)", self.check_both()):
                counts[name] = counts.get(name, 0) + int(number)
        print(f"one of two groups died 8 times: {counts}")


if __name__ == "__main__":
    unittest.main()
