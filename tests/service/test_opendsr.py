"""OpenDSR: discovery, erasure requests, their status and cancellation, signatures, what is left of a
request on the disk, and what becomes of it if the service dies. Every reply is held against
openapi.json."""
import base64
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import time
import unittest
import uuid

import service_program
from contract import Checked, Contract
from service_program import SERVICE, ServiceTest

CONTRACT = Contract()
BASE = "/opendsr/v2"
DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "use",
                    "opendsr.md")
JSON = {"Content-Type": "application/json"}
KEPT = "efface.opendsr"  # the folder that goes with efface.tokens


def person(value, kind="controller_customer_id", form="raw"):
    return {"identity_type": kind, "identity_value": value, "identity_format": form}


def erasure(*people, **changed):
    """A request as controllers send it."""
    request = {"regulation": "gdpr", "subject_request_id": str(uuid.uuid4()),
               "subject_request_type": "erasure", "submitted_time": "2026-11-01T15:00:00Z",
               "subject_identities": [person(value) for value in people], "api_version": "2.0"}
    request.update(changed)
    return {name: value for name, value in request.items() if value is not None}


class DsrTest(ServiceTest):
    """Owners of the store `people` are the texts u0, u1, ...; each has four rows. Owners of the
    store `numbers` are numbers. Stores and tokens are made once, and copied for each test."""

    made = {}  # stores and the file of tokens: their bytes
    made_tokens = {}

    def make_small(self, name="people.store", owner="u{}", n_rows=24):
        if (owner, n_rows) not in self.made:
            self.fit_small(name, owner, n_rows)
            with open(self.path(name), "rb") as file:
                self.made[owner, n_rows] = file.read()
        with open(self.path(name), "wb") as file:
            file.write(self.made[owner, n_rows])
        return name

    def fit_small(self, name, owner, n_rows):
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            file.write("id,user,x,y\n")
            for number in range(n_rows):
                file.write(f"{number},{owner.format(number // 4)},{number % 5},{number % 3}\n")
        self.run_program("fit", "rows.csv", "--id", "id", "--owner", "user", "-k", "3", "--seed",
                         "11", "-o", name)
        os.remove(self.path("rows.csv"))

    def setUp(self):
        super().setUp()
        self.make_small()
        if not self.made_tokens:
            for role in service_program.ROLES:
                self.made_tokens[role,] = self.token(role)
            with open(self.path("efface.tokens"), "rb") as file:
                self.made["tokens"] = file.read()
        self.tokens = dict(self.made_tokens)
        with open(os.open(self.path("efface.tokens"), os.O_WRONLY | os.O_CREAT, 0o600),
                  "wb") as file:
            file.write(self.made["tokens"])

    def caller(self, *roles):
        return Checked(self.client(*roles), CONTRACT)

    def create(self, request, status=201):
        """Sends a request; returns the reply."""
        reply = self.caller("erase").post(BASE + "/requests", request, headers=JSON)
        self.assertEqual(reply.status, status, reply)
        return reply

    def status(self, request):
        reply = self.caller("read").get(f"{BASE}/requests/{request['subject_request_id']}")
        return self.good(reply)

    def wait(self, request, *states):
        """Asks until the request has one of these states; returns what the status says then."""
        while True:
            status = self.status(request)
            if status["request_status"] in (states or ("completed",)):
                return status
            time.sleep(0.01)

    def erase(self, request):
        self.create(request)
        return self.wait(request)

    def rows(self, store="people"):
        return self.good(self.caller("read").get("/v1/stores/" + store))["rows"]

    @contextlib.contextmanager
    def locked(self, store="people.store"):
        """While this lasts, nobody can write the store."""
        other = sqlite3.connect(self.path(store), isolation_level=None)
        other.execute("begin immediate")
        try:
            yield
        finally:
            other.close()

    def kept(self):
        """The names of the files of requests."""
        return sorted(os.listdir(self.path(KEPT)))

    def assert_nowhere(self, *texts):
        """No file beside the service has one of these texts, in clear or as base64."""
        wanted = [text.encode() for text in texts]
        wanted += [base64.b64encode((" " * shift + text).encode())[4:-4]
                   for text in texts for shift in range(3)]
        n_files = 0
        for folder, _, names in os.walk(self.folder):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    content = file.read()
                n_files += 1
                for text in wanted:
                    self.assertNotIn(text, content, name)
        self.assertGreater(n_files, 4)


