"""Forests of extremely randomised trees, from which rows can be removed exactly."""

from __future__ import annotations

import errno
import math
import numbers
import os
import warnings
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _efface
from ._bases import DataConversionWarning, RegressorMixin
from ._classifier import CLASS_WEIGHT_RULE, ProbableClassifier, ProbableResults
from ._estimator import Estimator
from ._fitted import of_model, of_one_state
from ._linear import TARGET_OFFSET_RULE
from ._model import Model
from ._parameters import COMMON_RULES, one_of, or_none, real, whole
from ._reports import ForestSize
from ._rows import spread_rows
from ._sums import IS_FLAG
from ._targets import COLUMN_VECTOR, Classes, Values
from ._types import ClassWeight, Columns, MaxFeatures, Offset, Path, Reals, Seed, TreeRows

_MAX_TREES = 65535
_MAX = 2**32 - 1

_SHARES = {
    "sqrt": math.sqrt,
    "log2": math.log2,
}


# ------------------------------------------------------------------ parameters


def _are_max_features(value):
    if value is None or isinstance(value, str):
        return value in (None, "default", *_SHARES)
    if isinstance(value, numbers.Integral):
        return whole(1, _MAX)[0](value)
    return real(0.0, 1.0)[0](value)


def _are_categories(value):
    if value is None or isinstance(value, (str, numbers.Integral)):
        return not isinstance(value, (bool, np.bool_))
    return all(
        isinstance(item, (str, numbers.Integral)) and not isinstance(item, (bool, np.bool_))
        for item in value
    )


_RULES = {
    **COMMON_RULES,
    "n_estimators": whole(1, _MAX_TREES),
    "max_features": (
        _are_max_features,
        "an int of at least 1, a float in the range (0.0, 1.0], 'sqrt', 'log2', 'default' or None",
    ),
    "max_depth": or_none(whole(1, _MAX)),
    "min_samples_split": whole(2, _MAX),
    "min_samples_leaf": whole(1, _MAX),
    "rows": one_of("all", "some", "poisson"),
    "trees_per_row": whole(1, _MAX_TREES),
    "lazy": IS_FLAG,
    "missing": IS_FLAG,
    "categories": (_are_categories, "names or numbers of features, counted from 0, or None"),
}


def _n_candidates(max_features, n_features):
    """How many features a node chooses from; 0: as many as the library thinks best."""
    if max_features is None or max_features == "default":
        return 0
    if isinstance(max_features, str):
        return max(1, int(_SHARES[max_features](n_features)))
    if isinstance(max_features, numbers.Integral):
        return int(max_features)
    return max(1, int(max_features * n_features))


def text_category(text: str) -> float:
    """The number that stands for a text in a feature of categories.

    It is the same on the command line, in the service and in C, and depends on no other text.
    """
    return _efface.text_category(text)


def _category_numbers(categories, names):
    """Features that are categories, by number and each once; `names` are those of all, or None."""
    if categories is None:
        return []
    if isinstance(categories, (str, numbers.Integral)):
        categories = [categories]
    names = [] if names is None else list(names)
    found = set()
    for category in categories:
        if not isinstance(category, str):
            found.add(int(category))
        elif names.count(category) == 1:
            found.add(names.index(category))
        else:
            how_many = "several features are" if category in names else "no feature is"
            raise ValueError(f"{how_many} called {category!r}, which categories has")
    return sorted(found)


# ------------------------------------------------------------------ fitted forests


class _Trees:
    """What forests and their Models are asked alike."""

    __slots__ = ()

    def apply(self, X: ArrayLike) -> NDArray[np.uint32]:
        """The leaf of each row of X in each tree: nodes are numbered from 0 in preorder.

        Returns
        -------
        ndarray of shape (n_rows, n_trees)
        """
        model = self._fitted()
        with self._rows(X) as rows:
            return model._leaves(rows.array)

    @of_one_state
    def settle(self) -> None:
        """Grows what a lazy forest has left for later. No result depends on it."""
        self._models.settle(self.run)

    def export(self, path: Path, *, replace: bool = False) -> None:
        """Writes a file that predicts and has nothing else of the model, for `load_predictor` and
        `efface predict`.

        There are no values or ids of rows in it. But the mean of a leaf with one row is the target
        of that row, and such a leaf of a classifier tells the class. `Store.publish` writes the
        same after giving the model a seed that nobody knows.

        Parameters
        ----------
        path : str or path-like
        replace : bool, default=False
            Whether an existing file is replaced.
        """
        self._fitted()._export(path, replace, getattr(self, "feature_names_in_", None))


