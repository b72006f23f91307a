"""The law, through Python: whatever is called in whatever order, the state is that of a fresh fit
to the rows that are there."""

import os
import pickle
import warnings

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from efface import ForestClassifier, ForestRegressor, KMeans

# Few different values, so that there are equal rows, ties and empty clusters.
ROWS = st.lists(st.integers(-3, 3).map(lambda v: v / 2), min_size=2, max_size=2)
WEIGHTS = st.sampled_from([0.25, 1.0, 1.5, 3.0])
PEOPLE = [0, 1, 2, "Ada", "Bob"]
OWNERS = st.sampled_from([None, *PEOPLE])


class Law(RuleBasedStateMachine):
    """Rows are kept here as a dictionary: id to (values, weight, owner)."""

    estimator = KMeans

    @initialize(
        rows=st.lists(st.tuples(ROWS, WEIGHTS, OWNERS), min_size=1, max_size=40),
        method=st.sampled_from(["pyramid", "lloyd", "quantized", "tree"]),
        n_init=st.integers(1, 3),
        scale=st.sampled_from([None, "minmax", "standard"]),
        weighted=st.booleans(),
    )
    def fit(self, rows, method, n_init, scale, weighted):
        self.parameters = {
            "n_clusters": 3,
            "method": method,
            "n_init": n_init,
            "scale": scale,
            "random_state": 1,
            "rate": 0.5,
            "n_threads": 1,
        }
        self.weighted = weighted
        self.rows = dict(enumerate(rows))
        self.n_ever = len(rows)
        self.model = self.fresh()

    def arguments(self, rows, ids):
        values, weights, owners = zip(*rows)
        arguments = {"ids": list(ids), "owners": owners}
        if self.weighted:
            arguments["sample_weight"] = weights
        return np.array(values), arguments

    def fresh(self):
        X, arguments = self.arguments(self.rows.values(), self.rows.keys())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # there may be fewer rows than clusters
            return self.estimator(**self.parameters).fit(X, **arguments)

    def compare(self, fresh):
        """The results of the model and of a fresh fit."""
        np.testing.assert_array_equal(self.model.labels_, fresh.labels_)
        np.testing.assert_array_equal(self.model.cluster_centers_, fresh.cluster_centers_)
        assert self.model.inertia_ == fresh.inertia_

    @rule(data=st.data())
    @precondition(lambda self: self.rows)
    def forget_ids(self, data):
        ids = data.draw(st.sets(st.sampled_from(sorted(self.rows)), max_size=4))
        assert self.model.forget(ids=ids).rows_forgotten == len(ids)
        for i in ids:
            del self.rows[i]

    @rule(owner=st.sampled_from([*PEOPLE, 4, "Eve"]))
    def forget_owner(self, owner):
        gone = [i for i, row in self.rows.items() if row[2] == owner]
        report = self.model.forget(owners=owner, missing="skip")
        assert report.rows_forgotten == len(gone)
        for i in gone:
            del self.rows[i]

    @rule(rows=st.lists(st.tuples(ROWS, WEIGHTS, OWNERS), min_size=1, max_size=4))
    def learn(self, rows):
        ids = range(self.n_ever, self.n_ever + len(rows))
        X, arguments = self.arguments(rows, ids)
        assert self.model.learn(X, **arguments).rows_learned == len(rows)
        self.rows.update(zip(ids, rows))
        self.n_ever += len(rows)

    @rule(data=st.data(), row=st.tuples(ROWS, WEIGHTS, OWNERS))
    @precondition(lambda self: self.rows)
    def update(self, data, row):
        i = data.draw(st.sampled_from(sorted(self.rows)))
        X, arguments = self.arguments([row], [i])
        self.model.update(X, **arguments)
        owner = self.rows[i][2] if row[2] is None else row[2]  # an owner that is not given stays
        self.rows[i] = (*row[:2], owner)

    @rule(seed=st.integers(0, 5))
    def rekey(self, seed):
        self.model.rekey(random_state=seed)
        self.parameters["random_state"] = seed

    @rule()
    def pickle(self):
        self.model = pickle.loads(pickle.dumps(self.model))

    @rule(data=st.data())
    @precondition(lambda self: self.rows)
    def refuse_what_is_not_there(self, data):
        i = data.draw(st.sampled_from(sorted(self.rows)))
        for ids in ([i, 10**6], [i, i]):
            try:
                self.model.forget(ids=ids)
            except (LookupError, ValueError):
                continue
            raise AssertionError("an id that is not there, or comes twice")

    @invariant()
    def the_law(self):
        if not hasattr(self, "model"):
            return
        fresh = self.fresh() if self.rows else None  # scikit-learn's check of arrays refuses none
        if fresh is not None:
            self.compare(fresh)  # first: a lazy forest is not grown yet, and encoding grows it
        assert self.model.verify()
        np.testing.assert_array_equal(self.model.ids_, list(self.rows))
        owners = [row[2] for row in self.rows.values()]
        assert self.model.owners_.tolist() == owners
        known = self.model._model._owner_texts._known
        assert sorted(text for text, _ in known.values()) == sorted(
            {owner for owner in owners if isinstance(owner, str)}
        )
        assert fresh is None or self.model.encode() == fresh.encode()


