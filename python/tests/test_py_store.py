"""Stores from Python."""

import contextlib
import sqlite3
import threading

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
    names = [(m.name, m.kind, m.n_features, m.n_init) for m in store.models]
    assert names == [("all", "k-means", 4, 1), ("some", "k-means", 2, 1)]
    found = [(m.parameters["method"], m.parameters["k"]) for m in store.models]
    assert found == [("pyramid", 3), ("lloyd", 4)]
    assert all(m.parameters == store.load(m.name).info.parameters for m in store.models)
    assert all("seed" not in m.parameters for m in store.models)
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
    assert [change.kind for change in preview.models] == ["k-means"] * 2
    report = store.forget(owners=["p7", "p8"], ids=[0])
    assert report.n_forgotten == 61 and [c.name for c in report.models] == ["all", "some"]
    assert "61 rows forgotten" in repr(report) and "<table>" in report._repr_html_()
    assert store.commitment("all") == report.models[0].after != report.models[0].before
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
    store.learn(gaussian[:1] + 2, weights=[5], ids=[9000], owners=["p9"])
    assert store.forget(ids=9000).n_forgotten == 1
    before = store.digest("all"), store.digest("some")
    store.rekey("all", random_state=4)
    assert store.digest("all") != before[0] and store.digest("some") == before[1]
    store.rekey()
    assert store.digest("some") != before[1] and store.verify()


def test_new_ids(store, gaussian):
    """Rows without ids get random ones, in the order of the rows."""
    report = store.learn(gaussian[:3] + 1)
    assert len(set(report.new_ids.tolist())) == 3 and report.new_ids.min() > 1500
    for i, new in enumerate(report.new_ids):
        model = store.load("all")
        np.testing.assert_array_equal(model.rows_[model.ids_ == new], gaussian[i : i + 1] + 1)
    assert store.forget(ids=report.new_ids).n_forgotten == 3
    assert store.learn(gaussian[:1] + 1, ids=[5000]).new_ids is None


def test_update(store, gaussian):
    store.learn(gaussian[:1], ids=[5000], weights=[7], owners=["p7"])
    report = store.update(gaussian[:2] + 1, ids=[5000, 3])
    assert report.n_updated == 2 and report.n_learned == 0 and "2 rows updated" in repr(report)
    X, weights = np.concatenate([gaussian, gaussian[:1] + 1]), np.ones(1501, int)
    X[3], weights[-1] = gaussian[1] + 1, 7
    ids = [*range(1500), 5000]
    with efface.create(store._path + "2", X, ids=ids, weights=weights) as fresh:
        fresh.fit("all", KMeans(3, random_state=1))
        assert fresh.digest("all") == store.digest("all")  # the weight stayed
    assert store.verify() and store.check() == []
    assert store.preview(owners="p7").n_forgotten == 31  # so did the owner
    store.update(gaussian[:2], ids=[5000, 3], weights=[2, 2], owners=["p8", None])
    assert store.preview(owners="p7").n_forgotten == 30
    assert store.preview(owners="p8").n_forgotten == 31
    assert store.preview(owners="p3").n_forgotten == 30
    with pytest.raises(efface.NotFoundError, match="6000"):
        store.update(gaussian[:1], ids=[6000])
    with pytest.raises(ValueError, match="ids"):
        store.update(gaussian[:1], ids=None)


# ------------------------------------------------------------------ models that leave the store


