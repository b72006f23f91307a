"""What all families of models share is written once, and what is a family's own has one place."""

import inspect
import pathlib
import pickle
import re

import numpy as np
import pytest

import efface
from efface import KMeans, _efface
from efface._arrays import answer_array
from efface._fitted import Fitted
from efface._kmeans import KMeansModel
from efface._parameters import COMMON_RULES

EXTENSION = pathlib.Path(__file__).resolve().parents[1] / "extension"

VERBS = "fit forget learn update preview verify rekey digest encode predict".split()
RESULTS = "ids_ owners_ offset_".split()


def test_the_base_has_all_verbs():
    """One base, of models and of estimators; only an estimator can be fitted."""
    assert issubclass(efface.Model, Fitted) and issubclass(efface.Estimator, Fitted)
    for name in VERBS:
        assert inspect.isfunction(vars(efface.Estimator if name == "fit" else Fitted)[name]), name
    for name in RESULTS:
        assert isinstance(vars(Fitted)[name], property), name


def test_a_family_has_none_of_them():
    classes = efface.Estimator.__subclasses__() + efface.Model.__subclasses__()
    assert {KMeans, KMeansModel} <= set(classes)
    for cls in classes:
        assert not set(VERBS + RESULTS) & set(vars(cls)), cls


def test_the_extension_names_a_family_in_one_file_only():
    own = {path.name: path.read_text(encoding="utf-8") for path in EXTENSION.glob("families/py_family_*.c")}
    assert own
    for path in EXTENSION.rglob("*.[ch]"):
        text = path.read_text(encoding="utf-8")
        for file in own:
            name = re.fullmatch(r"py_family_(.+)\.c", file).group(1)
            if path.name != file:
                assert f"efface_{name}_" not in text, path.name


# ------------------------------------------------------------------ a family of little


class Halves(efface.Estimator):
    """Two clusters: as little as an estimator can define."""

    _family = "kmeans"
    _rules = COMMON_RULES

    def __init__(self, random_state=None, offset=None, n_jobs=None, n_threads=None):
        self.random_state = random_state
        self.offset = offset
        self.n_jobs = n_jobs
        self.n_threads = n_threads

    def _family_parameters(self, parameters, n_features, offsets):
        return {"n_clusters": 2, "method": "lloyd"}


def test_an_estimator_of_few_lines_can_do_everything(gaussian, tmp_path):
    X = gaussian[:300]
    model = Halves(random_state=3).fit(X, ids=range(300), owners=np.arange(300) % 10)
    same = KMeans(2, method="lloyd", random_state=3).fit(X, ids=range(300))
    assert model.digest() == same.digest() and model.encode() == same.encode()
    assert model.preview(ids=5).rows_forgotten == 1
    assert model.forget(ids=5, owners=7).rows_forgotten == 31
    assert model.learn(X[:2] + 1, ids=[500, 501]).rows_learned == 2
    assert model.update(X[:1], ids=[500]).rows_learned == 1
    assert model.verify() and len(model.ids_) == 271 and model.owners_[-1] is np.ma.masked
    assert model.predict(X).dtype == np.int32 and model.offset_ is None
    assert pickle.loads(pickle.dumps(model)).digest() == model.digest()
    assert model.rekey(random_state=4).reason == "a new seed was given"
    with pytest.raises(ValueError, match="'n_threads' parameter of Halves"):
        Halves(n_threads=0).fit(X)
    with efface.create(tmp_path / "store", X) as store:
        stored = store.fit("two", Halves(random_state=3))
        assert stored.parameters["k"] == 2 and stored.n_init == 1
        assert store.digest("two") == same.digest()


def test_an_owner_may_be_asked_for_twice(gaussian):
    model = KMeans(3).fit(gaussian[:300], ids=range(300), owners=np.arange(300) % 10)
    report = model.forget(owners=[3, 4, 3, 77, 77], missing="skip")
    assert (report.rows_forgotten, report.rows_missing) == (60, 1) and model.verify()


# ------------------------------------------------------------------ what is predicted


def test_arrays_are_of_the_kind_that_is_predicted():
    for predicts, dtype in [
        ("clusters", np.int32),
        ("classes", np.int64),
        ("values", np.float64),
        ("probabilities", np.float64),
    ]:
        for n_numbers, shape in [(0, (5,)), (1, (5,)), (3, (5, 3))]:
            array = answer_array(predicts, n_numbers, 5)
            assert array.dtype == dtype and array.shape == shape


def test_other_arrays_are_refused(gaussian):
    inner = KMeans(3).fit(gaussian)._model._models
    inner.predict(0, gaussian, np.empty(1500, np.int32))
    for wrong in (np.empty(1500, np.int64), np.empty(1500), np.empty(1499, np.int32)):
        with pytest.raises(ValueError):
            inner.predict(0, gaussian, wrong)
    with pytest.raises(ValueError, match="numbers of features"):
        inner.predict(0, gaussian[:, :3], np.empty(1500, np.int32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_rows_are_predicted_in_parts(rng, dtype):
    X = rng.standard_normal((140_000, 1)).astype(np.float32)
    model = KMeans(2, method="lloyd", max_iter=2, n_threads=1).fit(X[:1000])
    low, high = np.sort(model.cluster_centers_[:, 0])
    right = np.argmax(model.cluster_centers_[:, 0])
    far = abs(X[:, 0] - (low + high) / 2) > 1e-3
    labels = model.predict(X.astype(dtype))
    expected = np.where(X[:, 0] > (low + high) / 2, right, 1 - right)
    np.testing.assert_array_equal(labels[far], expected[far])


# ------------------------------------------------------------------ facts and tables


def test_facts_of_a_model(gaussian):
    model = KMeans(3, method="tree", width=2).fit(gaussian)._model
    info = model.info
    assert (info.kind, info.n_rows, info.n_features) == ("k-means", 1500, 4)
    assert (info.predicts, info.n_numbers) == ("clusters", 1)
    assert info.parameters["method"] == "tree" and info.parameters["weigh"] is True
    assert info.parameters["width"] == info.facts["width"] == 2
    assert info.parameters["candidates"] is None and info.facts["converged"] in (True, False)
    np.testing.assert_array_equal(model.table("centroids"), model.cluster_centers_)
    model.forget(ids=model.ids_)
    assert model.info.n_numbers == 0 and model.table("centroids").shape == (0, 4)
    with pytest.raises(efface.NotFoundError, match="the tables of this model are: centroids"):
        model.table("trees")


@pytest.mark.parametrize(
    "params, message",
    [
        ({}, "no family None"),
        ({"family": "forest of nowhere"}, "no family 'forest of nowhere'"),
        ({"family": "kmeans", "n_cluster": 3}, "n_cluster"),
        ({"family": "kmeans", "method": "k"}, "'k' is not a known name"),
        ({"family": "kmeans", "n_clusters": 2**33}, "too large"),
        ({"family": "kmeans", "column_min": np.zeros(0, np.float32)}, "bounds for 0 features"),
        (
            {
                "family": "kmeans",
                "column_min": np.zeros(4, np.float32),
                "column_max": np.zeros(3, np.float32),
            },
            "column_max has numbers for 3 features, and others are for 4",
        ),
    ],
    ids=lambda value: "",
)
def test_parameters_that_the_extension_refuses(gaussian, params, message):
    with pytest.raises(ValueError, match=message):
        _efface.fit(gaussian, None, None, None, 1, params, (1,), None, None, None)
