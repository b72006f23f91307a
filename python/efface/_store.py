"""Stores: files with rows, any number of models over them, and a receipt of every request."""

from __future__ import annotations

import errno
import json
import numbers
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _efface
from ._efface import NotFoundError
from ._arrays import unmasked, whole_weights
from ._estimator import Estimator
from ._found import found_rows
from ._model import Model, make_model
from ._owner_texts import OwnerTexts
from ._parameters import check_parameters, draw_seed, run_seeds, skips_missing
from ._reports import Difference, StoredModel, StoreInfo, StorePreview, StoreReport
from ._rounding import choose_offsets, find_rounding, warn_rounding
from ._rows import distinct_names, plain_rows, rows_by_name
from ._tables import Every, as_table, take_columns
from ._targets import Classes, Nothing, Values, store_labels
from ._texts import first_text, name_texts
from ._types import (
    Column,
    Columns,
    EachId,
    EachLabel,
    EachOwner,
    Id,
    Ids,
    Missing,
    Numbers,
    Offset,
    Path,
    Reals,
    Seed,
)

_HASH_KEY_BYTES = 16
_LABEL = 2  # a kind of texts in the library


def _run_name(name, run):
    """What run number `run`, from 0, of a model is called in the file."""
    return name if run == 0 else f"{name}..{run + 1}"


