"""Rows as users pass them, on their way to the extension.

Arrays that the extension can read as they are (any numbers, in any memory layout) are handed on
without a copy. Where a copy has to be made, of a list or of a data frame whose columns stand in
another order, it is ours: it is overwritten before it is released, so that a row that is forgotten
later does not stay behind in it. What belongs to the user is never written to.
"""

import warnings

import numpy as np

from ._bases import check_array, check_missing
from ._tables import Table, as_table

# Other types become the first of these, so that what float32 loses of them is noticed.
READABLE = [np.float64, np.float32]
READABLE += [np.dtype(f"{kind}{size}").type for kind in "iu" for size in (1, 2, 4, 8)]

_MUCH = 2**28  # bytes of a sparse matrix made dense that are worth a word


class Rows:
    """A two-dimensional array of finite numbers, or NaN where values may be missing; at the end of
    `with` it is overwritten if it is ours."""

    __slots__ = ("_ours", "array", "categories", "lost")

    def __init__(self, array, ours, categories=(), lost=None):
        self.array = array
        self._ours = ours
        self.categories = categories  # places of columns that are known to be categories
        self.lost = lost  # what was lost on the way to float32, if that is known

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self._ours:
            self.array.fill(0)

    def __len__(self):
        return self.array.shape[0]

    def where(self, present):
        """Some of the rows, as Rows of their own; all of them if `present` is None."""
        if present is None:
            return Rows(self.array, False)
        return Rows(self.array[present], True)


def spread_rows(X, places, n_columns):
    """Rows with the columns of an array at these places, and zeros in the others."""
    if X.shape[1] != len(places):
        raise ValueError(f"X has {X.shape[1]} features, but the model has {len(places)}")
    if len(places) == n_columns:
        return Rows(X, False)
    whole = np.zeros((X.shape[0], n_columns), dtype=X.dtype)
    whole[:, places] = X
    return Rows(whole, True)


def join_rows(X, places, values, others):
    """Rows with the columns of two arrays at these places."""
    dtype = np.result_type(X.dtype, values.dtype)
    whole = np.empty((X.shape[0], len(places) + len(others)), dtype=dtype)
    whole[:, places] = X
    whole[:, others] = values
    return Rows(whole, True)


def _no_missing(estimator):
    hint = ""
    if hasattr(estimator, "missing"):
        hint = f" With missing=True, {type(estimator).__name__} takes missing values."
    return "Input X contains NaN." + hint


def _is_sparse(X):
    """Whether X is a sparse matrix of SciPy."""
    return hasattr(X, "toarray") and hasattr(X, "nnz")


def _make_dense(X):
    """A sparse matrix as an array, which is ours."""
    dtype = X.dtype if X.dtype in READABLE else np.dtype(np.float64)
    n_bytes = int(np.prod(X.shape)) * dtype.itemsize
    if n_bytes >= _MUCH:
        warnings.warn(
            f"X is sparse, but rows are kept dense: as an array it takes {n_bytes / 2**30:.1f} GiB, "
            f"and {X.shape[0]} rows in the model take {4 * np.prod(X.shape) / 2**30:.1f} GiB more",
            stacklevel=4,
        )
    try:
        return X.astype(dtype, copy=False).toarray()
    except MemoryError:
        raise MemoryError(
            f"X is sparse, but rows are kept dense, and {n_bytes / 2**30:.1f} GiB are not there"
        ) from None


def _check_array_alone(X, estimator, missing):
    """The parts of scikit-learn's check_array that are needed here."""
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{array}\n")
    if array.dtype not in READABLE:
        array = array.astype(np.float64)
    if array.ndim < 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead:\narray={array}.\n"
            "Reshape your data either using array.reshape(-1, 1) if your data has a single feature "
            "or array.reshape(1, -1) if it contains a single sample."
        )
    if array.ndim > 2:
        who = "Estimator" if estimator is None else type(estimator).__name__
        raise ValueError(f"Found array with dim {array.ndim}. {who} expected <= 2.")
    for size, what in zip(array.shape, ("sample(s)", "feature(s)")):
        if size < 1:
            raise ValueError(
                f"Found array with {size} {what} (shape={array.shape}) while a minimum of 1 is "
                "required."
            )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        if np.isnan(array).any() and not missing:
            raise ValueError(_no_missing(estimator))
        if np.isinf(array).any():
            raise ValueError("Input X contains infinity or a value too large.")
    return array


