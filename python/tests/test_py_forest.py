"""Forests that forget: against fresh fits, in stores, in files; missing values and categories."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn import ensemble
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

import efface
from efface import ForestClassifier, ForestRegressor, KMeans

KINDS = (ForestClassifier, ForestRegressor)
TEXTS = np.array(["zebra", "ant", "bee"])


def on_grid(values):
    return np.round(values * 256) / 256


@pytest.fixture
def table(rng):
    """Numbers and a column of categories; three classes; a number to predict."""
    X = on_grid(rng.standard_normal((120, 4)))
    X[:, 3] = rng.randint(0, 6, 120)
    y = (X[:, 0] > 0).astype(int) + (X[:, 3] % 2 == 1)
    return X, y, on_grid(X[:, 0] - 2 * (X[:, 3] % 3))


def y_of(kind, table):
    return table[1] if kind is ForestClassifier else table[2]


def kind_of(cls):
    """What a model of an estimator's class is called."""
    return f"{'classification' if cls is ForestClassifier else 'regression'} forest"


def made(kind, **parameters):
    parameters = {"n_estimators": 8, "random_state": 3, **parameters}
    return kind(**parameters)


def answers(model, X):
    """All that a forest says of rows."""
    names = ("predict", "apply", "predict_proba", "predict_log_proba")
    return [getattr(model, name)(X) for name in names if hasattr(model, name)]


def same(first, second, X):
    assert first.digest() == second.digest() and first.verify()
    np.testing.assert_array_equal(first.feature_importances_, second.feature_importances_)
    for one, other in zip(answers(first, X), answers(second, X)):
        np.testing.assert_array_equal(one, other)
    assert first.size_ == second.size_


# ------------------------------------------------------------------ what it predicts


def test_it_is_about_as_good_as_scikit_learn(rng):
    X = rng.standard_normal((600, 6))
    number = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    ours = ForestRegressor(50, max_features=1.0, random_state=0).fit(X[:400], number[:400])
    theirs = ensemble.ExtraTreesRegressor(50, random_state=0).fit(X[:400], number[:400])
    assert ours.score(X[400:], number[400:]) > theirs.score(X[400:], number[400:]) - 0.05
    kind = TEXTS[(number > 0.5).astype(int) + (number > 1.5)]
    ours = ForestClassifier(50, random_state=0).fit(X[:400], kind[:400])
    theirs = ensemble.ExtraTreesClassifier(50, max_features=None, random_state=0)
    theirs.fit(X[:400], kind[:400])
    assert ours.score(X[400:], kind[400:]) > theirs.score(X[400:], kind[400:]) - 0.05
    assert list(ours.classes_) == sorted(TEXTS)
    # Rows of the fit have leaves of their own, which know them.
    assert ours.score(X[:400], kind[:400]) == 1.0


def test_probabilities_are_those_of_the_leaves(table):
    X, y, _ = table
    model = made(ForestClassifier, min_samples_leaf=4).fit(X, TEXTS[y], ids=range(120))
    shares = model.predict_proba(X)
    assert shares.shape == (120, 3) and shares.min() >= 0
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(shares))
    leaves = model.apply(X)
    assert leaves.shape == (120, 8) and leaves.dtype == np.uint32
    expected = np.zeros((120, 3))
    for tree in leaves.T:
        for leaf in np.unique(tree):
            rows = tree == leaf
            assert rows.sum() >= 4
            expected[rows] += [(TEXTS[y][rows] == name).mean() for name in model.classes_]
    np.testing.assert_allclose(shares, expected / 8, atol=1e-8)


def test_values_are_means_of_the_leaves(table):
    X, _, y = table
    model = made(ForestRegressor, min_samples_leaf=3).fit(X, y)
    expected = np.zeros(120)
    for tree in model.apply(X).T:
        for leaf in np.unique(tree):
            expected[tree == leaf] += y[tree == leaf].mean()
    np.testing.assert_allclose(model.predict(X), expected / 8, atol=1e-5)
    assert model.predict(X).shape == (120,) and model.target_offset_ is None


