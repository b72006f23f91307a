#!/usr/bin/python3
"""Who may call what: every operation of serve/api/openapi.json with each role, without a token, and
with tokens that are wrong, have expired or were revoked. What is expected stands in the document
(x-efface-roles).

usage: test_roles.py EFFACE-SERVE EFFACE
"""
import hashlib
import json
import os
import subprocess
import time
import unittest

from service_program import ROLES, SERVICE, ServiceTest

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "serve", "api",
                        "openapi.json")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
NOBODY = ("no token", "wrong token", "no bearer", "expired", "revoked")

PARTS = {"store": "people", "model": "default", "table": "centroids", "number": "1",
         "job": "none", "id": "a7551968-d5d6-44b2-9831-815ac9017798", "file": "page.css"}

# Bodies that do something where the role is right.
BODIES = {
    "predict": {"rows": [[30, 160, 40]]},
    "find": {"ids": [3]},
    "preview": {"ids": [3]},
    "forget": {"ids": [3]},
    "learn": {"rows": [{"id": 900, "values": [30, 160, 40], "label": "red"}]},
    "update": {"rows": [{"id": 4, "values": [31, 161, 41]}]},
    "verify_receipts": {},
    "opendsr_create": {
        "regulation": "gdpr", "subject_request_id": PARTS["id"],
        "subject_request_type": "erasure", "submitted_time": "2026-01-31T10:20:30Z",
        "api_version": "2.0",
        "subject_identities": [{"identity_type": "controller_customer_id",
                                "identity_value": "u5", "identity_format": "raw"}]},
}


def operations():
    """(method, path with its parts filled in, operation) for each operation of the document."""
    with open(DOCUMENT, encoding="utf-8") as file:
        document = json.load(file)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path.format(**PARTS), operation


