#!/usr/bin/python3
"""Every operation of serve/api/openapi.json, with good and with bad input: each answer, errors too,
must be what the document says. No operation is left out, and the program has no route that is not
in the document.

usage: test_contract.py EFFACE-SERVE EFFACE
"""
import glob
import json
import os
import re
import time
import unittest

from contract import Contract
from service_program import ServiceTest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
REQUEST = "a7551968-d5d6-44b2-9831-815ac9017798"
STORE = "/v1/stores/people"

# Bodies that no operation with a body takes, and the status they get. None: one of 400 to 422.
BAD_BODIES = (
    (b"", 400), (b"{", 400), (b"[]", 400), (b"null", 400), (b"3", 400), (b'"ids"', 400),
    (b"\xff\xfe{}", 400), (b'{"ids": [1], "ids": [2]}', 400), (b'{"nothing": 1}', 400),
    (b'{"rows": 3}', 400), (b'{"rows": [3]}', 400), (b'{"rows": [[]], "x": 1}', 400),
    (b"[" * 100000, 400), (b'{"a":' * 5000, 400), (b'{"ids": [1e400]}', 400),
)


def rows(*rows_of):
    return {"rows": list(rows_of)}


def dsr(identities, **more):
    return {"regulation": "gdpr", "subject_request_id": REQUEST, "api_version": "2.0",
            "subject_request_type": "erasure", "submitted_time": "2026-01-31T10:20:30Z",
            "subject_identities": [
                {"identity_type": kind, "identity_value": value, "identity_format": form}
                for kind, value, form in identities], **more}


CUSTOMER = ("controller_customer_id", "u7", "raw")


