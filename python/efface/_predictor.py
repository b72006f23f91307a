"""Published models: files that predict, and have nothing else of the store they come from."""

import errno
import os

import numpy as np

from . import _efface
from ._rows import rows_by_name


class Predictor:
    """A published model; see `load_predictor`. It never changes, and threads may share it."""

    def __init__(self, item):
        self._item = item

    @property
    def n_clusters(self):
        """How many centroids there are."""
        return self._item.info()[0]

    @property
    def n_features(self):
        """How many features a row has."""
        return self._item.info()[1]

    @property
    def scale(self):
        """How features are scaled before distances are taken: 'minmax' or None."""
        return "minmax" if self._item.info()[2] else None

    @property
    def feature_names(self):
        """The names of the features; None if they have none."""
        names = self._item.columns()
        return None if None in names else names

    @property
    def offset(self):
        """What is taken from each feature before it is rounded to float32; None if nothing."""
        offsets = self._item.offsets()
        return None if offsets is None else np.array(offsets)

    @property
    def cluster_centers_(self):
        """The centroids, in the units of the data."""
        centroids = np.empty((self.n_clusters, self.n_features))
        self._item.centroids(centroids)
        return centroids

    def predict(self, X):
        """The nearest centroid of each row of X, bit for bit that of the model that was published.
        A data frame is matched by name."""
        with rows_by_name(X, self.feature_names, "the published model") as rows:
            n_rows, n_features = rows.array.shape
            if n_features != self.n_features:
                raise ValueError(
                    f"X has {n_features} features, but the published model has {self.n_features}"
                )
            labels = np.empty(n_rows, dtype=np.int32)
            self._item.predict(rows.array, labels)
            return labels

    def __repr__(self):
        return f"<Predictor: {self.n_clusters} clusters, {self.n_features} features>"


def load_predictor(path):
    """Reads a published model (`Store.publish`, `efface publish`). Needs no store and no rows.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    Predictor
    """
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    return Predictor(_efface.load_predictor(path))
