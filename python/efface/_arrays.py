"""Checks of what users pass as arrays, with the messages scikit-learn's users know.

Arrays that the extension can read as they are (any numbers, in any memory layout) are handed on
without a copy.
"""

import numbers
import warnings

import numpy as np

from ._bases import check_array

_READABLE = [np.float32, np.float64]
_READABLE += [np.dtype(f"{kind}{size}").type for kind in "iu" for size in (1, 2, 4, 8)]

WEIGHT_UNIT = 1024
"""Weights are multiples of 1 / WEIGHT_UNIT."""


def _check_array_alone(X, name):
    """What scikit-learn's check_array does, as far as it is needed here."""
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(
            "A sparse matrix was passed, but dense data is required. "
            "Use X.toarray() to convert to a dense numpy array."
        )
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{array}\n")
    if array.dtype not in _READABLE:
        array = array.astype(np.float32)
    if array.ndim < 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead:\narray={array}.\n"
            "Reshape your data either using array.reshape(-1, 1) if your data has a single feature "
            "or array.reshape(1, -1) if it contains a single sample."
        )
    if array.ndim > 2:
        raise ValueError(f"Found array with dim {array.ndim}. KMeans expected <= 2.")
    for size, what in zip(array.shape, ("sample(s)", "feature(s)")):
        if size < 1:
            raise ValueError(
                f"Found array with {size} {what} (shape={array.shape}) while a minimum of 1 is "
                "required."
            )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        kind = "NaN" if np.isnan(array).any() else "infinity or a value too large"
        raise ValueError(f"Input {name} contains {kind}.")
    return array


def feature_names(X):
    """The names of a data frame's columns, or None."""
    if not hasattr(X, "columns"):
        return None
    names = np.asarray(X.columns, dtype=object)
    texts = sum(isinstance(name, str) for name in names)
    if len(names) == 0 or texts == 0:
        return None
    if texts < len(names):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {sorted({type(name).__name__ for name in names})} as feature name / column "
            "name types. If you want feature names to be stored and validated, you must convert "
            "them all to strings, by using X.columns = X.columns.astype(str) for example."
        )
    return names


def _check_feature_names(estimator, X):
    names, fitted = feature_names(X), getattr(estimator, "feature_names_in_", None)
    title = type(estimator).__name__
    if names is None and fitted is not None:
        warnings.warn(
            f"X does not have valid feature names, but {title} was fitted with feature names",
            stacklevel=4,
        )
    elif names is not None and fitted is None:
        warnings.warn(
            f"X has feature names, but {title} was fitted without feature names", stacklevel=4
        )
    elif names is not None and (len(names) != len(fitted) or (names != fitted).any()):

        def listing(some):
            return "".join(f"- {name}\n" for name in some[:5]) + ("- ...\n" if some[5:] else "")

        message = "The feature names should match those that were passed during fit.\n"
        unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
        if unseen:
            message += "Feature names unseen at fit time:\n" + listing(unseen)
        if missing:
            message += "Feature names seen at fit time, yet now missing:\n" + listing(missing)
        if not unseen and not missing:
            message += "Feature names must be in the same order as they were in fit.\n"
        raise ValueError(message)


def check_rows(estimator, X):
    """X as an array the extension can read, with the features that the estimator was fitted to."""
    _check_feature_names(estimator, X)
    array = plain_rows(X, estimator)
    if array.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {array.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    return array


def plain_rows(X, estimator=None):
    """X as a two-dimensional array of finite numbers that the extension can read."""
    if check_array is None:
        return _check_array_alone(X, "X")
    return check_array(X, dtype=_READABLE, estimator=estimator, input_name="X")


def keep_present(owners, present):
    """The owners of those rows that are present; None if there are none."""
    if owners is None:
        return None
    if isinstance(owners, (str, numbers.Integral)):
        owners = [owners]
    owners = list(owners)
    if len(owners) != len(present):
        raise ValueError(f"there are {len(owners)} owners for {len(present)} rows")
    return [owner for owner, is_present in zip(owners, present) if is_present]


def number_labels(labels):
    """Labels of any kind as 32-bit numbers."""
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"labels must be 1D: shape is {array.shape}")
    return np.unique(array, return_inverse=True)[1].astype(np.int32)


def check_weights(sample_weight, n_rows):
    """Weights as multiples of 1 / WEIGHT_UNIT, in 64-bit integers; None if there are none.

    A weight above 0 becomes at least one unit: only a weight of 0 makes a row absent.
    """
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}!")
    if not np.isfinite(weights).all():
        kind = "NaN" if np.isnan(weights).any() else "infinity"
        raise ValueError(f"Input sample_weight contains {kind}.")
    if (weights < 0).any():
        raise ValueError("Negative values in data passed to `sample_weight`")
    if weights.sum() * WEIGHT_UNIT >= 2.0**40:
        raise ValueError("the sum of sample_weight must be below 2**30: divide the weights")
    if ((weights > 0) & (weights < 1 / 64)).any():
        warnings.warn(
            f"weights are rounded to multiples of 1/{WEIGHT_UNIT} and some are so small that this "
            "changes them by several percent: multiply all weights by the same number",
            stacklevel=3,
        )
    units = np.rint(weights * WEIGHT_UNIT).astype(np.int64)
    return np.maximum(units, weights > 0)