class RolesTest(ServiceTest):
    def setUp(self):
        super().setUp()
        self.make_store()
        self.start()
        late = self.make_token("late", "admin", expires="1s")
        gone = self.make_token("gone", "admin")
        self.headers = {"no token": {},
                        "wrong token": {"Authorization": "Bearer efface_" + 43 * "A"},
                        "no bearer": {"Authorization": "Basic " + self.token("admin")},
                        "expired": {"Authorization": "Bearer " + late},
                        "revoked": {"Authorization": "Bearer " + gone}}
        for role in ROLES:
            self.headers[role] = {"Authorization": "Bearer " + self.token(role)}
        self.wait_until("revoked", lambda reply: reply.status == 200)  # not yet
        done = subprocess.run([SERVICE, "token", "revoke", "gone", "--tokens", "efface.tokens"],
                              cwd=self.folder, check=False, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait_until("revoked", lambda reply: reply.status == 401)
        self.wait_until("expired", lambda reply: reply.status == 401 and
                        reply.json["error"]["code"] == "expired_token")

    def wait_until(self, who, holds):
        """The service looks at the file of tokens now and then."""
        while not holds(self.call("GET", "/v1/me", who)):
            time.sleep(0.02)

    def call(self, method, path, who, body=None):
        client = self.service.client()
        try:
            return client.ask(method, path, body, headers=self.headers[who])
        finally:
            client.close()

    def call_operation(self, method, path, operation, who):
        return self.call(method, path, who, BODIES.get(operation["operationId"]))

    def digest_of_store(self):
        with open(self.path("people.store"), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    def test_matrix(self):
        listed = list(operations())
        self.assertGreater(len(listed), 25)
        before = self.digest_of_store()
        n_refused = n_allowed = 0
        for method, path, operation in listed:
            roles = operation["x-efface-roles"]
            self.assertLessEqual(set(roles), {"any", *ROLES}, path)
            may = {role for role in ROLES if "any" in roles or role in roles or role == "admin"}
            for who in NOBODY:
                with self.subTest(method=method, path=path, who=who):
                    reply = self.call_operation(method, path, operation, who)
                    if roles:
                        self.refused(reply, 401)
                        n_refused += 1
                    else:
                        self.assertEqual(reply.status, 200, reply)
            for who in ROLES:
                if roles and who not in may:
                    with self.subTest(method=method, path=path, who=who):
                        reply = self.call_operation(method, path, operation, who)
                        self.refused(reply, 403)
                        n_refused += 1
        self.assertEqual(self.digest_of_store(), before, "a refused request has changed the store")
        for method, path, operation in listed:
            roles = operation["x-efface-roles"]
            for who in ROLES:
                if not roles or "any" in roles or who in roles or who == "admin":
                    with self.subTest(method=method, path=path, who=who):
                        reply = self.call_operation(method, path, operation, who)
                        self.assertNotIn(reply.status, (401, 403, 405, 501), reply)
                        self.assertLess(reply.status, 500, reply)
                        n_allowed += 1
        self.assertNotEqual(self.digest_of_store(), before, "nothing has reached the store")
        self.assertGreater(n_refused, 150)
        self.assertGreater(n_allowed, 50)

    def test_secrets_stay(self):
        """No answer and no log line has a token in it."""
        for method, path, operation in operations():
            for who in ("admin", "expired", "revoked", "wrong token"):
                reply = self.call_operation(method, path, operation, who)
                self.assertNotIn(self.headers[who]["Authorization"][14:].encode(), reply.body)
        self.stop()
        files = [os.path.join(folder, name) for folder, _, names in os.walk(self.folder)
                 for name in names]
        self.assertGreater(len(files), 3)
        for path in files:
            with open(path, "rb") as file:
                content = file.read()
            for who, header in self.headers.items():
                if header:
                    self.assertNotIn(header["Authorization"].split()[1][7:].encode(), content,
                                     f"{path} has the token of {who}")

    def test_unknown_paths_and_methods(self):
        """Without a token nothing tells which paths there are; with one, 404 and 405."""
        taken = {}
        for method, path, _ in operations():
            taken.setdefault(path, set()).add(method)
        for path in ("/v2/stores", "/v1", "/v1/", "/v1/stores/people/", "/v1/stores/people/erase",
                     "/v1/health/x", "/v1/stores//forget", "/etc/passwd", "/page/../v1/stores",
                     "/v1/%2e%2e/stores", "/v1/stores/people%00", "/page/%2e%2e%2fmain.c",
                     "/opendsr/v1/discovery", "//v1/stores", "/favicon.ico"):
            with self.subTest(path=path):
                self.assertIn(self.call("GET", path, "no token").status, (400, 401, 404))
                self.assertIn(self.call("GET", path, "admin").status, (400, 404))
        for path, methods in taken.items():
            for method in METHODS:
                if method in methods or (method == "HEAD" and "GET" in methods):
                    continue
                with self.subTest(path=path, method=method):
                    self.assertIn(self.call(method, path, "no token").status, (401, 405, 501))
                    reply = self.call(method, path, "admin")
                    self.assertIn(reply.status, (405, 501), reply)
                    if reply.status == 405:
                        allowed = {name.strip() for name in reply.headers["allow"].split(",")}
                        self.assertLessEqual(methods, allowed)
                        self.assertNotIn(method, allowed)

    def test_other_stores_and_models(self):
        for path in ("/v1/stores/nobody", "/v1/stores/people/models/nothing",
                     "/v1/stores/people/models/default/tables/nothing", "/v1/jobs/nothing",
                     "/v1/stores/people/receipts/999", "/page/nothing.js"):
            with self.subTest(path=path):
                self.refused(self.call("GET", path, "admin"), 404)
        for path in ("/v1/stores/nobody/forget", "/v1/stores/nobody/learn"):
            with self.subTest(path=path):
                self.refused(self.call("POST", path, "admin", BODIES["forget"]), 404)


if __name__ == "__main__":
    unittest.main()
