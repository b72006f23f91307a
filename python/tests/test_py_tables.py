"""Data frames as people have them: texts, categories, truth values, times, what is missing."""

import datetime
import decimal
import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import efface
from efface import ForestClassifier, ForestRegressor, KMeans, LinearRegression
from efface import _rows
from efface._tables import as_table, category_value

N = 60


def numbers(frame, categories=()):
    found, _, places = as_table(frame).numbers(categories)
    return found, places


# ------------------------------------------------------------------ columns

DATES = [datetime.date(2020, 1, 1), None, datetime.date(1969, 12, 31)]
TIMES = [datetime.datetime(2020, 1, 1, 12), None, datetime.datetime(1969, 12, 31, 18)]
NOON = 18262 * 86400 + 43200
UTC = datetime.timezone.utc
PARIS = datetime.timezone(datetime.timedelta(hours=1))

CASES = {
    "truth": (pd.Series([True, False, True]), [1, 0, 1]),
    "truth with holes": (pd.Series([True, None, False], dtype="boolean"), [1, np.nan, 0]),
    "truth as objects": (pd.Series([True, None, False], dtype=object), [1, np.nan, 0]),
    "whole with holes": (pd.Series([1, None, 3], dtype="Int64"), [1, np.nan, 3]),
    "whole": (pd.Series([1, 2, 3], dtype="uint8"), [1, 2, 3]),
    "floats of pandas": (pd.Series([0.5, None, 3], dtype="Float64"), [0.5, np.nan, 3]),
    "objects": (pd.Series([1, 2.5, None], dtype=object), [1, 2.5, np.nan]),
    "decimals": (pd.Series([decimal.Decimal("0.1"), None, 3], dtype=object), [0.1, np.nan, 3]),
    "times": (
        pd.Series(pd.to_datetime(["2020-01-01 12:00:00.5", None, "1969-12-31 18:00:00.0"])),
        [NOON + 0.5, np.nan, -21600],
    ),
    "times with a zone": (
        pd.Series(pd.to_datetime(["2020-01-01 13:00", None, "1969-12-31 19:00"])).dt.tz_localize(
            "Etc/GMT-1"
        ),
        [NOON, np.nan, -21600],
    ),
    "dates as objects": (pd.Series(DATES, dtype=object), [18262, np.nan, -1]),
    "times as objects": (pd.Series(TIMES, dtype=object), [NOON, np.nan, -21600]),
    "times with zones as objects": (
        pd.Series(
            [
                datetime.datetime(2020, 1, 1, 13, tzinfo=PARIS),
                pd.NaT,
                datetime.datetime(1969, 12, 31, 18, tzinfo=UTC),
            ],
            dtype=object,
        ),
        [NOON, np.nan, -21600],
    ),
    "durations": (pd.Series(pd.to_timedelta(["36h", None, "-6h"])), [129600, np.nan, -21600]),
    "nothing": (pd.Series([None, None, None], dtype=object), [np.nan] * 3),
    "categories of numbers": (pd.Series([5, 0.5, None]).astype("category"), [5, 0.5, np.nan]),
    "categories of times": (
        pd.Series(pd.to_datetime(["2020-01-01 12:00", None, "1969-12-31 00:00"])).astype("category"),
        [NOON, np.nan, -86400],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_columns_of_numbers(case):
    series, expected = CASES[case]
    frame = pd.DataFrame({"x": series, "one": [1.0, 2.0, 3.0]})
    table = as_table(frame)
    found = frame.to_numpy() if table is frame else table.numbers(())[0]
    np.testing.assert_array_equal(found[:, 0], expected)
    np.testing.assert_array_equal(found[:, 1], [1, 2, 3])


@pytest.mark.parametrize("dtype", [object, "string", "category"])
def test_columns_of_texts(dtype):
    texts = ["Rome", None, "Paris", "Rome", "7", "-1e3", "1e999", "7.0"]
    frame = pd.DataFrame({"x": range(8), "city": pd.Series(texts, dtype=dtype)})
    found, places = numbers(frame, [1])
    rome, paris = efface.text_category("Rome"), efface.text_category("Paris")
    large = efface.text_category("1e999")
    np.testing.assert_array_equal(found[:, 1], [rome, np.nan, paris, rome, 7, -1000, large, 7])
    assert places == [1]
    with pytest.raises(ValueError, match="column 'city' has texts, such as '(Rome|-1e3)'"):
        numbers(frame)


@pytest.mark.parametrize(
    "values", [["a", 1], [1, "a"], [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)], [datetime.date(2020, 1, 1), 1], [b"a", b"b"], [(1,), (2,)]]
)
def test_mixed_columns_are_refused(values):
    frame = pd.DataFrame({"x": [1.0, 2.0], "odd": pd.Series(values, dtype=object)})
    with pytest.raises(TypeError, match="column 'odd' has values that are not all numbers"):
        KMeans(1).fit(frame)


def collision():
    """Two texts with one code."""
    known = {}
    for i in itertools.count():
        text = f"t{i}"
        other = known.setdefault(category_value(text), text)
        if other != text:
            return other, text


def test_two_texts_with_one_code_are_refused():
    one, other = collision()
    frame = pd.DataFrame({"city": [one, other] * 5})
    with pytest.raises(ValueError, match=f"'{one}' and '{other}' have the same code"):
        ForestClassifier(3).fit(frame, np.arange(10) % 2)
    apart = pd.DataFrame({"a": [one] * 10, "b": [other] * 10})
    ForestClassifier(3).fit(apart, np.arange(10) % 2)  # each is alone in its column


def test_many_categories_warn(tmp_path):
    frame = pd.DataFrame({"name": [f"t{i}" for i in range(2001)]})
    y = np.arange(2001) % 2
    with pytest.warns(UserWarning, match="column 'name' has 2001 different texts") as caught:
        ForestClassifier(1).fit(frame, y)
        efface.create(tmp_path / "store", frame).close()
    assert [warning.filename for warning in caught] == [__file__] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ForestClassifier(1).fit(frame[:2000], y[:2000]).predict(frame)


# ------------------------------------------------------------------ models


@pytest.fixture
def flats(rng):
    return pd.DataFrame({
        "rooms": rng.randint(1, 9, N),
        "city": rng.choice(["Rome", "Paris", "Oslo"], N),
        "floor": pd.Categorical(rng.choice(["low", "high"], N)),
        "lift": rng.uniform(size=N) < 0.5,
        "built": pd.Timestamp("1990-01-01") + pd.to_timedelta(rng.randint(0, 9000, N), "D"),
        "owner": [f"p{i % 9}" for i in range(N)],
        "rent": rng.randint(300, 900, N).astype(float),
    }, index=[f"flat {i}" for i in range(N)])


@pytest.fixture
def by_hand(flats):
    """The same with numbers in the place of all else."""
    seconds = (flats.built - pd.Timestamp("1970-01-01")).dt.days * 86400
    texts = {name: flats[name].astype(str).map(efface.text_category) for name in ("city", "floor")}
    return flats.assign(**texts, lift=flats.lift.astype(int), built=seconds)[
        ["rooms", "city", "floor", "lift", "built"]
    ]


def test_a_forest_of_texts(flats, by_hand):
    forest = ForestRegressor(7, random_state=1)
    forest.fit(flats, "rent", ids="index", owners="owner")
    same = ForestRegressor(7, random_state=1, categories=["city", "floor"]).fit(
        by_hand, flats.rent, ids=flats.index, owners=flats.owner
    )
    assert forest.digest() == same.digest()
    np.testing.assert_array_equal(forest.predict(flats), same.predict(by_hand))
    assert list(forest.feature_names_in_) == list(by_hand.columns)
    forest.forget(owners="p3")
    forest.forget("flat 1")
    left = (flats.owner != "p3") & (flats.index != "flat 1")
    assert forest.verify()
    fresh = ForestRegressor(7, random_state=1)
    assert forest.digest() == fresh.fit(
        flats[left], "rent", ids="index", owners="owner"
    ).digest()
    forest.learn(flats[~left], "rent", ids="index")  # the column of owners is still no feature
    assert forest.digest() == same.digest()
    new = flats[:2].assign(city="Nowhere")
    assert len(forest.predict(new)) == 2
    with pytest.raises(ValueError, match="column 'rooms' has texts, such as 'many'"):
        forest.predict(new.assign(rooms="many"))
    with pytest.raises(ValueError, match="column 'rooms' has texts"):
        forest.learn(new.assign(rooms="many"), "rent", ids=["x", "y"])


def test_published_and_pickled_forests_take_texts(flats, tmp_path):
    forest = ForestRegressor(7, random_state=1).fit(flats, "rent", ids="index", owners="owner")
    features = flats.drop(columns=["owner", "rent"])
    forest.export(tmp_path / "rent.model")
    published = efface.load_predictor(tmp_path / "rent.model")
    np.testing.assert_array_equal(published.predict(features), forest.predict(flats))
    turned = features[features.columns[::-1]]
    np.testing.assert_array_equal(published.predict(turned), forest.predict(flats))
    again = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(again.predict(flats), forest.predict(flats))
    with pytest.raises(ValueError, match="column 'lift' has texts"):
        published.predict(features.assign(lift="yes"))


def test_truth_and_time_in_other_models(flats, by_hand):
    plain = by_hand[["rooms", "lift", "built"]]
    model = LinearRegression().fit(flats[["rooms", "lift", "built", "rent"]], "rent", ids=range(N))
    same = LinearRegression().fit(plain, flats.rent, ids=range(N))
    assert model.digest() == same.digest()
    np.testing.assert_array_equal(model.predict(flats[plain.columns]), same.predict(plain))
    with pytest.raises(ValueError, match="Only forests take texts"):
        KMeans(2).fit(flats)
    with pytest.raises(ValueError, match="column 'city' has texts"):
        KMeans(2).fit(flats[["city"]])


def test_a_store_of_texts(flats, by_hand, tmp_path):
    features = flats.drop(columns=["owner", "rent"])
    with efface.create(
        tmp_path / "store", flats.drop(columns="owner"), ids=range(N), owners=flats.owner
    ) as store:
        with pytest.raises(ValueError, match=r"categories=\['city'\], or leave the column out"):
            store.fit("all", KMeans(2))
        with pytest.raises(ValueError, match=r"categories=\['floor'\]"):
            store.fit("rent", ForestRegressor(3, categories="city"), targets="rent")
        store.fit("some", KMeans(2, random_state=0), columns=["rooms", "built"])
        forest = ForestRegressor(7, random_state=1, categories=["city", "floor"])
        store.fit("rent", forest, targets="rent")
        same = ForestRegressor(7, random_state=1).fit(features, flats.rent, ids=range(N))
        assert store.digest("rent") == same.digest()
        np.testing.assert_array_equal(store.predict("rent", features), same.predict(features))
        more = flats.assign(number=range(100, 100 + N))
        store.learn(more, ids="number", owners="owner")
    with efface.open(tmp_path / "store") as store:
        store.learn(more.assign(number=range(200, 200 + N)), ids="number", owners="owner")
        assert store.n_rows == 3 * N and store.verify()
        assert store.forget(owners="p3").n_forgotten == 3 * (flats.owner == "p3").sum()
        with pytest.raises(ValueError, match="column 'rooms' has texts"):
            store.learn(more.assign(rooms="many"), ids="number", owners="owner")


# ------------------------------------------------------------------ names of columns


def test_names_of_columns(flats, rng):
    frame = flats[["rooms", "lift", "rent", "owner"]].assign(w=rng.randint(1, 3, N), n=range(N))
    model = LinearRegression()
    model.fit(frame, "rent", "w", ids="n", owners="owner")
    assert model.coef_.shape == (2,) and model.owners_.tolist() == frame.owner.tolist()
    assert model.score(frame, frame.rent) > -1
    with pytest.raises(ValueError, match="ids='nr': X has no column of that name; it has 'rooms'"):
        model.fit(frame, "rent", ids="nr")
    twice = pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"])
    with pytest.raises(ValueError, match="several columns of that name"):
        KMeans(1).fit(twice, ids="a")
    # A frame of one row may come with its id, and its owner, as texts.
    one = pd.DataFrame({"a": [1.0], "b": [2.0]})
    model = KMeans(1).fit(one, ids="row", owners="Ada")
    assert model.owners_.tolist() == ["Ada"]
    model.learn(one + 1, ids="other", owners="Bob")
    assert model.forget("other").rows_forgotten == 1


def test_a_column_called_index():
    frame = pd.DataFrame({"a": [1.0, 2.0, 5.0], "index": [7, 8, 9]})
    assert KMeans(1).fit(frame, ids="index").ids_.tolist() == [7, 8, 9]
    assert KMeans(1).fit(frame[["a"]], ids="index").ids_.tolist() == [0, 1, 2]


# ------------------------------------------------------------------ sparse


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok"])
def test_sparse_matrices(kind, rng):
    X = np.where(rng.uniform(size=(50, 6)) < 0.2, rng.randint(1, 9, (50, 6)), 0)
    for dtype in (np.float64, np.float32, np.int64, bool):
        dense = X.astype(dtype)
        thin = sparse.coo_matrix(dense).asformat(kind)
        model = KMeans(2, random_state=0).fit(thin)
        same = KMeans(2, random_state=0).fit(dense.astype(float))
        assert model.digest() == same.digest()
        np.testing.assert_array_equal(model.predict(thin), same.labels_)


def test_a_large_sparse_matrix_says_what_it_takes(monkeypatch):
    monkeypatch.setattr(_rows, "_MUCH", 8 * 1000 * 20)
    X = sparse.random(1000, 20, 0.1, random_state=0)
    with pytest.warns(UserWarning, match=r"X is sparse, .* as an array it takes 0.0 GiB") as caught:
        KMeans(2).fit(X)
    assert caught[0].filename == __file__
