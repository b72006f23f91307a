"""Tables as people have them, data frames and Arrow streams, whose columns are of many kinds.

A model has numbers. A truth value is 0 or 1; a date is days since 1970, and a point in time seconds
since then, in UTC; a text is the code that stands for it in a column of categories; what is missing
is NaN. A Table is read once, into an array that is ours.

The name of a column in the place of ids, owners, y or weights means that column, which is then not a
feature.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import re
import warnings
from typing import NamedTuple

import numpy as np

from . import _efface

MANY_CATEGORIES = 2000
"""A column with more different texts is hardly one of categories."""

_MAX_MAGNITUDE = 2.0**126
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_PARTS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # of a second


class Texts(NamedTuple):
    """A column of texts: the different ones, and the number of each row's, -1 if it is missing."""

    texts: list[str]
    numbers: np.ndarray

    def values(self):
        """The text of each row, None if it is missing."""
        return np.array([*self.texts, None], dtype=object)[self.numbers]

    def codes(self, name):
        """The numbers that stand for the texts in a column of categories."""
        codes = np.full(len(self.texts) + 1, np.nan)
        known = {}
        for place, text in enumerate(self.texts):
            codes[place] = code = category_value(text)
            other = known.setdefault(code, text)
            if other != text and not (_says_number(text) and _says_number(other)):
                raise ValueError(
                    f"column {name!r}: the categories {other!r} and {text!r} have the same code: "
                    "rename one of them"
                )
        return codes[self.numbers]


def category_value(text):
    """The number of a category as the command line reads it: a text that says a number is it."""
    return float(text) if _says_number(text) else _efface.text_category(text)


def _says_number(text):
    return _NUMBER.fullmatch(text) is not None and abs(float(text)) <= _MAX_MAGNITUDE


def seconds(times):
    """An array of NumPy's times, or of durations, as seconds; whole ones are exact."""
    unit, step = np.datetime_data(times.dtype)
    if unit not in _PARTS or step != 1:
        unit = "us"
        times = times.astype(f"{times.dtype.kind}8[us]")
    whole, rest = np.divmod(times.astype(np.int64), _PARTS[unit])
    out = whole + rest / _PARTS[unit]
    out[np.isnat(times)] = np.nan
    return out


# ------------------------------------------------------------------ data frames


def _times_of(values):
    """Points in time of the standard library, as NumPy's."""
    utc = datetime.timezone.utc
    plain = [
        value.astimezone(utc).replace(tzinfo=None) if getattr(value, "tzinfo", None) else value
        for value in values
    ]
    return np.array(plain, dtype="M8[us]")


def _of_objects(array, name):
    """The content of an array of objects: texts, numbers, or dates."""
    import pandas

    known = ~pandas.isna(array)
    some = array[known]
    kinds = set(map(type, some))
    if kinds and all(issubclass(kind, str) for kind in kinds):
        places, texts = pandas.factorize(array)
        return Texts([str(text) for text in texts], places)
    out = np.full(len(array), np.nan)
    if all(issubclass(kind, (numbers.Real, np.bool_, decimal.Decimal)) for kind in kinds):
        out[known] = some.astype(np.float64)
    elif all(issubclass(kind, datetime.datetime) for kind in kinds):
        out[known] = seconds(_times_of(some))
    elif all(kind is datetime.date for kind in kinds):
        out[known] = np.array(list(some), dtype="M8[D]").astype(np.int64)
    elif all(issubclass(kind, datetime.timedelta) for kind in kinds):
        out[known] = seconds(np.array(list(some), dtype="m8[us]"))
    else:
        first = some[0]
        other = next((value for value in some if type(value) is not type(first)), first)
        raise TypeError(
            f"column {name!r} has values that are not all numbers, all texts, all dates or all times, such as "
            f"{first!r} and {other!r}: correct them, or leave the column out"
        )
    return out


def _of_series(series, name):
    """The content of a column of a data frame: an array of numbers, or Texts."""
    dtype = series.dtype
    if hasattr(series, "cat"):
        found = _of_series(dtype.categories.to_series(), name)
        places = series.cat.codes.to_numpy()
        if isinstance(found, Texts):
            return Texts(found.texts, np.append(found.numbers, -1)[places])
        return np.append(found.astype(np.float64), np.nan)[places]
    if dtype.kind in "Mm":
        if getattr(dtype, "tz", None) is not None:
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        times = np.asarray(series)
        return seconds(times) if times.dtype.kind in "Mm" else _of_objects(times, name)
    if dtype.kind in "iufb":
        if isinstance(dtype, np.dtype):
            return series.to_numpy()
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    return _of_objects(series.to_numpy(dtype=object), name)


