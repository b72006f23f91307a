"""Linear regressions that forget: against scikit-learn, against fresh fits, in stores."""

import pickle

import numpy as np
import pytest
from sklearn import linear_model

import efface
from efface import FourierRidge, LinearRegression, Ridge, RidgeCV

KINDS = [
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    Ridge(alpha=3.0),
    Ridge(alpha=3.0, fit_intercept=False),
    RidgeCV(alphas=[0.1, 1.0, 30.0]),
    FourierRidge(alpha=0.1, gamma=0.05, n_components=20, random_state=5),
]


def on_grid(values):
    """Numbers that are kept as they are: multiples of 1/256 below 16."""
    return np.clip(np.round(values * 256) / 256, -15.9375, 15.9375)


@pytest.fixture
def table(rng):
    X = on_grid(rng.standard_normal((80, 3)) * 2)
    y = on_grid(X @ [1.5, -2.0, 0.5] + 1 + 0.3 * rng.standard_normal(80))
    return X, y


def twin(estimator):
    """The same of scikit-learn."""
    names = ("alpha", "alphas", "fit_intercept")
    kind = getattr(linear_model, type(estimator).__name__)
    return kind(**{k: v for k, v in estimator.get_params().items() if k in names})


def same(first, second, X):
    """Whether two estimators are the same, to the last bit."""
    assert first.digest() == second.digest() and first.verify()
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.intercept_, second.intercept_)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


