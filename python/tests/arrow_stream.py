"""Streams of Arrow's C data interface made by hand, of lists of Python's values, to read tables
from without a library that makes them."""

import ctypes
from ctypes import CFUNCTYPE, c_char_p, c_int, c_int64, c_void_p, py_object

import numpy as np

ITEMS = {
    "c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8",
    "e": "f2", "f": "f4", "g": "f8", "tdD": "i4", "tdm": "i8",
}  # fmt: skip
RELEASE = CFUNCTYPE(None, c_void_p)
GET = CFUNCTYPE(c_int, c_void_p, c_void_p)
LAST_ERROR = CFUNCTYPE(c_void_p, c_void_p)
NEEDED = set()  # streams of which something has not been released


class Schema(ctypes.Structure):
    _fields_ = [
        ("format", c_char_p),
        ("name", c_char_p),
        ("metadata", c_char_p),
        ("flags", c_int64),
        ("n_children", c_int64),
        ("children", c_void_p),
        ("dictionary", c_void_p),
        ("release", RELEASE),
        ("private_data", c_void_p),
    ]


class Array(ctypes.Structure):
    _fields_ = [
        ("length", c_int64),
        ("null_count", c_int64),
        ("offset", c_int64),
        ("n_buffers", c_int64),
        ("n_children", c_int64),
        ("buffers", c_void_p),
        ("children", c_void_p),
        ("dictionary", c_void_p),
        ("release", RELEASE),
        ("private_data", c_void_p),
    ]


class StreamStruct(ctypes.Structure):
    _fields_ = [
        ("get_schema", GET),
        ("get_next", GET),
        ("get_last_error", LAST_ERROR),
        ("release", RELEASE),
        ("private_data", c_void_p),
    ]


def bits(truths):
    return np.packbits(np.array(truths, dtype=bool), bitorder="little")


def texts_and_ends(values, dtype):
    data = [(value or "").encode() for value in values]
    ends = np.cumsum([0, *map(len, data)]).astype(dtype)
    return [ends, np.frombuffer(b"".join(data) + b"\0", np.uint8)]


def views(values):
    """Of texts: short ones in place, others in a buffer."""
    out, long_ones = b"", b""
    for value in values:
        data = (value or "").encode()
        out += np.int32(len(data)).tobytes()
        if len(data) <= 12:
            out += data.ljust(12, b"\0")
        else:
            out += data[:4] + np.array([0, len(long_ones)], np.int32).tobytes()
            long_ones += data
    sizes = np.array([len(long_ones)], np.int64)
    return [np.frombuffer(out, np.uint8), np.frombuffer(long_ones + b"\0", np.uint8), sizes]


def values_of(form, values):
    """The buffers behind the bits that say which values there are."""
    if form == "n":
        return None
    if form == "b":
        return [bits([bool(value) for value in values])]
    if form in "uU":
        return texts_and_ends(values, np.int32 if form == "u" else np.int64)
    if form == "vu":
        return views(values)
    if form.startswith("d:"):
        whole = [0 if value is None else int(value) for value in values]
        pairs = [(value & (2**64 - 1), value >> 64 & (2**64 - 1)) for value in whole]
        return [np.array(pairs, dtype=np.uint64)]
    dtype = ITEMS.get(form, "i8")
    return [np.array([0 if value is None else value for value in values], dtype=dtype)]


class Column:
    """Values of a format, None where one is missing; `entries` is a Column that they number."""

    def __init__(self, form, values, entries=None):
        self.form, self.values, self.entries = form, list(values), entries

    def part(self, first, last):
        return Column(self.form, self.values[first:last], self.entries)


