"""What calls report, as tuples with names that print well in a terminal and in a notebook."""

from html import escape
from typing import NamedTuple


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
    """What a change of a model took.

    With several runs (`n_init`) it is the report of the run that took most, with the rows that all
    of them visited.

    Attributes
    ----------
    action : str
        'untouched' (sums were corrected, no other row was looked at), 'repaired' (rows were
        assigned again, from a level on) or 'refitted'.
    reason : str
        Why more than sums had to change.
    level : int
        If repaired, the first level that was computed again.
    levels_replayed : int
        Levels whose rows were assigned again.
    rows_forgotten, rows_learned : int
    rows_missing : int
        Ids that were not there, if that was allowed.
    rows_visited : int
        Assignments of rows that were not part of the request.
    depth : int
        Method 'tree': the depth of the node nearest to the root that was reached.
    seconds : float
    """

    action: str
    reason: str
    level: int
    levels_replayed: int
    rows_forgotten: int
    rows_learned: int
    rows_missing: int
    rows_visited: int
    depth: int
    seconds: float

    def _sentence(self):
        parts = [
            _count(number, "row") + " " + what
            for number, what in (
                (self.rows_forgotten, "forgotten"),
                (self.rows_learned, "learned"),
                (self.rows_missing, "missing"),
            )
            if number
        ]
        done = self.action
        if self.action == "repaired":
            done += f" from level {self.level}"
        if self.action != "untouched":
            done += f" ({self.reason})"
        return ", ".join(parts) or "no rows", done

    def __repr__(self):
        rows, done = self._sentence()
        visited = _count(self.rows_visited, "row")
        return f"<Report: {rows}; {done}; {visited} visited, {_seconds(self.seconds)}>"

    def _repr_html_(self):
        rows, done = self._sentence()
        cells = [
            ("rows", rows),
            ("model", done),
            ("rows visited", f"{self.rows_visited:,}"),
            ("time", _seconds(self.seconds)),
        ]
        return html_table("efface report", cells)


class Difference(NamedTuple):
    """Whether two states are the same bytes, and where they differ first. True if they are.

    Attributes
    ----------
    identical : bool
    what : str
        'centroid', 'sum', 'count', ...; empty if identical.
    level, cluster, column : int
    depth, node : int
        Method 'tree': which node.
    """

    identical: bool
    what: str
    level: int
    cluster: int
    column: int
    depth: int
    node: int

    def __bool__(self):
        return self.identical

    def _sentence(self):
        if self.identical:
            return "identical to a fresh fit, byte for byte"
        return (
            f"DIFFERS from a fresh fit: {self.what} of cluster {self.cluster}, column "
            f"{self.column}, level {self.level}"
        )

    def __repr__(self):
        return f"<Difference: {self._sentence()}>"

    def _repr_html_(self):
        return html_table("efface verify", [("state", self._sentence())])


class ModelInfo(NamedTuple):
    """What is known of a fitted model."""

    n_clusters: int
    n_rows: int
    iterations: int
    stable: bool
    epsilon: float
    width: int
    n_coarse_columns: int


class ModelChange(NamedTuple):
    """What a request did to one model of a store; digests are in hexadecimal digits."""

    name: str
    report: Report
    before: str
    after: str

    @classmethod
    def make(cls, name, report, before, after):
        """From what the extension gives."""
        return cls(name, Report._make(report), before.hex(), after.hex())


class StoreReport(NamedTuple):
    """What a request to a store did.

    Attributes
    ----------
    n_requested : int
        Ids and owners.
    n_missing : int
        Those of them that were not there.
    n_forgotten, n_learned : int
        Rows.
    receipt : int
        The number of its receipt; 0 if there is none.
    seconds : float
    models : tuple of ModelChange
    """

    n_requested: int
    n_missing: int
    n_forgotten: int
    n_learned: int
    receipt: int
    seconds: float
    models: tuple

    def _rows(self):
        parts = [
            _count(number, "row") + " " + what
            for number, what in ((self.n_forgotten, "forgotten"), (self.n_learned, "learned"))
            if number
        ]
        if self.n_missing:
            parts.append(f"{self.n_missing:,} of {self.n_requested:,} requested not there")
        return ", ".join(parts) or "no rows"

    def __repr__(self):
        changes = "".join(f"; {change.name} {change.report.action}" for change in self.models)
        receipt = f"receipt {self.receipt}" if self.receipt else "no receipt"
        return f"<StoreReport: {self._rows()}{changes}; {receipt}, {_seconds(self.seconds)}>"

    def _repr_html_(self):
        cells = [("rows", self._rows())]
        cells += [
            (change.name, f"{change.report.action}, now {change.after[:16]}...")
            for change in self.models
        ]
        cells += [("receipt", self.receipt or "none"), ("time", _seconds(self.seconds))]
        return html_table("efface store report", cells)