@pytest.mark.parametrize("kind", KINDS)
def test_importances_and_sizes(kind, table):
    X, y = table[0].copy(), y_of(kind, table)
    X[:, 2] = 7.0  # cannot divide rows
    model = made(kind).fit(X, y)
    importances = model.feature_importances_
    assert importances.shape == (4,) and importances[2] == 0.0 and importances[0] > 0.1
    np.testing.assert_allclose(importances.sum(), 1.0, rtol=1e-12)
    size = model.size_
    assert size.n_trees == 8 and size.n_rows == 120 and size.n_unsettled == 0
    assert size.n_nodes == 2 * size.n_leaves - 8  # each split has two children
    assert model.apply(X).max() < size.n_nodes
    assert made(kind, max_depth=3).fit(X, y).size_.depth <= 3
    alone = made(kind).fit(X, np.zeros(120, int))
    assert (alone.feature_importances_ == 0).all() and alone.size_.n_nodes == 8
    assert model._model.info.kind == kind_of(kind) and "importances" in model._model.tables


# ------------------------------------------------------------------ the law


PARAMETERS = [
    {},
    {"rows": "some", "trees_per_row": 3},
    {"rows": "poisson"},
    {"max_depth": 4, "min_samples_leaf": 3, "min_samples_split": 9},
    {"max_features": 1, "lazy": True},
    {"categories": [3], "max_features": "sqrt"},
    {"missing": True, "lazy": True, "categories": [3]},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_forgotten_rows_were_never_there(kind, parameters, table, rng):
    X, y = table[0].copy(), y_of(kind, table)
    if parameters.get("missing"):
        X[rng.uniform(size=X.shape) < 0.1] = np.nan
    model = made(kind, **parameters).fit(X, y, ids=range(120), owners=np.arange(120) % 30)
    before = model.digest()
    gone = np.r_[0:40:2, 7, 37, 67, 97]
    kept = np.setdiff1d(np.arange(120), gone)
    model.forget(ids=range(0, 40, 2), owners=7)
    same(model, made(kind, **parameters).fit(X[kept], y[kept], ids=kept), X)
    model.learn(X[gone], y[gone], ids=gone, owners=gone % 30)
    assert model.digest() == before
    model.update(X[:2] + 1, y[5:7], ids=[0, 1])
    changed, other = X.copy(), y.copy()
    changed[:2] += 1
    other[:2] = y[5:7]
    same(model, made(kind, **parameters).fit(changed, other, ids=range(120)), X)
    np.testing.assert_array_equal(model._model.y_[np.argsort(model.ids_)], other)
    copy = pickle.loads(pickle.dumps(model))
    same(copy, model, X)
    copy.forget(ids=[1])
    model.forget(ids=[1])
    same(copy, model, X)
    model.rekey(9)
    same(model, clone(model).set_params(random_state=9).fit(
        np.delete(changed, 1, axis=0), np.delete(other, 1), ids=np.delete(np.arange(120), 1)), X)


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_rows_may_leave(kind, table):
    X, y = table[0], y_of(kind, table)
    model = made(kind).fit(X, y, ids=range(120))
    before = model.digest()
    model.forget(ids=range(119))
    assert model.verify() and model.size_.n_nodes == 8
    np.testing.assert_allclose(model.predict(X), np.full(120, y[119]), atol=1e-5)
    model.forget(ids=[119])
    assert model.verify() and len(model.ids_) == 0
    with pytest.raises(ValueError, match="no row that has a"):
        model.predict(X)
    assert pickle.loads(pickle.dumps(model)).digest() == model.digest()
    model.learn(X, y, ids=range(120))
    assert model.digest() == before


def test_classes_come_and_go(table):
    X, y = table[0], TEXTS[table[1]]
    model = made(ForestClassifier).fit(X, y, ids=range(120))
    model.forget(ids=np.flatnonzero(y == "bee"))
    assert list(model.classes_) == ["ant", "zebra"] and model.predict_proba(X).shape == (120, 2)
    assert "bee" not in model._model._y.texts.values()
    model.learn(X[:1], ["cow"], ids=[500])
    assert list(model.classes_) == ["ant", "cow", "zebra"] and model.verify()
    with pytest.raises(ValueError, match="the classes of the model are texts"):
        model.learn(X[:1], [3], ids=[501])
    model.update(X[:1], ids=[500])  # its class stays
    assert model.predict_proba(X[:1]).shape == (1, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_weight_zero_is_absence_and_two_is_twice(kind, table, rng):
    X, y = table[0], y_of(kind, table)
    weights = rng.randint(0, 3, 120).astype(float)
    some = weights > 0
    model = made(kind).fit(X, y, sample_weight=weights, ids=range(120))
    fresh = made(kind).fit(X[some], y[some], weights[some], ids=np.flatnonzero(some))
    same(model, fresh, X)
    twice = np.repeat(np.arange(120), weights.astype(int))
    rows = made(kind).fit(X[twice], y[twice])
    np.testing.assert_allclose(rows.predict(X), model.predict(X), rtol=1e-9)
    model.learn(X[~some], y[~some], sample_weight=0.5, ids=np.flatnonzero(~some))
    assert model.verify()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_depends_on_order_or_threads(kind, table):
    X, y = table[0], y_of(kind, table)
    one = made(kind, n_threads=1).fit(X, y)
    order = np.argsort(X[:, 1])
    many = made(kind, n_threads=3).fit(X[order], y[order])
    same(one, many, X)
    assert made(kind, random_state=4).fit(X, y).digest() != one.digest()


@pytest.mark.parametrize("kind", KINDS)
def test_a_lazy_forest_is_grown_when_it_is_needed(kind, table):
    X, y = table[0], y_of(kind, table)
    lazy, eager = (made(kind, lazy=lazy).fit(X, y, ids=range(120)) for lazy in (True, False))
    for model in (lazy, eager):
        model.forget(ids=range(60))
    assert lazy.size_.n_unsettled > 0 == eager.size_.n_unsettled
    lazy.settle()
    assert lazy.size_ == eager.size_
    np.testing.assert_array_equal(lazy.apply(X), eager.apply(X))
    lazy.learn(X[:60], y[:60], ids=range(60))
    eager.learn(X[:60], y[:60], ids=range(60))
    np.testing.assert_array_equal(lazy.predict(X), eager.predict(X))
    eager.settle()  # has nothing to do
    assert eager.verify() and lazy.verify()


# ------------------------------------------------------------------ missing values, categories


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values(kind, table, rng):
    X, y = table[0].copy(), y_of(kind, table)
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    with pytest.raises(ValueError, match="X contains NaN. With missing=True, Forest.* takes missing"):
        made(kind).fit(X, y)
    model = made(kind, missing=True).fit(X, y)
    assert model.score(X, y) > 0.9 and model._model.takes_missing
    assert not made(kind).fit(table[0], y)._model.takes_missing
    np.testing.assert_array_equal(model._model.rows_, X.astype(np.float32))
    # Whether there is a value at all can tell the class.
    hole = np.where(np.arange(120) % 3 == 0, np.nan, 1.0).reshape(-1, 1)
    found = made(ForestClassifier, missing=True).fit(hole, np.isnan(hole[:, 0]))
    assert found.score(hole, np.isnan(hole[:, 0])) == 1.0
    with pytest.raises(ValueError, match="infinity"):
        made(kind, missing=True).fit(np.where(np.isnan(X), np.inf, X), y)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.full((1, 4), np.inf))
    with pytest.raises(ValueError, match="NaN"):
        made(kind).fit(table[0], y).predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.learn(X[:1], [np.nan])
    # All kinds of NaN are the same.
    other = X.astype(np.float32)
    bits = other.view(np.uint32)
    bits[np.isnan(other)] = 0xFFC12345
    again = made(kind, missing=True).fit(other, y)
    same(model, again, X)
    np.testing.assert_array_equal(model.ids_, again.ids_)
    assert kind(missing=True).set_params(missing=False)._takes_missing() is False


def test_categories_are_not_ordered(rng):
    code = rng.randint(0, 40, 400).astype(float)
    odd = code % 2 == 1
    X = np.column_stack([code, rng.standard_normal(400)])
    by_code = made(ForestClassifier, categories=[0], max_depth=6).fit(X, odd, ids=range(400))
    other = rng.permutation(40)[code.astype(int)] * 3.5  # any other codes will do
    renamed = made(ForestClassifier, categories=[0]).fit(np.column_stack([other, X[:, 1]]), odd)
    assert by_code.score(X, odd) > 0.9
    assert renamed.score(np.column_stack([other, X[:, 1]]), odd) == 1.0
    assert by_code.digest() != made(ForestClassifier, max_depth=6).fit(
        X, odd, ids=range(400)).digest()
    assert by_code.predict([[77.0, 0.0]]).shape == (1,)  # a category that no row has
    for same_thing in (0, [0, 0], np.array([0]), (0,)):
        again = made(ForestClassifier, categories=same_thing, max_depth=6)
        assert again.fit(X, odd, ids=range(400)).digest() == by_code.digest()


def test_categories_by_name(table, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y, _ = table
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "kind"])
    named = made(ForestClassifier, categories=["kind"]).fit(frame, y, ids=range(120))
    numbered = made(ForestClassifier, categories=[3]).fit(X, y, ids=range(120))
    assert named.digest() == numbered.digest()
    frame["kind"] = frame["kind"].astype("Int64")
    frame.loc[5, "kind"] = pandas.NA
    holes = made(ForestClassifier, categories="kind", missing=True).fit(frame, y)
    assert np.isnan(holes._model.rows_[5, 3]) and holes.verify()
    for wrong, message in [
        ("size", "no feature is called 'size'"),
        ([4], "there is no feature 4"),
        ([-1], "there is no feature -1"),
        ([True], "'categories' parameter of ForestClassifier"),
        (2.5, "'categories' parameter of ForestClassifier"),
        ([0.5], "'categories' parameter of ForestClassifier"),
    ]:
        with pytest.raises(ValueError, match=message):
            ForestClassifier(categories=wrong).fit(frame.fillna(0), y)
    with pytest.raises(ValueError, match="no feature is called 'kind'"):
        ForestClassifier(categories="kind").fit(X, y)


