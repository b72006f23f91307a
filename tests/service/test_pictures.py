"""Pictures of models: what they say is computed again from the rows. Every reply is held against
openapi.json."""
import json
import math
import unittest

import numpy

from contract import Checked, Contract
from service_program import N_ROWS, EndedTest, row, write_people

CONTRACT = Contract()
VALUES = numpy.array([row(number) for number in range(N_ROWS)])
KINDS = numpy.arange(N_ROWS) % 3  # red, green, blue
NAMES = ("red", "green", "blue")


class PicturesTest(EndedTest):
    def setUp(self):
        super().setUp()
        self.make_store()

    def add_model(self, name, *options):
        self.run_program("fit", "-o", "people.store", "--model", name, *options)

    def reply(self, model, store="people"):
        return Checked(self.client("read"), CONTRACT).get(
            f"/v1/stores/{store}/models/{model}/picture")

    def pictures(self, model, *kinds, **more):
        """The pictures of a model, which must be of these kinds."""
        pictures = self.good(self.reply(model, **more))["pictures"]
        self.assertEqual([picture["kind"] for picture in pictures], list(kinds))
        return pictures

    def table(self, model, name):
        reply = self.client("read").get(f"/v1/stores/people/models/{model}/tables/{name}")
        return numpy.array([one["values"] for one in self.good(reply)["rows"]], dtype=float)

    def close(self, a, b):
        numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


