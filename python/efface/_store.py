"""Stores: files with rows, any number of models over them, and a receipt of every request."""

import errno
import json
import os
from typing import NamedTuple

import numpy as np

from . import _efface
from ._arrays import plain_rows
from ._kmeans import KMeans
from ._model import Model
from ._parameters import (
    check_parameters,
    draw_seed,
    library_parameters,
    parameters_of,
    skips_missing,
)
from ._reports import Difference, ModelChange, StoreReport

_HASH_KEY_BYTES = 16


class StoredModel(NamedTuple):
    """What is known of a model in a store."""

    name: str
    method: str
    n_clusters: int
    n_features: int
    digest: str


class Store:
    """A store that is open; see `open` and `create`.

    A request is one transaction over the rows and every model: when the call returns it is on the
    disk, and if it fails nothing has changed. Use it as a context manager, or close it.
    """

    def __init__(self, file, path):
        self._file = file
        self._path = os.fspath(path)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        """Closes the store. Closing twice does nothing."""
        self._file.close()

    def __repr__(self):
        try:
            n_rows, n_columns, n_models, n_receipts = self._file.info()
        except ValueError:
            return f"<Store {self._path!r}, closed>"
        return (
            f"<Store {self._path!r}: {n_rows:,} rows with {n_columns} features, {n_models} "
            f"model{'' if n_models == 1 else 's'}, {n_receipts} "
            f"receipt{'' if n_receipts == 1 else 's'}>"
        )

    # -------------------------------------------------------------- asking

    @property
    def n_rows(self):
        """How many rows there are."""
        return self._file.info()[0]

    @property
    def n_features(self):
        """How many features a row has."""
        return self._file.info()[1]

    @property
    def feature_names(self):
        """The names of the features; None if they have none."""
        names = [self._file.column(i) for i in range(self.n_features)]
        return None if None in names else names

    @property
    def models(self):
        """The models, as a list of StoredModel in the order of their names."""
        found = (self._file.model(i) for i in range(self._file.info()[2]))
        return [StoredModel(*model[:4], model[4].hex()) for model in found]

    def load(self, name):
        """A copy of a model with its rows, as a `Model`; the store knows nothing of it."""
        return Model(self._file.load(name), has_arrivals=False)

    def digest(self, name):
        """The digest of a model's canonical bytes, in hexadecimal digits."""
        for model in self.models:
            if model.name == name:
                return model.digest
        raise _efface.NotFoundError(f"there is no model {name!r}")

    def encode(self, name):
        """The canonical bytes of a model's state (docs/format.md)."""
        return self._file.encode(name)

    def verify(self, name=None):
        """Fits a model, or each model, anew and compares the states byte by byte.

        Returns
        -------
        Difference
            True if all are identical; else that of the first model that differs.
        """
        names = [model.name for model in self.models] if name is None else [name]
        difference = Difference(True, "", 0, 0, 0, 0, 0)
        for one in names:
            difference = Difference(*self._file.verify(one))
            if not difference:
                break
        return difference

    def check(self):
        """Looks for damage; a list of sentences, empty if there is none."""
        return self._file.check()

    @property
    def receipts(self):
        """The receipts of all requests, as a list of dictionaries."""
        return [json.loads(self.receipt(i + 1)) for i in range(self._file.info()[3])]

    def receipt(self, number):
        """Receipt number `number`, from 1, as one line of JSON, which may be signed."""
        return self._file.receipt(number)

    # -------------------------------------------------------------- models

    def fit(self, name, estimator, columns=None):
        """Fits a model and adds it.

        Parameters
        ----------
        name : str
            1 to 63 letters, digits, '-', '_' or '.'.
        estimator : KMeans
            Its parameters are used; it is not fitted itself. `n_init` must be 1.
        columns : sequence of int, optional
            The features of the model, counted from 0; by default all.

        Returns
        -------
        StoredModel
        """
        if not isinstance(estimator, KMeans):
            raise TypeError(f"estimator must be an efface.KMeans, not {estimator!r}")
        parameters = parameters_of(estimator)
        check_parameters(type(estimator).__name__, parameters)
        if parameters["n_init"] != 1:
            raise ValueError("a store keeps one run of a model: use n_init=1")
        params = library_parameters(parameters)
        params["seed"] = draw_seed(estimator.random_state)
        if columns is not None:
            columns = _column_numbers(columns, self.n_features)
        self._file.fit(name, params, columns)
        return next(model for model in self.models if model.name == name)

    def drop(self, name):
        """Takes a model out."""
        self._file.drop(name)

    def rekey(self, name=None, random_state=None):
        """Gives a model, or each model, another seed and fits it anew."""
        check_parameters("Store.rekey", {"random_state": random_state})
        self._file.rekey(name, draw_seed(random_state))

    # -------------------------------------------------------------- requests

    def _request(self, ids, owners, missing, only_look):
        if ids is None and owners is None:
            raise ValueError("say what to forget: ids or owners")
        skip = skips_missing(missing)
        return _report(self._file.forget(ids, owners, skip, only_look))

    def forget(self, ids=None, *, owners=None, missing="raise"):
        """Removes rows from the store and from all models.

        Parameters
        ----------
        ids, owners : int, str or a collection of them, optional
            Texts are hashed with the store's key.
        missing : {'raise', 'skip'}, default='raise'
            What to do if an id or an owner is not there.

        Returns
        -------
        StoreReport
        """
        return self._request(ids, owners, missing, False)

    def preview(self, ids=None, *, owners=None, missing="raise"):
        """What `forget` would take, without doing it."""
        return self._request(ids, owners, missing, True)

    def learn(self, X, *, weights=None, ids=None, owners=None):
        """Adds rows to the store and to all models.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        weights : array-like of int, optional
        ids : array-like of int or str, optional
            By default new numbers above all that the store ever had.
        owners : array-like of int or str, optional

        Returns
        -------
        StoreReport
        """
        return _report(self._file.learn(plain_rows(X), ids, _whole_weights(weights), owners))

    def sign_with(self, secret_key):
        """Signs the receipts of all requests that follow; see `make_keys`."""
        self._file.sign_with(secret_key)