# ------------------------------------------------------------------ parameters


@pytest.mark.parametrize(
    "value, n_candidates",
    [("default", 0), (None, 0), (3, 3), (100, 100), (0.5, 4), (0.01, 1), (1.0, 9), ("sqrt", 3),
     ("log2", 3)],
)
def test_max_features(value, n_candidates, rng):
    X, y = rng.standard_normal((30, 9)), np.arange(30) % 2
    model = made(ForestClassifier, max_features=value).fit(X, y)
    assert model._model._params["n_candidates"] == n_candidates and model.verify()


def test_entropy_is_another_criterion(table):
    X, y, _ = table
    gini, entropy = (made(ForestClassifier, criterion=c).fit(X, y) for c in ("gini", "entropy"))
    assert gini.digest() != entropy.digest() and entropy.verify()
    assert entropy._model.info.parameters["criterion"] == "entropy"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name, value",
    [
        ("n_estimators", 0),
        ("n_estimators", 65536),
        ("max_features", 0),
        ("max_features", 0.0),
        ("max_features", 1.5),
        ("max_features", "auto"),
        ("max_features", True),
        ("max_depth", 0),
        ("min_samples_split", 1),
        ("min_samples_split", 0.5),
        ("min_samples_leaf", 0),
        ("rows", "bootstrap"),
        ("trees_per_row", 0),
        ("lazy", 1),
        ("missing", "yes"),
        ("n_threads", 0),
    ],
)
def test_wrong_parameters(kind, name, value, table):
    with pytest.raises(ValueError, match=f"{name!r} parameter of {kind.__name__}"):
        kind(**{name: value}).fit(table[0], y_of(kind, table))


