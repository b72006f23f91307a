"""Threads, signal handlers and callbacks that meet at one model: they take turns, or get an
exception; none sees or makes a state that is half one and half another."""

import signal
import threading

import numpy as np
import pytest

import efface
from efface import KMeans


@pytest.fixture(scope="module")
def rows():
    return efface.datasets.make_gaussian(20, 8, 500, seed=1)[0]


def in_threads(*works):
    """Runs all at once, and gives the exceptions that they raised."""
    errors, start = [], threading.Barrier(len(works))

    def run(work):
        try:
            start.wait()
            work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def learner(model, rows, first, n_batches=40, n_each=5):
    def work():
        for batch in range(n_batches):
            begin = first + batch * n_each
            chosen = np.arange(begin, begin + n_each)
            model.learn(rows[chosen], ids=chosen)

    return work


def test_threads_that_learn_get_numbers_of_their_own(rows):
    """Rows are given back in the order in which they came: every row has another number."""
    model = KMeans(5, random_state=0, n_threads=1).fit(rows[:100], ids=range(100))
    firsts = (1000, 2000, 3000, 4000)
    assert in_threads(*(learner(model, rows, first) for first in firsts)) == []
    arrivals = model._model._column(4, np.int64)
    assert len(np.unique(arrivals)) == len(arrivals) == 900
    assert sorted(arrivals) == list(range(900))
    ids = model.ids_
    np.testing.assert_array_equal(ids[:100], range(100))
    for first in firsts:
        mine = ids[(ids >= first) & (ids < first + 200)]
        np.testing.assert_array_equal(mine, range(first, first + 200))
    assert model.verify()


def test_the_extension_alone_numbers_rows_of_threads(rows):
    """The same without the lock of the Python layer: numbers are given behind the gate, not when
    the arguments are read."""
    model = KMeans(5, random_state=0, n_threads=1).fit(rows[:100], ids=range(100))
    inner, X = model._model._models, rows.astype(np.float64)

    def work(first):
        for begin in range(first, first + 200, 5):
            chosen = np.arange(begin, begin + 5)
            inner.learn(X[chosen], chosen, None, None, 1024)

    errors = in_threads(*(lambda first=first: work(first) for first in (1000, 2000, 3000, 4000)))
    arrivals = model._model._column(4, np.int64)
    assert errors == [] and sorted(arrivals) == list(range(900))


def test_threads_that_learn_equal_rows_without_ids(rows):
    model = KMeans(5, random_state=0, n_threads=1).fit(rows[:100])

    def work():
        for _ in range(25):
            model.learn(rows[:3])

    assert in_threads(work, work, work, work) == []
    assert len(np.unique(model.ids_)) == 400 and model.verify()
    assert model.digest() == KMeans(5, random_state=0).fit(model._model.rows_).digest()


def test_threads_learn_forget_update_and_ask(rows):
    model = KMeans(5, random_state=0, n_threads=1, n_init=2).fit(rows[:500], ids=range(500))

    def forget():
        for i in range(0, 200, 5):
            model.forget(ids=range(i, i + 5))

    def update():
        for i in range(200, 300, 5):
            model.update(rows[i : i + 5] + 1, ids=range(i, i + 5))

    def ask():
        for _ in range(30):
            ids, owners, labels = model.ids_, model.owners_, model.labels_
            assert len(np.unique(ids)) == len(ids) and owners.mask.all() and labels.max() < 5
            model.preview(ids=499), model.inertia_, model.n_iter_

    works = forget, update, ask, ask, learner(model, rows, 1000), learner(model, rows, 2000)
    assert in_threads(*works) == []
    X = rows.copy()
    X[200:300] += 1
    left = [*range(200, 500), *range(1000, 1200), *range(2000, 2200)]
    fresh = KMeans(5, random_state=0, n_init=2).fit(X[left], ids=left)
    assert model.digest() == fresh.digest() and model.verify()


# ------------------------------------------------------------------ one thread, twice inside


class Nosy:
    """The inner models, with something that happens in the middle of a call."""

    def __init__(self, inner, name, happens):
        self._inner, self._name, self._happens = inner, name, happens

    def __getattr__(self, name):
        method = getattr(self._inner, name)
        if name != self._name:
            return method

        def nosy(*arguments):
            self._happens()
            return method(*arguments)

        return nosy


def caught(call):
    """A call such as a signal handler makes, which keeps its exception to itself."""
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return "no error"


@pytest.mark.parametrize("verb", ["forget", "learn", "update", "preview", "rekey"])
def test_what_interrupts_an_answer_cannot_change_the_model(rows, verb):
    model = KMeans(5, random_state=0).fit(rows[:300], ids=range(300))
    model.forget(ids=[3])  # positions are no longer in the order of arrival
    changes = {
        "forget": lambda: model.forget(ids=7),
        "learn": lambda: model.learn(rows[:1], ids=[1000]),
        "update": lambda: model.update(rows[:1], ids=[7]),
        "preview": lambda: model.preview(ids=7),
        "rekey": lambda: model.rekey(random_state=3),
    }
    expected, messages, inner = model.predict(model._model.rows_), [], model._model._models
    model._model._models = Nosy(inner, "labels", lambda: messages.append(caught(changes[verb])))
    try:
        np.testing.assert_array_equal(model.labels_, expected)
    finally:
        model._model._models = inner
    assert len(messages) == 1 and "not finished" in messages[0]
    changes[verb]()  # afterwards it can
    assert model.verify()


def test_what_interrupts_a_change_cannot_use_the_model(rows):
    model = KMeans(5, random_state=0).fit(rows[:300], ids=range(300))
    messages, inner = [], model._model._models

    def happens():
        for call in (lambda: model.labels_, lambda: model.forget(ids=9), model.verify):
            messages.append(caught(call))

    model._model._models = Nosy(inner, "forget", happens)
    try:
        model.forget(ids=7)
    finally:
        model._model._models = inner
    assert len(messages) == 3 and all("not finished" in message for message in messages)
    assert len(model.labels_) == 299 and model.verify()


def test_a_read_that_interrupts_a_read_is_answered(rows):
    model = KMeans(5, random_state=0).fit(rows[:300], ids=range(300))
    seen, inner = [], model._model._models
    model._model._models = Nosy(inner, "labels", lambda: seen.append(len(model.ids_)))
    try:
        assert len(model.labels_) == 300
    finally:
        model._model._models = inner
    assert seen == [300]


class Enough(Exception):
    pass


def test_a_signal_ends_the_wait_for_another_thread(rows):
    """The main thread waits for a model that another thread is using; the handler's exception does
    not have to wait as well."""
    model = KMeans(800, method="lloyd", max_iter=100, random_state=0, n_threads=1)
    model.fit(rows, ids=range(len(rows)))
    inner, done = model._model._models, threading.Event()

    def work():
        inner.verify(0)
        done.set()

    def handler(number, frame):
        raise Enough

    previous = signal.signal(signal.SIGALRM, handler)
    thread = threading.Thread(target=work)
    thread.start()
    answers = []
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Enough):
            while not done.is_set():
                answers.clear()
                answers.extend(map(inner.digest, [0]))  # an answer would be here before the handler
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        thread.join()
    assert answers == [] and inner.digest(0)
