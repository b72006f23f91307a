#!/usr/bin/python3
"""Disks that are full or read-only: a request is answered with 507 or 503 and changes nothing,
reading and predicting go on, and when the disk is in order again, so is the service, without a
restart. Nothing that was acknowledged is lost.

usage: faulty_disks.py EFFACE-SERVE EFFACE
The disks are mounted in a mount namespace of the test's own. Where that is not allowed, the exit
code is 77.
"""
import os
import shutil
import subprocess
import sys
import time
import unittest

PRIVATE = "EFFACE_TEST_PRIVATE_MOUNTS"
if __name__ == "__main__" and PRIVATE not in os.environ:
    os.environ[PRIVATE] = "1"
    options = "-m" if os.geteuid() == 0 else "-rm"
    if subprocess.run(["unshare", options, "true"], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        print("no mounts are allowed here", file=sys.stderr)
        sys.exit(77)
    os.execvp("unshare", ["unshare", options, sys.executable, "-B", *sys.argv])

from acknowledged import (Ledger, check_store, end_load, new_row, read_rows, start_load,
                          write_load_files)
from service_program import ServiceTest, row

N_ROWS = 400
PREDICT = "/v1/stores/people/models/default/predict"


def mount(*arguments):
    return subprocess.run(["mount", *arguments], check=False, capture_output=True,
                          text=True).returncode == 0


class DisksTest(ServiceTest):
    def setUp(self):
        super().setUp()
        self.disk = self.path("disk")
        self.fillers = 0
        os.mkdir(self.disk)
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=False,
                        capture_output=True)

    def begin(self):
        """The store lies on the disk, and nothing else does."""
        self.make_store("disk/people.store", n_rows=N_ROWS)
        write_load_files(self.folder)
        self.start("disk/people.store")
        self.admin = self.client("admin")

    def change(self, kind, body):
        return self.admin.post(f"/v1/stores/people/{kind}", body)

    def learn(self, first, count):
        rows = []
        for number in range(first, first + count):
            values, label, owner = new_row(number)
            rows.append({"id": number, "values": values, "label": label, "owner_key": owner})
        return self.change("learn", {"rows": rows})

    def check_reading(self):
        self.good(self.admin.post(PREDICT, {"rows": [[30, 160, 40]]}))
        return self.good(self.admin.get("/v1/stores/people"))

    def fill(self, leave):
        """Fills the disk, but for so many bytes."""
        self.empty()
        stat = os.statvfs(self.disk)
        count = stat.f_bavail * stat.f_frsize - leave
        with open(os.path.join(self.disk, "filler"), "wb", buffering=0) as file:
            written = 0
            try:
                while written < count:
                    written += file.write(b"x" * min(65536, count - written))
            except OSError:
                pass

    def empty(self):
        if os.path.exists(os.path.join(self.disk, "filler")):
            os.remove(os.path.join(self.disk, "filler"))

    def mount_memory(self):
        if not mount("-t", "tmpfs", "-o", "size=6m", "none", self.disk):
            self.skipTest("tmpfs cannot be mounted here")

    def test_full(self):
        self.mount_memory()
        self.begin()
        expected = read_rows(self, "disk/people.store")
        next_id, n_full, n_done = 10000, 0, 0
        for leave in (0, 4096, 20000, 60000, 100000, 200000, 400000):
            before = self.check_reading()
            self.fill(leave)
            for kind, ids in (("learn", range(next_id, next_id + 600)), ("forget", [n_done])):
                reply = (self.learn(next_id, 600) if kind == "learn"
                         else self.change("forget", {"ids": list(ids)}))
                if reply.status == 507:
                    n_full += 1
                    self.refused(reply, 507)
                else:
                    self.good(reply)
                    self.assertGreater(leave, 0)
                    n_done += kind == "forget"
                    next_id += 600 if kind == "learn" else 0
            after = self.check_reading()
            if leave == 0:
                self.assertEqual(after, before)
            # The same again when there is space.
            self.empty()
            self.good(self.learn(next_id, 600))
            next_id += 600
            self.good(self.change("forget", {"ids": [n_done]}))
            n_done += 1
            self.good(self.change("forget", {"ids": list(range(10000, next_id))}))
            next_id = 10000
            self.run_program("check", "disk/people.store")
        self.assertGreater(n_full, 2)
        for number in range(n_done):
            del expected[number]
        self.assertEqual(read_rows(self, "disk/people.store"), expected)
        check_store(self, "disk/people.store")
        self.stop()

    def test_full_under_load(self):
        """The disk becomes full and empty again while sixteen clients change the store."""
        self.mount_memory()
        self.begin()
        ledger = Ledger(N_ROWS)
        ledger.write_ids(self.path("ids"))
        load = start_load(self.folder, self.service.port, self.token("admin"),
                          "--mix", "forget=3,learn=4,update=2,predict=2", "--clients", "16",
                          "--id-file", "ids", "--new-id", str(ledger.next_id), "--batch", "4",
                          "--seconds", "2")
        try:
            number = 0
            while load.poll() is None:
                self.fill((0, 30000, 5000, 90000)[number % 4])
                time.sleep(0.15)
                self.empty()
                time.sleep(0.15)
                number += 1
        finally:
            load.kill()
            result = end_load(self, load)
        self.empty()
        self.assertLessEqual(set(result["statuses"]), {"200", "507", "404"}, result["statuses"])
        self.assertIn("507", result["statuses"])
        self.assertEqual((result["lost"], result["garbled"]), (0, 0))
        ledger.read(self)
        self.assertLessEqual(set(ledger.refused), {507})
        ledger.compare(self, "disk/people.store")
        self.good(self.learn(10 ** 7, 10))
        check_store(self, "disk/people.store")
        self.stop()

    def check_read_only(self):
        """The disk is read-only now."""
        before = self.check_reading()
        for reply in (self.change("forget", {"ids": [1]}), self.learn(10000, 3),
                      self.change("update", {"rows": [{"id": 2, "values": row(5)}]})):
            self.refused(reply, 503)
            self.assertIn("retry-after", reply.headers)
        self.assertEqual(self.check_reading(), before)

    def check_writable_again(self):
        self.good(self.change("forget", {"ids": [1]}))
        self.good(self.learn(10000, 3))
        self.good(self.change("update", {"rows": [{"id": 2, "values": row(5)}]}))
        self.assertEqual(self.check_reading()["rows"], N_ROWS - 1 + 3)
        check_store(self, "disk/people.store")
        self.stop()

    def test_read_only(self):
        """The folder of the store becomes read-only. What the service has open it may still write;
        but it needs a journal."""
        self.mount_memory()
        self.begin()
        self.good(self.change("forget", {"ids": [0]}))
        self.good(self.learn(20000, 1))
        self.assertTrue(mount("--bind", self.disk, self.disk))
        self.assertTrue(mount("-o", "remount,bind,ro", self.disk))
        self.check_read_only()
        subprocess.run(["umount", "-l", self.disk], check=True)
        self.good(self.change("forget", {"ids": [20000]}))
        self.good(self.learn(20001, 1))
        self.check_writable_again()

    def test_failing_disk(self):
        """A file system that becomes read-only by itself, because of an error, while the service
        has the store open to write. It is then repaired and mounted again."""
        path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
        make, repair = (shutil.which(name, path=path) for name in ("mkfs.ext4", "e2fsck"))
        image = self.path("image")
        with open(image, "wb") as file:
            file.truncate(16 << 20)
        if not make or not repair or \
                subprocess.run([make, "-q", image], check=False).returncode != 0 or \
                not mount("-o", "loop", image, self.disk):
            self.skipTest("no file system can be mounted from a file here")
        self.begin()
        self.good(self.change("forget", {"ids": [0]}))
        self.good(self.learn(20000, 1))
        mount("-o", "remount,abort", self.disk)  # an error is what it asks for
        with self.assertRaises(OSError):
            os.mkdir(os.path.join(self.disk, "more"))
        self.check_read_only()
        subprocess.run(["umount", "-l", self.disk], check=True)  # the service may read it still
        fixed = subprocess.run([repair, "-p", image], check=False, capture_output=True)
        self.assertIn(fixed.returncode, (0, 1), fixed.stdout)
        self.refused(self.change("forget", {"ids": [1]}), 503)  # there is no such file now
        self.assertTrue(mount("-o", "loop", image, self.disk))
        self.good(self.change("forget", {"ids": [20000]}))
        self.good(self.learn(20001, 1))
        self.check_writable_again()


if __name__ == "__main__":
    unittest.main()
