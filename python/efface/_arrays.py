"""Arguments beside the rows: owners, labels and weights."""

import numbers
import warnings
from collections.abc import Iterator

import numpy as np

from ._tables import arrow_values

WEIGHT_UNIT = 1024
"""Weights are multiples of 1 / WEIGHT_UNIT."""

NO_OWNER = 2**64 - 1
"""The number of no owner, in the library."""


_ANSWERS = {
    "clusters": np.int32,
    "classes": np.int64,
    "values": np.float64,
    "probabilities": np.float64,
}


def answer_array(predicts, n_numbers, n_rows):
    """An array for what a model predicts for some rows: one number a row, or several."""
    shape = n_rows if n_numbers <= 1 else (n_rows, n_numbers)
    return np.empty(shape, dtype=_ANSWERS[predicts])


def add_column_offsets(values, columns, offsets):
    """Adds to predicted values the offset of the column that each number is a value of."""
    if offsets is None or not any(column is not None for column in columns):
        return
    shift = np.array([0.0 if column is None else offsets[column] for column in columns])
    values += shift if values.ndim == 2 else shift[0]


def read_table(found, name, read):
    """A table of a model as an array. `found` are the tables that there are, `read` writes one."""
    shapes = {table: (n_rows, n_columns) for table, _, n_rows, n_columns in found}
    out = np.empty(shapes.get(name, (0, 0)))
    read(name, out)  # says so if there is no such table
    return out


def unmasked(values):
    """Ids or owners without a mask: masked elements, which have no value, are None. And a column
    of Arrow's as an array, and what can be read only once as a list."""
    values = list(values) if isinstance(values, Iterator) else arrow_values(values)
    if not isinstance(values, np.ma.MaskedArray):
        return values
    return values.tolist() if np.ma.is_masked(values) else values.data


def read_mask(values):
    """A truth value for each row, as an array; None for anything else."""
    if isinstance(values, (list, tuple)):
        if not values or not all(isinstance(item, (bool, np.bool_)) for item in values):
            return None
    elif str(getattr(values, "dtype", "")).lower() not in ("bool", "boolean", "bool[pyarrow]"):
        return None
    if isinstance(values, np.ma.MaskedArray):  # of owners_: no owner does not match
        values = values.filled(False)
    array = np.asarray(values)
    if array.dtype == object and not all(isinstance(item, (bool, np.bool_)) for item in array):
        raise ValueError("a mask must say of every row whether it is meant, but values are missing")
    return array.astype(bool) if array.ndim == 1 else None


def keep_present(values, present, what):
    """The ids or owners of those rows that are present; None if there are none."""
    if values is None or present is None:
        return values
    if isinstance(values, (str, numbers.Integral)):
        values = [values]
    values = list(unmasked(values))
    if len(values) != len(present):
        raise ValueError(f"there are {len(values)} {what} for {len(present)} rows")
    return [value for value, is_present in zip(values, present) if is_present]


def whole_weights(weights, n_rows):
    """Weights that are whole numbers, as 64-bit integers; None if there are none."""
    if weights is None:
        return None
    array = np.asarray(weights)
    if array.ndim != 1:
        raise ValueError("weights must be a 1D array")
    if array.shape != (n_rows,):
        raise ValueError(f"there are {len(array)} weights for {n_rows} rows")
    if array.dtype.kind not in "iuf" or not (array == np.rint(array)).all():
        raise ValueError("the weights of a store must be whole numbers")
    if (abs(array) >= 2.0**40).any():
        raise ValueError("the sum of all weights must be below 2**40")
    return array.astype(np.int64)


def number_labels(labels):
    """Labels of any kind as 32-bit numbers."""
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"labels must be a 1D array, but the shape is {array.shape}")
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
