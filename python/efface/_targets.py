"""What supervised models learn from y: values of targets, or classes.

A target is a column of the rows beside the features. A class is a whole number, which a row has as
its label: a number is itself, and for a text it is a hash that is the same everywhere. So it
depends on nothing but the class. Texts are kept beside the model, as long as a row has the class.
"""

import numbers
import warnings

import numpy as np

from . import _efface
from ._arrays import unmasked
from ._bases import DataConversionWarning, check_array
from ._rounding import choose_offsets, find_rounding
from ._rows import READABLE, is_ours
from ._tables import arrow_values

NO_LABEL = -(2**63)
"""The label of a row without one, in the library."""

COLUMN_VECTOR = (
    "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
    "(n_samples,), for example using ravel()."
)
"""A warning."""


def _need_y(y, who):
    if y is None:
        raise ValueError(
            f"{who} requires y to be passed, but the target y is None: y should be a 1d array"
        )


def _same_length(n, n_rows):
    if n != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {n}]"
        )


class Given:
    """What a call gives of y: columns of values, or labels and the texts of some of them. At the
    end of `with` the values are overwritten if they are ours."""

    __slots__ = ("_ours", "flat", "labels", "texts", "values")

    def __init__(self, values=None, labels=None, texts=None, flat=True, ours=False):
        self.values = values
        self._ours = ours
        self.flat = flat  # whether y had one dimension
        self.labels = labels
        self.texts = texts or {}

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self._ours:
            self.values.fill(0)

    def labels_where(self, present):
        """The labels of some rows; of all if `present` is None."""
        return self.labels if self.labels is None or present is None else self.labels[present]


class Nothing:
    """For models without targets and classes: y is ignored."""

    __slots__ = ()

    flat = True
    has_weights = False

    def read(self, y, n_rows, who):
        """A Given of y."""
        return Given()

    def kept(self, texts, classes):
        """The same, with these texts of classes as well; of classes that there are."""
        return self

    def named(self, error):
        """An error of the library, with the texts of classes in the place of their numbers."""
        return error

    def weighted(self, sample_weight, labels, n_rows):
        """Weights of rows, times those of their classes if these have any."""
        return sample_weight

    def offsets(self, estimator, given):
        """The offsets of the targets, or None."""
        return None

    def findings(self, given, offsets):
        """What float32 does to targets."""
        return []

    def __reduce__(self):
        return type(self), tuple(getattr(self, name) for name in self.__slots__)


class Values(Nothing):
    """Targets that are numbers; `flat` if y had one dimension."""

    __slots__ = ("flat",)

    def __init__(self, flat=True):
        self.flat = flat

    def read(self, y, n_rows, who):
        """A Given with an array of two dimensions."""
        _need_y(y, who)
        y = arrow_values(y)
        if check_array is not None:
            array = check_array(y, ensure_2d=False, dtype=READABLE, input_name="y")
        else:
            array = _plain_values(y)
        if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
            raise ValueError(f"y should be a 1d or 2d array, got an array of shape {array.shape}")
        _same_length(len(array), n_rows)
        values = array.reshape(n_rows, -1)
        return Given(values=values, flat=array.ndim == 1, ours=is_ours(values, y))

    def offsets(self, estimator, given):
        """The parameter target_offset, or that which offset='auto' means, as an array or None."""
        chosen = estimator.target_offset
        if chosen is None and isinstance(estimator.offset, str):
            chosen = estimator.offset
        if chosen is not None and not isinstance(chosen, str):
            chosen = np.atleast_1d(chosen)
        return choose_offsets(chosen, given.values, "target_offset", "targets")

    def findings(self, given, offsets):
        """What float32 does to targets."""
        return find_rounding(given.values, offsets)


def _plain_values(y):
    """The parts of check_array that are needed for y."""
    array = np.asarray(y)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{array}\n")
    if array.dtype not in READABLE:
        array = array.astype(np.float64)
    _refuse_not_finite(array)
    return array


def _refuse_not_finite(array):
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(
            "Input y contains NaN."
            if np.isnan(array).any()
            else "Input y contains infinity or a value too large for dtype('float64')."
        )


# ------------------------------------------------------------------ classes


def _unknown(what):
    return ValueError(
        f"Unknown label type: {what}. Classes must be whole numbers, truth values or texts"
    )


def _number(value):
    """The label of a class that is a number."""
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        if value != int(value):
            raise _unknown("continuous")
    label = int(value)
    if not NO_LABEL < label < 2**63:
        raise ValueError(f"the class {value!r} is too large: classes have 64 bits")
    return label


def _distinct(array):
    """The different elements, and the place of each element among them."""
    if array.dtype.kind != "O":
        return np.unique(array, return_inverse=True)
    known = {}
    try:
        met = np.array([known.setdefault(item, len(known)) for item in array.tolist()], dtype=int)
        order = sorted(known)
    except TypeError:  # they cannot be sorted
        raise _unknown("texts and numbers, or other things, mixed") from None
    found, places = np.empty(len(order), dtype=object), np.empty(len(order), dtype=int)
    found[:] = order
    places[[known[item] for item in order]] = np.arange(len(order))
    return found, places[met]


