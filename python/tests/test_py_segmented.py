"""Segmented regression that forgets: as k-means and a regression in each cluster."""

import pickle

import numpy as np
import pytest
from conftest import METHODS

import efface
from efface import KMeans, LinearRegression, Ridge, SegmentedRegression


@pytest.fixture
def table(rng):
    centers = np.array([[0, 0], [8, 0], [0, 8]])
    X = centers[np.arange(240) % 3] + rng.standard_normal((240, 2))
    y = np.where(X[:, 0] > 4, 3 * X[:, 1], np.where(X[:, 1] > 4, 5.0, X[:, 0] - X[:, 1]))
    return np.round(X * 256) / 256, np.round(y * 256) / 256


def fitted(table, **parameters):
    return SegmentedRegression(3, random_state=1, **parameters).fit(*table, ids=range(240))


def same(first, second, X):
    assert first.digest() == second.digest() and first.verify()
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.intercept_, second.intercept_)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    np.testing.assert_array_equal(first.cluster_centers_, second.cluster_centers_)


def test_each_segment_has_its_regression(table):
    X, y = table
    model = fitted(table, method="lloyd")
    assert model.labels_.shape == (240,) and model.labels_.dtype == np.int32
    np.testing.assert_array_equal(model.labels_, model.segments(X))
    distances = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, distances.argmin(axis=1))
    for segment in range(3):
        rows = model.labels_ == segment
        alone = LinearRegression().fit(X[rows], y[rows])
        np.testing.assert_allclose(model.coef_[segment], alone.coef_, atol=1e-5)
        np.testing.assert_allclose(model.intercept_[segment], alone.intercept_, atol=1e-5)
        np.testing.assert_allclose(model.predict(X[rows]), alone.predict(X[rows]), atol=1e-5)
    assert model.score(X, y) > 0.99 > Ridge().fit(X, y).score(X, y)


@pytest.mark.parametrize("method", METHODS)
def test_forgotten_rows_were_never_there(method, table):
    X, y = table
    model = fitted(table, method=method, alpha=0.5)
    model.forget(ids=range(0, 60, 2))
    kept = np.setdiff1d(np.arange(240), np.arange(0, 60, 2))
    fresh = SegmentedRegression(3, method=method, alpha=0.5, random_state=1)
    fresh.fit(X[kept], y[kept], ids=kept)
    same(model, fresh, X)
    model.learn(X[0:60:2], y[0:60:2], ids=range(0, 60, 2))
    same(model, fitted(table, method=method, alpha=0.5), X)
    model.update(X[:1] + 1, y[:1], ids=[0])
    assert model.verify()
    same(pickle.loads(pickle.dumps(model)), model, X)
    model.rekey(9)
    assert model.verify()
    model.forget(ids=model.ids_)
    assert len(model.labels_) == 0
    with pytest.raises(ValueError, match="no rows"):
        model.predict(X)


def test_several_targets_weights_and_offsets(table, rng):
    X, y = table
    both = np.column_stack([y, 2 - y])
    model = SegmentedRegression(3, random_state=1).fit(X, both)
    assert model.coef_.shape == (3, 2, 2) and model.intercept_.shape == (3, 2)
    assert model.predict(X).shape == (240, 2)
    weights = rng.randint(0, 3, 240)
    some = weights > 0
    weighted = SegmentedRegression(3, random_state=1).fit(X, y, weights, ids=range(240))
    fresh = SegmentedRegression(3, random_state=1)
    same(weighted, fresh.fit(X[some], y[some], weights[some], ids=np.flatnonzero(some)), X)
    far = SegmentedRegression(3, random_state=1, offset="auto").fit(X + 1e9, y + 1e8)
    np.testing.assert_allclose(far.predict(X + 1e9) - 1e8, model.predict(X)[:, 0], atol=0.1)
    assert far.target_offset_ is not None and far.cluster_centers_.min() > 9e8


def test_the_parameters_of_k_means_are_taken(table):
    X, y = table
    ranges = (X.min(axis=0) - 1, X.max(axis=0) + 1)
    model = fitted(table, method="tree", width=2, depth_clusters=[2], scale="minmax",
                   column_range=ranges)
    assert model._model.info.parameters["method"] == "tree" and model.verify()
    assert model._model.info.parameters["alpha"] == 0.0
    for name, value in [("n_clusters", 0), ("alpha", -1.0), ("method", "k"), ("sums_bound", -1)]:
        with pytest.raises(ValueError, match=f"{name!r} parameter of SegmentedRegression"):
            SegmentedRegression(**{name: value}).fit(X, y)
    with pytest.raises(ValueError, match="bound"):
        fitted(table, sums_bound=1.0)
    with pytest.raises(ValueError, match="move the origin"):
        fitted(table, fit_intercept=False, target_offset=1.0)


def test_in_a_store(tmp_path, table):
    X, y = table
    rows = np.column_stack([X[:, 0], y, X[:, 1]])
    with efface.create(tmp_path / "s.store", rows, ids=range(240)) as store:
        estimator = SegmentedRegression(3, method="lloyd", random_state=1)
        store.fit("m", estimator, targets=1)
        store.fit("k", KMeans(3), columns=[0, 2])
        store.forget(ids=[7, 8])
        assert store.verify() and store.check() == []
        kept = np.delete(np.arange(240), [7, 8])
        fresh = estimator.fit(X[kept], y[kept], ids=kept)
        model = store.load("m")
        assert isinstance(model, efface.SegmentedModel)
        same(model, fresh, X)
        np.testing.assert_array_equal(model.segments(X), fresh.segments(X))
        store.publish("m", tmp_path / "out.model")
        predictor = efface.load_predictor(tmp_path / "out.model")
        np.testing.assert_array_equal(predictor.predict(X), store.predict("m", X))