def _report(items):
    *numbers, changes = items
    return StoreReport(*numbers, tuple(ModelChange.make(*change) for change in changes))


def _whole_weights(weights):
    if weights is None:
        return None
    array = np.asarray(weights)
    if array.ndim != 1:
        raise ValueError("weights must be a 1D array")
    if array.dtype.kind not in "iuf" or not (array == np.rint(array)).all():
        raise ValueError("the weights of a store are whole numbers")
    if (abs(array) >= 2.0**40).any():
        raise ValueError("all weights together stay below 2**40")
    return array.astype(np.int64)


def _column_numbers(columns, n_features):
    array = np.asarray(columns)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
        raise ValueError("columns must be a sequence of whole numbers, at least one")
    if ((array < 0) | (array >= n_features)).any():
        raise ValueError(f"columns are counted from 0, and the last is {n_features - 1}: {columns}")
    return array.astype(np.uint32)


def open(path, *, write=True):
    """Opens a store.

    Parameters
    ----------
    path : str or path-like
    write : bool, default=True
        Whether requests may be made.

    Returns
    -------
    Store
    """
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    return Store(_efface.open_store(path, write), path)


def create(path, X, *, weights=None, ids=None, owners=None, hash_key=None):
    """Makes a store with the rows of X and no models. A file that exists is never overwritten.

    Parameters
    ----------
    path : str or path-like
    X : array-like of shape (n_rows, n_features)
    weights : array-like of int, optional
    ids : array-like of int or str, optional
        By default 0, 1, 2, ...
    owners : array-like of int or str, optional
    hash_key : bytes, optional
        16 bytes with which texts are hashed; by default random ones, which the store keeps.

    Returns
    -------
    Store
    """
    if os.path.exists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))
    key = os.urandom(_HASH_KEY_BYTES) if hash_key is None else hash_key
    file = _efface.create_store(path, plain_rows(X), ids, _whole_weights(weights), owners, key)
    return Store(file, path)


def make_keys():
    """A pair of keys to sign receipts with: the secret one and the public one, as bytes."""
    return _efface.make_keys()


def verify_receipt(receipt, public_key):
    """Raises ValueError unless a line of JSON is a receipt signed with this key."""
    _efface.verify_receipt(receipt, public_key)
