"""The quality of a clustering, and the agreement of two clusterings."""

from __future__ import annotations

from numpy.typing import ArrayLike

from . import _efface
from ._arrays import number_labels
from ._kmeans import KMeans, KMeansModel

__all__ = ["adjusted_rand_score", "normalized_mutual_info_score", "silhouette_score"]


def adjusted_rand_score(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Adjusted Rand index: 1 for the same partition, 0 on average for random ones."""
    return _efface.ari(number_labels(labels_true), number_labels(labels_pred))


def normalized_mutual_info_score(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Mutual information, normalized by the mean of the entropies: 1 for the same partition."""
    return _efface.nmi(number_labels(labels_true), number_labels(labels_pred))


def silhouette_score(
    model: KMeans | KMeansModel, labels: ArrayLike | None = None, max_rows: int = 10_000
) -> float:
    """Mean silhouette of the rows of a fitted model, in [-1, 1].

    Parameters
    ----------
    model : KMeans or KMeansModel
    labels : array-like, optional
        One label for each row, in the order of `ids_`; by default the model's own.
    max_rows : int
        How many rows to use at most. They are chosen by id, so the order of rows does not matter.
    """
    if isinstance(model, KMeans):
        model = model._fitted()
    elif not isinstance(model, KMeansModel):
        raise TypeError(
            f"model must be a fitted KMeans or a KMeansModel, not {type(model).__name__}"
        )
    return model.silhouette(labels, max_rows)
