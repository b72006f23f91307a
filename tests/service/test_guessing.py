"""Whoever has all files of a service, keys included, cannot test guesses of whom it has forgotten.

The guessing program knows what it looks for: the names of those who were forgotten, and the very
bodies that named them. It hashes each under every string of 16 and of 32 bytes that stands in any
file, as bytes or as hexadecimal digits, and under no key, and looks for the hash among the strings.
It does find somebody who is there: their mark in the store.
"""
import base64
import hashlib
import json
import os
import re
import time
import unittest

from service_program import EndedTest, write_people

LENGTHS = (16, 32)


class Strings:
    """All strings of a key's length in the files of a folder, without those that are left out."""

    def __init__(self, folder, without):
        self.files = {}
        for place, _, names in os.walk(folder):
            for name in set(names) - set(without):
                with open(os.path.join(place, name), "rb") as file:
                    self.files[name] = file.read()
        self.keys = {n: set() for n in LENGTHS}
        for content in self.files.values():
            for n in LENGTHS:
                self.keys[n].update(content[i:i + n] for i in range(len(content) - n + 1))
                for digits in re.findall(rb"[0-9a-f]{%d,}" % (2 * n), content):
                    self.keys[n].update(bytes.fromhex(digits[i:i + 2 * n].decode())
                                        for i in range(len(digits) - 2 * n + 1))
        # A random key has few bytes twice.
        self.likely = [key for n in LENGTHS for key in self.keys[n] if 3 * len(set(key)) > 2 * n]
        self.whole = b"\n".join(self.files.values())

    def has(self, found):
        return (found in self.keys[len(found)]
                or base64.urlsafe_b64encode(found).rstrip(b"=") in self.whole)

    def tells(self, guess):
        """Whether a hash of the guess stands somewhere."""
        for n in LENGTHS:
            if self.has(hashlib.blake2b(guess, digest_size=n).digest()):
                return True
            for key in self.likely:
                if self.has(hashlib.blake2b(guess, digest_size=n, key=key).digest()):
                    return True
        return self.has(hashlib.sha256(guess).digest())


class GuessingTest(EndedTest):
    def setUp(self):
        super().setUp()
        write_people(self.path("people.csv"), range(40))
        self.run_program("fit", "people.csv", "--id", "id", "--owner", "user", "--label", "kind",
                         "-k", "2", "-o", "people.store")

    def owner_number(self, name):
        rows = self.good(self.client("read").post("/v1/stores/people/find", {"owner_keys": [name]}))
        return int(rows["rows"][0]["owner"])

    def post(self, path, body, status):
        """Sends the very bytes, and returns the answer."""
        return self.good(self.client("erase").post(path, body,
                                                   headers={"Content-Type": "application/json"}),
                         status)

    def wait(self, path, member, wanted):
        while self.good(self.client("erase").get(path))[member] != wanted:
            time.sleep(0.01)

    def test_nobody_who_was_forgotten_can_be_guessed(self):
        self.start(options=("--log-all",))
        people = {name: self.owner_number(name) for name in ("u1", "u2", "u3", "u4")}
        bodies = [json.dumps({"owner_keys": ["u1"]}),
                  json.dumps({"owner_keys": ["u2"], "ids": list(range(10**6, 10**6 + 10000)),
                              "skip_missing": True}),
                  json.dumps({"subject_request_id": "a7c0f3a4-5a52-4b6c-9f0e-0c9a54c1d0a7",
                              "subject_request_type": "erasure",
                              "submitted_time": "2026-11-01T15:00:00Z",
                              "subject_identities": [{"identity_type": "controller_customer_id",
                                                      "identity_format": "raw",
                                                      "identity_value": "u3"}]})]
        self.post("/v1/stores/people/forget", bodies[0], 200)
        job = self.post("/v1/stores/people/forget", bodies[1], 202)["job"]
        self.wait(f"/v1/jobs/{job}", "state", "done")
        self.post("/opendsr/v2/requests", bodies[2], 201)
        self.wait(f"/opendsr/v2/requests/{json.loads(bodies[2])['subject_request_id']}",
                  "request_status", "completed")
        self.stop()
        strings = Strings(self.folder, ("people.csv", "efface.tokens"))
        self.assertLessEqual({"people.store", "efface.jobs", "ended.jsonl", "key", "efface.audit",
                              "service.log"}, set(strings.files))
        self.assertTrue(strings.tells(b"u4"))
        for guess in (b"u1", b"u2", b"u3", *(body.encode() for body in bodies)):
            self.assertFalse(strings.tells(guess), guess[:80])
        for name in ("u1", "u2", "u3"):
            number = people[name]
            for form in (number.to_bytes(8, "little"), number.to_bytes(8, "big"), b"%d" % number):
                self.assertNotIn(form, strings.whole)
        self.assertIn(people["u4"].to_bytes(8, "big"), strings.whole)

    def test_no_length_tells_names_apart(self):
        """What the log has of requests whose names have other lengths is the same."""
        self.start()
        client = self.client("read")
        for name in ("n", 200 * "n"):
            self.good(client.post("/v1/stores/people/find", {"owner_keys": [name]}))
        self.stop()
        lines = [json.loads(line) for line in self.service.log().splitlines()]
        found = [{key: value for key, value in line.items() if key not in ("time", "milliseconds")}
                 for line in lines if line.get("action") == "find"]
        self.assertEqual(len(found), 2)
        self.assertEqual(found[0], found[1])


if __name__ == "__main__":
    unittest.main()