class ForestModel(_Trees, Model, kinds=["regression forest"]):
    """A fitted forest and the rows it was fitted to; see `Model`.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
    size_ : ForestSize
    """

    __slots__ = ()

    @property
    def feature_importances_(self) -> Reals:
        """The share of each feature in all that splits have gained; the shares sum to 1, or all are
        0 if there is no split."""
        return self._cached("importances", lambda: self.table("importances")[:, 0])

    @property
    def size_(self) -> ForestSize:
        """How large the forest is, as a ForestSize."""
        return ForestSize(*self._models.size(self.run))

    @of_one_state
    def _leaves(self, X):
        """`apply` for an array."""
        n_trees = self._models.size(self.run)[0]
        out = np.empty((X.shape[0], n_trees), dtype=np.uint32)
        with spread_rows(X, self._inputs, self.shape[1]) as rows:
            self._models.leaves(self.run, rows.array, out)
        return out

    @of_one_state
    def _export(self, path, replace, names):
        """`export`, with names of features for a model that has none."""
        if not replace and os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))
        columns = [None] * self.shape[1]
        for place, name in zip(self._inputs, () if names is None else names):
            columns[place] = str(name)
        texts = self._y.texts if isinstance(self._y, Classes) else None
        self._models.export(self.run, path, tuple(columns), texts or None)


class ForestClassesModel(ProbableResults, ForestModel, kinds=["classification forest"]):
    """A fitted forest of classes and the rows it was fitted to; see `ForestModel`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes that rows have, in order.
    """

    __slots__ = ()


# ------------------------------------------------------------------ estimators


class _Forest(_Trees, Estimator):
    """What both forests share."""

    _family = "forest"
    _rules = _RULES

    def _takes_missing(self):
        return bool(self.missing)

    def _numbered(self, parameters, names):
        numbers_only = _category_numbers(parameters["categories"], names)
        return {**parameters, "categories": numbers_only}

    def _with_categories(self, parameters, places):
        together = sorted({*parameters["categories"], *places})
        return {**parameters, "categories": together}

    def _family_parameters(self, parameters, n_features, offsets):
        categories = parameters["categories"]
        for column in categories:
            if not 0 <= column < n_features:
                raise ValueError(
                    f"there is no feature {column}, which categories has: features are counted "
                    f"from 0, and the last is {n_features - 1}"
                )
        return {
            "n_trees": int(parameters["n_estimators"]),
            "n_candidates": _n_candidates(parameters["max_features"], n_features),
            "max_depth": int(parameters["max_depth"] or 0),
            "min_split": int(parameters["min_samples_split"]),
            "min_leaf": int(parameters["min_samples_leaf"]),
            "rows": parameters["rows"],
            "trees_of_row": int(parameters["trees_per_row"]),
            "lazy": bool(parameters["lazy"]),
            "missing": bool(parameters["missing"]),
            "n_categories": len(categories),
            "categories": np.array(categories, dtype=np.uint32) if categories else None,
        }

    # What scikit-learn is told; older versions ask by the second name.

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = bool(self.missing)
        return tags

    def _more_tags(self):
        return {"allow_nan": bool(self.missing)}

    feature_importances_: Final[Reals] = of_model(ForestModel.feature_importances_)
    size_: Final[ForestSize] = of_model(ForestModel.size_)


