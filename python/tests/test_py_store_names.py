"""Stores of data frames: columns have names, and names decide."""

import re

import numpy as np
import pandas as pd
import pytest

import efface
from efface import KMeans

NAMES = ["age", "income", "visits", "height"]


@pytest.fixture
def frame(gaussian):
    return pd.DataFrame(gaussian, columns=NAMES)


@pytest.fixture
def store(tmp_path, frame):
    with efface.create(tmp_path / "people.store", frame) as store:
        yield store


@pytest.fixture
def shuffled(frame):
    return frame[["visits", "height", "age", "income"]]


def test_names_are_kept(store, frame):
    assert store.feature_names == NAMES
    store.fit("all", KMeans(3, random_state=1))
    store.close()
    with efface.open(store._path) as again:
        assert again.feature_names == NAMES
        model = again.load("all")
        assert model.feature_names == NAMES
        np.testing.assert_array_equal(model.predict(frame), model.labels_)


def test_columns_by_name_and_number(store, gaussian):
    store.fit("names", KMeans(3, random_state=1), columns=["visits", "age"])
    store.fit("numbers", KMeans(3, random_state=1), columns=[2, 0])
    store.fit("both", KMeans(3, random_state=1), columns=np.array(["visits", 0], dtype=object))
    store.fit("index", KMeans(3, random_state=1), columns=pd.Index(["visits", "age"]))
    fresh = KMeans(3, random_state=1).fit(gaussian[:, [2, 0]], ids=range(1500))
    for name in ("names", "numbers", "both", "index"):
        assert store.digest(name) == fresh.digest()
        assert store.columns(name) == ["visits", "age"] == store.load(name).feature_names
    store.fit("one", KMeans(3), columns="height")
    assert store.columns("one") == ["height"]
    for wrong, message in (
        (["age", "wealth"], "no feature is called 'wealth'"),
        (["age", "age"], "each once"),
        (["age", 0], "each once"),
        ([4], "the last is 3"),
        ([1.0], "names or whole numbers"),
        ([], "at least one"),
    ):
        with pytest.raises(ValueError, match=message):
            store.fit("wrong", KMeans(3), columns=wrong)


def test_learn_matches_names(store, frame, shuffled, gaussian, tmp_path):
    store.fit("all", KMeans(3, random_state=1))
    store.learn(shuffled[:5] + 1, ids=range(2000, 2005))
    store.learn(gaussian[5:10] + 1, ids=range(2005, 2010))  # arrays have positions only
    store.update(shuffled[10:12] + 1, ids=[10, 11])
    X = np.concatenate([gaussian, gaussian[:10] + 1])
    X[10:12] += 1
    fresh = KMeans(3, random_state=1).fit(X, ids=[*range(1500), *range(2000, 2010)])
    assert store.digest("all") == fresh.digest() and store.verify()


def test_predict_matches_names(store, frame, shuffled, gaussian):
    store.fit("all", KMeans(3, random_state=1))
    store.fit("some", KMeans(3, random_state=1), columns=["income", "age"])
    labels = store.load("all").labels_
    np.testing.assert_array_equal(store.predict("all", shuffled), labels)
    np.testing.assert_array_equal(store.predict("all", gaussian), labels)
    model = store.load("some")
    np.testing.assert_array_equal(model.predict(frame[["age", "income"]]), model.labels_)
    np.testing.assert_array_equal(model.predict(gaussian[:, [1, 0]]), model.labels_)
    two = frame[["age", "income"]]
    np.testing.assert_array_equal(model.transform(two), model.transform(gaussian[:, [1, 0]]))
    assert model.score(two) == model.score(gaussian[:, [1, 0]])
    model.forget(ids=range(10))
    model.learn(two[:10], ids=range(10))
    assert model.digest() == store.digest("some")
    model.update(two[:10], ids=range(10))
    assert model.digest() == store.digest("some")
    with pytest.raises(ValueError, match="does not have:\n- visits\n- height"):
        model.predict(frame)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda f: f.rename(columns={"age": "years"}), "- years\n.*missing in X:\n- age"),
        (lambda f: f[["age", "income", "visits"]], "missing in X:\n- height"),
        (lambda f: f.assign(more=1.0), "does not have:\n- more"),
        (lambda f: f.set_axis(["age", "age", "visits", "height"], axis=1), "same name: 'age'"),
    ],
    ids=["other", "missing", "unknown", "twice"],
)
def test_wrong_names(store, frame, change, message):
    store.fit("all", KMeans(3, random_state=1))
    before, wrong = store.digest("all"), change(frame[:5])
    model = store.load("all")
    for call in (
        lambda: store.learn(wrong, ids=range(2000, 2005)),
        lambda: store.update(wrong, ids=range(5)),
        lambda: store.predict("all", wrong),
        lambda: model.learn(wrong, ids=range(2000, 2005)),
        lambda: model.update(wrong, ids=range(5)),
        lambda: model.transform(wrong),
    ):
        with pytest.raises(ValueError) as caught:
            call()
        assert re.search(message, str(caught.value), flags=re.DOTALL)
    assert store.digest("all") == model.digest() == before and store.n_rows == 1500