@pytest.mark.parametrize("name", ["all", "some", "runs"])
def test_what_is_loaded_can_forget(store, gaussian, name):
    if name == "runs":
        store.fit("runs", KMeans(5, method="quantized", n_init=3, random_state=3))
    X = gaussian[:, [0, 2]] if name == "some" else gaussian
    model, before = store.load(name), store.digest(name)
    np.testing.assert_array_equal(model.ids_, range(1500))
    np.testing.assert_array_equal(model.rows_, X)
    assert model.digest() == before and model.verify()
    assert model.preview(ids=3).rows_forgotten in (0, 1)
    assert model.forget(ids=3).rows_forgotten == 1
    assert model.forget(owners=["p7", "p8"]).rows_forgotten == 60
    assert model.learn(X[:2] + 1, ids=["new", 2000], owners=["p7", None]).rows_learned == 2
    assert model.update(X[:1] + 2, ids=["new"], sample_weight=[4]).action
    assert model.verify() and model.forget(owners="p7").rows_forgotten == 1
    assert model.forget(ids=2000).rows_forgotten == 1
    left = [i for i in range(1500) if i % 50 not in (7, 8) and i != 3]
    np.testing.assert_array_equal(model.ids_, left)
    np.testing.assert_array_equal(model.labels_, model.predict(X[left]))
    assert store.digest(name) == before and store.n_rows == 1500  # the store knows nothing of it
    store.forget(ids=3, owners=["p7", "p8"])
    assert store.digest(name) == model.digest() and store.encode(name) == model.encode()
    with pytest.raises(efface.NotFoundError, match="'new'"):
        model.forget(ids=[5, "new"])
    assert model.learn(X[3:4]).rows_learned == 1 and model.verify()  # an id of its content
    report = model.rekey(random_state=8)
    assert report.action == "refitted" and model.verify() and model.digest() != store.digest(name)
    with pytest.raises(TypeError, match="cannot be pickled"):
        model.__reduce__()


def test_loaded_models_ask_as_estimators_do(store, gaussian):
    model = store.load("all")
    fresh = KMeans(3, random_state=1).fit(gaussian, ids=range(1500))
    np.testing.assert_array_equal(model.transform(gaussian), fresh.transform(gaussian))
    assert model.score(gaussian) == fresh.score(gaussian)
    assert model.silhouette() == fresh._model.silhouette()
    assert "3 clusters of 1,500 rows" in repr(model) and model.feature_names is None
    np.testing.assert_array_equal(store.predict("all", gaussian), fresh.labels_)
    assert model.owners_.count() == 1500


# ------------------------------------------------------------------ several runs


def test_runs(store, gaussian, method):
    parameters = {"method": method, "rate": 0.1, "n_init": 4, "random_state": 2}
    found = store.fit("runs", KMeans(6, **parameters))
    assert found == store.models[1] and (found.name, found.n_init) == ("runs", 4)
    assert [m.name for m in store.models] == ["all", "runs", "some"]
    assert store.info.n_models == 6
    fresh = KMeans(6, **parameters).fit(gaussian, ids=range(1500))
    assert store.digest("runs") == fresh.digest() == store.load("runs").digest()
    assert store.load("runs").inertia_ == fresh.inertia_
    best = set()
    for first in range(0, 1400, 200):
        report = store.forget(ids=range(first, first + 200))
        assert len(report.models) == 6
        left = list(range(first + 200, 1500))
        fresh = KMeans(6, **parameters).fit(gaussian[left], ids=left)
        assert store.digest("runs") == fresh.digest() and store.encode("runs") == fresh.encode()
        best.add(fresh._model.run)
    assert len(best) > 1, "another run should have become the best"
    assert store.verify("runs")
    store.rekey("runs", random_state=5)
    fresh = KMeans(6, **{**parameters, "random_state": 5}).fit(gaussian[left], ids=left)
    assert store.digest("runs") == fresh.digest()
    store.drop("runs")
    assert store.info.n_models == 2


def test_runs_are_all_there_or_none(store):
    store.fit("runs..2", KMeans(2))
    with pytest.raises(ValueError, match="'runs..2' exists already"):
        store.fit("runs", KMeans(2, n_init=3))
    store.drop("runs..2")
    with pytest.raises(ValueError):
        store.fit("x" * 61, KMeans(2, n_init=3))  # the names of the others are too long
    assert [m.name for m in store.models] == ["all", "some"]
    store.fit("runs", KMeans(2, n_init=2))
    assert store.verify("runs..2") and store.load("runs..2").digest() == store.digest("runs..2")


def test_fewer_rows_than_clusters(path, gaussian):
    with efface.create(path, gaussian[:2]) as store:
        with pytest.warns(UserWarning, match="n_samples=2 should be >= n_clusters=3") as caught:
            store.fit("all", KMeans(3, random_state=1))
        assert [warning.filename for warning in caught] == [__file__]
        assert store.load("all").cluster_centers_.shape == (2, 4) and store.verify()
        store.learn(gaussian[2:100], ids=range(2, 100))
        fresh = KMeans(3, random_state=1).fit(gaussian[:100], ids=range(100))
        assert store.digest("all") == fresh.digest()