class Store:
    """A store that is open; see `open` and `create`.

    A request is one transaction for the rows and all models: when the call returns, the change is
    on the disk; if the call fails, nothing has changed. Use a store as a context manager, or close
    it.
    """

    def __init__(self, file, path):
        self._file = file
        self._path = os.fspath(path)
        self._categories = set()  # columns that `create` was given texts or categories for

    @staticmethod
    def open(
        path: Path,
        *,
        write: bool = True,
        wait: float = 5.0,
        receipt_key: bytes | None = None,
        secret_key: bytes | None = None,
    ) -> Store:
        """Opens a store.

        Parameters
        ----------
        path : str or path-like
        write : bool, default=True
            Whether to allow requests that change the store.
        wait : float, default=5.0
            How many seconds to wait for other processes before `BusyError`.
        receipt_key : bytes, optional
            The 32 bytes that were given to `create`.
        secret_key : bytes, optional
            Signs the receipts of requests; see `make_keys`.

        Returns
        -------
        Store
        """
        if not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
        return Store(_efface.open_store(path, write, wait, receipt_key, secret_key), path)

    @staticmethod
    def create(
        path: Path,
        X: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        ids: EachId | None = None,
        owners: EachOwner | None = None,
        labels: EachLabel | None = None,
        offset: Offset = None,
        missing: bool = False,
        hash_key: bytes | None = None,
        keep_texts: bool = False,
        receipt_key: bytes | None = None,
        secret_key: bytes | None = None,
    ) -> Store:
        """Makes a store with the rows of X and no models. A file that exists is never overwritten.

        Parameters
        ----------
        path : str or path-like
        X : array-like of shape (n_rows, n_features)
            An array, a data frame, an Arrow table or a sparse matrix, as for a fit. The store keeps
            the names of columns. Texts become codes of categories, for forests that name their
            columns as `categories`. `weights`, `ids`, `owners` and `labels` may name columns of X,
            which then are not features, and ids may be 'index'.
        weights : array-like of int, optional
        ids : array-like of int or str, optional
            By default 0, 1, 2, ...
        owners : array-like of int, str or None, optional
            None, NaN and masked elements mean no owner.
        labels : array-like of int, str or None, optional
            The classes of the rows, for classifiers. The store keeps the texts of classes.
        offset : array-like of shape (n_features,) or 'auto', optional
            A number to subtract from each feature in float64, before the rounding to float32; see
            `KMeans`. Later rows get the same offsets.
        missing : bool, default=False
            Whether values may be missing (NaN). Only forests can be fitted to such rows. Rows that
            are learned later may have missing values if there are models and all of them take these.
        hash_key : bytes, optional
            The 16 bytes of the key that hashes texts, which the store keeps. The default is a
            random key.
        keep_texts : bool, default=False
            Whether to keep the texts of ids and owners, so that they can be shown; else the store
            keeps only their numbers.
        receipt_key : bytes, optional
            The 32 bytes of the key that hashes ids in receipts. The store does not keep this key:
            give it to `open` again to make requests. The default is a random key in the store;
            everybody who has the file can then test which ids are in receipts.
        secret_key : bytes, optional
            Signs the receipts of requests; see `make_keys`.

        Returns
        -------
        Store
        """
        if os.path.exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))
        key = os.urandom(_HASH_KEY_BYTES) if hash_key is None else hash_key
        X, named, _ = take_columns(X, weights=weights, ids=ids, owners=owners, labels=labels)
        weights, ids, owners, labels = named.values()
        X = as_table(X)
        names = distinct_names(X)
        narrow = offset is None
        with plain_rows(X, missing=missing, categories=Every(), narrow=narrow) as rows:
            places = rows.categories
            check_parameters("create", {"offset": offset})
            weights = whole_weights(weights, len(rows))
            labels, texts = store_labels(labels, len(rows))
            offsets = choose_offsets(offset, rows.array)
            findings = find_rounding(rows.array, offsets, rows.lost)
            try:
                file = _efface.create_store(
                    path,
                    rows.array,
                    unmasked(ids),
                    weights,
                    unmasked(owners),
                    None if names is None else tuple(names),
                    key,
                    keep_texts,
                    receipt_key,
                    secret_key,
                    offsets,
                    labels,
                    texts,
                    missing,
                )
            except (LookupError, ValueError) as error:
                raise name_texts(
                    error, lambda text: _efface.text_id(text, key), ids, owners
                ) from None
        warn_rounding(findings, names, stacklevel=2)
        store = Store(file, path)
        store._categories = set(places)
        return store

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the store. Closing twice does nothing."""
        self._file.close()

    def __repr__(self):
        try:
            info, n_models = self.info, sum(1 for _ in self._listed())
        except ValueError:
            return f"<Store {self._path!r}, closed>"
        return (
            f"<Store {self._path!r}: {info.n_rows:,} rows with {info.n_features} features, "
            f"{n_models} model{'' if n_models == 1 else 's'}, {info.n_receipts} "
            f"receipt{'' if info.n_receipts == 1 else 's'}>"
        )

    # -------------------------------------------------------------- asking

    @property
    def info(self) -> StoreInfo:
        """The contents of the store in numbers, as a StoreInfo."""
        return StoreInfo(*self._file.info())

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.info.n_rows

    @property
    def n_features(self) -> int:
        """The number of features of a row."""
        return self.info.n_features

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features; None if they have none."""
        names = self._file.columns()
        return None if None in names else names

    @property
    def offset(self) -> Reals | None:
        """The number subtracted from each feature before rounding to float32; None if none is."""
        offsets = self._file.offsets()
        return None if offsets is None else np.array(offsets)

    def owners(self) -> dict[int | str, int]:
        """How many rows each owner has, as a dictionary.

        Its keys are texts if they are known, else numbers. Rows without an owner are not in it;
        `info.n_unowned_rows` counts them.
        """
        return {
            number if text is None else text: n_rows
            for number, text, n_rows in self._file.owners()
        }

    def find(
        self, ids: Ids | None = None, *, owners: Ids | None = None, missing: Missing = "raise"
    ) -> Any:
        """The rows with these ids, and all rows of these owners: the data of a person.

        Parameters
        ----------
        ids, owners : int, str or a collection of them, optional
        missing : {'raise', 'skip'}, default='raise'
            What to do if an id or an owner does not exist.

        Returns
        -------
        DataFrame or FoundRows
            With pandas, a data frame: the index has the ids; the columns are the features, `owner`,
            `weight` and, if there are any, `label`. Without pandas, a FoundRows.
        """
        if ids is None and owners is None:
            raise ValueError("give ids or owners to say which rows to find")
        skip = skips_missing(missing)
        try:
            rows = self._file.find(unmasked(ids), unmasked(owners), skip)
        except (LookupError, ValueError) as error:
            raise self._named(error, ids, owners) from None
        return found_rows(rows, self._file.text)

    # -------------------------------------------------------------- models

    def _listed(self):
        """(name, kind, number of features, digest, number of runs) of each model."""
        found = {model[0]: model for model in self._file.models()}
        while found:
            name, kind, n_features, digest, _ = found.pop(next(iter(found)))
            n_runs = 1
            while found.pop(_run_name(name, n_runs), None):
                n_runs += 1
            yield name, kind, n_features, digest.hex(), n_runs

    @property
    def models(self) -> list[StoredModel]:
        """The models, as a list of StoredModel in the order of their names."""
        models = []
        for name, kind, *others in self._listed():
            try:
                models.append(StoredModel(name, kind, self._file.describe(name), *others))
            except _efface.NotFoundError:
                continue  # another process has dropped it meanwhile
        return models

    def _runs(self, name):
        """The names of the runs of a model in the file."""
        for listed, *_, n_runs in self._listed():
            if listed == name:
                return tuple(_run_name(name, run) for run in range(n_runs))
        return (name,)  # one run of a model, or the library says that there is no such model

    def columns(self, name: str) -> list[str] | list[int]:
        """The features of a model: their names, or their numbers, counted from 0."""
        names = self.feature_names
        found = self._file.model_columns(name)
        return found if names is None else [names[column] for column in found]

    def load(self, name: str) -> Model:
        """A copy of a model with all rows, as a `Model`. It is independent of the store: changes of
        the copy do not reach the store."""
        models = self._file.load(self._runs(name))
        model = make_model(models, weighting="whole", has_arrivals=False, y=self._y_of(models))
        if self.info.keeps_texts:
            model._owner_texts = OwnerTexts(
                {number: (text, n) for number, text, n in self._file.owners() if text is not None}
            )
        return model

    def _y_of(self, models):
        """What the models of a store learn; see _targets.py."""
        inputs, _, classes, _ = models.form(0)
        n_targets = models.shape()[1] - len(inputs)
        if n_targets:
            return Values(flat=n_targets == 1)
        if models.info(0)[1] != "classes":
            return Nothing()
        texts = {number: self._file.text(_LABEL, number % 2**64) for number in classes}
        texts = {number: text for number, text in texts.items() if text is not None}
        return Classes(str, texts) if texts else Classes()

    def predict(self, name: str, X: ArrayLike) -> Numbers:
        """What a model predicts for each row of X. A data frame is matched by name.

        This loads the model and all rows. To predict often, keep the result of `load`.
        """
        return self.load(name).predict(X)

    def digest(self, name: str) -> str:
        """The digest of a model's canonical bytes, in hexadecimal digits. A model with several runs
        is loaded first; its digest is that of the run that gives the results."""
        if len(self._runs(name)) > 1:
            return self.load(name).digest()
        for model in self._file.models():
            if model[0] == name:
                return model[3].hex()
        raise _efface.NotFoundError(f"there is no model {name!r}")

    def commitment(self, name: str) -> str:
        """The commitment to a model's state that receipts and change reports have, in hexadecimal
        digits: another for each state, and no test of a guess. Of several runs, that of the first."""
        for model in self._file.models():
            if model[0] == name:
                return model[4].hex()
        raise _efface.NotFoundError(f"there is no model {name!r}")

    def encode(self, name: str) -> bytes:
        """The canonical bytes of a model's state (docs/definition/format.md)."""
        return self._file.encode(name) if len(self._runs(name)) == 1 else self.load(name).encode()

    def verify(self, name: str | None = None) -> Difference:
        """Fits a model, or each model, again and compares the states byte by byte.

        Returns
        -------
        Difference
            True if all are identical; else the difference of the first model that differs.
        """
        names = [model[0] for model in self._file.models()] if name is None else self._runs(name)
        difference = Difference(True, "", "")
        for one in names:
            difference = Difference(*self._file.verify(one))
            if not difference:
                break
        return difference

    def fit(
        self,
        name: str,
        estimator: Estimator,
        columns: Iterable[Column] | str | None = None,
        *,
        targets: Columns = None,
    ) -> StoredModel:
        """Fits a model and adds it. Classes are the labels of the rows.

        Parameters
        ----------
        name : str
            1 to 63 letters, digits, '-', '_' or '.'.
        estimator : Estimator
            It gives the family and the parameters; it is not fitted itself. All runs of `n_init`
            are kept and change together.
        columns : sequence of str or int, optional
            The features of the model, by name or counted from 0; by default all but the targets.
        targets : str, int or a sequence of them, optional
            The columns that a regressor predicts.

        Returns
        -------
        StoredModel
        """
        if not isinstance(estimator, Estimator):
            raise TypeError(f"estimator must be one of efface's, such as KMeans, not {estimator!r}")
        if not isinstance(name, str):
            raise TypeError(f"the name of a model must be a str, not {name!r}")
        parameters = estimator._checked_parameters()
        if estimator.offset is not None:
            raise ValueError("the offsets of a store are set by create: leave offset out")
        refused = estimator._refuse_store()
        if refused is not None:
            raise ValueError(refused)
        columns, n_targets = self._chosen_columns(estimator, columns, targets)
        n_features = self.n_features if columns is None else len(columns) - n_targets
        parameters = estimator._numbered(parameters, self._names_of(columns, n_features))
        self._check_categories(parameters.get("categories", ()), columns, n_features)
        offsets = self.offset
        if offsets is not None and columns is not None:
            offsets = offsets[columns[:n_features]]
        params = estimator._fit_parameters(parameters, n_features, offsets, n_targets)
        seeds = estimator._seeds(parameters)
        found = self._fit_runs(name, params, seeds, columns)
        names = self.columns(name) if self.feature_names is not None else None
        estimator._warn_of(found, parameters, names, stacklevel=2)
        return next(model for model in self.models if model.name == name)

    def _check_categories(self, categories, columns, n_features):
        """Codes of texts are no numbers: a model must have them as categories, or not at all."""
        columns = range(n_features) if columns is None else columns[:n_features]
        for place, column in enumerate(columns):
            if column in self._categories and place not in categories:
                name = repr((self.feature_names or {column: int(column)})[column])
                raise ValueError(
                    f"column {name} was given as categories: give a forest categories=[{name}], or leave the "
                    "column out with columns="
                )

    def _names_of(self, columns, n_features):
        """The names of the features of a model, of the columns that were chosen; or None."""
        names = self.feature_names
        if names is None or columns is None:
            return names
        return [names[column] for column in columns[:n_features]]

    def _chosen_columns(self, estimator, columns, targets):
        """The columns of a model, targets last, or None for all; and the number of targets."""
        who = type(estimator).__name__
        if columns is not None:
            columns = self._column_numbers(columns)
        if estimator._learns != "values":
            if targets is not None:
                raise ValueError(f"{who} has no targets: leave them out")
            if estimator._learns == "classes" and self.info.n_labels == 0:
                raise ValueError(f"{who} needs classes, but the rows of the store have no labels")
            return columns, 0
        if estimator.target_offset is not None:
            raise ValueError("the offsets of a store are set by create: leave target_offset out")
        if targets is None:
            raise ValueError(f"{who} needs targets: say which columns it is to predict")
        if isinstance(targets, numbers.Integral):
            targets = [targets]
        targets = self._column_numbers(targets)
        if columns is None:
            columns = np.setdiff1d(np.arange(self.n_features, dtype=np.uint32), targets)
            if not len(columns):
                raise ValueError("all columns are targets: there is none to predict them from")
        both = np.intersect1d(columns, targets)
        if len(both):
            raise ValueError(f"column {both[0]} is a target, and cannot be a feature as well")
        return np.concatenate([columns, targets]), len(targets)

    def _fit_runs(self, name, params, seeds, columns):
        """Fits all runs, or none. The first comes last: until it is there, the model is not."""
        names = [_run_name(name, run) for run in range(len(seeds))]
        taken = {model[0] for model in self._file.models()}
        if not taken.isdisjoint(names):
            raise ValueError(
                f"a model {min(taken.intersection(names))!r} exists already; choose another name"
            )
        added = []
        try:
            for one, seed in reversed(list(zip(names, seeds))):
                found = self._file.fit(one, {**params, "seed": seed}, columns)
                added.append(one)
        except BaseException:
            for one in added:
                self._file.drop(one)
            raise
        return found

    def _column_numbers(self, columns):
        """Names and numbers of features as an array of numbers."""
        names, n_features = self._file.columns(), self.n_features
        columns = [columns] if isinstance(columns, str) else list(columns)
        found = []
        for column in columns:
            if isinstance(column, str):
                if names.count(column) != 1:
                    how_many = "several features are" if column in names else "no feature is"
                    raise ValueError(f"{how_many} called {column!r}; there are {names}")
                found.append(names.index(column))
            elif isinstance(column, numbers.Integral) and not isinstance(column, (bool, np.bool_)):
                if not 0 <= column < n_features:
                    raise ValueError(
                        f"there is no column {column}: columns are counted from 0, and the last is "
                        f"{n_features - 1}"
                    )
                found.append(int(column))
            else:
                raise ValueError(f"columns must be names or whole numbers, not {column!r}")
        if not found or len(set(found)) < len(found):
            raise ValueError(f"columns must name at least one feature, and each once: {columns}")
        return np.array(found, dtype=np.uint32)

    def drop(self, name: str) -> None:
        """Removes a model."""
        for one in reversed(self._runs(name)):
            self._file.drop(one)

    def rekey(self, name: str | None = None, random_state: Seed = None) -> None:
        """Gives a model, or each model, another seed and fits it again."""
        check_parameters("Store.rekey", {"random_state": random_state})
        seed = draw_seed(random_state)
        if name is None:
            self._file.rekey(None, seed)
            return
        runs = self._runs(name)
        for one, run_seed in zip(runs, run_seeds(seed, len(runs))):
            self._file.rekey(one, run_seed)

    def publish(self, name: str, path: Path, *, replace: bool = False) -> StoreReport:
        """Publishes a model: gives it a new random seed that nobody knows, fits it again, and writes
        what prediction needs to a file, with a receipt, all or nothing.

        Parameters
        ----------
        name : str
            A model with one run: what several runs answer is not a single model.
        path : str or path-like
            The file, for `load_predictor` and `efface predict`.
        replace : bool, default=False
            Whether an existing file is replaced; a store never is.

        Returns
        -------
        StoreReport
            `published` is the digest of the file.
        """
        if len(self._runs(name)) > 1:
            raise ValueError(
                f"the model {name!r} has several runs, of which one answers: only a model that was "
                "fitted with n_init=1 can be published"
            )
        if not replace and os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))
        return StoreReport._of_items(self._file.publish(name, os.fspath(path), bool(replace)))

    # -------------------------------------------------------------- requests

    def _named(self, error, ids, owners):
        named = name_texts(error, self._file.text_id, ids, owners)
        if type(error) is not NotFoundError:
            return named
        message = str(named)
        for kind, (what, given) in enumerate((("id", ids), ("owner", owners))):
            if f" {what} " in message:
                message += f"; {self._file.hint(kind, first_text(given, str(named)))}"
        return NotFoundError(message)

    def _request(self, ids, owners, missing, only_look):
        if ids is None and owners is None:
            raise ValueError("give ids or owners to say what to forget")
        skip = skips_missing(missing)
        try:
            items = self._file.forget(unmasked(ids), unmasked(owners), skip, only_look)
        except (LookupError, ValueError) as error:
            raise self._named(error, ids, owners) from None
        return (StorePreview if only_look else StoreReport)._of_items(items)

    def forget(
        self, ids: Ids | None = None, *, owners: Ids | None = None, missing: Missing = "raise"
    ) -> StoreReport:
        """Removes rows from the store and from all models.

        Parameters
        ----------
        ids, owners : int, str or a collection of them, optional
            Texts are hashed with the store's key.
        missing : {'raise', 'skip'}, default='raise'
            What to do if an id or an owner does not exist.

        Returns
        -------
        StoreReport
        """
        return self._request(ids, owners, missing, False)

    def preview(
        self, ids: Ids | None = None, *, owners: Ids | None = None, missing: Missing = "raise"
    ) -> StorePreview:
        """Says what `forget` will do, and changes nothing."""
        return self._request(ids, owners, missing, True)

    def _change_rows(self, verb, X, weights, ids, owners, labels):
        X, named, _ = take_columns(X, weights=weights, ids=ids, owners=owners, labels=labels)
        weights, ids, owners, labels = named.values()
        missing = self._file.takes_missing()
        categories = self._categories.union(self._file.categories())
        with rows_by_name(X, self.feature_names, "the store", missing, categories) as rows:
            weights = whole_weights(weights, len(rows))
            labels, texts = store_labels(labels, len(rows))
            try:
                items = verb(
                    rows.array,
                    unmasked(ids),
                    weights,
                    unmasked(owners),
                    labels,
                    texts,
                    missing,
                )
            except (LookupError, ValueError) as error:
                raise self._named(error, ids, owners) from None
        return StoreReport._of_items(items)

    def learn(
        self,
        X: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        ids: EachId | None = None,
        owners: EachOwner | None = None,
        labels: EachLabel | None = None,
    ) -> StoreReport:
        """Adds rows to the store and to all models.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            A data frame is matched by name; its columns may have any order. Other arguments may
            name further columns, as in `create`.
        weights : array-like of int, optional
        ids : array-like of int or str, optional
            By default, random numbers; they are `new_ids` of the report.
        owners : array-like of int, str or None, optional
        labels : array-like of int, str or None, optional
            The classes of the rows.

        Returns
        -------
        StoreReport
        """
        return self._change_rows(self._file.learn, X, weights, ids, owners, labels)

    def update(
        self,
        X: ArrayLike,
        *,
        ids: EachId,
        weights: ArrayLike | None = None,
        owners: EachOwner | None = None,
        labels: EachLabel | None = None,
    ) -> StoreReport:
        """Replaces the values of the rows with these ids, in the store and in all models.

        Weights, owners and labels that are not given stay as they are.

        Returns
        -------
        StoreReport
        """
        if ids is None:
            raise ValueError("give the ids of the rows to update")
        return self._change_rows(self._file.update, X, weights, ids, owners, labels)

    # -------------------------------------------------------------- receipts

    @property
    def receipts(self) -> list[dict[str, Any]]:
        """The receipts of all requests, as a list of dictionaries."""
        return [json.loads(self.receipt(i + 1)) for i in range(self.info.n_receipts)]

    def receipt(self, number: int) -> str:
        """Receipt number `number`, counted from 1, as one line of JSON."""
        return self._file.receipt(number)

    def row_hash(self, id: Id, *, receipt_key: bytes | None = None) -> str:
        """The hash of an id in receipts, in hexadecimal digits.

        Give the key if the store does not keep it; see `create`.
        """
        return self._file.row_hash(receipt_key, id).hex()

    # -------------------------------------------------------------- upkeep

    def check(self) -> list[str]:
        """Looks for damage. Returns a list of sentences; it is empty if there is no damage."""
        return self._file.check()

    def compact(self) -> None:
        """Makes the file as small as possible."""
        self._file.compact()


