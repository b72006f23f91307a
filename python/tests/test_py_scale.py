"""scale='standard': what a StandardScaler in a pipeline gives, with nothing kept of rows."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn import decomposition, discriminant_analysis, kernel_approximation, linear_model
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import efface
from efface import (
    PCA,
    FourierRidge,
    KMeans,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    Ridge,
    RidgeClassifier,
    RidgeCV,
)

UNITS = np.array([2.0**-12, 1.0, 2.0**9, 2.0**4])
"""Of the columns: powers of two, so that values are kept as they are."""

VIEWS = [
    Ridge(alpha=3.0, scale="standard"),
    RidgeCV(alphas=[0.1, 3.0, 300.0], scale="standard"),
    RidgeClassifier(alpha=5.0, scale="standard"),
    LinearDiscriminantAnalysis(shrinkage=0.3, scale="standard"),
    QuadraticDiscriminantAnalysis(reg_param=0.3, scale="standard"),
    PCA(scale="standard"),
    PCA(2, whiten=True, scale="standard"),
]

THEIRS = {
    "Ridge": linear_model.Ridge(alpha=3.0),
    "RidgeCV": linear_model.RidgeCV(alphas=[0.1, 3.0, 300.0]),
    "RidgeClassifier": linear_model.RidgeClassifier(alpha=5.0),
    "LinearDiscriminantAnalysis": discriminant_analysis.LinearDiscriminantAnalysis(
        solver="lsqr", shrinkage=0.3
    ),
}


@pytest.fixture
def table(rng):
    """Rows in units of very different size, a target, and classes."""
    X = rng.standard_normal((90, 4)) @ np.triu(rng.standard_normal((4, 4)) + 1) + [1, 2, 3, 4]
    X = np.clip(np.round(X * 256) / 256, -15.9375, 15.9375)
    y = np.round((X @ [1.5, -2.0, 0.5, 1.0] + rng.standard_normal(90)) * 256) / 256
    return X * UNITS, y, np.where(y > np.median(y), "high", np.where(X[:, 1] > 2, "low", "none"))


def target_of(estimator, table):
    """What an estimator learns beside rows."""
    if isinstance(estimator, PCA):
        return ()
    return (table[1] if isinstance(estimator, (Ridge, RidgeCV)) else table[2],)


def answers(estimator, X):
    """The numbers that an estimator gives."""
    for name in ("transform", "predict_proba", "decision_function", "predict"):
        if hasattr(estimator, name) and not (name == "transform" and hasattr(estimator, "classes_")):
            return getattr(estimator, name)(X)
    raise AssertionError(estimator)


@pytest.mark.parametrize("estimator", VIEWS[:4], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_is_a_pipeline_with_a_scaler(estimator, weighted, table, rng):
    X, *_ = table
    y = target_of(estimator, table)[0]
    theirs = make_pipeline(StandardScaler(), THEIRS[type(estimator).__name__])
    weights = {}
    if weighted:
        if not isinstance(estimator, (Ridge, RidgeClassifier)):
            pytest.skip("scikit-learn's takes no weights, or others")
        w = rng.randint(1, 5, len(X)) / 4
        last = theirs.steps[-1][0]
        weights = {"standardscaler__sample_weight": w, f"{last}__sample_weight": w}
    ours = estimator.fit(X, y, **({"sample_weight": w} if weighted else {}))
    theirs.fit(X, y, **weights)
    close = {"rtol": 1e-9, "atol": 1e-9}
    if isinstance(estimator, RidgeCV):
        assert ours.alpha_ == theirs[-1].alpha_
    np.testing.assert_array_equal(ours.predict(X) == ours.predict(X), True)
    if y.dtype.kind == "U":
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), **close)
    else:
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), **close)
    # Ours are in the units of X.
    np.testing.assert_allclose(ours.coef_ * theirs[0].scale_, theirs[-1].coef_, **close)


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("n_components", [None, 2, 0.9])
def test_components_are_those_of_a_pipeline(n_components, whiten, table):
    X, *_ = table
    ours = PCA(n_components, whiten=whiten, scale="standard").fit(X)
    theirs = make_pipeline(
        StandardScaler(), decomposition.PCA(n_components, whiten=whiten, svd_solver="full")
    ).fit(X)
    axes = theirs[-1].components_
    signs = np.sign(axes[np.arange(len(axes)), abs(axes).argmax(axis=1)])
    close = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(ours.components_, axes * signs[:, None], **close)
    np.testing.assert_allclose(ours.scale_, theirs[0].scale_, **close)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs[-1], name), **close)
    assert ours.noise_variance_ == pytest.approx(theirs[-1].noise_variance_, rel=1e-9, abs=1e-9)
    Z = ours.transform(X)
    np.testing.assert_allclose(Z, theirs.transform(X) * signs, **close)
    np.testing.assert_allclose(
        ours.inverse_transform(Z), theirs.inverse_transform(theirs.transform(X)), **close
    )
    if not whiten:  # versions of scikit-learn differ in what whitening does to these
        np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-7)
        np.testing.assert_allclose(ours.get_covariance(), theirs[-1].get_covariance(), atol=1e-9)
    assert PCA().fit(X).scale_ is None


def test_quadratic_discriminants_are_those_of_scaled_rows(table):
    X, _, kinds = table
    ours = QuadraticDiscriminantAnalysis(reg_param=0.3, scale="standard").fit(X, kinds)
    scaler = StandardScaler().fit(X)
    scaled = QuadraticDiscriminantAnalysis(reg_param=0.3).fit(scaler.transform(X), kinds)
    np.testing.assert_allclose(
        ours.predict_proba(X), scaled.predict_proba(scaler.transform(X)), atol=1e-5
    )


@pytest.mark.parametrize("estimator", VIEWS, ids=repr)
def test_forgotten_rows_were_never_there(estimator, table):
    X, *_ = table
    y = target_of(estimator, table)
    plain = type(estimator)(**{**estimator.get_params(), "scale": None}).fit(X, *y, ids=range(90))
    model = estimator.fit(X, *y, ids=range(90))
    assert model.digest() == plain.digest()  # no new state
    assert not np.array_equal(answers(model, X), answers(plain, X))
    model.forget(ids=[*range(10), 89])
    kept = np.arange(10, 89)
    fresh = pickle.loads(pickle.dumps(estimator)).fit(X[kept], *(v[kept] for v in y), ids=kept)
    assert model.digest() == fresh.digest() and model.verify()
    np.testing.assert_array_equal(answers(model, X), answers(fresh, X))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answers(copy, X), answers(fresh, X))


@pytest.mark.parametrize("estimator", [VIEWS[i] for i in (0, 2, 3, 4, 6)], ids=repr)
def test_in_stores_and_published(estimator, table, tmp_path):
    X, *_ = table
    y = target_of(estimator, table)
    named = {} if not y else {"y": y[0]} if isinstance(estimator, Ridge) else {"labels": y[0]}
    rows = np.column_stack([X, y[0]]) if "y" in named else X
    with efface.create(tmp_path / "s.store", rows, ids=range(90),
                       labels=named.get("labels")) as store:
        store.fit("m", estimator, **({"targets": [4]} if "y" in named else {}))
        store.forget(ids=range(5))
        assert store.verify()
        model = store.load("m")
        assert model.info.parameters["scale"] == "standard"
        kept = np.arange(5, 90)
        fresh = pickle.loads(pickle.dumps(estimator)).fit(X[kept], *(v[kept] for v in y), ids=kept)
        wanted = fresh.transform(X) if isinstance(estimator, PCA) else fresh.predict(X)
        store.publish("m", tmp_path / "m.model")
    predictor = efface.load_predictor(tmp_path / "m.model")
    np.testing.assert_array_equal(predictor.predict(X), wanted)  # of raw rows


# ------------------------------------------------------------------ units on a lattice


def test_kernels_are_those_of_a_pipeline(rng):
    X = rng.standard_normal((1500, 4))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    X = (X * UNITS).astype(np.float32)
    model = FourierRidge(1e-2, n_components=300, scale="standard", random_state=2)
    theirs = make_pipeline(
        StandardScaler(),
        kernel_approximation.RBFSampler(gamma=0.25, n_components=300, random_state=3),
        linear_model.Ridge(1e-2),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X[:1000], y[:1000], ids=range(1000))
    theirs.fit(X[:1000].astype(np.float64), y[:1000])
    wanted = theirs.score(X[1000:].astype(np.float64), y[1000:])
    assert model.score(X[1000:], y[1000:]) > wanted - 0.03 > 0.8
    reports = [model.forget(ids=[i]) for i in range(300)]
    moved = [r for r in reports if r.reason == "the unit of a column changed"]
    assert 1 <= len(moved) <= 30 and all(r.action == "refitted" for r in moved)
    assert all(r.action == "adjusted" for r in reports if "column" not in r.reason)
    fresh = pickle.loads(pickle.dumps(model)).fit(X[300:1000], y[300:1000], ids=range(300, 1000))
    assert model.digest() == fresh.digest() and model.verify()
    np.testing.assert_array_equal(model.predict(X[1000:]), fresh.predict(X[1000:]))
    assert model._model.info.parameters["scale"] == "standard"


def test_kernels_of_raw_columns_warn(rng):
    X, y = rng.standard_normal((200, 3)).astype(np.float32), rng.standard_normal(200)
    for factor, message in (([1, 1e4, 1], "feature 1 has nearly all"), ([40] * 3, "so far apart")):
        with pytest.warns(UserWarning, match=message + ".*use scale='standard'"):
            FourierRidge().fit(X * np.float32(factor), y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            FourierRidge(scale="standard").fit(X * np.float32(factor), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FourierRidge().fit(X, y)


def test_clusters_of_columns_of_different_size(rng):
    X = rng.standard_normal((900, 3)) + np.repeat(np.eye(3) * 8, 300, axis=0)
    truth = np.repeat(np.arange(3), 300)
    X *= [1e-3, 1.0, 1e5]
    model = KMeans(3, scale="standard", random_state=1).fit(X, ids=range(900))
    found = np.array([np.bincount(model.labels_[truth == k], minlength=3) for k in range(3)])
    assert (found.max(axis=1) > 295).all() and (found.max(axis=0) > 295).all()
    model.forget(ids=range(0, 900, 4))
    kept = np.setdiff1d(np.arange(900), np.arange(0, 900, 4))
    fresh = KMeans(3, scale="standard", random_state=1).fit(X[kept], ids=kept)
    assert model.digest() == fresh.digest() and model.verify()
    with pytest.raises(ValueError, match="for the scale minmax"):
        KMeans(2, scale="standard", column_range=([-9] * 3, [9] * 3)).fit(X)


def test_what_is_refused(table):
    X, y, _ = table
    with pytest.raises(ValueError, match="without an intercept"):
        Ridge(scale="standard", fit_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match="'scale' parameter of Ridge must be a str among"):
        Ridge(scale="minmax").fit(X, y)
