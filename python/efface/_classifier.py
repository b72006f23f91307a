"""What all classifiers share, whatever the family of the model."""

import numpy as np

from ._bases import ClassifierMixin
from ._estimator import Estimator
from ._model import of_one_state
from ._rows import check_rows, spread_rows


class ClassesResults:
    """What a Model of classes adds to its base."""

    __slots__ = ()

    @property
    def classes_(self):
        """The classes that rows have, in order."""
        return self._cached("classes", self._classes)

    @of_one_state
    def _classes(self):
        labels = self._form()[2]
        return self._y.shown(labels)[self._y.order(labels)]

    @of_one_state
    def _scores(self, X, probabilities):
        """A number for each row of an array and class."""
        inputs, _, labels = self._form()
        out = np.empty((X.shape[0], len(labels)))
        with spread_rows(X, inputs, self.shape[1]) as rows:
            self._ask(self._models.score, self.run, probabilities, rows.array, out)
        return out[:, self._y.order(labels)]


class ProbableResults(ClassesResults):
    """The same, of classes with probabilities."""

    __slots__ = ()

    def _log_probabilities(self, X):
        with np.errstate(divide="ignore"):
            return np.log(self._scores(X, True))

    def predict_proba(self, X):
        """The probability of each class, in the order of `classes_`, for each row of X."""
        with self._rows(X) as rows:
            return self._scores(rows.array, True)


class Classifier(ClassifierMixin, Estimator):
    """The base of classifiers."""

    _learns = "classes"

    @property
    def classes_(self):
        """The classes that rows have, in order."""
        return self._fitted().classes_

    def _ask(self, X, ask):
        model = self._fitted()
        with check_rows(self, X) as rows:
            return ask(model, rows.array)


class Probable:
    """Classifiers with probabilities."""

    def predict_proba(self, X):
        """The probability of each class, in the order of `classes_`, for each row of X."""
        return self._ask(X, lambda model, array: model._scores(array, True))

    def predict_log_proba(self, X):
        """The logarithms of these probabilities."""
        return self._ask(X, lambda model, array: model._log_probabilities(array))
