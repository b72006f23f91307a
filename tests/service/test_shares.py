"""What a token can take of what others need, too: threads, memory, the store, the jobs."""
import json
import select
import socket
import threading
import time
import unittest

from service_program import EndedTest

PREDICT = "/v1/stores/people/models/default/predict"
ROW = [20.5, 150.25, 7.75]


class SharesTest(EndedTest):
    """A token sends more than the service can do at once, and another one asks for something."""

    def setUp(self):
        super().setUp()
        self.make_store()

    def begin(self, token, path, content):
        """Sends a request but for the last byte of its body."""
        body = json.dumps(content).encode()
        head = (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.service.port}\r\n"
                f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n")
        connection = socket.create_connection(("127.0.0.1", self.service.port), timeout=300)
        self.addCleanup(connection.close)
        connection.sendall(head.encode() + body[:-1])
        return connection

    @staticmethod
    def end(connections):
        """Sends the last bytes, which end an object."""
        for connection in connections:
            connection.sendall(b"}")

    @staticmethod
    def answered(connections):
        """How many have an answer, or its beginning, by now."""
        return len(select.select(connections, [], [], 0)[0])

    def all_good(self, connections):
        """All are answered well."""
        for connection in connections:
            with connection.makefile("rb") as reply:
                self.assertIn(b" 200 ", reply.readline())
                reply.read()

    # ------------------------------------------------------------ threads

    def test_requests_do_not_wait_for_long_predictions(self):
        """Two tokens have as many long predictions as there are workers."""
        self.start(options=("--workers", "2"))
        client = self.client("read")
        self.good(client.get("/v1/stores/people"))
        rows = {"rows": 150000 * [ROW]}
        long = [self.begin(self.make_token(name, "predict"), PREDICT, rows)
                for name in ("one", "two")]
        time.sleep(1) # the bodies have come
        self.end(long)
        time.sleep(0.05)
        self.good(client.get("/v1/stores/people"))
        self.assertEqual(self.answered(long), 0)
        self.all_good(long)

    def test_a_prediction_does_not_wait_for_those_of_many_rows(self):
        """They come in bodies that are short, but not their rows."""
        self.start()
        client = self.client("admin")
        self.good(client.post(PREDICT, {"rows": [ROW]}))
        rows = {"rows": 2900 * [ROW]}
        self.assertLess(len(json.dumps(rows)), 65536)
        many = [self.begin(self.token("predict"), PREDICT, rows) for _ in range(100)]
        time.sleep(0.2)
        self.end(many)
        self.good(client.post(PREDICT, {"rows": [ROW]}))
        self.assertLess(self.answered(many), 50)
        self.all_good(many)

    def test_long_predictions_are_those_of_their_rows(self):
        """Slices of a prediction are joined: as JSON, with scores and as CSV."""
        self.start()
        client = self.client("predict")
        rows = [[20.5 + number % 60, 150.25, 7.75 - number % 3] for number in range(2500)]
        for model in ("default", "income", "kind"):
            path = f"/v1/stores/people/models/{model}/predict"
            more = {"scores": "probabilities"} if model == "kind" else {}
            columns = self.good(client.get(f"/v1/stores/people/models/{model}"))["columns"]
            names = [column["name"] for column in columns if column["input"]]
            asked = [row[:len(names)] for row in rows]
            whole = self.good(client.post(path, {"rows": asked, **more}))
            parts = [self.good(client.post(path, {"rows": asked[i:i + 20], **more}))
                     for i in range(0, len(asked), 20)]
            for name in ("predictions", "scores") if more else ("predictions",):
                self.assertEqual(whole[name], [x for part in parts for x in part[name]])
                self.assertEqual(len(whole[name]), len(rows))
            lines = "".join(",".join(map(str, row)) + "\n" for row in [names, *asked])
            reply = client.post(path, lines, headers={"Content-Type": "text/csv"})
            self.assertEqual(reply.status, 200, reply)
            self.assertEqual(len(reply.body.splitlines()), len(rows) + 1)


    # ------------------------------------------------------------ memory

    def test_bodies_that_do_not_end_have_a_quarter_of_the_memory(self):
        """Each is as long as it may be; what is too much is refused while it comes."""
        self.start()
        token = self.token("predict")
        text = json.dumps({"rows": [], "filled": 15 * 2 ** 20 * " "})
        begun, n_refused = [], 0
        for _ in range(24):
            try:
                begun.append(self.begin(token, PREDICT, text))
            except OSError: # it was refused before all was sent
                n_refused += 1
        n_refused += self.answered(begun)
        self.assertGreater(n_refused, 5)
        self.assertLess(self.service.memory(), 400 * 2 ** 20)
        mine = self.begin(self.token("admin"), PREDICT, {"rows": 100000 * [ROW]})
        self.end([mine])
        self.all_good([mine])
        for connection in begun:
            connection.close()

    def test_what_a_body_had_before_it_grew_is_not_counted(self):
        """Eleven bodies of at most twenty MiB each are fewer than a quarter of a GiB."""
        self.start()
        text = json.dumps({"rows": [], "filled": 10 * 2 ** 20 * " "})
        begun = [self.begin(self.token("predict"), PREDICT, text) for _ in range(11)]
        self.good(self.client("predict").post(PREDICT, {"rows": [ROW]}))
        time.sleep(0.5) # an answer would be there
        self.assertEqual(self.answered(begun), 0)
        for connection in begun:
            connection.close()

    def test_brackets_in_texts_are_no_lists(self):
        """Nor does what looks like the end of a text hide lists."""
        self.start()
        client, headers = self.client("predict"), {"Content-Type": "application/json"}
        for text in (500000 * "[", '\\"' + 500000 * "{", "\\\\"):
            reply = client.post(PREDICT, f'{{"rows": [], "note": "{text}"}}', headers=headers)
            self.refused(reply, 400, "member")
        for text in ("", '\\"', "\\\\"):
            body = f'{{"note": "{text}", "rows": [' + 500000 * "[]," + "[]]}"
            self.refused(client.post(PREDICT, body, headers=headers), 413, "too_long")

    def test_lists_of_nothing_are_refused(self):
        """They would take fifty times the memory of the body."""
        self.start()
        reply = self.client("predict").post(PREDICT, '{"rows":[' + 3000000 * "[]," + "[]]}",
                                            headers={"Content-Type": "application/json"})
        self.refused(reply, 413, "too_long")
        self.assertLess(self.service.memory(), 200 * 2 ** 20)

    # ------------------------------------------------------------ the store

    def test_a_request_finds_few_people(self):
        """Changes wait for a reading."""
        self.start()
        for call in ("find", "preview"):
            names = {"owner_keys": [f"u{number}" for number in range(1000)]}
            reply = self.client("read").post(f"/v1/stores/people/{call}", names)
            self.assertNotEqual(reply.status, 413)
            names["ids"] = [7]
            self.refused(self.client("read").post(f"/v1/stores/people/{call}", names), 413)

    def find_many(self):
        """Twenty finds of many people in a large store, of which at least one has an answer."""
        self.start(self.make_store("many.store", n_rows=20000), "people.store")
        names = {"owner_keys": [f"u{number}" for number in range(2000, 2900)]}
        finds = [self.begin(self.token("read"), "/v1/stores/many/find", names) for _ in range(20)]
        self.end(finds)
        while self.answered(finds) == 0:
            time.sleep(0.01)
        return finds

    def test_a_find_does_not_wait_for_another_store_to_rest(self):
        """Not even for finds that came before it with the same token."""
        many = self.find_many()
        names = {"owner_keys": [f"u{number}" for number in range(900)]}
        few = [self.begin(self.token("read"), "/v1/stores/people/find", names)]
        self.end(few)
        while self.answered(few) == 0:
            time.sleep(0.001)
        self.assertLess(self.answered(many), 12)
        self.all_good(few + many)

    def end_answers_few(self, waiting):
        """The service ends while requests wait for their turn to read: these are refused. Those
        that it has not read yet find the connection closed."""
        answers = []
        self.stop()
        for connection in waiting:
            with connection.makefile("rb") as reply:
                try:
                    words = reply.readline().split()
                except ConnectionResetError:
                    words = []
                if words:
                    answers.append(words[1])
                    self.assertEqual(words[1] == b"503", b'"stopping"' in reply.read())
        self.assertEqual(set(answers), {b"200", b"503"})
        self.assertLess(answers.count(b"200"), len(waiting) / 2)

    def test_the_end_does_not_wait_for_a_store_to_rest(self):
        self.end_answers_few(self.find_many())

    def test_names_of_many_rows_wait_for_their_turn(self):
        """A find of one person may read all rows. A token that did so waits with such finds."""
        with open(self.path("many.csv"), "w", encoding="utf-8") as file:
            file.write("id,user,x\n" + "".join(f"{number},all,{number}\n"
                                               for number in range(60000)))
        self.run_program("fit", "many.csv", "--id", "id", "--owner", "user", "-k", "2", "-o",
                         "many.store")
        self.start("many.store", "people.store")
        path, name = "/v1/stores/many/find", {"owner_keys": ["all"], "limit": 1}
        self.assertEqual(self.good(self.client("read").post(path, name))["of"], 60000)
        finds = [self.begin(self.token("read"), path, name) for _ in range(20)]
        self.end(finds)
        while self.answered(finds) == 0:
            time.sleep(0.01)
        self.good(self.client("erase").post(path, {"ids": [1]})) # others do not wait
        self.assertLess(self.answered(finds), 10)
        self.end_answers_few(finds)

    def test_checks_of_all_receipts_wait_for_their_turn(self):
        self.start()
        path = "/v1/stores/people/receipts/verify"
        checks = [self.begin(self.token("read"), path, {}) for _ in range(300)]
        self.end(checks)
        while self.answered(checks) == 0:
            time.sleep(0.001)
        self.end_answers_few(checks)

    def test_previews_leave_the_writer_to_changes(self):
        """As long as changes come, previews have a quarter of the time."""
        self.start(self.make_store("many.store", n_rows=20000))
        client, ended = self.client("erase"), []
        names = {"owner_keys": [f"u{number}" for number in range(2000, 3000)]}
        readers = [self.client("read") for _ in range(4)]
        ends = threading.Event()

        def look(reader):
            while not ends.is_set():
                ended.append(reader.post("/v1/stores/many/preview", names))

        forget = "/v1/stores/many/forget"
        self.good(client.post(forget, {"ids": [0]}))
        threads = [threading.Thread(target=look, args=(reader,)) for reader in readers]
        for thread in threads:
            thread.start()
        while not ended:
            self.good(client.post(forget, {"ids": [1], "skip_missing": True}))
        before = len(ended)
        for number in range(60):
            self.good(client.post(forget, {"ids": [number], "skip_missing": True}))
        n_looks = len(ended) - before
        ends.set()
        for thread in threads:
            thread.join()
        for reply in ended:
            self.assertEqual(self.good(reply)["rows"], 4000)
        self.assertLess(2 * n_looks, 60)


if __name__ == "__main__":
    unittest.main()
