#!/usr/bin/python3
"""The law through the service: several clients send random requests at once, and afterwards each
model is byte for byte that of a fresh fit to the rows that the clients know to be there.

usage: test_law.py EFFACE-SERVE EFFACE
EFFACE_TEST_SEED chooses the requests, EFFACE_TEST_CASES how many each client sends.
"""
import json
import os
import random
import sqlite3
import threading
import unittest

from acknowledged import check_store, new_row, read_receipts
from service_program import ServiceTest, row

SEED = int(os.environ.get("EFFACE_TEST_SEED", random.randrange(2 ** 32)))
N_REQUESTS = int(os.environ.get("EFFACE_TEST_CASES", 25))
N_CLIENTS = 8
N_ROWS = 40 * N_CLIENTS
STORES = ("people", "texts")

# Models of several families; the first is fitted when the store is made.
MODELS = {
    "default": ("-k", "3", "--seed", "11"),
    "lloyd": ("-k", "4", "--seed", "12", "--method", "lloyd", "--scale", "minmax"),
    "tree": ("-k", "3", "--seed", "13", "--method", "tree"),
    "income": ("--family", "linear", "--target", "income"),
    "kind": ("--family", "bayes"),
    "parts": ("--family", "components", "--components", "2"),
}
COUNTS = {"forget": "forgotten", "learn": "learned", "update": "updated"}


class Person(threading.Thread):
    """A client with rows of its own: those of its owners. It knows what they are at any time,
    whatever others do meanwhile."""

    def __init__(self, test, number, seed):
        super().__init__()
        self.random = random.Random(seed)
        self.client = test.client("admin")
        self.failure = None
        self.done = []  # (store, kind, rows, answer) of each acknowledged request
        self.refused = 0
        self.numbers = iter(range(10 ** 6 * (number + 1), 10 ** 9))
        self.rows = {store: {} for store in STORES}
        for one in range(N_ROWS):
            if one // 4 % N_CLIENTS == number:
                for store in STORES:
                    self.rows[store][one] = (f"u{one // 4}", ("red", "green", "blue")[one % 3],
                                             row(one))

    def run(self):
        try:
            for _ in range(N_REQUESTS):
                self.ask(self.random.choice(STORES))
        except BaseException as problem:  # the test raises it again
            self.failure = problem

    def name_rows(self, store, numbers):
        if store == "texts":
            return {"keys": [f"p{number}" for number in numbers]}
        return {"ids": [self.random.choice((number, str(number))) for number in numbers]}

    def new_row(self):
        values, label, owner = new_row(self.random.randrange(10 ** 6))
        return f"{owner}-{self.name}", label, values

    def json_row(self, store, number, new):
        owner, label, values = new
        if self.random.random() < 0.5:
            values = dict(zip(("age", "height", "income"), values))
        name = {"key": f"p{number}"} if store == "texts" else {"id": number}
        return {**name, "values": values, "label": label, "owner_key": owner}

    def send(self, store, kind, body, expected, n_rows, **more):
        query = more.pop("query", "")
        reply = self.client.post(f"/v1/stores/{store}/{kind}{query}", body, **more)
        if reply.status != expected:
            raise AssertionError(f"{kind} {body}: {reply}")
        if expected != 200:
            self.refused += 1
        else:
            answer = reply.json
            if answer[COUNTS[kind]] != n_rows:
                raise AssertionError(f"{kind} {body}: {answer}")
            self.done.append((store, kind, n_rows, answer))

    def ask(self, store):
        rows = self.rows[store]
        some = self.random.sample(sorted(rows), min(len(rows), self.random.randint(1, 3)))
        what = self.random.choice(("ids", "owner", "learn", "learn", "csv", "update", "bad"))
        if what == "ids" and some:
            self.send(store, "forget", self.name_rows(store, some), 200, len(some))
            for number in some:
                del rows[number]
        elif what == "owner" and some:
            owner = rows[some[0]][0]
            gone = [number for number in rows if rows[number][0] == owner]
            self.send(store, "forget", {"owner_keys": [owner]}, 200, len(gone))
            for number in gone:
                del rows[number]
        elif what == "update" and some:
            new = {number: self.new_row() for number in some}
            body = {"rows": [self.json_row(store, *one) for one in new.items()]}
            self.send(store, "update", body, 200, len(new))
            rows.update(new)
        elif what == "bad":
            self.ask_badly(store, some)
        else:
            new = {next(self.numbers): self.new_row() for _ in range(self.random.randint(1, 4))}
            if what == "csv":
                text = "income,kind,id,user,height,age\n"
                for number, (owner, label, values) in new.items():
                    name = f"p{number}" if store == "texts" else number
                    text += f"{values[2]},{label},{name},{owner},{values[1]},{values[0]}\n"
                self.send(store, "learn", text, 200, len(new), query="?id=id&owner=user&label=kind",
                          headers={"Content-Type": "text/csv"})
            else:
                body = {"rows": [self.json_row(store, *one) for one in new.items()]}
                self.send(store, "learn", body, 200, len(new))
            rows.update(new)

    def ask_badly(self, store, some):
        """A request of which a part is right: nothing of it may be done."""
        missing = next(self.numbers)
        self.send(store, "forget", self.name_rows(store, [*some, missing]), 404, 0)
        row_of = self.json_row(store, missing, self.new_row())
        self.send(store, "update", {"rows": [row_of]}, 404, 0)
        if some:
            again = self.json_row(store, some[0], self.new_row())
            self.send(store, "learn", {"rows": [row_of, again]}, 409, 0)