class ForestClassifier(ProbableClassifier, _Forest):
    """Extremely randomised trees that vote for a class, from which rows can be removed exactly.

    A node takes the best of some random splits. Every random choice depends on the seed and the
    place in the tree alone, and on no row: a row that leaves changes counts along its paths, and
    the tree below a node is grown again only if another split has become the best.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of trees.
    criterion : {'gini', 'entropy'}, default='gini'
        What the best split is best in.
    max_depth : int or None, default=None
        The depth of trees. None: no limit.
    min_samples_split : int, default=2
        A node with fewer rows is a leaf.
    min_samples_leaf : int, default=1
        How many rows both sides of a split have at least.
    max_features : int, float, 'sqrt', 'log2', 'default' or None, default='default'
        How many features a node chooses from: a number, a share of the features, the square root of
        their number, or the logarithm. 'default' and None: two thirds of the square root, but at
        least 5, or all if those are fewer. (In scikit-learn None means all, which is 1.0 here.)
    rows : {'all', 'some', 'poisson'}, default='all'
        Which rows a tree has: all; or each row is in `trees_per_row` trees, chosen by its id, which
        makes forgetting cheaper and the forest less accurate; or each row is in a tree 0, 1, 2, ...
        times, as in a bootstrap.
    trees_per_row : int, default=10
        With rows='some', how many trees a row is in.
    lazy : bool, default=False
        Whether what has to be grown again after a change is grown when it is needed: by a
        prediction, a digest, a pickle or `settle`. No result depends on it.
    missing : bool, default=False
        Whether values of X may be missing (NaN).
    categories : int, str, a sequence of them, or None, default=None
        The features, by number or name, whose values are codes of categories: their order means
        nothing. Columns of texts, or of the type `category`, are categories in any case.
    class_weight : dict or None, default=None
        Weights of classes, as in `RidgeClassifier`.
    random_state, offset, n_jobs, n_threads : optional
        As in `KMeans`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes that rows have. A class whose last row is forgotten is gone.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in all that splits have gained.
    size_ : ForestSize

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[1.0], [2.0], [8.0], [9.0], [1.5]])
    >>> model = efface.ForestClassifier(random_state=0)
    >>> model = model.fit(X, ["low", "low", "high", "high", "high"], ids=range(5))
    >>> report = model.forget(ids=[4])
    >>> str(model.predict([[1.5]])[0])
    'low'
    """

    _rules = {
        **_RULES,
        "criterion": one_of("gini", "entropy"),
        "class_weight": CLASS_WEIGHT_RULE,
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Literal["gini", "entropy"] = "gini",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_features: MaxFeatures = "default",
        rows: TreeRows = "all",
        trees_per_row: int = 10,
        lazy: bool = False,
        missing: bool = False,
        categories: Columns = None,
        class_weight: ClassWeight = None,
        random_state: Seed = None,
        offset: Offset = None,
        n_jobs: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _family_parameters(self, parameters, n_features, offsets):
        return {
            **super()._family_parameters(parameters, n_features, offsets),
            "criterion": parameters["criterion"],
        }


class ForestRegressor(RegressorMixin, _Forest):
    """Extremely randomised trees that predict a number, from which rows can be removed exactly.

    See `ForestClassifier`. The best split is the one that takes most of the squared error away, and
    a tree predicts the mean of a leaf.

    Parameters
    ----------
    n_estimators : int, default=100
        The number of trees.
    max_depth, min_samples_split, min_samples_leaf, max_features : optional
        As in `ForestClassifier`. But `max_features='default'` is a third of the features here, and
        at least 5, or all if those are fewer.
    rows, trees_per_row, lazy, missing, categories : optional
        As in `ForestClassifier`.
    random_state, offset, n_jobs, n_threads : optional
        As in `KMeans`.
    bound : float or None, default=None
        The largest allowed magnitude of y. None: derived from the rows. Then a row with the largest
        y that leaves may change the rounding of all others, so that the forest is grown again.
    target_offset : float, 'auto' or None, default=None
        A number to subtract from y in float64, before the rounding to float32. None: none, or
        'auto' if `offset` is 'auto'.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in all that splits have gained.
    size_ : ForestSize

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[1.0], [2.0], [8.0], [9.0], [1.5]])
    >>> model = efface.ForestRegressor(random_state=0).fit(X, [1, 1, 5, 5, 900], ids=range(5))
    >>> report = model.forget(ids=[4])
    >>> model.predict([[1.5]])
    array([1.])
    """

    _learns = "values"
    _rules = {
        **_RULES,
        "bound": or_none(real(0.0, 2.0**126)),
        "target_offset": TARGET_OFFSET_RULE,
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_features: MaxFeatures = "default",
        rows: TreeRows = "all",
        trees_per_row: int = 10,
        lazy: bool = False,
        missing: bool = False,
        categories: Columns = None,
        random_state: Seed = None,
        bound: float | None = None,
        offset: Offset = None,
        target_offset: Offset = None,
        n_jobs: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _family_parameters(self, parameters, n_features, offsets):
        return {
            **super()._family_parameters(parameters, n_features, offsets),
            "bound": float(parameters["bound"] or 0.0),
        }

    def _data_parameters(self, n_features, n_targets, weight_unit):
        if n_targets != 1:
            raise ValueError(f"a forest predicts one target, but there are {n_targets}")
        return {"target": n_features}

    def _read_y(self, y, n_rows):
        given, form = super()._read_y(y, n_rows)
        if given.flat:
            return given, form
        if given.values.shape[1] != 1:
            with given:
                raise ValueError(
                    f"y should be a 1d array, got an array of shape {given.values.shape} instead: "
                    "a forest predicts one target"
                )
        warnings.warn(COLUMN_VECTOR, DataConversionWarning, stacklevel=3)
        return given, Values()

    target_offset_: Final[Reals | None] = of_model(ForestModel.target_offset_)