class Stream:
    """An object with __arrow_c_stream__, for a dictionary of Columns or for one Column alone. Each
    batch has so many rows, and every array begins `offset` elements into its buffers. How many
    structs were handed out and released is counted."""

    def __init__(self, columns, batch=1000, offset=0, fails=None):
        self.columns, self.batch, self.offset, self.fails = columns, batch, offset, fails
        self.n_given = self.n_released = 0
        self._kept = []

    def _keep(self, thing):
        self._kept.append(thing)
        return thing

    def _release(self, struct):
        """A function that releases a struct of this type."""

        def release(at):
            struct.from_address(at).release = RELEASE()
            self.n_released += 1
            if self.n_released == self.n_given:
                NEEDED.discard(self)

        self.n_given += 1
        NEEDED.add(self)
        return self._keep(RELEASE(release))

    def _pointers(self, structs):
        found = self._keep((c_void_p * len(structs))(*map(ctypes.addressof, structs)))
        return ctypes.addressof(found)

    def _schema(self, form, name, children=(), dictionary=None, own=True):
        release = self._release(Schema) if own else RELEASE()
        schema = self._keep(Schema(form.encode(), name.encode(), None, 2, len(children)))
        schema.release = release
        if children:
            schema.children = self._pointers(children)
        if dictionary is not None:
            schema.dictionary = ctypes.addressof(dictionary)
        return schema

    def _schema_of(self, name, column, own=False):
        entries = column.entries
        inner = None if entries is None else self._schema_of("", entries)
        return self._schema(column.form, name, (), inner, own)

    def _array(self, length, null_count, buffers, children=(), dictionary=None, own=False, skip=0):
        array = self._keep(Array(length, null_count, skip, len(buffers), len(children)))
        places = [None if b is None else self._keep(np.ascontiguousarray(b)).ctypes.data
                  for b in buffers]
        if buffers:
            array.buffers = ctypes.addressof(self._keep((c_void_p * len(places))(*places)))
        if children:
            array.children = self._pointers(children)
        if dictionary is not None:
            array.dictionary = ctypes.addressof(dictionary)
        array.release = self._release(Array) if own else RELEASE()
        return array

    def _array_of(self, column, own=False):
        skip = self.offset
        values = [None] * skip + column.values
        n_missing = sum(value is None for value in column.values)
        known = bits([value is not None for value in values]) if n_missing else None
        data = values_of(column.form, values)
        entries = None if column.entries is None else self._array_of(column.entries)
        buffers = [] if data is None else [known, *data]
        return self._array(len(column.values), n_missing, buffers, (), entries, own, skip)

    def _batches(self):
        alone = isinstance(self.columns, Column)
        columns = [self.columns] if alone else list(self.columns.values())
        n = len(columns[0].values) if columns else 0
        for first in range(0, n, self.batch):
            parts = [column.part(first, first + self.batch) for column in columns]
            if alone:
                yield self._array_of(parts[0], own=True)
            else:
                arrays = [self._array_of(part) for part in parts]
                yield self._array(len(parts[0].values), 0, [None], arrays, own=True)

    def __arrow_c_stream__(self, requested_schema=None):
        left = self._batches()

        def get_schema(_, out):
            if isinstance(self.columns, Column):
                made = self._schema_of("", self.columns, own=True)
            else:
                children = [self._schema_of(*item) for item in self.columns.items()]
                made = self._schema("+s", "", children)
            ctypes.memmove(out, ctypes.addressof(made), ctypes.sizeof(Schema))
            return 0

        def get_next(_, out):
            if self.fails is not None:
                return 5
            batch = next(left, None)
            if batch is None:
                Array.from_address(out).release = RELEASE()
            else:
                ctypes.memmove(out, ctypes.addressof(batch), ctypes.sizeof(Array))
            return 0

        why = self._keep(ctypes.create_string_buffer(self.fails or b""))
        stream = self._keep(StreamStruct(
            self._keep(GET(get_schema)),
            self._keep(GET(get_next)),
            self._keep(LAST_ERROR(lambda _: ctypes.addressof(why))),
            self._release(StreamStruct),
        ))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
        return new(ctypes.addressof(stream), b"arrow_array_stream", None)


def of_frame(frame, **options):
    """A Stream of a data frame of pandas: numbers, truth values, times and texts."""
    columns = {}
    for name, series in frame.items():
        kind = series.dtype.kind
        if kind in "iufb":
            item = series.dtype.str[1:]
            form = "b" if kind == "b" else next(f for f, of in ITEMS.items() if of == item)
            columns[name] = Column(form, series.tolist())
        elif kind == "M":
            columns[name] = Column("tsn:", series.astype("i8").tolist())
        else:
            columns[name] = Column("u", [v if isinstance(v, str) else None for v in series])
    return Stream(columns, **options)
