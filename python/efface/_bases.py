"""What an estimator derives from: scikit-learn's bases, or small ones of our own without it."""

import inspect

try:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        MultiOutputMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.exceptions import DataConversionWarning, NotFittedError
    from sklearn.utils import check_array

    # What says whether NaN is allowed; older versions have another name for it.
    _FINITE = "ensure_all_finite"
    if _FINITE not in inspect.signature(check_array).parameters:
        _FINITE = "force_all_finite"

    def check_missing(X, **named):
        """check_array, but values may be NaN."""
        return check_array(X, **named, **{_FINITE: "allow-nan"})

except ImportError:
    check_array = check_missing = None

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

        def get_params(self, deep=True):
            """The parameters of this estimator, by name."""
            return {name: getattr(self, name) for name in self._defaults()}

        def set_params(self, **params):
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

    class TransformerMixin:
        """fit_transform is fit, then transform."""

        def fit_transform(self, X, y=None, **fit_params):
            """Fits to X and transforms it."""
            return self.fit(X, y, **fit_params).transform(X)

    class MultiOutputMixin:
        """Says that there may be several targets."""

    class RegressorMixin:
        """score is R^2."""

        _estimator_type = "regressor"

        def score(self, X, y, sample_weight=None):
            """The coefficient of determination R^2 of what is predicted; the mean of targets."""
            import numpy as np

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

        def score(self, X, y, sample_weight=None):
            """The part of the rows, by weight, whose class is predicted."""
            import numpy as np

            return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    class ClassNamePrefixFeaturesOutMixin:
        """Names of the columns that transform gives."""

        def get_feature_names_out(self, input_features=None):
            """The name of the class with 0, 1, and so on behind it."""
            import numpy as np

            prefix = type(self).__name__.lower()
            return np.array([f"{prefix}{i}" for i in range(self._n_features_out)], dtype=object)


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
    "check_array",
    "check_missing",
]
