"""Principal components, from which rows can be removed exactly."""

from __future__ import annotations

import numbers
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import WEIGHT_UNIT
from ._bases import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from ._fitted import of_model
from ._model import Model
from ._sums import IS_FLAG, SCALE_RULE, SUMS_RULES, SumsEstimator
from ._types import Offset, Reals, Standard


class ComponentsModel(Model, kinds=["principal components"]):
    """Fitted principal components and the rows they were fitted to; see `Model`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
    mean_ : ndarray of shape (n_features,)
    scale_ : ndarray of shape (n_features,) or None
    """

    __slots__ = ()

    def _shaped(self, out):
        return out.reshape(len(out), -1)

    @property
    def components_(self) -> Reals:
        """The directions, each of length 1, in the order of their variances."""
        return self._cached("components", self._axes)

    def _axes(self):
        # The library's are divided by the deviations, if coordinates or features are.
        axes = self.table("components")
        if self.scale_ is not None:
            axes = axes * self.scale_
        lengths = np.sqrt((axes**2).sum(axis=1, keepdims=True))
        return axes / np.where(lengths > 0, lengths, 1.0) if self._whiten else axes

    @property
    def _whiten(self):
        return self.info.parameters["whiten"]

    def _variances(self):
        return self._cached("variances", lambda: self.table("variances"))

    @property
    def explained_variance_(self) -> Reals:
        """The variance along each component."""
        return self._variances()[:, 0]

    @property
    def explained_variance_ratio_(self) -> Reals:
        """Its share of the variance of all features."""
        return self._variances()[:, 1]

    @property
    def mean_(self) -> Reals:
        """The mean of each feature."""
        means = self._cached("mean", lambda: self.table("means"))
        return means[0] if len(means) else np.full(self.shape[1], np.nan)

    @property
    def scale_(self) -> Reals | None:
        """The deviation of each feature, which it is divided by; None without a scale."""
        if "scale" not in self.info.parameters:
            return None
        deviations = self._cached("deviations", lambda: self.table("deviations"))
        return deviations[0] if len(deviations) else np.full(self.shape[1], np.nan)

    @property
    def singular_values_(self) -> Reals:
        """The square roots of the variances times the weight of the rows less 1."""
        weight = self._models.shape()[3] / (WEIGHT_UNIT if self._weighting == "parts" else 1)
        return np.sqrt(self.explained_variance_ * (weight - 1))

    def _noise(self, n_components):
        """The mean of the variances along other components than the first few."""
        variances, shares = self._variances()[:n_components].T
        n_rows, n_features = self.shape
        n_others = min(n_rows, n_features) - n_components
        if n_others <= 0 or not (shares > 0).any():
            return 0.0
        total = variances[0] / shares[0]
        return float(max(total - variances.sum(), 0.0) / n_others)

    def transform(self, X: ArrayLike) -> Reals:
        """The coordinates of each row of X along the components."""
        with self._rows(X) as rows:
            return self._predict_array(rows.array)


def _is_number_of_components(value):
    if isinstance(value, numbers.Integral):
        return not isinstance(value, (bool, np.bool_)) and value >= 1
    return value is None or (isinstance(value, numbers.Real) and 0.0 < value < 1.0)


