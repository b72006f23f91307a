"""Means of columns, as an estimator that can forget."""

from ._estimator import Estimator, of_model
from ._model import Model
from ._parameters import COMMON_RULES, or_none, real

_RULES = {**COMMON_RULES, "bound": or_none(real(0.0, 2.0**126))}


class SumsModel(Model, family="sums"):
    """Fitted sums and the rows they were made from; see `Model`.

    Attributes
    ----------
    means_ : ndarray of shape (n_features,)
    """

    @property
    def means_(self):
        """The mean of each feature in the units of the data; NaN without rows."""
        return self._cached("means", self._means)

    def _means(self):
        means = self.table("means")
        return means[0] if len(means) else means.sum(axis=0) * float("nan")


class ColumnMeans(Estimator):
    """The means of the features, from which rows can be removed exactly.

    The state is sums of values, each kept to 23 bits of the largest magnitude of its feature; the
    sums are exact, so that forgetting a row subtracts what it had added. `predict` gives the means
    for every row, without offsets; `means_` are in the units of X.

    Parameters
    ----------
    bound : float or None, default=None
        The largest allowed magnitude of a value. None: derived from the rows.
    random_state : int, RandomState or None, default=None
        Has no effect: there is no randomness.
    offset : array-like of shape (n_features,), 'auto' or None, default=None
        A number to subtract from each feature in float64, before the rounding to float32.
    n_threads : int or None, default=None
        None: as many as there are processors. No result depends on it.

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

    _family = "sums"
    _rules = _RULES

    means_ = of_model(SumsModel.means_)

    def __init__(self, *, bound=None, random_state=None, offset=None, n_threads=None):
        self.bound = bound
        self.random_state = random_state
        self.offset = offset
        self.n_threads = n_threads

    def _family_parameters(self, parameters, n_features, offsets):
        return {"bound": float(parameters["bound"] or 0.0)}
