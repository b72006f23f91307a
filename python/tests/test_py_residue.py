"""What is forgotten is in no memory of the process: not in the library's rows, and not in a copy
that a conversion made on the way.

The cases run in processes of their own. Each has another row to forget, whose numbers are written
straight into arrays from bits that are kept in disguise, so that the test itself leaves no copy. It
overwrites its own arrays in the end, and looks through all memory for the numbers as float32.
"""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest

import efface
from efface import KMeans, Ridge, _estimator, _targets

SCENE = """
    import copy, gc, mmap, os, re, sys, tempfile
    import numpy as np
    import efface
    from efface import ForestClassifier, ForestRegressor, GaussianNB, KMeans, Ridge

    N, D, VICTIM = 400, 64, 123
    DISGUISE, EXPONENT, ONE = np.uint32(0x2A5A5A5), np.uint32(0xFF800000), np.uint32(0x3F800000)
    chunk = np.frombuffer(mmap.mmap(-1, 1 << 22), dtype=np.uint32)
    rng = np.random.RandomState(int(sys.argv[1]))
    dtype = np.dtype(sys.argv[2])

    def make():
        '''Rows, one of which has numbers 1 + m / 2**23 of new bits m.'''
        global hidden
        hidden = rng.randint(0, 1 << 23, size=D, dtype=np.uint32) ^ DISGUISE
        X = np.random.RandomState(1).uniform(0, 1, size=(N, D)).astype(dtype)
        bits = X.view(np.uint32 if dtype == np.float32 else np.uint64)[VICTIM]
        bits[:] = hidden
        bits ^= bits.dtype.type(DISGUISE)
        if dtype == np.float32:
            bits |= ONE
        else:
            bits <<= np.uint64(29)
            bits |= np.uint64(0x3FF << 52)
        return X

    def count(anywhere=False):
        '''How many of the numbers are somewhere in memory. They are never out of their disguise.'''
        gc.collect()
        wanted, places = np.sort(hidden ^ ONE), set()
        with open("/proc/self/maps") as file:
            maps = [re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line) for line in file]
        mine = chunk.__array_interface__["data"][0]
        shifts = range(4) if anywhere else (0,)  # rows in pages of a store begin at any byte
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            for begin, end in [(int(m[1], 16), int(m[2], 16)) for m in maps if m]:
                for place in (p + s for p in range(begin, end, chunk.nbytes) for s in shifts):
                    if mine <= place < mine + chunk.nbytes:
                        continue
                    try:
                        memory.seek(place)
                        n = memory.readinto(memoryview(chunk)[: (end - place) // 4]) // 4
                    except (OSError, OverflowError, ValueError):
                        continue
                    some = chunk[:n]
                    np.bitwise_xor(some, DISGUISE, out=some)
                    near = some[(some & EXPONENT) == (ONE ^ (DISGUISE & EXPONENT))]
                    some[:] = 0
                    at = np.minimum(np.searchsorted(wanted, near), D - 1)
                    places.update(near[wanted[at] == near].tolist())
        return len(places)

    def check(case, anywhere=False):
        '''A few numbers may be there by chance; a copy of the row would be all of them.'''
        X = make()
        forget = case(X)
        X[:] = 0
        del X
        if dtype == np.float64:  # once for each case is enough
            assert count() == D, f"{case.__name__}: what was to forget is not there"
        forget()
        found = count(anywhere)
        assert found < D // 4, f"{case.__name__}: {found} of {D} numbers are still there"
"""