@pytest.mark.parametrize("estimator", KINDS[:5], ids=repr)
@pytest.mark.parametrize("n_targets", [0, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_scikit_learn(estimator, n_targets, weighted, table, rng):
    X, y = table
    y = y if n_targets == 0 else np.column_stack([y, X[:, 0] - 2 * y][:n_targets])
    y = on_grid(y)
    weights = rng.randint(1, 5, len(X)) / 4 if weighted else None
    ours = estimator.fit(X, y, sample_weight=weights)
    theirs = twin(estimator).fit(X, y, sample_weight=weights)
    for one, other in [
        (ours.coef_, theirs.coef_),
        (ours.intercept_, theirs.intercept_),
        (ours.predict(X), theirs.predict(X)),
    ]:
        if n_targets == 1:  # versions of scikit-learn differ in the shape of one column
            one, other = np.ravel(one), np.ravel(other)
        if np.ndim(other) or estimator.fit_intercept:  # scikit-learn may have a plain 0.0
            assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert ours.predict(X).shape == y.shape
    assert np.shape(ours.coef_) == ((n_targets, 3) if n_targets else (3,))
    assert ours.score(X, y, weights) == pytest.approx(theirs.score(X, y, weights), abs=1e-9)
    if isinstance(estimator, RidgeCV):
        assert ours.alpha_ == theirs.alpha_


def test_values_off_the_grid_agree_nearly(rng):
    X, noise = rng.standard_normal((300, 4)), rng.standard_normal(300)
    y = X @ [1, 2, 3, 4] + 0.1 * noise
    ours, theirs = LinearRegression().fit(X, y), linear_model.LinearRegression().fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-5)


def test_standard_errors(table):
    X, y = table
    model = LinearRegression().fit(X, y)
    A = np.column_stack([np.ones(len(X)), X])
    rest = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    errors = np.sqrt(np.diag(np.linalg.inv(A.T @ A)) * (rest @ rest) / (len(X) - 4))
    np.testing.assert_allclose([model.intercept_std_, *model.coef_std_], errors, rtol=1e-9)
    assert model.r2_ == pytest.approx(model.score(X, y), abs=1e-12)
    weighted = LinearRegression().fit(X, y, sample_weight=np.ones(len(X)))
    np.testing.assert_allclose(weighted.coef_std_, model.coef_std_, rtol=1e-12)


@pytest.mark.parametrize("estimator", KINDS, ids=repr)
def test_forgotten_rows_were_never_there(estimator, table):
    X, y = table
    model = estimator.fit(X, y, ids=range(80), owners=np.arange(80) % 8)
    before = model.digest()
    report = model.forget(ids=range(5), owners=[7])
    assert report.rows_forgotten == 15
    kept = np.array([i for i in range(80) if i >= 5 and i % 8 != 7])
    fresh = pickle.loads(pickle.dumps(estimator)).fit(X[kept], y[kept], ids=kept)
    same(model, fresh, X)
    gone = np.setdiff1d(np.arange(80), kept)
    model.learn(X[gone], y[gone], ids=gone, owners=gone % 8)
    assert model.digest() == before and model.verify()
    assert model.ids_.tolist() == [*kept, *gone]
    np.testing.assert_array_equal(model._model.y_, np.float32(y)[[*kept, *gone]])
    np.testing.assert_array_equal(model._model.rows_, np.float32(X)[[*kept, *gone]])
    model.update(X[:2] + 1, y[:2] - 1, ids=[0, 1])
    changed, target = X.copy(), y.copy()
    changed[:2], target[:2] = X[:2] + 1, y[:2] - 1
    same(model, pickle.loads(pickle.dumps(estimator)).fit(changed, target, ids=range(80)), X)
    copy = pickle.loads(pickle.dumps(model))
    same(copy, model, X)
    assert copy.forget(ids=[3]).rows_forgotten == 1 and copy.ids_.tolist() != model.ids_.tolist()


@pytest.mark.parametrize("estimator", KINDS, ids=repr)
def test_weight_zero_is_absence(estimator, table, rng):
    X, y = table
    weights = rng.randint(0, 3, 80).astype(float)
    some = weights > 0
    model = estimator.fit(X, y, sample_weight=weights, ids=range(80))
    coefficients, predicted, digest = model.coef_, model.predict(X), model.digest()
    fresh = estimator.fit(X[some], y[some], sample_weight=weights[some], ids=np.flatnonzero(some))
    assert digest == fresh.digest() and (predicted == fresh.predict(X)).all()
    assert (coefficients == fresh.coef_).all() and len(fresh.ids_) == some.sum()


@pytest.mark.parametrize("estimator", KINDS[:4], ids=repr)
def test_leaving_one_out_is_forgetting(estimator, table):
    X, y = table[0][:12], table[1][:12]
    model = estimator.fit(X, y, ids=range(12))
    misses = model.leave_one_out()
    for i in range(12):
        model.forget(ids=[i])
        assert misses[i] == pytest.approx(y[i] - model.predict(X[i : i + 1])[0], rel=1e-6)
        model.learn(X[i : i + 1], y[i : i + 1], ids=[i])


def test_the_penalty_is_chosen_again(rng):
    X = on_grid(rng.standard_normal((30, 2)))
    y = on_grid(X @ [1.0, 1.0])
    noisy = on_grid(rng.standard_normal(60) * 6)
    model = RidgeCV(alphas=(1e-3, 1.0, 1e4)).fit(X, y, ids=range(30))
    assert model.alpha_ == 1e-3
    model.learn(np.vstack([X, X]), noisy, ids=range(100, 160))
    assert model.alpha_ == 1e4
    model.forget(ids=range(100, 160))
    assert model.alpha_ == 1e-3 and model.best_score_ > -1e-6
    misses = Ridge(alpha=1e-3).fit(X, y, ids=range(30)).leave_one_out()
    assert model.best_score_ == pytest.approx(-(misses**2).mean(), rel=1e-9)


def test_offsets_of_features_and_targets(rng):
    X = 1e9 + rng.standard_normal((60, 2))
    y = (X - 1e9) @ [2.0, -1.0] + 1e8
    with pytest.warns(UserWarning, match="float32"):
        LinearRegression().fit(X, y)
    model = LinearRegression(offset="auto").fit(X, y, ids=range(60))
    assert model.offset_ is not None and model.target_offset_ is not None
    np.testing.assert_allclose(model.coef_, [2.0, -1.0], rtol=1e-5)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-4)
    chosen = RidgeCV(alphas=[1e-6], offset=[1e9, 1e9], target_offset=1e8).fit(X, y)
    np.testing.assert_allclose(chosen.predict(X), y, atol=1e-4)
    np.testing.assert_allclose(chosen.coef_ @ X[0] + chosen.intercept_, y[0], rtol=1e-6)
    np.testing.assert_array_equal(chosen.target_offset_, [1e8])
    copy = pickle.loads(pickle.dumps(model))
    copy.forget(ids=[1])
    model.forget(ids=[1])
    same(copy, model, X)
    np.testing.assert_allclose(model._model.y_, np.delete(y, 1), atol=1e-4)
    for name in ("offset", "target_offset"):
        given = {"offset": [1.0, 1.0], "target_offset": 1.0}[name]
        with pytest.raises(ValueError, match=f"{name} would move the origin"):
            Ridge(fit_intercept=False, **{name: given}).fit(X, y)
    with pytest.raises(ValueError, match="target_offset must have a number for each of 1 targets"):
        Ridge(target_offset=[1.0, 2.0]).fit(X, y)


