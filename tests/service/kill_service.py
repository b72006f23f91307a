#!/usr/bin/python3
"""kill -9 under load: after each restart every acknowledged request is there, and none is half
done. Requests without an answer were done or not, as a whole.

usage: kill_service.py EFFACE-SERVE EFFACE [KILLS] [SEED]
"""
import random
import signal
import sys
import time
import unittest

from acknowledged import Ledger, check_store, end_load, start_load, write_load_files
from service_program import ServiceTest

N_KILLS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 5
SEED = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else None
N_ROWS = 400


class KillTest(ServiceTest):
    def wait_for_answers(self, process):
        """Until the store has changed: a kill before that shows nothing."""
        before = self.good(self.client("read").get("/v1/stores/people"))["receipts"]
        client = self.client("read")
        while process.poll() is None:
            if self.good(client.get("/v1/stores/people"))["receipts"] > before:
                return

    def kill_once(self, ledger, chance, seed):
        """Returns how many requests were on their way when the service was killed."""
        self.start()
        ledger.write_ids(self.path("ids"))
        load = start_load(
            self.folder, self.service.port, self.token("admin"),
            "--mix", "forget=4,learn=4,update=2,predict=2,read=1", "--clients", "16",
            "--id-file", "ids", "--new-id", str(ledger.next_id),
            "--batch", str(chance.choice((1, 1, 3))), "--seed", str(seed))
        try:
            self.wait_for_answers(load)
            time.sleep(chance.uniform(0, 0.15))
            self.assertEqual(self.service.end(signal.SIGKILL), -signal.SIGKILL,
                             self.service.log()[-3000:])
        finally:
            self.service.end(signal.SIGKILL)
            result = end_load(self, load)
        self.assertEqual(result["garbled"], 0)
        self.assertEqual(set(result["statuses"]), {"200"}, result["statuses"])
        ledger.read(self)
        self.start()
        ledger.compare(self)
        shown = self.good(self.client("read").get("/v1/stores/people"))
        self.assertEqual((shown["rows"], shown["receipts"]),
                         (len(ledger.states), len(ledger.receipts)))
        check_store(self)
        self.stop()
        return result["lost"]

    def test_kills(self):
        seed = SEED if SEED is not None else random.randrange(2 ** 32)
        chance = random.Random(seed)
        self.make_store(n_rows=N_ROWS)
        write_load_files(self.folder)
        ledger = Ledger(N_ROWS)
        n_interrupted = 0
        for number in range(N_KILLS):
            try:
                n_interrupted += self.kill_once(ledger, chance, seed + number)
            except BaseException:
                print(f"kill {number}, seed {seed}", file=sys.stderr)
                raise
        self.assertGreater(n_interrupted, 0, "no kill came while a request was on its way")
        rows = len(ledger.states)
        print(f"{N_KILLS} kills, seed {seed}: {len(ledger.receipts)} receipts, {rows} rows, "
              f"without an answer {dict(ledger.unanswered)}")


if __name__ == "__main__":
    unittest.main()