def test_wrong_use(table, tmp_path):
    X, y, number = table
    with pytest.raises(ValueError, match="'criterion' parameter of ForestClassifier"):
        ForestClassifier(criterion="mse").fit(X, y)
    with pytest.raises(ValueError, match="one target"):
        ForestRegressor().fit(X, np.column_stack([number, number]))
    with pytest.warns(DataConversionWarning, match="column-vector"):
        column = made(ForestRegressor).fit(X, number.reshape(-1, 1), ids=range(120))
    same(column, made(ForestRegressor).fit(X, number, ids=range(120)), X)
    assert column.predict(X).shape == (120,)
    with pytest.raises(ValueError, match="bound"):
        made(ForestRegressor, bound=0.5).fit(X, number)
    for kind in KINDS:
        for ask in ("predict", "apply", "forget", "settle", "export"):
            with pytest.raises(AttributeError, match="not fitted yet"):
                getattr(kind(), ask)(*([X] if ask not in ("settle",) else []))
        with pytest.raises(ValueError, match="4 features as input"):
            made(kind).fit(X, y_of(kind, table)).apply(X[:, :2])
    with pytest.raises(ValueError, match="5 features|different numbers of features|4 features"):
        made(ForestClassifier).fit(X, y)._model.apply(np.ones((2, 5)))
    assert not hasattr(ForestRegressor(), "predict_proba")


