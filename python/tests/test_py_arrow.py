"""Tables from Arrow's C streams: values of every type, and models like those of the same CSV."""

import gc
import subprocess

import numpy as np
import pandas as pd
import pytest
from arrow_stream import Column, Stream, of_frame

import efface
from efface import ForestClassifier, KMeans, _efface
from efface._tables import Table, _columns_of

DAY = 86400


def table_of(columns, **options):
    return Table(_columns_of(Stream(columns, **options)))


def read(columns, **options):
    """All columns as numbers, with the places of categories; texts may be in any."""
    found, _, categories = table_of(columns, **options).numbers(range(len(columns)))
    return found, categories


NUMBERS = {
    "c": [-128, 0, None, 127, 5],
    "C": [0, 255, None, 1, 2],
    "s": [-32768, 32767, None, 1, 2],
    "S": [0, 65535, 1, None, 2],
    "i": [-(2**31), 2**31 - 1, None, 1, 2],
    "I": [0, 2**32 - 1, None, 1, 2],
    "l": [-(2**62), 2**62, 1, None, 2**53 + 1],
    "L": [0, 2**64 - 1, None, 1, 2],
    "e": [1.5, -0.25, 65504.0, None, 6e-8],
    "f": [0.1, -1e30, None, 3.0, 1.0],
    "g": [0.1, -1e300, None, 3.0, float("nan")],
    "b": [True, False, None, True, True],
    "n": [None] * 5,
}
EXPECTED = {"e": np.float16, "f": np.float32}


@pytest.mark.parametrize("batch, offset", [(1000, 0), (2, 0), (1, 3), (3, 9)])
@pytest.mark.parametrize("form", NUMBERS)
def test_numbers(form, batch, offset):
    values = NUMBERS[form]
    dtype = EXPECTED.get(form, np.float64)
    expected = np.array([np.nan if v is None else v for v in values], dtype=dtype)
    found, categories = read({"x": Column(form, values)}, batch=batch, offset=offset)
    np.testing.assert_array_equal(found[:, 0], expected)
    assert found.dtype == (np.float32 if form in "cCsSefbn" else np.float64) and categories == []


def test_blocks_of_rows(rng):
    """More rows than are read at a time, in batches that are no multiple of it."""
    values = rng.uniform(-5, 5, size=(3001, 3))
    columns = {name: Column("g", values[:, j].tolist()) for j, name in enumerate("abc")}
    columns["a"].values[700] = None
    values[700, 0] = np.nan
    found, _ = read(columns, batch=777)
    np.testing.assert_array_equal(found, values)


TIMES = {
    "tdD": (1, [0, -1, 19000, None]),
    "tdm": (DAY * 1000, [0, -1, 19000 * DAY * 1000 + 1, None]),
    "tss:": (1, [0, -1, 1_700_000_000, None]),
    "tsm:UTC": (10**3, [0, -1, 1_700_000_000_123, None]),
    "tsu:Europe/Paris": (10**6, [0, -1, 1_700_000_000_123_456, None]),
    "tsn:": (10**9, [0, -1, 1_700_000_000_123_456_789, None]),
    "tDs": (1, [0, -1, 90_000, None]),
}


@pytest.mark.parametrize("form", TIMES)
def test_times(form):
    per_one, values = TIMES[form]
    found, _ = read({"when": Column(form, values)})
    whole = [divmod(v, per_one) for v in values[:3]]
    np.testing.assert_array_equal(found[:3, 0], [n + rest / per_one for n, rest in whole])
    assert np.isnan(found[3, 0])


def test_decimals():
    found, _ = read({"price": Column("d:9,2", [123456, -5, None, 0])})
    np.testing.assert_array_equal(found[:, 0], [1234.56, -0.05, np.nan, 0.0])
    found, _ = read({"price": Column("d:30,22,128", [-(2**53), 2**53])})
    np.testing.assert_array_equal(found[:, 0], [-(2**53) / 1e22, 2**53 / 1e22])
    with pytest.raises(ValueError, match="column 'price' has decimals with more digits"):
        read({"price": Column("d:38,2", [1, 2**53 + 1])})
    with pytest.raises(ValueError, match="column 'price' has decimals with more digits"):
        read({"n": Column("i", [1]), "price": Column("d:38,2", [2**70])})


@pytest.mark.parametrize("form", ["u", "U", "vu"])
def test_texts(form):
    texts = ["Rome", "", None, "a city with a long name", "Rome", "7", "é" * 9, "twelve bytes"]
    table = table_of({"city": Column(form, texts), "n": Column("i", range(8))}, batch=3, offset=2)
    assert table.values("city", "y").tolist() == texts
    found, _, categories = table.numbers([0])
    codes = [np.nan if t is None else 7.0 if t == "7" else efface.text_category(t) for t in texts]
    np.testing.assert_array_equal(found, np.column_stack([codes, range(8)]))
    assert categories == [0]
    with pytest.raises(ValueError, match="column 'city' has texts, such as 'Rome', where numbers"):
        table.numbers([])


