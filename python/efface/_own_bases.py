"""Small bases of estimators for those who have no scikit-learn, and for type checkers."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._types import Clusters, Names, Reals

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "ClusterMixin",
    "DataConversionWarning",
    "MultiOutputMixin",
    "NotFittedError",
    "RegressorMixin",
    "TransformerMixin",
]


class DataConversionWarning(UserWarning):
    """Data had to be given another shape."""


class NotFittedError(ValueError, AttributeError):
    """A method was called that needs a fitted estimator."""


class BaseEstimator:
    """Parameters are the arguments of the constructor."""

    @classmethod
    def _defaults(cls):
        parameters = inspect.signature(cls.__init__).parameters
        return {name: p.default for name, p in parameters.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of this estimator, by name."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Sets parameters of this estimator."""
        known = self._defaults()
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. "
                    f"Valid parameters are: {list(known)!r}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self):
        changed = (
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if getattr(self, name) is not default and getattr(self, name) != default
        )
        return f"{type(self).__name__}({', '.join(changed)})"


class ClusterMixin:
    """Says that this is a clusterer."""

    _estimator_type = "clusterer"

    if TYPE_CHECKING:  # Estimator has it

        def predict(self, X: ArrayLike) -> Clusters: ...


class TransformerMixin:
    """fit_transform is fit, then transform."""

    def fit_transform(self, X: ArrayLike, y: Any = None, **fit_params: Any) -> Reals:
        """Fits to X and transforms it."""
        return self.fit(X, y, **fit_params).transform(X)


class MultiOutputMixin:
    """Says that there may be several targets."""


class RegressorMixin:
    """score is R^2."""

    _estimator_type = "regressor"

    if TYPE_CHECKING:  # Estimator has it

        def predict(self, X: ArrayLike) -> Reals: ...

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The coefficient of determination R^2 of what is predicted; the mean of targets."""
        y = np.asarray(y, dtype=np.float64)
        missed = (y - self.predict(X)) ** 2
        spread = (y - np.average(y, axis=0, weights=sample_weight)) ** 2
        missed = np.average(missed, axis=0, weights=sample_weight)
        spread = np.average(spread, axis=0, weights=sample_weight)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(spread > 0, 1 - missed / spread, np.where(missed > 0, 0.0, 1.0))
        return float(np.mean(parts))


class ClassifierMixin:
    """score is the part of rows that are classified rightly."""

    _estimator_type = "classifier"

    if TYPE_CHECKING:  # Estimator has it

        def predict(self, X: ArrayLike) -> NDArray[Any]: ...

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The part of the rows, by weight, whose class is predicted."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))


class ClassNamePrefixFeaturesOutMixin:
    """Names of the columns that transform gives."""

    def get_feature_names_out(self, input_features: Any = None) -> Names:
        """The name of the class with 0, 1, and so on behind it."""
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{i}" for i in range(self._n_features_out)], dtype=object)
