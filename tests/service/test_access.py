#!/usr/bin/python3
"""Who is let in: the command token, tokens in a service that runs, the Host header, where a service
may listen, and what its two logs say of all that.

usage: test_access.py EFFACE-SERVE EFFACE
"""
import json
import os
import re
import stat
import subprocess
import threading
import time
import unittest

from service_program import PROGRAM, SERVICE, TOKEN, ServiceTest


class TokenTest(ServiceTest):
    """The command token, without a service."""

    def token_command(self, *arguments, code=0, program=SERVICE):
        done = subprocess.run([program, "token", *arguments], cwd=self.folder, text=True,
                              check=False, capture_output=True)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}{done.stderr}")
        return done

    def lines(self):
        with open(self.path("efface.tokens"), encoding="utf-8") as file:
            return file.read().splitlines()

    def test_new_list_revoke(self):
        made = json.loads(self.token_command("new", "crm", "--role", "erase,read", "--expires",
                                             "2099-01-31T12:00:00Z", "--json").stdout)
        self.assertRegex(made["token"], TOKEN)
        self.assertEqual({**made, "token": ""}, {"token": "", "name": "crm",
                                                 "roles": ["read", "erase"],
                                                 "expires": "2099-01-31T12:00:00Z"})
        self.token_command("new", "ever", "--role", "admin")
        listed = json.loads(self.token_command("list", "--json").stdout)["tokens"]
        self.assertEqual([(t["name"], t["expires"], t["expired"]) for t in listed],
                         [("crm", "2099-01-31T12:00:00Z", False), ("ever", None, False)])
        self.assertEqual(json.loads(self.token_command("revoke", "crm", "--json").stdout),
                         {"revoked": "crm"})
        self.assertNotIn("crm", self.token_command("list").stdout)
        self.token_command("revoke", "crm", code=4)
        self.token_command("list", "--tokens", "none.tokens", code=4)
        self.token_command("revoke", "x", "--tokens", "none.tokens", code=4)

    def test_the_file_has_no_token(self):
        token = self.make_token("crm", "admin")
        content = "\n".join(self.lines())
        self.assertNotIn(token, content)
        self.assertNotIn(token[7:], content)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("efface.tokens")).st_mode), 0o600)
        self.assertEqual(os.listdir(self.folder), ["efface.tokens"])

    def test_tokens_differ(self):
        self.assertEqual(len({self.make_token(f"t{i}", "read") for i in range(20)}), 20)

    def test_wrong_usage(self):
        for arguments in [(), ("grow",), ("new",), ("new", "a"), ("new", "a", "--role", "king"),
                          ("new", "a", "--role", "read,"), ("new", "a/b", "--role", "read"),
                          ("new", "a b", "--role", "read"), ("new", "", "--role", "read"),
                          ("new", 64 * "a", "--role", "read"), ("new", "é", "--role", "read"),
                          ("new", "a", "--role", "read", "--expires", "soon"),
                          ("new", "a", "--role", "read", "--expires", "0d"),
                          ("new", "a", "--role", "read", "--expires", "2027-02-30"),
                          ("new", "a", "--role", "read", "--expires", "2027-01-01T25:00:00Z"),
                          ("new", "a", "--role", "read", "--wrong"), ("list", "more"), ("revoke",)]:
            with self.subTest(arguments=arguments):
                done = self.token_command(*arguments, code=2)
                self.assertEqual(done.stdout, "")
                self.assertTrue(done.stderr.startswith("efface: "), done.stderr)
                message = json.loads(self.token_command(*arguments, "--json", code=2).stderr)
                self.assertEqual(message["error"]["status"], "usage")
        self.assertEqual(os.listdir(self.folder), [])

    def test_names_are_unique(self):
        self.make_token("crm", "read")
        before = self.lines()
        self.token_command("new", "crm", "--role", "admin", code=1)
        self.assertEqual(self.lines(), before)

    def test_expiry_counts_from_now(self):
        for text, seconds in [("90s", 90), ("3m", 180), ("12h", 43200), ("30d", 2592000),
                              ("2w", 1209600)]:
            before = int(time.time())
            self.make_token("t" + text, "read", expires=text)
            expires = json.loads(self.lines()[-1])["expires"]
            self.assertTrue(before + seconds <= expires <= int(time.time()) + seconds)

    def test_a_line_that_cannot_be_read_is_not_dropped(self):
        self.make_token("crm", "read")
        for wrong in ["{", '{"name":"x"}', "\0", '{"name":"x","roles":["king"],"expires":null,'
                      '"hash":"' + 64 * "0" + '"}']:
            with self.subTest(line=wrong):
                content = "\n".join([*self.lines()[:1], wrong, ""])
                with open(self.path("efface.tokens"), "w", encoding="utf-8") as file:
                    file.write(content)
                for arguments in [("new", "b", "--role", "read"), ("revoke", "crm")]:
                    self.assertIn("line 2", self.token_command(*arguments, code=1).stderr)
                with open(self.path("efface.tokens"), encoding="utf-8") as file:
                    self.assertEqual(file.read(), content)
                self.assertIn("line 2", self.token_command("list").stderr)

    def test_unchanged_lines_keep_their_bytes(self):
        self.make_token("crm", "read")
        own = self.lines()[0].replace("{", '{ "note": "kept",  ')
        with open(self.path("efface.tokens"), "w", encoding="utf-8") as file:
            file.write(own + "\n")
        self.make_token("other", "read")
        self.token_command("revoke", "other")
        self.assertEqual(self.lines(), [own])

    def test_commands_at_once_lose_nothing(self):
        threads = [threading.Thread(target=self.make_token, args=(f"t{i}", "read"))
                   for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        names = [json.loads(line)["name"] for line in self.lines()]
        self.assertEqual(sorted(names), sorted(f"t{i}" for i in range(16)))

    def test_a_file_that_others_can_write(self):
        self.make_store()
        self.make_token("crm", "read")
        os.chmod(self.path("efface.tokens"), 0o620)
        self.assertIn("chmod", self.token_command("new", "b", "--role", "read", code=1).stderr)
        done = subprocess.run([SERVICE, "serve", "people.store", "--listen", "127.0.0.1:0"],
                              cwd=self.folder, text=True, check=False, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("chmod", done.stderr)

    def test_efface_runs_it(self):
        self.assertRegex(self.token_command("new", "crm", "--role", "read", program=PROGRAM).stdout,
                         TOKEN)
        self.assertIn("crm", self.token_command("list", program=PROGRAM).stdout)
        self.assertIn("--role", self.token_command("--help", program=PROGRAM).stdout)
        alone = self.path("efface")
        with open(PROGRAM, "rb") as original, open(alone, "wb") as copy:
            copy.write(original.read())
        os.chmod(alone, 0o700)
        done = subprocess.run([alone, "token", "list"], check=False, text=True, capture_output=True,
                              cwd=self.folder, env={**os.environ, "LD_LIBRARY_PATH":
                                                    os.path.dirname(PROGRAM),
                                                    "PATH": os.path.dirname(SERVICE)})
        if not os.path.exists("/usr/local/bin/efface-serve"):
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("has no service", done.stderr)


class RunningTest(ServiceTest):
    """Tokens, hosts and logs of a service that runs."""

    def setUp(self):
        super().setUp()
        self.make_store()

    def start_fails(self, *options, code=1):
        done = subprocess.run([SERVICE, "serve", "people.store", *options], cwd=self.folder,
                              text=True, check=False, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        return done.stderr

    def audit(self):
        with open(self.path("efface.audit"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_a_token_that_ends_while_the_service_runs(self):
        self.start()
        # On a machine that is busy a token may have ended before it is used.
        for seconds in (1, 5, 25):
            client = self.service.client(self.make_token(f"late{seconds}", "read",
                                                         expires=f"{seconds}s"))
            if (first := client.get("/v1/me")).status == 200:
                break
        self.good(first)
        while (reply := client.get("/v1/me")).status == 200:
            time.sleep(0.05)
        self.refused(reply, 401, "expired_token")

    def test_a_token_that_is_revoked_while_the_service_runs(self):
        self.start()
        client = self.service.client(self.make_token("gone", "read"))
        self.good(client.get("/v1/me"))
        subprocess.run([SERVICE, "token", "revoke", "gone"], cwd=self.folder, check=True,
                       capture_output=True)
        time.sleep(0.2)
        self.refused(client.get("/v1/me"), 401, "unknown_token")
        self.good(self.client("read").get("/v1/me"))

    def test_a_file_that_is_not_safe_any_more(self):
        self.start()
        client = self.client("read")
        self.good(client.get("/v1/me"))
        os.chmod(self.path("efface.tokens"), 0o666)
        time.sleep(0.2)
        self.refused(client.get("/v1/me"), 401)
        os.chmod(self.path("efface.tokens"), 0o600)
        time.sleep(0.2)
        self.good(client.get("/v1/me"))
        self.stop()
        self.assertIn("chmod", self.service.log())

    def test_a_pipe_in_the_place_of_the_file(self):
        """Nobody waits for what is never written to it."""
        self.start()
        client = self.client("read")
        self.good(client.get("/v1/me"))
        os.rename(self.path("efface.tokens"), self.path("kept"))
        os.mkfifo(self.path("efface.tokens"), 0o600)
        while client.get("/v1/me").status != 401:
            time.sleep(0.02)
        os.rename(self.path("kept"), self.path("efface.tokens"))
        while client.get("/v1/me").status != 200:
            time.sleep(0.02)

    def test_damage_beside_a_token(self):
        self.start()
        with open(self.path("efface.tokens"), "a", encoding="utf-8") as file:
            file.write("{damage\n")
        time.sleep(0.2)
        self.good(self.client("read").get("/v1/me"))
        self.stop()
        self.assertIn("cannot be read", self.service.log())

    def test_forms_of_authorization(self):
        self.start()
        token = self.token("read")
        client = self.client()
        for value in ["", "Bearer", "Bearer ", token, "Basic " + token, "Bearer x" + token,
                      "Bearer " + token + "x", "Bearer " + token[:-1], "Bearer " + token.lower(),
                      "Bearer " + 2000 * "a"]:
            with self.subTest(value=value[:20]):
                reply = client.get("/v1/me", headers={"Authorization": value})
                self.refused(reply, 401)
                self.assertIn("bearer", reply.headers["www-authenticate"].lower())
        self.good(client.get("/v1/me", headers={"Authorization": "bearer " + token}))

    def test_hosts(self):
        self.start(options=("--host", "efface.example", "--host", "other.example"))
        port, client = self.service.port, self.client("read")
        for host in [f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", f"LOCALHOST:{port}",
                     "efface.example", "efface.example:443", "other.example:1", "Efface.Example"]:
            with self.subTest(host=host):
                self.good(client.get("/v1/me", headers={"Host": host}))
                self.good(client.get("/v1/health", headers={"Host": host}))
        for host in ["", "localhost", f"localhost:{port}0", "127.0.0.1", f"127.0.0.2:{port}",
                     "evil.example", f"evil.example:{port}", f"localhost.evil.example:{port}",
                     "efface.example.evil", "efface.example:", "efface.example:x",
                     f"user@localhost:{port}", f"localhost:{port}/", "[::1]", f"::1:{port}"]:
            with self.subTest(host=host):
                self.refused(client.get("/v1/me", headers={"Host": host}), 421, "host")
                self.refused(client.get("/v1/health", headers={"Host": host}), 421, "host")

    def test_no_cookies_and_no_other_origins(self):
        self.start()
        for reply in [self.client("read").get("/v1/me", headers={"Origin": "http://evil.example"}),
                      self.client().ask("OPTIONS", "/v1/me", headers={
                          "Origin": "http://evil.example",
                          "Access-Control-Request-Method": "GET"})]:
            self.assertNotIn("set-cookie", reply.headers)
            self.assertFalse([name for name in reply.headers if name.startswith("access-control")])
        self.assertEqual(self.client().ask("OPTIONS", "/v1/me").status, 405)

    def test_where_it_may_listen(self):
        self.assertIn("--behind-tls", self.start_fails("--listen", "0.0.0.0:0"))
        self.assertIn("--behind-tls", self.start_fails("--listen", "[::]:0"))
        self.assertIn("token", self.start_fails("--listen", "0.0.0.0:0", "--behind-tls"))
        self.make_token("late", "admin", expires="2020-01-01")
        self.assertIn("token", self.start_fails("--listen", "0.0.0.0:0", "--behind-tls"))

    def test_wrong_options(self):
        for options in [("--frob",), ("--listen",), ("--rate", "-1"), ("--rate", "x"),
                        ("--workers", "0"), ("--most-body", "0"), ("--most-body", "1T"),
                        ("--patience", "0"), ("--json=1",)]:
            with self.subTest(options=options):
                self.assertTrue(self.start_fails(*options, code=2).startswith("efface: "))
        for options, word in [(("--listen", "nowhere"), "address"), (("--listen", ":1"), "address"),
                              (("--listen", "127.0.0.1:65536"), "address"),
                              (("--listen", "127.0.0.1:8741x"), "address"),
                              (("people.csv",), "people.csv: the file is not a store"),
                              (("--sign", "people.csv"), "secret key")]:
            with self.subTest(options=options):
                self.assertIn(word, self.start_fails(*options))
        self.start_fails("--sign", "none", code=4)
        self.assertIn("none.store", self.start_fails("none.store", code=4))

    def test_start_without_tokens(self):
        process = subprocess.Popen([SERVICE, "serve", "people.store", "--listen", "127.0.0.1:0"],
                                   cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.assertIn("efface serves 1 store on http://127.0.0.1:", process.stdout.readline())
        self.assertIn("nobody can use the service", process.stderr.readline())
        process.terminate()
        process.communicate()
        self.assertEqual(process.returncode, 0)

    def test_logs_say_who_and_what_and_nothing_more(self):
        self.start(options=("--log-all",))
        erase = self.client("erase")
        self.good(erase.post("/v1/stores/people/forget", {"ids": [41]}))
        self.good(erase.post("/v1/stores/people/find", {"owner_keys": ["u12"]}))
        self.good(erase.post("/v1/stores/people/find", {"owner_keys": ["secret-person"]}))
        self.refused(self.client("read").post("/v1/stores/people/forget", {"ids": [42]}), 403)
        self.refused(self.client().post("/v1/stores/secret-person/forget", {"ids": [43]}), 401)
        self.refused(erase.get("/v1/secret-person?id=secret-person"), 404)
        self.refused(erase.get("/v1/stores/secret-person/receipts"), 404)
        for _ in range(3):
            self.client("predict").post("/v1/stores/people/models/default/predict",
                                        {"rows": [[31.25, 155.5, 12.75]]})
        self.stop()
        audit = self.audit()
        own = [line for line in audit if "count" not in line]
        self.assertEqual([(l["token"], l["action"], l["status"], l.get("store"), l.get("receipt"))
                          for l in own],
                         [("erase", "forget", 200, "people", 1), ("erase", "find", 200, "people", None),
                          ("erase", "find", 200, "people", None),
                          ("read", "forget", 403, "people", None),
                          ("erase", "receipts", 404, None, None)])
        counted = {(l["token"], l["action"]): l["count"] for l in audit if "count" in l}
        self.assertEqual(counted[("", "forget")], 1)
        self.assertEqual(counted[("predict", "predict")], 3)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("efface.audit")).st_mode), 0o600)
        log = [json.loads(line) for line in self.service.log().splitlines()]
        actions = [line["action"] for line in log if line["event"] == "request"]
        self.assertEqual(actions.count("predict"), 3)
        self.assertEqual(actions.count("none"), 1)
        with open(self.path("efface.audit"), encoding="utf-8") as file:
            texts = self.service.log() + file.read()
        for text in ["secret-person", "u12", "31.25", "155.5", "efface_", *self.tokens.values()]:
            self.assertNotIn(text, texts)
        for number in (41, 42, 43):
            self.assertIsNone(re.search(rf"(?<![\d.:T-]){number}(?![\d.:Z-])",
                                        re.sub(r'"(time|milliseconds|kilobytes_\w+)":[^,}]*', "", texts)))

    def test_refused_requests_do_not_fill_the_audit_log(self):
        """The first of a minute has a line; the others are counted."""
        self.start()
        client = self.client("predict")
        for number in range(20):
            self.refused(client.post("/v1/stores/people/forget", {"ids": [number]}), 403)
            self.refused(client.get("/v1/stores/people/receipts"), 403)
        self.stop()
        refused = [line for line in self.audit() if line["status"] == 403]
        self.assertEqual(sorted((line["action"], line.get("count")) for line in refused
                                if "count" not in line), [("forget", None), ("receipts", None)])
        self.assertEqual(sorted((line["action"], line["count"]) for line in refused
                                if "count" in line), [("forget", 19), ("receipts", 19)])

    def test_counted_in_the_log(self):
        self.start()
        for _ in range(5):
            self.client().get("/v1/health")
        self.stop()
        sums = [json.loads(line) for line in self.service.log().splitlines()]
        health = [line for line in sums if line.get("action") == "health"]
        self.assertEqual([(line["event"], line["count"]) for line in health], [("requests", 5)])

    def test_the_audit_log_is_opened_again(self):
        self.start()
        forget = "/v1/stores/people/forget"
        self.good(self.client("erase").post(forget, {"ids": [1]}))
        os.rename(self.path("efface.audit"), self.path("old.audit"))
        self.service.process.send_signal(1)
        while not os.path.exists(self.path("efface.audit")):
            time.sleep(0.05)
        self.good(self.client("erase").post(forget, {"ids": [2]}))
        self.stop()
        self.assertEqual([l["receipt"] for l in self.audit() if "receipt" in l], [2])
        with open(self.path("old.audit"), encoding="utf-8") as file:
            self.assertEqual([json.loads(line)["receipt"] for line in file], [1])

    def test_a_log_that_nobody_reads(self):
        """Standard error is a pipe that is full, or closed; requests are answered all the same."""
        for role in ("read",):
            self.token(role)
        for close in (False, True):
            read_end, write_end = os.pipe()
            process = subprocess.Popen([SERVICE, "serve", "people.store", "--listen", "127.0.0.1:0",
                                        "--json", "--log-all"], cwd=self.folder, text=True,
                                       stdout=subprocess.PIPE, stderr=write_end)
            os.close(write_end)
            if close:
                os.close(read_end)
            port = json.loads(process.stdout.readline())["port"]
            from service_program import Client
            client = Client(port, self.token("read"))
            for _ in range(3000):
                self.good(client.get("/v1/me"))
            client.close()
            process.terminate()
            self.assertEqual(process.wait(), 0)
            process.stdout.close()
            if not close:
                os.close(read_end)

    def test_changes_need_the_audit_log(self):
        self.start(options=("--audit", "/dev/full"))
        erase = self.client("erase")
        self.good(erase.post("/v1/stores/people/forget", {"ids": [1]}))
        self.refused(erase.post("/v1/stores/people/forget", {"ids": [2]}), 507, "full")
        self.good(self.client("read").get("/v1/me"))
        self.good(self.client("predict").post("/v1/stores/people/models/default/predict",
                                              {"rows": [[31.25, 155.5, 12.75]]}))
        self.stop()


if __name__ == "__main__":
    unittest.main()
