"""Published models: files that predict, and have nothing else of the store they come from."""

from __future__ import annotations

import errno
import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _efface
from ._arrays import add_column_offsets, answer_array, read_table
from ._rows import rows_by_name, spread_rows
from ._targets import Classes
from ._types import Numbers, Path, Predicts, Reals


class Predictor:
    """A published model; see `load_predictor`. It never changes, and threads may share it."""

    def __init__(self, item):
        self._item = item

    @property
    def kind(self) -> str:
        """What it is, such as 'k-means' or 'linear regression'."""
        return self._item.info()[0]

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return len(self._item.form()[0])

    @property
    def predicts(self) -> Predicts:
        """What it predicts: 'clusters', 'classes', 'values' or 'probabilities'."""
        return self._item.info()[2]

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features; None if they have none."""
        names = self._item.columns()
        names = [names[column] for column in self._item.form()[0]]
        return None if None in names else names

    @property
    def offset(self) -> Reals | None:
        """What is taken from each feature before it is rounded to float32; None if nothing."""
        offsets = self._item.offsets()
        found = np.array(offsets or [0.0])[self._item.form()[0] if offsets else 0]
        return found if found.any() else None

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that the model can be looked at through."""
        return tuple(name for name, *_ in self._item.tables())

    def table(self, name: str) -> Reals:
        """A table of the model, such as the centroids, in the units of the data."""
        return read_table(self._item.tables(), name, self._item.table)

    @property
    def takes_missing(self) -> bool:
        """Whether values of rows may be missing, which is NaN."""
        return self._item.takes_missing()

    def predict(self, X: ArrayLike) -> Numbers:
        """What the model that was published predicts for each row of X, bit for bit. A data frame
        is matched by name."""
        _, _, predicts, n_numbers = self._item.info()
        out = self._ask(X, lambda n: answer_array(predicts, n_numbers, n), self._item.predict)
        add_column_offsets(out, self._item.form()[1], self._item.offsets())
        return self._classes().shown(out) if predicts == "classes" else out

    def _ask(self, X, make, ask):
        """An array that `make` makes for a number of rows, and `ask` fills for the rows of X."""
        whose = "the published model"
        inputs, *_, categories = self._item.form()
        places = {place for place, column in enumerate(inputs) if column in categories}
        with rows_by_name(X, self.feature_names, whose, self.takes_missing, places) as rows:
            n_rows, n_features = rows.array.shape
            if n_features != self.n_features:
                raise ValueError(
                    f"X has {n_features} features, but the published model has {self.n_features}"
                )
            out = make(n_rows)
            with spread_rows(rows.array, self._item.form()[0], self._item.info()[1]) as whole:
                ask(whole.array, out)
            return out

    def _scores(self, X, probabilities):
        classes = self._item.form()[2]
        out = self._ask(
            X,
            lambda n_rows: np.empty((n_rows, len(classes))),
            lambda rows, out: self._item.score(probabilities, rows, out),
        )
        return out[:, self._classes().order(classes)]

    def predict_proba(self, X: ArrayLike) -> Reals:
        """The probability of each class, in the order of `classes`, for each row of X."""
        return self._scores(X, True)

    def decision_function(self, X: ArrayLike) -> Reals:
        """A number for each class, in the order of `classes`, for each row of X: the class with the
        largest is predicted."""
        return self._scores(X, False)

    def _classes(self):
        texts = {number: self._item.class_text(number) for number in self._item.form()[2]}
        texts = {number: text for number, text in texts.items() if text is not None}
        return Classes(str, texts) if texts else Classes()

    @property
    def classes(self) -> NDArray[Any] | None:
        """The classes of a model of classes, in order; None for other models."""
        if self.predicts != "classes":
            return None
        numbers, names = self._item.form()[2], self._classes()
        return names.shown(numbers)[names.order(numbers)]

    def __repr__(self):
        return f"<Predictor: {self.kind}, {self.n_features} features>"


def load_predictor(path: Path) -> Predictor:
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
