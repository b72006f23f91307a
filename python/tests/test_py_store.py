"""Stores from Python."""

import contextlib
import json
import sqlite3

import numpy as np
import pytest
import sklearn.cluster

import efface
from efface import KMeans


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.store"


@pytest.fixture
def store(path, gaussian):
    owners = [f"p{i % 50}" for i in range(len(gaussian))]
    with efface.create(path, gaussian, owners=owners) as store:
        store.fit("all", KMeans(3, random_state=1))
        store.fit("some", KMeans(4, method="lloyd", random_state=2), columns=[0, 2])
        yield store


def test_models(store, gaussian):
    names = [(m.name, m.method, m.n_clusters, m.n_features) for m in store.models]
    assert names == [("all", "pyramid", 3, 4), ("some", "lloyd", 4, 2)]
    model = store.load("some")
    fresh = KMeans(4, method="lloyd", random_state=2).fit(gaussian[:, [0, 2]], ids=range(1500))
    assert model.digest() == store.digest("some") == fresh.digest()
    assert model.encode() == store.encode("some")
    np.testing.assert_array_equal(model.cluster_centers_, fresh.cluster_centers_)
    np.testing.assert_array_equal(model.predict(gaussian[:, [0, 2]]), fresh.labels_)
    np.testing.assert_array_equal(np.sort(model.ids_), fresh.ids_)
    assert model.inertia_ == fresh.inertia_ and model.verify()
    store.drop("some")
    assert [m.name for m in store.models] == ["all"]
    with pytest.raises(efface.NotFoundError):
        store.load("some")
    with pytest.raises(efface.NotFoundError):
        store.digest("some")


def test_forget(store, path, gaussian):
    preview = store.preview(owners="p7")
    assert preview.n_forgotten == 30 and preview.receipt == 0 and store.n_rows == 1500
    report = store.forget(owners=["p7", "p8"], ids=[0])
    assert report.n_forgotten == 61 and [c.name for c in report.models] == ["all", "some"]
    assert "61 rows forgotten" in repr(report) and "<table>" in report._repr_html_()
    assert store.digest("all") == report.models[0].after != report.models[0].before
    left = [i for i in range(1500) if i % 50 not in (7, 8) and i != 0]
    fresh = KMeans(3, random_state=1).fit(gaussian[left], ids=left)
    assert store.digest("all") == fresh.digest() and store.verify() and store.check() == []
    with pytest.raises(efface.NotFoundError):
        store.forget(owners="p7")
    assert store.forget(owners="p7", missing="skip").n_missing == 1
    store.close()
    with efface.open(path) as again:
        assert again.n_rows == 1439 and again.verify("all")
        assert again.digest("all") == fresh.digest()


def test_learn_and_rekey(store, gaussian):
    report = store.learn(gaussian[:3] + 1, owners=["p7"] * 3)
    assert report.n_learned == 3 and store.n_rows == 1503
    store.learn(gaussian[:1] + 2, weights=[5], ids=["new"], owners=["p9"])
    assert store.forget(ids="new").n_forgotten == 1
    before = store.digest("all"), store.digest("some")
    store.rekey("all", random_state=4)
    assert store.digest("all") != before[0] and store.digest("some") == before[1]
    store.rekey()
    assert store.digest("some") != before[1] and store.verify()


def test_receipts(store):
    store.forget(ids=1)
    secret, public = efface.make_keys()
    store.sign_with(secret)
    store.forget(ids=2)
    assert [receipt["forgotten"] for receipt in store.receipts] == [1, 1]
    efface.verify_receipt(store.receipt(2), public)
    changed = json.dumps({**json.loads(store.receipt(2)), "forgotten": 5})
    for wrong, key in ((changed, public), (store.receipt(1), public), (store.receipt(2), secret)):
        with pytest.raises(ValueError):
            efface.verify_receipt(wrong, key)