class ClustersTest(PicturesTest):
    def clusters(self, model="default"):
        """The centroids, and the rows of each."""
        centroids = self.table(model, "centroids")
        distances = ((VALUES[:, None, :] - centroids[None]) ** 2).sum(2)
        return centroids, numpy.bincount(distances.argmin(1), minlength=len(centroids))

    def test_kept_until_the_store_changes(self):
        """Whoever changes the store: the service, and another process."""
        self.start()

        def n_rows():
            first = self.pictures("default", "map", "shares", "profile")
            self.assertEqual(self.pictures("default", "map", "shares", "profile"), first)
            return sum(point["rows"] for point in first[0]["points"])

        self.assertEqual(n_rows(), N_ROWS)
        self.good(self.client("admin").post("/v1/stores/people/forget", {"ids": [17]}))
        self.assertEqual(n_rows(), N_ROWS - 1)
        self.run_program("forget", "people.store", "--id", "18", "--yes")
        self.assertEqual(n_rows(), N_ROWS - 2)

    def test_sizes(self):
        self.start()
        _, sizes = self.clusters()
        _, shares, _ = self.pictures("default", "map", "shares", "profile")
        parts = {int(part["name"]): part for part in shares["parts"]}
        self.assertEqual([parts[i]["value"] for i in range(3)], sizes.tolist())
        self.close([parts[i]["share"] for i in range(3)], sizes / N_ROWS)
        values = [part["value"] for part in shares["parts"]]
        self.assertEqual(values, sorted(values, reverse=True))
        self.assertEqual(shares["row_name"], "cluster")

    def check_map(self, picture, centers, weights):
        """Points must lie as the principal components of the weighted centers say, but for signs."""
        weights = numpy.asarray(weights, dtype=float)
        around = centers - numpy.average(centers, axis=0, weights=weights)
        variances, axes = numpy.linalg.eigh((around.T * weights) @ around / weights.sum())
        wanted = around @ axes[:, ::-1][:, :2]
        points = {int(point["name"]): point for point in picture["points"]}
        found = numpy.array([[points[i]["x"], points[i]["y"]] for i in range(len(centers))])
        scale = numpy.abs(around).max()
        numpy.testing.assert_allclose(numpy.abs(found), numpy.abs(wanted), rtol=0,
                                      atol=1e-5 * scale)
        shares = variances[::-1][:2] / variances.sum()
        self.close([axis["share"] for axis in picture["axes"]], shares)

    def test_map(self):
        self.add_model("five", "-k", "5", "--seed", "5")
        self.start()
        centers, sizes = self.clusters("five")
        self.assertGreater(len(set(sizes.tolist())), 1)  # or weights would not matter
        picture = self.pictures("five", "map", "shares", "profile")[0]
        self.check_map(picture, centers, sizes)
        points = {int(point["name"]): point for point in picture["points"]}
        self.assertEqual([points[i]["rows"] for i in range(5)], sizes.tolist())
        self.assertEqual([points[i]["weight"] for i in range(5)], sizes.tolist())

    def test_scaled_map(self):
        self.add_model("scaled", "-k", "3", "--scale", "minmax", "--seed", "5")
        self.start()
        centers = self.table("scaled", "centroids")
        picture, shares, _ = self.pictures("scaled", "map", "shares", "profile")
        sizes = {int(part["name"]): part["value"] for part in shares["parts"]}
        self.check_map(picture, centers / (centers.max(0) - centers.min(0)),
                       [sizes[i] for i in range(3)])

    def test_profile(self):
        self.start()
        centers, sizes = self.clusters()
        profile = self.pictures("default", "map", "shares", "profile")[2]
        mean = numpy.average(centers, axis=0, weights=sizes)
        spread = numpy.sqrt(numpy.average((centers - mean) ** 2, axis=0, weights=sizes))
        self.assertEqual(profile["columns"], ["age", "height", "income"])
        for one in profile["rows"]:
            center = centers[int(one["name"])]
            self.assertEqual(one["values"], center.tolist())
            self.close(one["differences"], (center - mean) / spread)

    def test_weights_and_offsets(self):
        write_people(self.path("people.csv"), range(N_ROWS))
        with open(self.path("people.csv"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        with open(self.path("weighed.csv"), "w", encoding="utf-8") as file:
            file.write(lines[0] + ",times\n")
            for number, line in enumerate(lines[1:]):
                file.write(f"{line},{1 + number % 5}\n")
        self.run_program("fit", "weighed.csv", "--id", "id", "--owner", "user", "--label", "kind",
                         "--weight", "times", "--offset", "height=100", "-k", "3", "--seed", "11",
                         "-o", "weighed.store")
        self.start("weighed.store")
        picture, shares, profile = self.pictures("default", "map", "shares", "profile",
                                                 store="weighed")
        self.assertEqual(sum(part["value"] for part in shares["parts"]),
                         sum(1 + number % 5 for number in range(N_ROWS)))
        self.assertEqual(sum(point["rows"] for point in picture["points"]), N_ROWS)
        heights = [one["values"][1] for one in profile["rows"]]
        self.assertTrue(all(140 < height < 180 for height in heights), heights)

    def test_same_bytes_after_forgetting_and_learning(self):
        """A row that left and came back leaves no trace in a picture."""
        self.start()
        first = self.reply("default").body
        self.run_program("forget", "people.store", "--id", "7", "--yes")
        without = self.reply("default").body
        self.assertNotEqual(first, without)
        write_people(self.path("one.csv"), [7])
        self.run_program("learn", "people.store", "one.csv", "--id", "id", "--owner", "user",
                         "--label", "kind")
        self.assertEqual(self.reply("default").body, first)

    def test_one_cluster_and_no_rows(self):
        self.add_model("one", "-k", "1", "--seed", "5")
        self.start()
        shares, _ = self.pictures("one", "shares", "profile")
        self.assertEqual([part["share"] for part in shares["parts"]], [1])
        ids = (part for number in range(N_ROWS) for part in ("--id", str(number)))
        self.run_program("forget", "people.store", *ids, "--yes")
        for model in ("default", "one", "income", "kind"):
            self.good(self.reply(model))


class SumsTest(PicturesTest):
    def test_regression(self):
        self.start()
        effects, = self.pictures("income", "effects")
        coefficients = self.table("income", "coefficients")[0]
        errors = self.table("income", "errors")[0]
        self.assertEqual(effects["title"], "income")
        self.assertEqual((effects["intercept"], effects["intercept_error"]),
                         (coefficients[0], errors[0]))
        self.assertEqual(effects["quality"], self.table("income", "quality")[0][0])
        deviations = VALUES[:, :2].std(0)
        self.assertEqual([bar["name"] for bar in effects["bars"]], ["age", "height"])
        for number, bar in enumerate(effects["bars"]):
            self.assertEqual((bar["value"], bar["error"]),
                             (coefficients[1 + number], errors[1 + number]))
            # Whether variances are divided by n or by n - 1 does not matter to a picture.
            ratio = bar["effect"] / (bar["value"] * deviations[number])
            self.assertTrue(math.isclose(ratio, 1, rel_tol=0.02), ratio)
            self.assertTrue(math.isclose(bar["effect_error"] / bar["error"],
                                         bar["effect"] / bar["value"], rel_tol=1e-9))

    def check_classes(self, model):
        shares, profile = self.pictures(model, "shares", "profile")
        self.assertEqual({part["name"]: part["value"] for part in shares["parts"]},
                         {name: N_ROWS // 3 for name in NAMES})
        for one in profile["rows"]:
            mean = VALUES[KINDS == NAMES.index(one["name"])].mean(0)
            self.close(one["values"], mean)
            numpy.testing.assert_allclose(one["differences"],
                                          (mean - VALUES.mean(0)) / VALUES.std(0), rtol=0.02)

    def test_bayes(self):
        self.start()
        self.check_classes("kind")

    def test_discriminant(self):
        self.add_model("lda", "--family", "discriminant")
        self.start()
        self.check_classes("lda")

    def test_ridge(self):
        self.add_model("ridge", "--family", "ridge")
        self.start()
        pictures = self.pictures("ridge", "effects", "effects", "effects")
        self.assertEqual({picture["title"] for picture in pictures},
                         {f"the score of {name}" for name in NAMES})

    def test_components(self):
        self.add_model("axes", "--family", "components")
        self.start()
        shares, profile = self.pictures("axes", "shares", "profile")
        self.assertEqual([part["value"] for part in shares["parts"]],
                         self.table("axes", "variances")[:, 0].tolist())
        self.assertEqual([one["values"] for one in profile["rows"]],
                         self.table("axes", "components").tolist())
        self.assertEqual(profile["rows"][0]["values"], profile["rows"][0]["differences"])

    def test_fourier_features_have_no_names(self):
        self.add_model("waves", "--family", "fourier", "--target", "income", "--features", "16")
        self.start()
        self.pictures("waves")


class SegmentsTest(PicturesTest):
    def test_segments(self):
        self.add_model("seg", "--family", "segmented", "--target", "income", "-k", "2",
                       "--seed", "3")
        self.start()
        pictures = self.pictures("seg", "map", "shares", "profile", "effects", "effects")
        self.assertEqual(sum(part["value"] for part in pictures[1]["parts"]), N_ROWS)
        self.assertEqual(pictures[2]["columns"], ["age", "height"])
        coefficients = self.table("seg", "coefficients")
        for number, effects in enumerate(pictures[3:]):
            self.assertEqual(effects["title"], f"income in segment {number}")
            self.assertEqual([effects["intercept"], *(bar["value"] for bar in effects["bars"])],
                             coefficients[number].tolist())


class ForestsTest(PicturesTest):
    def test_importances(self):
        """The inputs, by what the splits have gained by them; of classes and of a target."""
        self.add_model("trees", "--family", "forest", "--trees", "10", "--seed", "3")
        self.add_model("numbers", "--family", "forest", "--target", "income", "--trees", "10",
                       "--seed", "3")
        self.start()
        for model, names in ("trees", ["age", "height", "income"]), ("numbers", ["age", "height"]):
            shares, = self.pictures(model, "shares")
            self.assertEqual(shares["row_name"], "column")
            self.assertIn("splits", shares["text"])
            parts = {part["name"]: part["share"] for part in shares["parts"]}
            self.assertEqual(sorted(parts), names)
            self.close([parts[name] for name in names], self.table(model, "importances")[:, 0])
            self.assertEqual(list(parts.values()), sorted(parts.values(), reverse=True))

    def test_nothing_to_look_at(self):
        """Trees that have no split have no importances."""
        self.add_model("stumps", "--family", "forest", "--trees", "3", "--min-split", "1000")
        self.start()
        self.pictures("stumps")


class RefusalsTest(PicturesTest):
    def test_refusals(self):
        self.start()
        self.refused(self.reply("nothing"), 404, "not_found")
        self.refused(self.reply("default", "nobody"), 404, "no_store")
        client = Checked(self.client("predict"), CONTRACT)
        self.refused(client.get("/v1/stores/people/models/default/picture"), 403, "role")

    def test_never_a_row(self):
        """No number of a row is in a picture of the three models (whole ones may be sizes)."""
        self.start()
        values = {value for one in VALUES.tolist() for value in one if value % 1}

        def walk(value):
            if isinstance(value, dict):
                for inner in value.values():
                    walk(inner)
            elif isinstance(value, list):
                for inner in value:
                    walk(inner)
            elif isinstance(value, float):
                self.assertNotIn(value, values)
        for model in ("default", "income", "kind"):
            walk(json.loads(self.reply(model).body))


if __name__ == "__main__":
    unittest.main()
