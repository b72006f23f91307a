"""Reports of calls: named tuples that print well in a terminal and in a notebook."""

from __future__ import annotations

from html import escape
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._types import Predicts, RowIds

_ROW_HASH_BYTES = 16


def _seconds(seconds):
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e6:.3g} µs"


def _count(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def html_table(title, cells):
    """A small table for a notebook."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(str(name))}</th>"
        f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
        for name, value in cells
    )
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"


class Report(NamedTuple):
    """What a change of a model did.

    With several runs (`n_init`), it is the report of the run with the largest change, and
    `rows_visited` counts the rows of all runs.

    Attributes
    ----------
    action : str
        'adjusted' (the part of the rows was subtracted from sums, or added; no other row was needed),
        'repaired' (a part of the model was computed again) or 'refitted'.
    reason : str
        Why it took that much work; of a `Preview`, why it will.
    where : str
        Where in the model, such as 'from iteration 2 on'; or empty.
    rows_forgotten, rows_learned : int
    rows_missing : int
        Ids and owners that do not exist, if the request allowed them.
    rows_visited : int
        How often the change looked at rows that are not part of the request; in a preview, how
        often at most. A row can be looked at many times.
    seconds : float
    """

    action: Literal["adjusted", "repaired", "refitted"]
    reason: str
    where: str
    rows_forgotten: int
    rows_learned: int
    rows_missing: int
    rows_visited: int
    seconds: float

    _will = ""

    def _sentence(self):
        parts = [
            f"{_count(number, 'row')} {self._will}{what}"
            for number, what in (
                (self.rows_forgotten, "forgotten"),
                (self.rows_learned, "learned"),
                (self.rows_missing, "missing"),
            )
            if number
        ]
        done = self._will + self.action
        if self.where:
            done += f" {self.where}"
        done += f" ({self.reason})"
        return ", ".join(parts) or "no rows", done

    def __repr__(self):
        rows, done = self._sentence()
        return f"<Report: {rows}; {done}; {_seconds(self.seconds)}>"

    def _repr_html_(self):
        rows, done = self._sentence()
        cells = [
            ("rows", rows),
            ("model", done),
            ("time", _seconds(self.seconds)),
        ]
        return html_table("efface report", cells)


class Preview(Report):
    """What a change of a model will do, if it is asked for; with the attributes of a `Report`."""

    __slots__ = ()
    _will = "will be "


class ForestSize(NamedTuple):
    """How large a forest is.

    Attributes
    ----------
    n_trees, n_nodes, n_leaves : int
        Leaves are nodes too.
    depth : int
        Of the deepest leaf; the root has depth 0.
    n_unsettled : int
        Nodes of a lazy forest below which it has to be grown yet. The other numbers count each of
        them as a leaf.
    n_rows : int
        Rows that take part: those that have a class, or a target that is not missing.
    """

    n_trees: int
    n_nodes: int
    n_leaves: int
    depth: int
    n_unsettled: int
    n_rows: int


class Difference(NamedTuple):
    """Whether two states are the same bytes; if not, their first difference.

    It is true if they are the same.

    Attributes
    ----------
    identical : bool
    what : str
        'centroid', 'sum', 'count', ...; empty if identical.
    where : str
        Such as 'level 2, cluster 5, column 1'; or empty.
    """

    identical: bool
    what: str
    where: str

    def __bool__(self) -> bool:
        return self.identical

    def _sentence(self):
        if self.identical:
            return "identical to a model fitted now to its rows, byte for byte"
        return "DIFFERS from a model fitted now: " + ", ".join(filter(None, (self.what, self.where)))

    def __repr__(self):
        return f"<Difference: {self._sentence()}>"

    def _repr_html_(self):
        return html_table("efface verify", [("state", self._sentence())])


class ModelInfo(NamedTuple):
    """Facts about a fitted model.

    Attributes
    ----------
    kind : str
        What it is, such as 'k-means' or 'linear regression'.
    n_rows, n_features : int
    predicts : str
        What it predicts: 'clusters', 'classes', 'values' or 'probabilities'.
    n_numbers : int
        How many numbers it predicts for a row; 0 if it has no rows.
    parameters : dict
        The parameters it was fitted with, under the names that the program `efface` has for them.
    facts : dict
        What became of them, and what else there is to know of such a model.
    """

    kind: str
    n_rows: int
    n_features: int
    predicts: Predicts
    n_numbers: int
    parameters: dict[str, Any]
    facts: dict[str, Any]


class ModelChange(NamedTuple):
    """What a request did to one model of a store; `before` and `after` are commitments to its states
    (docs/definition/store.md), in hexadecimal digits."""

    name: str
    kind: str
    report: Report
    before: str
    after: str

    @classmethod
    def _of_items(cls, name, kind, report, before, after):
        """From what the extension gives."""
        return cls(name, kind, Report._make(report), before.hex(), after.hex())


class StoreInfo(NamedTuple):
    """The contents of a store in numbers.

    Attributes
    ----------
    format : int
        The format of the file.
    n_rows, n_features, n_models : int
    n_owners : int
        Number of different owners.
    n_unowned_rows : int
        Rows without an owner.
    n_labels : int
        Number of different labels.
    n_receipts : int
    keeps_texts : bool
        Whether the texts of ids and owners are kept.
    receipt_key_outside : bool
        Whether the caller keeps the key of the receipts, and not the store.
    file_bytes, free_bytes : int
        The size of the file, and the size of its free part.
    """

    format: int
    n_rows: int
    n_features: int
    n_models: int
    n_owners: int
    n_unowned_rows: int
    n_labels: int
    n_receipts: int
    keeps_texts: bool
    receipt_key_outside: bool
    file_bytes: int
    free_bytes: int


class StoredModel(NamedTuple):
    """Facts about a model in a store.

    Attributes
    ----------
    name, kind : str
    parameters : dict
        What it was fitted with, without the seed; under the names of the program `efface`.
    n_features : int
        How many columns it has, targets among them.
    digest : str
        The digest of its first run.
    n_init : int
        The number of its runs. The file has the other runs as `name..2`, `name..3` and so on.
    """

    name: str
    kind: str
    parameters: dict[str, Any]
    n_features: int
    digest: str
    n_init: int = 1


class FoundRows(NamedTuple):
    """Rows of a store, if pandas is not installed. All arrays have the same order.

    Attributes
    ----------
    ids, owners : list
        Texts if they are known, else numbers; an owner may be None.
    weights : ndarray of int64
    labels : list
        Texts if they are known, else numbers, or None.
    values : ndarray of shape (n_rows, n_features); float32, or float64 if there are offsets
    feature_names : list of str, or None
    """

    ids: list[int | str]
    owners: list[int | str | None]
    weights: NDArray[np.int64]
    labels: list[int | str | None]
    values: NDArray[np.float32]
    feature_names: list[str] | None


class StoreReport(NamedTuple):
    """What a request to a store did.

    Attributes
    ----------
    n_requested : int
        Ids and owners of the request, or its rows.
    n_missing : int
        How many of them do not exist.
    n_forgotten, n_learned, n_updated : int
        Numbers of rows.
    receipt : int
        The number of its receipt; 0 if there is none.
    seconds : float
    models : tuple of ModelChange
        One for each run of each model.
    new_ids : ndarray of uint64 or None
        The new ids of rows that were learned without ids, in the order of the rows.
    row_hashes : tuple of str
        The hashes of the rows' ids in hexadecimal digits; see `receipt_root`.
    published : str or None
        The BLAKE2b-256 digest of the file that was published, as the receipt has it, in
        hexadecimal digits.
    """

    n_requested: int
    n_missing: int
    n_forgotten: int
    n_learned: int
    n_updated: int
    receipt: int
    seconds: float
    models: tuple[ModelChange, ...]
    new_ids: RowIds | None
    row_hashes: tuple[str, ...]
    published: str | None = None

    @classmethod
    def _of_items(cls, items):
        """From what the extension gives."""
        *numbers, changes, new_ids, hashes, published = items
        size = _ROW_HASH_BYTES
        return cls(
            *numbers,
            tuple(ModelChange._of_items(*change) for change in changes),
            None if new_ids is None else np.frombuffer(new_ids, dtype=np.uint64),
            tuple(hashes[i : i + size].hex() for i in range(0, len(hashes or b""), size)),
            None if published is None else published.hex(),
        )

    _will = ""

    def _rows(self):
        parts = [
            f"{_count(number, 'row')} {self._will}{what}"
            for number, what in (
                (self.n_forgotten, "forgotten"),
                (self.n_learned, "learned"),
                (self.n_updated, "updated"),
            )
            if number
        ]
        if self.n_missing:
            parts.append(f"{self.n_missing:,} of {self.n_requested:,} requested missing")
        return ", ".join(parts) or ("no rows" if self.published is None else "published")

    def __repr__(self):
        changes = "".join(f"; {change.name} {self._will}{change.report.action}" for change in self.models)
        receipt = f"receipt {self.receipt}" if self.receipt else "no receipt"
        return f"<StoreReport: {self._rows()}{changes}; {receipt}, {_seconds(self.seconds)}>"

    def _repr_html_(self):
        cells = [("rows", self._rows())]
        cells += [
            (change.name, self._will + change.report.action)
            for change in self.models
        ]
        cells += [("receipt", self.receipt or "none"), ("time", _seconds(self.seconds))]
        return html_table("efface store report", cells)


class StorePreview(StoreReport):
    """What a request to a store will do, if it is sent; with the attributes of a `StoreReport`."""

    __slots__ = ()
    _will = "will be "
