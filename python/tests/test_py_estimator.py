"""The estimator: what scikit-learn's users know, and what they do not."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import efface
from efface import KMeans


def fit(X, method="pyramid", **fit_params):
    # With a rate, or pyramid would work as lloyd with so few rows.
    return KMeans(3, method=method, rate=0.1, random_state=5).fit(X, **fit_params)


# ------------------------------------------------------------------ results


def test_labels_are_predictions(gaussian, method):
    model = fit(gaussian, method)
    assert model.labels_.dtype == np.int32
    np.testing.assert_array_equal(model.labels_, model.predict(gaussian))
    assert len(model.cluster_centers_) == 3
    np.testing.assert_array_equal(model.fit_predict(gaussian), model.labels_)


def test_transform_agrees_with_predict_and_inertia(gaussian, method):
    for scale in (None, "minmax", "standard"):
        model = KMeans(3, method=method, rate=0.1, scale=scale, random_state=5).fit(gaussian)
        distances = model.transform(gaussian)
        np.testing.assert_array_equal(distances.argmin(axis=1), model.labels_)
        np.testing.assert_allclose((distances.min(axis=1) ** 2).sum(), model.inertia_)
        np.testing.assert_allclose(model.score(gaussian), -model.inertia_)
    model = fit(gaussian, method)
    expected = np.linalg.norm(gaussian[:, None, :] - model.cluster_centers_, axis=2)
    np.testing.assert_allclose(model.transform(gaussian), expected, atol=1e-5)
    far = gaussian * np.float32(1000)  # outside of the bounds of the fit
    expected = np.linalg.norm(far[:, None, :] - model.cluster_centers_, axis=2)
    np.testing.assert_allclose(model.transform(far), expected, rtol=1e-5)


def test_order_of_rows_does_not_matter(gaussian, method, rng):
    X = np.concatenate([gaussian, gaussian[:50], gaussian[:10]])
    order = rng.permutation(len(X))
    one, other = fit(X, method), fit(X[order], method)
    assert one.digest() == other.digest()
    np.testing.assert_array_equal(one.labels_[order], other.labels_)


def test_method_at_work(rng):
    X = rng.uniform(size=(3000, 2)).astype(np.float32)
    many = KMeans(1, random_state=3).fit(X)
    few = KMeans(8, random_state=3).fit(X)
    assert many.method_ == "pyramid" and few.method_ == "lloyd"
    assert few.digest() == KMeans(8, method="lloyd", random_state=3).fit(X).digest()
    assert KMeans(8, method="tree", random_state=3).fit(X).method_ == "tree"
    many.forget(ids=many.ids_[:2500])
    assert many.method_ == "lloyd" and many.verify()


def test_minus_zero_is_zero():
    one, other = np.array([[0.0], [1.0], [2.0]]), np.array([[-0.0], [1.0], [2.0]])
    assert fit(one).digest() == fit(other).digest()


def test_threads_do_not_matter(gaussian, method):
    digests = {
        KMeans(3, method=method, rate=0.1, random_state=5, n_threads=n).fit(gaussian).digest()
        for n in (1, 2, 5)
    }
    assert len(digests) == 1


def test_random_state(gaussian):
    same = [KMeans(3, random_state=np.random.RandomState(3)).fit(gaussian) for _ in range(2)]
    assert same[0].digest() == same[1].digest()
    secret = [KMeans(3).fit(gaussian) for _ in range(2)]
    assert secret[0].digest() != secret[1].digest()
    generator = KMeans(3, random_state=np.random.default_rng(3)).fit(gaussian)
    assert generator.verify()


# ------------------------------------------------------------------ arrays


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.astype(np.float64),
        lambda X: X.astype(np.int64),
        lambda X: X.astype(np.uint8),
        lambda X: X.astype(np.int16),
        lambda X: X.astype(">f4"),
        lambda X: X.astype(np.float16),
        lambda X: X.astype(object),
        lambda X: X.tolist(),
        lambda X: np.asfortranarray(X),
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: np.repeat(X, 3, axis=0)[::3],
        lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        lambda X: np.lib.stride_tricks.as_strided(X, writeable=False),
        lambda X: np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view("f4").reshape(X.shape),
        lambda X: memoryview(X),
        lambda X: pd.DataFrame(X, columns=list("abcd")),
    ],
    ids=lambda convert: "array",
)
def test_any_array(convert, rng):
    X = rng.randint(0, 200, size=(300, 4)).astype(np.float32)
    plain, other = fit(X), fit(convert(X))
    assert plain.digest() == other.digest()
    np.testing.assert_array_equal(other.predict(convert(X)), plain.labels_)
    np.testing.assert_array_equal(other.transform(convert(X)), plain.transform(X))


def test_results_are_not_views_of_the_input(gaussian):
    X = gaussian.copy()
    model = fit(X)
    digest = model.digest()
    X[:] = 0
    assert model.verify() and model.digest() == digest


def test_broadcast_rows():
    X = np.broadcast_to(np.float32([1, 2]), (10, 2))
    assert KMeans(2).fit(X).verify()


# ------------------------------------------------------------------ weights


def test_weights(gaussian, method, rng):
    weights = rng.randint(0, 4, size=len(gaussian)).astype(float)
    model = fit(gaussian, method, sample_weight=weights)
    present = weights > 0
    other = fit(gaussian[present], method, sample_weight=weights[present])
    assert model.digest() == other.digest()
    np.testing.assert_array_equal(model.labels_, model.predict(gaussian))
    assert len(model.ids_) == len(gaussian)
    model.preview(ids=model.ids_[present][:3])
    for same in (model, copy.deepcopy(model)):
        np.testing.assert_array_equal(same.labels_, model.predict(gaussian))
        assert len(same.ids_) == len(gaussian)
    np.testing.assert_allclose(model.inertia_, -model.score(gaussian, sample_weight=weights))
    model.forget(ids=model.ids_[present][:3])
    assert model.verify()
    assert len(model.labels_) == len(model.ids_) == present.sum() - 3


def test_no_weights_are_weights_of_one(gaussian, method):
    one, other = fit(gaussian, method), fit(gaussian, method, sample_weight=1.0)
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    np.testing.assert_array_equal(one.ids_, other.ids_)
    np.testing.assert_allclose(one.inertia_, other.inertia_)


def test_equal_rows_of_different_weight_in_any_order():
    X = np.repeat(np.arange(4.0), 5)[:, None]
    weights = np.tile([1, 2, 3, 2, 1], 4)
    one = fit(X, sample_weight=weights)
    other = fit(X[::-1], sample_weight=weights[::-1])
    assert one.digest() == other.digest()


def test_learning_with_weights(gaussian):
    model = fit(gaussian[:100], sample_weight=2.0)
    model.learn(gaussian[100:110])
    model.learn(gaussian[110:120], sample_weight=np.arange(10) / 4)
    weights = np.concatenate([np.full(100, 2.0), np.ones(10), np.arange(10) / 4])
    assert model.digest() == fit(gaussian[:120], sample_weight=weights).digest()
    with pytest.raises(ValueError, match="fitted without weights"):
        fit(gaussian).learn(gaussian[:1] + 1, sample_weight=2.0)


def test_tiny_weights_warn(gaussian):
    with pytest.warns(UserWarning, match="multiply all weights"):
        fit(gaussian, sample_weight=1e-5)


# ------------------------------------------------------------------ forgetting


def test_forget_is_a_fit_without(gaussian, method):
    ids = np.arange(len(gaussian))
    model = fit(gaussian, method, ids=ids)
    report = model.forget(ids=[3, 700, 1400])
    assert report.rows_forgotten == 3
    assert report.action in ("adjusted", "repaired", "refitted")
    left = np.delete(ids, [3, 700, 1400])
    assert model.digest() == fit(gaussian[left], method, ids=left).digest()
    assert model.verify()
    np.testing.assert_array_equal(model.ids_, left)
    np.testing.assert_array_equal(model.labels_, model.predict(gaussian[left]))


def test_derived_ids(gaussian):
    model = fit(gaussian)
    model.forget(ids=model.ids_[:5])
    assert model.digest() == fit(gaussian[5:]).digest()
    model.learn(gaussian[:5])
    assert model.digest() == fit(gaussian).digest()


@pytest.mark.parametrize(
    "ids",
    [7, np.int64(7), "seven", ["seven", "8"], (7, 8), {7, 8}, np.array([7, 8], np.uint8)],
    ids=repr,
)
def test_kinds_of_ids(gaussian, ids):
    all_ids = list(range(len(gaussian) - 2)) + ["seven", "8"]
    model = fit(gaussian, ids=all_ids)
    n_ids = 1 if np.ndim(ids) == 0 and not isinstance(ids, set) else 2
    assert model.forget(ids).rows_forgotten == n_ids
    assert model.verify()


def test_pandas_ids_and_owners(gaussian):
    frame = pd.DataFrame(gaussian, columns=list("abcd"))
    people = pd.Series([f"p{i % 10}" for i in range(len(frame))])
    model = fit(frame, ids=frame.index, owners=people)
    assert list(model.feature_names_in_) == list("abcd")
    assert model.forget(owners="p3").rows_forgotten == 150
    assert model.forget(ids=pd.Series([0, 1]), owners=["p4", "p0"]).rows_forgotten == 301
    assert model.verify()
    with pytest.raises(efface.NotFoundError, match="has no rows"):
        model.forget(owners=["p5", "p3"])
    assert model.forget(owners=["p5", "p3"], missing="skip").rows_forgotten == 150


NOBODY = [None, float("nan"), np.float32("nan"), pd.NA, np.ma.masked]


@pytest.mark.parametrize("nobody", NOBODY, ids=repr)
def test_a_row_has_an_owner_or_none(gaussian, method, nobody):
    """0 is a person; nobody is not."""
    owners = [0, 1, nobody, "Ada", nobody] * 10
    model = fit(gaussian[:50], method, ids=range(50), owners=owners)
    assert model.owners_.tolist() == [0, 1, None, "Ada", None] * 10
    assert model.owners_.filled()[2] == 2**64 - 1
    assert model.forget(owners=[0, "Ada"]).rows_forgotten == 20
    assert model.owners_.tolist() == [1, None, None] * 10 and model.verify()
    with pytest.raises(efface.NotFoundError, match="the owner 0 has no rows"):
        model.forget(owners=[1, 0])
    assert model.owners_.dtype == np.uint64 and model.owners_.filled().max() == 2**64 - 1
    with pytest.raises(ValueError, match="the owner None"):
        model.forget(owners=model.owners_.filled())
    model.update(gaussian[:2], ids=[1, 2], owners=[nobody, 5])  # an owner that is not given stays
    assert model.owners_.tolist() == [1, 5, None] + [1, None, None] * 9
    model.learn(gaussian[50:53], ids=[50, 51, 52], owners=[nobody, 7, 0])
    model.learn(gaussian[53:54], ids=[53])
    assert model.owners_.tolist()[-4:] == [None, 7, 0, None]
    other = pickle.loads(pickle.dumps(model))
    assert other.owners_.tolist() == model.owners_.tolist() == copy.deepcopy(model).owners_.tolist()
    assert other.forget(owners=[0, 1, 7]).rows_forgotten == 12 and other.verify()


@pytest.mark.parametrize(
    "convert",
    [
        lambda owners: np.array(owners, float),
        lambda owners: pd.Series(owners),
        lambda owners: pd.Series(owners, dtype="Int64"),
        lambda owners: np.ma.masked_invalid(np.array(owners, float)),
        lambda owners: np.ma.MaskedArray([5, 0, 0, 3], mask=[False, False, True, False]),
        lambda owners: pd.Series([5, 0, 9, 3]).where([True, True, False, True]),
        tuple,
    ],
    ids=lambda convert: "owners",
)
def test_owners_of_any_column(gaussian, convert):
    model = KMeans(2).fit(gaussian[:4], ids=range(4), owners=convert([5, 0, None, 3]))
    assert model.owners_.tolist() == [5, 0, None, 3]
    again = KMeans(2).fit(gaussian[:4], ids=range(4), owners=model.owners_)
    assert again.owners_.tolist() == [5, 0, None, 3]
    assert KMeans(2).fit(gaussian[:4]).owners_.tolist() == [None] * 4


def test_owners_of_rows_without_weight(gaussian):
    owners = np.ma.MaskedArray([1, 2, 3, 4], mask=[True, False, False, False])
    model = KMeans(2).fit(gaussian[:4], owners=owners, sample_weight=[1, 0, 1, 1])
    assert model.owners_.tolist() == [None, 3, 4]
    model.learn(gaussian[:2], owners=[None, 9], sample_weight=[2, 0])
    assert model.owners_.tolist() == [None, 3, 4, None] and model.verify()


def test_learning_a_row_that_is_there_beside_one_of_no_weight(gaussian):
    """The row gets another id than its equal, whether or not others are absent."""
    model = KMeans(2, random_state=0).fit(gaussian[:10], sample_weight=1.0)
    model.learn(gaussian[:2], sample_weight=[1, 0])
    assert len(model.ids_) == 11 and model.verify()


@pytest.mark.parametrize("n_rows", [1, 2])
def test_fewer_rows_than_clusters(gaussian, method, n_rows):
    with pytest.warns(UserWarning, match=f"n_samples={n_rows} should be >= n_clusters=3") as caught:
        model = fit(gaussian[:n_rows], method, ids=range(n_rows))
    assert [warning.filename for warning in caught] == [__file__]
    assert model.cluster_centers_.shape == (n_rows, 4) and model.verify()
    assert sorted(model.labels_) == list(range(n_rows))
    model.learn(gaussian[n_rows:100], ids=range(n_rows, 100))
    assert model.digest() == fit(gaussian[:100], method, ids=range(100)).digest()
    model.forget(ids=range(n_rows, 100))
    with pytest.warns(UserWarning):
        assert model.digest() == fit(gaussian[:n_rows], method, ids=range(n_rows)).digest()


def test_learn_update_preview_rekey(gaussian, method):
    model = fit(gaussian[:1000], method, ids=range(1000))
    digest = model.digest()
    preview = model.preview(ids=[1, 2])
    assert model.digest() == digest and preview.rows_forgotten in (0, 2)
    assert "will be" in repr(preview) and "will " in preview.reason
    assert model.learn(gaussian[1000:], ids=range(1000, 1500)).rows_learned == 500
    assert model.digest() == fit(gaussian, method, ids=range(1500)).digest()
    model.update(gaussian[:2] + 1, ids=[4, 9])
    X = gaussian.copy()
    X[[4, 9]] = gaussian[:2] + 1
    assert model.digest() == fit(X, method, ids=range(1500)).digest()
    np.testing.assert_array_equal(model.ids_, range(1500))
    report = model.rekey(random_state=6)
    assert report.action == "refitted" and model.verify()
    other = KMeans(3, method=method, rate=0.1, random_state=6).fit(X, ids=range(1500))
    assert model.digest() == other.digest()


def test_forget_everything(gaussian, method):
    model = fit(gaussian[:10], method, ids=range(10))
    model.forget(ids=range(10))
    assert model.verify() and model.cluster_centers_.shape == (0, 4) and len(model.labels_) == 0
    with pytest.raises(ValueError, match="no centroids"):
        model.predict(gaussian)
    model.learn(gaussian[:10], ids=range(10))
    assert model.digest() == fit(gaussian[:10], method, ids=range(10)).digest()


def test_several_runs(gaussian, method):
    model = KMeans(6, method=method, rate=0.1, n_init=4, random_state=2)
    model.fit(gaussian, ids=range(1500))
    single = KMeans(6, method=method, rate=0.1, random_state=2).fit(gaussian, ids=range(1500))
    assert model.inertia_ <= single.inertia_
    assert model._model._models.digest(0).hex() == single.digest()
    for first in range(0, 1400, 100):
        model.forget(ids=range(first, first + 100))
    assert model.verify()
    fresh = KMeans(6, method=method, rate=0.1, n_init=4, random_state=2)
    fresh.fit(gaussian[1400:], ids=range(1400, 1500))
    assert model.digest() == fresh.digest() and model.inertia_ == fresh.inertia_
    model.rekey(random_state=3)
    assert model.verify()


# ------------------------------------------------------------------ manners


def test_pickle(gaussian, method):
    model = KMeans(3, method=method, rate=0.1, n_init=2, random_state=5)
    model.fit(gaussian, ids=range(1500), owners=np.arange(1500) % 7, sample_weight=0.5)
    model.forget(ids=range(10, 50))
    other = pickle.loads(pickle.dumps(model))
    assert other.digest() == model.digest() == copy.deepcopy(model).digest()
    np.testing.assert_array_equal(other.labels_, model.labels_)
    assert other.inertia_ == model.inertia_
    for one in (model, other):
        one.forget(owners=3)
        one.learn(gaussian[:5] + 1, ids=range(2000, 2005), owners=[1] * 5)
    assert other.verify() and other.digest() == model.digest()
    np.testing.assert_array_equal(other.ids_, model.ids_)


def test_clone_and_params(gaussian):
    model = KMeans(4, method="tree", random_state=1).fit(gaussian)
    other = clone(model)
    assert other.get_params() == model.get_params() and not hasattr(other, "labels_")
    assert "method='tree'" in repr(other)
    assert other.set_params(n_clusters=2).fit(gaussian).cluster_centers_.shape == (2, 4)


def test_pipeline_and_grid_search(gaussian):
    pipeline = make_pipeline(StandardScaler(), KMeans(3, random_state=0))
    pipeline.fit(gaussian, kmeans__ids=range(1500))
    assert pipeline.transform(gaussian).shape == (1500, 3)
    pipeline["kmeans"].forget(ids=[1, 2])
    assert pipeline["kmeans"].verify()
    search = GridSearchCV(pipeline, {"kmeans__n_clusters": [1, 2, 3]}, cv=3)
    search.fit(gaussian)
    assert search.best_params_["kmeans__n_clusters"] == 3
    frame = pd.DataFrame(gaussian, columns=list("abcd"))
    wide = KMeans(3).set_output(transform="pandas").fit(frame).transform(frame)
    assert list(wide.columns) == ["kmeans0", "kmeans1", "kmeans2"]


def test_coarse_features_warn():
    X = np.column_stack([np.linspace(0, 1e9, 100), np.linspace(0, 1e-3, 100)])
    with pytest.warns(UserWarning, match="features 1 vary so little"):
        KMeans(2).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KMeans(2, scale="minmax").fit(X)


def test_reports_print_well(gaussian):
    model = fit(gaussian, ids=range(1500))
    report = model.forget(ids=[1])
    assert "1 row forgotten" in repr(report) and "<table>" in report._repr_html_()
    assert "byte for byte" in repr(model.verify()) and "<table>" in model.verify()._repr_html_()
    wrong = efface.Difference(False, "sum", "level 1, cluster 2, column 3")
    assert not wrong and "DIFFERS from a model fitted now: sum, level 1, cluster 2" in repr(wrong)
    assert repr(efface.Difference(False, "method", "")).endswith("now: method>")


def test_reports_say_what_happened(gaussian):
    model = fit(gaussian, "lloyd", ids=range(1500))
    reports = [model.forget(ids=i) for i in range(100)]
    by_action = {report.action: report for report in reports}
    assert set(by_action) <= {"adjusted", "repaired", "refitted"} and "repaired" in by_action
    repaired = by_action["repaired"]
    assert repaired.where.startswith("from iteration") and repaired.where in repr(repaired)
    assert all(report.reason and report.reason == report.reason.strip() for report in reports)
    for report in reports:
        assert report.action in repr(report) and report.reason in repr(report)


def test_metrics(gaussian):
    from sklearn import metrics

    model = fit(gaussian)
    labels = np.repeat([0, 1, 2], 500)
    pair = labels, model.labels_
    assert np.isclose(efface.metrics.adjusted_rand_score(*pair), metrics.adjusted_rand_score(*pair))
    assert np.isclose(
        efface.metrics.normalized_mutual_info_score(*pair),
        metrics.normalized_mutual_info_score(*pair),
    )
    expected = metrics.silhouette_score(gaussian, model.labels_)
    assert np.isclose(efface.metrics.silhouette_score(model), expected, atol=1e-4)
    model.forget(ids=model.ids_[:100])
    expected = metrics.silhouette_score(gaussian[100:], labels[100:])
    assert np.isclose(efface.metrics.silhouette_score(model, labels[100:]), expected, atol=1e-4)
    texts = np.array(["x", "y", "z"])[labels]
    for other in (texts, labels - 1, labels.astype(np.int64) << 40):
        assert np.isclose(efface.metrics.silhouette_score(model, other[100:]), expected, atol=1e-4)
    with pytest.raises(ValueError, match="labels in one labelling"):
        efface.metrics.adjusted_rand_score([1, 2], [1, 2, 3])


def test_subclasses_have_parameters_of_their_own(gaussian):
    class Threes(KMeans):
        def __init__(self, color="red", random_state=None):
            super().__init__(3, random_state=random_state)
            self.color = color

    model = clone(Threes(random_state=7)).fit(gaussian)
    assert model.digest() == KMeans(3, random_state=7).fit(gaussian).digest()
