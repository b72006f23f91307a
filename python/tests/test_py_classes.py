"""Classifiers that forget: against scikit-learn, against fresh fits, in stores; and classes."""

import pickle

import numpy as np
import pytest
from sklearn import discriminant_analysis, linear_model, naive_bayes

import efface
from efface import (
    GaussianNB,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    RidgeClassifier,
    _efface,
)

LDA, QDA = LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
KINDS = [RidgeClassifier(), GaussianNB(), LDA(), LDA(shrinkage=0.25), QDA(), QDA(reg_param=0.5)]
TEXTS = np.array(["zebra", "ant", "bee"])


def on_grid(values):
    return np.clip(np.round(values * 256) / 256, -15.9375, 15.9375)


@pytest.fixture
def table(rng):
    X = on_grid(rng.standard_normal((90, 3)) @ rng.standard_normal((3, 3)))
    return X, ((X[:, 0] > 0).astype(int) + (X[:, 1] + rng.standard_normal(90) > 0.5))


def answers(model, X):
    """All that a classifier says of rows."""
    names = ("predict", "predict_proba", "predict_log_proba", "decision_function")
    return [getattr(model, name)(X) for name in names if hasattr(model, name)]


def same(first, second, X):
    assert first.digest() == second.digest() and first.verify()
    np.testing.assert_array_equal(first.classes_, second.classes_)
    for one, other in zip(answers(first, X), answers(second, X)):
        np.testing.assert_array_equal(one, other)


class Quadratic:
    """Quadratic discriminants, in the open: scikit-learn divides by the rows less one."""

    def __init__(self, reg_param=0.0):
        self.reg_param = reg_param

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.parts = []
        for c in self.classes_:
            rows = X[y == c]
            cov = np.cov(rows.T, bias=True) * (1 - self.reg_param)
            cov += self.reg_param * np.eye(X.shape[1])
            self.parts.append((rows.mean(axis=0), cov, len(rows) / len(X)))
        return self

    def decisions(self, X):
        return np.column_stack(
            [
                np.log(prior)
                - 0.5 * np.linalg.slogdet(cov)[1]
                - 0.5 * np.einsum("ij,jk,ik->i", X - mean, np.linalg.inv(cov), X - mean)
                for mean, cov, prior in self.parts
            ]
        )

    def predict(self, X):
        return self.classes_[self.decisions(X).argmax(axis=1)]

    def decision_function(self, X):
        found = self.decisions(X)
        return found[:, 1] - found[:, 0] if len(self.classes_) == 2 else found

    def predict_proba(self, X):
        found = np.exp(self.decisions(X))
        return found / found.sum(axis=1, keepdims=True)


def twin(estimator):
    if isinstance(estimator, RidgeClassifier):
        return linear_model.RidgeClassifier()
    if isinstance(estimator, GaussianNB):
        return naive_bayes.GaussianNB()
    if isinstance(estimator, LDA):
        return discriminant_analysis.LinearDiscriminantAnalysis(
            solver="lsqr", shrinkage=estimator.shrinkage
        )
    return Quadratic(estimator.reg_param)


@pytest.mark.parametrize("estimator", KINDS, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_agrees_with_scikit_learn(estimator, n_classes, table):
    X, y = table
    y = TEXTS[np.minimum(y, n_classes - 1)]
    ours, theirs = estimator.fit(X, y), twin(estimator).fit(X, y)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if hasattr(ours, "predict_proba"):
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
        np.testing.assert_allclose(
            ours.predict_log_proba(X), np.log(ours.predict_proba(X)), atol=1e-6
        )
    if hasattr(ours, "decision_function"):
        found, expected = ours.decision_function(X), theirs.decision_function(X)
        assert found.shape == expected.shape
        if n_classes > 2 and isinstance(estimator, LDA):  # but for a term that all classes have
            found, expected = found - found[:, :1], expected - expected[:, :1]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-8)
    if hasattr(ours, "coef_"):
        n_rows = 1 if n_classes == 2 else n_classes
        assert ours.coef_.shape == (n_rows, 3) and ours.intercept_.shape == (n_rows,)
        if n_classes == 2:
            np.testing.assert_allclose(ours.coef_, theirs.coef_.reshape(1, -1), rtol=1e-9)
        linear = (X @ ours.coef_.T + ours.intercept_).reshape(ours.decision_function(X).shape)
        np.testing.assert_allclose(linear, ours.decision_function(X), rtol=1e-9, atol=1e-9)
    for name in ("theta_", "var_", "class_prior_", "class_count_", "means_", "priors_"):
        if hasattr(ours, name) and hasattr(theirs, name):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)
    assert ours.score(X, y) == (ours.predict(X) == y).mean()