def _kept(result):
    """As of_model, for the components that are kept."""
    name = result.fget.__name__
    return property(
        lambda self: getattr(self._fitted(), name)[: self.n_components_], doc=result.__doc__
    )


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SumsEstimator):
    """Principal components, from which rows can be removed exactly.

    The state is exact sums of products; components are computed from it on demand. The entry of
    largest magnitude of each component is positive.

    Parameters
    ----------
    n_components : int, float or None, default=None
        How many components are kept. A number between 0 and 1: as many as explain more than this
        part of the variance, chosen again after every change. None: as many as there are.
    whiten : bool, default=False
        Whether coordinates are divided by their deviations.
    scale : {'standard'} or None, default=None
        'standard': components of the features divided by their deviations, as with a StandardScaler
        before, which would keep the rows it has seen. The deviations are those of the present rows.
    bound, offset, n_jobs, n_threads : optional
        As in `KMeans`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
    singular_values_ : ndarray of shape (n_components,)
    mean_ : ndarray of shape (n_features,)
    scale_ : ndarray of shape (n_features,) or None
        What features are divided by.
    n_components_ : int
        Fewer than n_components if there are fewer rows.
    noise_variance_ : float
        The mean of the variances along components that are not kept.

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[0.0, 0], [3, 4], [6, 8], [50, -50]])
    >>> model = efface.PCA(n_components=1).fit(X, ids=range(4))
    >>> report = model.forget(ids=[3])
    >>> model.components_.round(6)
    array([[0.6, 0.8]])
    """

    _view = "components"
    _rules = {
        **SUMS_RULES,
        "n_components": (_is_number_of_components, "an int, a float between 0 and 1, or None"),
        "whiten": IS_FLAG,
        "scale": SCALE_RULE,
    }

    def __init__(
        self,
        n_components: float | None = None,
        *,
        whiten: bool = False,
        scale: Standard = None,
        bound: float | None = None,
        offset: Offset = None,
        n_jobs: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _view_parameters(self, parameters):
        wanted = parameters["n_components"]
        return {
            "n_components": int(wanted) if isinstance(wanted, numbers.Integral) else 0,
            "whiten": bool(parameters["whiten"]),
            "components_scale": parameters["scale"] or "none",
        }

    def _refuse_store(self):
        if isinstance(self.n_components, numbers.Integral) or self.n_components is None:
            return None
        return "a store keeps models with a number of components: give n_components as an int"

    def _remember(self, parameters):
        self._wanted = parameters["n_components"]

    def _check_fit(self, model, array):
        n_rows, n_features = model.shape
        if n_rows < 2:
            raise ValueError(
                f"Found array with n_samples={n_rows}: principal components need two rows at least"
            )
        n_max = min(n_rows, n_features)
        if isinstance(self.n_components, numbers.Integral) and self.n_components > n_max:
            raise ValueError(
                f"n_components={self.n_components!r} must be between 1 and "
                f"min(n_samples, n_features)={n_max!r}"
            )

    @property
    def n_components_(self) -> int:
        """How many components are kept."""
        shares = self._fitted().explained_variance_ratio_
        if self._wanted is None or isinstance(self._wanted, numbers.Integral):
            return len(shares)
        n_below = int(np.searchsorted(np.cumsum(shares), self._wanted, side="right"))
        return min(n_below + 1, len(shares))

    @property
    def _n_features_out(self):
        return self.n_components_

    components_: Final[Reals] = _kept(ComponentsModel.components_)
    explained_variance_: Final[Reals] = _kept(ComponentsModel.explained_variance_)
    explained_variance_ratio_: Final[Reals] = _kept(ComponentsModel.explained_variance_ratio_)
    singular_values_: Final[Reals] = _kept(ComponentsModel.singular_values_)

    @property
    def noise_variance_(self) -> float:
        """The mean of the variances along components that are not kept."""
        return self._fitted()._noise(self.n_components_)

    mean_: Final[Reals] = of_model(ComponentsModel.mean_)
    scale_: Final[Reals | None] = of_model(ComponentsModel.scale_)

    def transform(self, X: ArrayLike) -> Reals:
        """The coordinates of each row of X along the components."""
        model = self._fitted()
        with self._rows(X) as rows:
            return model._predict_array(rows.array)[:, : self.n_components_]

    def inverse_transform(self, X: ArrayLike) -> Reals:
        """The rows whose coordinates are those of X, as far as the components go."""
        coordinates = np.asarray(X, dtype=np.float64)
        if self._fitted()._whiten:
            coordinates = coordinates * np.sqrt(self.explained_variance_)
        rows = coordinates @ self.components_
        return (rows if self.scale_ is None else rows * self.scale_) + self.mean_

    def get_covariance(self) -> Reals:
        """The covariance matrix of the features that the model stands for: that of the components
        that are kept, and `noise_variance_` along all others. With a scale, that of the features
        divided by `scale_`."""
        noise, axes = self.noise_variance_, self.components_
        more = np.maximum(self.explained_variance_ - noise, 0.0)
        return (axes.T * more) @ axes + noise * np.eye(axes.shape[1])

    def get_precision(self) -> Reals:
        """The inverse of `get_covariance()`."""
        return np.linalg.inv(self.get_covariance())

    def score_samples(self, X: ArrayLike) -> Reals:
        """The logarithm of the density of each row of X, of the normal distribution with the mean
        and the covariance matrix of the model; with a scale, of X divided by `scale_`."""
        with self._rows(X) as rows:
            apart = rows.array - self.mean_
        if self.scale_ is not None:
            apart = apart / self.scale_
        precision = self.get_precision()
        squares = (apart * (apart @ precision)).sum(axis=1)
        size = np.linalg.slogdet(precision)[1] - len(precision) * np.log(2 * np.pi)
        return (size - squares) / 2

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """The mean of `score_samples(X)`."""
        return float(self.score_samples(X).mean())