def test_coarse_features_warn(path):
    X = np.column_stack([np.linspace(0, 1e9, 100), np.linspace(0, 1e-3, 100)])
    with efface.create(path, X) as store:
        with pytest.warns(UserWarning, match="features 1 vary so little"):
            store.fit("all", KMeans(2))


# ------------------------------------------------------------------ what is wrong


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
        lambda: store.fit("new", KMeans(2), columns=[1, 1]),
        lambda: store.fit("new", KMeans(2), columns=["a"]),
        lambda: store.forget(owners=2**64 - 1),
        lambda: store.learn(gaussian[:1], owners=[2**64 - 1]),
        lambda: store.find(),
        lambda: store.row_hash([1, 2]),
        lambda: store.row_hash(1, receipt_key=b"short"),
        lambda: efface.create(tmp_path / "new", gaussian, hash_key=b"short"),
        lambda: efface.create(tmp_path / "new", gaussian, receipt_key=b"short"),
        lambda: efface.create(tmp_path / "new", gaussian, secret_key=b"short"),
        lambda: efface.open(path, receipt_key=b"short"),
        lambda: efface.open(path, secret_key=b"short"),
        lambda: efface.receipt_root(["00"]),
        lambda: efface.verify_receipts([], b"short"),
    ):
        with pytest.raises(ValueError):
            call()
    for call in (
        lambda: store.fit("new", sklearn.cluster.KMeans(2)),
        lambda: store.fit(KMeans(2), "new"),
        lambda: store.learn(gaussian[:1], ["p7"]),  # are they ids, owners or weights?
        lambda: efface.create(tmp_path / "new", gaussian, range(1500)),
        lambda: efface.create(tmp_path / "new", gaussian, receipt_key="x" * 32),
        lambda: efface.open(path, secret_key="x" * 64),
        lambda: store.forget(owners=[None]),
        lambda: store.find(ids=[None]),
    ):
        with pytest.raises(TypeError):
            call()
    assert not (tmp_path / "new").exists()
    assert store.verify() and store.n_rows == 1500
    with efface.open(path, write=False) as reader:
        with pytest.raises(ValueError, match="reading only"):
            reader.forget(ids=1)


def test_another_process_is_writing(store, path):
    store.close()
    store = efface.open(path, wait=0.05)
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
    with pytest.raises(efface.CorruptError, match="damaged"):
        efface.open(path)


def test_damage_of_rows(store, path):
    """What the head of the file does not cover is found when it is touched."""
    store.close()
    with contextlib.closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE rows SET vals = zeroblob(16) WHERE id = 3")
    with efface.open(path) as damaged:
        assert damaged.check()
        for call in (lambda: damaged.load("all"), lambda: damaged.forget(ids=3)):
            with pytest.raises(efface.CorruptError, match="damaged"):
                call()
        assert damaged.n_rows == 1500


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


def test_threads_share_a_store(store, gaussian):
    errors = []

    def forget(first):
        try:
            for i in range(first, first + 5):
                store.forget(ids=i)
                assert store.learn(gaussian[i : i + 1]).n_learned == 1
        except Exception as error:
            errors.append(error)

    def ask():
        try:
            for _ in range(10):
                assert store.info.n_rows in range(1480, 1501) and store.load("some").verify()
                store.owners(), store.models, store.feature_names, repr(store)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=forget, args=(100 * i,)) for i in range(3)]
    threads += [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and store.n_rows == 1500 and store.verify() and store.check() == []


def test_compact(store, path):
    store.forget(ids=range(1000))
    before = store.info
    store.compact()
    assert store.info.file_bytes < before.file_bytes and before.free_bytes > 0
    assert store.info.file_bytes == path.stat().st_size and store.verify()


def test_open_and_create_are_there_twice(path, gaussian):
    with efface.Store.create(path, gaussian):
        pass
    with efface.Store.open(path, write=False) as store:
        assert store.n_rows == 1500