@pytest.mark.parametrize("estimator", [GaussianNB, LDA, QDA])
def test_priors_are_in_the_order_of_classes(estimator, table):
    X, y = table[0], TEXTS[table[1]]
    priors = [0.7, 0.2, 0.1]
    model = estimator(priors=priors).fit(X, y)
    assert list(model.classes_) == ["ant", "bee", "zebra"]
    found = model.class_prior_ if estimator is GaussianNB else model.priors_
    np.testing.assert_array_equal(found, priors)
    numbers = estimator(priors=priors).fit(X, np.array([2, 0, 1])[table[1]])
    np.testing.assert_allclose(model.predict_proba(X), numbers.predict_proba(X), rtol=1e-12)
    for wrong, message in [
        ([0.5, 0.5], "Number of priors must match"),
        ([0.5, 0.2, 0.2], "sum of the priors should be 1"),
        ([1.5, -0.3, -0.2], "Priors must be non-negative"),
    ]:
        with pytest.raises(ValueError, match=message):
            estimator(priors=wrong).fit(X, y)


@pytest.mark.parametrize("estimator", KINDS, ids=repr)
@pytest.mark.parametrize("texts", [False, True])
def test_forgotten_rows_were_never_there(estimator, texts, table):
    X, y = table[0], TEXTS[table[1]] if texts else table[1]
    model = estimator.fit(X, y, ids=range(90))
    before = model.digest()
    last = model.classes_[2]
    gone = np.flatnonzero((y == last) | (np.arange(90) < 8))
    kept = np.setdiff1d(np.arange(90), gone)
    model.forget(ids=gone)
    fresh = pickle.loads(pickle.dumps(estimator)).fit(X[kept], y[kept], ids=kept)
    same(model, fresh, X)
    assert list(model.classes_) == sorted(set(y[kept])) and last not in model.classes_
    assert last not in model._model._y.texts.values()
    model.learn(X[gone], y[gone], ids=gone)
    assert model.digest() == before and model.classes_[2] == last and model.verify()
    assert model.ids_.tolist() == [*kept, *gone]
    np.testing.assert_array_equal(model._model.y_, y[[*kept, *gone]])
    copy = pickle.loads(pickle.dumps(model))
    same(copy, model, X)
    assert copy.ids_.tolist() == model.ids_.tolist()
    # The class of a row stays as it is, or becomes another.
    model.update(X[:1] + 1, ids=[0])
    assert model._model.y_[model.ids_ == 0] == y[0]
    model.update(X[:1] + 1, [last], ids=[0])
    assert model._model.y_[model.ids_ == 0] == last and model.verify()


@pytest.mark.parametrize("estimator", KINDS, ids=repr)
def test_weight_zero_is_absence(estimator, table, rng):
    X, y = table
    weights = rng.randint(0, 3, 90).astype(float)
    some = weights > 0
    model = estimator.fit(X, y, sample_weight=weights, ids=range(90))
    copy = pickle.loads(pickle.dumps(model))
    fresh = estimator.fit(X[some], y[some], sample_weight=weights[some], ids=np.flatnonzero(some))
    same(copy, fresh, X)
    assert len(copy.ids_) == some.sum()


def test_the_order_of_rows_does_not_matter(table):
    X, y = np.round(table[0]), TEXTS[table[1]]  # some rows are equal but for their class
    order = np.lexsort([y, X[:, 1], X[:, 0]])[::-1]
    first, second = GaussianNB().fit(X, y), GaussianNB().fit(X[order], y[order])
    assert first.digest() == second.digest()
    assert sorted(zip(first.ids_, y)) == sorted(zip(second.ids_, y[order]))


# ------------------------------------------------------------------ classes


@pytest.mark.parametrize(
    "classes",
    [
        np.array([0, 1]),
        np.array([-3, 7], dtype=np.int8),
        np.array([1.0, 2.0]),
        np.array([False, True]),
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([5, 2**40], dtype=object),
        np.array([2**62, 2**63 - 1], dtype=np.uint64),
    ],
    ids=repr,
)
def test_classes_come_back_as_they_were(classes, table):
    X, y = table[0], classes[np.minimum(table[1], 1)]
    model = GaussianNB().fit(X, y, ids=range(90))
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.classes_.dtype.kind == np.unique(list(classes)).dtype.kind or y.dtype == object
    assert set(model.predict(X)) == set(classes.tolist())
    assert type(model.predict(X)[0]) is type(model.classes_[0])
    model = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert (model.predict(X) == y).mean() > 0.6


def test_the_number_of_a_text_is_the_same_everywhere():
    assert _efface.text_label("ant") == _efface.text_label("ant") != _efface.text_label("bee")
    model = GaussianNB().fit([[1], [2], [3]], ["ant", "bee", "ant"])
    assert set(model._model._form()[2]) == {_efface.text_label("ant"), _efface.text_label("bee")}


