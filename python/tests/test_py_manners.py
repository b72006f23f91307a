"""What users of scikit-learn and pandas expect: numbers of jobs, masks, texts of their own."""

import copy
import os
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import decomposition
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import Normalizer, StandardScaler

import efface
from efface import PCA, ForestClassifier, GaussianNB, KMeans, RidgeClassifier
from efface._parameters import thread_count


def test_n_jobs(gaussian, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(8))
    for n_jobs, n_threads, expected in [
        (None, None, 0),
        (-1, None, 0),
        (3, None, 3),
        (None, 4, 4),
        (-2, None, 7),
        (-8, None, 1),
        (-1024, None, 1),
    ]:
        assert thread_count({"n_jobs": n_jobs, "n_threads": n_threads}) == expected
    digests = {KMeans(3, random_state=1, n_jobs=n).fit(gaussian).digest() for n in (1, 2, -1, -2)}
    assert digests == {KMeans(3, random_state=1, n_threads=2).fit(gaussian).digest()}
    for wrong in (0, 1.5, True, "all", 10**6):
        with pytest.raises(ValueError, match="'n_jobs' parameter of KMeans must be"):
            KMeans(n_jobs=wrong).fit(gaussian)
    with pytest.raises(ValueError, match="n_threads is another name for n_jobs"):
        KMeans(n_jobs=1, n_threads=1).fit(gaussian)


# ------------------------------------------------------------------ masks

MASKS = {
    "array": np.array,
    "list": list,
    "tuple": tuple,
    "series": pd.Series,
    "series of another index": lambda mask: pd.Series(mask, index=range(len(mask), 0, -1)),
    "series of pandas": lambda mask: pd.Series(mask, dtype="boolean"),
    "masked array": np.ma.MaskedArray,
}


@pytest.mark.parametrize("kind", MASKS)
def test_forget_by_mask(kind, gaussian):
    mask = gaussian[:, 0] > 0.8
    model = KMeans(3, random_state=0).fit(gaussian)
    given = MASKS[kind](mask.tolist())
    assert model.preview(given).rows_forgotten == mask.sum()
    assert model.forget(given).rows_forgotten == mask.sum()
    assert model.digest() == KMeans(3, random_state=0).fit(gaussian[~mask]).digest()
    with pytest.raises(ValueError, match=r"1500 truth values, but there are \d+ rows"):
        model.forget(given)
    assert model.forget(np.zeros(len(model.ids_), bool)).rows_forgotten == 0


def test_a_mask_and_owners(gaussian):
    model = KMeans(3, random_state=0).fit(gaussian[:30], ids=range(30), owners=np.arange(30) % 5)
    assert model.forget(np.arange(30) < 2, owners=4).rows_forgotten == 8
    assert model.verify()


def test_masks_with_holes_are_refused(gaussian):
    model = KMeans(3).fit(gaussian[:4])
    with pytest.raises(ValueError, match="values are missing"):
        model.forget(pd.Series([True, None, False, True], dtype="boolean"))
    model = KMeans(3).fit(gaussian[:4], owners=["Ada", None, "Bob", "Ada"])
    assert model.forget(model.owners_ == "Ada").rows_forgotten == 2
    assert model.owners_.tolist() == [None, "Bob"]


def test_a_store_takes_no_mask(gaussian, tmp_path):
    with efface.create(tmp_path / "store", gaussian[:9]) as store:
        with pytest.raises(TypeError, match="truth values"):
            store.forget(np.ones(9, bool))


# ------------------------------------------------------------------ texts of owners


def test_owners_are_texts(gaussian):
    owners = ["Ada", None, "Bob", 5, "Ada", "Eve"]
    model = KMeans(2, random_state=0).fit(gaussian[:6], ids=range(6), owners=owners)
    assert model.owners_.tolist() == owners
    for same in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        same.forget(owners="Ada")
        assert same.owners_.tolist() == [None, "Bob", 5, "Eve"]
    assert model.owners_.tolist() == owners
    again = KMeans(2, random_state=0).fit(gaussian[:6], ids=range(6), owners=model.owners_)
    assert again.forget(owners=["Ada", "Eve"]).rows_forgotten == 3
    assert KMeans(2).fit(gaussian[:6], owners=[1, 2, 3] * 2).owners_.dtype == np.uint64


def test_a_text_goes_with_the_last_row_of_its_owner(gaussian):
    owners = ["Ada", None, "Bob", "Ada", "Eve", "Eve"]
    model = KMeans(2, random_state=0).fit(gaussian[:6], ids=range(6), owners=owners)
    texts = lambda: sorted(text for text, _ in model._model._owner_texts._known.values())
    model.forget([0])
    assert texts() == ["Ada", "Bob", "Eve"]
    model.forget([3])
    assert texts() == ["Bob", "Eve"]
    model.learn(gaussian[6:8], owners=["Ada", "Max"])
    assert texts() == ["Ada", "Bob", "Eve", "Max"]
    model.update(gaussian[:1], ids=[2])
    assert texts() == ["Ada", "Bob", "Eve", "Max"]
    model.update(gaussian[:2], ids=[2, 1], owners=["Ada", "Bob"])
    model.update(gaussian[:1], ids=[1], owners=["Zoe"])
    assert texts() == ["Ada", "Eve", "Max", "Zoe"]
    with pytest.raises(LookupError):
        model.forget(owners=["Ada", "nobody"])
    assert texts() == ["Ada", "Eve", "Max", "Zoe"]
    model.forget(owners=["Ada", "Max"])
    model.forget(np.arange(len(model.ids_)) == 0)
    assert texts() == sorted({o for o in model.owners_.tolist() if o})
    model.learn(gaussian[8:9], ids=[99], owners=[7])
    assert model.owners_.tolist()[-1] == 7