MODELS = """
    def nothing_but_an_array(X):
        X = X.astype(np.float32)
        return lambda: X.fill(0)

    def fitted(method):
        def case(X):
            model = KMeans(3, method=method, rate=0.1, random_state=1, n_init=2)
            model.fit(X, ids=range(N), owners=np.arange(N))
            return lambda: model.forget(ids=VICTIM)
        case.__name__ = method
        return case

    def by_owner_and_asked(X):
        model = KMeans(3, random_state=1).fit(X, owners=[f"p{i}" for i in range(N)])
        model.predict(X), model.transform(X), model.labels_, model.verify()
        return lambda: model.forget(owners=f"p{VICTIM}")

    def scored(X):
        model = KMeans(3, random_state=1).fit(X, ids=range(N))
        model.score(X), model.score(X, sample_weight=np.arange(N))
        return lambda: model.forget(ids=VICTIM)

    def learned(X):
        model = KMeans(3, random_state=1).fit(X[:100], ids=range(100))
        model.learn(X[100:], ids=range(100, N))
        return lambda: model.forget(ids=VICTIM)

    def updated(X):
        model = KMeans(3, random_state=1).fit(np.eye(N, D), ids=range(N))
        model.update(X, ids=range(N))
        return lambda: model.forget(ids=VICTIM)

    def updated_to_another(X):
        model = KMeans(3, random_state=1).fit(X, ids=range(N))
        return lambda: model.update(np.zeros((1, D)), ids=[VICTIM])

    def weighted(X):
        weights = np.arange(N) % 5
        model = KMeans(3, random_state=1).fit(X, ids=range(N), sample_weight=weights)
        model.learn(X, ids=range(N, 2 * N), sample_weight=weights)
        return lambda: model.forget(ids=[VICTIM, VICTIM + N])

    def of_another_byte_order(X):
        swapped = X.astype(X.dtype.newbyteorder())
        model = KMeans(3, random_state=1).fit(swapped, ids=range(N))
        model.predict(swapped)
        swapped[:] = 0
        return lambda: model.forget(ids=VICTIM)

    def with_made_ids(X):
        model = KMeans(3, random_state=1).fit(X)
        model.forget(ids=model.ids_[:3])
        victim = model.ids_[VICTIM - 3]
        return lambda: model.forget(ids=victim)

    def copied(X):
        model = KMeans(3, random_state=1).fit(X, ids=range(N))
        model.forget(ids=[5])
        copy.deepcopy(model).forget(ids=VICTIM)
        model._model.rows_.fill(0)
        return lambda: model.forget(ids=VICTIM)

    def a_data_frame(X):
        frame = pandas.DataFrame(X, columns=[f"c{j}" for j in range(D)], copy=False)
        model = KMeans(3, random_state=1).fit(frame, ids=range(N))
        model.predict(frame)
        return lambda: model.forget(ids=VICTIM)

    def a_frame_of_many_kinds(X):
        rows = pandas.DataFrame(X, columns=[f"c{j}" for j in range(D)], copy=False)
        names = pandas.DataFrame({"id": range(N), "owner": "p", "flag": np.arange(N) % 2 == 0})
        frame = pandas.concat([rows, names], axis=1, copy=False)
        model = KMeans(3, random_state=1).fit(frame, ids="id", owners="owner")
        model.predict(frame)
        model.update(frame, ids="id", owners="owner")
        return lambda: model.forget(ids=VICTIM)

    HALF = D // 2

    def a_regression(X):
        model = Ridge().fit(X[:, :HALF], X[:, HALF:], ids=range(N), owners=np.arange(N))
        model.predict(X[:, :HALF]), model.coef_, model.leave_one_out(), model.verify()
        copy.deepcopy(model).forget(ids=VICTIM)
        model._model.rows_.fill(0)
        model._model.y_.fill(0)
        classes = GaussianNB().fit(X, np.arange(N) % 3, ids=range(N))
        classes.predict(X), classes.predict_proba(X)
        return lambda: (model.forget(owners=VICTIM), classes.forget(ids=VICTIM))

    def a_regression_of_another_byte_order(X):
        swapped = X.astype(X.dtype.newbyteorder())
        weights = np.arange(N) % 5
        model = Ridge().fit(swapped[:, :HALF], swapped[:, HALF:], ids=range(N))
        model.update(swapped[:, :HALF], swapped[:, HALF:], ids=range(N))
        other = Ridge().fit(np.eye(5, HALF), np.eye(5, HALF), sample_weight=np.ones(5))
        other.learn(swapped[:, :HALF], swapped[:, HALF:], ids=range(N), sample_weight=weights)
        swapped[:] = 0
        return lambda: (model.forget(ids=VICTIM), other.forget(ids=VICTIM))

    def forests(X):
        # The first column is a target: the mean of a leaf may be a value of it, which goes too.
        number = ForestRegressor(5, random_state=1).fit(X[:, 1:], X[:, 0], ids=range(N))
        classes = ForestClassifier(5, lazy=True, missing=True, random_state=1)
        classes.fit(X.tolist(), np.arange(N) % 3, ids=range(N))
        number.predict(X[:, 1:]), classes.predict_proba(X), classes.apply(X), number.verify()
        copy.deepcopy(classes).forget(ids=VICTIM)
        return lambda: (number.forget(ids=VICTIM), classes.forget(ids=VICTIM))

    cases = [nothing_but_an_array, *map(fitted, ("pyramid", "lloyd"))]
    cases += [a_regression, a_regression_of_another_byte_order, forests]
    cases += [by_owner_and_asked, scored, learned, updated, updated_to_another, weighted]
    cases += [of_another_byte_order, with_made_ids, copied]
    try:
        import pandas
        cases += [a_data_frame, a_frame_of_many_kinds]
    except ImportError:
        pass
    for case in cases:
        check(case)
"""