def test_names_of_a_new_store(tmp_path, frame, gaussian):
    with pytest.raises(ValueError, match="same name: 'age'"):
        efface.create(tmp_path / "new", frame.set_axis(["age", "age", "b", "c"], axis=1))
    with pytest.raises(ValueError, match="feature 1 of X has an empty name"):
        efface.create(tmp_path / "new", frame.set_axis(["age", "", "b", "c"], axis=1))
    with pytest.raises(TypeError, match="string names"):
        efface.create(tmp_path / "new", frame.set_axis(["age", 1, 2, 3], axis=1))
    with pytest.raises(ValueError, match="zero character"):
        efface.create(tmp_path / "new", frame.set_axis(["a\0ge", "b", "c", "d"], axis=1))
    assert not (tmp_path / "new").exists()
    with efface.create(tmp_path / "new", pd.DataFrame(gaussian)) as store:
        assert store.feature_names is None  # numbers are no names
        with pytest.warns(UserWarning, match="the store has none") as caught:
            store.learn(frame[:1])
        assert [warning.filename for warning in caught] == [__file__]
        store.learn(pd.DataFrame(gaussian[:1]))
        with pytest.raises(ValueError, match="no feature is called 'age'"):
            store.fit("wrong", KMeans(3), columns=["age"])
    with efface.create(tmp_path / "odd", frame.set_axis(["ö", " ", "a b", '"'], axis=1)) as store:
        assert store.feature_names == ["ö", " ", "a b", '"']


def test_mixed_types(tmp_path, frame, rng):
    whole = pd.DataFrame(
        {
            "a": rng.randint(0, 100, 50),
            "b": rng.uniform(size=50),
            "c": rng.randint(0, 2, 50).astype(bool),
            "d": pd.array(rng.randint(0, 100, 50), dtype="Int64"),
        }
    )
    with efface.create(tmp_path / "mixed", whole[:40]) as store:
        store.fit("all", KMeans(3, random_state=1))
        store.learn(whole[["d", "c", "b", "a"]][40:], ids=range(40, 50))
        X = whole.astype(np.float64).to_numpy()
        fresh = KMeans(3, random_state=1).fit(X, ids=range(50))
        assert store.digest("all") == fresh.digest()
        broken = whole[["d", "c", "b", "a"]][:2].astype({"b": float})
        broken.iloc[0, 2] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            store.learn(broken)


def test_the_user_keeps_what_is_theirs(store, frame, shuffled):
    """Copies that are made on the way are overwritten; a frame, or an array in it, never is."""
    store.fit("all", KMeans(3, random_state=1))
    copies = frame.copy(), shuffled.copy()
    array = np.asfortranarray(frame.to_numpy())
    lists = frame[:5].to_numpy().tolist()
    same = array.copy(), [row[:] for row in lists]
    for X in (frame, shuffled, array, lists):
        store.predict("all", X)
        store.learn(X)
    pd.testing.assert_frame_equal(frame, copies[0])
    pd.testing.assert_frame_equal(shuffled, copies[1])
    np.testing.assert_array_equal(array, same[0])
    assert lists == same[1]