class DiscoveryTest(DsrTest):
    def test_discovery(self):
        self.start()
        for role in service_program.ROLES:
            reply = self.caller(role).get(BASE + "/discovery")
            self.assertEqual(self.good(reply), {
                "api_version": "2.0",
                "supported_identities": [{"identity_type": "controller_customer_id",
                                          "identity_format": "raw"}],
                "supported_subject_request_types": ["erasure"],
                "processor_certificate": None})
            self.assertEqual(reply.headers["x-opendsr-processor-domain"], "127.0.0.1")
            self.assertNotIn("x-opendsr-signature", reply.headers)
        self.refused(self.caller("read").get(BASE + "/certificate"), 404)

    def test_refusals_have_the_form_of_opendsr(self):
        self.start()
        requests, one = BASE + "/requests", f"{BASE}/requests/{uuid.uuid4()}"
        cases = [(None, "GET", BASE + "/discovery", 401), (None, "POST", requests, 401),
                 ("read", "POST", requests, 403), ("predict", "POST", requests, 403),
                 ("predict", "GET", one, 403), ("read", "DELETE", one, 403),
                 ("predict", "DELETE", one, 403), ("read", "GET", one, 404),
                 ("erase", "GET", one, 404), ("admin", "GET", one, 404),
                 ("erase", "DELETE", one, 404), ("admin", "DELETE", one, 404),
                 ("erase", "POST", requests, 400), ("admin", "POST", requests, 400)]
        for role, method, path, status in cases:
            with self.subTest(role=role, method=method, path=path):
                caller = self.caller(*[role] if role else [])
                reply = caller.ask(method, path, b"{}" if method == "POST" else None, headers=JSON)
                self.refused(reply, status, status)
                self.assertEqual(reply.json["error"]["errors"][0]["domain"], "efface")