def test_dictionaries():
    entries = Column("u", ["Rome", None, "Paris"])
    places = Column("c", [2, 0, None, 1, 2], entries)
    numbers = Column("C", [1, 0, None, 1, 1], Column("g", [0.5, 2.5]))
    whole = Column("i", [1, 0, None, 1, 1], Column("l", [2**60, -3]))
    columns = {"city": places, "size": numbers, "n": whole}
    for batch, offset in ((10, 0), (2, 5)):
        table = table_of(columns, batch=batch, offset=offset)
        assert table.values("city", "y").tolist() == ["Paris", "Rome", None, None, "Paris"]
        assert table.values("n", "y").tolist() == [-3, 2**60, None, -3, -3]
        found, _, categories = table.numbers([0])
        paris, rome = efface.text_category("Paris"), efface.text_category("Rome")
        np.testing.assert_array_equal(found[:, 0], [paris, rome, np.nan, np.nan, paris])
        np.testing.assert_array_equal(found[:, 1], [2.5, 0.5, np.nan, 2.5, 2.5])
        assert categories == [0, 1, 2]


def test_columns_as_they_are():
    table = table_of({
        "l": Column("l", [1, None, 2**63 - 1]),
        "L": Column("L", [0, 1, 2**64 - 1]),
        "b": Column("b", [True, False, True]),
        "g": Column("g", [0.5, None, 1.0]),
        "t": Column("tdD", [1, 2, 3]),
    })
    assert table.values("l", "ids").tolist() == [1, None, 2**63 - 1]
    assert table.values("L", "ids").tolist() == [0, 1, 2**64 - 1]
    assert table.values("b", "y").dtype == bool
    np.testing.assert_array_equal(table.values("g", "y"), [0.5, np.nan, 1.0])
    np.testing.assert_array_equal(table.values("t", "y"), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("form", ["z", "+l", "ttu", "tiD", "d:40,2,256", "", "vz"])
def test_other_types_are_refused(form):
    with pytest.raises(TypeError, match=f"column 'x' has the Arrow type '{form}'".replace("+", r"\+")):
        KMeans(1).fit(Stream({"y": Column("g", []), "x": Column(form, [])}))


# ------------------------------------------------------------------ streams


def test_everything_is_released():
    stream = Stream({"x": Column("g", range(10)), "y": Column("i", range(10))}, batch=3)
    model = KMeans(2, random_state=0).fit(stream)
    gc.collect()
    assert stream.n_given == stream.n_released == 6  # the stream, the schema, four batches
    assert model.verify()


def test_a_stream_that_fails():
    for why, said in ((b"the disk is full", "the disk is full"), (b"", "failed: ")):
        stream = Stream({"x": Column("g", range(10))}, fails=why)
        with pytest.raises(ValueError, match=said):
            KMeans(2).fit(stream)
        gc.collect()
        assert stream.n_given == stream.n_released == 2


def test_a_stream_is_read_once():
    capsule = Stream({"x": Column("g", range(10))}).__arrow_c_stream__()
    assert _efface.open_table(capsule).n_rows() == 10
    with pytest.raises(ValueError, match="read before"):
        _efface.open_table(capsule)
    with pytest.raises(ValueError, match="PyCapsule"):
        _efface.open_table(object())


def test_no_rows_and_no_columns():
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        KMeans(2).fit(Stream({"x": Column("g", [])}))
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        KMeans(2).fit(Stream({"x": Column("g", [1.0, 2.0])}), ids="x")


# ------------------------------------------------------------------ models


@pytest.fixture
def people(rng):
    n = 400
    return pd.DataFrame({
        "id": rng.permutation(n) + 10**6,
        "age": rng.randint(18, 90, n),
        "income": np.round(rng.lognormal(10, 1, n), 2),
        "smokes": rng.uniform(size=n) < 0.3,
        "since": (np.datetime64("2001-01-01") + rng.randint(0, 8000, n)).astype("M8[ns]"),
        "owner": [None if i % 7 == 0 else f"p{i % 50}" for i in range(n)],
    })


def test_the_digest_of_the_same_csv(people, build_dir, tmp_path):
    """Numbers, truth values and times: what a CSV file has, and what a stream has."""
    plain = people.assign(
        smokes=people.smokes.astype(int), since=people.since.astype("i8") // 10**9
    )
    plain.to_csv(tmp_path / "people.csv", index=False)
    program = build_dir / "efface"
    store = tmp_path / "people.store"
    words = "-k 3 --method lloyd --seed 5 --id id --owner owner".split()
    subprocess.run([program, "fit", tmp_path / "people.csv", *words, "-o", store], check=True)
    done = subprocess.run([program, "digest", store], check=True, capture_output=True, text=True)
    model = KMeans(3, method="lloyd", random_state=5)
    for table in (of_frame(people), of_frame(people, batch=33, offset=5), people):
        model.fit(table, ids="id", owners="owner")
        assert model.digest() in done.stdout
    assert list(model.feature_names_in_) == ["age", "income", "smokes", "since"]


def same_owners(model, people):
    """Newer versions of pandas have NaN for a text that is missing."""
    owners = [owner if isinstance(owner, str) else None for owner in people.owner]
    return model.owners_.tolist() == owners


def test_fit_learn_and_predict(people):
    whole = KMeans(3, random_state=5).fit(of_frame(people), ids="id", owners="owner")
    first, rest = people[:300], people[300:]
    model = KMeans(3, random_state=5).fit(of_frame(first), ids="id", owners="owner")
    model.learn(of_frame(rest, batch=7), ids="id", owners="owner")
    assert model.digest() == whole.digest() and same_owners(model, people)
    # Columns that were not features are no features later.
    np.testing.assert_array_equal(model.predict(of_frame(people)), model.labels_)
    only = people[["age", "income", "smokes", "since"]]
    np.testing.assert_array_equal(model.predict(of_frame(only)), model.labels_)
    assert model.forget(owners="p3").rows_forgotten == (people.owner == "p3").sum()
    model.update(of_frame(people[:2].assign(age=50)), ids="id", owners="owner")
    assert model.verify()
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        model.predict(of_frame(only.drop(columns="age")))


def test_what_float32_loses():
    """The same warnings, whether an array came as float64 or as float32."""
    X = 1.7e9 + np.arange(100.0) / 4
    stream = Stream({"a": Column("g", range(100)), "seconds": Column("g", X.tolist())})
    for table in (stream, pd.DataFrame({"a": range(100), "seconds": X})):
        with pytest.warns(UserWarning, match=r"feature 1 \(seconds\): float32 rounds its values"):
            model = KMeans(2, random_state=0).fit(table)
        assert model.offset_ is None
        with_offset = KMeans(2, random_state=0, offset="auto").fit(table)
        assert with_offset.offset_ is not None
        assert abs(with_offset.predict(table) - with_offset.labels_).sum() == 0
    with pytest.raises(ValueError, match="infinity"):
        KMeans(1).fit(Stream({"a": Column("g", [1e300, 1.0])}))


def test_weights_and_classes(people, rng):
    columns = of_frame(people).columns
    del columns["owner"]
    columns["weight"] = Column("g", rng.randint(1, 4, 400).tolist())
    columns["kind"] = Column("vu", rng.choice(["a", "bee", "a very long name"], 400).tolist())
    named = {"y": "kind", "sample_weight": "weight", "ids": "id"}
    model = ForestClassifier(5, random_state=0).fit(Stream(columns), **named)
    same = ForestClassifier(5, random_state=0).fit(
        people[["age", "income", "smokes", "since"]],
        columns["kind"].values,
        columns["weight"].values,
        ids=people.id,
    )
    assert model.digest() == same.digest()
    assert model.classes_.tolist() == ["a", "a very long name", "bee"] and model.n_classes_ == 3


def test_series_beside_an_array(gaussian):
    X = gaussian[:6]
    owners = Stream(Column("u", ["Ada", None, "Bob", "Ada", "Ada", None]))
    ids = Stream(Column("L", [9, 8, 7, 6, 5, 4]))
    model = KMeans(2, random_state=0).fit(X, ids=ids, owners=owners)
    assert model.ids_.tolist() == [9, 8, 7, 6, 5, 4]
    assert model.owners_.tolist() == ["Ada", None, "Bob", "Ada", "Ada", None]
    assert model.forget(ids=Stream(Column("C", [9, 8]))).rows_forgotten == 2


def test_stores(people, tmp_path):
    with efface.create(
        tmp_path / "store", of_frame(people), ids="id", owners="owner", keep_texts=True
    ) as store:
        assert store.feature_names == ["age", "income", "smokes", "since"]
        store.fit("m", KMeans(3, random_state=1))
        store.learn(of_frame(people.assign(id=people.id + 1000)), ids="id", owners="owner")
        assert store.n_rows == 800 and store.verify()
        assert store.owners()["p3"] == 2 * (people.owner == "p3").sum()
        labels = store.predict("m", of_frame(people.drop(columns=["id", "owner"])))
        assert len(labels) == 400
        assert set(store.load("m").owners_.compressed()) == set(people.owner.dropna())


def test_missing_values(people):
    columns = of_frame(people[["age", "income"]]).columns
    columns["age"].values[5] = None
    with pytest.raises(ValueError, match="contains NaN"):
        KMeans(2).fit(Stream(columns))
    classes = np.arange(400) % 2
    forest = ForestClassifier(3, missing=True, random_state=0).fit(Stream(columns), classes)
    frame = people[["age", "income"]].astype({"age": float})
    frame.loc[5, "age"] = np.nan
    assert forest.digest() == ForestClassifier(3, missing=True, random_state=0).fit(
        frame, classes
    ).digest()
