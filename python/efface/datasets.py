"""Generated data sets: the same arguments give the same bits on every machine."""

import numpy as np

from . import _efface

__all__ = ["make_gaussian"]


def make_gaussian(n_clusters=5, n_features=25, rows_per_cluster=20_000, seed=0):
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
    n_rows = n_clusters * rows_per_cluster
    X = np.empty((n_rows, n_features), dtype=np.float32)
    y = np.empty(n_rows, dtype=np.int32)
    _efface.make_gaussian(n_clusters, n_features, rows_per_cluster, seed, X, y)
    return X, y
