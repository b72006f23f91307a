#!/usr/bin/python3
"""A long mixed load: rows are learned, updated and forgotten, and models asked, for a given time.
Memory must not grow after a warm-up; at the end all models are identical with a fresh fit, through
the service's own jobs, and every acknowledged request has its receipt.

usage: soak.py EFFACE-SERVE EFFACE [--seconds S] [--rows N] [--clients N] [--rate N] [--report FILE]
"""
import argparse
import json
import os
import sys
import threading
import time
import unittest

from acknowledged import Ledger, check_store, end_load, start_load, write_load_files
from service_program import ServiceTest

parser = argparse.ArgumentParser()
parser.add_argument("--seconds", type=float, default=60)
parser.add_argument("--rows", type=int, default=20000)
parser.add_argument("--clients", type=int, default=32)
parser.add_argument("--rate", type=float, default=0, help="requests a second; 0: all it can do")
parser.add_argument("--mix", default="predict=60,read=2,learn=15,forget=15,update=8")
parser.add_argument("--warm-up", type=float, default=0.25, help="part of the time that may grow")
parser.add_argument("--growth", type=float, default=0.05,
                    help="part of its memory by which the service may grow after the warm-up")
parser.add_argument("--report", default=None)
OPTIONS, REST = parser.parse_known_args(sys.argv[1:])


def slope(samples):
    """Bytes a second, by least squares through (seconds, bytes)."""
    n = len(samples)
    middle = sum(time_ for time_, _ in samples) / n, sum(size for _, size in samples) / n
    spread = sum((time_ - middle[0]) ** 2 for time_, _ in samples)
    return sum((time_ - middle[0]) * (size - middle[1]) for time_, size in samples) / spread


class SoakTest(ServiceTest):
    def setUp(self):
        super().setUp()
        self.samples = []
        self.ended = threading.Event()

    def sample(self):
        """Memory, about three hundred times."""
        begin = time.monotonic()
        while not self.ended.wait(OPTIONS.seconds / 300):
            self.samples.append((time.monotonic() - begin, self.service.memory()))

    def verify_all(self):
        """A job for each model; returns what they say."""
        client = self.client("read")
        names = [model["name"] for model in
                 self.good(client.get("/v1/stores/people"))["models"]]
        jobs = {name: self.good(client.post(f"/v1/stores/people/models/{name}/verify"), 202)["job"]
                for name in names}
        results = {}
        for name, job in jobs.items():
            while True:
                state = self.good(client.get("/v1/jobs/" + job))
                if state["state"] not in ("waiting", "running"):
                    break
                time.sleep(0.1)
            results[name] = state
            self.assertEqual((state["state"], state["identical"]), ("done", True), state)
        return results

    def report(self, result, ledger):
        late = [sample for sample in self.samples
                if sample[0] >= OPTIONS.warm_up * OPTIONS.seconds]
        growth = slope(late)
        begun = late[0][0]
        levels = [size for _, size in late]
        report = {
            "seconds": OPTIONS.seconds, "rows_at_begin": OPTIONS.rows,
            "rows_at_end": sum(states != {None} for states in ledger.states.values()),
            "acknowledged_changes": len(ledger.receipts),
            "refused": dict(ledger.refused), "load": result,
            "memory": {"after_warm_up_bytes": levels[0], "least": min(levels),
                       "most": max(levels), "at_end": levels[-1],
                       "bytes_a_second": growth,
                       "grown_part": growth * (late[-1][0] - begun) / levels[0],
                       "samples": self.samples[::max(1, len(self.samples) // 60)]},
            "store_bytes": os.path.getsize(self.path("people.store")),
        }
        return report

    def test_soak(self):
        self.make_store(n_rows=OPTIONS.rows)
        write_load_files(self.folder)
        self.start()
        ledger = Ledger(OPTIONS.rows)
        ledger.write_ids(self.path("ids"))
        load = start_load(self.folder, self.service.port, self.token("admin"),
                          "--mix", OPTIONS.mix, "--clients", str(OPTIONS.clients),
                          "--id-file", "ids", "--new-id", str(ledger.next_id),
                          "--seconds", str(OPTIONS.seconds), "--rate", str(OPTIONS.rate),
                          "--sync", self.folder)
        sampler = threading.Thread(target=self.sample)
        sampler.start()
        try:
            result = end_load(self, load)
        finally:
            load.kill()
            self.ended.set()
            sampler.join()
        self.assertIsNone(self.service.process.poll(), self.service.log()[-3000:])
        ledger.read(self)
        report = self.report(result, ledger)
        self.addCleanup(self.write_report, report)
        self.assertEqual(set(result["statuses"]), {"200"}, result["statuses"])
        self.assertEqual((result["lost"], result["garbled"]), (0, 0))
        ledger.compare(self)
        report["receipts_compared"] = len(ledger.receipts)
        report["verified"] = {name: state["identical"]
                              for name, state in self.verify_all().items()}
        check_store(self)
        self.stop()
        self.assertLess(report["memory"]["grown_part"], OPTIONS.growth, "memory grows")

    def write_report(self, report):
        if OPTIONS.report:
            with open(OPTIONS.report, "w", encoding="utf-8") as file:
                file.write(json.dumps(report, indent=1) + "\n")
        del report["memory"]["samples"]
        print(json.dumps(report, indent=1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + REST)
