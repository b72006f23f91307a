"""Wrong input: exceptions with the messages that scikit-learn's users expect, never a crash, and
nothing changed."""

import pickle
import random

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import efface
from efface import KMeans


@pytest.fixture
def model(gaussian):
    return KMeans(3, random_state=0).fit(gaussian, ids=range(len(gaussian)))


@pytest.mark.parametrize(
    "X, exception, message",
    [
        ([[1.0, np.nan], [2, 3], [4, 5]], ValueError, "contains NaN"),
        ([[1.0, np.inf], [2, 3], [4, 5]], ValueError, "contains infinity"),
        ([[1e300, 1.0], [2, 3], [4, 5]], ValueError, "not a finite number"),
        (np.array([[1e300, 1.0], [2, 3], [4, 5]]), ValueError, "not a finite number"),
        ([[1e38, 1.0], [2, 3], [4, 5]], ValueError, "magnitude 2.126"),
        ([1.0, 2.0, 3.0], ValueError, "Expected 2D array, got 1D array"),
        (3.0, ValueError, "Expected 2D array, got scalar array"),
        (np.ones((3, 2, 2)), ValueError, "Found array with dim 3"),
        (np.ones((0, 2)), ValueError, r"0 sample\(s\)"),
        (np.ones((3, 0)), ValueError, r"0 feature\(s\)"),
        (np.ones((3, 40_000), np.int8), ValueError, "40000 features"),
        (np.ones((3, 2), complex), ValueError, "Complex data not supported"),
        ([["a", "b"], ["c", "d"], ["e", "f"]], ValueError, "could not convert string to float"),
        ([[1, 2], [3]], ValueError, "inhomogeneous"),
        (None, ValueError, ""),
        (object(), TypeError, ""),
        (sparse.csr_matrix([[np.nan, 0.0], [0, 1], [1, 0]]), ValueError, "contains NaN"),
    ],
    ids=lambda value: "",
)
@pytest.mark.filterwarnings("ignore")
def test_wrong_rows(X, exception, message, model):
    before = model.digest()
    with pytest.raises(exception, match=message):
        KMeans(3).fit(X)
    for call in (model.predict, model.transform, model.score, model.learn):
        with pytest.raises((ValueError, TypeError)):
            call(X)
    assert model.digest() == before and model.verify()


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"n_clusters": 0}, "'n_clusters' parameter of KMeans must be an int in the range"),
        ({"n_clusters": 2.5}, "'n_clusters' parameter of KMeans must be an int"),
        ({"n_clusters": True}, "'n_clusters'"),
        ({"n_clusters": 10**30}, "'n_clusters'"),
        ({"method": "elkan"}, "'method' parameter of KMeans must be a str among"),
        ({"method": []}, "'method'"),
        ({"n_init": 0}, "'n_init'"),
        ({"max_iter": 0}, "'max_iter'"),
        ({"random_state": -1}, "'random_state'"),
        ({"random_state": "zero"}, "'random_state'"),
        ({"random_state": random}, "'random_state'"),
        ({"scale": "robust"}, "'scale'"),
        ({"bound": 0.0}, "'bound'"),
        ({"bound": 0.001}, ""),
        ({"gamma": float("nan")}, "'gamma'"),
        ({"candidates": 0}, "'candidates'"),
        ({"candidates": 65}, "'candidates'"),
        ({"column_range": 3}, "'column_range'"),
        ({"column_range": ([0], [1]), "scale": "minmax"}, "bounds for 1 features, but X has 4"),
        ({"column_range": ([], []), "scale": "minmax"}, "bounds for 0 features, but X has 4"),
        ({"column_range": ([0], [1, 2]), "scale": "minmax"}, "as many lower as upper"),
        ({"column_range": (None, [1] * 4), "scale": "minmax"}, "as many lower as upper"),
        ({"depth_clusters": 3}, "'depth_clusters'"),
        ({"depth_clusters": iter([3]), "method": "tree"}, "'depth_clusters'"),
        ({"depth_clusters": [3, 3], "method": "tree"}, "height of 1"),
        ({"n_threads": 0}, "'n_threads'"),
        ({"weigh_centroids": 1}, "'weigh_centroids'"),
    ],
    ids=repr,
)
def test_wrong_parameters(gaussian, parameters, message):
    with pytest.raises(ValueError, match=message):
        KMeans(**parameters).fit(gaussian)