def _labels_of(array):
    """The labels of an array of classes, the texts of some, and the type to show classes in."""
    kind = array.dtype.kind
    if kind == "f":
        _refuse_not_finite(array)
    if kind not in "biufUO":
        raise _unknown(array.dtype)
    found, places = _distinct(array)
    # A class may have come in a type of its own, as elements of an array of objects have.
    items = found.tolist() if kind != "O" else list(found)
    texts = {}
    if kind == "U" or (items and all(isinstance(item, str) for item in items)):
        labels = [_efface.text_label(str(item)) for item in items]
        texts = dict(zip(labels, map(str, items)))
        if len(texts) < len(items):
            raise ValueError("two classes have the same hash: rename one of them")
        dtype = np.dtype(object) if kind == "O" else np.dtype(str)
    elif all(isinstance(item, numbers.Real) for item in items):
        _refuse_not_finite(np.array(items, dtype=np.float64))
        labels = [_number(item) for item in items]
        dtype = np.result_type(*map(type, items)) if kind == "O" and items else array.dtype
    else:
        raise _unknown("texts and numbers, or other things, mixed")
    return np.array(labels, dtype=np.int64)[places.reshape(-1)], texts, dtype


class Classes(Nothing):
    """Classes: the type that users know them in, the texts of those that are texts, and weights of
    some by label, or None."""

    __slots__ = ("dtype", "texts", "weights")

    def __init__(self, dtype=np.dtype(np.int64), texts=None, weights=None):
        self.dtype = np.dtype(dtype)
        self.texts = texts or {}
        self.weights = weights

    @property
    def has_weights(self):
        """Whether classes have weights."""
        return self.weights is not None

    @property
    def are_texts(self):
        """Whether classes are texts."""
        return self.dtype.kind in "UO"

    def read(self, y, n_rows, who):
        """A Given with labels."""
        _need_y(y, who)
        labels, texts, dtype = _labels_of(_one_column(y))
        _same_length(len(labels), n_rows)
        if (dtype.kind in "UO") != self.are_texts:
            kinds = ("numbers", "texts")
            raise ValueError(
                f"the classes of the model are {kinds[self.are_texts]}, but those of y are "
                f"{kinds[not self.are_texts]}"
            )
        return Given(labels=labels, texts=texts)

    def kept(self, texts, classes):
        """The same, with these texts of classes as well; of classes that there are."""
        if not self.are_texts:
            return self
        both = {**self.texts, **texts}
        texts = {label: both[label] for label in classes if label in both}
        return Classes(self.dtype, texts, self.weights)

    def weighted(self, sample_weight, labels, n_rows):
        """Weights of rows, times those of their classes; a class without one has 1."""
        if self.weights is None or np.size(sample_weight) not in (1, n_rows):
            return sample_weight
        found, places = np.unique(labels, return_inverse=True)
        by_class = np.array([self.weights.get(label, 1.0) for label in found.tolist()])[places]
        return by_class if sample_weight is None else by_class * np.asarray(sample_weight, float)

    def named(self, error):
        """An error of the library, with the texts of classes in the place of their numbers."""
        message = str(error)
        for label, text in self.texts.items():
            message = message.replace(str(label), repr(text))
        return error if message == str(error) else type(error)(message)

    def shown(self, labels):
        """Labels as the classes that users know."""
        labels = np.asarray(labels, dtype=np.int64)
        if not self.are_texts:
            return labels.astype(self.dtype)
        found, places = np.unique(labels, return_inverse=True)
        texts = [self.texts.get(label, str(label)) for label in found.tolist()]
        return np.array(texts, dtype=self.dtype)[places.reshape(labels.shape)]

    def order(self, labels):
        """The places of labels, in the order of the classes that users know."""
        return np.argsort(self.shown(labels), kind="stable")


def _one_column(y):
    """y as an array of one dimension."""
    array = np.asarray(unmasked(y))
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(COLUMN_VECTOR, DataConversionWarning, stacklevel=2)
        array = array.reshape(-1)
    if array.ndim != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {array.shape} instead: there is one "
            "class for each row"
        )
    return array


def first_classes(y, n_rows, who, weights=None):
    """A Given of the classes of a fit, and the Classes that they make. `weights` are those of
    classes, as the user knows them."""
    _need_y(y, who)
    labels, texts, dtype = _labels_of(_one_column(y))
    _same_length(len(labels), n_rows)
    if weights is not None:
        weights = _weights_by_label(weights, dtype.kind in "UO")
    return Given(labels=labels, texts=texts), Classes(dtype, texts, weights)


def _weights_by_label(weights, are_texts):
    if not weights:
        return {}
    labels, texts, _ = _labels_of(np.array(list(weights), dtype=object))
    if bool(texts) != are_texts:
        raise ValueError("the classes of class_weight are not of the kind of those of y")
    return dict(zip(labels.tolist(), map(float, weights.values())))


def _is_missing(value):
    """Whether an element stands for no class: None, NaN, or pandas' NA."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "MaskedConstant")
        or (isinstance(value, numbers.Real) and value != value)
    )


def store_labels(labels, n_rows):
    """Labels for a store, in which a row need not have one: an array of labels, and texts."""
    if labels is None:
        return None, None
    array = np.asarray(unmasked(labels), dtype=object)
    if array.shape != (n_rows,):
        raise ValueError(f"there are {len(array)} labels for {n_rows} rows")
    has_one = np.array([not _is_missing(value) for value in array], dtype=bool)
    out = np.full(n_rows, NO_LABEL, dtype=np.int64)
    out[has_one], texts, _ = _labels_of(array[has_one])
    return out, texts


__all__ = [
    "COLUMN_VECTOR",
    "NO_LABEL",
    "Classes",
    "Given",
    "Nothing",
    "Values",
    "first_classes",
    "store_labels",
]
