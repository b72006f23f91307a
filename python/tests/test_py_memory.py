"""Memory: no copy of the input beyond the library's own, and no leak."""

import subprocess
import sys
import textwrap

MEGABYTE = 1 << 20


def in_a_process(code):
    """Runs code that prints a number of bytes."""
    start = """
        import ctypes, gc, sys
        import numpy as np
        import efface
        from efface import KMeans

        class Mallinfo(ctypes.Structure):
            names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
            _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

        mallinfo = ctypes.CDLL(None).mallinfo2
        mallinfo.restype = Mallinfo

        def used():
            # Bytes of the C library's allocator, and Python's small blocks of 16 bytes or more.
            gc.collect()
            info = mallinfo()
            return info.uordblks + info.hblkhd + 16 * sys.getallocatedblocks()

        def least_growth(work, rounds):
            # Memory may grow now and then by chance; what leaks grows in every round.
            sizes = [used()]
            for _ in range(rounds):
                work()
                sizes.append(used())
            return max(0, min(b - a for a, b in zip(sizes[1:], sizes[2:])))

        def peak():
            with open("/proc/self/status") as file:
                line = next(line for line in file if line.startswith("VmHWM"))
            return int(line.split()[1]) * 1024

        def forget_peak():
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
    """
    code = textwrap.dedent(start) + textwrap.dedent(code)
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    return int(result.stdout)


def test_no_copy_of_float32():
    """64 MB of rows: the library's copy, some bytes a row, and no second copy."""
    for method in ("lloyd", "pyramid"):
        grown = in_a_process(f"""
            X = np.random.RandomState(0).uniform(size=(65536, 256)).astype(np.float32)
            KMeans(8, method={method!r}, n_threads=1).fit(X[:1000])  # what is loaded only once
            forget_peak()
            before = peak()
            model = KMeans(8, method={method!r}, n_threads=1).fit(X)
            assert model.predict(X).shape == (65536,)
            print(peak() - before)
        """)
        assert 60 * MEGABYTE < grown < 64 * MEGABYTE * 1.25


def test_no_copy_to_predict():
    """Rows of another type are converted a little at a time."""
    grown = in_a_process("""
        X = np.random.RandomState(0).uniform(size=(65536, 256))
        model = KMeans(8, n_threads=1).fit(X[:1000])
        forget_peak()
        before = peak()
        model.predict(X)
        print(peak() - before)
    """)
    assert grown < 16 * MEGABYTE


def test_no_leak():
    """10,000 fits and 20,000 forgets, in rounds of 2,000 after the first: a leak of 32 bytes each
    would be seen. Other methods are called a thousand times."""
    grown = in_a_process("""
        X = np.random.RandomState(0).uniform(size=(50, 3)).astype(np.float32)
        names = [f"row {i}" for i in range(50)]
        failures = 0

        def once(i):
            global failures
            method = ("pyramid", "lloyd", "quantized", "tree")[i % 4]
            model = KMeans(
                3, method=method, rate=0.1, n_init=1 + i % 2, random_state=i, n_threads=1
            )
            model.fit(X, ids=names, owners=names, sample_weight=1.0 if i % 3 else None)
            model.forget(ids=names[:3])
            model.forget(owners=names[5])
            if i % 10:
                return
            model.learn(X[:3].astype(float), ids=names[:3], owners=names[:3])
            model.labels_, model.ids_, model.cluster_centers_, model.inertia_
            model.transform(X), model.digest(), model.preview(ids=names[7])
            model.predict(X), model._model.info, model._model.tables
            for wrong in (lambda: model.forget(ids="x"), lambda: model.learn(X[:1], ids=["row 9"])):
                try:
                    wrong()
                except Exception:
                    failures += 1

        def some():
            for i in range(2000):
                once(i)

        print(least_growth(some, 6))
        assert failures == 2400
    """)
    assert grown < 20_000


def test_no_leak_of_forests(tmp_path):
    grown = in_a_process(f"""
        from efface import ForestClassifier, ForestRegressor
        X = np.random.RandomState(0).uniform(size=(50, 3)).astype(np.float32)
        X[::7, 1] = np.nan
        names = np.where(X[:, 0] > 0.5, "up", "down")
        path = {str(tmp_path / "out.model")!r}

        def once(i):
            kind, y = ((ForestClassifier, names), (ForestRegressor, X[:, 2]))[i % 2]
            model = kind(
                3, lazy=i % 3 == 0, missing=True, categories=[1], random_state=i, n_threads=1
            )
            model.fit(X, y, ids=range(50), sample_weight=1.0 if i % 3 else None)
            model.forget(ids=[1, 2, 3])
            model.learn(X[:2], y[:2], ids=[100, 101])
            model.apply(X), model.predict(X), model.size_, model.feature_importances_
            model.settle(), model.digest(), model.export(path, replace=True)
            efface.load_predictor(path).predict(X)
            try:
                model.export(path + "/no/where")
            except OSError:
                pass

        def some():
            for i in range(500):
                once(i)

        print(least_growth(some, 6))
    """)
    assert grown < 10_000


def test_no_leak_of_stores(tmp_path):
    grown = in_a_process(f"""
        X = np.random.RandomState(0).uniform(size=(50, 3)).astype(np.float32)
        names = [f"row {{i}}" for i in range(50)]
        path = {str(tmp_path / "s.store")!r}
        with efface.create(path, X, ids=names, owners=names, keep_texts=True) as store:
            store.fit("m", KMeans(3, method="lloyd", n_init=2))

        def some():
            for _ in range(100):
                with efface.open(path) as store:
                    store.preview(ids=names[:2]), store.models, store.columns("m"), store.info
                    model = store.load("m")
                    model.labels_, model.forget(ids=names[3]), model.learn(X[:1], owners=["new"])
                    store.find(owners=names[5]), store.owners(), store.row_hash("row 1")
                    store.verify(), store.check(), repr(store)
                    try:
                        store.forget(ids=["row 2", "nobody"])
                    except LookupError:
                        pass

        print(least_growth(some, 6))
    """)
    assert grown < 20_000