@pytest.mark.parametrize(
    "arguments, exception, message",
    [
        ({"ids": [1, 2]}, ValueError, "2 ids for 1500 rows"),
        ({"owners": [1, 2]}, ValueError, "2 owners for 1500 rows"),
        ({"ids": np.zeros(1500, int)}, ValueError, "0"),
        ({"ids": -np.arange(1500)}, ValueError, "not negative"),
        ({"ids": np.arange(1500.0)}, TypeError, "whole numbers or texts"),
        ({"ids": [None] * 1500}, TypeError, "whole numbers or texts"),
        ({"ids": [2**64] + list(range(1499))}, ValueError, r"2\*\*64 - 1"),
        ({"ids": ["\ud800"] + list(range(1499))}, UnicodeEncodeError, ""),
        ({"sample_weight": [1, 2]}, ValueError, "sample_weight.shape == "),
        ({"sample_weight": np.ones((1500, 2))}, ValueError, "must be 1D array or scalar"),
        ({"sample_weight": -1.0}, ValueError, "Negative values"),
        ({"sample_weight": np.nan}, ValueError, "contains NaN"),
        ({"sample_weight": np.inf}, ValueError, "contains infinity"),
        ({"sample_weight": 1e9}, ValueError, "divide the weights"),
        ({"sample_weight": 0}, ValueError, "n_samples=0: all 1500 sample weights are zero"),
        ({"owners": [2**64 - 1] * 1500}, ValueError, "the owner None"),
        ({"owners": np.full(1500, 2**64 - 1, np.uint64)}, ValueError, "the owner None"),
        ({"owners": [True] * 1500}, TypeError, "whole numbers or texts"),
        ({"owners": [0.5] * 1500}, TypeError, "whole numbers or texts"),
        ({"owners": [-1.0] * 1500}, TypeError, "whole numbers or texts"),
        ({"owners": [2.0**53] * 1500}, TypeError, "whole numbers or texts"),
        ({"owners": [[1]] * 1500}, TypeError, "whole numbers or texts"),
        ({"ids": np.ma.masked_equal(np.arange(1500), 3)}, TypeError, "texts, not None"),
        ({"ids": ["twice"] * 1500}, ValueError, "'twice'"),
        (
            {"sample_weight": [0] + [1] * 1499, "owners": range(1501)},
            ValueError,
            "1501 owners for 1500 rows",
        ),
        ({"sample_weight": [0] + [1] * 1499, "owners": 7}, ValueError, "1 owners for 1500 rows"),
    ],
    ids=lambda value: "",
)
def test_wrong_arguments_of_fit(gaussian, arguments, exception, message):
    with pytest.raises(exception, match=message):
        KMeans(3).fit(gaussian, **arguments)


@pytest.mark.parametrize(
    "arguments, exception, message",
    [
        ({"ids": [0, 1500, 2000]}, efface.NotFoundError, "1500"),
        ({"ids": "nobody"}, LookupError, "not"),
        ({"ids": [3, 3]}, ValueError, "3"),
        ({"ids": -3}, ValueError, "0 to"),
        ({"ids": 2.0}, TypeError, "whole numbers or texts"),
        ({"ids": [[1, 2]]}, TypeError, "whole numbers or texts"),
        ({"ids": np.ones((2, 2), int)}, TypeError, "whole numbers or texts"),
        ({"ids": b"abc"}, TypeError, "whole numbers or texts"),
        ({"ids": np.array([b"abc"])}, TypeError, "whole numbers or texts"),
        ({"ids": True}, TypeError, "whole numbers or texts"),
        ({"ids": [False, True]}, ValueError, "the mask has 2 truth values, but there are 1500"),
        ({"ids": [1, True]}, TypeError, "whole numbers or texts"),
        ({"ids": np.ones((1500, 1), bool)}, TypeError, "truth values"),
        ({}, ValueError, "ids or owners"),
        ({"owners": 3}, efface.NotFoundError, "the owner 3 has no rows"),
        ({"owners": "Ada"}, efface.NotFoundError, "the owner 'Ada' has no rows"),
        ({"ids": [0, "nobody"]}, efface.NotFoundError, "'nobody'"),
        ({"owners": 2**64 - 1}, ValueError, "number of no owner"),
        ({"owners": np.array([2**64 - 1], np.uint64)}, ValueError, "number of no owner"),
        ({"owners": [None]}, TypeError, "whole numbers or texts"),
        ({"owners": float("nan")}, TypeError, "whole numbers or texts"),
        ({"owners": np.ma.masked_all(1, int)}, TypeError, "whole numbers or texts"),
        ({"ids": 3, "missing": "ignore"}, ValueError, "'raise' or 'skip'"),
        ({"ids": 3, "missing": []}, ValueError, "'raise' or 'skip'"),
    ],
    ids=lambda value: "",
)
def test_wrong_requests(model, arguments, exception, message):
    before = model.digest()
    for call in (model.forget, model.preview):
        with pytest.raises(exception, match=message):
            call(**arguments)
    assert model.digest() == before and model.verify()