class CreationTest(DsrTest):
    def test_request_is_done(self):
        self.start()
        request = erasure("u2")
        body = json.dumps(request, indent=2)
        reply = self.create(body)
        created = reply.json
        self.assertEqual(created["subject_request_id"], request["subject_request_id"])
        self.assertEqual(created["controller_id"], "erase")
        self.assertEqual(base64.b64decode(created["encoded_request"]).decode(), body)
        self.assertLess(created["received_time"], created["expected_completion_time"])
        self.assertEqual(reply.headers["x-opendsr-processor-domain"], "127.0.0.1")
        status = self.wait(request)
        self.assertEqual(status["results_count"], 4)
        self.assertEqual(status["controller_id"], "erase")
        self.assertEqual(status["expected_completion_time"], created["expected_completion_time"])
        ours = status["extensions"]["efface"]
        self.assertEqual(ours["receipts"], [{"store": "people", "receipt": 1}])
        self.assertEqual(ours["received_time"], created["received_time"])
        self.assertLessEqual(ours["received_time"], ours["completed_time"])
        self.assertFalse(ours["interrupted"])
        self.assertEqual(self.rows(), 20)
        receipt = self.good(self.caller("read").get("/v1/stores/people/receipts/1"))
        self.assertIn('"forget"', json.dumps(receipt))
        self.stop()
        self.run_program("show", "people.store", "--owner", "u2", code=4)
        self.run_program("verify", "people.store")

    def test_same_request_again(self):
        self.start()
        body = json.dumps(erasure("u1"))
        request = json.loads(body)
        first = self.create(body)
        self.assertEqual(self.create(body).body, first.body)
        self.wait(request)
        self.assertEqual(self.create(body).body, first.body)
        self.stop()
        self.start()
        self.assertEqual(self.create(body).body, first.body)
        self.assertEqual(self.wait(request)["results_count"], 4)
        self.assertEqual(self.rows(), 20)
        for other in (body + " ", json.dumps({**request, "regulation": "ccpa"})):
            self.refused(self.create(other, 400), 400, 400)
        self.refused(self.create({**request, "subject_identities": [person("u5")]}, 400), 400)
        self.assertEqual(self.rows(), 20)

    def test_nobody_of_that_name(self):
        self.start()
        status = self.erase(erasure("nobody"))
        self.assertEqual(status["results_count"], 0)
        self.assertEqual(status["extensions"]["efface"]["receipts"], [])
        self.assertEqual(self.rows(), 24)

    def test_several_stores(self):
        """A text is an owner where owners are texts; digits are one where they are numbers."""
        self.make_small("numbers.store", "{}")
        self.make_small("more.store")
        self.start("people.store", "numbers.store", "more.store")
        status = self.erase(erasure("u3"))
        self.assertEqual(status["results_count"], 8)
        self.assertEqual(status["extensions"]["efface"]["receipts"],
                         [{"store": "people", "receipt": 1}, {"store": "more", "receipt": 1}])
        self.assertEqual([self.rows(name) for name in ("people", "numbers", "more")], [20, 24, 20])
        status = self.erase(erasure("3", "u0", "3", "-1", "99999999999999999999"))
        self.assertEqual(status["results_count"], 12)
        self.assertEqual([self.rows(name) for name in ("people", "numbers", "more")], [16, 20, 16])
        self.stop()
        self.run_program("show", "numbers.store", "--owner", "3", code=4)
        for store in ("people.store", "numbers.store", "more.store"):
            self.run_program("verify", store)

    def test_other_identities_are_not_looked_at(self):
        self.start()
        identities = [person("u1", "email"), person("u2", form="sha256"), person("u3")]
        status = self.erase(erasure(subject_identities=identities))
        self.assertEqual(status["results_count"], 4)
        self.stop()
        self.run_program("show", "people.store", "--owner", "u1")
        self.run_program("show", "people.store", "--owner", "u3", code=4)

    def test_fields_that_may_be_missing_or_vary(self):
        self.start()
        for changed in ({"regulation": None}, {"regulation": "ccpa"}, {"api_version": None},
                        {"api_version": "2"}, {"status_callback_urls": []}, {"unknown": [1]},
                        {"extensions": {"efface.example": {"a": 1}}},
                        {"submitted_time": "2024-02-29t23:59:60.25+05:30"},
                        {"submitted_time": "2024-12-31T00:00:00-00:00"}):
            with self.subTest(changed=changed):
                self.create(erasure("nobody", **changed))

    def test_bad_requests(self):
        self.start()
        right = str(uuid.uuid4())
        v1 = right[:14] + "1" + right[15:]
        variant = right[:19] + "c" + right[20:]
        secret = "secret-name"
        bad = [{"subject_request_id": value} for value in
               (None, 7, "", v1, variant, right.upper() + "A", right + "0", right[:-1],
                "{" + right[1:-1] + "}", "a" * 32)]
        bad += [{"subject_request_type": value} for value in (None, "access", "portability", 1)]
        bad += [{"submitted_time": value} for value in
                (None, 7, "", "yesterday", "2026-11-01", "2026-11-01T15:00:00",
                 "2026-13-01T15:00:00Z", "2026-02-29T15:00:00Z", "2026-11-01T24:00:00Z",
                 "2026-11-01T15:00:00.Z", "2026-11-01T15:00:00+24:00", "2026-11-01T15:00:00Zz",
                 "2026-11-01 15:00:00Z")]
        bad += [{"regulation": value} for value in ("lgpd", 1, "GDPR")]
        bad += [{"api_version": value} for value in ("1.0", "3", "20", "2.", "2.x", 2)]
        bad += [{"status_callback_urls": value} for value in (["http://127.0.0.1/"], "x", {})]
        bad += [{"extensions": []}]
        bad += [{"subject_identities": value} for value in
                (None, [], {}, "x", [7], [{}], [person(secret, "email")],
                 [person(secret, form="md5")], [person("")], [person("x" * 1025)], [person(7)],
                 [person(secret)] * 101, [{**person(secret), "identity_format": None}])]
        for changed in bad:
            with self.subTest(changed=changed):
                reply = self.create(erasure(secret, **changed), 400)
                self.refused(reply, 400, 400)
                self.assertNotIn(secret, reply.body.decode())
        for body in (b"", b"[]", b"{", b"null", b'{"a":1,"a":2}', b"\xff\xfe", b"[" * 5000,
                     json.dumps(erasure("u1\0u2")).encode()):
            with self.subTest(body=body[:20]):
                self.refused(self.create(body, 400), 400, 400)
        self.refused(self.create(erasure("u1", padding="x" * 70000), 413), 413, 413)
        self.assertEqual(self.rows(), 24)
        self.assertFalse(os.path.exists(self.path(KEPT)))


