"""Principal components that forget."""

import pickle

import numpy as np
import pytest
from sklearn import decomposition

import efface
from efface import PCA


@pytest.fixture
def X(rng):
    values = rng.standard_normal((70, 5)) @ np.diag([4, 2, 1, 0.5, 0.25]) + [1, 2, 3, 4, 5]
    return np.clip(np.round(values * 256) / 256, -31, 31)


def turned(components):
    """The signs that scikit-learn's components have are its own."""
    largest = components[np.arange(len(components)), abs(components).argmax(axis=1)]
    return np.sign(largest)


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("n_components", [None, 1, 3, 0.5, 0.99])
def test_agrees_with_scikit_learn(n_components, whiten, X):
    ours = PCA(n_components, whiten=whiten).fit(X)
    theirs = decomposition.PCA(n_components, whiten=whiten, svd_solver="full").fit(X)
    signs = turned(theirs.components_)
    assert ours.n_components_ == theirs.n_components_
    close = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(ours.components_, theirs.components_ * signs[:, None], **close)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), **close)
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=1e-9, abs=1e-9)
    Z = ours.transform(X)
    np.testing.assert_allclose(Z, theirs.transform(X) * signs, **close)
    np.testing.assert_allclose(
        ours.inverse_transform(Z), theirs.inverse_transform(theirs.transform(X)), **close
    )
    np.testing.assert_array_equal(PCA(n_components, whiten=whiten).fit_transform(X), Z)
    assert list(ours.get_feature_names_out())[:1] == ["pca0"]
    assert (ours.components_.max(axis=1) == abs(ours.components_).max(axis=1)).all()


@pytest.mark.parametrize("n_components", [None, 2, 0.9])
def test_forgotten_rows_were_never_there(n_components, X):
    model = PCA(n_components).fit(np.vstack([X, 20 - X[:5]]), ids=range(75))
    model.forget(ids=range(70, 75))
    fresh = PCA(n_components).fit(X, ids=range(70))
    assert model.digest() == fresh.digest() and model.verify()
    np.testing.assert_array_equal(model.components_, fresh.components_)
    np.testing.assert_array_equal(model.transform(X), fresh.transform(X))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.transform(X), fresh.transform(X))
    weights = np.r_[np.ones(70), np.zeros(5)]
    weighted = PCA(n_components).fit(np.vstack([X, 20 - X[:5]]), sample_weight=weights)
    present = PCA(n_components).fit(X, sample_weight=np.ones(70))
    assert weighted.digest() == present.digest()
    assert (weighted.components_ == present.components_).all()
    np.testing.assert_allclose(weighted.singular_values_, fresh.singular_values_, rtol=1e-12)


def test_few_rows(X):
    with pytest.raises(ValueError, match="n_samples=1"):
        PCA().fit(X[:1])
    with pytest.raises(ValueError, match="n_components=6 must be between 1 and"):
        PCA(6).fit(X)
    for wrong in (0, 1.0, 1.5, -1, "mle", True):
        with pytest.raises(ValueError, match="'n_components' parameter of PCA"):
            PCA(wrong).fit(X)
    model = PCA(3).fit(X, ids=range(70))
    model.forget(ids=range(2, 70))
    assert model.components_.shape == (2, 5) and model.transform(X).shape == (70, 2)
    model.forget(ids=[0, 1])
    with pytest.raises(ValueError, match="no rows"):
        model.transform(X)
    assert np.isnan(model.mean_).all() and model.components_.shape == (0, 5)
    model.learn(X, ids=range(70))
    assert model.components_.shape == (3, 5) and model.verify()


def test_offsets(X):
    model = PCA(2, offset="auto").fit(X + 1e9)
    plain = PCA(2).fit(X)
    np.testing.assert_allclose(model.components_, plain.components_, atol=1e-4)
    np.testing.assert_allclose(model.mean_, plain.mean_ + 1e9, rtol=1e-12)
    Z = model.transform(X + 1e9)
    np.testing.assert_allclose(Z, plain.transform(X), atol=1e-4)
    np.testing.assert_allclose(model.inverse_transform(Z), plain.inverse_transform(Z) + 1e9,
                               atol=1e-2)


def test_components_in_a_store(tmp_path, X):
    with efface.create(tmp_path / "s.store", X, ids=range(70)) as store:
        store.fit("two", PCA(2, whiten=True))
        store.fit("all", PCA())
        with pytest.raises(ValueError, match="n_components as an int"):
            store.fit("x", PCA(0.5))
        store.forget(ids=[1, 2])
        assert store.verify()
        fresh = PCA(2, whiten=True).fit(np.delete(X, [1, 2], axis=0), ids=np.r_[0, 3:70])
        model = store.load("two")
        assert isinstance(model, efface.ComponentsModel) and model.digest() == fresh.digest()
        np.testing.assert_array_equal(model.transform(X), fresh.transform(X))
        np.testing.assert_array_equal(model.components_, fresh.components_)
        assert store.load("all").components_.shape == (5, 5)
        store.publish("two", tmp_path / "out.model")
        predictor = efface.load_predictor(tmp_path / "out.model")
        np.testing.assert_array_equal(predictor.predict(X), model.transform(X))
