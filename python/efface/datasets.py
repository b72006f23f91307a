"""Generated data sets: the same arguments give the same bits on every machine."""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import NDArray

from . import _efface

__all__ = ["make_gaussian"]


def make_gaussian(
    n_clusters: int = 5, n_features: int = 25, rows_per_cluster: int = 20_000, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """The benchmark set of spherical Gaussian clusters.

    Centers are uniform in the unit cube and the variance is 0.8.

    Parameters
    ----------
    n_clusters, n_features, rows_per_cluster : int
    seed : int

    Returns
    -------
    X : ndarray of float32, of shape (n_clusters * rows_per_cluster, n_features)
    y : ndarray of int32
        The cluster that each row was made for.
    """
    for name, value, high in (
        ("n_clusters", n_clusters, 2**24),
        ("n_features", n_features, 32767),
        ("rows_per_cluster", rows_per_cluster, 2**40),
        ("seed", seed, 2**64 - 1),
    ):
        if not 0 <= operator.index(value) <= high:
            raise ValueError(f"{name} must be in the range [0, {high}]. Got {value!r} instead.")
    n_rows = n_clusters * rows_per_cluster
    X = np.empty((n_rows, n_features), dtype=np.float32)
    y = np.empty(n_rows, dtype=np.int32)
    _efface.make_gaussian(n_clusters, n_features, rows_per_cluster, seed, X, y)
    return X, y
