"""Offsets of features, and warnings of what float32 loses and of tails."""

import pickle
import sqlite3
import warnings

import numpy as np
import pytest

import efface
from efface import KMeans

BASE = 1.7e9


@pytest.fixture
def far(rng):
    """Two groups, 20 apart, at 1.7e9; and a plain feature."""
    n = 400
    return np.column_stack([BASE + 20 * (np.arange(n) % 2) + rng.rand(n), 8 * rng.rand(n)])


def warned(call, *arguments, **named):
    """What a call gives, and the messages of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call(*arguments, **named)
    assert all(w.filename == __file__ for w in caught)
    return result, [str(w.message) for w in caught]


# ------------------------------------------------------------------ what is noticed


def test_collapse_warns(far):
    model, messages = warned(KMeans(2, random_state=1).fit, far)
    assert len(messages) == 2 and "features 1 vary so little" in messages[0]
    assert "feature 0: float32" in messages[1] and "128" in messages[1]
    assert "offset='auto'" in messages[1] and model.offset_ is None
    assert len(model.predict(far)) == 400
    # As whole numbers, and from a data frame, by name.
    assert "feature 0" in warned(KMeans(2).fit, far.astype(np.int64))[1][-1]
    assert "feature 0" in warned(KMeans(2).fit, far.tolist())[1][-1]
    assert "feature 0" in warned(KMeans(2).fit, far.astype(object))[1][-1]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(far, columns=["when", "b"])
    assert "feature 0 (when)" in warned(KMeans(2).fit, frame)[1][-1]
    messages = warned(KMeans(2).fit, far.astype(np.float32))[1]
    assert not any("float32" in message for message in messages)  # lost before we see it


def test_values_that_vanish_warn(far):
    far[:, 0] = far[:, 1]
    far[3, 1] = 1e-60
    _, messages = warned(KMeans(2).fit, far)
    assert len(messages) == 1 and "feature 1: 1 values other than 0" in messages[0]


def test_good_data_does_not_warn(gaussian):
    for scale in (None, "minmax", "standard"):
        assert warned(KMeans(3, scale=scale).fit, gaussian)[1] == []
        assert warned(KMeans(3, scale=scale).fit, gaussian.astype(np.float64) + 0.1)[1] == []


def test_many_features_warn_once_more(rng):
    X = BASE + rng.rand(200, 20)
    _, messages = warned(KMeans(2).fit, X)
    assert len([m for m in messages if "feature" in m]) >= 9 and "12 more features" in messages[-1]


def test_tails_warn(rng):
    X = rng.rand(2000, 3)
    X[17] = 1e5
    for scale in (None, "minmax", "standard"):
        _, messages = warned(KMeans(3, scale=scale).fit, X)
        assert len(messages) == 1 and messages[0].startswith("1 of 2000 rows carries")
        assert ("'standard'" in messages[0]) == (scale is None)
    wide = rng.rand(2000, 3) * [1, 1e4, 1]
    _, messages = warned(KMeans(3).fit, wide)
    assert any("feature 1 carries" in m for m in messages)
    assert warned(KMeans(3, scale="minmax").fit, wide)[1] == []
    assert warned(KMeans(3, scale="standard").fit, wide)[1] == []


# ------------------------------------------------------------------ offsets


def test_law(far, method):
    """A model with offsets is, byte for byte, that of the shifted rows; also as rows come and go."""
    offset = np.array([BASE - 3, 0.25])
    ids = range(len(far))
    shifted = (far - offset).astype(np.float32)
    a = KMeans(2, method=method, rate=0.1, random_state=1, offset=offset).fit(far, ids=ids)
    b = KMeans(2, method=method, rate=0.1, random_state=1).fit(shifted, ids=ids)
    assert a.encode() == b.encode() and (a.offset_ == offset).all()
    np.testing.assert_array_equal(a.cluster_centers_, b.cluster_centers_ + offset)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.predict(far[::-1]), b.predict(shifted[::-1]))
    np.testing.assert_array_equal(a.transform(np.asfortranarray(far)), b.transform(shifted))
    assert a.score(far) == b.score(shifted)
    assert a.score(far, sample_weight=2.0) == b.score(shifted, sample_weight=2.0)
    for model, rows in ((a, far), (b, shifted)):
        model.forget(ids=[1, 5])
        model.update(rows[1:2], ids=[7])
        model.learn(rows[5:6], ids=[1000])
    assert a.encode() == b.encode() and a.verify()
    np.testing.assert_array_equal(a._model.rows_, b._model.rows_ + offset)
    assert abs(a._model.rows_[:, 0] - BASE).max() < 22
    again = pickle.loads(pickle.dumps(a))
    assert again.encode() == a.encode() and (again.offset_ == offset).all()
    np.testing.assert_array_equal(again.cluster_centers_, a.cluster_centers_)
    again.learn(far[:1], ids=[2000])
    a.learn(far[:1], ids=[2000])
    assert again.encode() == a.encode()


def test_ids_are_made_of_shifted_rows(far):
    offset = [BASE, 0]
    shifted = (far - offset).astype(np.float32)
    weights = np.ones(len(far))
    weights[3] = 0
    a = KMeans(2, random_state=1, offset=offset).fit(far, sample_weight=weights)
    b = KMeans(2, random_state=1).fit(shifted, sample_weight=weights)
    np.testing.assert_array_equal(a.ids_, b.ids_)
    assert a.encode() == b.encode()


def test_auto(far):
    model, messages = warned(KMeans(2, random_state=1, offset="auto").fit, far)
    assert messages == [] and model.offset_[1] == 0 and model.offset_[0] % 32 == 0
    centers = sorted(model.cluster_centers_[:, 0])
    assert BASE < centers[0] < BASE + 1 and BASE + 20 < centers[1] < BASE + 21
    fixed = KMeans(2, random_state=1, offset=model.offset_).fit(far)
    assert fixed.encode() == model.encode()
    assert warned(KMeans(2, offset="auto").fit, far[:, 1:])[0].offset_ is None


def test_bounds_are_in_the_users_units(far):
    low, high = [BASE - 100, 0], [BASE + 100, 10]
    offset = np.array([BASE, 0])
    named = {"method": "lloyd", "random_state": 1, "scale": "minmax"}
    ids = range(len(far))
    a = KMeans(2, offset=offset, column_range=(low, high), **named).fit(far, ids=ids)
    shifted = (far - offset).astype(np.float32)
    b = KMeans(2, column_range=(low - offset, high - offset), **named).fit(shifted, ids=ids)
    assert a.encode() == b.encode()


@pytest.mark.parametrize("offset", [[1.0], [1.0, 2.0, 3.0], 5.0, "median", [np.nan, 0], [1e300, 0]])
def test_wrong_offsets(far, offset):
    with pytest.raises(ValueError, match="offset"):
        KMeans(2, offset=offset).fit(far)


def test_clone_and_parameters():
    sklearn_base = pytest.importorskip("sklearn.base")
    model = KMeans(2, offset=[1.0, 2.0])
    assert sklearn_base.clone(model).get_params()["offset"] == [1.0, 2.0]


# ------------------------------------------------------------------ stores


def first_value(found):
    """Of the first row of a DataFrame or of FoundRows."""
    return found.iloc[0, 0] if hasattr(found, "iloc") else found.values[0, 0]


def test_store(far, tmp_path):
    path = tmp_path / "far.store"
    store, messages = warned(efface.create, path, far, offset="auto")
    assert messages == []
    offset = store.offset
    ids = range(len(far))
    shifted = (far - offset).astype(np.float32)
    store.fit("a", KMeans(2, method="lloyd", random_state=1))
    store.fit("b", KMeans(2, method="lloyd", random_state=1), columns=[1])
    plain = KMeans(2, method="lloyd", random_state=1).fit(shifted, ids=ids)
    assert store.digest("a") == plain.digest()
    store.close()
    with efface.open(path) as store:
        assert (store.offset == offset).all() and store.check() == []
        model = store.load("a")
        assert (model.offset_ == offset).all() and store.load("b").offset_ is None
        np.testing.assert_array_equal(model.cluster_centers_, plain.cluster_centers_ + offset)
        np.testing.assert_array_equal(model.predict(far), plain.predict(shifted))
        assert abs(first_value(store.find(ids=[4])) - far[4, 0]) < 1e-5
        store.learn(far[:2], ids=[1000, 1001])
        store.update(far[:1], ids=[7])
        plain.learn(shifted[:2], ids=[1000, 1001])
        plain.update(shifted[:1], ids=[7])
        assert store.digest("a") == plain.digest() and store.verify()
        with pytest.raises(ValueError, match="create"):
            store.fit("c", KMeans(2, offset=[0, 0]))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE facts SET value = zeroblob(16) WHERE name = 'offsets'")
    db.close()
    with pytest.raises(efface.CorruptError):
        efface.open(path)


def test_store_warns(far, tmp_path):
    store, messages = warned(efface.create, tmp_path / "s", far)
    assert len(messages) == 1 and "feature 0" in messages[0] and store.offset is None
    wide = far * [0, 1e6]
    wide[:, 0] = far[:, 1]
    store.close()
    store = efface.create(tmp_path / "w", wide)
    _, messages = warned(store.fit, "a", KMeans(2))
    assert any("feature 1 carries" in m for m in messages)
    store.close()
