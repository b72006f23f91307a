"""Rows with categories and missing values, for forests: asked, learned, updated and shown, as JSON
and as CSV. Every reply is held against openapi.json."""
import unittest

from contract import Checked, Contract
from service_program import EndedTest

CONTRACT = Contract()
CITIES = ("Bonn", "Kyiv", "Oslo")
CSV = {"Content-Type": "text/csv"}


def row(number):
    """The values of a row: the city decides on the kind; some are missing."""
    age = "" if number % 7 == 3 else str(20 + number * 13 % 50)
    city = "" if number % 11 == 5 else CITIES[number % 3]
    return age, city, ("red", "green", "blue")[number % 3]


class CategoriesTest(EndedTest):
    def setUp(self):
        super().setUp()
        with open(self.path("trips.csv"), "w", encoding="utf-8") as file:
            file.write("id,age,city,kind\n")
            for number in range(60):
                file.write(f"{number},{','.join(row(number))}\n")
        self.run_program("fit", "trips.csv", "--id", "id", "--family", "forest", "--class", "kind",
                         "--categories", "city", "--missing", "--seed", "5", "--trees", "20",
                         "-o", "trips.store")
        self.start("trips.store")

    def checked(self, *roles):
        return Checked(self.client(*roles), CONTRACT)

    def predict(self, body, **more):
        return self.checked("predict").post("/v1/stores/trips/models/default/predict", body, **more)

    def test_model(self):
        model = self.good(self.checked("read").get("/v1/stores/trips/models/default"))
        self.assertEqual((model["kind"], model["missing"]), ("classification forest", True))
        self.assertEqual([(column["name"], column["category"]) for column in model["columns"]],
                         [("age", False), ("city", True)])

    def test_predictions(self):
        by_array = [[30, "Bonn"], [None, "Kyiv"], [40, "Oslo"], [40, None], [25, "Atlantis"]]
        found = self.good(self.predict({"rows": by_array}))["predictions"]
        self.assertEqual(found[:3], ["red", "green", "blue"])
        by_name = [dict(zip(("age", "city"), one)) for one in by_array]
        self.assertEqual(self.good(self.predict({"rows": by_name}))["predictions"], found)
        lines = "city,age\n" + "".join(f"{city or ''},{age or ''}\n" for age, city in by_array)
        reply = self.predict(lines, headers=CSV)
        self.assertEqual((reply.status, reply.body.decode().split()), (200, ["class", *found]))
        with open(self.path("new.csv"), "w", encoding="utf-8") as file:
            file.write(lines)
        self.assertEqual(self.run_program("predict", "trips.store", "new.csv").split(), found)

    def test_refusals(self):
        for values in ["thirty", "Bonn"], [30, ""], [30, True], [30, ["Bonn"]]:
            self.refused(self.predict({"rows": [values]}), 400, "rows")
        self.refused(self.predict("age,city\nthirty,Bonn\n", headers=CSV), 400, "rows")

    def test_changes(self):
        """The same rows by the service and by the command line give the same model."""
        admin = self.checked("admin")
        rows = [{"id": 100, "values": [None, "Kyiv"], "label": "green"},
                {"id": 101, "values": {"age": 30, "city": "Rome"}, "label": "red"}]
        self.good(admin.post("/v1/stores/trips/learn", {"rows": rows}))
        self.good(admin.post("/v1/stores/trips/learn?id=id&label=kind",
                             "id,age,city,kind\n102,,Oslo,blue\n103,50,,red\n", headers=CSV))
        self.good(admin.post("/v1/stores/trips/update", {"rows": [
            {"id": 0, "values": [None, "Oslo"]}]}))
        self.good(admin.post("/v1/stores/trips/forget", {"ids": [3]}))
        found = self.good(self.checked("read").post("/v1/stores/trips/find", {"ids": [100]}))
        self.assertIsNone(found["rows"][0]["values"][0])
        with open(self.path("same.csv"), "w", encoding="utf-8") as file:
            file.write("id,age,city,kind\n0,,Oslo,red\n")
            for number in range(1, 60):
                if number != 3:
                    file.write(f"{number},{','.join(row(number))}\n")
            file.write("100,,Kyiv,green\n101,30,Rome,red\n102,,Oslo,blue\n103,50,,red\n")
        self.run_program("fit", "same.csv", "--id", "id", "--family", "forest", "--class", "kind",
                         "--categories", "city", "--missing", "--seed", "5", "--trees", "20",
                         "-o", "same.store")
        digests = [self.run_program("digest", store).split()[-1]
                   for store in ("trips.store", "same.store")]
        self.assertEqual(digests[0], digests[1])
        self.assertIn("identical", self.run_program("verify", "trips.store"))


if __name__ == "__main__":
    unittest.main()
