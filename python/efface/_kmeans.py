"""k-means as a scikit-learn estimator that can forget."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import WEIGHT_UNIT, check_weights, number_labels
from ._bases import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from ._estimator import Estimator
from ._fitted import of_model, of_one_state
from ._model import Model
from ._parameters import COMMON_RULES, one_of, or_none, real, whole
from ._rounding import Tails, warn_tails
from ._types import (
    Clusters,
    EachId,
    EachOwner,
    Empty,
    Method,
    NodeMethod,
    Offset,
    Range,
    Reals,
    Scale,
    Seed,
    Sizes,
)

_METHODS = ("pyramid", "lloyd", "quantized", "tree")
_MAX_CLUSTERS = 2**24


def _is_range(value):
    return isinstance(value, (tuple, list)) and len(value) == 2


KMEANS_RULES = {
    **COMMON_RULES,
    "n_clusters": whole(1, _MAX_CLUSTERS),
    "method": one_of(*_METHODS),
    "n_init": whole(1, 1000),
    "max_iter": or_none(whole(1, 1000)),
    "scale": or_none(one_of("minmax", "standard")),
    "bound": or_none(real(0.0, 2.0**126)),
    "column_range": (
        lambda v: v is None or _is_range(v),
        "a tuple of the lowest and the highest value of each feature, or None",
    ),
    "empty": one_of("reseed", "keep"),
    "candidates": or_none(whole(1, 64)),
    "epsilon": or_none(real(0.0, 1.0)),
    "gamma": real(0.0, 1.0, closed=True),
    "rate": or_none(real(0.0, 1.0)),
    "passes": whole(1, 10),
    "n_starts": whole(1, 100),
    "height": whole(0, 8),
    "width": or_none(whole(1, 2**20)),
    "leaf_method": one_of("lloyd", "quantized", "pyramid"),
    "node_method": one_of("lloyd", "quantized", "pyramid"),
    "depth_clusters": (
        lambda v: v is None or len(v) >= 0 and all(whole(1, _MAX_CLUSTERS)[0](k) for k in v),
        "a sequence of ints or None",
    ),
    "weigh_centroids": (lambda v: isinstance(v, (bool, np.bool_)), "a bool"),
}


class ClusterResults:
    """What a Model with clusters adds to its base."""

    __slots__ = ()

    @property
    def cluster_centers_(self) -> Reals:
        """The centroids in the units of the data."""
        return self._cached("centers", lambda: self.table("centroids"))

    @property
    def labels_(self) -> Clusters:
        """The cluster of each row, in the order of `ids_`."""
        return self._cached("labels", self._labels)

    def _labels(self):
        labels = np.empty(self.shape[0], dtype=np.int32)
        if len(labels):
            self._models.labels(self.run, labels)
        return self._in_order(labels)

    @property
    def n_iter_(self) -> int:
        """The iterations of k-means."""
        # A fit whose seeds are its centroids still passed over the rows once.
        return max(1, self.info.facts["iterations"])


class _Distances:
    """What KMeans and its Model are asked alike."""

    __slots__ = ()

    if TYPE_CHECKING:

        def predict(self, X: ArrayLike) -> Clusters: ...

    def transform(self, X: ArrayLike) -> Reals:
        """The distance of each row of X to each centroid (of scaled values, if scaled)."""
        model = self._fitted()
        with self._rows(X) as rows:
            return model._transform_array(rows.array)

    def score(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Minus the sum of weighted squared distances of the rows of X to their centroids."""
        model = self._fitted()
        with self._rows(X) as rows:
            return model._score_rows(rows, sample_weight)


class KMeansModel(_Distances, ClusterResults, Model, kinds=["k-means"]):
    """A fitted k-means model and the rows it was fitted to; see `Model`.

    With several runs (`n_init`), results come from the run with the least loss, or the first of
    several such runs.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    inertia_ : float
    n_iter_ : int
    method_ : str
    """

    __slots__ = ()

    def _called(self):
        return f"{len(self.cluster_centers_)} clusters of "

    def _choose_run(self):
        n_runs = self._models.shape()[2]
        return 0 if n_runs == 1 else int(np.argmin([self._models.loss(r) for r in range(n_runs)]))

    def _answers(self, X):
        return {"labels": self._predict_array(X)}

    @property
    def inertia_(self) -> float:
        """The sum of weighted squared distances of the rows to their centroids."""
        loss = self._cached("loss", lambda: self._models.loss(self.run))
        return loss / WEIGHT_UNIT if self._weighting == "parts" else loss

    @property
    def method_(self) -> str:
        """The method in use."""
        return self.info.facts["works_as"]

    @of_one_state
    def _transform_array(self, X):
        """`transform` for an array that was checked."""
        distances = np.empty((X.shape[0], len(self.cluster_centers_)))
        self._models.square_distances(self.run, X, distances)
        return np.sqrt(distances, out=distances)

    @of_one_state
    def _score_rows(self, rows, sample_weight=None):
        """`score` for Rows."""
        weights = check_weights(sample_weight, len(rows))
        if weights is None:
            return -self._models.loss_of(self.run, rows.array, None)
        present = None if weights.all() else weights > 0
        with rows.where(present) as some:
            loss = self._models.loss_of(
                self.run, some.array, weights if present is None else weights[present]
            )
        return -loss / WEIGHT_UNIT

    @of_one_state
    def silhouette(self, labels: ArrayLike | None = None, max_rows: int = 10_000) -> float:
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