class ContractTest(ServiceTest):
    contract = Contract()
    called = {}  # operation: the statuses that were seen

    def setUp(self):
        super().setUp()
        self.make_store()
        self.make_store("texts.store", text_ids=True)
        self.run_program("receipt", "keys", "--secret", "signing.key", "--public", "signing.pub")
        self.start("people.store", "texts.store", options=("--sign", "signing.key"))
        self.admin = self.client("admin")

    def ask(self, status, method, path, body=None, client=None, headers=None):
        """Asks, compares the answer with the document, and its status if it is given."""
        reply = (client or self.admin).ask(method, path, body, headers=headers or {})
        self.contract.check(method, path, reply)
        operation = self.contract.operation(method, path)
        if operation:
            self.called.setdefault(operation["operationId"], set()).add(reply.status)
        if status is not None:
            self.assertEqual(reply.status, status, f"{method} {path} {str(body)[:200]}\n{reply}")
        return reply

    def get(self, path, status=200, **more):
        return self.ask(status, "GET", path, **more).json

    def post(self, path, body, status=200, **more):
        return self.ask(status, "POST", path, body, **more).json

    def test_the_service(self):
        self.assertEqual(self.get("/v1/health", client=self.client())["status"], "ok")
        with open(os.path.join(TOP, "serve", "api", "openapi.json"), encoding="utf-8") as file:
            self.assertEqual(self.get("/v1/openapi.json"), json.load(file))
        self.assertEqual(self.get("/v1/me")["roles"], ["admin"])
        self.assertIn(b"efface_", self.ask(200, "GET", "/v1/metrics").body)
        self.assertEqual([store["name"] for store in self.get("/v1/stores")["stores"]],
                         ["people", "texts"])
        self.assertIn(b"<html", self.ask(200, "GET", "/", client=self.client()).body)
        for path in glob.glob(os.path.join(TOP, "serve", "page", "*")):
            name = os.path.basename(path)
            if name != "index.html":
                reply = self.ask(200, "GET", "/page/" + name, client=self.client())
                with open(path, "rb") as file:
                    self.assertEqual(reply.body, file.read(), name)
        self.get("/page/nothing.js", 404)
        for path in ("/v1/me", "/v1/openapi.json", "/v1/metrics", "/v1/stores"):
            self.get(path, 401, client=self.client())
        self.get("/v1/metrics", 403, client=self.client("erase"))

    def test_reading(self):
        store = self.get(STORE)
        self.assertEqual(store["rows"], 60)
        self.assertEqual([model["name"] for model in store["models"]],
                         ["default", "income", "kind"])
        self.get("/v1/stores/nobody", 404)
        for summary in store["models"]:
            path = f"{STORE}/models/{summary['name']}"
            model = self.get(path)
            self.assertEqual(model["commitment"], summary["commitment"])
            self.assertTrue(model["tables"])
            for table in model["tables"]:
                found = self.get(f"{path}/tables/{table['name']}")
                self.assertEqual(found["of"], table["rows"])
                self.assertEqual(len(found["columns"]), table["columns"])
                part = self.get(f"{path}/tables/{table['name']}?from=1&count=1")
                self.assertEqual(part["rows"], found["rows"][1:2])
                for query in ("from=-1", "from=x", "count=0", "count=10001", "count=", "from=1x"):
                    self.get(f"{path}/tables/{table['name']}?{query}", 400)
                self.assertEqual(
                    self.get(f"{path}/tables/{table['name']}?from=999999")["rows"], [])
            self.get(path + "/picture")
            self.get(path + "/tables/nothing", 404)
        for rest in ("", "/picture", "/tables/means"):
            self.get(f"{STORE}/models/nothing{rest}", 404)

    def test_predictions(self):
        for name, count in (("default", 3), ("income", 2), ("kind", 3)):
            path = f"{STORE}/models/{name}/predict"
            one = self.post(path, rows([30, 160, 40][:count]))
            self.assertEqual(len(one["predictions"]), 1)
            self.assertEqual(self.post(path, rows())["predictions"], [])
            names = ("age", "height", "income")[:count]
            named = self.post(path, rows(dict(zip(names, (30, 160, 40)))))
            self.assertEqual(named, one)
            text = ",".join(names) + "\n" + ",".join(("30", "160", "40")[:count]) + "\n"
            self.ask(200, "POST", path, text, headers={"Content-Type": "text/csv"})
            self.ask(200, "POST", path, rows([30, 160, 40][:count]),
                     headers={"Accept": "text/csv"})
            for body in (rows([1]), rows([1, 2, 3, 4]), rows(["a"] * count), rows({"age": 1}),
                         rows(dict.fromkeys(("age", "height", "nothing"), 1)),
                         {**rows([30, 160, 40][:count]), "scores": "nothing"}, {}):
                self.post(path, body, 400)
            self.ask(415, "POST", path, "a: 1", headers={"Content-Type": "text/yaml"})
        self.post(f"{STORE}/models/kind/predict",
                  {**rows([30, 160, 40]), "scores": "probabilities"})
        self.post(f"{STORE}/models/nothing/predict", rows([1, 2, 3]), 404)
        self.post(f"{STORE}/models/default/predict", rows([1, 2, 3]), 403,
                  client=self.client("erase"))

    def test_finding_and_forgetting(self):
        found = self.post(STORE + "/find", {"ids": [3, "4"], "owner_keys": ["u7"]})
        self.assertEqual({row["id"] for row in found["rows"]}, {"3", "4", "28", "29", "30", "31"})
        self.assertEqual(len(self.post(STORE + "/find",
                                       {"owner_keys": ["u7"], "limit": 2})["rows"]), 2)
        keyed = self.post("/v1/stores/texts/find", {"keys": ["p3"]})
        self.assertEqual(keyed["rows"][0]["key"], "p3")
        for limit in (0, 1001, "x", 1.5):
            self.post(STORE + "/find", {"ids": [3], "limit": limit}, 400)
        preview = self.post(STORE + "/preview", {"ids": [3], "owner_keys": ["u7"]})
        self.assertEqual((preview["rows"], preview["missing"], preview["dry_run"]), (5, 0, True))
        self.assertTrue(all("will " in model["reason"] for model in preview["models"]))
        done = self.post(STORE + "/forget", {"ids": [3, "4"], "hashes": True})
        self.assertEqual((done["forgotten"], done["receipt"]), (2, 1))
        self.assertEqual(len(done["hashes"]), 2)
        self.post(STORE + "/forget", {"ids": [3]}, 404)
        self.post(STORE + "/preview", {"ids": [3]}, 404)
        done = self.post(STORE + "/forget", {"ids": [3, 5], "skip_missing": True})
        self.assertEqual((done["forgotten"], done["missing"]), (1, 1))
        done = self.post(STORE + "/forget", {"owner_keys": ["u7"]})
        self.assertEqual(done["forgotten"], 4)
        self.post("/v1/stores/texts/forget", {"keys": ["p3"], "owner_keys": ["u7"]})
        for body in ({}, {"ids": []}, {"ids": 3}, {"ids": [-1]}, {"ids": [1.5]}, {"ids": ["x"]},
                     {"ids": [None]}, {"ids": ["99999999999999999999"]}, {"keys": [3]},
                     {"owner_keys": "u7"}, {"ids": [6], "skip_missing": "yes"},
                     {"ids": [6], "more": 1}):
            self.post(STORE + "/forget", body, 400)
            self.post(STORE + "/preview", body, 400)
        self.assertEqual(self.get(STORE)["rows"], 60 - 2 - 1 - 4)
        self.post("/v1/stores/nobody/forget", {"ids": [1]}, 404)
        for path in ("forget", "find", "preview"):
            self.post(f"{STORE}/{path}", {"ids": [6]}, 403, client=self.client("predict"))
            self.ask(415, "POST", f"{STORE}/{path}", "ids: 1",
                     headers={"Content-Type": "text/yaml"})

    def test_learning_and_updating(self):
        row = {"values": [30, 160, 40], "label": "red", "owner_key": "u99"}
        done = self.post(STORE + "/learn", rows({"id": 900, **row}, {"id": "901", **row}))
        self.assertEqual((done["learned"], done["receipt"]), (2, 1))
        done = self.post(STORE + "/learn", rows(row))
        self.assertEqual(len(done["new_ids"]), 1)
        self.post(STORE + "/learn", rows({"id": 900, **row}), 409)
        self.post(STORE + "/learn", rows({"id": 950, **row}, {"id": 950, **row}), 409)
        named = {"values": {"height": 1, "age": 2, "income": 3}, "label": "red"}
        self.post(STORE + "/learn", rows({"id": 902, **named}))
        text = "id,user,kind,age,height,income\n903,u99,red,1,2,3\n904,u98,blue,4,5,6\n"
        csv = {"Content-Type": "text/csv"}
        query = "?id=id&owner=user&label=kind"
        self.assertEqual(self.ask(200, "POST", f"{STORE}/learn{query}", text,
                                  headers=csv).json["learned"], 2)
        for bad in ("", "id,user\n", "id,user,kind,age,height,income\n905,u9,red,1,2\n",
                    "id,user,kind,age,height,income\n905,u9,red,1,2,x\n"):
            self.ask(400, "POST", f"{STORE}/learn{query}", bad, headers=csv)
        self.ask(415, "POST", f"{STORE}/learn", "a: 1", headers={"Content-Type": "text/yaml"})
        for body in ({}, rows(), rows({"id": 910}), rows({"id": 910, "values": [1]}),
                     rows({"id": 910, "values": [1, 2, 3], "more": 1}),
                     rows({"id": -1, "values": [1, 2, 3], "label": "red"}),
                     rows({"id": 910, "values": [1, 2, None], "label": "red"}),
                     rows({"id": 910, "values": {"age": 1, "height": 2, "x": 3}, "label": "red"}),
                     rows({"id": 910, "values": [1, 2, 3], "label": "red", "weight": "x"}),
                     rows({"id": 910, "key": "x", "values": [1, 2, 3], "label": "red"})):
            self.post(STORE + "/learn", body, 400)
        for body in (rows({"id": 910, "values": [1e300, 2, 3], "label": "red"}),):
            self.assertIn(self.ask(None, "POST", STORE + "/learn", body).status, (400, 422))
        done = self.post(STORE + "/update", rows({"id": 900, "values": [31, 161, 41]}))
        self.assertEqual(done["updated"], 1)
        found = self.post(STORE + "/find", {"ids": [900]})["rows"][0]
        self.assertEqual((found["values"], found["label"], found["owner_key"]),
                         ([31, 161, 41], "red", "u99"))
        self.post(STORE + "/update", rows({"id": 999, "values": [31, 161, 41]}), 404)
        self.post(STORE + "/update", rows({"values": [31, 161, 41]}), 400)
        self.ask(200, "POST", f"{STORE}/update?id=id", "id,age,height,income\n901,1,2,3\n",
                 headers=csv)
        self.post("/v1/stores/texts/learn", rows({"key": "new", **row}))
        self.post("/v1/stores/texts/update", rows({"key": "new", "values": [3, 2, 1]}))
        for path in ("learn", "update"):
            self.post(f"{STORE}/{path}", rows({"id": 6, **row}), 403, client=self.client("erase"))
            self.post(f"/v1/stores/nobody/{path}", rows({"id": 6, **row}), 404)

    def test_receipts(self):
        self.assertEqual(self.get(STORE + "/receipts"), {"receipts": [], "of": 0})
        for number in range(5):
            self.post(STORE + "/forget", {"ids": [number]})
        listed = self.get(STORE + "/receipts")
        self.assertEqual([one["receipt"] for one in listed["receipts"]], [5, 4, 3, 2, 1])
        page = self.get(STORE + "/receipts?before=4&count=2")
        self.assertEqual([one["receipt"] for one in page["receipts"]], [3, 2])
        for query in ("before=0", "count=0", "count=1001", "before=x"):
            self.get(f"{STORE}/receipts?{query}", 400)
        line = self.ask(200, "GET", STORE + "/receipts/2").body.decode()
        self.assertEqual(json.loads(line), listed["receipts"][3])
        self.get(STORE + "/receipts/99", 404)
        self.get(STORE + "/receipts/x", None)
        self.assertTrue(self.post(STORE + "/receipts/verify", {})["valid"])
        for body in ({"receipt": 3}, {"public_key": "xyz"}, {"more": 1}):
            self.post(STORE + "/receipts/verify", body, 400)
        self.post("/v1/stores/nobody/receipts/verify", {}, 404)
        self.get("/v1/stores/nobody/receipts", 404)
        self.get(STORE + "/receipts", 403, client=self.client("predict"))

    def wait_for_job(self, job):
        while True:
            state = self.get("/v1/jobs/" + job)
            if state["state"] not in ("waiting", "running"):
                return state
            time.sleep(0.02)

    def test_jobs(self):
        for model in ("default", "income", "kind"):
            path = f"{STORE}/models/{model}/verify"
            reply = self.ask(202, "POST", path)
            job = reply.json["job"]
            self.assertEqual(reply.headers["location"], "/v1/jobs/" + job)
            state = self.wait_for_job(job)
            self.assertEqual((state["state"], state["identical"]), ("done", True), state)
            self.assertEqual(state["commitment"], self.get(f"{STORE}/models/{model}")["commitment"])
        self.assertEqual(len(self.get("/v1/jobs")["jobs"]), 3)
        self.ask(None, "DELETE", "/v1/jobs/" + job)
        self.get("/v1/jobs/nothing", 404)
        self.ask(404, "DELETE", "/v1/jobs/nothing")
        self.ask(404, "POST", f"{STORE}/models/nothing/verify")
        self.ask(403, "POST", f"{STORE}/models/default/verify", client=self.client("predict"))

    def test_opendsr(self):
        self.get("/opendsr/v2/discovery")
        self.get("/opendsr/v2/discovery", 401, client=self.client())
        self.assertIn(b"PUBLIC KEY", self.ask(200, "GET", "/opendsr/v2/certificate").body)
        reply = self.ask(201, "POST", "/opendsr/v2/requests", dsr([CUSTOMER]))
        self.assertEqual(reply.json["subject_request_id"], REQUEST)
        path = "/opendsr/v2/requests/" + REQUEST
        while self.get(path)["request_status"] not in ("completed", "cancelled"):
            time.sleep(0.02)
        self.assertEqual(self.get(path)["results_count"], 8)
        self.assertIn(self.ask(None, "DELETE", path).status, (400, 404, 409))
        other = path[:-1] + "9"
        self.get(other, 404)
        self.ask(404, "DELETE", other)
        for body in (dsr([]), dsr([("email", "x@example.org", "raw")]),
                     dsr([CUSTOMER], subject_request_type="access"),
                     dsr([CUSTOMER], subject_request_id="1"), dsr([CUSTOMER], api_version="1.0"),
                     dsr([CUSTOMER], status_callback_urls=["https://example.org/"]), {}):
            status = self.ask(None, "POST", "/opendsr/v2/requests", body).status
            self.assertTrue(400 <= status < 500, body)
        self.ask(403, "POST", "/opendsr/v2/requests", dsr([CUSTOMER]), client=self.client("read"))

    def test_bad_bodies(self):
        before = self.get(STORE)
        for path in ("/find", "/preview", "/forget", "/learn", "/update",
                     "/models/default/predict"):
            for body, status in BAD_BODIES:
                with self.subTest(path=path, body=body[:40]):
                    self.ask(status, "POST", STORE + path, body,
                             headers={"Content-Type": "application/json"})
        self.assertEqual(self.get(STORE), before)

    def test_numbers_of_64_bits(self):
        """Ids have 64 bits; numbers of JSON go to 2^63 here, strings of digits all the way."""
        large = 2**64 - 2
        self.post(STORE + "/learn", rows({"id": str(large), "owner_key": "u99", "label": "red",
                                          "values": [1, 2, 3]}))
        for body in ({"ids": [large]}, {"owners": [2**63]}):
            reply = self.ask(400, "POST", STORE + "/forget", body)
            self.assertIn("strings of digits", reply.json["error"]["message"])
        self.assertEqual(self.post(STORE + "/forget", {"ids": [str(large)]})["forgotten"], 1)

    def test_errors_show_no_values(self):
        """A message never has an id, a text or a value of the request in it."""
        for path, body in (("/forget", {"ids": [77777777]}),
                           ("/forget", {"owner_keys": ["nobody77777777"]}),
                           ("/forget", {"ids": ["x77777777"]}),
                           ("/learn", rows({"id": 3, "values": [77777777, 1, 2], "label": "red"})),
                           ("/learn", rows({"id": 77777777, "values": [1, 2], "label": "red"})),
                           ("/learn", rows({"id": 900, "values": [7.7777777e200, 1, 2]})),
                           ("/update", rows({"id": 77777777, "values": [1, 2, 3]})),
                           ("/models/default/predict", rows([77777777])),
                           ("/models/default/predict", rows({"c77777777": 1}))):
            with self.subTest(path=path, body=body):
                reply = self.ask(None, "POST", STORE + path, body)
                self.assertTrue(400 <= reply.status < 500, reply)
                self.assertNotRegex(reply.body.decode(), r"77777")
        self.assertNotIn("77777", self.service.log())

    def test_paths_and_methods_that_there_are_not(self):
        self.ask(404, "GET", "/v1/nothing")
        self.ask(405, "DELETE", STORE)
        self.ask(405, "PUT", STORE + "/forget", {"ids": [1]})
        self.ask(421, "GET", "/v1/stores", headers={"Host": "example.org"})

    def test_routes_are_in_the_document(self):
        """And the other way round; names of parts do not matter."""
        def plain(path):
            return re.sub(r"\{[^}]*\}", "{}", path)
        routes = set()
        for path in glob.glob(os.path.join(TOP, "serve", "**", "*.c"), recursive=True):
            with open(path, encoding="utf-8") as file:
                routes.update((method, plain(route)) for method, route in re.findall(
                    r'\{\s*"([A-Z]+)",\s*"(/[^"]*)"', file.read()))
        documented = {(method.upper(), plain(path))
                      for path, methods in self.contract.document["paths"].items()
                      for method in methods}
        self.assertEqual(routes, documented)

    @classmethod
    def tearDownClass(cls):
        """Runs after all tests: each operation must have been called with success and with an
        error, where there can be one."""
        names = {operation["operationId"] for methods in cls.contract.document["paths"].values()
                 for operation in methods.values()}
        n_tests = len(unittest.TestLoader().getTestCaseNames(cls))
        if cls.n_run != n_tests:
            return  # one of them was run by name
        missing = names - cls.called.keys()
        done = {name for name, seen in cls.called.items() if any(one < 300 for one in seen)}
        if missing or names - done - {"opendsr_cancel"}:  # no request stays pending
            raise AssertionError(f"never called: {missing}; never with success: {names - done}")

    n_run = 0

    def tearDown(self):
        type(self).n_run += 1
        super().tearDown()


if __name__ == "__main__":
    unittest.main()
