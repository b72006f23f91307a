"""What only reads: stores, models, tables, receipts, the page. Every reply is held against
openapi.json, and what it says against the command line."""
import json
import os
import sqlite3
import unittest

import service_program
from contract import Checked, Contract
from service_program import N_ROWS, EndedTest

CONTRACT = Contract()


class ReadsTest(EndedTest):
    """A service with one store, of 60 rows and three models."""

    def setUp(self):
        super().setUp()
        self.make_store()

    def checked(self, *roles):
        return Checked(self.client(*roles), CONTRACT)

    def program_json(self, *arguments):
        return json.loads(self.run_program(*arguments, "--json"))


class StoresTest(ReadsTest):
    def test_list(self):
        self.make_store("others.store", n_rows=8, text_ids=True)
        self.start("people.store", "others.store")
        for role in ("read", "predict", "erase", "admin"):
            stores = self.good(self.checked(role).get("/v1/stores"))["stores"]
            self.assertEqual([store["name"] for store in stores], ["people", "others"])
        people, others = stores
        self.assertEqual([people[key] for key in ("rows", "columns", "models", "owners", "receipts",
                                                  "keeps_texts", "ids", "owners_are")],
                         [N_ROWS, 3, 3, 15, 0, True, "numbers", "texts"])
        self.assertEqual((others["rows"], others["ids"]), (8, "texts"))
        self.assertEqual(people["file_bytes"], os.path.getsize(self.path("people.store")))

    def test_unread_store_does_not_hide_others(self):
        self.make_store("others.store", n_rows=8)
        self.start("people.store", "others.store")
        with open(self.path("others.store"), "r+b") as file:
            file.write(b"not a database any more")
        people, others = self.good(self.checked("read").get("/v1/stores"))["stores"]
        self.assertEqual(people["rows"], N_ROWS)
        self.assertEqual(sorted(others), ["error", "name"])
        self.assertEqual(others["error"]["code"], "damaged")
        self.assertNotIn(self.folder, json.dumps(others))

    def test_a_file_that_takes_the_name_of_a_store(self):
        """It is read and changed from then on, and nothing is refused."""
        self.start()
        erase = self.client("erase")
        forget = "/v1/stores/people/forget"
        self.good(erase.post(forget, {"ids": [1]}))
        self.make_store("new.store", n_rows=20)
        os.replace(self.path("new.store"), self.path("people.store"))
        self.good(erase.post(forget, {"ids": [2]}))
        self.assertEqual(self.program_json("info", "people.store")["rows"], 19)
        self.assertEqual(self.good(erase.get("/v1/stores/people"))["rows"], 19)

    def test_one(self):
        self.start()
        store = self.good(self.checked("predict").get("/v1/stores/people"))
        info = self.program_json("info", "people.store")
        self.assertEqual(store["column_names"], ["age", "height", "income"])
        self.assertEqual(store["labels"], 3)
        self.assertEqual([(model["name"], model["kind"], model["columns"], model["commitment"])
                          for model in store["models"]],
                         [(model["name"], model["kind"], model["dim"], model["commitment"])
                          for model in info["models"]])

    def test_refusals(self):
        self.start()
        client = self.checked("read")
        self.refused(client.get("/v1/stores/nobody"), 404, "no_store")
        self.refused(client.get("/v1/stores/people/models/nothing"), 404, "not_found")
        self.refused(client.get("/v1/stores/people/models/default/tables/nothing"), 404)
        self.refused(self.checked("erase").get("/v1/stores/people/models/default"), 403, "role")
        self.refused(self.checked("predict").get("/v1/stores/people/receipts"), 403, "role")


class ModelsTest(ReadsTest):
    def test_models(self):
        self.start()
        client = self.checked("read")
        for name, kind, predicts, numbers in (("default", "k-means", "clusters", 1),
                                              ("income", "linear regression", "values", 1),
                                              ("kind", "naive Bayes", "classes", 1)):
            model = self.good(client.get(f"/v1/stores/people/models/{name}"))
            info = self.program_json("info", "people.store", "--model", name)["model"]
            self.assertEqual((model["kind"], model["predicts"], model["numbers"], model["rows"]),
                             (kind, predicts, numbers, N_ROWS))
            self.assertEqual(model["commitment"], info["commitment"])
            facts = {fact["name"]: fact["value"] for fact in model["facts"] if fact["parameter"]}
            self.assertEqual(facts, info["parameters"])
            self.assertNotIn("seed", facts)

    def test_targets_are_no_inputs(self):
        self.start()
        model = self.good(self.checked("predict").get("/v1/stores/people/models/income"))
        columns = [(column["name"], column["input"]) for column in model["columns"]]
        self.assertEqual(columns, [("age", True), ("height", True), ("income", False)])
        self.assertFalse(model["missing"] or any(column["category"] for column in model["columns"]))

    def test_classes_have_their_texts(self):
        self.start()
        model = self.good(self.checked("read").get("/v1/stores/people/models/kind"))
        self.assertEqual(sorted(model["classes"]), ["blue", "green", "red"])

    def test_model_follows_the_store(self):
        self.start()
        client = self.checked("read")
        before = self.good(client.get("/v1/stores/people/models/default"))
        self.run_program("forget", "people.store", "--id", "7", "--yes")
        after = self.good(client.get("/v1/stores/people/models/default"))
        self.assertEqual((before["rows"], after["rows"]), (N_ROWS, N_ROWS - 1))
        self.assertNotEqual(before["commitment"], after["commitment"])


