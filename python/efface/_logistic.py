"""Logistic regression and linear support vector machines, from which rows can be removed exactly."""

from __future__ import annotations

from typing import Final

import numpy as np

from ._classes import ClassesModel, _Deciding
from ._classifier import Classifier, ProbableClassifier, ProbableResults
from ._estimator import Estimator
from ._fitted import of_model, of_one_state
from ._parameters import COMMON_RULES, or_none, real, whole
from ._sums import IS_FLAG
from ._types import Offset, Reals, Seed


class LinearClassesModel(ClassesModel, kinds=["linear support vector machine"]):
    """A fitted linear support vector machine and the rows it was fitted to; see `Model`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept_ : ndarray of shape (n_classes,) or (1,)
    n_iter_ : ndarray of shape (n_classes,) or (1,)
    """

    __slots__ = ()

    @staticmethod
    def _second(first, second):
        return second  # which is minus the first

    @of_one_state
    def _of_functions(self, name):
        """A table of the functions in the order of `classes_`, and the sign of each."""
        order = self._y.order(self._form()[2])
        table = self.table(name)
        if len(order) != 2:
            return table[order] if len(table) else table, 1.0
        return table, 1.0 if order[1] == 1 else -1.0

    def _coefficients(self):
        table, sign = self._cached("coefficients", lambda: self._of_functions("coefficients"))
        return sign * table

    @property
    def n_iter_(self) -> Reals:
        """The steps of each fit."""
        return self._of_functions("quality")[0][:, 2].astype(np.int64)


class LogisticModel(ProbableResults, LinearClassesModel, kinds=["logistic regression"]):
    """A fitted logistic regression and the rows it was fitted to; see `LinearClassesModel`."""

    __slots__ = ()


_RULES = {
    **COMMON_RULES,
    "C": real(1e-30, 1e30, closed=True),
    "fit_intercept": IS_FLAG,
    "max_iter": whole(1, 1000),
    "lattice": or_none(real(2.0**-20, 2.0**10, closed=True)),
    "sample": whole(1, 2**20),
    "bound": or_none(real(0.0, 2.0**126)),
}


class _LinearClassifier(_Deciding, Estimator):
    """What both estimators share."""

    _family = "logistic"
    _rules = _RULES
    _loss = None

    def __init__(
        self,
        C: float = 1.0,
        *,
        fit_intercept: bool = True,
        max_iter: int = 25,
        lattice: float | None = None,
        sample: int = 4,
        bound: float | None = None,
        random_state: Seed = None,
        offset: Offset = None,
        n_jobs: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _family_parameters(self, parameters, n_features, offsets):
        return {
            "loss": self._loss,
            "alpha": 1.0 / float(parameters["C"]),
            "intercept": bool(parameters["fit_intercept"]),
            "bound": float(parameters["bound"] or 0.0),
            "width": float(parameters["lattice"] or 0.0),
            "sample": int(parameters["sample"]),
            "steps": int(parameters["max_iter"]),
        }

    def _data_parameters(self, n_features, n_targets, weight_unit):
        return {"weight_unit": weight_unit}

    coef_: Final[Reals] = of_model(LinearClassesModel.coef_)
    intercept_: Final[Reals] = of_model(LinearClassesModel.intercept_)
    n_iter_: Final[Reals] = of_model(LinearClassesModel.n_iter_)


class LogisticRegression(ProbableClassifier, _LinearClassifier):
    """Logistic regression, from which rows can be removed exactly.

    Newton's method, of which every step ends on a point of a random lattice about one standard
    error wide. To forget a row takes its part out of the sums of each step; mostly each step then
    ends on the same point, and no other row is looked at. With more than two classes there is one
    function for each class against all others.

    Parameters
    ----------
    C : float, default=1.0
        The inverse of the penalty of squared coefficients.
    fit_intercept : bool, default=True
    max_iter : int, default=25
        Steps at most.
    lattice : float or None, default=None
        How far apart coefficients can be, in standard errors: the wider, the fewer requests take
        more than a correction. None: as wide as costs no more than a few parts in a thousand of
        the loss.
    sample : int, default=4
        Rows for each feature that the lattice is made for. To forget one of them takes a fit.
    bound, offset, random_state, n_jobs, n_threads : optional
        As in `KMeans`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes that rows have. A class whose last row is forgotten is gone.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept_ : ndarray of shape (n_classes,) or (1,)
    n_iter_ : ndarray of shape (n_classes,) or (1,)

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[1.0], [2.0], [8.0], [9.0], [1.5]])
    >>> model = efface.LogisticRegression(random_state=0)
    >>> model = model.fit(X, ["low", "low", "high", "high", "high"], ids=range(5))
    >>> report = model.forget(ids=[4])
    >>> str(model.predict([[1.5]])[0])
    'low'
    """

    _loss = "logistic"


class LinearSVC(Classifier, _LinearClassifier):
    """A linear support vector machine with squared hinge loss, from which rows can be removed
    exactly; see `LogisticRegression`.

    Parameters
    ----------
    C, fit_intercept, max_iter, lattice, sample, bound, offset, random_state : optional
    n_jobs, n_threads : optional
        As in `LogisticRegression`. The intercept is not penalised.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_
        As in `LogisticRegression`.

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[1.0], [2.0], [8.0], [9.0], [1.5]])
    >>> model = efface.LinearSVC(random_state=0)
    >>> model = model.fit(X, ["low", "low", "high", "high", "high"], ids=range(5))
    >>> report = model.forget(ids=[4])
    >>> str(model.predict([[1.5]])[0])
    'low'
    """

    _loss = "squared_hinge"
