"""What all estimators have: fitting, asking and changing, whatever the family of the model.

An estimator is one class for each family, in a module of its own, with the parameters, the results
that only this family has, and a Model with the same results (_model.py). It defines

- `_family`, the name of the family in the library, and `_rules` for its parameters;
- `_learns`, what y is: nothing (None), 'values' or 'classes';
- `_family_parameters`, which makes of them what the extension takes (py_family_*.c);
- `_data_parameters`, if some depend on the number of targets, or on weights; `_numbered`, if some
  name features; `_takes_missing`, if values may be missing;
- `_with_categories`, if values may be categories, and the parameter `categories` names them;
- `_findings` and `_warn_of`, if there is something to warn of after a fit.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from . import _efface
from ._arrays import WEIGHT_UNIT, check_weights, keep_present, unmasked
from ._bases import BaseEstimator, NotFittedError
from ._fitted import Fitted
from ._model import make_model
from ._parameters import COMMON_RULES, check_parameters, draw_seed, run_seeds, thread_count
from ._rounding import choose_offsets, find_rounding, warn_rounding
from ._rows import check_rows, feature_names, join_rows, plain_rows
from ._tables import Every, as_table, take_columns
from ._targets import Nothing, Values, first_classes
from ._texts import name_texts
from ._types import EachId, EachOwner, Names

_NO_KEY = bytes(16)


class Estimator(BaseEstimator, Fitted):
    """The base of all estimators: everything that does not depend on the family of models.

    After any sequence of `forget`, `learn` and `update` the state is byte for byte that of a fit
    to the present rows, with the same parameters and the same seed.

    Attributes
    ----------
    ids_ : ndarray of shape (n_rows,)
        The ids of the rows, in the order in which rows came.
    owners_ : masked array of shape (n_rows,)
        The owners of the rows in the same order; a row without an owner is masked.
    offset_ : ndarray of shape (n_features,) or None
        The offsets in use. They are public, and stay when rows are forgotten.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If X had names.
    """

    n_features_in_: int
    feature_names_in_: Names

    _family = None
    _rules = COMMON_RULES
    _learns = None

    # -------------------------------------------------------------- what a family defines

    def _family_parameters(self, parameters, n_features, offsets):
        """The parameters of the family as the extension takes them, of those that were checked."""
        raise NotImplementedError

    def _numbered(self, parameters, names):
        """Parameters with numbers in the place of names of features; `names` may be None."""
        return parameters

    def _takes_missing(self):
        """Whether values of X may be missing, which is NaN."""
        return False

    def _with_categories(self, parameters, places):
        """Parameters that have the columns at these places as categories, if there can be such."""
        return parameters

    def _class_parameters(self, form, labels):
        """Further parameters of a classifier, of the Classes and the labels of a fit."""
        return {}

    def _check_fit(self, model, array):
        """Raises ValueError if a model is of no use; `array` has the rows of the fit."""

    def _remember(self, parameters):
        """Keeps parameters that answers depend on, and that the model does not have."""

    def _refuse_store(self):
        """Why a store cannot have such a model, or None."""
        return None

    def _data_parameters(self, n_features, n_targets, weight_unit):
        """Further parameters of the family; a weight of 1 is `weight_unit` for the library."""
        return {}

    def _findings(self, model):
        """What there is to warn of after a fit, as a fit in a store gives it as well."""
        return None

    def _warn_of(self, found, parameters, names, stacklevel):
        """Warns of findings; `names` are those of the features, or None."""

    # -------------------------------------------------------------- parameters

    def _keep(self, arguments):
        """Keeps the arguments of the constructor, as scikit-learn wants: unchanged, by name."""
        del arguments["self"]
        vars(self).update(arguments)

    def _checked_parameters(self):
        """Parameters by name."""
        parameters = {name: getattr(self, name) for name in self._rules}
        check_parameters(type(self).__name__, parameters, self._rules)
        return parameters

    def _fit_parameters(self, parameters, n_features, offsets, n_targets=0, weight_unit=1):
        """The dictionary that the extension takes, without the seed."""
        return {
            "family": self._family,
            "n_threads": thread_count(parameters),
            **self._family_parameters(parameters, n_features, offsets),
            **self._data_parameters(n_features, n_targets, weight_unit),
        }

    def _seeds(self, parameters):
        """A seed for each run; there is one, unless the family has more."""
        seed = draw_seed(parameters["random_state"]) if "random_state" in parameters else 0
        return run_seeds(seed, parameters.get("n_init", 1))

    # -------------------------------------------------------------- fitting

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        ids: EachId | None = None,
        owners: EachOwner | None = None,
    ) -> Self:
        """Fits to the rows of X.

        Parameters
        ----------
        X : array-like, data frame, Arrow table or sparse matrix, of shape (n_samples, n_features)
            Any numbers; they are rounded to float32 (see `offset`). In a table, truth values are 0
            and 1, dates are days and times seconds since 1970, and texts are for forests. A column that
            another argument names is not a feature.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets of a regressor, or the classes of a classifier: whole numbers or texts.
            Or the name of a column of X. Ignored by other estimators.
        sample_weight : array-like of shape (n_samples,), float or None
            Rounded to multiples of 1/1024; a row of weight 0 is absent. Or the name of a column.
        ids : array-like of int or str, optional
            The names of the rows in later requests. Texts are hashed. Or the name of a column, or
            'index' for the index of a data frame. Without ids, the id of a row
            is a hash of its content (see `ids_`), so the order of rows does not matter.
        owners : array-like of int, str or None, optional
            The owners of the rows. None, NaN and masked elements mean no owner: a request for an
            owner never finds these rows. Or the name of a column.

        Returns
        -------
        Estimator
            The estimator itself.
        """
        parameters = self._checked_parameters()
        X, named, beside = take_columns(
            X, y=y, sample_weight=sample_weight, ids=ids, owners=owners
        )
        y, sample_weight, ids, owners = named.values()
        X = as_table(X)
        names = feature_names(X)
        parameters = self._numbered(parameters, names)
        may_be_texts = Every() if "categories" in parameters else ()
        narrow = self.offset is None
        with plain_rows(X, self, self._takes_missing(), may_be_texts, narrow) as rows:
            parameters = self._with_categories(parameters, rows.categories)
            given, form = self._read_y(y, len(rows))
            with given:
                offsets = choose_offsets(self.offset, rows.array)
                findings = find_rounding(rows.array, offsets, rows.lost)
                shifts = form.offsets(self, given)
                of_targets = form.findings(given, shifts)
                model = self._fit_rows(
                    rows, given, form, parameters, (offsets, shifts), sample_weight, ids, owners
                )
            n_features = rows.array.shape[1]
            self._check_fit(model, rows.array)
        # Only now, so that a fit which fails leaves the estimator as it was.
        self._model, self.n_features_in_, self._beside = model, n_features, beside
        self._remember(parameters)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._warn_of(self._findings(model), parameters, names, stacklevel=2)
        warn_rounding(findings, names, stacklevel=2)
        warn_rounding(of_targets, None, stacklevel=2, what="target")
        return self

    def _read_y(self, y, n_rows):
        """What y gives, and what it is; see _targets.py."""
        who = f"This {type(self).__name__} estimator"
        if self._learns == "classes":
            return first_classes(y, n_rows, who, getattr(self, "class_weight", None))
        if self._learns is None:
            return Nothing().read(y, n_rows, who), Nothing()
        given = Values().read(y, n_rows, who)
        return given, Values(given.flat)

    def _fit_rows(self, rows, given, form, parameters, shifts, sample_weight, ids, owners):
        """A Model of Rows. Those of weight 0 are absent from it, but have answers at first."""
        sample_weight = form.weighted(sample_weight, given.labels, len(rows))
        weights = check_weights(sample_weight, len(rows))
        hashed_ids = ids is None
        present, all_ids = None, None
        if weights is not None and not weights.all():
            present = weights > 0
            if not present.any():
                raise ValueError(f"n_samples=0: all {len(rows)} sample weights are zero")
        n_features = rows.array.shape[1]
        n_targets = 0 if given.values is None else given.values.shape[1]
        params = self._fit_parameters(
            parameters, n_features, shifts[0], n_targets, 1 if weights is None else WEIGHT_UNIT
        )
        seeds = self._seeds(parameters)
        offsets = _all_offsets(*shifts, n_features, n_targets)
        ids, owners = unmasked(ids), unmasked(owners)
        owned = keep_present(owners, present, "owners")
        with _with_targets(rows, given) as whole:
            if present is not None:
                all_ids = _all_ids(whole.array, weights, ids, offsets, given.labels)
                ids, weights = all_ids[present], weights[present]
            labels = given.labels_where(present)
            if labels is not None:
                params.update(self._class_parameters(form, labels))
            with whole.where(present) as some:
                try:
                    models = _efface.fit(
                        some.array,
                        unmasked(ids),
                        weights,
                        unmasked(owned),
                        WEIGHT_UNIT,
                        params,
                        seeds,
                        None,
                        None,
                        offsets,
                        labels,
                    )
                except (LookupError, ValueError) as error:
                    raise name_texts(error, _text_id, ids, owners) from None
        model = make_model(
            models,
            params=params,
            weighting="none" if weights is None else "parts",
            hashed_ids=hashed_ids,
            y=form.kept({}, models.form(0)[2]),
        )
        model._owner_texts.add(models, unmasked(owned))
        if present is not None:
            model._keep_absent(rows.array, all_ids)
        return model

    def _fitted(self):
        try:
            return self._model
        except AttributeError:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            ) from None

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    _rows = check_rows


def _text_id(text):
    return _efface.text_id(text, _NO_KEY)


def _with_targets(rows, given):
    """Rows whose last columns are the targets, if there are any."""
    if given.values is None:
        return rows.where(None)
    n_features, n_targets = rows.array.shape[1], given.values.shape[1]
    columns = list(range(n_features + n_targets))
    return join_rows(rows.array, columns[:n_features], given.values, columns[n_features:])


def _all_offsets(features, targets, n_features, n_targets):
    """The offsets of features and targets in one array; None if there are none."""
    if features is None and targets is None:
        return None
    features = np.zeros(n_features) if features is None else features
    return np.concatenate([features, np.zeros(n_targets) if targets is None else targets])


def _all_ids(X, weights, ids, offsets, labels):
    """The ids of all rows, also of absent ones."""
    out = np.empty(X.shape[0], dtype=np.uint64)
    if ids is None:
        _efface.row_ids(X, weights, WEIGHT_UNIT, out, offsets, labels)
    else:
        _efface.read_ids(unmasked(ids), out)
    return out
