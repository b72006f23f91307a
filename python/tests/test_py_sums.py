"""Sums: means that forget exactly, in memory and in a store."""

import pickle

import efface
import numpy as np
import pytest


def rows(seed=3):
    return np.random.default_rng(seed).normal(5.0, 3.0, (60, 4)).astype(np.float32)


def test_means_are_those_of_the_rows_that_are_there():
    X = rows()
    weights = np.arange(1, 61)
    model = efface.ColumnMeans().fit(X, sample_weight=weights, ids=range(60))
    model.forget(ids=range(10, 20))
    model.learn(X[10:12] + 1, ids=[100, 101])
    assert model.verify()
    kept = np.r_[0:10, 20:60]
    values = np.vstack([X[kept], X[10:12] + 1]).astype(np.float64)
    expected = np.average(values, axis=0, weights=np.r_[weights[kept], 1, 1])
    np.testing.assert_allclose(model.means_, expected, rtol=1e-6)
    assert model.predict(X[:3]).shape == (3, 4)
    np.testing.assert_array_equal(model.predict(X[:3])[1], model.means_)
    fresh = efface.ColumnMeans().fit(
        np.vstack([X[kept], X[10:12] + 1]),
        sample_weight=np.r_[weights[kept], 1, 1],
        ids=[*kept.tolist(), 100, 101],
    )
    assert model.digest() == fresh.digest()
    assert pickle.loads(pickle.dumps(model)).digest() == model.digest()


def test_a_bound_is_kept():
    model = efface.ColumnMeans(bound=10.0).fit(np.ones((3, 2)), ids=range(3))
    with pytest.raises(ValueError, match="bound"):
        model.learn(np.full((1, 2), 11.0), ids=[7])
    assert model.forget(ids=[0]).action == "adjusted"
    np.testing.assert_array_equal(model.means_, [1.0, 1.0])


def test_both_families_in_a_store(tmp_path):
    X = rows()
    with efface.create(tmp_path / "s.store", X, ids=range(60)) as store:
        store.fit("means", efface.ColumnMeans())
        store.fit("groups", efface.KMeans(n_clusters=3, random_state=1))
        assert [model.kind for model in store.models] == ["k-means", "means"]
        report = store.forget(ids=[5, 6])
        assert {change.kind for change in report.models} == {"k-means", "means"}
        assert store.verify("means") and store.verify("groups")
        means = store.load("means").means_
    np.testing.assert_allclose(means, np.delete(X, [5, 6], axis=0).mean(axis=0), rtol=1e-5)