def is_ours(array, X):
    """Whether a check of X had to make this array. When in doubt it is the user's."""
    if array is X or not array.flags.writeable:
        return False
    if isinstance(X, np.ndarray):
        return not np.may_share_memory(array, X)
    if hasattr(X, "iloc"):
        # A data frame of one type hands out its own memory, of which each column is a part.
        column = X if X.ndim == 1 else X.iloc[:, 0]
        return not np.may_share_memory(array, column.to_numpy())
    return isinstance(X, (list, tuple))


def _checked(X, estimator, missing):
    """X as an array of numbers; `missing` says whether values may be NaN."""
    if check_array is None:
        return _check_array_alone(X, estimator, missing)
    check = check_missing if missing else check_array
    try:
        return check(X, dtype=READABLE, estimator=estimator, input_name="X")
    except ValueError as error:
        # scikit-learn goes on with the names of other estimators.
        if "contains NaN" not in str(error) or not hasattr(estimator, "missing"):
            raise
        raise ValueError(_no_missing(estimator)) from None


def plain_rows(X, estimator=None, missing=False, categories=(), narrow=False):
    """X as Rows that the extension can read; `missing` says whether values may be NaN, `categories`
    in which columns of a Table texts may be, and `narrow` that no offset is taken from them, so that
    they may come as float32."""
    places, lost = (), None
    if isinstance(X, Table):
        made, lost, places = X.numbers(categories, narrow)
    elif _is_sparse(X):
        made = _make_dense(X)
    else:
        array = _checked(X, estimator, missing)
        return Rows(array, is_ours(array, X))
    try:
        _checked(made, estimator, missing)  # makes no copy
    except BaseException:
        made.fill(0)
        raise
    return Rows(made, True, places, lost)


# ------------------------------------------------------------------ names of features


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


def _listing(some):
    return "".join(f"- {name}\n" for name in some[:5]) + ("- ...\n" if some[5:] else "")


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
        message = "The feature names should match those that were passed during fit.\n"
        unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
        if unseen:
            message += "Feature names unseen at fit time:\n" + _listing(unseen)
        if missing:
            message += "Feature names seen at fit time, yet now missing:\n" + _listing(missing)
        if not unseen and not missing:
            message += "Feature names must be in the same order as they were in fit.\n"
        raise ValueError(message)


def check_rows(estimator, X):
    """X as Rows, with the features that the estimator was fitted to."""
    X = as_table(X, getattr(estimator, "_beside", ()))
    _check_feature_names(estimator, X)
    model = estimator._fitted()
    narrow = model.offset_ is None
    rows = plain_rows(X, estimator, model.takes_missing, model._categories(), narrow)
    if rows.array.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {rows.array.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    return rows


def distinct_names(X):
    """The names of a data frame's columns as a list, or None; no two of them are the same."""
    names = feature_names(X)
    if names is None:
        return None
    names = [str(name) for name in names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        some = ", ".join(map(repr, twice))
        raise ValueError(f"features of X have the same name: {some}; rename them")
    if "" in names:
        raise ValueError(f"feature {names.index('')} of X has an empty name; rename it")
    return names


def _in_order(X, order, missing, categories):
    """The columns of a data frame in another order, as Rows that are ours."""
    if isinstance(X, Table):
        return plain_rows(X.take(order), missing=missing, categories=categories)
    columns = [X.iloc[:, place].to_numpy() for place in order]
    if any(column.dtype not in READABLE for column in columns):
        rows = plain_rows(X, missing=missing)
        with rows:
            return Rows(rows.array[:, order], True)
    array = np.empty((len(X), len(order)), dtype=np.result_type(*columns), order="F")
    for j, column in enumerate(columns):
        array[:, j] = column
    return Rows(array, True)


def rows_by_name(X, names, whose, missing=False, categories=()):
    """X as Rows with the features `names`. A data frame is matched by name, in whatever order;
    anything else by position. `missing` says whether values may be NaN, and `categories` which of
    the features may be texts."""
    X = as_table(X)
    given = distinct_names(X)
    if given is not None and names is None:
        warnings.warn(
            f"X has feature names, but {whose} has none: features are matched by position",
            stacklevel=4,
        )
    if given is None or names is None or given == names:
        return plain_rows(X, missing=missing, categories=categories)
    unknown = [name for name in given if name not in names]
    absent = [name for name in names if name not in given]
    if unknown or absent:
        message = f"The feature names of X should be those of {whose}.\n"
        if unknown:
            message += f"Feature names that {whose} does not have:\n" + _listing(unknown)
        if absent:
            message += "Feature names that are missing in X:\n" + _listing(absent)
        raise ValueError(message)
    rows = _in_order(X, [given.index(name) for name in names], missing, categories)
    try:
        plain_rows(rows.array, missing=missing)  # it may have NaN, or no rows; no copy is made
    except BaseException:
        rows.__exit__()
        raise
    return rows
