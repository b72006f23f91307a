"""Sums of rows, and what all estimators made of them share; means of columns."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np

from ._estimator import Estimator
from ._fitted import of_model
from ._model import Model
from ._parameters import COMMON_RULES, one_of, or_none, real
from ._types import Reals

_NO_SEED = {name: rule for name, rule in COMMON_RULES.items() if name != "random_state"}

SUMS_RULES = {**_NO_SEED, "bound": or_none(real(0.0, 2.0**126))}
"""Rules for the parameters of all estimators that are made of sums."""

SCALE_RULE = or_none(one_of("standard"))
"""The rule for the units that penalties, shrinkage and components are in."""

IS_FLAG = (lambda v: isinstance(v, (bool, np.bool_)), "a bool")
"""The rule for a parameter that is true or false."""


class SumsModel(Model, kinds=["means"]):
    """Fitted sums and the rows they were made from; see `Model`.

    Attributes
    ----------
    means_ : ndarray of shape (n_features,)
    """

    __slots__ = ()

    @property
    def means_(self) -> Reals:
        """The mean of each feature in the units of the data; NaN without rows."""
        return self._cached("means", self._means)

    def _means(self):
        means = self.table("means")
        return means[0] if len(means) else np.full(self.shape[1], np.nan)


class SumsEstimator(Estimator):
    """The base of estimators that are views of sums: everything that is not of one view."""

    _family = "sums"
    _rules = SUMS_RULES
    _view = None

    def _view_parameters(self, parameters):
        """The parameters of the view as the extension takes them."""
        return {}

    def _family_parameters(self, parameters, n_features, offsets):
        return {
            "bound": float(parameters["bound"] or 0.0),
            "view": self._view,
            **self._view_parameters(parameters),
        }

    def _data_parameters(self, n_features, n_targets, weight_unit):
        targets = np.arange(n_features, n_features + n_targets, dtype=np.uint32)
        return {
            "weight_unit": weight_unit,
            "n_targets": n_targets,
            "targets": targets if n_targets else None,
        }

    def _findings(self, model):
        return model._models.findings(0)

    def _warn_of(self, found, parameters, names, stacklevel):
        coarse, dropped = found
        if coarse:
            warnings.warn(
                f"columns {_listed(coarse, names)} vary so little compared to their values that "
                "less than 8 bits of the differences are kept: give them an offset, or use "
                "offset='auto'",
                stacklevel=stacklevel + 1,
            )
        if dropped:
            warnings.warn(
                f"features {_listed(dropped, names)} are constant or depend on those before them: "
                "they have no part in the model",
                stacklevel=stacklevel + 1,
            )


def _listed(columns, names):
    """Some columns by name, or by number."""
    called = [
        str(names[column]) if names is not None and column < len(names) else str(column)
        for column in columns[:5]
    ]
    return ", ".join(called) + (", ..." if columns[5:] else "")


class ColumnMeans(SumsEstimator):
    """The means of the features, from which rows can be removed exactly.

    The state is sums of values, each kept to 23 bits of the largest magnitude of its feature; the
    sums are exact, so that forgetting a row subtracts what it had added. `predict` gives the means
    for every row.

    Parameters
    ----------
    bound, offset, n_jobs, n_threads : optional
        As in `KMeans`.
    random_state : int, RandomState or None, default=None
        Has no effect: there is no randomness.

    Attributes
    ----------
    means_ : ndarray of shape (n_features,)
        In the units of the data.

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[1, 2], [3, 4], [5, 9]])
    >>> model = efface.ColumnMeans().fit(X, ids=range(3))
    >>> report = model.forget(ids=[2])
    >>> model.means_
    array([2., 3.])
    """

    _rules = {**SUMS_RULES, "random_state": COMMON_RULES["random_state"]}
    _view = "means"

    means_: Final[Reals] = of_model(SumsModel.means_)

    def __init__(
        self,
        *,
        bound: float | None = None,
        random_state: Any = None,
        offset: Any = None,
        n_jobs: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())
