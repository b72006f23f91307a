"""Published models from Python."""

import hashlib
import subprocess

import numpy as np
import pytest

import efface
from efface import KMeans


@pytest.fixture
def store(tmp_path, gaussian):
    with efface.create(tmp_path / "people.store", gaussian, offset=[0.25, 0, 0, 1.5]) as store:
        store.fit("all", KMeans(3, scale="minmax", random_state=1))
        store.fit("some", KMeans(4, method="lloyd", random_state=2), columns=[0, 2])
        yield store


def test_labels_are_those_of_the_model(store, tmp_path, gaussian, rng, build_dir):
    X = np.asarray(gaussian, dtype=np.float64)[:200] + rng.standard_normal((200, 4)) * 3
    path = tmp_path / "out.model"
    report = store.publish("all", path)
    predictor = efface.load_predictor(path)
    model = store.load("all")
    np.testing.assert_array_equal(predictor.predict(X), model.predict(X))
    np.testing.assert_array_equal(predictor.table("centroids"), model.cluster_centers_)
    np.testing.assert_array_equal(predictor.offset, store.offset)
    assert (predictor.kind, predictor.n_features, predictor.predicts) == ("k-means", 4, "clusters")
    assert predictor.tables == model.tables == ("centroids",)
    with pytest.raises(efface.NotFoundError, match="centroids"):
        predictor.table("trees")
    assert predictor.feature_names is None and "k-means" in repr(predictor)
    assert report.published == hashlib.blake2b(path.read_bytes(), digest_size=32).hexdigest()
    assert "published" in repr(report)
    receipt = store.receipts[-1]
    assert receipt["kind"] == "publish" and receipt["published"]["digest"] == report.published
    assert receipt["models"][0]["after"] == store.commitment("all") == report.models[0].after
    assert store.verify() and store.check() == []
    np.save(tmp_path / "X.npy", X)
    said = subprocess.run([build_dir / "efface", "predict", path, tmp_path / "X.npy"],
                          check=True, capture_output=True, text=True).stdout
    assert [int(label) for label in said.split()] == predictor.predict(X).tolist()


def test_each_publication_is_new(store, tmp_path, gaussian):
    path = tmp_path / "out.model"
    commitments = {store.commitment("some")}
    for number in range(3):
        report = store.publish("some", str(path), replace=number > 0)
        commitments.add(report.models[0].after)
    assert len(commitments) == 4
    assert store.forget(ids=[3]).published is None
    X = gaussian[:, [0, 2]]
    before = efface.load_predictor(path).predict(X)
    assert store.publish("some", path, replace=True).receipt == 7
    assert before.shape == efface.load_predictor(path).predict(X).shape


def test_names(tmp_path, gaussian):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(gaussian, columns=["a", "b", "c", "d"])
    with efface.create(tmp_path / "s", X) as store:
        store.fit("m", KMeans(3, random_state=1))
        store.publish("m", tmp_path / "p")
        expected = store.predict("m", X)
    predictor = efface.load_predictor(tmp_path / "p")
    assert predictor.feature_names == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(predictor.predict(X[["c", "a", "d", "b"]]), expected)
    with pytest.raises(ValueError, match="missing in X"):
        predictor.predict(X[["a", "b", "c"]])


def test_refusals(store, tmp_path, gaussian):
    path = tmp_path / "out.model"
    path.write_bytes(b"mine")
    before = store.digest("all")
    with pytest.raises(FileExistsError):
        store.publish("all", path)
    with pytest.raises(ValueError, match="of the store itself"):
        store.publish("all", tmp_path / "people.store", replace=True)
    with pytest.raises(efface.NotFoundError):
        store.publish("none", tmp_path / "other")
    with pytest.raises(OSError, match="cannot be written"):
        store.publish("all", tmp_path / "no" / "where")
    store.fit("runs", KMeans(2, n_init=2, random_state=0))
    with pytest.raises(ValueError, match="several runs"):
        store.publish("runs", tmp_path / "other")
    assert path.read_bytes() == b"mine" and store.digest("all") == before
    with pytest.raises(ValueError, match="not a published model"):
        efface.load_predictor(path)
    with pytest.raises(FileNotFoundError):
        efface.load_predictor(tmp_path / "nothing")
    store.publish("all", path, replace=True)
    predictor = efface.load_predictor(path)
    with pytest.raises(ValueError, match="X has 2 features"):
        predictor.predict(gaussian[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        predictor.predict(np.full((1, 4), np.nan))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match="damaged"):
        efface.load_predictor(path)
