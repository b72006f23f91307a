"""What can be asked of a fitted model and done to it, by its Model and by its estimator alike."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ._parameters import check_parameters, draw_seed, run_seeds
from ._reports import Difference, Preview, Report
from ._tables import take_columns
from ._types import EachId, EachOwner, Ids, Missing, Numbers, Reals, RowIds, RowOwners, Seed

ASKING, CHANGING = 1, 2
NOT_FINISHED = "a call that is not finished is using this object; wait until it ends"

_Method = TypeVar("_Method", bound=Callable[..., Any])


def of_one_state(method: _Method) -> _Method:
    """For an answer that takes several calls of the extension: nothing changes the model between
    them, no other thread, and no signal handler or finalizer that runs on this one.

    The method is that of the Model: of an estimator it is called with its fitted one."""

    @functools.wraps(method)
    def asked(self, *arguments, **named):
        model = self._fitted()
        with model._lock:
            before = model._inside
            if before == CHANGING:
                raise RuntimeError(NOT_FINISHED)
            try:
                model._inside = ASKING
                return method(model, *arguments, **named)
            finally:
                model._inside = before

    return asked


class Fitted:
    """The base of Model and of Estimator. `_fitted` gives the Model, and `_rows` makes Rows of
    what a user passes; both have these in their own way."""

    __slots__ = ()

    # -------------------------------------------------------------- asking

    @property
    def ids_(self) -> RowIds:
        """The ids of the rows, in the order in which the rows came; from a store, in order."""
        model = self._fitted()
        return model._cached("ids", lambda: model._in_order(model._column(1, np.uint64)))

    @property
    @of_one_state
    def owners_(self) -> RowOwners:
        """The owners of the rows, in the order of `ids_`, as texts where texts were given; a row
        without an owner is masked."""
        return self._owner_texts.shown(self._in_order(self._column(3, np.uint64)))

    @property
    def offset_(self) -> Reals | None:
        """The offsets of the features; None if they have none."""
        model = self._fitted()
        return model._offsets_of(model._inputs)

    def predict(self, X: ArrayLike) -> Numbers:
        """What the model predicts for each row of X. A Model matches a data frame by name.

        Returns
        -------
        ndarray
            Clusters as int32, classes as int64, values or probabilities as float64; of shape
            (n_rows,), or (n_rows, n_numbers) if there are several numbers for a row.
        """
        model = self._fitted()
        with self._rows(X) as rows:
            return self._predict_rows(model, rows.array)

    def _predict_rows(self, model, array):
        """`predict` for an array."""
        return model._predict_array(array)

    @of_one_state
    def digest(self) -> str:
        """The BLAKE2b-256 digest of the canonical bytes of the state, in hexadecimal digits."""
        return self._models.digest(self.run).hex()

    @of_one_state
    def encode(self) -> bytes:
        """The canonical bytes of the state (docs/definition/format.md)."""
        return self._models.encode(self.run)

    @of_one_state
    def verify(self) -> Difference:
        """Fits the current rows again and compares the states byte by byte.

        Returns
        -------
        Difference
            True if the states of all runs are identical.
        """
        for run in range(self._models.shape()[2]):
            difference = Difference(*self._models.verify(run))
            if not difference:
                break
        return difference

    # -------------------------------------------------------------- changing

    def forget(
        self, ids: Ids | None = None, *, owners: Ids | None = None, missing: Missing = "raise"
    ) -> Report:
        """Removes rows: afterwards, the model is as if it had never seen them.

        Parameters
        ----------
        ids : int, str, a collection of them, or a mask, optional
            A mask has a truth value for each row, in the order of `ids_`: an array, a list, or a
            Series, whose index does not matter.
        owners : int, str or a collection of them, optional
            All rows of these owners.
        missing : {'raise', 'skip'}, default='raise'
            What to do if an id or an owner does not exist. 'raise' raises NotFoundError and changes
            nothing.

        Returns
        -------
        Report
        """
        model = self._fitted()
        ids = model._chosen(ids)
        return model._request(model._change, model._models.forget, ids, owners, missing)

    def preview(
        self, ids: Ids | None = None, *, owners: Ids | None = None, missing: Missing = "raise"
    ) -> Preview:
        """Says what `forget` will do, and changes nothing; `rows_visited` is an upper bound."""
        model = self._fitted()
        ids = model._chosen(ids)
        return model._request(model._look, model._models.preview, ids, owners, missing, Preview)

    def learn(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        ids: EachId | None = None,
        owners: EachOwner | None = None,
    ) -> Report:
        """Adds rows, as if they had been there all the time.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            As in a fit; other arguments may name columns of it.
        y : array-like, optional
            The targets or classes of the rows, if the model has such.
        sample_weight : array-like, optional
            By default 1. Whole numbers if the model comes from a store.
        ids : array-like of int or str, optional
            By default, hashes of the content of the rows.
        owners : array-like of int, str or None, optional
            By default, the rows have no owner.

        Returns
        -------
        Report
        """
        model = self._fitted()
        X, named, _ = take_columns(X, y=y, sample_weight=sample_weight, ids=ids, owners=owners)
        with self._rows(X) as rows:
            return model._learn(rows, *named.values())

    def update(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        ids: EachId,
        owners: EachOwner | None = None,
    ) -> Report:
        """Replaces the values of the rows with these ids, and their weights and owners if given.

        Targets have to be given too; classes stay as they are if they are not given.

        Returns
        -------
        Report
        """
        model = self._fitted()
        X, named, _ = take_columns(X, y=y, sample_weight=sample_weight, ids=ids, owners=owners)
        with self._rows(X) as rows:
            return model._update(rows, *named.values())

    def rekey(self, random_state: Seed = None) -> Report:
        """Fits again with another seed. Nothing of the old randomness remains.

        Do this if people may have looked at the model before they asked to be forgotten.

        Returns
        -------
        Report
        """
        model = self._fitted()
        check_parameters("rekey", {"random_state": random_state})
        begin = time.perf_counter()
        seeds = run_seeds(draw_seed(random_state), model._models.shape()[2])
        report = Report._make(model._change(model._models.rekey, seeds))
        return report._replace(seconds=time.perf_counter() - begin)


def of_model(result) -> Any:
    """A result of a Model, as a property of its estimator."""
    name = result.fget.__name__
    return property(lambda self: getattr(self._fitted(), name), doc=result.__doc__)
