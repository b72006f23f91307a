"""Names over HTTP: one person, whether a row comes as JSON or CSV and is asked for in either form."""
import unittest

from service_program import EndedTest

STORE = "/v1/stores/people"
VALUES = {"age": 31.5, "height": 170.0, "income": 2000.0}


class NamesTest(EndedTest):
    def setUp(self):
        super().setUp()
        self.make_store()
        self.start("people.store")

    def post(self, path, body, status=200, **more):
        role = "admin" if path.startswith("/learn") else "erase"
        reply = self.client(role).post(STORE + path, body, **more)
        self.assertEqual(reply.status, status, reply.json)
        return reply.json

    def ids_of(self, **who):
        return sorted(int(row["id"]) for row in self.post("/find", who)["rows"])

    def learn_zoe(self):
        """Four rows of one person, of whom JSON and CSV write the name in different ways."""
        rows = [{"values": VALUES, "id": "900.0", "owner_key": "Zoe\u0308"},
                {"values": VALUES, "id": 901.0, "owner_key": " Zo\u00eb\t"}]
        self.post("/learn", {"rows": rows})
        text = 'id,user,age,height,income\n 902 ,"Zo\u00eb ",1,2,3\n903.0,Zoe\u0308,1,2,3\n'
        self.post("/learn?id=id&owner=user", text, headers={"Content-Type": "text/csv"})

    def test_one_person(self):
        self.learn_zoe()
        for name in "Zo\u00eb", "Zoe\u0308", "\u3000Zo\u00eb ":
            self.assertEqual(self.ids_of(owner_keys=[name]), [900, 901, 902, 903])
        for number in 900, 900.0, "900", " 900.00 ":
            self.assertEqual(self.ids_of(ids=[number]), [900])
        for number in 900.5, "900.5", "0900", "x", -1:
            self.post("/find", {"ids": [number]}, 400)
        done = self.post("/forget", {"owner_keys": ["Zoe\u0308 ", "Zo\u00eb"]})
        self.assertEqual((done["requested"], done["forgotten"]), (1, 4))

    def test_what_is_no_name(self):
        for name, why in (("a\u200bb", "control"), ("a\nb", "control"), ("\u0378", "define"),
                          ("\u00a0", "empty")):
            said = self.post("/find", {"owner_keys": [name]}, 400)
            self.assertIn(why, said["error"]["message"])
            row = {"values": VALUES, "id": 900, "owner_key": name}
            self.assertIn(why, self.post("/learn", {"rows": [row]}, 400)["error"]["message"])

    def test_who_is_not_there(self):
        self.learn_zoe()
        found = self.post("/find", {"owner_keys": ["zoe"]})
        self.assertEqual(found["hint"], 'the owners of this store are texts; there is "Zo\u00eb"')
        self.assertEqual(self.post("/find", {"ids": [7777]})["hint"],
                         "the ids of this store are numbers")
        self.assertNotIn("hint", self.post("/find", {"owner_keys": ["Zo\u00eb"]}))
        said = self.post("/forget", {"owner_keys": ["zoe"]}, 404)["error"]["message"]
        self.assertIn("the ids of this store are numbers, its owners texts", said)
        self.assertNotIn("Zo", said)


if __name__ == "__main__":
    unittest.main()
