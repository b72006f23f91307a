"""Rows of a store for a person to read: a data frame if pandas is installed."""

import numpy as np

from ._arrays import NO_OWNER
from ._reports import FoundRows
from ._rounding import add_offsets
from ._targets import NO_LABEL

_ID, _OWNER, _LABEL = 0, 1, 2  # kinds of texts in the library


def _shown(numbers, nothing, kind, text):
    """Texts if they are known, else numbers; None for nothing."""
    known = {}
    for number in numbers.tolist():
        if number != nothing and number not in known:
            found = text(kind, number % 2**64)
            known[number] = number if found is None else found
    return [known.get(number) for number in numbers.tolist()]


def found_rows(models, text):
    """A DataFrame, or a FoundRows, with the rows from the extension."""
    n_rows, n_features = models.shape()[:2]
    values = np.empty((n_rows, n_features), np.float32)
    ids, owners = np.empty(n_rows, np.uint64), np.empty(n_rows, np.uint64)
    weights, labels = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    models.rows(values, ids, weights, owners, None, labels)
    offsets = models.offsets()
    values = add_offsets(values, None if offsets is None else np.array(offsets))
    names = list(models.column_names())
    found = FoundRows(
        _shown(ids, None, _ID, text),
        _shown(owners, NO_OWNER, _OWNER, text),
        weights,
        _shown(labels, NO_LABEL, _LABEL, text),
        values,
        None if None in names else names,
    )
    try:
        import pandas
    except ImportError:
        return found
    names = [number if name is None else name for number, name in enumerate(names)]
    frame = pandas.DataFrame(values, columns=names, index=pandas.Index(found.ids, name="id"))
    beside = [("owner", pandas.Series(found.owners, index=frame.index, dtype=object))]
    beside.append(("weight", weights))
    if any(label is not None for label in found.labels):
        beside.append(("label", pandas.Series(found.labels, index=frame.index, dtype=object)))
    for name, column in beside:
        while name in names:
            name += "_"  # a feature has that name
        names.append(name)
        frame.insert(len(frame.columns), name, column)
    return frame
