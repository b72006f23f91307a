"""Jobs: checks of models that go on without the connection, and after a restart. Every reply is
held against openapi.json."""
import json
import os
import random
import signal
import sqlite3
import subprocess
import time
import unittest

import service_program
from contract import Checked, Contract
from service_program import EndedTest

CONTRACT = Contract()
ENDED = ("done", "failed", "cancelled")


def made_up_job(number, **more):
    """A job as the file of jobs has it."""
    return {"job": f"{number:032x}", "kind": "verify", "store": "people", "model": "default",
            "state": "waiting", "part": None, "started": None, "ended": None, **more}


class JobsTest(EndedTest):
    def checked(self, *roles):
        return Checked(self.client(*roles), CONTRACT)

    def verify(self, client, store="people", model="default"):
        """Starts a job and returns its id."""
        reply = client.post(f"/v1/stores/{store}/models/{model}/verify", {})
        job = self.good(reply, 202)["job"]
        self.assertEqual(reply.headers["location"], f"/v1/jobs/{job}")
        self.assertRegex(job, "^[0-9a-f]{32}$")
        return job

    def job(self, client, job):
        return self.good(client.get(f"/v1/jobs/{job}"))

    def wait(self, client, job, until=ENDED):
        """Asks until the job is in one of these states, or has ended."""
        while True:
            answer = self.job(client, job)
            if answer["state"] in (*until, *ENDED):
                return answer
            time.sleep(0.01)

    def commitment(self, store="people.store", model="default"):
        info = json.loads(self.run_program("info", store, "--json"))
        return next(one["commitment"] for one in info["models"] if one["name"] == model)

    def write_jobs(self, jobs):
        with open(self.path("efface.jobs"), "w", encoding="utf-8") as file:
            json.dump(jobs, file)

    def read_jobs(self):
        with open(self.path("efface.jobs"), encoding="utf-8") as file:
            return {job["job"]: job for job in json.load(file)}