def test_offsets_and_bounds(table):
    X, _, y = table
    plain = made(ForestRegressor).fit(X, y)
    far = made(ForestRegressor, offset="auto").fit(X + 1e9, y + 1e8)
    assert far.offset_ is not None and far.target_offset_ is not None
    assert abs(far.predict(X + 1e9) - 1e8 - plain.predict(X)).max() < 1.0
    assert far.verify() and pickle.loads(pickle.dumps(far)).digest() == far.digest()
    bound = made(ForestRegressor, bound=64.0).fit(X, y, ids=range(120))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bound.forget(ids=[int(abs(y).argmax())])
    assert bound.verify()


# ------------------------------------------------------------------ files and stores


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_exported_files_predict_the_same(kind, texts, table, tmp_path, build_dir):
    pandas = pytest.importorskip("pandas")
    X, y = table[0], y_of(kind, table)
    if texts and kind is ForestClassifier:
        y = TEXTS[y]
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"]) if texts else X
    model = made(kind, offset=[1.0, 0, 0, 0], missing=texts).fit(frame, y, ids=range(120))
    path = tmp_path / "out.model"
    model.export(path)
    predictor = efface.load_predictor(path)
    assert predictor.kind == kind_of(kind) and predictor.n_features == 4
    assert predictor.takes_missing is texts
    assert predictor.feature_names == (["a", "b", "c", "d"] if texts else None)
    np.testing.assert_array_equal(predictor.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(predictor.offset, model.offset_)
    if kind is ForestClassifier:
        np.testing.assert_array_equal(predictor.classes, model.classes_)
        np.testing.assert_array_equal(predictor.predict_proba(frame), model.predict_proba(frame))
    if texts:
        np.testing.assert_array_equal(
            predictor.predict(frame[["c", "b", "d", "a"]]), model.predict(frame)
        )
        assert predictor.predict(frame.replace(frame["a"][0], np.nan)).shape == (120,)
    else:
        with pytest.raises(ValueError, match="NaN"):
            predictor.predict(np.full((1, 4), np.nan))
    with pytest.raises(FileExistsError):
        model.export(path)
    before = path.read_bytes()
    model.forget(ids=range(60))
    model.export(str(path), replace=True)
    assert path.read_bytes() != before
    np.testing.assert_array_equal(
        efface.load_predictor(path).predict(frame), model.predict(frame)
    )
    with pytest.raises(OSError):
        model.export(tmp_path / "no" / "where")


def test_classifiers_in_a_store(tmp_path, table):
    X, y = table[0], TEXTS[table[1]]
    labels = [None if i in (3, 4) else text for i, text in enumerate(y)]
    with efface.create(tmp_path / "s.store", X, ids=range(120), labels=labels) as store:
        estimator = made(ForestClassifier, categories=[3])
        stored = store.fit("forest", estimator)
        assert stored.kind == "classification forest" and stored.n_features == 4
        store.fit("k", KMeans(3), columns=[0, 1])
        store.learn(X[:1] + 1, ids=[500], labels=["cow"])
        store.update(X[3:4], ids=[3], labels=["ant"])
        store.forget(ids=[0, 1])
        assert store.verify() and store.check() == []
        kept = np.r_[2, 3, 5:120]
        rows, classes = np.vstack([X[kept], X[:1] + 1]), [*y[kept], "cow"]
        classes[1] = "ant"
        fresh = estimator.fit(rows, classes, ids=[*kept, 500])
        model = store.load("forest")
        assert isinstance(model, efface.ForestClassesModel)
        np.testing.assert_array_equal(model.classes_, fresh.classes_)
        for one, other in zip(answers(model, X), answers(fresh, X)):
            np.testing.assert_array_equal(one, other)
        assert model.size_.n_rows == 118 and model.shape[0] == 119
        np.testing.assert_array_equal(store.predict("forest", X), fresh.predict(X))
        model.export(tmp_path / "copy.model")
        predictor = efface.load_predictor(tmp_path / "copy.model")
        np.testing.assert_array_equal(predictor.predict(X), fresh.predict(X))
        assert list(predictor.classes) == list(fresh.classes_)
        store.publish("forest", tmp_path / "out.model")
        published = efface.load_predictor(tmp_path / "out.model")
        np.testing.assert_array_equal(published.predict_proba(X),
                                      store.load("forest").predict_proba(X))
        assert published.predict_proba(X).shape == (120, 4)


def test_regressors_in_a_store(tmp_path, table):
    pandas = pytest.importorskip("pandas")
    X, _, y = table
    rows = pandas.DataFrame(
        np.column_stack([X[:, 0], y, X[:, 1:]]), columns=["a", "cost", "b", "c", "kind"]
    )
    with efface.create(tmp_path / "s.store", rows, ids=range(120)) as store:
        estimator = made(ForestRegressor, categories=["kind"], lazy=True)
        store.fit("m", estimator, targets="cost")
        store.fit("some", made(ForestRegressor), columns=["kind", "a"], targets="cost")
        store.forget(ids=[7, 8])
        assert store.verify() and store.check() == []
        kept = np.delete(np.arange(120), [7, 8])
        model = store.load("m")
        assert type(model) is efface.ForestModel and not hasattr(model, "classes_")
        fresh = made(ForestRegressor, categories=[3], lazy=True).fit(X[kept], y[kept], ids=kept)
        same(model, fresh, X)
        np.testing.assert_array_equal(
            store.predict("some", rows[["a", "kind"]]), store.predict("some", X[:, [3, 0]])
        )
        with pytest.raises(ValueError, match="one target"):
            store.fit("x", made(ForestRegressor), targets=["a", "cost"])
        with pytest.raises(ValueError, match="needs targets"):
            store.fit("x", made(ForestRegressor))
        with pytest.raises(ValueError, match="no feature is called 'cost'"):
            store.fit("x", made(ForestRegressor, categories="cost"), targets="cost")
        model.export(tmp_path / "out.model")
        predictor = efface.load_predictor(tmp_path / "out.model")
        assert predictor.feature_names == ["a", "b", "c", "kind"]
        np.testing.assert_array_equal(predictor.predict(X), model.predict(X))


def test_missing_values_in_a_store(tmp_path, table, rng):
    X, y, _ = table
    X = X.copy()
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        efface.create(tmp_path / "s.store", X)
    path = tmp_path / "s.store"
    with efface.create(path, X, ids=range(120), labels=y, missing=True) as store:
        store.fit("m", made(ForestClassifier, missing=True))
        with pytest.raises(ValueError):
            store.fit("x", made(ForestClassifier))
        with pytest.raises(ValueError):
            store.fit("x", KMeans(2))
        store.forget(ids=range(10))
        found = store.find(ids=[20])
        values = found.to_numpy(dtype=object)[:, :4] if hasattr(found, "iloc") else found.values
        np.testing.assert_array_equal(values.astype(np.float32), X[20:21].astype(np.float32))
    with efface.open(path) as store:
        store.learn(X[:5], ids=range(5), labels=y[:5])
        store.update(np.full((1, 4), np.nan), ids=[0])
        assert store.verify() and store.check() == []
        kept = np.r_[0:5, 10:120]
        X[0] = np.nan
        fresh = made(ForestClassifier, missing=True).fit(X[kept], y[kept], ids=kept)
        np.testing.assert_array_equal(store.predict("m", X), fresh.predict(X))
        model = store.load("m")
        model.learn(X[5:10], y[5:10], ids=range(5, 10))
        assert model.verify()
    with efface.create(tmp_path / "t.store", table[0]) as store:
        with pytest.raises(ValueError, match="NaN"):
            store.learn(X)


def test_rows_without_a_target_take_no_part(tmp_path, table):
    X, _, y = table
    rows = np.column_stack([y, X])
    rows[::5, 0] = np.nan
    with efface.create(tmp_path / "s.store", rows, ids=range(120), missing=True) as store:
        store.fit("m", made(ForestRegressor, missing=True), targets=0)
        kept = np.flatnonzero(np.arange(120) % 5)
        fresh = made(ForestRegressor, missing=True).fit(X[kept], y[kept], ids=kept)
        model = store.load("m")
        assert model.size_.n_rows == 96 and model.shape[0] == 120
        np.testing.assert_array_equal(model.predict(X), fresh.predict(X))
        store.update(np.column_stack([y, X])[:1], ids=[0])
        store.forget(ids=[5, 6])
        assert store.verify() and store.load("m").size_.n_rows == 96


def test_texts_as_categories():
    code = efface.text_category("red")
    assert code == efface.text_category("red") != efface.text_category("blue")
    assert np.float32(code) == code and 2.0**64 <= abs(code) < 2.0**96
    with pytest.raises(TypeError):
        efface.text_category(7)
    colours = np.array(["red", "blue", "green"] * 20)
    X = np.array([[efface.text_category(str(colour))] for colour in colours])
    model = efface.ForestClassifier(categories=[0], random_state=1).fit(X, colours == "red")
    assert model.score(X, colours == "red") == 1.0


@pytest.mark.parametrize("estimator", KINDS)
def test_a_forest_that_has_drawn_no_row_is_one(estimator):
    """Chance may leave all rows out of all trees: after forgetting, and so in a fit as well."""
    X, drawn = [[1.0], [2.0]], set()
    for seed in range(40):
        forest = estimator(1, rows="poisson", random_state=seed)
        model, fresh = (clone(forest).fit(X[:n], [0, 1][:n], ids=range(n)) for n in (2, 1))
        model.forget(ids=[1])
        assert model.encode() == fresh.encode()
        try:
            drawn.add(model.predict(X)[0] == fresh.predict(X)[0] == 0)
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error)):
                fresh.predict(X)
            drawn.add(None)
    assert drawn == {True, None}