class SignatureTest(DsrTest):
    def setUp(self):
        super().setUp()
        self.run_program("receipt", "keys", "--secret", "signing.key", "--public", "signing.pub")
        self.start(options=("--sign", "signing.key"))

    def run_docs(self, first, code=0, **environment):
        """Runs the block of docs/use/opendsr.md that begins like this."""
        with open(DOCS, encoding="utf-8") as file:
            blocks = re.findall(r"```sh\n(.*?)```", file.read(), re.S)
        script, = [block for block in blocks if block.startswith(first)]
        done = subprocess.run(["sh", "-e"], input=script, cwd=self.folder, text=True, check=False,
                              capture_output=True, env={**os.environ, **environment})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def verify(self, reply, code=0):
        """Verifies a signature as docs/use/opendsr.md says."""
        with open(self.path("head"), "w", encoding="utf-8") as file:
            file.writelines(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        with open(self.path("body"), "wb") as file:
            file.write(reply.body)
        self.run_docs("openssl dgst", code)

    def test_all_replies_are_signed(self):
        caller = self.caller("erase")
        discovery = caller.get(BASE + "/discovery")
        address = self.good(discovery)["processor_certificate"]
        self.assertEqual(address, f"http://127.0.0.1:{self.service.port}{BASE}/certificate")
        key = caller.get(BASE + "/certificate")
        self.assertEqual(key.status, 200)
        with open(self.path("key.pem"), "wb") as file:
            file.write(key.body)
        der = subprocess.run(["openssl", "pkey", "-pubin", "-in", "key.pem", "-outform", "DER"],
                             cwd=self.folder, check=True, capture_output=True).stdout
        with open(self.path("signing.pub"), encoding="ascii") as file:
            self.assertEqual(der[-32:].hex(), file.read().strip())
        self.verify(discovery)
        request = erasure("u1")
        self.verify(self.create(request))
        self.wait(request)
        status = caller.get(f"{BASE}/requests/{request['subject_request_id']}")
        self.verify(status)
        status.body = status.body.replace(b'"results_count":4', b'"results_count":5')
        self.verify(status, code=1)
        receipt = caller.get("/v1/stores/people/receipts/1")
        with open(self.path("receipt.json"), "wb") as file:
            file.write(receipt.body.strip() + b"\n")
        self.run_program("receipt", "verify", "receipt.json", "--public-key", "signing.pub")

    def test_docs(self):
        """What docs/use/opendsr.md shows, in its order."""
        with open(DOCS, encoding="utf-8") as file:
            request = re.search(r"```json\n(.*?)```", file.read(), re.S)[1]
        with open(self.path("request.json"), "w", encoding="utf-8") as file:
            file.write(request)
        with open(self.path("authorization"), "w", encoding="ascii") as file:
            file.write(f"Authorization: Bearer {self.token('erase')}\n")
        more = {"SERVICE": f"http://127.0.0.1:{self.service.port}",
                "ID": json.loads(request)["subject_request_id"]}
        created = json.loads(self.run_docs("curl -sf -H @authorization -H", **more))
        self.assertEqual(created["subject_request_id"], more["ID"])
        self.assertEqual(self.wait(json.loads(request))["results_count"], 4)
        self.run_docs("curl -sf -H @authorization \"$SERVICE", **more)
        self.run_docs("openssl dgst", **more)

    def test_cancellation_is_signed(self):
        with open(self.path("key.pem"), "wb") as file:
            file.write(self.caller("read").get(BASE + "/certificate").body)
        with self.locked():
            begun, waits = erasure("u1"), erasure("u2")
            self.create(begun)
            self.wait(begun, "in_progress")
            self.create(waits)
            self.verify(self.caller("erase").ask(
                "DELETE", f"{BASE}/requests/{waits['subject_request_id']}"))


class EndTest(DsrTest):
    """How requests end, and what is left of them."""

    def delete(self, request):
        return self.caller("erase").ask("DELETE",
                                        f"{BASE}/requests/{request['subject_request_id']}")

    def test_cancellation(self):
        self.start()
        begun, waits = erasure("u1"), erasure("u2")
        with self.locked():
            self.create(begun)
            self.wait(begun, "in_progress")
            self.create(waits)
            self.assertEqual(self.status(waits)["request_status"], "pending")
            self.refused(self.delete(begun), 409, 409)
            cancelled = self.good(self.delete(waits), 202)
            self.assertEqual(cancelled["subject_request_id"], waits["subject_request_id"])
            self.assertEqual(self.status(waits)["request_status"], "cancelled")
            self.assertNotIn(waits["subject_request_id"] + ".pending", self.kept())
            self.good(self.delete(waits), 202)
        self.assertEqual(self.wait(begun)["results_count"], 4)
        self.refused(self.delete(begun), 409, 409)
        self.stop()
        self.start()
        self.create(waits)
        self.assertEqual(self.status(waits)["request_status"], "cancelled")
        self.assertEqual(self.rows(), 20)

    def test_nothing_personal_is_left(self):
        self.make_small("named.store", "secret-name-{}")
        self.start("named.store")
        self.good(self.caller("erase").get(BASE + "/discovery"))
        done, cancelled = erasure("secret-name-2"), erasure("secret-name-4", "secret-name-9")
        with self.locked("named.store"):
            self.create(done)
            self.wait(done, "in_progress")
            self.create(cancelled)
            for request in (done, cancelled):  # other names, to see the bytes after the removal
                name = request["subject_request_id"]
                os.link(self.path(f"{KEPT}/{name}.pending"), self.path(name))
                with open(self.path(name), "rb") as file:
                    self.assertIn(b"secret-name-", file.read())
            self.good(self.delete(cancelled), 202)
        self.wait(done)
        self.assertEqual(self.kept(), ["ended.jsonl", "key", "lock"])
        self.assert_nowhere("secret-name")
        self.assertEqual(stat.S_IMODE(os.stat(self.path(KEPT)).st_mode), 0o700)
        for name in self.kept():
            self.assertEqual(stat.S_IMODE(os.stat(self.path(f"{KEPT}/{name}")).st_mode), 0o600)
        self.stop()
        self.assert_nowhere("secret-name")

    def test_service_dies(self):
        """Killed when a request has begun and another waits: both are done after the start."""
        self.start()
        begun, waits = erasure("u1"), erasure("u2")
        with self.locked():
            first = self.create(begun)
            self.wait(begun, "in_progress")
            self.create(waits)
            self.service.end(signal.SIGKILL)
        self.assertEqual(len(self.kept()), 5)
        with open(self.path(f"{KEPT}/{uuid.uuid4()}.new"), "w", encoding="utf-8") as file:
            file.write('{"people":["u3')  # a request that was never acknowledged
        self.start()
        for request in (begun, waits):
            status = self.wait(request)
            self.assertEqual(status["results_count"], 4)
            self.assertTrue(status["extensions"]["efface"]["interrupted"])
        self.assertEqual(self.create(begun).body, first.body)
        self.assertEqual(self.rows(), 16)
        self.assertEqual(self.kept(), ["ended.jsonl", "key", "lock"])

    def test_store_is_older_than_the_requests(self):
        """A restored store has rows of people again whose request is completed."""
        self.start()
        self.erase(erasure("u1"))
        shutil.copy(self.path("people.store"), self.path("backup"))
        self.erase(erasure("u2"))
        self.stop()
        self.start()
        self.stop()
        shutil.copy(self.path("people.store"), self.path("newest"))
        shutil.copy(self.path("backup"), self.path("people.store"))
        with self.assertRaisesRegex(AssertionError, "people does not have the receipt 2"):
            self.start()
        # Another receipt has that number by now, and the store has more of them.
        for number in (12, 16):
            self.run_program("forget", "people.store", "--id", str(number), "--yes")
        with self.assertRaisesRegex(AssertionError, "people does not have the receipt 2"):
            self.start()
        shutil.copy(self.path("newest"), self.path("people.store"))
        self.run_program("forget", "people.store", "--id", "12", "--yes")
        self.start()
        self.assertEqual(self.rows(), 15)
        self.stop()
        shutil.copy(self.path("backup"), self.path("people.store"))
        os.rename(self.path(KEPT), self.path("requests of before"))
        self.start()
        self.assertEqual(self.rows(), 20)

    def test_service_ends_in_the_middle(self):
        """SIGTERM waits for what was accepted."""
        self.start()
        requests = [erasure(f"u{number}") for number in range(5)]
        for request in requests:
            self.create(request)
        self.stop()
        self.assertEqual(self.kept(), ["ended.jsonl", "key", "lock"])
        self.start()
        for request in requests:
            self.assertEqual(self.status(request)["results_count"], 4)
        self.assertEqual(self.rows(), 4)

    def test_service_died_while_it_wrote_an_end(self):
        """The line of the end counts if it is whole; otherwise the request is done again."""
        self.start()
        request = erasure("u1")
        pending = self.path(f"{KEPT}/{request['subject_request_id']}.pending")
        with self.locked():
            self.create(request)
            self.wait(request, "in_progress")
            with open(pending, "rb") as file:
                before = file.read()
        self.wait(request)
        self.stop()
        for left in (before, bytes(20) + before[20:], bytes(len(before))):
            with open(pending, "wb") as file:
                file.write(left)
            self.start()
            self.assertEqual(self.status(request)["results_count"], 4)
            self.assertFalse(os.path.exists(pending))
            self.stop()
        with open(self.path(KEPT + "/ended.jsonl"), "r+b") as file:
            file.truncate(os.path.getsize(self.path(KEPT + "/ended.jsonl")) - 1)
        with open(pending, "wb") as file:
            file.write(before)
        self.start()
        self.assertEqual(self.wait(request)["results_count"], 0)
        self.assertFalse(os.path.exists(pending))
        self.stop()
        with open(self.path(KEPT + "/ended.jsonl"), encoding="utf-8") as file:
            self.assertEqual([json.loads(line)["id"] for line in file],
                             [request["subject_request_id"]])


class TroubleTest(DsrTest):
    def replace(self, name, text):
        os.rename(self.path(name), self.path("away.store"))
        with open(self.path(name), "wb") as file:
            file.write(text)

    def damage_rows(self, name):
        """A store whose rows are not what its digests say; everything else is in order."""
        shutil.copy(self.path(name), self.path("away.store"))
        store = sqlite3.connect(self.path(name))
        store.execute("update rows set weight = 2")
        store.commit()
        store.close()

    def test_store_that_cannot_be_read(self):
        self.check_trouble(lambda name: self.replace(name, b"not a database"))

    def test_store_that_cannot_be_changed(self):
        self.check_trouble(self.damage_rows)

    def check_trouble(self, damage):
        """The other store is done; the request is completed when both are."""
        self.make_small("more.store")
        self.start("people.store", "more.store")
        request = erasure("u1")
        damage("more.store")
        self.create(request)
        while self.rows() != 20:
            time.sleep(0.01)
        status = self.status(request)
        self.assertEqual(status["request_status"], "in_progress")
        self.assertNotIn("results_count", status)
        os.replace(self.path("away.store"), self.path("more.store"))
        status = self.wait(request)
        self.assertEqual(status["results_count"], 8)
        self.assertEqual(sorted(receipt["store"]
                                for receipt in status["extensions"]["efface"]["receipts"]),
                         ["more", "people"])

    def test_request_that_cannot_be_written(self):
        self.start()
        with open(self.path(KEPT), "wb"):
            pass
        request = erasure("u1")
        self.refused(self.create(request, 503), 503, 503)
        self.refused(self.caller("read").get(f"{BASE}/requests/{request['subject_request_id']}"),
                     404)
        self.assertEqual(self.rows(), 24)
        os.remove(self.path(KEPT))
        self.assertEqual(self.erase(request)["results_count"], 4)

    def test_files_belong_to_one_service(self):
        self.start()
        self.erase(erasure("u1"))
        second = [SERVICE, "serve", "people.store", "--listen", "127.0.0.1:0", "--tokens",
                  "efface.tokens"]
        done = subprocess.run(second, cwd=self.folder, text=True, check=False, capture_output=True)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("another service", done.stderr)
        self.stop()
        with open(self.path(KEPT + "/ended.jsonl"), "r+b") as file:
            file.write(b"X")
        done = subprocess.run(second, cwd=self.folder, text=True, check=False, capture_output=True)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("damaged", done.stderr)
        shutil.rmtree(self.path(KEPT))
        self.start()


if __name__ == "__main__":
    unittest.main()