class ForgetTest(JobsTest):
    """Forgets of more names than a request may have at once."""

    WHOM = {"ids": list(range(12)) + list(range(1000, 13000)), "owner_keys": ["u3", "nobody"],
            "skip_missing": True}

    def setUp(self):
        super().setUp()
        self.make_store()

    def forget(self):
        reply = self.checked("erase").post("/v1/stores/people/forget", self.WHOM)
        job = self.good(reply, 202)["job"]
        self.assertEqual(reply.headers["location"], f"/v1/jobs/{job}")
        return job

    def names_left(self):
        return [name for name in os.listdir(self.folder)
                if name.startswith("efface.jobs.") and not name.endswith(".lock")]

    def rows(self):
        return self.good(self.checked("read").get("/v1/stores/people"))["rows"]

    def locked(self):
        other = sqlite3.connect(self.path("people.store"), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        self.addCleanup(other.close)
        return other

    def check_done(self, job):
        answer = self.wait(self.checked("erase"), job)
        self.assertEqual((answer["kind"], answer["state"], answer["part"]), ("forget", "done", 1))
        self.assertEqual((answer["names"], answer["model"]), (12014, None))
        self.assertEqual(self.rows(), 60 - 16)
        while self.names_left():
            time.sleep(0.01)
        return answer

    def test_large_forget(self):
        self.start()
        answer = self.check_done(self.forget())
        self.assertEqual((answer["forgotten"], answer["missing"]), (16, 12001))
        self.assertEqual(answer["receipts"][0], 1)
        for model in ("default", "income", "kind"):
            self.run_program("verify", "people.store", "--model", model)
        whole = dict(self.WHOM)
        del whole["skip_missing"]
        self.refused(self.checked("erase").post("/v1/stores/people/forget", whole), 413,
                     "too_long")

    def test_killed(self):
        self.start()
        other = self.locked()
        job = self.forget()
        self.assertEqual(self.names_left(), ["efface.jobs." + job])
        self.assertEqual(os.stat(self.path("efface.jobs." + job)).st_mode & 0o777, 0o600)
        self.service.end(signal.SIGKILL)
        other.close()
        with open(self.path("efface.jobs." + 32 * "a"), "wb") as file:
            file.write(b"left over")
        self.start()
        self.assertLessEqual(set(self.names_left()), {"efface.jobs." + job})
        self.check_done(job)

    def test_a_token_has_a_quarter_of_the_forgets(self):
        self.start()
        other = self.locked()
        for _ in range(4):
            self.forget()
        forget = "/v1/stores/people/forget"
        self.refused(self.checked("erase").post(forget, self.WHOM), 503, "busy")
        self.good(self.checked("admin").post(forget, self.WHOM), 202)
        other.close()

    def test_cancelled(self):
        self.start()
        other = self.locked()
        job = self.forget()
        self.refused(self.checked("read").ask("DELETE", f"/v1/jobs/{job}"), 403, "role")
        client = self.checked("erase")
        self.good(client.ask("DELETE", f"/v1/jobs/{job}"))
        other.close()
        answer = self.wait(client, job)
        self.assertEqual(answer["state"], "cancelled")
        self.assertLess(answer["names"], 12014)
        while self.names_left():
            time.sleep(0.01)


class ShortTest(JobsTest):
    """A store whose checks take moments."""

    def setUp(self):
        super().setUp()
        self.make_store()

    def test_every_model(self):
        self.start()
        client = self.checked("erase")
        ids = []
        for model in ("default", "income", "kind"):
            ids.append(self.verify(client, model=model))
            job = self.wait(client, ids[-1])
            self.assertEqual((job["state"], job["identical"], job["part"], job["what"],
                              job["error"], job["store"], job["model"]),
                             ("done", True, 1, None, None, "people", model))
            self.assertEqual(job["commitment"], self.commitment(model=model))
            self.assertLessEqual(job["started"], job["ended"])
        jobs = self.good(client.get("/v1/jobs"))["jobs"]
        self.assertEqual([job["job"] for job in jobs], ids[::-1])
        self.assertEqual(os.stat(self.path("efface.jobs")).st_mode & 0o777, 0o600)

    def test_refusals(self):
        self.start()
        client = self.checked("read")
        self.refused(client.get("/v1/jobs/0123"), 404, "no_job")
        self.refused(client.ask("DELETE", "/v1/jobs/0123"), 404, "no_job")
        self.refused(client.post("/v1/stores/people/models/nothing/verify", {}), 404, "not_found")
        self.refused(client.post("/v1/stores/nobody/models/default/verify", {}), 404, "no_store")
        self.refused(self.checked("predict").get("/v1/jobs"), 403, "role")
        self.assertEqual(self.good(client.get("/v1/jobs")), {"jobs": []})

    def test_ended_jobs_survive_a_restart(self):
        self.start()
        client = self.checked("read")
        job = self.wait(client, self.verify(client))
        self.stop()
        self.start()
        self.assertEqual(self.job(self.checked("read"), job["job"]), job)

    def test_damaged_rows(self):
        self.start()
        database = sqlite3.connect(self.path("people.store"))
        with database:
            tables = [name for name, in database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '%rows%'")]
            self.assertEqual(len(tables), 1, tables)
            columns = [one[1] for one in database.execute(f"PRAGMA table_info({tables[0]})")
                       if one[2] == "BLOB"]
            database.execute(f"UPDATE {tables[0]} SET {columns[-1]} = zeroblob(length("
                             f"{columns[-1]}))")
        database.close()
        client = self.checked("read")
        job = self.wait(client, self.verify(client))
        self.assertEqual((job["state"], job["error"]["code"], job["identical"], job["commitment"]),
                         ("failed", "damaged", None, None))
        self.assertNotIn(self.folder, job["error"]["message"])

    def test_jobs_of_the_file(self):
        self.write_jobs([made_up_job(1), made_up_job(2, store="nobody"),
                         made_up_job(3, model="nothing"),
                         made_up_job(4, state="running", started="2026-01-31T08:00:00Z")])
        self.start()
        client = self.checked("read")
        for number, state in ((1, "done"), (2, "failed"), (3, "failed"), (4, "done")):
            job = self.wait(client, f"{number:032x}")
            self.assertEqual(job["state"], state, job)
            if state == "failed":
                self.assertEqual(job["error"]["code"], "not_found")

    def test_old_jobs_leave(self):
        self.write_jobs([made_up_job(number, state="cancelled", ended="2026-01-31T08:00:00Z")
                         for number in range(1, 1006)])
        self.start()
        client = self.checked("read")
        new = self.verify(client)
        self.assertEqual(self.wait(client, new)["state"], "done")
        ids = [job["job"] for job in self.good(client.get("/v1/jobs"))["jobs"]]
        self.assertEqual(ids, [new, *(f"{number:032x}" for number in range(1005, 6, -1))])
        self.assertEqual(len(ids), 1000)

    def test_a_token_keeps_a_quarter_of_the_jobs(self):
        ended = {"state": "done", "ended": "2026-01-31T08:00:00Z"}
        self.write_jobs([made_up_job(number, token="erase" if number <= 20 else "read", **ended)
                         for number in range(1, 321)])
        self.start()
        client = self.checked("read")
        self.wait(client, self.verify(client))
        tokens = [job["token"] for job in self.read_jobs().values()]
        self.wait(client, self.verify(client))
        answers = self.good(client.get("/v1/jobs"))["jobs"]
        self.assertEqual(len(answers), 20 + 250)
        self.assertFalse(any("token" in job for job in answers))
        self.assertLess(tokens.count("erase"), tokens.count("read"))

    def test_cancelled_jobs_leave(self):
        """Those that never ran, too."""
        ended = {"state": "done", "ended": "2026-01-31T08:00:00Z", "token": "read"}
        self.write_jobs([made_up_job(number, **ended) for number in range(1, 251)] +
                        [made_up_job(number, token="read", store="none")
                         for number in range(251, 400)])
        self.start()
        client = self.checked("read")
        for number in range(399, 250, -1):
            client.ask("DELETE", f"/v1/jobs/{number:032x}")
        while len(self.good(client.get("/v1/jobs"))["jobs"]) > 250:
            time.sleep(0.01)

    def test_file_of_something_else(self):
        with open(self.path("efface.jobs"), "w", encoding="utf-8") as file:
            file.write("{")
        self.token("read")
        done = subprocess.run([service_program.SERVICE, "serve", "people.store", "--listen",
                               "127.0.0.1:0", "--tokens", "efface.tokens"], cwd=self.folder,
                              text=True, check=False, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("efface.jobs", done.stderr)

    def test_two_services(self):
        """A second one with the same file of tokens would write over the jobs of the first."""
        self.start()
        done = subprocess.run([service_program.SERVICE, "serve", "people.store", "--listen", "127.0.0.1:0",
                               "--tokens", "efface.tokens"], cwd=self.folder, text=True,
                              check=False, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("tokens of its own", done.stderr)

    def test_unwritable_file(self):
        """A job that cannot be written down is not accepted."""
        self.start()
        client = self.checked("read")
        os.mkdir(self.path("efface.jobs.new"))
        self.refused(client.post("/v1/stores/people/models/default/verify", {}), 503, "unavailable")
        self.assertEqual(self.good(client.get("/v1/jobs")), {"jobs": []})
        os.rmdir(self.path("efface.jobs.new"))
        self.assertEqual(self.wait(client, self.verify(client))["state"], "done")


class LongTest(JobsTest):
    """A store whose check takes seconds. If a machine is too quick for a test, it tries again."""

    slow_store = None  # its bytes, made by the first test

    def setUp(self):
        super().setUp()
        if LongTest.slow_store is None:
            self.make_slow_store()
            with open(self.path("slow.store"), "rb") as file:
                LongTest.slow_store = file.read()
        with open(self.path("slow.store"), "wb") as file:
            file.write(LongTest.slow_store)

    def make_slow_store(self):
        chance = random.Random(5)
        with open(self.path("slow.csv"), "w", encoding="utf-8") as file:
            file.write("id,a,b,c\n")
            for number in range(40000):
                file.write(f"{number},{chance.random():.5f},{chance.random():.5f},"
                           f"{chance.random():.5f}\n")
        self.run_program("fit", "slow.csv", "--id", "id", "-k", "400", "--method", "lloyd",
                         "--iters", "1000", "--seed", "3", "-o", "slow.store")

    def begin(self, client):
        """Starts a job and waits until it runs."""
        job = self.verify(client, "slow")
        return job, self.wait(client, job, ("running",))["state"]

    def test_cancel_and_merge(self):
        self.start("slow.store")
        client = self.checked("read")
        for _ in range(10):
            running = [self.begin(client) for _ in range(2)]
            waiting = self.verify(client, "slow")
            again = self.verify(client, "slow")
            first = self.good(client.ask("DELETE", f"/v1/jobs/{waiting}"))
            for job, _ in running:
                self.good(client.ask("DELETE", f"/v1/jobs/{job}"))
            ends = [self.wait(client, job)["state"] for job, _ in running]
            if first["state"] == "cancelled" and ends == ["cancelled", "cancelled"]:
                break
            self.wait(client, waiting)
        # Two run at once, and each is a job of its own; one that waits serves all who ask.
        self.assertEqual(ends, ["cancelled", "cancelled"])
        self.assertNotEqual(running[0][0], running[1][0])
        self.assertNotIn(waiting, [job for job, _ in running])
        self.assertEqual(waiting, again)
        self.assertIsNotNone(first["ended"])
        for job in (waiting, running[0][0]):
            answer = self.good(client.ask("DELETE", f"/v1/jobs/{job}"))
            self.assertEqual((answer["state"], answer["identical"]), ("cancelled", None))
        self.assertEqual(self.wait(client, self.verify(client, "slow"))["identical"], True)

    def test_part_grows(self):
        self.start("slow.store")
        client = self.checked("read")
        job, _ = self.begin(client)
        parts = []
        while True:
            answer = self.job(client, job)
            parts.append(answer["part"] or 0)
            if answer["state"] in ENDED:
                break
            time.sleep(0.01)
        self.assertEqual(parts, sorted(parts))
        self.assertTrue(any(0 < part < 1 for part in parts), parts)

    def ends_and_runs_again(self, how, code):
        """Ends the service while a job runs; the next one runs the job to its end."""
        for _ in range(10):
            self.start("slow.store")
            job, _ = self.begin(self.checked("read"))
            self.assertEqual(self.service.end(how), code, self.service.log())
            if self.read_jobs()[job]["state"] not in ENDED:
                break
        self.assertIn(self.read_jobs()[job]["state"], ("waiting", "running"))
        self.start("slow.store")
        answer = self.wait(self.checked("read"), job)
        self.assertEqual((answer["state"], answer["identical"]), ("done", True))
        self.assertEqual(answer["commitment"], self.commitment("slow.store"))

    def test_killed(self):
        self.ends_and_runs_again(signal.SIGKILL, -signal.SIGKILL)

    def test_stopped(self):
        self.ends_and_runs_again(signal.SIGTERM, 0)

    def test_changes_meanwhile(self):
        """Requests are done while a check runs, and the check is right about what it has read."""
        self.start("slow.store")
        client, eraser = self.checked("read"), self.checked("erase")
        for first in range(0, 10):
            before = self.commitment("slow.store")
            job, _ = self.begin(client)
            self.assertEqual(self.good(eraser.post("/v1/stores/slow/forget",
                                                   {"ids": [first]}))["forgotten"], 1)
            between = self.job(client, job)["state"]
            answer = self.wait(client, job)
            self.assertEqual((answer["state"], answer["identical"]), ("done", True), answer)
            self.assertIn(answer["commitment"], (before, self.commitment("slow.store"), None))
            if between == "running":
                return
        self.fail("no request ended before the check that was there already")


if __name__ == "__main__":
    unittest.main()
