"""Tables of polars, pyarrow, duckdb and pandas, and Parquet through them; where they are there."""

import datetime

import numpy as np
import pytest

import efface
from efface import ForestClassifier, KMeans

pyarrow = pytest.importorskip("pyarrow")
polars = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")
parquet = pytest.importorskip("pyarrow.parquet")

N = 1000


@pytest.fixture
def columns(rng):
    start = datetime.datetime(2001, 1, 1)
    return {
        "id": rng.permutation(N).tolist(),
        "age": rng.randint(18, 90, N).tolist(),
        "income": rng.lognormal(10, 1, N).round(2).tolist(),
        "smokes": (rng.uniform(size=N) < 0.3).tolist(),
        "since": [start + datetime.timedelta(hours=int(h)) for h in rng.randint(0, 99999, N)],
        "city": rng.choice(["Rome", "Paris", "a city with a long name"], N).tolist(),
        "owner": [None if i % 7 == 0 else f"p{i % 50}" for i in range(N)],
        "kind": rng.choice(["yes", "no"], N).tolist(),
    }


@pytest.fixture
def tables(columns, tmp_path):
    arrow = pyarrow.table(columns)
    parquet.write_table(arrow, tmp_path / "people.parquet", row_group_size=300)
    frame = polars.DataFrame(columns)
    found = {
        "pyarrow": arrow,
        "pyarrow in pieces": pyarrow.concat_tables([arrow[:10], arrow[10:500], arrow[500:]]),
        "pyarrow with dictionaries": arrow.set_column(5, "city", arrow["city"].dictionary_encode()),
        "polars": frame,
        "polars in pieces": polars.concat([frame[:10], frame[10:]], rechunk=False),
        "polars with categories": frame.with_columns(polars.col("city").cast(polars.Categorical)),
        "duckdb": duckdb.sql("select * from arrow"),
        "pandas": pandas.DataFrame(columns),
        "pandas with Arrow": arrow.to_pandas(types_mapper=pandas.ArrowDtype),
        "parquet by pyarrow": parquet.read_table(tmp_path / "people.parquet"),
        "parquet by polars": polars.read_parquet(tmp_path / "people.parquet"),
        "parquet by duckdb": duckdb.read_parquet(str(tmp_path / "people.parquet")),
        "a reader": arrow.to_reader(max_chunksize=99),
    }
    return found


def test_all_give_the_same_models(tables, columns):
    digests = {}
    for name, table in tables.items():
        model = ForestClassifier(3, random_state=0).fit(table, "kind", ids="id", owners="owner")
        digests[name] = model.digest()
        if name != "a reader":  # which can be read only once
            assert model.score(table, columns["kind"]) > 0.9
        assert set(model.owners_.compressed()) == {f"p{i}" for i in range(50)}
        model.forget(owners="p3")
        assert model.verify()
    assert len(set(digests.values())) == 1, digests


def test_ids_and_masks_of_others(columns):
    X = np.column_stack([columns["age"], columns["income"]])
    frame = polars.DataFrame(columns)
    model = KMeans(3, random_state=0).fit(X, ids=frame["id"], owners=frame["owner"])
    same = KMeans(3, random_state=0).fit(
        X, ids=pyarrow.chunked_array([columns["id"]]), owners=pyarrow.chunked_array([columns["owner"]])
    )
    assert model.digest() == same.digest() and model.owners_.tolist() == columns["owner"]
    mask = frame["age"] > 60
    assert model.forget(mask).rows_forgotten == mask.sum()
    assert model.verify()


def test_a_store_of_parquet(tables, tmp_path):
    table = tables["parquet by polars"].drop("city", "kind")
    with efface.create(tmp_path / "store", table, ids="id", owners="owner") as store:
        store.fit("m", KMeans(3, random_state=0))
        assert store.forget(owners="p3").n_forgotten > 0 and store.verify()
