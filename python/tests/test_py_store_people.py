"""Whose the rows of a store are: owners or none, texts, what there is of a person, receipts."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

import efface
from efface import KMeans

RECEIPT_KEY = bytes(range(32))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.store"


def named(path, X, **options):
    """Rows r0, r1, ... of Ada, Bob, and nobody."""
    ids = [f"r{i}" for i in range(len(X))]
    owners = [("Ada", "Bob", None)[i % 3] for i in range(len(X))]
    return efface.create(path, X, ids=ids, owners=owners, **options)


# ------------------------------------------------------------------ owners


@pytest.mark.parametrize("nobody", [None, float("nan"), pd.NA, np.ma.masked], ids=repr)
def test_a_row_has_an_owner_or_none(path, gaussian, nobody):
    """0 is a person; nobody is not."""
    with efface.create(path, gaussian[:9], owners=[0, 3, nobody] * 3) as store:
        store.fit("all", KMeans(2))
        assert store.owners() == {0: 3, 3: 3}
        assert store.info.n_owners == 2 and store.info.n_unowned_rows == 3
        assert store.load("all").owners_.tolist() == [0, 3, None] * 3
        store.learn(gaussian[9:11], ids=[9, 10], owners=[nobody, 0])
        store.learn(gaussian[11:12], ids=[11])
        assert store.owners() == {0: 4, 3: 3} and store.info.n_unowned_rows == 5
        assert store.forget(owners=0).n_forgotten == 4
        with pytest.raises(efface.NotFoundError, match="0"):
            store.forget(owners=0)
        assert store.forget(owners=0, missing="skip").n_forgotten == 0
        assert store.n_rows == 8 and store.verify() and store.check() == []


def test_a_store_without_owners(path, gaussian):
    with efface.create(path, gaussian[:9]) as store:
        assert store.owners() == {} and store.info.n_unowned_rows == 9
        for owner in (0, "Ada"):
            with pytest.raises(efface.NotFoundError):
                store.forget(owners=owner)


# ------------------------------------------------------------------ texts


def test_errors_have_the_texts_that_were_given(path, gaussian):
    with named(path, gaussian[:9]) as store:
        for call in (store.forget, store.find, store.preview):
            with pytest.raises(efface.NotFoundError, match="'nobody'"):
                call(ids=["r1", "nobody"])
            with pytest.raises(efface.NotFoundError, match="'Eve'"):
                call(owners=np.array(["Ada", "Eve"]))
        with pytest.raises(efface.NotFoundError, match="'nobody'"):
            store.update(gaussian[:1], ids=["nobody"])
        with pytest.raises(ValueError, match="'r3'"):
            store.learn(gaussian[:2], ids=["new", "r3"])
        with pytest.raises(ValueError, match="'new'"):
            store.learn(gaussian[:2], ids=["new", "new"])
    with pytest.raises(ValueError, match="'twice'"):
        efface.create(path.with_suffix(".2"), gaussian[:2], ids=["twice", "twice"])
    assert not path.with_suffix(".2").exists()


def test_numbers_or_texts_but_not_both(path, gaussian):
    """77 and "77" would be two people; in a store of numbers they are one."""
    for which in ("ids", "owners"):
        with pytest.raises(ValueError, match=f"the {which} of a store are numbers or texts"):
            efface.create(path, gaussian[:3], **{which: [77, "77", 5]})
    assert not path.exists()
    with efface.create(path, gaussian[:3], ids=[76, 77, 78], owners=["Ada", None, "Bob"]) as store:
        for wrong in (
            {"ids": ["x77"], "owners": ["Ada"]},
            {"ids": [79], "owners": [77]},
            {"ids": [79, "7.5"]},
            {"ids": [79, 80], "owners": ["Ada", 7]},
        ):
            with pytest.raises(ValueError, match="texts"):
                store.learn(gaussian[: len(wrong["ids"])], **wrong)
        with pytest.raises(ValueError, match="texts"):
            store.update(gaussian[:1], ids=["x77"])
        with pytest.raises(ValueError, match="x77.*texts"):
            store.forget(ids="x77")
        with pytest.raises(ValueError, match="77 exists already"):
            store.learn(gaussian[:1], ids=[" 77.0 "])
        store.learn(gaussian[:2], ids=[79, 80], owners=[None, "Cy"])
        store.learn(gaussian[:1])
        assert store.n_rows == 6 and store.info.n_owners == 3


def test_texts_that_are_kept(path, gaussian):
    with named(path, gaussian[:9], keep_texts=True) as store:
        assert store.info.keeps_texts and store.owners() == {"Ada": 3, "Bob": 3}
        store.learn(gaussian[9:11], ids=["r9", "r10"], owners=["Cy", None])
        store.update(gaussian[:1], ids=["r1"], owners=["Dan"])
        assert store.owners() == {"Ada": 3, "Bob": 2, "Cy": 1, "Dan": 1}
        assert sorted(store.find(owners=["Cy", "Dan"]).index) == ["r1", "r9"]
    with efface.open(path) as store:
        store.forget(owners="Ada")
        assert store.owners() == {"Bob": 2, "Cy": 1, "Dan": 1}
    assert b"Dan" in path.read_bytes() and b"Ada" not in path.read_bytes()


def test_texts_that_are_not_kept(path, gaussian):
    with named(path, gaussian[:9]) as store:
        assert not store.info.keeps_texts
        assert all(isinstance(owner, int) for owner in store.owners())
        assert store.forget(ids="r0", owners="Bob").n_forgotten == 4
    assert b"Ada" not in path.read_bytes()


# ------------------------------------------------------------------ what there is of a person


def test_find(path, gaussian):
    frame = pd.DataFrame(gaussian[:9], columns=["age", "height", "owner", "weight"])
    with named(path, frame, keep_texts=True, weights=range(1, 10)) as store:
        found = store.find(owners="Ada")
        assert list(found.columns) == ["age", "height", "owner", "weight", "owner_", "weight_"]
        assert found.index.name == "id" and sorted(found.index) == ["r0", "r3", "r6"]
        found = found.loc[["r0", "r3", "r6"]]
        np.testing.assert_array_equal(found[["age", "height", "owner", "weight"]], gaussian[:9:3])
        assert list(found["owner_"]) == ["Ada"] * 3 and list(found["weight_"]) == [1, 4, 7]
        found = store.find(ids=["r2", "r0"], owners=["Bob"])
        assert sorted(found.index) == ["r0", "r1", "r2", "r4", "r7"]
        assert found.loc["r2", "owner_"] is None
        assert len(store.find(ids=["r2", "nobody"], missing="skip")) == 1
        assert store.n_rows == 9 and store.receipts == []


def test_find_numbers(path, gaussian):
    with efface.create(path, gaussian[:9], owners=[0, 5, None] * 3) as store:
        found = store.find(ids=2, owners=5).sort_index()
        assert list(found.columns) == [0, 1, 2, 3, "owner", "weight"]
        assert list(found.index) == [1, 2, 4, 7] and list(found["owner"]) == [5, None, 5, 5]
        np.testing.assert_array_equal(found[[0, 1, 2, 3]], gaussian[[1, 2, 4, 7]])


def test_find_without_pandas(path, gaussian, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with named(path, gaussian[:9], keep_texts=True) as store:
        found = store.find(ids="r2")
        assert isinstance(found, efface.FoundRows)
        assert (found.ids, found.owners, found.labels) == (["r2"], [None], [None])
        assert found.weights.tolist() == [1] and found.feature_names is None
        np.testing.assert_array_equal(found.values, gaussian[2:3])


# ------------------------------------------------------------------ receipts


def test_receipts(path, gaussian):
    secret, public = efface.make_keys()
    with named(path, gaussian[:20], secret_key=secret) as store:
        store.fit("all", KMeans(2))
        reports = [store.forget(ids="r1"), store.learn(gaussian[20:22], ids=["a", "b"])]
        reports += [store.update(gaussian[:1], ids=["a"]), store.forget(owners="Ada")]
        lines = [store.receipt(report.receipt) for report in reports]
        assert [report.receipt for report in reports] == [2, 3, 4, 5]
        assert [receipt["forgotten"] for receipt in store.receipts] == [0, 1, 0, 0, 7]
        assert store.info.n_receipts == 5
        for line, report in zip(lines, reports):
            efface.verify_receipt(line, public)
            told = json.loads(line)["rows"]
            assert told["count"] == len(report.row_hashes)
            assert efface.receipt_root(report.row_hashes) == told["root"]
            assert efface.receipt_root(reversed(report.row_hashes)) == told["root"]
        assert reports[0].row_hashes == (store.row_hash("r1"),)
        assert sorted(reports[1].row_hashes) == sorted(map(store.row_hash, ["a", "b"]))
        assert store.preview(ids="r2").row_hashes == ()
        with pytest.raises(efface.NotFoundError):
            store.receipt(6)
    assert efface.verify_receipts(lines) == efface.verify_receipts(lines, public) == []
    assert efface.verify_receipts(lines[1:], public) == []
    changed = lines[1].replace('"learned":2', '"learned":3')
    for wrong in (lines[:1] + lines[2:], lines[::-1], [lines[0], changed, *lines[2:]], lines * 2):
        assert efface.verify_receipts(wrong)
    assert all("line" in problem for problem in efface.verify_receipts(lines[::-1]))
    other = efface.make_keys()[1]
    assert len(efface.verify_receipts(lines, other)) == 4
    for wrong, key in ((changed, public), (lines[0], other)):
        with pytest.raises(ValueError):
            efface.verify_receipt(wrong, key)


def test_receipts_without_a_signature(path, gaussian):
    with named(path, gaussian[:20]) as store:
        line = store.receipt(store.forget(ids="r1").receipt)
    public = efface.make_keys()[1]
    with pytest.raises(ValueError):
        efface.verify_receipt(line, public)
    assert efface.verify_receipts([line]) == [] != efface.verify_receipts([line], public)


def test_a_receipt_key_of_your_own(path, gaussian):
    with named(path, gaussian[:20], receipt_key=RECEIPT_KEY) as store:
        assert store.info.receipt_key_outside
        hashes = store.forget(ids="r1").row_hashes
        assert hashes == (store.row_hash("r1", receipt_key=RECEIPT_KEY),)
        assert hashes == (store.row_hash("r1"),)  # it has been given
    assert RECEIPT_KEY not in path.read_bytes()
    for key in (None, bytes(32)):
        with pytest.raises(ValueError, match="key"):
            efface.open(path, receipt_key=key)
    with efface.open(path, receipt_key=RECEIPT_KEY) as store:
        assert store.forget(ids="r2").row_hashes == (store.row_hash("r2", receipt_key=RECEIPT_KEY),)
    with efface.open(path, write=False) as store:
        assert store.n_rows == 18 and store.row_hash("r1", receipt_key=RECEIPT_KEY) == hashes[0]
        with pytest.raises(ValueError, match="key"):
            store.row_hash("r1")