@pytest.mark.parametrize(
    "y, message",
    [
        (None, "requires y to be passed"),
        ([1, 2], "inconsistent numbers of samples"),
        ([0.5, 1.5, 2.5], "Unknown label type: continuous"),
        ([1.0, np.nan, 2.0], "Input y contains NaN"),
        ([1.0, np.inf, 2.0], "Input y contains infinity"),
        (np.array(["a", 1, "b"], dtype=object), "Unknown label type"),
        (np.array([b"a", b"b", b"a"]), "Unknown label type"),
        (np.array([{1}, {2}, {3}]), "Unknown label type"),
        (np.ones((3, 2)), "1d array"),
        ([2**63, 1, 2], "too large"),
        ([-(2**63), 1, 2], "too large"),
    ],
    ids=str,
)
def test_what_is_no_class(y, message):
    with pytest.raises(ValueError, match=message):
        GaussianNB().fit([[1], [2], [3]], y)


def test_numbers_and_texts_are_not_mixed(table):
    X, y = table
    for first, second in [(y, TEXTS[y]), (TEXTS[y], y)]:
        model = GaussianNB().fit(X, first, ids=range(90))
        with pytest.raises(ValueError, match="the classes of the model are"):
            model.learn(X, second)
        assert model.verify()


def test_too_few_classes_and_rows(table):
    X, y = table
    for kind in KINDS:
        one = kind.fit(X, np.full(90, 7))  # it is always the one
        assert list(one.classes_) == [7] and (one.predict(X) == 7).all()
    with pytest.raises(ValueError, match="class 7 has only one row"):
        QDA().fit(X, [7, *np.zeros(89, int)])
    with pytest.raises(ValueError, match="class 'solo' has only one row"):
        QDA().fit(X, ["solo"] + 89 * ["other"])
    with pytest.raises(ValueError, match="n_samples=1"):
        QDA().fit(X[:1], [1])
    model = QDA().fit(X, y, ids=range(90))
    last = np.flatnonzero(y == 2)
    model.forget(ids=last[1:])  # a request is never refused
    assert list(model.classes_) == [0, 1, 2] and model.verify()
    with pytest.raises(ValueError, match="class 2 has only one row"):
        model.predict(X)
    model.forget(ids=last[:1])
    assert set(model.predict(X)) == {0, 1}
    model.forget(ids=model.ids_)
    assert len(model.classes_) == 0 and len(model.ids_) == 0
    model.learn(X, y, ids=range(90))
    assert model.score(X, y) > 0.6


def test_offsets(rng):
    X = 1e9 + np.vstack([rng.standard_normal((40, 2)), 3 + rng.standard_normal((40, 2))])
    y = np.repeat(["low", "high"], 40)
    for kind in (RidgeClassifier, GaussianNB, LDA, QDA):
        model = kind(offset="auto").fit(X, y)
        assert model.score(X, y) > 0.9, kind
    np.testing.assert_allclose(model.means_[1], X[:40].mean(axis=0), rtol=1e-12)


# ------------------------------------------------------------------ stores


def test_classifiers_in_a_store(tmp_path, table):
    X, y = table[0], TEXTS[table[1]]
    labels = [None if i in (3, 4) else text for i, text in enumerate(y)]
    with efface.create(tmp_path / "s.store", X, ids=range(90), labels=labels) as store:
        assert store.info.n_labels == 3
        store.fit("ridge", RidgeClassifier())
        store.fit("bayes", GaussianNB(var_smoothing=1e-6))
        store.fit("lda", LDA(shrinkage=0.1))
        store.fit("qda", QDA(), columns=[0, 2])
        store.learn(X[:1] + 1, ids=[500], labels=["cow"])
        store.update(X[3:4], ids=[3], labels=["ant"])
        store.forget(ids=[0, 1])
        assert store.verify() and store.check() == []
        kept = np.r_[2, 3, 5:90]
        rows, classes = np.vstack([X[kept], X[:1] + 1]), [*y[kept], "cow"]
        classes[1] = "ant"
        fresh = GaussianNB(var_smoothing=1e-6).fit(rows, classes, ids=[*kept, 500])
        model = store.load("bayes")
        assert isinstance(model, efface.BayesModel)
        assert list(model.classes_) == ["ant", "bee", "cow", "zebra"]
        np.testing.assert_array_equal(model.predict(X), fresh.predict(X))
        np.testing.assert_array_equal(model.predict_proba(X), fresh.predict_proba(X))
        assert set(store.predict("ridge", X)) <= set(model.classes_)
        assert model.learn(X[:2], ["dog", "dog"], ids=[600, 601]).rows_learned == 2
        assert "dog" in model.classes_ and model.verify()
        assert "cow" not in store.predict("lda", X[:5] * 0)
        store.forget(ids=[500])  # its class had no other row
        assert list(store.load("bayes").classes_) == sorted(TEXTS)
        assert store.load("qda").predict(X[:, [0, 2]]).shape == (90,)
        found = store.find(ids=[3])
        assert list(getattr(found, "labels", None) or found["label"]) == ["ant"]
        with pytest.raises(ValueError, match="leave them out"):
            store.fit("x", GaussianNB(priors=[0.5, 0.25, 0.25]))
        store.publish("lda", tmp_path / "out.model")
        predictor = efface.load_predictor(tmp_path / "out.model")
        np.testing.assert_array_equal(predictor.predict(X), store.predict("lda", X))
        assert list(predictor.classes) == sorted(TEXTS)
        np.testing.assert_array_equal(predictor.predict_proba(X),
                                      store.load("lda").predict_proba(X))
        assert predictor.decision_function(X).shape == (90, 3)


