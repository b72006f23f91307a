#!/usr/bin/python3
"""Connections to the service: limits, bodies and their lengths, clients that are slow or break off,
and how the service ends.

usage: test_connections.py EFFACE-SERVE EFFACE
"""
import gzip
import json
import os
import re
import select
import signal
import socket
import sqlite3
import struct
import threading
import time
import unittest

from service_program import ServiceTest

FORGET = "/v1/stores/people/forget"


def receive(connection):
    """All that comes until the other side ends it."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


class ConnectionTest(ServiceTest):
    def setUp(self):
        super().setUp()
        self.make_store()

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.service.port), timeout=60)
        self.addCleanup(connection.close)
        return connection

    def head(self, method="GET", path="/v1/me", role="read", more=""):
        token = f"Authorization: Bearer {self.token(role)}\r\n" if role else ""
        return (f"{method} {path} HTTP/1.1\r\nHost: localhost:{self.service.port}\r\n{token}"
                f"Content-Type: application/json\r\n{more}\r\n").encode()

    def raw(self, request):
        """Sends bytes, ends its side of nothing, and returns what came until the service ended the
        connection; or, for a reply that does not end it, the reply."""
        connection = self.connect()
        connection.sendall(request)
        reply = b""
        while b"\r\n\r\n" not in reply:
            part = connection.recv(65536)
            if not part:
                break
            reply += part
        connection.close()
        return reply

    def status(self, request):
        reply = self.raw(request)
        return int(reply.split(b" ", 2)[1]) if reply else 0

    # ------------------------------------------------------------ limits

    def test_bodies_that_are_too_long(self):
        self.start(options=("--most-body", "1000"))
        erase = self.client("erase")
        body = b'{"ids":[1]' + b" " * 988 + b"}"
        self.assertEqual(len(body), 999)
        self.good(erase.post(FORGET, body + b" ", headers={"Content-Type": "application/json"}))
        self.refused(erase.post(FORGET, body + b"  ", headers={"Content-Type": "application/json"}),
                     413, "too_long")
        # Refused before the body is sent.
        for length in (10**6, 10**12, 10**25):
            reply = self.raw(self.head("POST", FORGET, "erase", f"Content-Length: {length}\r\n"))
            self.assertEqual(reply.split(b" ", 2)[1], b"413", reply)
        # In chunks, which do not say their sum.
        chunk = b"3e8\r\n" + b" " * 1000 + b"\r\n"
        head = self.head("POST", FORGET, "erase", "Transfer-Encoding: chunked\r\n")
        self.assertEqual(self.status(head + chunk + b"1\r\n \r\n0\r\n\r\n"), 413)
        self.assertEqual(self.status(head + b"b\r\n{\"ids\":[2]}\r\n0\r\n\r\n"), 200)
        connection = self.connect()
        connection.sendall(head)
        sent = 0
        with self.assertRaises(OSError):
            while sent < 10**7:
                connection.sendall(chunk)
                sent += 1000
        self.assertLess(sent, 10**7)
        self.good(erase.post(FORGET, {"ids": [3]}))

    def test_packed_bodies_that_are_too_long(self):
        """What is counted of a CSV that is packed is what it unpacks to, in all its parts."""
        self.start(options=("--most-body", "100000"))
        admin = self.client("admin")
        path = "/v1/stores/people/models/default/predict"
        csv = {"Content-Type": "text/csv"}
        lines = b"age,height,income\n" + b"20,150,1\n" * 11108 + b"20,150,11\n"
        self.assertEqual(len(lines), 100000)
        for parts, status in (([lines], 200), ([lines[:50000], lines[50000:]], 200),
                              ([lines[:-1] + b"1\n"], 413), ([lines, b"1"], 413),
                              ([lines + b"20,150,1\n" * 10**6], 413)):
            packed = b"".join(gzip.compress(part) for part in parts)
            self.assertLess(len(packed), 100000)
            reply = admin.post(path, packed, headers=csv)
            self.assertEqual(reply.status, status, reply)
        for packed in (gzip.compress(lines)[:-5], gzip.compress(lines) + b"more"):
            self.refused(admin.post(path, packed, headers=csv), 400, "rows")

    def test_heads_that_are_too_long(self):
        self.start()
        self.assertEqual(self.status(self.head(path="/v1/me?" + 1900 * "a")), 200)
        self.assertEqual(self.status(self.head(path="/v1/me?" + 2100 * "a")), 414)
        self.assertEqual(self.status(self.head(path="/" + 50000 * "a")), 414)
        self.assertEqual(self.status(self.head(more=f"X: {50000 * 'a'}\r\n")), 431)
        self.assertEqual(self.status(self.head(more="X: y\r\n" * 5000)), 431)
        self.good(self.client("read").get("/v1/me"))

    def test_lengths_that_contradict_each_other(self):
        self.start()
        body = b'{"ids":[1]}'
        for more in ["Content-Length: 11\r\nContent-Length: 12\r\n",
                     "Content-Length: 11\r\nContent-Length: 11\r\n",
                     "Content-Length: 11\r\nTransfer-Encoding: chunked\r\n",
                     "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                     "Transfer-Encoding: gzip\r\n", "Transfer-Encoding: gzip, chunked\r\n",
                     "Content-Length: 1x\r\n", "Content-Length: +11\r\n", "Content-Length: -1\r\n",
                     "Content-Length: \r\n"]:
            with self.subTest(more=more):
                connection = self.connect()
                # What follows must not be taken for another request.
                connection.sendall(self.head("POST", FORGET, "erase", more) + body + self.head())
                # libmicrohttpd 0.9.75 sends the head of some of its own refusals twice.
                reply = receive(connection)
                self.assertEqual(set(re.findall(rb"HTTP/1.1 (\d+)", reply)), {b"400"}, reply)
        # A body that is right in both readings, and ends elsewhere in each.
        chunks = b"b\r\n" + body + b"\r\n0\r\n\r\n"
        for order in ["Content-Length: {n}\r\nTransfer-Encoding: chunked\r\n",
                      "Transfer-Encoding: chunked\r\nContent-Length: {n}\r\n"]:
            more = order.format(n=len(chunks))
            self.assertEqual(self.status(self.head("POST", FORGET, "erase", more) + chunks), 400)
        self.assertEqual(self.good(self.client("read").get("/v1/stores/people/receipts"))[
            "receipts"], [])
        hosts = f"Host: localhost:{self.service.port}\r\n"
        self.assertEqual(self.status(self.head(more=hosts)), 421)
        self.assertEqual(self.status(b"GET /v1/health HTTP/1.1\r\n\r\n"), 421)
        self.assertEqual(self.status(b"GET /v1/health HTTP/1.0\r\n\r\n"), 421)
        two = f"Authorization: Bearer {self.token('admin')}\r\n"
        self.assertEqual(self.status(self.head(more=two)), 401)

    def test_names_of_headers_that_are_none(self):
        """A proxy may read a length there; what follows must not be taken for another request."""
        self.start()
        body = b'{"ids":[1]}'
        for more in ["Content-Length : 11\r\n", "Content-Length\t: 11\r\n",
                     "Content-Length:\r\n 11\r\n", "Content-Length: 1\r\n\t1\r\n",
                     "Content-Length: 11\r\nTransfer-Encoding : chunked\r\n",
                     "Content-Length: 11\r\nTransfer-Encoding:\r\n chunked\r\n",
                     "X: a\r\n Content-Length: 5\r\nContent-Length: 11\r\n",
                     "Content-Length: 11\r\n(a): x\r\n"]:
            with self.subTest(more=more):
                connection = self.connect()
                connection.sendall(self.head("POST", FORGET, "erase", more) + body + self.head())
                reply = receive(connection)
                self.assertEqual(re.findall(rb"HTTP/1.1 (\d+)", reply), [b"400"], reply)
        self.assertEqual(self.good(self.client("read").get("/v1/stores/people/receipts"))[
            "receipts"], [])

    def test_content_types(self):
        self.start()
        erase = self.client("erase")
        for kind in ["application/json; charset=utf-8", "Application/JSON", "application/json ;a=b"]:
            self.good(erase.post(FORGET, b'{"ids":[1],"skip_missing":true}',
                                 headers={"Content-Type": kind}))
        for kind in ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                     "application/jsonx"]:
            self.refused(erase.post(FORGET, b'{"ids":[2]}', headers={"Content-Type": kind}), 415)
        self.refused(erase.post(FORGET, b'{"ids":[2]}'), 415)

    def test_bodies_that_are_no_json(self):
        self.start()
        erase = self.client("erase")
        for body in [b"", b"{", b"[]", b"1", b'{"ids":[2]}x', b'{"ids":[2],"ids":[3]}', b"\xff",
                     b'{"ids":[2],"a":"\0"}', b"{\"a\":" * 5000, b"[" * 100000,
                     b'{"ids":[2],"a":1e999}']:
            with self.subTest(body=body[:20]):
                self.refused(erase.post(FORGET, body, headers={"Content-Type": "application/json"}),
                             400)
        self.assertEqual(len(self.good(self.client("read").get(
            "/v1/stores/people/receipts"))["receipts"]), 0)

    def test_head_is_get_without_a_body(self):
        self.start()
        client = self.client("read")
        get, head = client.get("/v1/me"), client.ask("HEAD", "/v1/me")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(head.headers["content-length"], str(len(get.body)))
        self.assertEqual(client.ask("HEAD", "/v1/none").status, 404)

    def test_refused_requests_leave_the_connection_usable(self):
        self.start()
        client = self.client("read")
        for _ in range(3):
            self.refused(client.post(FORGET, {"ids": list(range(1000))}), 403)
            self.good(client.get("/v1/me"))

    def test_rates(self):
        self.start(options=("--rate", "5"))
        read, predict = self.client("read"), self.client("predict")
        replies = [read.get("/v1/me") for _ in range(40)]
        refused = [reply for reply in replies if reply.status == 429]
        self.assertTrue(replies[4].status == 200 and refused)
        self.refused(refused[0], 429, "rate")
        self.assertGreaterEqual(int(refused[0].headers["retry-after"]), 1)
        self.good(predict.get("/v1/me"))
        self.good(self.client().get("/v1/health"))
        while read.get("/v1/me").status != 200:
            time.sleep(0.05)

    def test_names_that_are_folders_are_refused(self):
        """An address with . or .. is another address."""
        for name in ("..store", "...store"):
            os.rename(self.path("people.store"), self.path(name))
            with self.assertRaisesRegex(AssertionError, "cannot be served under that name"):
                self.start(name)
            os.rename(self.path(name), self.path("people.store"))
        self.run_program("fit", "-o", "people.store", "--model", "..", "-k", "2", code=2)

    def test_requests_under_way(self):
        self.start(options=("--under-way", "2"))
        head = self.head("POST", FORGET, "erase", "Content-Length: 20\r\n")
        erase, slow = self.client("erase"), []
        # A request of `erase` that is under way itself may have one of these refused: more follow.
        while not slow or erase.get("/v1/me").status == 200:
            slow.append(self.connect())
            slow[-1].sendall(head)
            time.sleep(0.05)
        reply = erase.get("/v1/me")
        self.refused(reply, 429, "rate")
        self.assertEqual(reply.headers["retry-after"], "1")
        self.good(self.client("read").get("/v1/me"))
        for connection in slow:
            connection.close()
        while erase.get("/v1/me").status != 200:
            time.sleep(0.05)

    def test_names_and_rows_of_a_body_are_limited(self):
        """What a body may cost is known before work begins."""
        self.start(options=("--most-rows", "100"))
        admin = self.client("admin")
        for call, most in (("preview", 1000), ("forget", 10000), ("find", 1000)):
            path = "/v1/stores/people/" + call
            names = {"ids": list(range(500, 500 + most - 1)), "owner_keys": ["nobody"]}
            if call != "find":
                names.update(skip_missing=True, hashes=True)
            self.good(admin.post(path, names))
            names["owner_keys"].append("nobody else")
            self.refused(admin.post(path, names), 413, "too_long")
        predict, learn = "/v1/stores/people/models/default/predict", "/v1/stores/people/learn"
        for n, refused in ((100, False), (101, True)):
            lines = "age,height,income\n" + n * "30,160,40\n"
            rows = [{"values": [30, 160, 40]}] * n
            for path, body, kind in (
                    (predict, {"rows": n * [[30, 160, 40]]}, "application/json"),
                    (predict, lines, "text/csv"),
                    (predict, gzip.compress(lines.encode()), "text/csv"),
                    (learn, {"rows": rows}, "application/json"), (learn, lines, "text/csv")):
                reply = admin.post(path, body, headers={"Content-Type": kind})
                if refused:
                    self.refused(reply, 413, "too_long")
                else:
                    self.assertEqual(reply.status, 200, reply)

    def test_changes_do_not_wait_for_previews(self):
        """A change waits for one preview at most, however many are there: to all others, the row is
        gone."""
        self.start()
        names = {"ids": [2, *range(10 ** 9, 10 ** 9 + 999)], "skip_missing": True}
        calls = [("erase", "forget", {"ids": [1]}), *20 * [("read", "preview", names)],
                 ("erase", "forget", {"ids": [2]})]
        other, clients = self.locked("IMMEDIATE"), []  # so that all of them wait for the first
        for role, call, body in calls:
            clients.append(self.ask_beside(role, "/v1/stores/people/" + call, body))
            self.settle(role)
        other.execute("ROLLBACK")
        first, *previews, last = [self.good(client.receive()) for client in clients]
        self.assertEqual((first["forgotten"], last["forgotten"]), (1, 1))
        self.assertLessEqual(sum(preview["rows"] for preview in previews), 1)

    def locked(self, how):
        """Another process that has the store."""
        other = sqlite3.connect(self.path("people.store"), isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN " + how)
        return other

    def ask_beside(self, role, path, body):
        """Sends a request on a connection of its own, whose client will receive the reply."""
        client = self.client(role)
        client.send("POST", path, body)
        return client

    def test_a_token_leaves_a_worker_to_others(self):
        self.start(options=("--workers", "2"))
        other = self.locked("EXCLUSIVE")
        clients = [self.ask_beside("read", "/v1/stores/people/find", {"ids": [1]})
                   for _ in range(8)]
        time.sleep(0.2)
        self.good(self.client("erase").get("/v1/jobs"))
        answered = select.select([client.connection.sock for client in clients], [], [], 0)[0]
        self.assertEqual(answered, [])
        other.execute("ROLLBACK")
        for client in clients:
            self.good(client.receive())

    def test_tokens_take_turns(self):
        """A change waits for few of those that another token has sent before."""
        self.start()
        other, forget = self.locked("IMMEDIATE"), "/v1/stores/people/forget"
        clients = []
        for number in range(300):
            whom = {"ids": [10 ** 9 + number], "skip_missing": True}
            clients.append(self.ask_beside("erase", forget, whom))
            if number in (0, 299):  # the first is under way, and all others wait for it
                self.settle("erase")
        mine = self.ask_beside("admin", forget, {"ids": [1]})
        self.settle("admin")
        other.execute("ROLLBACK")
        for client in clients:
            self.good(client.receive())
        self.assertLess(self.good(mine.receive())["receipt"], 10)

    # ------------------------------------------------------------ slow and broken clients

    def test_slow_clients_are_ended(self):
        """Each sends a byte now and then, so that it is never silent for long."""
        self.start(options=("--patience", "0.5"))
        starts = [b"", b"GET /v1/hea", b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX: ",
                  self.head("POST", FORGET, "erase", "Content-Length: 1000\r\n"),
                  self.head("POST", FORGET, None, "Content-Length: 1000\r\n"),
                  self.head("POST", FORGET, "erase", "Transfer-Encoding: chunked\r\n") + b"800\r\n"]
        slow = []
        for start in starts:
            connection = self.connect()
            connection.sendall(start)
            slow.append(connection)
        good = self.client("read")
        left = set(range(len(slow)))
        while left:
            for number in sorted(left):
                try:
                    slow[number].send(b"a")
                    slow[number].settimeout(0.01)
                    if slow[number].recv(1000) == b"":
                        left.discard(number)
                except TimeoutError:
                    pass
                except OSError:
                    left.discard(number)
            self.good(good.get("/v1/me"))
            time.sleep(0.05)

    def test_a_client_that_does_not_read(self):
        self.start(options=("--patience", "0.3"))
        connection = self.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        # Many replies in a row fill the buffers of both sides.
        request = self.head(path="/v1/openapi.json")
        connection.setblocking(False)
        try:
            while True:
                connection.send(request)
        except BlockingIOError:
            pass
        connection.settimeout(60)
        ended = False
        while not ended:
            try:
                connection.send(request)
                time.sleep(0.05)
            except TimeoutError:
                pass
            except OSError:
                ended = True
        self.good(self.client("read").get("/v1/me"))

    def test_clients_that_break_off(self):
        self.start()
        body = b'{"ids":[1]}'
        whole = self.head("POST", FORGET, "erase", f"Content-Length: {len(body)}\r\n") + body
        for n in range(0, len(whole), 7):
            connection = self.connect()
            connection.sendall(whole[:n])
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        for junk in [b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n", b"\r\n" * 1000, os.urandom(5000),
                     b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]:
            connection = self.connect()
            connection.sendall(junk)
            connection.close()
        self.good(self.client("erase").post(FORGET, {"ids": [2]}))

    def test_more_clients_than_there_may_be(self):
        """Slow ones go when a good one comes."""
        self.start(options=("--patience", "3600"), wrapper=("prlimit", "--nofile=600"))
        slow = []
        for _ in range(700):
            slow.append(self.connect())
            slow[-1].sendall(b"GET /v1/health HTTP/1.1\r\n")
        for _ in range(20):
            client = self.service.client(self.token("read"))
            self.good(client.get("/v1/me"))
            client.close()

    # ------------------------------------------------------------ the end

    def test_accepted_requests_are_finished(self):
        self.start()
        body = b'{"ids":[7]}'
        connection = self.connect()
        connection.sendall(self.head("POST", FORGET, "erase", f"Content-Length: {len(body)}\r\n"))
        idle, silent = self.connect(), self.client("read")
        self.good(silent.get("/v1/me"))
        begun = self.connect()
        begun.sendall(f"GET /v1/health HTTP/1.1\r\nHost: localhost:{self.service.port}\r\n".encode())
        time.sleep(0.3)
        self.service.process.send_signal(signal.SIGTERM)
        self.assertEqual(receive(idle), b"")
        begun.sendall(b"\r\n")
        reply = receive(begun)
        self.assertTrue(reply.startswith(b"HTTP/1.1 503"), reply)
        self.assertEqual(json.loads(reply.split(b"\r\n\r\n", 1)[1]), {"status": "stopping"})
        self.service.process.send_signal(signal.SIGTERM)
        connection.sendall(body)
        reply = receive(connection)
        self.assertTrue(reply.startswith(b"HTTP/1.1 200"), reply)
        self.assertEqual(json.loads(reply.split(b"\r\n\r\n", 1)[1])["forgotten"], 1)
        self.assertEqual(self.service.process.wait(), 0)
        self.assertEqual(json.loads(self.run_program("info", "people.store", "--json"))["rows"], 59)

    def test_end_under_load(self):
        """Every request that was answered is done; the others were not answered."""
        self.start()
        answered, token = [], self.token("erase")

        def forget(ids):
            client = self.service.client(token)
            try:
                for number in ids:
                    reply = client.post(FORGET, {"ids": [number]})
                    if reply.status == 200:
                        answered.append(number)
            except OSError:
                pass
            finally:
                client.close()

        threads = [threading.Thread(target=forget, args=(range(i, 60, 4),)) for i in range(4)]
        for thread in threads:
            thread.start()
        while len(answered) < 8:
            time.sleep(0.001)
        self.stop()
        for thread in threads:
            thread.join()
        rows = json.loads(self.run_program("info", "people.store", "--json"))["rows"]
        self.assertEqual(rows, 60 - len(answered))

    def test_slow_clients_do_not_keep_it(self):
        self.start(options=("--patience", "3600"))
        for start in [b"", b"GET", self.head("POST", FORGET, "erase", "Content-Length: 1000\r\n")]:
            self.connect().sendall(start)
        time.sleep(0.2)
        self.stop()

    def test_other_signals_to_end(self):
        self.start()
        self.assertEqual(self.service.end(signal.SIGINT), 0)


if __name__ == "__main__":
    unittest.main()
