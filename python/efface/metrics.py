"""How good a clustering is, and how much two of them agree."""

import numpy as np

from . import _efface

__all__ = ["adjusted_rand_score", "normalized_mutual_info_score", "silhouette_score"]


def _labels(labels):
    """Labels of any kind as 32-bit numbers."""
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"labels must be 1D: shape is {array.shape}")
    return np.unique(array, return_inverse=True)[1].astype(np.uint32)


def adjusted_rand_score(labels_true, labels_pred):
    """Adjusted Rand index: 1 for the same partition, 0 on average for random ones."""
    return _efface.ari(_labels(labels_true), _labels(labels_pred))


def normalized_mutual_info_score(labels_true, labels_pred):
    """Mutual information, normalized by the mean of the entropies: 1 for the same partition."""
    return _efface.nmi(_labels(labels_true), _labels(labels_pred))


def silhouette_score(model, labels=None, max_rows=10_000):
    """Mean silhouette of the rows of a fitted model, in [-1, 1].

    Parameters
    ----------
    model : KMeans or Model
    labels : array-like of int, optional
        One label for each row, in the order of `ids_`; by default the model's own.
    max_rows : int
        The rows that take part are chosen by id, so that they are the same whatever their order.
    """
    return getattr(model, "_model", model).silhouette(labels, max_rows)