def test_dependent_and_constant_features_are_named(rng):
    pandas = pytest.importorskip("pandas")
    x = on_grid(rng.standard_normal(50))
    frame = pandas.DataFrame({"a": x, "one": np.ones(50), "twice": 2 * x})
    target = pandas.Series(3 * x, name="income")
    with pytest.warns(UserWarning, match="one, twice are constant or depend"):
        model = LinearRegression().fit(frame, target)
    np.testing.assert_array_equal(model.coef_, [3.0, 0.0, 0.0])
    assert list(model.feature_names_in_) == ["a", "one", "twice"]
    with pytest.warns(UserWarning, match="columns a vary so little.*offset"):
        LinearRegression().fit(pandas.DataFrame({"a": 2.0**19 + np.arange(50) / 16}), x)
    with pytest.warns(UserWarning, match="features 2 are"):
        fewer = LinearRegression().fit(rng.standard_normal((3, 3)), rng.standard_normal(3))
    assert np.isnan(fewer.coef_std_).all()


@pytest.mark.parametrize(
    "X, y, message",
    [
        (np.eye(3), None, "requires y to be passed"),
        (np.eye(3), [1, 2], r"inconsistent numbers of samples: \[3, 2\]"),
        (np.eye(3), [1, 2, np.nan], "Input y contains NaN"),
        (np.eye(3), [1, 2, np.inf], "Input y contains infinity"),
        (np.eye(3), np.ones((3, 1, 1)), "dim 3|1d or 2d array"),
        ([[1, 2], [np.nan, 1]], [1, 2], "Input X contains NaN"),
    ],
)
def test_what_cannot_be_fitted(X, y, message):
    with pytest.raises(ValueError, match=message):
        Ridge().fit(X, y)