class _FrameColumns:
    """The columns of a data frame of pandas."""

    def __init__(self, frame):
        self._frame = frame
        self.names = list(frame.columns)
        self.n_rows = len(frame)

    def values(self, place):
        """A column as it is."""
        return self._frame.iloc[:, place]

    def index(self):
        """The index, which names rows."""
        return self._frame.index

    def contents(self, places, narrow):
        """Arrays of numbers, and Texts; None; and which of them are categories."""
        found = [_of_series(self.values(place), self.names[place]) for place in places]
        return found, None, [hasattr(self.values(place), "cat") for place in places]

    def lends(self, place):
        """Whether the content of a column is memory of the data frame itself."""
        dtype = self._frame.dtypes.iloc[place]
        return isinstance(dtype, np.dtype) and dtype.kind in "iufb"

    def is_plain(self):
        """Whether all columns are NumPy's numbers."""
        return all(isinstance(t, np.dtype) and t.kind in "iufc" for t in self._frame.dtypes)


# ------------------------------------------------------------------ Arrow


class _ArrowColumns:
    """The columns of an Arrow stream."""

    def __init__(self, source):
        self._table = _efface.open_table(source.__arrow_c_stream__())
        self._about = self._table.columns()
        self.names = [name for name, *_ in self._about]
        self.n_rows = self._table.n_rows()

    def is_plain(self):
        return False

    def lends(self, place):
        return False

    def index(self):
        return None

    def _texts(self, place):
        found = np.empty(self.n_rows, dtype=np.int32)
        return Texts(self._table.texts(place, found), found)

    def _whole(self, place, dtype):
        found, known = np.empty(self.n_rows, dtype=dtype), np.empty(self.n_rows, dtype=bool)
        self._table.whole(place, found, known)
        return found if known.all() else np.ma.MaskedArray(found, mask=~known)

    def values(self, place):
        """A column as an array of its kind; what is missing is masked, None or NaN."""
        kind = self._about[place][1]
        if kind == "text":
            return self._texts(place).values()
        if kind in ("signed", "unsigned"):
            return self._whole(place, np.int64 if kind == "signed" else np.uint64)
        found = self._numbers([place])[0][:, 0]
        return found.astype(bool) if kind == "truth" and not np.isnan(found).any() else found

    def _numbers(self, places, narrow=False):
        """An array of numbers with these columns, of float32 if `narrow` or if it holds them all;
        then also what it loses of them, as find_rounding has it."""
        narrow = narrow or all(self._about[place][2] for place in places)
        out = np.empty((self.n_rows, len(places)), dtype=np.float32 if narrow else np.float64)
        wrong, lost = self._table.fill(tuple(places), out) if places else (None, [])
        if wrong is not None:
            raise ValueError(
                f"column {self.names[places[wrong]]!r} has decimals with more digits than a float64 "
                "has: make it a column of that type"
            )
        return out, lost if narrow else None

    def contents(self, places, narrow):
        """An array of all the columns if all are numbers, of float32 if `narrow`, and what it
        loses of them or None; else a list as that of a data frame."""
        for place in places:
            name, kind, _, _, form = self._about[place]
            if kind == "other":
                raise TypeError(
                    f"column {name!r} has the Arrow type {form!r}, which is neither numbers, texts "
                    "nor times: leave it out"
                )
        flags = [self._about[place][3] for place in places]
        texts = [self._about[place][1] == "text" for place in places]
        if not any(texts):
            return *self._numbers(places, narrow), flags
        whole, _ = self._numbers([place for place, is_text in zip(places, texts) if not is_text])
        columns = iter(whole.T)
        return [
            self._texts(place) if is_text else next(columns)
            for place, is_text in zip(places, texts)
        ], None, flags


def arrow_values(values):
    """An array of the only column of an Arrow stream; anything else as it is."""
    if hasattr(values, "iloc") or not hasattr(values, "__arrow_c_stream__"):
        return values
    columns = _ArrowColumns(values)
    if len(columns.names) != 1:
        raise ValueError(f"expected one column, but there are {len(columns.names)}")
    return columns.values(0)