def test_wrong_calls(store, path, tmp_path, gaussian):
    with pytest.raises(FileExistsError):
        efface.create(path, gaussian)
    with pytest.raises(FileNotFoundError):
        efface.open(tmp_path / "nowhere.store")
    (tmp_path / "text").write_text("no store " * 1000)
    with pytest.raises(ValueError):
        efface.open(tmp_path / "text")
    for call in (
        lambda: store.forget(),
        lambda: store.forget(ids=1, missing="maybe"),
        lambda: store.fit("all", KMeans(2)),
        lambda: store.fit("a/b", KMeans(2)),
        lambda: store.fit("new", KMeans(2, n_init=3)),
        lambda: store.fit("new", KMeans(2), columns=[9]),
        lambda: store.fit("new", KMeans(2), columns=[-1]),
        lambda: store.fit("new", KMeans(2), columns=[]),
        lambda: store.fit("new", KMeans(2), columns=[1.5]),
        lambda: store.fit("new", KMeans(2), columns=[True, False, True, True]),
        lambda: store.fit("new", KMeans(2, scale="minmax", column_range=([-99], [99]))),
        lambda: store.fit(
            "new", KMeans(2, scale="minmax", column_range=([-99] * 4, [99] * 4)), columns=[0, 1]
        ),
        lambda: store.forget(ids=1, missing=[]),
        lambda: store.learn(gaussian[:1], weights=[[1]]),
        lambda: store.learn(gaussian[:1], weights=["1"]),
        lambda: store.learn(gaussian[:1], weights=[2**64 - 1]),
        lambda: store.learn(gaussian[:1], ids=[3]),
        lambda: store.learn(gaussian[:1, :2]),
        lambda: store.learn(gaussian[:1], weights=[0.5]),
        lambda: store.sign_with(b"short"),
        lambda: efface.create(tmp_path / "new", gaussian, hash_key=b"short"),
    ):
        with pytest.raises(ValueError):
            call()
    for call in (
        lambda: store.fit("new", sklearn.cluster.KMeans(2)),
        lambda: store.fit(KMeans(2), "new"),
        lambda: store.learn(gaussian[:1], ["p7"]),  # are they ids, owners or weights?
        lambda: efface.create(tmp_path / "new", gaussian, range(1500)),
    ):
        with pytest.raises(TypeError):
            call()
    assert not (tmp_path / "new").exists()
    assert store.verify() and store.n_rows == 1500
    with efface.open(path, write=False) as reader:
        with pytest.raises(ValueError, match="read only"):
            reader.forget(ids=1)
    with pytest.raises(TypeError, match="cannot be pickled"):
        store.load("all").__reduce__()


def test_another_process_is_writing(store, path):
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(efface.BusyError):
            store.forget(ids=1)
    assert store.forget(ids=1).n_forgotten == 1


def test_damage(store, path):
    store.close()
    content = bytearray(path.read_bytes())
    for place in range(5000, len(content), 500):
        content[place] ^= 0xFF
    path.write_bytes(content)
    with efface.open(path) as damaged:
        assert damaged.check()
        for call in (damaged.verify, lambda: damaged.load("all"), lambda: damaged.forget(ids=3)):
            with pytest.raises(efface.CorruptError, match="damaged"):
                call()


def test_closed(store):
    store.close()
    store.close()
    assert "closed" in repr(store)
    for call in (lambda: store.n_rows, lambda: store.forget(ids=1), lambda: store.verify()):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_any_name_is_a_file(tmp_path, monkeypatch, gaussian):
    monkeypatch.chdir(tmp_path)
    with efface.create(":memory:", gaussian) as store:
        store.fit("all", KMeans(3))
    with efface.open(":memory:") as store:
        assert store.forget(ids=3).n_forgotten == 1
    assert (tmp_path / ":memory:").stat().st_size > gaussian.nbytes


def test_nobody_is_no_owner(tmp_path, gaussian):
    with efface.create(tmp_path / "plain.store", gaussian[:20]) as store:
        with pytest.raises(efface.NotFoundError):
            store.forget(owners=0)
        assert store.forget(owners=0, missing="skip").n_forgotten == 0
    with efface.create(tmp_path / "owned.store", gaussian[:20], owners=[0] * 5 + [3] * 15) as store:
        assert store.forget(owners=0).n_forgotten == 5
