"""Segmented regression: k-means, and a linear regression in each cluster, that forget together."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ._bases import MultiOutputMixin, RegressorMixin
from ._estimator import Estimator
from ._fitted import of_model, of_one_state
from ._kmeans import KMEANS_RULES, ClusterResults, kmeans_parameters
from ._linear import TARGET_OFFSET_RULE, ridge_parameters
from ._model import Model
from ._parameters import or_none, real
from ._rows import spread_rows
from ._sums import IS_FLAG, SumsEstimator
from ._types import (
    Clusters,
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


class _Segments:
    """What a SegmentedRegression and its Model are asked alike."""

    __slots__ = ()

    def segments(self, X: ArrayLike) -> Clusters:
        """The segment of each row of X, by whose regression it is predicted."""
        model = self._fitted()
        with self._rows(X) as rows:
            return model._segments(rows.array)


class SegmentedModel(_Segments, ClusterResults, Model, kinds=["segmented regression"]):
    """A fitted segmented regression and the rows it was fitted to; see `Model`.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_segments, n_features)
    labels_ : ndarray of shape (n_rows,)
    coef_ : ndarray of shape (n_segments, n_features) or (n_segments, n_targets, n_features)
    intercept_ : ndarray of shape (n_segments,) or (n_segments, n_targets)
    """

    __slots__ = ()

    def _coefficients(self):
        """A row for each segment and target, the intercept first."""
        table = self._cached("coefficients", lambda: self.table("coefficients"))
        table = table.reshape(-1, len(self._targets), table.shape[1])
        return table[:, 0] if self._y.flat else table

    @property
    def coef_(self) -> Reals:
        """The coefficients of the features in each segment."""
        return self._coefficients()[..., 1:]

    @property
    def intercept_(self) -> Reals:
        """The intercept of each segment."""
        return self._coefficients()[..., 0]

    @of_one_state
    def _segments(self, X):
        """The segments of the rows of an array."""
        out = np.empty(X.shape[0], dtype=np.int32)
        with spread_rows(X, self._inputs, self.shape[1]) as rows:
            self._models.segments(self.run, rows.array, out)
        return out


class SegmentedRegression(_Segments, MultiOutputMixin, RegressorMixin, Estimator):
    """k-means over the features, and a linear regression in each cluster, as one model from which
    rows can be removed exactly.

    y plays no part in the clusters. A segment without rows predicts the mean of all rows.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of segments.
    alpha : float, default=0.0
        The penalty of squared coefficients, as in `Ridge`.
    fit_intercept : bool, default=True
    sums_bound : float or None, default=None
        The largest allowed magnitude of a value in the regressions, also of y. None: derived from
        the rows.
    target_offset : float, array-like of shape (n_targets,), 'auto' or None, default=None
        A number to subtract from each target in float64, before the rounding to float32; see
        `LinearRegression`.
    method, max_iter, random_state, scale, bound, column_range, offset : optional
        As in `KMeans`, for the features.
    empty, candidates, epsilon, gamma, rate, passes, n_starts : optional
        As in `KMeans`.
    height, width, leaf_method, node_method, depth_clusters, weigh_centroids : optional
        As in `KMeans`.
    n_jobs : int or None, default=None
        The number of threads. None or -1: as many as there are processors; -2: one less, and so on.
        No result depends on it.
    n_threads : int or None, default=None
        Another name for `n_jobs`.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_segments, n_features)
        The centroids that the segments belong to.
    labels_ : ndarray of shape (n_rows,)
        The segment of each row, in the order in which rows came.
    coef_ : ndarray of shape (n_segments, n_features) or (n_segments, n_targets, n_features)
    intercept_ : ndarray of shape (n_segments,) or (n_segments, n_targets)
    n_iter_ : int
        The iterations of k-means.

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[0.0], [1.0], [2.0], [100.0], [101.0], [102.0]])
    >>> y = [0, 1, 2, 50, 48, 46]
    >>> model = efface.SegmentedRegression(n_clusters=2, random_state=0).fit(X, y, ids=range(6))
    >>> report = model.forget(ids=[1])
    >>> model.predict([[1.5], [101.5]])
    array([ 1.5, 47. ])
    """

    _family = "segmented"
    _learns = "values"
    _rules = {
        **{name: rule for name, rule in KMEANS_RULES.items() if name != "n_init"},
        "alpha": real(0.0, 1e100, closed=True),
        "fit_intercept": IS_FLAG,
        "sums_bound": or_none(real(0.0, 2.0**126)),
        "target_offset": TARGET_OFFSET_RULE,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        sums_bound: float | None = None,
        target_offset: Offset = None,
        method: Method = "pyramid",
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
        return {
            **ridge_parameters(parameters, parameters["alpha"]),
            **kmeans_parameters(parameters, n_features, offsets),
            "sums_bound": float(parameters["sums_bound"] or 0.0),
        }

    def _fit_parameters(self, parameters, n_features, offsets, n_targets=0, weight_unit=1):
        found = super()._fit_parameters(parameters, n_features, offsets, n_targets, weight_unit)
        for side in ("column_min", "column_max"):
            if found[side] is not None:  # the library wants a number for each column
                found[side] = np.append(found[side], np.zeros(n_targets, dtype=np.float32))
        return found

    _data_parameters = SumsEstimator._data_parameters

    cluster_centers_: Final[Reals] = of_model(SegmentedModel.cluster_centers_)
    labels_: Final[Clusters] = of_model(SegmentedModel.labels_)
    n_iter_: Final[int] = of_model(SegmentedModel.n_iter_)
    coef_: Final[Reals] = of_model(SegmentedModel.coef_)
    intercept_: Final[Reals] = of_model(SegmentedModel.intercept_)
    target_offset_: Final[Reals | None] = of_model(SegmentedModel.target_offset_)