def test_requests_that_do_not_fit(table):
    X, y = table
    model = Ridge().fit(X, y, ids=range(80))
    before = model.digest()
    for call, message in [
        (lambda: model.learn(X[:2], ids=[100, 101]), "requires y to be passed"),
        (lambda: model.learn(X[:2], y[:3], ids=[100, 101]), "inconsistent numbers"),
        (lambda: model.learn(X[:2], np.ones((2, 2)), ids=[100, 101]), "y has 2 targets"),
        (lambda: model.learn(X[:2, :2], y[:2], ids=[100, 101]), "X has 2 features"),
        (lambda: model.update(X[:2], ids=[0, 1]), "requires y to be passed"),
        (lambda: model.predict(X[:, :2]), "X has 2 features"),
        (lambda: model._model.predict(X[:, :2]), "X has 2 features"),
        (lambda: model._model.learn(X[:2, :2], y[:2]), "the rows have 2 features"),
        (lambda: Ridge(alpha=-1.0).fit(X, y), "'alpha' parameter of Ridge"),
        (lambda: RidgeCV(alphas=[]).fit(X, y), "'alphas' parameter of RidgeCV"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    assert model.digest() == before and model.verify()
    model.forget(ids=range(80))
    with pytest.raises(ValueError, match="no rows"):
        model.predict(X)
    model.learn(X, y, ids=range(80))
    assert model.digest() == before


def test_regressions_in_a_store(tmp_path, table):
    pandas = pytest.importorskip("pandas")
    X, y = table
    frame = pandas.DataFrame(X, columns=["age", "height", "weight"])
    frame.insert(1, "income", y)
    with efface.create(tmp_path / "s.store", frame, ids=range(80)) as store:
        store.fit("all", Ridge(alpha=3.0), targets="income")
        store.fit("two", LinearRegression(), ["weight", "age"], targets=["income", "height"])
        store.fit("waves", FourierRidge(n_components=10, random_state=2), targets=1)
        assert store.columns("all") == ["age", "height", "weight", "income"]
        store.forget(ids=[4, 5])
        assert store.verify() and store.check() == []
        kept = np.delete(np.arange(80), [4, 5])
        fresh = Ridge(alpha=3.0).fit(X[kept], y[kept], ids=kept)
        model = store.load("all")
        assert isinstance(model, efface.LinearModel) and model.digest() == fresh.digest()
        np.testing.assert_array_equal(model.coef_, fresh.coef_)
        assert model.feature_names == ["age", "height", "weight"]
        np.testing.assert_array_equal(model.predict(frame[["weight", "age", "height"]]),
                                      fresh.predict(X))
        np.testing.assert_array_equal(store.predict("all", X), fresh.predict(X))
        assert model.learn(X[4:6], y[4:6], ids=[4, 5]).rows_learned == 2 and model.verify()
        both = store.load("two")
        assert both.predict(X[:, [2, 0]]).shape == (80, 2) and both.coef_.shape == (2, 2)
        fresh = LinearRegression().fit(X[kept][:, [2, 0]], np.column_stack([y, X[:, 1]])[kept])
        np.testing.assert_array_equal(both.coef_, fresh.coef_)
        for arguments, message in [
            (("x", Ridge()), "needs targets"),
            (("x", Ridge(), ["age", "income"], "income"), "is a target"),
            (("x", Ridge(), None, "wealth"), "no feature is called 'wealth'"),
            (("x", RidgeCV(), None, "income"), "fit RidgeCV to find it"),
            (("x", efface.KMeans(), None, "income"), "has no targets"),
            (("x", Ridge(target_offset=1.0), None, "income"), "leave target_offset out"),
        ]:
            with pytest.raises(ValueError, match=message):
                store.fit(*arguments[:3], **({"targets": arguments[3]} if arguments[3:] else {}))
        store.publish("all", tmp_path / "out.model")
        predictor = efface.load_predictor(tmp_path / "out.model")
        assert predictor.n_features == 3 and predictor.predicts == "values"
        np.testing.assert_array_equal(predictor.predict(X), store.predict("all", X))
        np.testing.assert_array_equal(predictor.predict(frame[["height", "weight", "age"]]),
                                      predictor.predict(X))


def test_offsets_in_a_store(tmp_path, rng):
    X = np.column_stack([1e9 + rng.standard_normal(50), rng.standard_normal(50)])
    rows = np.column_stack([X, X[:, 0] - 2 * X[:, 1]])
    with efface.create(tmp_path / "s.store", rows, offset="auto") as store:
        store.fit("m", LinearRegression(), targets=2)
        model = store.load("m")
        np.testing.assert_allclose(model.predict(X), rows[:, 2], atol=1e-5)
        np.testing.assert_allclose(model.coef_, [1, -2], atol=1e-5)
        store.publish("m", tmp_path / "out.model")
        predictor = efface.load_predictor(tmp_path / "out.model")
        np.testing.assert_array_equal(predictor.predict(X), model.predict(X))
        np.testing.assert_array_equal(predictor.offset, model.offset_)


def test_without_rows_there_are_no_coefficients(table):
    X, y = table
    for model in (LinearRegression(), RidgeCV(), FourierRidge(n_components=5)):
        model.fit(X, y)
        model.forget(ids=model.ids_)
        for name in ("coef_", "intercept_"):
            with pytest.raises(ValueError, match="has no rows"):
                getattr(model, name)
            assert not hasattr(model, name)
