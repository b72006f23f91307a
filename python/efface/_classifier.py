"""What all classifiers share, whatever the family of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._bases import ClassifierMixin
from ._estimator import Estimator
from ._fitted import of_model, of_one_state
from ._parameters import real
from ._rows import spread_rows
from ._types import Reals


def _are_class_weights(value):
    return value is None or (
        isinstance(value, Mapping) and all(real(0.0, 2.0**30, closed=True)[0](w) for w in value.values())
    )


CLASS_WEIGHT_RULE = (_are_class_weights, "a dict from classes to weights, or None")


class ClassesResults:
    """What a Model of classes adds to its base."""

    __slots__ = ()

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes that rows have, in order."""
        return self._cached("classes", self._classes)

    @property
    def n_classes_(self) -> int:
        """How many classes rows have."""
        return len(self.classes_)

    @of_one_state
    def _classes(self):
        labels = self._form()[2]
        return self._y.shown(labels)[self._y.order(labels)]

    @of_one_state
    def _scores(self, X, probabilities):
        """A number for each row of an array and class."""
        inputs, _, labels, _ = self._form()
        out = np.empty((X.shape[0], len(labels)))
        with spread_rows(X, inputs, self.shape[1]) as rows:
            self._ask(self._models.score, self.run, probabilities, rows.array, out)
        return out[:, self._y.order(labels)]


class Probable:
    """What classifiers with probabilities and their Models are asked alike."""

    __slots__ = ()

    def predict_proba(self, X: ArrayLike) -> Reals:
        """The probability of each class, in the order of `classes_`, for each row of X."""
        model = self._fitted()
        with self._rows(X) as rows:
            return model._scores(rows.array, True)


class ProbableResults(Probable, ClassesResults):
    """What a Model of classes with probabilities adds to its base."""

    __slots__ = ()

    def _log_probabilities(self, X):
        with np.errstate(divide="ignore"):
            return np.log(self._scores(X, True))


class Classifier(ClassifierMixin, Estimator):
    """The base of classifiers."""

    _learns = "classes"

    def _refuse_store(self):
        if getattr(self, "class_weight", None) is not None:
            return "the weights of a store are those of its rows: leave class_weight out"
        return super()._refuse_store()

    classes_: Final[NDArray[Any]] = of_model(ClassesResults.classes_)
    n_classes_: Final[int] = of_model(ClassesResults.n_classes_)


class ProbableClassifier(Probable, Classifier):
    """Classifiers with probabilities."""

    def predict_log_proba(self, X: ArrayLike) -> Reals:
        """The logarithms of these probabilities."""
        model = self._fitted()
        with self._rows(X) as rows:
            return model._log_probabilities(rows.array)
