"""Offsets of features, and warnings about losses in float32 and about outliers."""

import warnings
from typing import NamedTuple

import numpy as np

from . import _efface

_MOST_WARNINGS = 8


class Finding(NamedTuple):
    """What float32 does to a feature; see efface_column_rounding in efface_data.h."""

    column: int
    collapses: bool
    n_vanished: int
    step: float
    spread: float
    offset: float


class Tails(NamedTuple):
    """Where the loss comes from; see efface_tails in efface_kmeans.h."""

    loss: float
    n_rows: int
    rows_share: float
    column: int
    column_share: float
    rows_carry: bool
    column_carries: bool


def find_rounding(X, offsets, lost=None):
    """Findings for the features of an array that lose something in float32; `lost` are those that
    are known."""
    found = _efface.rounding(X, offsets) if lost is None else lost
    return [Finding(*one) for one in found]


def choose_offsets(offset, X, called="offset", whose="features"):
    """The parameter `offset` as an array of float64; None if all are 0."""
    n_features = X.shape[1]
    if offset is None:
        return None
    if isinstance(offset, str):
        offsets = np.zeros(n_features)
        for found in find_rounding(X, None):
            offsets[found.column] = found.offset
    else:
        offsets = np.array(offset, dtype=np.float64)
        if offsets.shape != (n_features,):
            raise ValueError(
                f"{called} must have a number for each of {n_features} {whose}, but its shape is "
                f"{offsets.shape}"
            )
        if not np.isfinite(offsets).all():
            raise ValueError(f"the numbers of {called} must be finite")
    return offsets if offsets.any() else None


def _called(column, names, what="feature"):
    return f"{what} {column}" + ("" if names is None else f" ({names[column]})")


def warn_rounding(findings, names, stacklevel, what="feature"):
    """Warns about features, or targets, that lose too much in float32."""
    for found in findings[:_MOST_WARNINGS]:
        who = _called(found.column, names, what)
        if found.n_vanished:
            message = (
                f"{who}: {found.n_vanished} values other than 0 are too small for float32 and "
                "became 0: multiply the feature by a power of ten"
            )
        elif found.offset == 0.0:
            message = (
                f"{who}: its values are so small, or its offset is so far from them, that float32 "
                "keeps little of them: multiply them by a power of ten, or leave the offset out"
            )
        else:
            message = (
                f"{who}: float32 rounds its values to multiples of {found.step:g}, but they spread "
                f"over {found.spread:g} only: give it the offset {found.offset!r}, or use "
                "offset='auto'"
            )
        warnings.warn(message, stacklevel=stacklevel + 1)
    if findings[_MOST_WARNINGS:]:
        warnings.warn(
            f"float32 keeps little of {len(findings) - _MOST_WARNINGS} more features: use "
            "offset='auto'",
            stacklevel=stacklevel + 1,
        )


def warn_tails(tails, n_rows, scale, names, stacklevel):
    """Warns about one feature, or a few rows, that carry nearly all of the loss."""
    if tails.column_carries:
        advice = "use scale='standard'" if scale is None else "look at it"
        warnings.warn(
            f"{_called(tails.column, names)} carries {100 * tails.column_share:.2f} % of the loss, "
            f"so the others hardly count: {advice}",
            stacklevel=stacklevel + 1,
        )
    if tails.rows_carry:
        advice = ", or use scale='standard'" if scale is None else ""
        verb = "carries" if tails.n_rows == 1 else "carry"
        warnings.warn(
            f"{tails.n_rows} of {n_rows} rows {verb} {100 * tails.rows_share:.1f} % of the loss, "
            "so clusters follow these alone: look at them, or take the logarithm of features with "
            f"such outliers{advice}",
            stacklevel=stacklevel + 1,
        )


def add_offsets(values, offsets):
    """Rows as a set holds them, in the units of the user; `values` is overwritten if it is not
    what is given back."""
    if offsets is None:
        return values
    shifted = values + offsets
    values.fill(0)
    return shifted