def outcome(ask, X):
    """What a model answers. It refuses to predict if no tree has a row: then, how it does."""
    try:
        return ask(X)
    except ValueError as error:
        return str(error)


class ForestLaw(Law):
    """The same rows; the first value may be missing, and the second is a category. Classes or
    targets follow from values and weights, so that equal rows may have different ones."""

    @initialize(
        rows=st.lists(st.tuples(ROWS, WEIGHTS, OWNERS), min_size=1, max_size=40),
        estimator=st.sampled_from([ForestClassifier, ForestRegressor]),
        trees=st.sampled_from(["all", "some", "poisson"]),
        max_features=st.sampled_from([1, "default"]),
        min_samples_leaf=st.integers(1, 2),
        max_depth=st.sampled_from([None, 2]),
        missing=st.booleans(),
        lazy=st.booleans(),
        weighted=st.booleans(),
    )
    def fit(self, rows, estimator, trees, missing, weighted, **parameters):
        self.estimator = estimator
        self.parameters = {
            "n_estimators": 4,
            "rows": trees,
            "trees_per_row": 2,
            "missing": missing,
            "categories": [1],
            "random_state": 1,
            "n_threads": 1,
            **parameters,
        }
        self.weighted = weighted
        self.rows = dict(enumerate(rows))
        self.n_ever = len(rows)
        self.model = self.fresh()

    def arguments(self, rows, ids):
        X, arguments = super().arguments(rows, ids)
        weights = np.array([row[1] for row in rows])
        y = (2 * X[:, 0] + X[:, 1] + 4 * weights).round() % 3
        if self.parameters["missing"]:
            X[X[:, 0] == 1.5, 0] = np.nan
        return X, {"y": y.astype(int), **arguments}

    def compare(self, fresh):
        X, _ = self.arguments([([a / 2, b / 2], 1, None) for a in range(-3, 4) for b in range(4)],
                              range(28))
        for name in ("predict", "predict_proba", "apply"):
            if hasattr(fresh, name):
                mine, expected = (outcome(getattr(one, name), X) for one in (self.model, fresh))
                np.testing.assert_array_equal(mine, expected)
        np.testing.assert_array_equal(
            self.model.feature_importances_, fresh.feature_importances_
        )


TestLaw = Law.TestCase
TestForestLaw = ForestLaw.TestCase
TestLaw.settings = TestForestLaw.settings = settings(
    max_examples=int(os.environ.get("EFFACE_TEST_CASES", 50)),
    stateful_step_count=15,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