STORES = """
    assert efface.wipes_memory()
    folder = tempfile.TemporaryDirectory()

    def made(X, **options):
        path = os.path.join(folder.name, str(len(os.listdir(folder.name))))
        store = efface.create(path, X, ids=range(len(X)), **options)
        store.fit("all", KMeans(3, method="lloyd", random_state=1))
        store.fit("some", KMeans(3, n_init=2), columns=range(0, D, 2))
        return store

    def forgets(store, **request):
        '''Of a store that stays open, and of a copy of a model.'''
        model = store.load("all")

        def forget():
            store.forget(**(request or {"ids": VICTIM}))
            model.forget(ids=VICTIM)

        return forget

    def by_id(X):
        return forgets(made(X))

    def by_owner(X):
        store = made(X, owners=[f"p{i % 50}" for i in range(N)], keep_texts=True)
        return forgets(store, owners=f"p{VICTIM % 50}")

    def learned(X):
        store = made(X[:100])
        store.learn(X[100:], ids=range(100, N))
        store.predict("all", X), store.verify(), store.check()
        return forgets(store)

    def updated(X):
        store = made(np.eye(N, D))
        store.update(X, ids=range(N))
        return forgets(store)

    def a_data_frame_in_another_order(X):
        names = [f"c{j}" for j in range(D)]
        frame = pandas.DataFrame(X, columns=names, copy=False)
        store = made(frame[:100])
        other = pandas.DataFrame(X[:, ::-1], columns=names[::-1], copy=False)
        store.learn(other[100:], ids=range(100, N))
        store.load("all").learn(other, ids=range(N, 2 * N))
        store.predict("all", other)
        return forgets(store)

    cases = [by_id, by_owner, learned, updated]
    try:
        import pandas
        cases.append(a_data_frame_in_another_order)
    except ImportError:
        pass
    for case in cases:
        check(case, anywhere=True)
"""


def run(code, seed, dtype):
    command = [sys.executable, "-c", textwrap.dedent(SCENE) + textwrap.dedent(code)]
    # Memory that is freed stays in the process, where the search can see what is in it.
    keep = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}
    result = subprocess.run(
        [*command, str(seed), dtype], capture_output=True, text=True, env={**os.environ, **keep}
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_models(dtype):
    run(MODELS, 1, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_stores(dtype):
    run(STORES, 2, dtype)


# ------------------------------------------------------------------ one copy at a time


SPIED = ("fit", "row_ids", "predict", "square_distances", "loss_of", "learn", "update")


class Spy:
    """Something of the extension, with a note of the rows that it is given."""

    def __init__(self, inner, seen):
        self._inner, self._seen = inner, seen

    def __getattr__(self, name):
        value = getattr(self._inner, name)
        if not callable(value):
            return value

        def called(*arguments):
            if name in SPIED:
                self._seen.append(next(a for a in arguments if np.ndim(a) == 2))
            return value(*arguments)

        return called


def spoiled(X):
    """Rows of another kind, with the weight 0 for some: copies cannot be avoided."""
    return X.tolist(), X.astype(">f8"), X.astype(np.float16), pd.DataFrame(X[:, ::-1]).iloc[:, ::-1]


@pytest.mark.parametrize("which", range(4), ids=["list", "byte order", "half", "frame"])
def test_copies_are_overwritten(rng, monkeypatch, tmp_path, which):
    X = rng.randint(1, 100, size=(50, 4)).astype(np.float32)
    given = spoiled(X)[which]
    before, seen = np.array(given), []
    monkeypatch.setattr(_estimator, "_efface", Spy(_estimator._efface, seen))
    weights = np.arange(50) % 2
    model = KMeans(3).fit(given, ids=range(50), sample_weight=weights)
    model._model._models = Spy(model._model._models, seen)
    model.predict(given), model.transform(given), model.score(given, sample_weight=weights)
    model.learn(given, ids=range(50, 100), sample_weight=weights)
    with efface.create(tmp_path / "store", pd.DataFrame(X, columns=list("abcd"))) as store:
        store._file = Spy(store._file, seen)
        store.learn(given if which < 3 else given.set_axis(list("dbca"), axis=1))
    theirs = [array for array in seen if np.may_share_memory(array, np.asarray(given))]
    assert len(seen) == 6 and len(theirs) == (2 if which == 3 else 0)
    assert not any(array.any() for array in seen if not any(array is one for one in theirs))
    np.testing.assert_array_equal(np.array(given), before)


@pytest.mark.parametrize("as_lists", [False, True])
def test_copies_with_targets_are_overwritten(rng, monkeypatch, as_lists):
    rows = rng.randint(1, 100, size=(50, 5)).astype(np.float32)
    X, y = (rows[:, :3].tolist(), rows[:, 3:].tolist()) if as_lists else np.hsplit(rows, [3])
    before, seen, read = rows.copy(), [], _targets.Values.read

    def noted(self, *arguments):
        given = read(self, *arguments)
        seen.append(given.values)
        return given

    monkeypatch.setattr(_targets.Values, "read", noted)
    monkeypatch.setattr(_estimator, "_efface", Spy(_estimator._efface, seen))
    weights = np.arange(50) % 2
    model = Ridge().fit(X, y, ids=range(50), sample_weight=weights)
    model._model._models = Spy(model._model._models, seen)
    model.learn(X, y, ids=range(50, 100), sample_weight=weights)
    model.predict(X)
    model.update(X[:1], y[:1], ids=[51])
    theirs = [array for array in seen if np.may_share_memory(array, rows)]
    assert len(seen) == 7 and len(theirs) == (0 if as_lists else 3)
    assert not any(array.any() for array in seen if not any(array is one for one in theirs))
    np.testing.assert_array_equal(rows, before)