def test_a_store_does_not_mix_numbers_and_texts_as_classes(tmp_path, table):
    X, y = table
    for labels, others in ((y, y.astype(str)), (y.astype(str), y)):
        with efface.create(tmp_path / f"{y is labels}.store", X, labels=labels) as store:
            store.fit("m", LDA())
            for change in (store.learn, lambda X, labels: store.update(X, ids=[0, 1], labels=labels)):
                with pytest.raises(ValueError, match="the labels of the store are .*nothing was"):
                    change(X[:2], labels=others[:2])
            store.learn(X[:2], labels=[None, None])
            store.learn(X[:2], labels=labels[:2])
            assert len(store.load("m").classes_) == 3
            # Without rows, there is nothing that they could be mixed with.
            store.forget(ids=store.load("m").ids_)
            store.learn(X, labels=others)
            assert len(store.load("m").classes_) == 3


def test_numbers_as_classes_in_a_store(tmp_path, table):
    X, y = table
    with efface.create(tmp_path / "s.store", X, labels=y) as store:
        store.fit("m", LDA())
        assert store.load("m").classes_.tolist() == [0, 1, 2]
        assert store.predict("m", X).dtype == np.int64
    with efface.create(tmp_path / "t.store", X) as store:
        with pytest.raises(ValueError, match="the rows of the store have no labels"):
            store.fit("m", LDA())
    with pytest.raises(ValueError, match="there are 2 labels for 90 rows"):
        efface.create(tmp_path / "u.store", X, labels=[1, 2])


def test_models_have_the_attributes_of_their_kind(tmp_path, table):
    X, y = table
    with efface.create(tmp_path / "s.store", X, labels=y) as store:
        store.fit("bayes", efface.GaussianNB())
        store.fit("quadratic", efface.QuadraticDiscriminantAnalysis())
        store.fit("linear", LDA())
        bayes = store.load("bayes")
        assert (bayes.theta_ == efface.GaussianNB().fit(X, y).theta_).all()
        assert bayes.class_prior_.sum() == pytest.approx(1.0)
        assert not hasattr(bayes, "coef_") and not hasattr(store.load("quadratic"), "intercept_")
        assert store.load("linear").coef_.shape == (3, X.shape[1])


def test_directions_are_those_in_which_classes_differ_most():
    """Within classes rows have variance 1 along each direction, and directions do not correlate;
    a model that forgot rows has the directions of one that never saw them."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 240)
    X = (rng.normal(size=(240, 4)) + y[:, None] * [1.0, 0.3, 0.0, 2.0] + 10).astype(np.float32)
    model = efface.LinearDiscriminantAnalysis().fit(X, y, ids=range(240))
    turned = model.transform(X)
    within = sum(np.cov(turned[y == k].T, bias=True) * np.mean(y == k) for k in range(3))
    np.testing.assert_allclose(within, np.eye(2), atol=1e-6)
    means = np.array([turned[y == k].mean(axis=0) for k in range(3)])
    between = (means.T * np.bincount(y)) @ means
    np.testing.assert_allclose(between[0, 1], 0.0, atol=1e-3)
    shares = np.diag(between) / np.trace(between)
    np.testing.assert_allclose(model.explained_variance_ratio_, shares, rtol=1e-5)
    model.forget(range(0, 240, 7))
    stays = np.arange(240) % 7 != 0
    fresh = efface.LinearDiscriminantAnalysis(n_components=1).fit(X[stays], y[stays])
    assert (model.transform(X)[:, :1] == fresh.transform(X)).all()
    assert fresh.get_feature_names_out().shape == (1,)


def test_there_are_fewer_directions_than_classes(table):
    X, y = table
    with pytest.raises(ValueError, match="n_components=3 is too many"):
        LDA(n_components=3).fit(X, y)