class TablesTest(ReadsTest):
    def table(self, model, name, query=""):
        return self.good(self.checked("read").get(
            f"/v1/stores/people/models/{model}/tables/{name}{query}"))

    def exported(self, model, table):
        self.run_program("export", "people.store", "--model", model, "--table", table,
                         "-o", f"{model}-{table}.json")
        with open(self.path(f"{model}-{table}.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_every_table_has_the_bits_of_an_export(self):
        self.start()
        n_tables = 0
        for name in ("default", "income", "kind"):
            model = self.good(self.checked("read").get(f"/v1/stores/people/models/{name}"))
            for info in model["tables"]:
                table = self.table(name, info["name"])
                wanted = self.exported(name, info["name"])
                self.assertEqual(table["of"], info["rows"])
                self.assertEqual(table["columns"], wanted["columns"])
                self.assertEqual([row["values"] for row in table["rows"]], wanted[info["name"]])
                if "rows" in wanted:
                    self.assertEqual([row["row"] for row in table["rows"]], wanted["rows"])
                n_tables += 1
        self.assertGreaterEqual(n_tables, 6)

    def test_pages(self):
        self.start()
        whole = self.table("default", "centroids")
        self.assertEqual([row["row"] for row in whole["rows"]], [0, 1, 2])
        self.assertEqual(whole["row_name"], "cluster")
        part = self.table("default", "centroids", "?from=1&count=1")
        self.assertEqual(part["rows"], whole["rows"][1:2])
        self.assertEqual(part["of"], 3)
        self.assertEqual(self.table("default", "centroids", "?from=3")["rows"], [])
        self.assertEqual(self.table("default", "centroids", f"?from={2**64 - 1}")["rows"], [])

    def test_wrong_queries(self):
        self.start()
        client = self.checked("read")
        at = "/v1/stores/people/models/default/tables/centroids"
        for query in ("from=-1", "from=x", "from=", "count=0", "count=10001", "count=1.0",
                      f"from={2**64}", "count=%201"):
            self.refused(client.get(f"{at}?{query}"), 400, "parameter")

    def test_offsets_are_added(self):
        service_program.write_people(self.path("people.csv"), range(N_ROWS))
        self.run_program("fit", "people.csv", "--id", "id", "--owner", "user", "--label", "kind",
                         "--offset", "height=100", "-k", "3", "--seed", "11", "-o", "offset.store")
        self.start("offset.store")
        table = self.good(self.checked("read").get(
            "/v1/stores/offset/models/default/tables/centroids"))
        heights = [row["values"][1] for row in table["rows"]]
        self.assertTrue(all(140 < height < 180 for height in heights), heights)


class ReceiptsTest(ReadsTest):
    def forget(self, *ids, options=()):
        for number in ids:
            self.run_program("forget", "people.store", "--id", str(number), "--yes", *options)

    def lines(self):
        self.run_program("export", "people.store", "--receipts", "-o", "receipts.jsonl")
        with open(self.path("receipts.jsonl"), "rb") as file:
            lines = file.read().splitlines()
        os.remove(self.path("receipts.jsonl"))
        return lines

    def verdict(self, body, **more):
        return self.good(self.checked("erase").post("/v1/stores/people/receipts/verify", body,
                                                    **more))

    def test_list_and_one(self):
        self.forget(1, 2, 3, 4, 5)
        lines = self.lines()
        self.start()
        client = self.checked("read")
        at = "/v1/stores/people/receipts"
        for query, numbers in (("", [5, 4, 3, 2, 1]), ("?count=2", [5, 4]),
                               ("?before=3", [2, 1]), ("?before=3&count=1", [2]),
                               ("?before=1", []), ("?before=99", [5, 4, 3, 2, 1]),
                               (f"?before={2**64 - 1}", [5, 4, 3, 2, 1])):
            answer = self.good(client.get(at + query))
            self.assertEqual([receipt["receipt"] for receipt in answer["receipts"]], numbers, query)
            self.assertEqual(answer["of"], 5)
            self.assertEqual(answer["receipts"], [json.loads(lines[n - 1]) for n in numbers])
        for number, line in enumerate(lines, 1):
            self.assertEqual(client.get(f"{at}/{number}").body, line)
        self.refused(client.get(f"{at}/0"), 404, "not_found")
        self.refused(client.get(f"{at}/6"), 404, "not_found")
        for number in ("x", "-1", "1x"):
            self.refused(client.get(f"{at}/{number}"), 400, "parameter")
        self.refused(client.get(f"{at}/verify"), 405, "no_method")
        for query in ("before=0", "count=0", "count=1001"):
            self.refused(client.get(f"{at}?{query}"), 400, "parameter")

    def test_no_receipts(self):
        self.start()
        self.assertEqual(self.good(self.checked("read").get("/v1/stores/people/receipts")),
                         {"receipts": [], "of": 0})
        self.assertEqual(self.verdict({}),
                         {"valid": True, "signature": "not signed", "problems": []})

    def test_unsigned_chain(self):
        self.forget(1, 2, 3)
        line = self.lines()[1].decode()
        self.start()
        self.assertEqual(self.verdict({}),
                         {"valid": True, "signature": "not signed", "problems": []})
        self.assertEqual(self.verdict({"receipt": line}), {
            "valid": False, "signature": "not signed",
            "problems": ["the receipt is not signed: anyone can have written it"]})
        for body in ({"receipt": line}, {}):
            self.assertEqual(self.verdict({**body, "public_key": "0" * 64})["signature"],
                             "not signed")
        self.assertFalse(self.verdict({"receipt": "{}"})["valid"])
        self.assertFalse(self.verdict({"receipt": line, "public_key": "0" * 64})["valid"])
        self.assertFalse(self.verdict({"public_key": "0" * 64})["valid"])

    def test_signed_chain(self):
        self.run_program("receipt", "keys", "--secret", "secret", "--public", "public")
        with open(self.path("public"), encoding="ascii") as file:
            key = file.read().strip()
        self.forget(1, 2, 3, options=("--sign", "secret"))
        line = self.lines()[1].decode()
        self.start()
        good = {"valid": True, "signature": "valid", "problems": []}
        self.assertEqual(self.verdict({"public_key": key}), good)
        self.assertEqual(self.verdict({"public_key": key.upper()}), good)
        self.assertEqual(self.verdict({"receipt": line, "public_key": key}), good)
        self.assertEqual(self.verdict({"receipt": line})["signature"], "not compared")
        self.assertFalse(self.verdict({"receipt": line})["valid"])
        self.assertEqual(self.verdict({})["signature"], "not compared")
        other = "1" + key[1:] if key[0] != "1" else "2" + key[1:]
        for body in ({"receipt": line}, {}):
            found = self.verdict({**body, "public_key": other})
            self.assertEqual((found["valid"], found["signature"]), (False, "does not match"))
        changed = line.replace('"forgotten":1', '"forgotten":2')
        self.assertNotEqual(changed, line)
        self.assertFalse(self.verdict({"receipt": changed})["valid"])

    def test_changed_chain(self):
        self.forget(1, 2, 3)
        database = sqlite3.connect(self.path("people.store"))
        with database:
            database.execute("UPDATE receipts SET body = replace(body, '\"forgotten\":1', "
                             "'\"forgotten\":2') WHERE number = 2")
        database.close()
        self.start()
        verdict = self.verdict({})
        self.assertFalse(verdict["valid"])
        self.assertTrue(any("receipt 3" in text for text in verdict["problems"]), verdict)

    def test_wrong_checks(self):
        self.start()
        client = self.checked("read")
        at = "/v1/stores/people/receipts/verify"
        for body in ("", "[]", "{", {"receipt": 7}, {"public_key": "12"}, {"public_key": 7},
                     {"public_key": "g" * 64}, {"receipts": "x"}):
            reply = client.post(at, body, headers={"Content-Type": "application/json"})
            self.assertEqual(reply.status, 400, (body, reply))


class FilesTest(ReadsTest):
    def test_document(self):
        self.start()
        self.assertEqual(self.good(self.checked("predict").get("/v1/openapi.json")),
                         CONTRACT.document)
        self.refused(self.checked().get("/v1/openapi.json"), 401)

    def test_page(self):
        self.start()
        client = self.checked()
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "serve",
                              "page")
        kinds = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
                 "svg": "image/svg+xml", "html": "text/html; charset=utf-8"}
        names = os.listdir(folder)
        self.assertIn("main.js", names)
        for name in names:
            path = "/" if name == "index.html" else f"/page/{name}"
            reply = client.get(path)
            with open(os.path.join(folder, name), "rb") as file:
                self.assertEqual(reply.body, file.read(), name)
            self.assertEqual(reply.headers["content-type"], kinds[name.rsplit(".", 1)[1]])
            self.assertEqual(reply.headers["cache-control"], "no-store")
        for name in ("nothing.js", "index.html", "..%2Fapi%2Fopenapi.json", "%2e%2e"):
            self.refused(client.get(f"/page/{name}"), 404)


if __name__ == "__main__":
    unittest.main()
