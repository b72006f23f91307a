"""A fitted model of any family with its rows: what it is, what it predicts, its changes."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _efface
from ._arrays import (
    NO_OWNER,
    WEIGHT_UNIT,
    add_column_offsets,
    answer_array,
    check_weights,
    keep_present,
    read_mask,
    read_table,
    unmasked,
    whole_weights,
)
from ._efface import NotFoundError
from ._fitted import CHANGING, NOT_FINISHED, Fitted, of_one_state
from ._owner_texts import OwnerTexts
from ._parameters import skips_missing
from ._reports import ModelInfo, Report
from ._rounding import add_offsets
from ._rows import join_rows, rows_by_name, spread_rows
from ._targets import Classes, Nothing, Values
from ._texts import name_texts
from ._types import Reals

_UNKNOWN = object()
_CLASSES = {}  # of models, by what they are: "k-means", "linear regression"


class Model(Fitted):
    """A fitted model and the rows it was fitted to.

    `Store.load` returns one: a copy that is independent of the store. (An estimator has one too.)
    Results are computed on demand, and kept until the model changes. Each family of models has a
    class of its own with further results, such as `KMeansModel`. With several runs (`n_init`),
    results come from one of them, which the family chooses.

    Attributes
    ----------
    ids_ : ndarray of shape (n_rows,)
        The ids of the rows: in the order in which rows came, or from a store, in the order of ids.
    owners_ : masked array of shape (n_rows,)
        Their owners; a row without an owner is masked.
    offset_ : ndarray of shape (n_features,) or None
        The number that was subtracted from each feature before the rounding to float32; see
        `KMeans`.
    """

    __slots__ = (
        "_cache",
        "_has_arrivals",
        "_hashed_ids",
        "_inside",
        "_lock",
        "_models",
        "_owner_texts",
        "_params",
        "_weighting",
        "_y",
    )

    def __init_subclass__(cls, kinds=(), **named):
        super().__init_subclass__(**named)
        _CLASSES.update(dict.fromkeys(kinds, cls))

    def __init__(
        self,
        models,
        *,
        params=None,
        weighting="none",
        has_arrivals=True,
        hashed_ids=False,
        y=Nothing(),
        owner_texts=None,
    ):
        self._models = models
        self._owner_texts = OwnerTexts() if owner_texts is None else owner_texts
        self._params = params
        self._y = y  # what y is, as _targets.py has it
        # What weights are: there are "none", multiples of 1/1024 ("parts"), or "whole" numbers.
        self._weighting = weighting
        self._has_arrivals = has_arrivals
        self._hashed_ids = hashed_ids  # the rows of the fit were given no ids
        self._cache = {}
        # A thread that holds the lock may take it again: `_inside` says what it was doing.
        self._lock = threading.RLock()
        self._inside = 0

    def __repr__(self):
        n_rows, n_features = self.shape[0], len(self._inputs)
        return (
            f"<{type(self).__name__}: {self._called()}{n_rows:,} rows with {n_features} features, "
            f"digest {self.digest()[:16]}...>"
        )

    def _change(self, verb, *arguments, texts={}, counted=None):
        """Calls a method that changes the models; what was computed before is dropped.

        Before and after: an exception of a signal handler may come right after the change. `texts`
        are those of classes that may be new; `counted` are the ids and owners of the rows, and what
        is done to them.
        """
        with self._lock:
            if self._inside:
                raise RuntimeError(NOT_FINISHED)
            try:
                self._inside = CHANGING
                self._cache = {}
                if counted is None:
                    result = verb(*arguments)
                else:
                    result = self._owner_texts.change(self, lambda: verb(*arguments), *counted)
                if isinstance(self._y, Classes) and self._y.are_texts:
                    self._y = self._y.kept(texts, self._models.form(0)[2])
                return result
            finally:
                self._cache = {}
                self._inside = 0

    def _look(self, verb, *arguments):
        """Calls a method that changes nothing but the positions of rows."""
        with self._lock:
            if self._inside:
                raise RuntimeError(NOT_FINISHED)
            cache = self._cache
            try:
                self._inside = CHANGING
                self._cache = {}
                return verb(*arguments)
            finally:
                cache["order"] = _UNKNOWN
                self._cache = cache
                self._inside = 0

    @of_one_state
    def _cached(self, name, compute):
        if self._cache.get(name, _UNKNOWN) is _UNKNOWN:
            self._cache[name] = compute()
        return self._cache[name]

    def _fitted(self):
        return self

    # What a family may have another answer to.

    def _called(self):
        """What it is, before the number of rows in its description; or nothing."""
        return ""

    def _choose_run(self):
        """The number of the run that gives the results."""
        return 0

    def _answers(self, X):
        """Results for the rows of a fit, by their names in the cache; X has them in their order."""
        return {}

    def _keep_absent(self, X, ids):
        """Answers for rows of a fit that have the weight 0 as well, until the next change."""
        answers = self._answers(X)
        if answers:
            self._cache.update(answers, ids=ids, absent=tuple(answers))

    @property
    def run(self) -> int:
        """The number of the run that gives the results."""
        return self._cached("run", self._choose_run)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, which are features and targets."""
        return self._models.shape()[:2]

    def _form(self):
        """The columns that are features, the column of each number that is predicted, classes, the
        columns that are categories."""
        return self._cached("form", lambda: self._models.form(0))  # all runs have the same

    @property
    def _inputs(self):
        """The columns that are features."""
        return self._form()[0]

    @property
    def _targets(self):
        """The columns that are targets, in the order of the columns of y."""
        inputs, predicted, *_ = self._form()
        others = set(range(self._models.shape()[1])).difference(inputs)
        return predicted if others and others == set(predicted) else sorted(others)

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features; None if they have none."""
        names = self._models.column_names()
        names = [names[column] for column in self._inputs]
        return None if None in names else names

    def _offsets_of(self, columns):
        """The offsets of some columns; None if they have none."""
        offsets = self._models.offsets()
        found = np.array([] if offsets is None else offsets)[columns if offsets else []]
        return found if found.any() else None

    @property
    def target_offset_(self) -> Reals | None:
        """The offsets of the targets; None if they have none."""
        return self._offsets_of(self._targets)

    @property
    @of_one_state
    def info(self) -> ModelInfo:
        """Facts about the model, as a ModelInfo."""
        kind, predicts, n_numbers = self._models.info(self.run)
        sizes = self.shape[0], len(self._inputs)
        return ModelInfo(kind, *sizes, predicts, n_numbers, *self._models.facts(self.run))

    @property
    @of_one_state
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that the model can be looked at through."""
        return tuple(name for name, *_ in self._models.tables(self.run))

    @of_one_state
    def table(self, name: str) -> Reals:
        """A table of the model, such as the centroids, in the units of the data."""
        run = self.run
        return read_table(
            self._models.tables(run), name, lambda *named: self._models.table(run, *named)
        )

    # -------------------------------------------------------------- the rows

    def _column(self, place, dtype):
        """One of the arrays of Models.rows, in the order of positions."""
        arrays = [None] * 6
        arrays[place] = np.empty(self.shape if place == 0 else self.shape[0], dtype=dtype)
        self._models.rows(*arrays)
        return arrays[place]

    def _order(self):
        """Positions in the order of arrival, or of ids; None if that is the order of positions."""
        if self._has_arrivals:
            keys = self._column(4, np.int64)
        else:
            keys = self._column(1, np.uint64)
        in_order = bool((keys[1:] >= keys[:-1]).all())
        return None if in_order else np.argsort(keys, kind="stable")

    def _in_order(self, values):
        order = self._cached("order", self._order)
        return values if order is None else values[order]

    @property
    @of_one_state
    def rows_(self) -> NDArray[np.float32] | Reals:
        """The rows themselves, in the order of `ids_`; float64 if there are offsets."""
        return self._read_columns(self._inputs)

    @property
    @of_one_state
    def y_(self) -> NDArray[Any] | None:
        """The targets or classes of the rows, in the order of `ids_`; None if they have none."""
        if isinstance(self._y, Classes):
            return self._y.shown(self._in_order(self._column(5, np.int64)))
        if not isinstance(self._y, Values):
            return None
        values = self._read_columns(self._targets)
        return values[:, 0] if self._y.flat else values

    def _read_columns(self, columns):
        """Some columns of the rows, in the order of `ids_` and the units of the user."""
        values = self._column(0, np.float32)
        kept = values if len(columns) == values.shape[1] else values[:, columns]
        if kept is not values:
            values.fill(0)  # ours alone: nothing of a row stays in memory that is released
        kept = add_offsets(kept, self._offsets_of(columns))
        ordered = self._in_order(kept)
        if ordered is not kept:
            kept.fill(0)
        return ordered

    # -------------------------------------------------------------- predicting

    @of_one_state
    def _predict_array(self, X):
        """`predict` for an array that was checked."""
        _, predicts, n_numbers = self._models.info(self.run)
        out = answer_array(predicts, n_numbers, X.shape[0])
        inputs, columns, *_ = self._form()
        with spread_rows(X, inputs, self.shape[1]) as rows:
            self._ask(self._models.predict, self.run, rows.array, out)
        add_column_offsets(out, columns, self._models.offsets())
        return self._shaped(out)

    def _ask(self, verb, *arguments):
        """Calls a method that may complain of a class."""
        try:
            verb(*arguments)
        except ValueError as error:
            raise self._y.named(error) from None

    def _shaped(self, out):
        """What is predicted as users know it."""
        if isinstance(self._y, Classes):
            return self._y.shown(out)
        return out if self._y.flat else out.reshape(len(out), -1)

    @of_one_state
    def _predict_by(self, view, X):
        """`predict` by a Predictor that is a view of the model as it is now."""
        _, _, predicts, n_numbers = view.info()
        out = answer_array(predicts, n_numbers, X.shape[0])
        inputs, columns, *_ = view.form()
        with spread_rows(X, inputs, self.shape[1]) as rows:
            view.predict(rows.array, out)
        add_column_offsets(out, columns, self._models.offsets())
        return self._shaped(out)

    @property
    def takes_missing(self) -> bool:
        """Whether values of rows may be missing, which is NaN."""
        return self._models.takes_missing(0)  # all runs are alike

    def _categories(self):
        """The places of the features that are categories."""
        inputs, *_, categories = self._form()
        return {place for place, column in enumerate(inputs) if column in categories}

    def _rows(self, X):
        categories = self._categories()
        return rows_by_name(X, self.feature_names, "the model", self.takes_missing, categories)

    # -------------------------------------------------------------- changing

    def _named(self, error, *given):
        named = name_texts(error, self._models.text_id, *given)
        if type(error) is not NotFoundError:
            return named
        return NotFoundError(f"{named}{self._why_nobody(str(named))}")

    def _why_nobody(self, message):
        """Why a request may have found nobody."""
        if "the owner " in message:
            owners = self._column(3, np.uint64)
            if (owners == NO_OWNER).all():
                return "; no row of this model has an owner: give owners to fit, or forget by ids"
        elif self._hashed_ids:
            return (
                "; the rows were given no ids, so that ids are hashes of their content: give ids to "
                "fit, or forget by ids_[mask]"
            )
        return ""

    def _chosen(self, ids):
        """The ids that a mask chooses; ids as they are."""
        mask = read_mask(ids)
        if mask is None:
            return ids
        known = self.ids_
        if len(mask) != len(known):
            raise ValueError(
                f"the mask has {len(mask)} truth values, but there are {len(known)} rows: it must "
                "have one for each row in the order of ids_"
            )
        return known[mask]

    def _request(self, call, verb, ids, owners, missing, report=Report):
        if ids is None and owners is None:
            raise ValueError("give ids or owners to say what to forget")
        skip = skips_missing(missing)
        ids, owners = unmasked(ids), unmasked(owners)
        named = {"counted": (ids, owners, "forget")} if report is Report else {}
        try:
            return report._make(call(verb, ids, owners, skip, **named))
        except (LookupError, ValueError) as error:
            raise self._named(error, ids, owners) from None

    def _weights_like(self, sample_weight, n_rows):
        """Weights of rows that join others."""
        if self._weighting == "whole":
            return whole_weights(sample_weight, n_rows)
        if self._weighting == "parts":
            return check_weights(1.0 if sample_weight is None else sample_weight, n_rows)
        if sample_weight is not None:
            raise ValueError(
                "the model was fitted without weights: fit it with sample_weight=1.0 to give some "
                "rows another weight later"
            )
        return None

    def _change_rows(self, what, rows, ids, weights, owners, labels, texts):
        unit = 1 if self._weighting == "whole" else WEIGHT_UNIT
        ids, owners = unmasked(ids), unmasked(owners)
        try:
            report = self._change(
                getattr(self._models, what),
                rows.array,
                ids,
                weights,
                owners,
                unit,
                labels,
                texts=texts,
                counted=(ids, owners, what),
            )
        except (LookupError, ValueError) as error:
            raise self._named(error, ids, owners) from None
        return Report._make(report)

    def _joined(self, rows, given):
        """Rows with their targets, if there are any."""
        if given.values is None:
            return rows.where(None)
        targets = self._targets
        if given.values.shape[1] != len(targets):
            raise ValueError(
                f"y has {given.values.shape[1]} targets, but the model has {len(targets)}"
            )
        if rows.array.shape[1] != len(self._inputs):
            raise ValueError(
                f"the rows have {rows.array.shape[1]} features, but the model has "
                f"{len(self._inputs)}"
            )
        return join_rows(rows.array, self._inputs, given.values, targets)

    def _learn(self, rows, y, sample_weight, ids, owners):
        """`learn` for Rows."""
        with self._y.read(y, len(rows), "learn") as given, self._joined(rows, given) as whole:
            sample_weight = self._y.weighted(sample_weight, given.labels, len(rows))
            weights = self._weights_like(sample_weight, len(rows))
            present = None
            if self._weighting == "parts" and not weights.all():
                present = weights > 0
                weights = weights[present]
            return self._learn_present(whole, given, weights, present, ids, owners)

    def _learn_present(self, rows, given, weights, present, ids, owners):
        """Learns those of the rows that are present."""
        with rows.where(present) as some:
            return self._change_rows(
                "learn",
                some,
                keep_present(ids, present, "ids"),
                weights,
                keep_present(owners, present, "owners"),
                given.labels_where(present),
                given.texts,
            )

    def _update(self, rows, y, sample_weight, ids, owners):
        """`update` for Rows."""
        if ids is None:
            raise ValueError("give the ids of the rows to update")
        if self._y.has_weights and (y is None) != (sample_weight is None):
            raise ValueError("the model has weights of classes: give both y and sample_weight")
        form = Nothing() if y is None and isinstance(self._y, Classes) else self._y
        with form.read(y, len(rows), "update") as given, self._joined(rows, given) as whole:
            weights = None
            if sample_weight is not None:
                sample_weight = form.weighted(sample_weight, given.labels, len(rows))
                weights = self._weights_like(sample_weight, len(rows))
                if not weights.all():
                    raise ValueError("a weight must not be 0: forget the row instead")
            return self._change_rows(
                "update", whole, ids, weights, owners, given.labels, given.texts
            )

    # -------------------------------------------------------------- pickling

    def _absent(self):
        """What is kept of rows that have the weight 0."""
        names = ("ids", *self._cache["absent"], "absent") if "absent" in self._cache else ()
        return {name: self._cache[name] for name in names}

    @of_one_state
    def __reduce__(self):
        seeds = self._models.seeds()
        if seeds is None:
            raise TypeError("a model from a store cannot be pickled: the store keeps its seed")
        n_rows = self.shape[0]
        values = np.empty(self.shape, dtype=np.float32)
        ids, owners = np.empty(n_rows, np.uint64), np.empty(n_rows, np.uint64)
        weights, arrivals = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
        labels = np.empty(n_rows, np.int64) if isinstance(self._y, Classes) else None
        self._models.rows(values, ids, weights, owners, arrivals, labels)
        states = tuple(self._models.encode(run) for run in range(len(seeds)))
        return _restore, (
            self._params,
            seeds,
            self._weighting,
            (values, ids, weights, owners, arrivals),
            states,
            self._absent(),
            self._offsets_of(list(range(self.shape[1]))),
            labels,
            self._y,
            self._owner_texts,
            self._hashed_ids,
        )

    def __deepcopy__(self, memo):
        restore, parts = self.__reduce__()
        try:
            return restore(*parts)
        finally:
            parts[3][0].fill(0)  # the rows, which the copy has copied


def make_model(models, **named):
    """A Model of what the extension made, of the class for its kind."""
    return _CLASSES.get(models.info(0)[0], Model)(models, **named)


def _restore(
    params,
    seeds,
    weighting,
    rows,
    states,
    answers,
    offsets=None,
    labels=None,
    y=Nothing(),
    owner_texts=None,
    hashed_ids=False,
):
    """Makes a model again from its pickle."""
    values, ids, weights, owners, arrivals = rows
    models = _efface.fit(
        values, ids, weights, owners, WEIGHT_UNIT, params, seeds, arrivals, states, offsets, labels
    )
    known = None if owner_texts is None else owner_texts.copy()
    model = make_model(
        models,
        params=params,
        weighting=weighting,
        hashed_ids=hashed_ids,
        y=y,
        owner_texts=known,
    )
    model._cache.update(answers)
    return model
