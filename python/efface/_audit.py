"""What of the rows is kept outside of a model that forgets: by the other steps of a pipeline."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._estimator import Estimator
from ._reports import html_table

# What a fit leaves that says nothing of the values of rows.
_NEUTRAL = {"n_features_in_", "feature_names_in_", "n_outputs_", "sparse_output_"}


class AuditedStep(NamedTuple):
    """A step of a pipeline.

    Attributes
    ----------
    name : str
        With the names of the steps around it.
    kind : str
        The class.
    keeps : tuple of str
        The attributes that were computed from rows and stay when rows are forgotten.
    """

    name: str
    kind: str
    keeps: tuple[str, ...]


class Audit(NamedTuple):
    """What `audit` found: it is true if no step keeps anything of rows that are forgotten.

    Attributes
    ----------
    steps : tuple of AuditedStep
    """

    steps: tuple[AuditedStep, ...]

    @property
    def keeping(self) -> tuple[AuditedStep, ...]:
        """The steps that keep something."""
        return tuple(step for step in self.steps if step.keeps)

    def __bool__(self):
        return not self.keeping

    def _title(self):
        n = len(self.keeping)
        return f"{n} of {len(self.steps)} steps keep{'s' if n == 1 else ''} what rows left in them"

    def __repr__(self):
        lines = [f"  {s.name} ({s.kind}) keeps {', '.join(s.keeps)}" for s in self.keeping]
        return "\n".join([f"<Audit: {self._title()}", *lines]) + ">"

    def _repr_html_(self):
        return html_table(self._title(), [(s.name, ", ".join(s.keeps)) for s in self.steps])


def _parts(item):
    """The steps of a pipeline, a union or a transformer of columns; None for anything else."""
    for attribute in ("steps", "transformer_list", "transformers_", "transformers"):
        found = getattr(item, attribute, None)
        if isinstance(found, list):
            return [(name, part) for name, part, *_ in found]
    return None


def _is_kept(name, value):
    if name in _NEUTRAL or value is None:
        return False
    if name.startswith("_"):
        return isinstance(value, np.ndarray) or hasattr(value, "toarray")
    return name.endswith("_")


def _walk(name, item):
    if isinstance(item, str) or item is None:  # "passthrough", "drop"
        return
    parts = None if isinstance(item, Estimator) else _parts(item)
    if parts is None:
        keeps = ()
        if not isinstance(item, Estimator):
            own = item.get_params(deep=False) if hasattr(item, "get_params") else {}
            kept = vars(item).items() if hasattr(item, "__dict__") else ()
            keeps = tuple(key for key, v in kept if key not in own and _is_kept(key, v))
        yield AuditedStep(name, type(item).__name__, keeps)
        return
    for part_name, part in parts:
        yield from _walk(f"{name}.{part_name}" if name else part_name, part)


def audit(pipeline: Any) -> Audit:
    """Names the steps of a fitted pipeline that keep something of the rows they were fitted to.

    A scaler, an imputer or an encoder of scikit-learn has seen every row, and cannot forget one:
    then neither can the pipeline. efface's own estimators forget.

    Parameters
    ----------
    pipeline : Pipeline, FeatureUnion, ColumnTransformer or a single estimator

    Returns
    -------
    Audit
        True if nothing is kept.
    """
    return Audit(tuple(_walk("", pipeline)))
