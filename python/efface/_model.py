"""A fitted model with its rows: what can be asked of it."""

import functools
import threading

import numpy as np

from . import _efface
from ._arrays import WEIGHT_UNIT, check_weights, number_labels, plain_rows
from ._reports import Difference, ModelInfo


def _of_one_state(method):
    """For an answer that takes several calls of the extension: no other thread changes the model
    between them."""

    @functools.wraps(method)
    def locked(self, *arguments, **named):
        with self._lock:
            return method(self, *arguments, **named)

    return locked


class Model:
    """A fitted model and the rows it was fitted to.

    `KMeans` holds one; `Store.load` hands one out. Results are computed when they are asked for,
    and kept until the model changes. With several runs (`n_init`) answers come from the run of the
    least loss, the first of them if there are several.
    """

    __slots__ = (
        "_cache",
        "_has_arrivals",
        "_has_owners",
        "_lock",
        "_models",
        "_params",
        "_weight_unit",
    )

    def __init__(
        self, models, *, params=None, weight_unit=1, has_owners=True, has_arrivals=True
    ):
        self._models = models
        self._params = params
        self._weight_unit = weight_unit
        self._has_owners = has_owners
        self._has_arrivals = has_arrivals
        self._cache = {}
        self._lock = threading.RLock()

    def __repr__(self):
        n_rows, n_columns = self.shape
        return (
            f"<Model: {len(self.cluster_centers_)} clusters of {n_rows:,} rows with {n_columns} "
            f"features, digest {self.digest()[:16]}...>"
        )

    def _change(self, verb, *arguments):
        """Calls a method that changes the models; what was computed before is dropped.

        Before and after: an exception of a signal handler may come right after the change.
        """
        with self._lock:
            self._cache = {}
            try:
                return verb(*arguments)
            finally:
                self._cache = {}

    def _look(self, verb, *arguments):
        """Calls a method that changes nothing but the positions of rows."""
        with self._lock:
            try:
                return verb(*arguments)
            finally:
                self._cache.pop("order", None)

    def _cached(self, name, compute):
        with self._lock:
            cache = self._cache  # a change meanwhile, by a signal handler, replaces it
            if name not in cache:
                cache[name] = compute()
            return cache[name]

    def _keep_absent(self, X, ids):
        """Answers for rows of a fit that have the weight 0 as well, until the next change."""
        self._cache.update(ids=ids, labels=self._predict_array(X), absent=True)

    def _choose_run(self):
        n_runs = self._models.shape()[2]
        return 0 if n_runs == 1 else int(np.argmin([self._models.loss(r) for r in range(n_runs)]))

    @property
    def run(self):
        """The number of the run that answers."""
        return self._cached("run", self._choose_run)

    @property
    def shape(self):
        """Rows and columns."""
        return self._models.shape()[:2]

    @property
    @_of_one_state
    def info(self):
        """What is known of the fit, as a ModelInfo."""
        return ModelInfo(*self._models.info(self.run))

    # -------------------------------------------------------------- the rows

    def _column(self, place, dtype):
        """One of the arrays of Models.rows, in the order of positions."""
        arrays = [None] * 5
        arrays[place] = np.empty(self.shape if place == 0 else self.shape[0], dtype=dtype)
        self._models.rows(*arrays)
        return arrays[place]

    def _order(self):
        """Positions in the order of arrival; None if that is the order of positions, or unknown."""
        if not self._has_arrivals:
            return None
        arrivals = self._column(4, np.int64)
        in_order = bool((arrivals[1:] >= arrivals[:-1]).all())
        return None if in_order else np.argsort(arrivals, kind="stable")

    def _in_order(self, values):
        order = self._cached("order", self._order)
        return values if order is None else values[order]

    @property
    def ids_(self):
        """The ids of the rows, in the order in which the rows came."""
        return self._cached("ids", lambda: self._in_order(self._column(1, np.uint64)))

    @property
    @_of_one_state
    def owners_(self):
        """The owners of the rows, in the order of `ids_`; 0 for none."""
        return self._in_order(self._column(3, np.uint64))

    @property
    @_of_one_state
    def rows_(self):
        """The rows themselves, in the order of `ids_`."""
        return self._in_order(self._column(0, np.float32))

    # -------------------------------------------------------------- the clusters

    def _centers(self):
        centers = np.empty((self.info.n_clusters, self.shape[1]))
        self._models.centroids(self.run, centers)
        return centers

    def _labels(self):
        labels = np.empty(self.shape[0], dtype=np.int32)
        self._models.labels(self.run, labels)
        return self._in_order(labels)

    @property
    def cluster_centers_(self):
        """The centroids in the units of the data."""
        return self._cached("centers", self._centers)

    @property
    def labels_(self):
        """The cluster of each row, in the order of `ids_`."""
        return self._cached("labels", self._labels)

    @property
    def inertia_(self):
        """The sum of weighted squared distances of the rows to their centroids."""
        loss = self._cached("loss", lambda: self._models.loss(self.run))
        return loss / self._weight_unit

    @_of_one_state
    def _predict_array(self, X):
        """`predict` for an array that was checked."""
        labels = np.empty(X.shape[0], dtype=np.int32)
        self._models.predict(self.run, X, labels)
        return labels

    @_of_one_state
    def _transform_array(self, X):
        """`transform` for an array that was checked."""
        distances = np.empty((X.shape[0], self.info.n_clusters))
        self._models.square_distances(self.run, X, distances)
        return np.sqrt(distances, out=distances)

    @_of_one_state
    def _score_array(self, X, sample_weight=None):
        """`score` for an array that was checked."""
        weights = check_weights(sample_weight, X.shape[0])
        if weights is None:
            return -self._models.loss_of(self.run, X, None)
        present = weights > 0
        if not present.all():
            X, weights = X[present], weights[present]
        return -self._models.loss_of(self.run, X, weights) / WEIGHT_UNIT

    def predict(self, X):
        """The nearest centroid of each row of X."""
        return self._predict_array(plain_rows(X))

    def transform(self, X):
        """The distance of each row of X to each centroid."""
        return self._transform_array(plain_rows(X))

    def score(self, X, y=None, sample_weight=None):
        """Minus the sum of weighted squared distances of the rows of X to their centroids."""
        return self._score_array(plain_rows(X), sample_weight)

    # -------------------------------------------------------------- the state

    @_of_one_state
    def digest(self):
        """The BLAKE2b-256 digest of the canonical bytes, in hexadecimal digits."""
        return self._models.digest(self.run).hex()

    @_of_one_state
    def encode(self):
        """The canonical bytes of the state (docs/format.md)."""
        return self._models.encode(self.run)

    @_of_one_state
    def verify(self):
        """Fits the rows that are there anew and compares the states byte by byte.

        Returns
        -------
        Difference
            True if the states of all runs are identical.
        """
        for run in range(self._models.shape()[2]):
            difference = Difference(*self._models.verify(run))
            if not difference:
                break
        return difference

    @_of_one_state
    def silhouette(self, labels=None, max_rows=10_000):
        """The mean silhouette of the rows, in [-1, 1]; see `metrics.silhouette_score`."""
        if max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, not {max_rows}")
        if labels is not None:
            labels = number_labels(labels)
            order = self._cached("order", self._order)
            if order is not None and labels.shape == order.shape:
                by_position = np.empty_like(labels)
                by_position[order] = labels
                labels = by_position
        return self._models.silhouette(self.run, labels, int(max_rows))

    # -------------------------------------------------------------- pickling

    @_of_one_state
    def __reduce__(self):
        seeds = self._models.seeds()
        if seeds is None:
            raise TypeError("a model of a store cannot be pickled: the store keeps its seed")
        n_rows = self.shape[0]
        values = np.empty(self.shape, dtype=np.float32)
        ids, owners = np.empty(n_rows, np.uint64), np.empty(n_rows, np.uint64)
        weights, arrivals = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
        self._models.rows(values, ids, weights, owners, arrivals)
        states = tuple(self._models.encode(run) for run in range(len(seeds)))
        return _restore, (
            self._params,
            seeds,
            self._weight_unit,
            self._has_owners,
            (values, ids, weights, owners, arrivals),
            states,
            {name: self._cache[name] for name in ("ids", "labels", "absent")}
            if "absent" in self._cache
            else {},
        )


def _restore(params, seeds, weight_unit, has_owners, rows, states, answers):
    """Makes a model again from its pickle."""
    values, ids, weights, owners, arrivals = rows
    models = _efface.fit(
        values, ids, weights, owners, WEIGHT_UNIT, params, seeds, arrivals, states
    )
    model = Model(models, params=params, weight_unit=weight_unit, has_owners=has_owners)
    model._cache.update(answers)
    return model
