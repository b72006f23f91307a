"""Classifiers that are made of sums, from which rows can be removed exactly."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ._bases import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from ._classifier import (
    CLASS_WEIGHT_RULE,
    ClassesResults,
    Classifier,
    ProbableClassifier,
    ProbableResults,
)
from ._fitted import of_model, of_one_state
from ._linear import scaled_ridge_parameters
from ._model import Model
from ._parameters import or_none, real, whole
from ._sums import IS_FLAG, SCALE_RULE, SUMS_RULES, SumsEstimator
from ._types import ClassWeight, Offset, Reals, Standard

_PRIORS_RULE = (lambda v: v is None or np.ndim(v) == 1, "a number for each class or None")


class _Deciding:
    """What classifiers with a decision function and their Models are asked alike."""

    __slots__ = ()

    def decision_function(self, X: ArrayLike) -> Reals:
        """A number for each row of X and class: the class with the largest is predicted.

        With two classes there is one number for each row: if it is positive, the second is
        predicted.

        Returns
        -------
        ndarray of shape (n_rows, n_classes) or (n_rows,)
        """
        model = self._fitted()
        with self._rows(X) as rows:
            return model._decisions(rows.array)


class ClassesModel(_Deciding, ClassesResults, Model):
    """A fitted classifier and the rows it was fitted to; see `Model`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes that rows have, in order.
    """

    __slots__ = ()

    @of_one_state
    def _class_table(self, name):
        """A table with a row for each class, in the order of `classes_`."""
        order = self._y.order(self._form()[2])
        return self._cached(("of classes", name), lambda: self.table(name)[order])

    def _decisions(self, X):
        """`decision_function` for an array: with two classes, one number a row."""
        decisions = self._scores(X, False)
        return self._second(*decisions.T) if decisions.shape[1] == 2 else decisions

    @staticmethod
    def _second(first, second):
        """With two classes, how much speaks for the second, of what speaks for each."""
        return second - first

    @property
    def coef_(self) -> Reals:
        """The coefficients of the features, a row for each class; one row for two classes."""
        return self._coefficients()[:, 1:]

    @property
    def intercept_(self) -> Reals:
        """What is added to them."""
        return self._coefficients()[:, 0]

    def _coefficients(self):
        if "coefficients" not in self.tables:
            raise AttributeError(f"{type(self).__name__!r} of this kind has no coefficients")
        table = self._class_table("coefficients")
        return self._second(*table).reshape(1, -1) if len(table) == 2 else table


class RidgeClassifierModel(ClassesModel, kinds=["ridge classifier"]):
    """A fitted ridge classifier and the rows it was fitted to; see `Model`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept_ : ndarray of shape (n_classes,) or (1,)
    """

    __slots__ = ()

    @staticmethod
    def _second(first, second):
        return second  # which is minus the first


class ProbableClassesModel(ProbableResults, ClassesModel):
    """A fitted classifier with probabilities and the rows it was fitted to; see `Model`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
    priors_ : ndarray of shape (n_classes,)
    """

    __slots__ = ()

    @property
    def means_(self) -> Reals:
        """The means of the rows of each class."""
        return self._class_table("means")

    @property
    def priors_(self) -> Reals:
        """The probability of each class before a row is looked at."""
        return self._class_table("priors")[:, 0]

    @property
    def class_count_(self) -> Reals:
        """The weight of the rows of each class."""
        return self._class_table("priors")[:, 1]

    def _log_probabilities(self, X):
        decisions = self._scores(X, False)
        decisions -= decisions.max(axis=1, keepdims=True)
        return decisions - np.log(np.exp(decisions).sum(axis=1, keepdims=True))


class BayesModel(ProbableClassesModel, kinds=["naive Bayes"]):
    """A fitted Gaussian naive Bayes and the rows it was fitted to; see `ProbableClassesModel`.

    Attributes
    ----------
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Means and variances.
    class_prior_, class_count_ : ndarray of shape (n_classes,)
    """

    __slots__ = ()

    theta_ = ProbableClassesModel.means_
    class_prior_ = ProbableClassesModel.priors_

    @property
    def var_(self) -> Reals:
        """The variances of each class, with what was added to them."""
        return self._class_table("variances")


class DiscriminantModel(ProbableClassesModel, kinds=["discriminant analysis"]):
    """Fitted discriminants and the rows they were fitted to; see `ProbableClassesModel`.

    Attributes
    ----------
    scalings_ : ndarray of shape (n_features, n_directions)
        Linear discriminants: the directions in which classes differ most.
    explained_variance_ratio_ : ndarray of shape (n_directions,)
        How much of the differences each has.
    xbar_ : ndarray of shape (n_features,)
        The mean of the classes by their priors.
    """

    __slots__ = ()

    def _directions(self):
        return self._cached("directions", lambda: self.table("directions"))

    @property
    def scalings_(self) -> Reals:
        """The directions in which classes differ most, as columns."""
        return self._directions()[:, 1:].T

    @property
    def explained_variance_ratio_(self) -> Reals:
        """How much of the differences between classes is in each direction."""
        return self._directions()[:, 0]

    @property
    def xbar_(self) -> Reals:
        """The mean of the classes by their priors."""
        return self.priors_ @ self.means_

    @of_one_state
    def _transform_array(self, X):
        origin = self.xbar_ if self.offset_ is None else self.xbar_ - self.offset_
        return (X - origin) @ self.scalings_


class _Classifier(Classifier, SumsEstimator):
    """What these classifiers share."""

    def _check_fit(self, model, array):
        try:
            model._predict_array(array[:1])  # says so if there are too few classes or rows
        except ValueError as error:
            if model.shape[0] > 1:
                raise
            raise ValueError(f"n_samples=1 is too few: {error}") from None


class _Probable(ProbableClassifier, _Classifier):
    """Those with probabilities, and priors."""

    def _refuse_store(self):
        if self.priors is not None:
            return "priors are in the order of classes, which a store does not know: leave them out"
        return None

    def _class_parameters(self, form, labels):
        """Priors in the order of labels, of those in the order of classes."""
        if self.priors is None:
            return {self._priors_key: None}
        priors = np.array(self.priors, dtype=np.float64)
        labels = np.unique(labels)
        if len(priors) != len(labels):
            raise ValueError("Number of priors must match number of classes.")
        if not (priors >= 0).all():
            raise ValueError("Priors must be non-negative.")
        if not np.isclose(priors.sum(), 1.0):
            raise ValueError("The sum of the priors should be 1.")
        by_label = np.empty_like(priors)
        by_label[form.order(labels)] = priors
        return {self._priors_key: by_label}


class RidgeClassifier(_Deciding, _Classifier):
    """Classification by ridge regression on the classes, from which rows can be removed exactly.

    Each class has a regression on 1 for its rows and -1 for others; see `Ridge`.

    Parameters
    ----------
    alpha : float, default=1.0
        The penalty of squared coefficients.
    scale : {'standard'} or None, default=None
        'standard': the penalty is of coefficients for features in units of their deviations; see
        `Ridge`.
    fit_intercept : bool, default=True
    class_weight : dict or None, default=None
        Weights of classes, by class: the weights of rows are multiplied by them, also those of rows
        that are learned later. A class that is not in it has weight 1.
    bound, offset, n_jobs, n_threads : optional
        As in `KMeans`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes that rows have. A class whose last row is forgotten is gone.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept_ : ndarray of shape (n_classes,) or (1,)

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[1.0], [2.0], [8.0], [9.0]])
    >>> model = efface.RidgeClassifier().fit(X, ["low", "low", "high", "high"], ids=range(4))
    >>> report = model.forget(ids=[0])
    >>> str(model.predict([[1.5]])[0])
    'low'
    """

    _view = "ridge"
    _rules = {
        **SUMS_RULES,
        "alpha": real(0.0, 1e100, closed=True),
        "fit_intercept": IS_FLAG,
        "class_weight": CLASS_WEIGHT_RULE,
        "scale": SCALE_RULE,
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        scale: Standard = None,
        fit_intercept: bool = True,
        class_weight: ClassWeight = None,
        bound: float | None = None,
        offset: Offset = None,
        n_jobs: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _view_parameters(self, parameters):
        return scaled_ridge_parameters(parameters, parameters["alpha"])

    coef_: Final[Reals] = of_model(RidgeClassifierModel.coef_)
    intercept_: Final[Reals] = of_model(RidgeClassifierModel.intercept_)


class GaussianNB(_Probable):
    """Gaussian naive Bayes, from which rows can be removed exactly.

    Parameters
    ----------
    priors : array-like of shape (n_classes,) or None, default=None
        The probabilities of classes, in the order of `classes_`. None: their shares of the rows.
    var_smoothing : float, default=1e-9
        This part of the largest variance of a feature is added to all variances.
    bound, offset, n_jobs, n_threads : optional
        As in `KMeans`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes that rows have. A class whose last row is forgotten is gone.
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Means and variances of the features in each class.
    class_prior_, class_count_ : ndarray of shape (n_classes,)
        The probability of each class, and the weight of its rows.

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[1.0], [2.0], [8.0], [9.0], [30.0]])
    >>> model = efface.GaussianNB().fit(X, [0, 0, 1, 1, 1], ids=range(5))
    >>> report = model.forget(ids=[4])
    >>> model.theta_
    array([[1.5],
           [8.5]])
    """

    _view = "bayes"
    _priors_key = "bayes_priors"
    _rules = {
        **SUMS_RULES,
        "priors": _PRIORS_RULE,
        "var_smoothing": real(0.0, 1e100, closed=True),
    }

    def __init__(
        self,
        *,
        priors: ArrayLike | None = None,
        var_smoothing: float = 1e-9,
        bound: float | None = None,
        offset: Offset = None,
        n_jobs: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _view_parameters(self, parameters):
        return {"smoothing": float(parameters["var_smoothing"])}

    def predict_joint_log_proba(self, X: ArrayLike) -> Reals:
        """The logarithm of the joint probability of each row of X and each class."""
        model = self._fitted()
        with self._rows(X) as rows:
            return model._scores(rows.array, False)

    theta_: Final[Reals] = of_model(BayesModel.theta_)
    var_: Final[Reals] = of_model(BayesModel.var_)
    class_prior_: Final[Reals] = of_model(BayesModel.class_prior_)
    class_count_: Final[Reals] = of_model(BayesModel.class_count_)


class LinearDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Deciding, _Probable
):
    """Linear discriminants, from which rows can be removed exactly.

    Each class has a normal distribution, with one covariance matrix for all.

    Parameters
    ----------
    shrinkage : float or None, default=None
        From 0 to 1: the covariance matrix becomes (1 - shrinkage) times itself plus shrinkage times
        its mean variance in each feature. None: it is not shrunk. It is that of the rows, as with
        scikit-learn's solver 'lsqr'.
    scale : {'standard'} or None, default=None
        'standard': it is shrunk as if features were divided by their deviations, as with a
        StandardScaler before, which would keep the rows it has seen. Results are in the units of X.
    priors : array-like of shape (n_classes,) or None, default=None
        The probabilities of classes, in the order of `classes_`. None: their shares of the rows.
    n_components : int or None, default=None
        How many directions `transform` gives. None: as many as there are.
    bound, offset, n_jobs, n_threads : optional
        As in `KMeans`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes that rows have. A class whose last row is forgotten is gone.
    scalings_ : ndarray of shape (n_features, n_directions)
        The directions in which classes differ most, compared to rows within classes.
    explained_variance_ratio_ : ndarray of shape (n_components,)
    xbar_ : ndarray of shape (n_features,)
        The mean of the classes by their priors.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept_ : ndarray of shape (n_classes,) or (1,)
    means_ : ndarray of shape (n_classes, n_features)
    priors_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[1.0, 0], [2, 1], [8, 0], [9, 1], [30, 40]])
    >>> model = efface.LinearDiscriminantAnalysis().fit(X, [0, 0, 1, 1, 1], ids=range(5))
    >>> report = model.forget(ids=[4])
    >>> model.predict([[7, 1]])
    array([1])
    """

    _view = "discriminant"
    _priors_key = "discriminant_priors"
    _rules = {
        **SUMS_RULES,
        "shrinkage": or_none(real(0.0, 1.0, closed=True)),
        "priors": _PRIORS_RULE,
        "n_components": or_none(whole(1, 2**31)),
        "scale": SCALE_RULE,
    }

    def __init__(
        self,
        *,
        shrinkage: float | None = None,
        scale: Standard = None,
        priors: ArrayLike | None = None,
        n_components: int | None = None,
        bound: float | None = None,
        offset: Offset = None,
        n_jobs: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _view_parameters(self, parameters):
        return {
            "quadratic": False,
            "shrinkage": float(parameters["shrinkage"] or 0.0),
            "discriminant_scale": parameters["scale"] or "none",
        }

    def _check_fit(self, model, array):
        super()._check_fit(model, array)
        n_features, n_classes = model.shape[1], len(model.classes_)
        n_max = min(n_features, n_classes - 1)
        if self.n_components is not None and self.n_components > n_max:
            raise ValueError(
                f"n_components={self.n_components} is too many: with {n_features} features and "
                f"{n_classes} class{'es' if n_classes > 1 else ''} there can be {n_max} at most"
            )

    @property
    def _n_features_out(self):
        return len(self.explained_variance_ratio_)

    @property
    def explained_variance_ratio_(self) -> Reals:
        """How much of the differences between classes is in each direction."""
        return self._fitted().explained_variance_ratio_[: self.n_components]

    def transform(self, X: ArrayLike) -> Reals:
        """The coordinates of each row of X along the directions in which classes differ most."""
        model = self._fitted()
        with self._rows(X) as rows:
            return model._transform_array(rows.array)[:, : self.n_components]

    scalings_: Final[Reals] = of_model(DiscriminantModel.scalings_)
    xbar_: Final[Reals] = of_model(DiscriminantModel.xbar_)
    coef_: Final[Reals] = of_model(DiscriminantModel.coef_)
    intercept_: Final[Reals] = of_model(DiscriminantModel.intercept_)
    means_: Final[Reals] = of_model(DiscriminantModel.means_)
    priors_: Final[Reals] = of_model(DiscriminantModel.priors_)


class QuadraticDiscriminantAnalysis(_Deciding, _Probable):
    """Quadratic discriminants, from which rows can be removed exactly.

    Each class has a normal distribution with a covariance matrix of its own.

    Parameters
    ----------
    priors : array-like of shape (n_classes,) or None, default=None
        The probabilities of classes, in the order of `classes_`. None: their shares of the rows.
    reg_param : float, default=0.0
        From 0 to 1: covariance matrices become (1 - reg_param) times themselves plus reg_param in
        each feature. They are divided by the weight of the rows of the class (scikit-learn: less
        1), so that a weight of 2 is the same as two rows.
    scale : {'standard'} or None, default=None
        'standard': reg_param is in units of the deviations of features over all rows; see
        `LinearDiscriminantAnalysis`.
    bound, offset, n_jobs, n_threads : optional
        As in `KMeans`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes that rows have. A class whose last row is forgotten is gone.
    means_ : ndarray of shape (n_classes, n_features)
    priors_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[1.0], [2], [8], [9], [30]])
    >>> model = efface.QuadraticDiscriminantAnalysis().fit(X, [0, 0, 1, 1, 1], ids=range(5))
    >>> report = model.forget(ids=[4])
    >>> model.predict([[7]])
    array([1])
    """

    _view = "discriminant"
    _priors_key = "discriminant_priors"
    _rules = {
        **SUMS_RULES,
        "priors": _PRIORS_RULE,
        "reg_param": real(0.0, 1.0, closed=True),
        "scale": SCALE_RULE,
    }

    def __init__(
        self,
        *,
        priors: ArrayLike | None = None,
        reg_param: float = 0.0,
        scale: Standard = None,
        bound: float | None = None,
        offset: Offset = None,
        n_jobs: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _view_parameters(self, parameters):
        return {
            "quadratic": True,
            "shrinkage": float(parameters["reg_param"]),
            "discriminant_scale": parameters["scale"] or "none",
        }

    means_: Final[Reals] = of_model(DiscriminantModel.means_)
    priors_: Final[Reals] = of_model(DiscriminantModel.priors_)