def test_wrong_changes(model, gaussian):
    before = model.digest()
    cases = [
        lambda: model.learn(gaussian[:1], ids=[3]),
        lambda: model.learn(gaussian[:2], ids=[5000, 5000]),
        lambda: model.learn(gaussian[:1], ids=[5000], owners=[1, 2]),
        lambda: model.learn(gaussian[:, :2], ids=range(5000, 6500)),
        lambda: model.update(gaussian[:1], ids=[5000]),
        lambda: model.update(gaussian[:1], ids=[1, 2]),
        lambda: model.update(gaussian[:1], ids=None),
        lambda: model.update(gaussian[:1], ids=[1], owners=[2**64 - 1]),
        lambda: model.update(gaussian[:1], ids=[1], sample_weight=2),
        lambda: model.rekey(random_state="x"),
        lambda: model.predict(gaussian[:, :2]),
    ]
    for case in cases:
        with pytest.raises((ValueError, LookupError)):
            case()
    assert model.digest() == before and model.verify()


def test_not_fitted(gaussian):
    fresh = KMeans(3)
    for name in ("labels_", "cluster_centers_", "inertia_", "n_iter_", "ids_"):
        assert not hasattr(fresh, name)
    for call in (fresh.predict, fresh.transform, fresh.score, fresh.forget, fresh.learn):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call(gaussian)


def test_a_fit_that_fails_keeps_the_model(model, gaussian):
    before = model.digest()
    names = pd.DataFrame(gaussian[:, :2], columns=["a", "b"])
    model.set_params(bound=1e-6)
    for X in (gaussian, gaussian[:, :2], names):
        with pytest.raises(ValueError):
            model.fit(X)
    assert model.digest() == before and model.n_features_in_ == 4
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.predict(gaussian), model.labels_)


def test_wrong_metrics(model, gaussian):
    score = efface.metrics.silhouette_score
    for call, exception, message in (
        (lambda: score(model, [1, 2]), ValueError, "a label for each row"),
        (lambda: score(model, np.zeros((1500, 2))), ValueError, "1D"),
        (lambda: score(model, max_rows=-1), ValueError, "max_rows"),
        (lambda: score(KMeans(3)), NotFittedError, "not fitted yet"),
        (lambda: score(gaussian, model.labels_), TypeError, "not ndarray"),
    ):
        with pytest.raises(exception, match=message):
            call()


def test_wrong_sizes_of_generated_data():
    wrong = (-1, 4, -5), (2**32 + 1, 1, 1), (1, 40_000, 1), (1, 1, 1, -1), (1, 1, 1, 2**64)
    for arguments in wrong:
        with pytest.raises(ValueError, match="must be in the range"):
            efface.datasets.make_gaussian(*arguments)


def test_extension_survives_nonsense(model):
    """What the Python layer would never pass."""
    from efface import _efface

    inner = model._model._models
    nonsense = (None, 1, "x", b"x", [], {}, object(), np.ones(3), np.ones((2, 2)), -1, 10**30)
    for name in dir(inner):
        if name.startswith("_"):
            continue
        for n_arguments in range(6):
            for value in nonsense:
                try:
                    getattr(inner, name)(*[value] * n_arguments)
                except Exception:
                    pass
    for name in ("fit", "nmi", "ari", "text_id", "row_ids", "read_ids", "make_gaussian",
                 "open_store", "create_store", "verify_receipt", "verify_receipts",
                 "receipt_root", "wipes_memory", "make_keys"):
        for n_arguments in range(11):
            for value in nonsense:
                try:
                    getattr(_efface, name)(*[value] * n_arguments)
                except Exception:
                    pass
    with pytest.raises(TypeError):
        _efface.Models()
    read_only = np.empty(len(model.ids_), np.int32)
    read_only.flags.writeable = False
    with pytest.raises(ValueError):
        inner.labels(0, read_only)
    assert model.verify()


def test_stores_survive_nonsense(tmp_path, gaussian):
    nonsense = (None, 1, "x", b"x", [], {}, (), (None,), ("x",), object(), np.ones((2, 2)), -1)
    with efface.create(tmp_path / "store", gaussian) as store:
        store.fit("x", KMeans(3))
        for name in dir(store._file):
            if name.startswith("_") or name == "close":
                continue
            for n_arguments in range(6):
                for value in nonsense:
                    try:
                        getattr(store._file, name)(*[value] * n_arguments)
                    except Exception:
                        pass
        assert store.check() == [] and store.verify()


def test_a_request_that_finds_nobody_says_why(gaussian):
    """Ids that are hashes of the content, and a model without owners."""
    hashed = KMeans(3).fit(gaussian[:50])
    named = KMeans(3).fit(gaussian[:50], ids=range(50), owners=[1] * 50)
    copy = pickle.loads(pickle.dumps(hashed))
    for model in hashed, copy:
        with pytest.raises(efface.NotFoundError, match=r"hashes of their content.* ids_\[mask\]"):
            model.forget(ids=7)
        with pytest.raises(efface.NotFoundError, match="no row of this model has an owner"):
            model.preview(owners="Ada")
    for request in {"ids": 77}, {"owners": 2}:
        with pytest.raises(efface.NotFoundError) as raised:
            named.forget(**request)
        assert "hashes" not in str(raised.value) and "give" not in str(raised.value)
