"""What the tests of the service share: stores, tokens, the service itself, and a client.

A test runs as `python3 test_X.py EFFACE-SERVE EFFACE`: the service, and the command line that makes
its stores. A service listens on a port that the system chooses, and says which in its first line.
"""
import contextlib
import http.client
import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

SERVICE = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None

N_ROWS = 60
ROLES = ("read", "predict", "erase", "admin")
TOKEN = re.compile(r"\befface_[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])")


def row(number):
    """The values of the row with this id: three groups, and a target that depends on them."""
    group, spread = number % 3, (number * 7919 % 101) / 100
    age, height = 20 + 20 * group + spread, 150 + 10 * group - spread
    return [round(age, 2), round(height, 2), round(2 * age - height / 3 + number % 7, 2)]


def write_people(path, ids, text_ids=False):
    """Rows with an id, an owner of every four, and a class. Ids are numbers, or texts p0, p1, ..."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("id,user,kind,age,height,income\n")
        for number in ids:
            name = f"p{number}" if text_ids else str(number)
            values = ",".join(str(value) for value in row(number))
            file.write(f"{name},u{number // 4},{('red', 'green', 'blue')[number % 3]},{values}\n")


class Reply:
    """An answer: its status, its headers with names in small letters, and its bytes."""

    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:500]!r}"


class Client:
    """A connection that stays open between requests. `token` may be None. It is opened again when
    the service has closed it, but a request is never sent twice."""

    def __init__(self, port, token=None, timeout=60):
        self.port = port
        self.token = token
        self.timeout = timeout
        self.connection = None

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def ask(self, method, path, body=None, headers=None):
        """Sends a request and returns the Reply."""
        self.send(method, path, body, headers)
        return self.receive()

    def send(self, method, path, body=None, headers=None):
        """Sends a request. `body` is bytes, a text, or what JSON can hold."""
        headers = dict(headers or {})
        given = {name.lower() for name in headers}
        if self.token and "authorization" not in given:
            headers["Authorization"] = "Bearer " + self.token
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            if "content-type" not in given:
                headers["Content-Type"] = "application/json"
        if isinstance(body, str):
            body = body.encode()
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                         timeout=self.timeout)
        try:
            self.connection.request(method, path, body, headers)
        except BaseException:
            self.close()
            raise

    def receive(self):
        """The reply to what was sent."""
        try:
            reply = Reply(self.connection.getresponse())
        except BaseException:
            self.close()
            raise
        if reply.headers.get("connection", "").lower() == "close":
            self.close()
        return reply

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.ask("POST", path, body, **more)


class Service:
    """A service that runs. Its log goes to a file, which `log` reads."""

    def __init__(self, folder, stores, *options, tokens="efface.tokens", wrapper=(), env=None):
        self.log_path = os.path.join(folder, "service.log")
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*wrapper, SERVICE, "serve", *stores, "--listen", "127.0.0.1:0",
                 "--tokens", tokens, "--json", *options],
                cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                env=env)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"no start: {self.process.wait()}\n{self.log()}")
        self.start_line = json.loads(line)
        self.port = self.start_line["port"]

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def client(self, token=None, **more):
        return Client(self.port, token, **more)

    def memory(self):
        """Bytes that the process has in memory."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def end(self, how=signal.SIGTERM):
        """Ends it and returns its exit code, which is below 0 if a signal killed it."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(120)
        self.process.stdout.close()
        return code


class ServiceTest(unittest.TestCase):
    """Each test has a folder of its own. `make_store` makes stores in it, `start` serves them, and
    `client("erase")` speaks with a token that has this role."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="efface-serve-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.service = None
        self.tokens = {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_program(self, *arguments, code=0):
        """What the command line prints; it must end with this exit code."""
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}{done.stderr}")
        return done.stdout

    def make_store(self, name="people.store", n_rows=N_ROWS, text_ids=False):
        """A store with a model of each kind: clusters (`default`), a regression (`income`) and
        classes (`kind`). Ids are numbers, or texts; owners are texts; both texts are kept."""
        write_people(self.path("people.csv"), range(n_rows), text_ids)
        self.run_program("fit", "people.csv", "--id", "id", "--owner", "user", "--label", "kind",
                         "--keep-texts", "-k", "3", "--seed", "11", "-o", name)
        self.run_program("fit", "-o", name, "--model", "income", "--family", "linear",
                         "--target", "income")
        self.run_program("fit", "-o", name, "--model", "kind", "--family", "bayes")
        self.drop_receipts(name)
        return name

    def drop_receipts(self, name):
        """Takes the receipts of the models that were added out, as if the store had been made with
        them: tests count receipts of their own. What the head says of them stands at its end."""
        database = sqlite3.connect(self.path(name))
        head, = database.execute("SELECT value FROM facts WHERE name = 'head'").fetchone()
        head = head[:-40] + bytes(40)
        seal = hashlib.blake2b(head, digest_size=32).digest()
        database.executemany("UPDATE facts SET value = ? WHERE name = ?",
                             [(head, "head"), (seal, "seal")])
        database.execute("DELETE FROM receipts")
        database.commit()
        database.close()

    def make_token(self, name, *roles, expires=None, file="efface.tokens"):
        """A new token with these roles."""
        more = ("--expires", expires) if expires else ()
        done = subprocess.run([SERVICE, "token", "new", name, "--role", ",".join(roles),
                               "--tokens", file, *more],
                              cwd=self.folder, text=True, check=False, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return TOKEN.search(done.stdout)[0]

    def token(self, *roles):
        """The token with these roles, made when it is asked for first."""
        if roles not in self.tokens:
            self.tokens[roles] = self.make_token("-".join(roles), *roles)
        return self.tokens[roles]

    def start(self, *stores, options=(), **more):
        """Starts a service, which the end of the test ends. Tokens of all roles are there."""
        for role in ROLES:
            self.token(role)
        self.service = Service(self.folder, stores or ("people.store",), *options, **more)
        self.addCleanup(self.service.end, signal.SIGKILL)
        return self.service

    def settle(self, role):
        """Returns when what this role has sent before has gone through the threads of the service,
        which take the requests of a token in their order."""
        client = self.client(role)
        for _ in range(4):
            self.good(client.get("/v1/jobs"))
            time.sleep(0.05)

    def stop(self):
        """SIGTERM must end the service with 0."""
        self.assertEqual(self.service.end(), 0, self.service.log())

    def client(self, *roles, **more):
        """A client with a token of these roles; with none, it has no token."""
        client = self.service.client(self.token(*roles) if roles else None, **more)
        self.addCleanup(client.close)
        return client

    def good(self, reply, status=200):
        """The reply must have this status; returns what its JSON says."""
        self.assertEqual(reply.status, status, reply)
        return reply.json

    def refused(self, reply, status, code=None):
        """The reply must be an error of this status, and of this code if one is given."""
        self.assertEqual(reply.status, status, reply)
        error = reply.json["error"]
        self.assertTrue(error["message"])
        if code:
            self.assertEqual(error["code"], code, reply)


class EndedTest(ServiceTest):
    """Ends the service that a test has left running, and well."""

    def tearDown(self):
        """The service must end well; under a sanitizer that says that nothing has leaked."""
        if self.service and self.service.process.poll() is None:
            self.stop()


@contextlib.contextmanager
def ending(service):
    """Ends a service that no test owns."""
    try:
        yield service
    finally:
        service.end(signal.SIGKILL)