def test_texts_are_counted_again_after_a_change_that_was_cut_short(gaussian):
    model = KMeans(2, random_state=0).fit(gaussian[:4], ids=range(4), owners=list("abca"))
    known = model._model._owner_texts

    class Cut:
        def __getattr__(self, name):
            return getattr(inner, name)

        def forget(self, *arguments):
            inner.forget(*arguments)
            raise KeyboardInterrupt

    inner, model._model._models = model._model._models, Cut()
    with pytest.raises(KeyboardInterrupt):
        model.forget(owners="b")
    model._model._models = inner
    assert model.owners_.tolist() == ["a", "c", "a"]
    model.forget([0])
    assert sorted(text for text, _ in known._known.values()) == ["a", "c"]


# ------------------------------------------------------------------ results of others


def test_classes_are_counted(gaussian):
    classes = np.where(gaussian[:, 0] > 1, "high", "low")
    model = GaussianNB().fit(gaussian, classes)
    assert model.n_classes_ == 2 and model.classes_.tolist() == ["high", "low"]
    model.forget(classes == "low")
    assert model.n_classes_ == 1


@pytest.mark.parametrize("n_components", [None, 1, 3])
def test_densities_of_components(n_components, rng):
    X = rng.standard_normal((70, 5)) @ np.diag([4, 2, 1, 0.5, 0.25]) + [1, 2, 3, 4, 5]
    X = np.round(X * 256) / 256
    theirs = decomposition.PCA(n_components, svd_solver="full").fit(X)
    for whiten in (False, True):
        ours = PCA(n_components, whiten=whiten).fit(np.vstack([X, X[:3] + 9]), ids=range(73))
        ours.forget([70, 71, 72])
        close = {"rtol": 1e-8, "atol": 1e-8}
        np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), **close)
        np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), **close)
        np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), **close)
        assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-8)


@pytest.mark.parametrize("kind", [RidgeClassifier, lambda **named: ForestClassifier(5, random_state=0, **named)])
@pytest.mark.parametrize("texts", [False, True])
def test_class_weights(kind, texts, gaussian):
    X = gaussian[:60]
    y = np.where(X[:, 0] > 1, "high", "low") if texts else (X[:, 0] > 1).astype(int)
    high = "high" if texts else 1
    weights = np.where(y == high, 2.5, 1.0)
    model = kind(class_weight={high: 2.5}).fit(X, y, ids=range(60))
    assert model.digest() == kind().fit(X, y, weights, ids=range(60)).digest()
    model = kind(class_weight={high: 2.5}).fit(X[:40], y[:40], weights[:40], ids=range(40))
    model.set_params(class_weight=None)  # what was fitted has its own
    model = pickle.loads(pickle.dumps(model))
    model.learn(X[40:], y[40:], ids=range(40, 60))
    again = np.where(np.arange(60) < 40, weights * weights, weights)
    assert model.digest() == kind().fit(X, y, again, ids=range(60)).digest() and model.verify()
    model.update(X[:1], y[:1], ids=[0], sample_weight=[3.0])
    again[0] = 3 * weights[0]
    assert model.digest() == kind().fit(X, y, again, ids=range(60)).digest()
    for wrong in ({"y": y[:1]}, {"sample_weight": [1.0]}):
        with pytest.raises(ValueError, match="give both y and sample_weight"):
            model.update(X[:1], ids=[0], **wrong)
    model.update(X[1:2], ids=[0])  # class and weight stay
    with pytest.raises(ValueError, match="not of the kind"):
        kind(class_weight={7 if texts else "high": 2.0}).fit(X, y)
    for wrong in ("balanced", {high: -1.0}, {high: "much"}):
        with pytest.raises(ValueError, match="'class_weight' parameter of"):
            kind(class_weight=wrong).fit(X, y)


def test_a_store_has_no_class_weights(gaussian, tmp_path):
    with efface.create(tmp_path / "store", gaussian[:9], labels=[0, 1, 2] * 3) as store:
        with pytest.raises(ValueError, match="leave class_weight out"):
            store.fit("m", RidgeClassifier(class_weight={0: 2.0}))


# ------------------------------------------------------------------ pipelines


def test_audit_names_what_keeps_rows(gaussian):
    y = gaussian[:, 0] > 1
    columns = ColumnTransformer([
        ("scale", StandardScaler(), [0, 1]),
        ("leave", "passthrough", [2]),
        ("out", "drop", [3]),
    ])
    pipeline = make_pipeline(SimpleImputer(), columns, Normalizer(), GaussianNB()).fit(gaussian, y)
    found = efface.audit(pipeline)
    assert not found and [step.name for step in found.keeping] == [
        "simpleimputer",
        "columntransformer.scale",
    ]
    kept = {step.name: step.keeps for step in found.steps}
    assert "statistics_" in kept["simpleimputer"]
    assert {"mean_", "scale_"} <= set(kept["columntransformer.scale"])
    assert kept["normalizer"] == kept["gaussiannb"] == ()
    assert " steps keep what rows left in them" in repr(found) and "scale_" in repr(found)
    assert "statistics_" in found._repr_html_()
    neighbours = efface.audit(KNeighborsClassifier().fit(gaussian, y))
    assert "_fit_X" in neighbours.steps[0].keeps
    assert not efface.audit(make_union(StandardScaler(), PCA(2)).fit(gaussian))


def test_audit_of_what_forgets(gaussian):
    model = KMeans(3, scale="minmax").fit(gaussian)
    for good in (model, make_pipeline(Normalizer(), model), make_pipeline("passthrough", model)):
        assert efface.audit(good) and efface.audit(good).keeping == ()
    assert not hasattr(make_pipeline(StandardScaler(), model), "forget")
