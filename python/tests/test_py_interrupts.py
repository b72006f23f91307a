"""Long calls: Ctrl-C ends them, other threads run meanwhile, and threads share a model safely."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import efface
from efface import ForestRegressor, KMeans


@pytest.fixture(scope="module")
def rows():
    return efface.datasets.make_gaussian(50, 16, 2000, seed=1)[0]


def interrupt_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_fit_is_interrupted(rows, method):
    """Without the interruption this takes minutes."""
    slow = KMeans(500, method=method, max_iter=1000, n_init=100, random_state=0)
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt_after(0.3)
        slow.fit(rows)
    assert time.monotonic() - begin < 60
    assert not hasattr(slow, "labels_")


def test_the_fit_of_a_forest_is_interrupted(rows):
    slow = ForestRegressor(10_000, max_features=1.0, random_state=0, n_threads=1)
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt_after(0.3)
        slow.fit(rows, rows[:, 0])
    assert time.monotonic() - begin < 60
    assert not hasattr(slow, "size_")


def test_an_interrupted_change_changes_all_or_nothing(rows):
    model = KMeans(100, method="lloyd", random_state=0, n_init=10)
    model.fit(rows[:5000], ids=range(5000))
    for seconds in (0.05, 0.1, 0.2, 0.3):
        with pytest.raises(KeyboardInterrupt):
            interrupt_after(seconds)
            for seed in range(10**6):
                model.rekey(random_state=seed)
        assert model.verify()
        assert pickle.loads(pickle.dumps(model)).rekey(random_state=1).action == "refitted"
        fresh = KMeans(100, method="lloyd", random_state=model._model._models.seeds()[0], n_init=10)
        assert fresh.fit(rows[:5000], ids=range(5000)).digest() == model.digest()


def test_an_exception_of_a_handler_comes_through(rows):
    def handler(number, frame):
        raise TimeoutError("enough")

    previous = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(TimeoutError, match="enough"):
            KMeans(500, method="lloyd", max_iter=1000, n_init=100).fit(rows)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_a_handler_cannot_use_the_model_it_interrupts(rows):
    model = KMeans(100, method="lloyd", random_state=0, n_init=10)
    model.fit(rows[:5000], ids=range(5000))
    caught = []

    def handler(number, frame):
        try:
            model.predict(rows[:10])
        except RuntimeError as error:
            caught.append(str(error))

    previous = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        model.rekey(random_state=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert model.verify()
    assert caught == [] or "not finished" in caught[0]


def test_other_threads_run_meanwhile(rows):
    done = threading.Event()

    def work():
        try:
            KMeans(100, method="lloyd", max_iter=20, random_state=0, n_threads=1).fit(rows)
        finally:
            done.set()

    thread = threading.Thread(target=work)
    thread.start()
    turns = 0
    while not done.is_set():
        turns += 1
        time.sleep(0.001)
    thread.join()
    assert turns > 20


def test_threads_ask_while_others_change(rows):
    """What takes several calls of the extension is about one state all the same."""
    X, n = rows[:20_000], 20_000
    model = KMeans(10, random_state=0, n_threads=1).fit(X, ids=range(n))
    errors, done = [], threading.Event()

    def ask():
        try:
            while not done.is_set():
                ids = model.ids_
                assert (ids[1:] > ids[:-1]).all()
                assert len(model._model.rows_) <= n and len(model.labels_) <= n
                assert pickle.loads(pickle.dumps(model)).verify()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(2000):
        model.forget(ids=i * 7)
    done.set()
    for thread in threads:
        thread.join()
    assert errors == []


def test_threads_share_a_model(rows):
    model = KMeans(10, random_state=0, n_threads=1).fit(rows[:20_000], ids=range(20_000))
    errors = []

    def forget(first):
        try:
            for i in range(first, first + 200):
                model.forget(ids=i)
        except Exception as error:
            errors.append(error)

    def ask():
        try:
            for _ in range(50):
                assert model.predict(rows[:100]).max() < 10
                model.transform(rows[:10])
                model.verify()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=forget, args=(1000 * i,)) for i in range(4)]
    threads += [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    gone = np.concatenate([np.arange(1000 * i, 1000 * i + 200) for i in range(4)])
    left = np.delete(np.arange(20_000), gone)
    fresh = KMeans(10, random_state=0).fit(rows[left], ids=left)
    assert model.digest() == fresh.digest()


# ------------------------------------------------------------------ stores


def test_stores_are_interrupted(rows, tmp_path):
    """Whatever takes long with a store ends early; what was being committed is there in full."""
    with efface.create(tmp_path / "rows.store", rows[:20_000]) as store:
        store.fit("slow", KMeans(300, method="lloyd", max_iter=30, random_state=0, n_threads=1))
        n_stopped = 0
        for call in (
            lambda: store.verify(),
            lambda: store.learn(rows[20_000:] + 1),
            lambda: store.forget(ids=range(5000)),
            lambda: store.update(rows[5000:6000] + 1, ids=range(5000, 6000)),
            lambda: store.rekey("slow"),
            lambda: store.fit("more", KMeans(300, method="lloyd", n_init=3, max_iter=300)),
        ):
            before = store.digest("slow"), store.n_rows, store.info.n_receipts
            with pytest.raises(KeyboardInterrupt):
                interrupt_after(0.05)
                call()
                time.sleep(60)
            after = store.digest("slow"), store.n_rows, store.info.n_receipts
            n_stopped += after == before
            assert after == before or store.verify()
        assert n_stopped >= 3
        assert [model.name for model in store.models] == ["slow"] and store.check() == []


def test_a_handler_cannot_use_the_store_it_interrupts(rows, tmp_path):
    caught = []
    with efface.create(tmp_path / "rows.store", rows[:20_000]) as store:
        store.fit("slow", KMeans(100, method="lloyd", max_iter=30, random_state=0, n_threads=1))

        def handler(number, frame):
            for call in (store.close, lambda: store.forget(ids=1), lambda: store.n_rows):
                try:
                    call()
                except RuntimeError as error:
                    caught.append(str(error))

        previous = signal.signal(signal.SIGALRM, handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            assert store.verify()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
        assert len(caught) == 3 and all("not finished" in message for message in caught)
        assert store.n_rows == 20_000 and store.verify()
