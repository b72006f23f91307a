"""Published models: files that predict, and have nothing else of the store they come from."""

import errno
import os

import numpy as np

from . import _efface
from ._arrays import answer_array, read_table
from ._rows import rows_by_name


class Predictor:
    """A published model; see `load_predictor`. It never changes, and threads may share it."""

    def __init__(self, item):
        self._item = item

    @property
    def family(self):
        """The kind of model, such as 'kmeans'."""
        return self._item.info()[0]

    @property
    def n_features(self):
        """How many features a row has."""
        return self._item.info()[1]

    @property
    def predicts(self):
        """What it predicts: 'clusters', 'classes', 'values' or 'probabilities'."""
        return self._item.info()[2]

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
    def tables(self):
        """The names of the tables that the model can be looked at through."""
        return tuple(name for name, *_ in self._item.tables())

    def table(self, name):
        """A table of the model, such as the centroids, in the units of the data."""
        return read_table(self._item.tables(), name, self._item.table)

    def predict(self, X):
        """What the model that was published predicts for each row of X, bit for bit. A data frame
        is matched by name."""
        with rows_by_name(X, self.feature_names, "the published model") as rows:
            _, _, predicts, n_numbers = self._item.info()
            n_rows, n_features = rows.array.shape
            if n_features != self.n_features:
                raise ValueError(
                    f"X has {n_features} features, but the published model has {self.n_features}"
                )
            out = answer_array(predicts, n_numbers, n_rows)
            self._item.predict(rows.array, out)
            return out

    def __repr__(self):
        return f"<Predictor: {self.family}, {self.n_features} features>"


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
