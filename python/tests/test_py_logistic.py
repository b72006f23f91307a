"""Logistic regression and linear machines that forget: against scikit-learn, against fresh fits, in stores."""

import pickle

import numpy as np
import pytest
from sklearn import linear_model, svm

import efface
from efface import LinearSVC, LogisticRegression

TEXTS = np.array(["zebra", "ant", "bee"])
KINDS = [LogisticRegression, LinearSVC]


@pytest.fixture
def table(rng):
    X = rng.standard_normal((3000, 4)).astype(np.float32)
    z = X @ [1.0, -2.0, 0.5, 0.0] + rng.logistic(size=3000)
    return X, (z > -1).astype(int) + (z > 1)


def answers(model, X):
    """All that a classifier says of rows."""
    names = ("predict", "predict_proba", "decision_function")
    return [getattr(model, name)(X) for name in names if hasattr(model, name)]


def same(first, second, X):
    assert first.digest() == second.digest() and first.verify()
    np.testing.assert_array_equal(first.coef_, second.coef_)
    for one, other in zip(answers(first, X), answers(second, X)):
        np.testing.assert_array_equal(one, other)


def peer(estimator, fit_intercept=True):
    if isinstance(estimator, LogisticRegression):
        return linear_model.LogisticRegression(C=estimator.C, tol=1e-8, max_iter=1000)
    return svm.LinearSVC(C=estimator.C, dual=False, intercept_scaling=1e4, tol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("texts", [False, True])
def test_two_classes_as_scikit_learn_has_them(kind, C, texts, table):
    X, y = table
    y = TEXTS[y // 2] if texts else y // 2
    model = kind(C, lattice=2.0**-10, random_state=1).fit(X, y)
    right = peer(model).fit(X, y)
    assert model.coef_.shape == (1, 4) and model.intercept_.shape == (1,)
    np.testing.assert_array_equal(model.classes_, right.classes_)
    np.testing.assert_allclose(model.coef_, right.coef_, rtol=5e-3, atol=2e-3)
    np.testing.assert_allclose(model.intercept_, right.intercept_, rtol=5e-3, atol=2e-3)
    np.testing.assert_allclose(
        model.decision_function(X), right.decision_function(X), rtol=0.02, atol=0.02
    )
    if kind is LogisticRegression:
        np.testing.assert_allclose(model.predict_proba(X), right.predict_proba(X), atol=5e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_classes_against_the_rest(kind, table):
    X, y = table
    model = kind(lattice=2.0**-10, random_state=1).fit(X, TEXTS[y])
    assert model.coef_.shape == (3, 4) and model.classes_.tolist() == ["ant", "bee", "zebra"]
    for c, name in enumerate(model.classes_):
        right = peer(model).fit(X, TEXTS[y] == name)
        np.testing.assert_allclose(model.coef_[c], right.coef_[0], rtol=5e-3, atol=3e-3)
    assert model.n_iter_.shape == (3,) and (model.n_iter_ > 1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_forgets_and_learns(kind, table):
    X, y = table
    model = kind(random_state=3).fit(X, TEXTS[y], ids=range(3000))
    for i in range(0, 300, 30):
        model.forget(ids=[i])
    left = np.setdiff1d(np.arange(3000), np.arange(0, 300, 30))
    fresh = kind(random_state=3).fit(X[left], TEXTS[y[left]], ids=left)
    same(model, fresh, X)
    model.learn(X[:300:30], TEXTS[y[:300:30]], ids=range(0, 300, 30))
    same(model, kind(random_state=3).fit(X, TEXTS[y], ids=range(3000)), X)
    same(pickle.loads(pickle.dumps(model)), model, X)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_count(kind, table):
    X, y = table
    weights = np.arange(3000) % 3
    model = kind(lattice=2.0**-10, random_state=1).fit(X, y // 2, sample_weight=weights)
    right = peer(model).fit(X, y // 2, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, right.coef_, rtol=5e-3, atol=3e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_in_a_store(kind, table, tmp_path):
    X, y = table
    with efface.create(tmp_path / "a.store", X, ids=range(3000), labels=y) as store:
        store.fit("kind", kind(random_state=5))
        store.forget(ids=[4, 5])
        assert store.verify()
        left = np.setdiff1d(np.arange(3000), [4, 5])
        fresh = kind(random_state=5).fit(X[left], y[left], ids=left)
        np.testing.assert_array_equal(store.load("kind").coef_, fresh.coef_)


def test_wrong_parameters(table):
    X, y = table
    for wrong in ({"C": 0}, {"max_iter": 0}, {"lattice": -1}, {"sample": 0}, {"fit_intercept": 2}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            LogisticRegression(**wrong).fit(X, y)