# ------------------------------------------------------------------ tables


class Every:
    """All places: any column may have categories."""

    def __contains__(self, place):
        return True


class Table:
    """Some columns of a table, in some order, on their way to an array of numbers."""

    __slots__ = ("_columns", "_places")

    def __init__(self, columns, places=None):
        self._columns = columns
        self._places = list(range(len(columns.names))) if places is None else places

    @property
    def columns(self):
        """The names."""
        return [self._columns.names[place] for place in self._places]

    def __len__(self):
        return self._columns.n_rows

    def take(self, places):
        """The columns at these places, as another Table."""
        return Table(self._columns, [self._places[place] for place in places])

    def without(self, names):
        """All columns but those with these names."""
        return self.take([i for i, name in enumerate(self.columns) if name not in names])

    def values(self, name, what):
        """The column with a name, as it is; or the index of a data frame."""
        found = [place for place in self._places if self._columns.names[place] == name]
        if len(found) == 1:
            return self._columns.values(found[0])
        if name == "index" and not found and self._columns.index() is not None:
            return self._columns.index()
        how_many = "several columns" if found else "no column"
        some = ", ".join(map(repr, self.columns[:20]))
        raise ValueError(f"{what}={name!r}: X has {how_many} of that name; it has {some}")

    def numbers(self, categories, narrow=False):
        """A new array of numbers, which may be of float32 if `narrow`; what it loses then, as
        find_rounding has it, or None; and the places of columns that are categories. Texts are
        allowed at the places in `categories`."""
        found, lost, flags = self._columns.contents(self._places, narrow)
        if isinstance(found, np.ndarray):
            return found, lost, [place for place, flag in enumerate(flags) if flag]
        texts = [place for place, content in enumerate(found) if isinstance(content, Texts)]
        for place in texts:
            if place not in categories:
                raise ValueError(_no_texts(self.columns[place], found[place]))
            content, found[place] = found[place], found[place].codes(self.columns[place])
            content.numbers.fill(0)
            if len(content.texts) > MANY_CATEGORIES and isinstance(categories, Every):
                warnings.warn(
                    f"column {self.columns[place]!r} has {len(content.texts)} different texts: should "
                    "it be ids or owners, or left out?",
                    stacklevel=4,
                )
        dtype = np.result_type(*found) if found else np.dtype(np.float64)
        if dtype.kind not in "fiu":
            dtype = np.dtype(np.float64)
        out = np.empty((len(self), len(found)), dtype=dtype, order="F")
        for place, content in enumerate(found):
            out[:, place] = content
            if not self._columns.lends(self._places[place]) and content.flags.writeable:
                content.fill(0)
        return out, None, [p for p, flag in enumerate(flags) if flag or p in texts]


def _no_texts(name, content):
    example = f", such as {content.texts[0]!r}" if content.texts else ""
    return (
        f"column {name!r} has texts{example}, where numbers are expected: leave the column out, or "
        "make columns of 0 and 1 of it (pandas.get_dummies). Only forests take texts, in columns "
        "that are categories"
    )


def _columns_of(X):
    """The columns of a table; None for anything else."""
    if isinstance(X, Table):
        return X._columns
    if hasattr(X, "iloc"):
        return _FrameColumns(X) if hasattr(X, "columns") else None
    return _ArrowColumns(X) if hasattr(X, "__arrow_c_stream__") else None


def as_table(X, without=()):
    """X as a Table without some columns, if it is a table; a data frame of nothing but numbers of
    which nothing is left out, and anything else, as it is."""
    columns = _columns_of(X)
    if columns is None:
        return X
    table = X if isinstance(X, Table) else Table(columns)
    left_out = set(without).intersection(table.columns)
    if columns.is_plain() and not left_out and table is not X:
        return X
    return table.without(left_out)


def take_columns(X, **named):
    """X without the columns that are named by arguments, these arguments with the columns in the
    place of names, and the names."""
    names = {what: name for what, name in named.items() if isinstance(name, str)}
    columns = _columns_of(X) if names else None
    if columns is None:
        return X, named, ()
    table = Table(columns)
    if len(table) == 1:  # whose id and owner may be given as texts
        names = {what: name for what, name in names.items() if name in table.columns}
    found = {what: table.values(name, what) for what, name in names.items()}
    return table.without(set(names.values())), {**named, **found}, tuple(names.values())