open = Store.open
create = Store.create


def wipes_memory() -> bool:
    """Whether SQLite overwrites memory before it frees it, as the library itself always does.

    It does not if another part of the process, such as the module `sqlite3`, used SQLite before the
    first store was opened. This call also switches the overwriting on: call it early.
    """
    return _efface.wipes_memory()


def make_keys() -> tuple[bytes, bytes]:
    """A pair of keys to sign receipts: the secret key and the public key, as bytes."""
    return _efface.make_keys()


def verify_receipt(receipt: str, public_key: bytes) -> None:
    """Raises ValueError unless a line of JSON is a receipt signed with this key."""
    _efface.verify_receipt(receipt, public_key)


def verify_receipts(receipts: Iterable[str], public_key: bytes | None = None) -> list[str]:
    """Looks for problems in a chain of receipts; each receipt names the one before it.

    Parameters
    ----------
    receipts : iterable of str
        Lines of JSON, in order. The first may have any number.
    public_key : bytes, optional
        Every receipt must be signed with the secret key of this key. Without it, a receipt that is
        not signed is not reported, and proves nothing to others: anyone can have written it.

    Returns
    -------
    list of str
        A sentence for each receipt that is missing, doubled, out of order or changed, or whose
        signature does not match.
    """
    problems = _efface.verify_receipts(tuple(receipts), public_key)
    return [f"line {line}: {problem}" for line, problem in problems]


def receipt_root(row_hashes: Iterable[str]) -> str:
    """The Merkle root of hashes of rows. A receipt has the root and not the hashes.

    Parameters
    ----------
    row_hashes : iterable of str
        In any order; see `StoreReport.row_hashes` and `Store.row_hash`.

    Returns
    -------
    str
        In hexadecimal digits.
    """
    return _efface.receipt_root(b"".join(map(bytes.fromhex, row_hashes))).hex()