class LawTest(ServiceTest):
    def make_law_store(self, name, data, *more):
        for model, options in MODELS.items():
            if model == "default":
                self.run_program("fit", data, "--id", "id", "--owner", "user", "--label", "kind",
                                 "--keep-texts", *options, "-o", name, *more)
            else:
                self.run_program("fit", "-o", name, "--model", model, *options)

    def begin(self):
        self.make_store(n_rows=N_ROWS)  # only for its data
        os.remove(self.path("people.store"))
        os.rename(self.path("people.csv"), self.path("people-0.csv"))
        self.make_store(n_rows=N_ROWS, text_ids=True)
        os.remove(self.path("people.store"))
        self.make_law_store("people.store", "people-0.csv")
        self.make_law_store("texts.store", "people.csv")
        self.start("people.store", "texts.store")

    def canonical(self, store, model):
        self.run_program("export", store, "--canonical", "--model", model, "-o", "state")
        with open(self.path("state"), "rb") as file:
            return file.read()

    def compare_with_fresh_fit(self, name, rows):
        """`rows` are (owner, label, values) by number."""
        store, fresh = name + ".store", "fresh.store"
        with open(self.path("rest.csv"), "w", encoding="utf-8") as file:
            file.write("id,user,kind,age,height,income\n")
            for number, (owner, label, values) in sorted(rows.items()):
                text = f"p{number}" if name == "texts" else number
                file.write(f"{text},{owner},{label},{','.join(map(str, values))}\n")
        self.make_law_store(fresh, "rest.csv", "--like", store)
        for model in MODELS:
            self.assertEqual(self.canonical(store, model), self.canonical(fresh, model),
                             f"{name}, {model}: not the state of a fresh fit; seed {SEED}")
        os.remove(self.path(fresh))

    def all_receipts(self, name):
        """Through the service, in pages."""
        client, receipts, query = self.client("read"), [], "?count=7"
        while True:
            page = self.good(client.get(f"/v1/stores/{name}/receipts{query}"))
            receipts += page["receipts"]
            if len(receipts) == page["of"]:
                return receipts[::-1]
            query = f"?count=7&before={receipts[-1]['receipt']}"

    def compare_receipts(self, name, done):
        """One receipt for each acknowledged request, and none else. Those of a group follow each
        other, begin with the number of the group, and have the same commitments."""
        receipts = self.all_receipts(name)
        self.assertEqual(receipts, read_receipts(self, name + ".store"))
        self.assertEqual(sorted(answer["receipt"] for _, _, _, answer in done),
                         [receipt["receipt"] for receipt in receipts
                          if receipt["kind"] != "add"])
        for _, kind, n_rows, answer in done:
            receipt = receipts[answer["receipt"] - 1]
            self.assertEqual((receipt["kind"], receipt[COUNTS[kind]], receipt["rows"]["count"]),
                             (kind, n_rows, n_rows))
            self.assertEqual(receipt.get("group", 0), answer["group"])
            self.assertEqual(receipt["models"],
                             [{key: model[key] for key in model if key != "where"}
                              for model in answer["models"]])
        commitments = {}
        n_grouped = begin = 0
        while begin < len(receipts):
            first = receipts[begin]
            group = [receipt for receipt in receipts[begin:]
                     if receipt.get("group") == first["receipt"]] or [first]
            self.assertEqual(group, receipts[begin:begin + len(group)])
            for receipt in group:
                for model in receipt["models"]:
                    self.assertEqual(model["before"],
                                     commitments.get(model["name"], model["before"]))
                self.assertEqual([(model["name"], model["before"], model["after"])
                                  for model in receipt["models"]],
                                 [(model["name"], model["before"], model["after"])
                                  for model in first["models"]])
            if len(group) > 1:
                n_grouped += len(group)
            elif "group" in first:
                self.fail("a group of one")
            commitments = {model["name"]: model["after"] for model in first["models"]}
            begin += len(group)
        return n_grouped

    def test_random_requests_at_once(self):
        self.begin()
        people = [Person(self, number, SEED + number) for number in range(N_CLIENTS)]
        for person in people:
            person.start()
        for person in people:
            person.join()
        for person in people:
            if person.failure:
                raise AssertionError(f"seed {SEED}, service {self.service.process.poll()}\n"
                                     f"{self.service.log()[-5000:]}") from person.failure
        self.assertGreater(sum(person.refused for person in people), 0)
        n_grouped = 0
        for name in STORES:
            done = [one for person in people for one in person.done if one[0] == name]
            self.assertGreater(len(done), N_CLIENTS)
            n_grouped += self.compare_receipts(name, done)
            rows = {}
            for person in people:
                rows.update(person.rows[name])
            store = self.good(self.client("read").get(f"/v1/stores/{name}"))
            self.assertEqual(store["rows"], len(rows))
            check_store(self, name + ".store")
            self.compare_with_fresh_fit(name, rows)
        self.assertGreater(n_grouped, 0, "no requests were done together")
        self.stop()

    def test_bad_request_in_a_group(self):
        """While another process has the store, requests come together; a bad one fails alone."""
        self.make_store()
        self.start()
        other = sqlite3.connect(self.path("people.store"), isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        asked = [("forget", {"ids": [number]}, 200) for number in range(8)]
        asked += [("forget", {"ids": [777]}, 404),
                  ("forget", {"ids": [20, 777]}, 404),
                  ("learn", {"rows": [{"id": 21, "values": [1, 2, 3], "label": "red"}]}, 409),
                  ("learn", {"rows": [{"id": 900, "values": [1, 2, 3], "label": "red"}]}, 200),
                  ("update", {"rows": [{"id": 22, "values": [1, 2, 3]}]}, 200),
                  ("update", {"rows": [{"id": 778, "values": [1, 2, 3]}]}, 404)]
        replies = [None] * len(asked)

        def ask(number):
            kind, body, _ = asked[number]
            replies[number] = self.client("admin").post(f"/v1/stores/people/{kind}", body)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(asked))]
        for thread in threads:
            thread.start()
        # Predictions and reads go on meanwhile.
        for _ in range(20):
            self.good(self.client("predict").post("/v1/stores/people/models/default/predict",
                                                  {"rows": [[30, 160, 40]]}))
            self.good(self.client("read").get("/v1/stores/people"))
        self.assertEqual(replies, [None] * len(asked))
        other.execute("ROLLBACK")
        for thread in threads:
            thread.join()
        self.assertEqual([reply.status for reply in replies], [status for _, _, status in asked])
        groups = [reply.json["group"] for reply in replies if reply.status == 200]
        self.assertGreater(max(map(groups.count, set(groups) - {0}), default=0), 1, groups)
        self.assertEqual(self.good(self.client("read").get("/v1/stores/people"))["rows"],
                         60 - 8 + 1)
        check_store(self)

    def test_another_process_changes_the_store(self):
        self.make_store()
        self.start()
        reader, eraser = self.client("predict"), self.client("erase")
        point = {"rows": [[30, 160, 40]]}

        def commitments():
            """Of the command line, of predictions, and of the store as the service shows it."""
            info = json.loads(self.run_program("info", "people.store", "--json"))
            own = {model["name"]: model["commitment"] for model in info["models"]}
            asked = {name: self.good(reader.post(
                f"/v1/stores/people/models/{name}/predict",
                point if name != "income" else {"rows": [[30, 160]]}))["commitment"] for name in own}
            shown = self.good(reader.get("/v1/stores/people"))
            self.assertEqual(shown["rows"], info["rows"])
            self.assertEqual(shown["receipts"], info["receipts"])
            self.assertEqual({model["name"]: model["commitment"] for model in shown["models"]}, own)
            self.assertEqual(asked, own)
            return own

        seen = [commitments()]
        for number in range(6):
            self.good(eraser.post("/v1/stores/people/forget", {"ids": [number]}))
            seen.append(commitments())
            self.run_program("forget", "people.store", "--id", str(10 + number), "--yes")
            seen.append(commitments())
            self.refused(eraser.post("/v1/stores/people/forget", {"ids": [10 + number]}), 404)
        self.assertEqual(len({found["income"] for found in seen}), len(seen))
        self.run_program("rekey", "people.store", "--seed", "5", "--yes", code=0)
        commitments()
        self.good(eraser.post("/v1/stores/people/forget", {"ids": [30]}))
        commitments()
        self.run_program("drop", "people.store", "--model", "kind", "--yes")
        self.refused(reader.post("/v1/stores/people/models/kind/predict", point), 404)
        self.good(eraser.post("/v1/stores/people/forget", {"ids": [31]}))
        self.run_program("fit", "-o", "people.store", "--model", "later", "--family", "bayes")
        commitments()
        done = self.good(eraser.post("/v1/stores/people/forget", {"ids": [32]}))
        self.assertEqual([model["name"] for model in done["models"]],
                         ["default", "income", "later"])
        commitments()
        check_store(self)
        self.stop()


if __name__ == "__main__":
    unittest.main()