class KMeans(
    _Distances, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator
):
    """k-means clustering from which rows can be removed exactly.

    After any sequence of `forget`, `learn` and `update` the state is byte for byte that of a fit
    to the present rows, with the same parameters and the same seed.

    Parameters
    ----------
    n_clusters : int, default=8
    method : {'pyramid', 'lloyd', 'quantized', 'tree'}, default='pyramid'
        'lloyd' is what scikit-learn does: k-means++ and Lloyd's iterations. 'pyramid' iterates on
        a small sample and finishes with a pass over all rows; most rows are then forgotten in
        microseconds. 'quantized' and 'tree' are the methods of the paper.
    n_init : int, default=1
        Runs with different seeds. All runs are kept and change together. Results come from the run
        with the least loss.
    max_iter : int or None, default=10
        Iterations at most; None: until nothing changes.
    random_state : int, RandomState or None, default=None
        The seed. None: a random seed that nobody knows. Use None if people may look at the model
        before they ask to be forgotten.
    scale : {'standard', 'minmax'} or None, default=None
        'standard' counts each feature in units of its deviation, rounded to a quarter of an octave
        by a random lattice, so that it seldom moves when rows leave; use it for features of
        different size. 'minmax' maps each feature from its smallest and largest value to [0, 1].
    bound : float or None, default=None
        The largest allowed magnitude of a value. None: derived from the rows.
    column_range : tuple of two arrays or None, default=None
        For scale 'minmax', the lowest and highest value of each feature.
    offset : array-like of shape (n_features,), 'auto' or None, default=None
        A number to subtract from each feature in float64, before the rounding to float32. float32
        keeps 24 bits: without an offset, seconds since 1970 would become multiples of 128. 'auto'
        chooses round numbers from X for the features that need an offset. Results are in the units
        of X. Later rows get the same offsets. `bound` is for values after the subtraction.
    empty : {'reseed', 'keep'}, default='reseed'
        What to do with a cluster without rows.
    candidates : int or None, default=None
        How many rows to try for each seed; the best row becomes the seed. None: as in scikit-learn,
        2 + log(n_clusters); 1 is plain k-means++.
    epsilon : float or None, default=None
        'quantized': width of the lattice as a part of the domain. 'pyramid': the same for the
        centroids that leave the sample; None: no lattice.
    gamma : float, default=0.2
        'quantized': clusters below gamma * n / k stay closer to their previous centroid.
    rate : float or None, default=None
        'pyramid': the part of the rows that is in the sample.
    passes : int, default=1
        'pyramid': passes over all rows.
    n_starts : int, default=4
        'pyramid': seedings tried on the sample.
    height, width : int, default=1 and None
        'tree': levels of nodes above the leaves, and children of a node.
    leaf_method, node_method : str, default='lloyd'
        'tree': the methods of leaves and of other nodes.
    depth_clusters : sequence of int or None, default=None
        'tree': clusters of the nodes at depth 1, ..., height.
    weigh_centroids : bool, default=True
        'tree': whether centroids count with the weight of their rows. False is the paper's tree.
    n_jobs : int or None, default=None
        The number of threads. None or -1: as many as there are processors; -2: one less, and so on.
        No result depends on it.
    n_threads : int or None, default=None
        Another name for `n_jobs`.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centroids in the units of the data; fewer than n_clusters if there are fewer rows.
    labels_ : ndarray of shape (n_rows,)
        The cluster of each row, in the order in which rows came.
    inertia_ : float
        Sum of weighted squared distances to the nearest centroid (of scaled values, if scaled).
    n_iter_ : int
    method_ : str
        The method in use: `method`, or 'lloyd' for 'pyramid' with too few rows for a sample.
    ids_, owners_, offset_, n_features_in_, feature_names_in_
        As in `Estimator`.

    Notes
    -----
    A pickle holds the rows and the seed: it is as confidential as they are, and rows that are
    forgotten later remain in it.

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = efface.KMeans(n_clusters=2, random_state=0).fit(X, ids=range(6))
    >>> report = model.forget(ids=[5])
    >>> bool(model.verify())
    True
    """

    _family = "kmeans"
    _rules = KMEANS_RULES

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        method: Method = "pyramid",
        n_init: int = 1,
        max_iter: int | None = 10,
        random_state: Seed = None,
        scale: Scale = None,
        bound: float | None = None,
        column_range: Range = None,
        offset: Offset = None,
        empty: Empty = "reseed",
        candidates: int | None = None,
        epsilon: float | None = None,
        gamma: float = 0.2,
        rate: float | None = None,
        passes: int = 1,
        n_starts: int = 4,
        height: int = 1,
        width: int | None = None,
        leaf_method: NodeMethod = "lloyd",
        node_method: NodeMethod = "lloyd",
        depth_clusters: Sizes = None,
        weigh_centroids: bool = True,
        n_jobs: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _family_parameters(self, parameters, n_features, offsets):
        return kmeans_parameters(parameters, n_features, offsets)

    def _findings(self, model):
        return model._models.findings(0)

    def _warn_of(self, found, parameters, names, stacklevel):
        n_rows, coarse, tails = found
        scale = parameters["scale"]
        _warn_few_rows(parameters["n_clusters"], n_rows, stacklevel + 1)
        _warn_coarse(coarse, scale, stacklevel + 1)
        warn_tails(Tails(*tails), n_rows, scale, names, stacklevel + 1)

    def fit_predict(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        ids: EachId | None = None,
        owners: EachOwner | None = None,
    ) -> Clusters:
        """Fits to X and gives the cluster of each row."""
        return self.fit(X, sample_weight=sample_weight, ids=ids, owners=owners).labels_

    cluster_centers_: Final[Reals] = of_model(KMeansModel.cluster_centers_)
    labels_: Final[Clusters] = of_model(KMeansModel.labels_)
    inertia_: Final[float] = of_model(KMeansModel.inertia_)
    n_iter_: Final[int] = of_model(KMeansModel.n_iter_)
    method_: Final[str] = of_model(KMeansModel.method_)
    transform = _Distances.transform  # scikit-learn's set_output looks for it in the class

    @property
    def _n_features_out(self):
        return len(self._fitted().cluster_centers_)


