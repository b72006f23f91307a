#!/usr/bin/python3
"""Many slow and broken clients at once do not stop a good one: it gets all its answers while they
hold their connections.

usage: slow_clients.py EFFACE-SERVE EFFACE [CLIENTS] [--until-closed]
With --until-closed the test also waits until the service has closed every connection that is slow.
"""
import random
import resource
import socket
import sys
import threading
import time
import unittest

from acknowledged import check_store
from service_program import ServiceTest

UNTIL_CLOSED = "--until-closed" in sys.argv and not sys.argv.remove("--until-closed")
N_CLIENTS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 300
N_ROUNDS = 40  # of the good client

HEAD = b"POST /v1/stores/people/forget HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def head(token, length):
    return (HEAD + b"Authorization: Bearer " + token + b"\r\nContent-Type: application/json\r\n"
            + b"Content-Length: %d\r\n\r\n" % length)


def kinds(token, chance):
    """Name: what such a client sends at once, what it then drips, and what it does after the first
    part: nothing, `close`, or `half` (it will not send more)."""
    noise = chance.randbytes(3000)
    return {
        "says nothing": (b"", b"", None),
        "half a head": (HEAD[:30], b"", None),
        "drips a head": (b"", HEAD * 100, None),
        "drips headers for ever": (HEAD, b"X-A: b\r\n" * 1000, None),
        "drips a body": (head(token, 100000), b" " * 100000, None),
        "never sends the body": (head(token, 1000), b"", None),
        "closes in the head": (HEAD[:40], b"", "close"),
        "closes in the body": (head(token, 1000) + b'{"ids": [', b"", "close"),
        "closes before the answer": (head(token, 14) + b'{"ids": [777]}', b"", "close"),
        "half closes in the head": (HEAD, b"", "half"),
        "half closes in the body": (head(token, 1000) + b'{"ids"', b"", "half"),
        "half closes and waits": (head(token, 14) + b'{"ids": [778]}', b"", "half"),
        "huge head": (HEAD + b"X-A: " + b"a" * 200000 + b"\r\n\r\n", b"", None),
        "very many headers": (HEAD + b"X: y\r\n" * 20000 + b"\r\n", b"", None),
        "huge address": (b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", b"", None),
        "garbage": (noise, b"", None),
        "garbage that drips": (b"", noise, None),
        "another protocol": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + noise, b"", None),
        "wrong lengths": (HEAD + b"Content-Length: -1\r\nContent-Length: 7\r\n\r\n", b"", None),
        "chunks that are none": (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b"", None),
        "asks and does not read": (
            b"".join([b"GET /page/page.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"] * 200), b"", None),
    }


class BadClient:
    def __init__(self, port, name, first, drip, then):
        self.name, self.first, self.drip, self.then = name, first, drip, then
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.closed = False
        self.received = 0
        self.answer = b""
        try:
            self.socket.connect(("127.0.0.1", port))
        except BlockingIOError:
            pass

    def close(self):
        if not self.closed:
            self.closed = True
            self.socket.close()

    def step(self):
        """Sends what is possible now: all of the first part, and then a byte at a time."""
        if self.closed:
            return
        try:
            if self.first:
                self.first = self.first[self.socket.send(self.first):]
            elif self.then == "close":
                self.close()
                return
            elif self.then == "half":
                self.socket.shutdown(socket.SHUT_WR)
                self.then = None
            elif self.drip:
                self.drip = self.drip[self.socket.send(self.drip[:1]):]
        except BlockingIOError:
            pass
        except OSError:
            self.close()

    def look(self):
        """Whether the service has closed it. Only a client that reads finds out."""
        if self.closed or self.name == "asks and does not read":
            return self.closed
        try:
            while True:
                found = self.socket.recv(4096)
                if not found:
                    self.close()
                    break
                self.received += len(found)
                self.answer = (self.answer + found)[:200]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
        return self.closed


class Crowd(threading.Thread):
    """All bad clients. A client that was closed comes again, until `stop`."""

    def __init__(self, port, token, count, seed):
        super().__init__()
        self.port, self.count = port, count
        self.chance = random.Random(seed)
        self.kinds = list(kinds(token.encode(), self.chance).items())
        self.clients = []
        self.all_there = threading.Event()
        self.quiet = self.ended = False
        self.n_made = 0
        self.answers = {}

    def make(self, number):
        name, (first, drip, then) = self.kinds[number % len(self.kinds)]
        self.n_made += 1
        return BadClient(self.port, name, first, drip, then)

    def run(self):
        while not self.ended:
            for number, client in enumerate(self.clients):
                client.step()
                if client.look() and not self.quiet:
                    if client.answer:
                        status = client.answer.split(b" ")[1:2]
                        self.answers.setdefault(client.name, set()).update(status)
                    self.clients[number] = self.make(number)
            for _ in range(min(500, self.count - len(self.clients))):
                self.clients.append(self.make(len(self.clients)))
            if len(self.clients) == self.count:
                self.all_there.set()
            time.sleep(0.02)
        for client in self.clients:
            client.close()

    def n_open(self):
        return sum(not client.closed for client in self.clients)


class SlowClientsTest(ServiceTest):
    def test_crowd(self):
        seed = random.randrange(2 ** 32)
        self.make_store(n_rows=200)
        self.start()
        crowd = Crowd(self.service.port, self.token("erase"), N_CLIENTS, seed)
        crowd.start()
        try:
            crowd.all_there.wait()
            times = self.be_good()
            times += self.be_good(first=N_ROUNDS)
            if UNTIL_CLOSED:
                crowd.quiet = True
                slow = [client for client in crowd.clients
                        if client.name != "asks and does not read"]
                while any(not client.closed for client in slow):
                    time.sleep(0.5)
                    self.good(self.client().get("/v1/health"))
            times.sort()
            print(f"{N_CLIENTS} bad clients at once, {crowd.n_made} in all: "
                  f"{len(times)} good requests, all answered; ms: "
                  f"median {1e3 * times[len(times) // 2]:.1f}, most {1e3 * times[-1]:.1f}")
        finally:
            crowd.ended = True
            crowd.join()
        for name, statuses in crowd.answers.items():
            self.assertFalse(statuses & {b"200"} and name not in ("asks and does not read",),
                             f"{name}: {statuses}")
        self.assertIsNone(self.service.process.poll(), self.service.log()[-3000:])
        self.assertEqual(self.good(self.client("read").get("/v1/stores/people"))["rows"],
                         200 - 2 * N_ROUNDS)
        check_store(self)
        self.stop()

    def be_good(self, first=0):
        """One connection that stays, and a new one for each round; returns how long each took."""
        stays, times = self.client("admin", timeout=None), []
        for number in range(first, first + N_ROUNDS):
            fresh = self.client("admin", timeout=None)
            for client, method, path, body in (
                    (fresh, "GET", "/v1/health", None),
                    (stays, "POST", "/v1/stores/people/models/default/predict",
                     {"rows": [[30, 160, 40]]}),
                    (fresh, "GET", "/v1/stores/people", None),
                    (stays, "POST", "/v1/stores/people/forget", {"ids": [number]})):
                begin = time.monotonic()
                self.good(client.ask(method, path, body))
                times.append(time.monotonic() - begin)
            fresh.close()
        return times


if __name__ == "__main__":
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if most < N_CLIENTS + 200:
        print(f"{most} files are not enough for {N_CLIENTS} clients", file=sys.stderr)
        sys.exit(77)
    unittest.main()
