#!/usr/bin/python3
"""What the service keeps of people who were forgotten: its memory is searched for their texts,
numbers and values, and so are all files beside the store.

usage: test_memory.py EFFACE-SERVE EFFACE
"""
import os
import socket
import struct
import time
import unittest

from service_program import ServiceTest

STORE = "/v1/stores/people"
REQUEST = "a7551968-d5d6-44b2-9831-815ac9017798"


def values(number):
    """A row that no other is near: its centroid is the row. Floats of 32 bits hold it."""
    return [1009.3125 * number, 3001.5625 + 2003.8125 * number, 51.0625 * number * number]


class MemoryTest(ServiceTest):
    def setUp(self):
        super().setUp()
        with open(self.path("people.csv"), "w", encoding="utf-8") as file:
            file.write("id,user,age,height,income\n")
            for number in range(1, 9):
                fields = ",".join(str(value) for value in values(number))
                file.write(f"key-of-{number},owner-of-{number},{fields}\n")
        self.run_program("fit", "people.csv", "--id", "id", "--owner", "user", "--keep-texts",
                         "-k", "8", "--seed", "11", "-o", "people.store")
        os.remove(self.path("people.csv"))
        self.start()
        self.admin = self.client("admin")

    def person(self, number):
        """What to look for of a person."""
        row = self.good(self.admin.post(STORE + "/find", {"keys": [f"key-of-{number}"]}))["rows"][0]
        self.assertEqual(row["values"], values(number))
        return {"key": f"key-of-{number}".encode(), "owner key": f"owner-of-{number}".encode(),
                "id": struct.pack("<Q", int(row["id"])), "id in digits": row["id"].encode(),
                "owner": struct.pack("<Q", int(row["owner"])),
                "owner in digits": row["owner"].encode(),
                "values": struct.pack("<3f", *values(number)),
                "age": struct.pack("<d", values(number)[0]),
                "height": struct.pack("<d", values(number)[1]),
                "income": struct.pack("<d", values(number)[2])}

    def find_in_memory(self, person):
        """The names of what is in the memory of the service."""
        found = set()
        try:
            with open(f"/proc/{self.service.process.pid}/mem", "rb", 0) as memory, \
                    open(f"/proc/{self.service.process.pid}/maps", encoding="utf-8") as maps:
                for line in maps:
                    ends, rights = line.split()[:2]
                    if not rights.startswith("rw"):
                        continue
                    begin, end = (int(text, 16) for text in ends.split("-"))
                    memory.seek(begin)
                    content = memory.read(end - begin)
                    found |= {name for name, sought in person.items() if sought in content}
        except PermissionError:
            self.skipTest("the system does not show the memory of other processes")
        return found

    def find_in_files(self, person):
        found = set()
        for folder, _, names in os.walk(self.folder):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    content = file.read()
                found |= {(name, what) for what, sought in person.items() if sought in content}
        return found

    def check_gone(self, person):
        """Threads overwrite what they had a moment after the reply; old models go when the writer
        has looked at the store, which it does every second."""
        until = time.monotonic() + 20
        while (found := self.find_in_memory(person)) and time.monotonic() < until:
            time.sleep(0.2)
        self.assertEqual(found, set())
        self.assertEqual(self.find_in_files(person), set())

    def predict(self):
        self.good(self.admin.post(STORE + "/models/default/predict", {"rows": [values(1)]}))

    def test_forgotten_by_the_service(self):
        person = self.person(3)
        self.predict()
        self.good(self.admin.post(STORE + "/preview", {"keys": ["key-of-3"]}))
        self.good(self.admin.post(STORE + "/forget", {"owner_keys": ["owner-of-3"]}))
        self.check_gone(person)

    def test_forgotten_by_another_process(self):
        person = self.person(4)
        self.predict()
        self.good(self.admin.post(STORE + "/forget", {"keys": ["key-of-5"]}))
        self.assertTrue(self.find_in_memory(person))  # the writer keeps rows
        self.run_program("forget", "people.store", "--owner", "owner-of-4", "--yes")
        self.check_gone(person)

    def test_learned_and_forgotten(self):
        row = {"key": "key-of-20", "owner_key": "owner-of-20", "values": values(20)}
        self.good(self.admin.post(STORE + "/learn", {"rows": [row]}))
        person = self.person(20)
        self.good(self.admin.post(STORE + "/forget", {"keys": ["key-of-20"]}))
        self.check_gone(person)

    def test_requests_that_break_off(self):
        person = self.person(6)
        body = b'{"keys":["key-of-6"],"owner_keys":["owner-of-6"]}'
        with socket.create_connection(("127.0.0.1", self.service.port)) as connection:
            connection.sendall(f"POST {STORE}/forget HTTP/1.1\r\n"
                               f"Host: localhost:{self.service.port}\r\n"
                               f"Authorization: Bearer {self.token('admin')}\r\n"
                               "Content-Type: application/json\r\n"
                               f"Content-Length: {len(body) + 1}\r\n\r\n".encode() + body)
            time.sleep(0.3)
        self.good(self.admin.post(STORE + "/forget", {"keys": ["key-of-6"]}))
        self.check_gone(person)

    def test_opendsr(self):
        person = self.person(7)
        reply = self.admin.post("/opendsr/v2/requests", {
            "subject_request_id": REQUEST, "subject_request_type": "erasure",
            "submitted_time": "2026-01-01T00:00:00Z", "subject_identities": [
                {"identity_type": "controller_customer_id", "identity_format": "raw",
                 "identity_value": "owner-of-7"}]})
        self.good(reply, 201)
        path = "/opendsr/v2/requests/" + REQUEST
        while self.good(self.admin.get(path))["request_status"] != "completed":
            time.sleep(0.02)
        self.check_gone(person)

    def test_many_people_of_an_opendsr_request(self):
        people = [self.person(number) for number in range(1, 8)]
        reply = self.admin.post("/opendsr/v2/requests", {
            "subject_request_id": REQUEST, "subject_request_type": "erasure",
            "submitted_time": "2026-01-01T00:00:00Z", "subject_identities": [
                {"identity_type": "controller_customer_id", "identity_format": "raw",
                 "identity_value": f"owner-of-{number % 7 + 1}"} for number in range(100)]})
        self.good(reply, 201)
        path = "/opendsr/v2/requests/" + REQUEST
        while self.good(self.admin.get(path))["request_status"] != "completed":
            time.sleep(0.02)
        for person in people:
            self.check_gone(person)


if __name__ == "__main__":
    unittest.main()