def kmeans_parameters(p, n_features, offsets):
    """The parameters of k-means as the extension takes them."""
    low, high = (_bounds(side, offsets) for side in p["column_range"] or (None, None))
    if np.size(low) != np.size(high) or (low is None) != (high is None):
        raise ValueError("column_range must have as many lower as upper bounds")
    if low is not None and len(low) != n_features:
        raise ValueError(f"there are bounds for {len(low)} features, but X has {n_features}")
    depths = p["depth_clusters"]
    return {
        "method": p["method"],
        "n_clusters": int(p["n_clusters"]),
        "iterations": int(p["max_iter"] or 0),
        "scale": p["scale"] or "none",
        "bound": float(p["bound"] or 0.0),
        "column_min": low,
        "column_max": high,
        "empty": p["empty"],
        "candidates": int(p["candidates"] or 0),
        "epsilon": float(p["epsilon"] or 0.0),
        "gamma": float(p["gamma"]),
        "rate": float(p["rate"] or 0.0),
        "passes": int(p["passes"]),
        "starts": int(p["n_starts"]),
        "height": int(p["height"]),
        "width": int(p["width"] or 0),
        "leaf_method": p["leaf_method"],
        "node_method": p["node_method"],
        "depth_clusters": None if depths is None else np.array(depths, dtype=np.uint32),
        "weigh_centroids": bool(p["weigh_centroids"]),
    }


def _bounds(values, offsets):
    """Bounds of features, minus the offsets."""
    if values is None:
        return None
    if offsets is not None and np.shape(values) == offsets.shape:
        values = np.asarray(values, dtype=np.float64) - offsets
    return np.ascontiguousarray(values, dtype=np.float32)


def _warn_few_rows(n_clusters, n_rows, stacklevel):
    """Warns if there are fewer rows, and so fewer centroids, than n_clusters."""
    if n_rows < n_clusters:
        warnings.warn(
            f"n_samples={n_rows} should be >= n_clusters={n_clusters}: the model has {n_rows} "
            f"centroid{'' if n_rows == 1 else 's'}, one for each row",
            stacklevel=stacklevel + 1,
        )


def _warn_coarse(columns, scale, stacklevel):
    """Warns about features that lose too much on the grid."""
    if columns:
        some = ", ".join(map(str, columns[:5])) + (", ..." if columns[5:] else "")
        advice = "use scale='standard'" if scale is None else "multiply them by a power of ten"
        warnings.warn(
            f"features {some} vary so little compared to the largest value that less than 8 "
            f"bits of them are kept: {advice}",
            stacklevel=stacklevel + 1,
        )
