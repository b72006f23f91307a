"""Linear regression, from which rows can be removed exactly."""

from __future__ import annotations

import math
import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from ._bases import MultiOutputMixin, NotFittedError, RegressorMixin
from ._fitted import of_model, of_one_state
from ._model import Model
from ._parameters import COMMON_RULES, or_none, real, whole
from ._sums import IS_FLAG, SCALE_RULE, SUMS_RULES, SumsEstimator
from ._types import Offset, RealOrReals, Reals, Seed, Standard

_MAX_ALPHA = 1e100
_MAX_FOURIER = 16384


def _is_target_offset(value):
    return value is None or (isinstance(value, str) and value == "auto") or np.ndim(value) < 2


TARGET_OFFSET_RULE = (_is_target_offset, "a number, or one for each target, 'auto' or None")

_RULES = {**SUMS_RULES, "fit_intercept": IS_FLAG, "target_offset": TARGET_OFFSET_RULE}


def ridge_parameters(parameters, alpha):
    """The penalty and the intercept as the extension takes them. A regression without an intercept
    goes through the origin, which an offset would move."""
    for name in ("offset", "target_offset"):
        if not parameters["fit_intercept"] and parameters.get(name) is not None:
            raise ValueError(
                f"without an intercept, {name} would move the origin that the regression goes "
                f"through: leave {name} out, or use fit_intercept=True"
            )
    return {"alpha": float(alpha), "intercept": bool(parameters["fit_intercept"])}


def scaled_ridge_parameters(parameters, alpha):
    """The same, with the units of the penalty."""
    scale = parameters.get("scale") or "none"
    return {**ridge_parameters(parameters, alpha), "linear_scale": scale}


class _LeavingOut:
    """What linear regressions and their Models are asked alike."""

    __slots__ = ()

    def leave_one_out(self, alpha: float | None = None) -> Reals:
        """What each row would be missed by, had the model been fitted without it.

        Parameters
        ----------
        alpha : float, optional
            Another penalty than that of the model.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
            y minus what would be predicted, in the order of `ids_`; NaN for a row that the fit
            cannot do without.
        """
        return self._fitted()._leave_one_out(self._own_alpha() if alpha is None else alpha)

    def _own_alpha(self):
        """The penalty, if the Model has another; or None."""
        return None


class LinearModel(
    _LeavingOut, Model, kinds=["linear regression", "kernel ridge regression"]
):
    """A fitted linear regression and the rows it was fitted to; see `Model`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or ndarray of shape (n_targets,)
    coef_std_, intercept_std_ : as these
        Their standard errors; NaN if there are too few rows.
    r2_ : float or ndarray of shape (n_targets,)
    """

    __slots__ = ()

    def _flat(self, values):
        """For one target, what there is of it."""
        if not self._y.flat:
            return values
        return values[0] if values.ndim == 2 else float(values[0])

    def _of_table(self, name):
        self._refuse_no_rows()
        return self._cached(name, lambda: self.table(name))

    def _refuse_no_rows(self):
        """An AttributeError too: without rows these attributes do not exist."""
        if self.shape[0] == 0:
            raise NotFittedError("the model has no rows, and so no coefficients; learn rows first")

    @property
    def coef_(self) -> Reals:
        """The coefficient of each feature."""
        return self._flat(self._of_table("coefficients")[:, 1:])

    @property
    def intercept_(self) -> RealOrReals:
        """The value that is predicted where all features are 0."""
        return self._flat(self._of_table("coefficients")[:, 0])

    @property
    def coef_std_(self) -> Reals:
        """The standard errors of the coefficients."""
        return self._flat(self._of_table("errors")[:, 1:])

    @property
    def intercept_std_(self) -> RealOrReals:
        """The standard error of the intercept; NaN if features have offsets."""
        return self._flat(self._of_table("errors")[:, 0])

    @property
    def r2_(self) -> RealOrReals:
        """The coefficient of determination of the rows."""
        return self._flat(self._of_table("quality")[:, 0])

    @of_one_state
    def _leave_one_out(self, alpha):
        parameters = self.info.parameters
        misses = self._misses(parameters["alpha"] if alpha is None else alpha)
        misses = self._in_order(misses)
        return misses[:, 0] if self._y.flat else misses

    def _misses(self, alpha):
        """The same in the order of positions, with two dimensions."""
        misses = np.empty((self.shape[0], len(self._targets)))
        self._models.leave_one_out(self.run, float(alpha), misses)
        return misses

    def _choose_alpha(self, alphas):
        """The penalty that misses rows least when they are left out, minus the mean of the squares
        of what it misses them by, and a Predictor with it."""
        return self._cached(("chosen", alphas), lambda: self._try_alphas(alphas))

    @of_one_state
    def _try_alphas(self, alphas):
        weights = self._column(2, np.int64).astype(np.float64)
        scores = []
        for alpha in alphas:
            squares = (self._misses(alpha) ** 2).mean(axis=1) * weights
            # Summed exactly, so that the order of rows does not matter.
            score = -math.fsum(squares) / math.fsum(weights)
            scores.append(score if score == score else -math.inf)
        best = int(np.argmax(scores))
        view = self._models.solve(self.run, alphas[best])
        return alphas[best], scores[best], view


class _Regressor(_LeavingOut, MultiOutputMixin, RegressorMixin, SumsEstimator):
    """What linear regressions share."""

    _learns = "values"
    _view = "linear"
    _rules = _RULES

    def _alpha(self, parameters):
        return parameters["alpha"]

    def _view_parameters(self, parameters):
        return scaled_ridge_parameters(parameters, self._alpha(parameters))

    target_offset_: Final[Reals | None] = of_model(LinearModel.target_offset_)


class LinearRegression(_Regressor):
    """Ordinary least squares, from which rows can be removed exactly.

    The state is exact sums of products; coefficients are computed from it on demand. After any
    sequence of `forget`, `learn` and `update` the state is byte for byte that of a fit to the
    present rows, and so are the coefficients.

    Parameters
    ----------
    fit_intercept : bool, default=True
    bound : float or None, default=None
        The largest allowed magnitude of a value, also of y. None: derived from the rows.
    offset : array-like of shape (n_features,), 'auto' or None, default=None
        A number to subtract from each feature in float64, before the rounding to float32; see
        `KMeans`. Results are in the units of X.
    target_offset : float, array-like of shape (n_targets,), 'auto' or None, default=None
        The same for y. None: none, or 'auto' if `offset` is 'auto'.
    n_jobs : int or None, default=None
        The number of threads. None or -1: as many as there are processors; -2: one less, and so on.
        No result depends on it.
    n_threads : int or None, default=None
        Another name for `n_jobs`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        A feature that is constant, or depends on those before it, has the coefficient 0.
    intercept_ : float or ndarray of shape (n_targets,)
    coef_std_, intercept_std_ : as these
        Standard errors.
    r2_ : float or ndarray of shape (n_targets,)
        The coefficient of determination of the rows.

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> model = efface.LinearRegression().fit(X, [3, 5, 7, 100], ids=range(4))
    >>> report = model.forget(ids=[3])
    >>> model.coef_.round(9), round(model.intercept_, 9)
    (array([2.]), 1.0)
    """

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        bound: float | None = None,
        offset: Offset = None,
        target_offset: Offset = None,
        n_jobs: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _alpha(self, parameters):
        return 0.0

    coef_: Final[Reals] = of_model(LinearModel.coef_)
    intercept_: Final[Any] = of_model(LinearModel.intercept_)
    coef_std_: Final[Reals] = of_model(LinearModel.coef_std_)
    intercept_std_: Final[Any] = of_model(LinearModel.intercept_std_)
    r2_: Final[Any] = of_model(LinearModel.r2_)


class Ridge(_Regressor):
    """Linear regression with a penalty on squared coefficients; see `LinearRegression`.

    Parameters
    ----------
    alpha : float, default=1.0
        The penalty, as in scikit-learn: of the square of each coefficient, in the units of the
        data, or of `scale`.
    scale : {'standard'} or None, default=None
        'standard': the penalty is of coefficients for features in units of their deviations, as
        with a StandardScaler before, which would keep the rows it has seen. The deviations are
        those of the present rows; `coef_` is in the units of X. It needs the intercept.
    fit_intercept, bound, offset, target_offset, n_jobs, n_threads : optional
        As in `LinearRegression`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or ndarray of shape (n_targets,)
    coef_std_, intercept_std_ : as these
        Standard errors.
    r2_ : float or ndarray of shape (n_targets,)

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.array([[-1.0], [1.0], [5.0]])
    >>> model = efface.Ridge(alpha=2.0).fit(X, [-2, 2, 9], ids=range(3))
    >>> report = model.forget(ids=[2])
    >>> model.coef_.round(9)
    array([1.])
    """

    _rules = {**_RULES, "alpha": real(0.0, _MAX_ALPHA, closed=True), "scale": SCALE_RULE}

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        scale: Standard = None,
        fit_intercept: bool = True,
        bound: float | None = None,
        offset: Offset = None,
        target_offset: Offset = None,
        n_jobs: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    coef_: Final[Reals] = of_model(LinearModel.coef_)
    intercept_: Final[Any] = of_model(LinearModel.intercept_)
    coef_std_: Final[Reals] = of_model(LinearModel.coef_std_)
    intercept_std_: Final[Any] = of_model(LinearModel.intercept_std_)
    r2_: Final[Any] = of_model(LinearModel.r2_)


def _are_alphas(value):
    alphas = np.asarray(value, dtype=np.float64)
    return alphas.ndim == 1 and len(alphas) > 0 and bool(((0 <= alphas) & (alphas <= 1e100)).all())


class RidgeCV(_Regressor):
    """Ridge regression that chooses its penalty by leaving out each row; see `Ridge`.

    For each penalty, what every row would be missed by without it has a closed form. The penalty is
    chosen again when results are asked for after a change, so that it too is that of a fit to the
    present rows. This takes a pass over the rows for each penalty.

    Parameters
    ----------
    alphas : array-like of float, default=(0.1, 1.0, 10.0)
        The penalties to choose from; the first of those that are equally good is taken.
    scale : {'standard'} or None, default=None
        As in `Ridge`. A row is left out in the units of all rows.
    fit_intercept, bound, offset, target_offset, n_jobs, n_threads : optional
        As in `LinearRegression`.

    Attributes
    ----------
    alpha_ : float
        The penalty that was chosen.
    best_score_ : float
        Minus the mean of the squares that rows are missed by, when they are left out.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or ndarray of shape (n_targets,)

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.arange(12.0).reshape(6, 2) ** 2
    >>> model = efface.RidgeCV(alphas=[1e-3, 1.0]).fit(X, X[:, 0], ids=range(6))
    >>> model.alpha_
    0.001
    """

    _rules = {
        **_RULES,
        "alphas": (_are_alphas, "a sequence of floats of at least 0"),
        "scale": SCALE_RULE,
    }

    def __init__(
        self,
        alphas: ArrayLike = (0.1, 1.0, 10.0),
        *,
        scale: Standard = None,
        fit_intercept: bool = True,
        bound: float | None = None,
        offset: Offset = None,
        target_offset: Offset = None,
        n_jobs: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _alpha(self, parameters):
        return parameters["alphas"][0]

    def _remember(self, parameters):
        self._alphas = tuple(float(alpha) for alpha in parameters["alphas"])

    def _refuse_store(self):
        return "a store keeps models with one penalty: fit RidgeCV to find it, and Ridge with it"

    def _chosen(self):
        model = self._fitted()
        model._refuse_no_rows()
        return model._choose_alpha(self._alphas)

    @property
    def alpha_(self) -> float:
        """The penalty that was chosen."""
        return self._chosen()[0]

    @property
    def best_score_(self) -> float:
        """Minus the mean of the squares that rows are missed by, when they are left out."""
        return self._chosen()[1]

    def _coefficients(self):
        """A row for each target, the intercept first, in the units of the data."""
        model, view = self._fitted(), self._chosen()[2]
        table = np.empty((len(model._targets), 1 + self.n_features_in_))
        view.table("coefficients", table)
        if model.target_offset_ is not None:
            table[:, 0] += model.target_offset_
        if model.offset_ is not None:
            table[:, 0] -= table[:, 1:] @ model.offset_
        return table

    @property
    def coef_(self) -> Reals:
        """The coefficient of each feature."""
        return self._fitted()._flat(self._coefficients()[:, 1:])

    @property
    def intercept_(self) -> Any:
        """The value that is predicted where all features are 0."""
        return self._fitted()._flat(self._coefficients()[:, 0])

    def _own_alpha(self):
        return self.alpha_

    def _predict_rows(self, model, array):
        return model._predict_by(self._chosen()[2], array)


class FourierRidge(_Regressor):
    """Kernel ridge regression by random Fourier features, from which rows can be removed exactly.

    The features stand for the Gaussian kernel exp(-gamma |x - y|^2). They come from the seed, and
    not from the rows.

    Parameters
    ----------
    alpha : float, default=1.0
        The penalty of the square of each coefficient of a Fourier feature.
    gamma : float or None, default=None
        The parameter of the kernel. None: 1, or with a scale 1 / n_features.
    scale : {'standard'} or None, default=None
        'standard': x and y are in units of the deviation of each feature, as in `KMeans`, and as
        with a StandardScaler before, which would keep the rows it has seen.
    n_components : int, default=100
        How many Fourier features there are.
    bound : float or None, default=None
        The largest allowed magnitude of y. None: derived from the rows.
    fit_intercept, offset, target_offset, n_jobs, n_threads : optional
        As in `LinearRegression`.
    random_state : int, RandomState or None, default=None
        As in `KMeans`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_components,) or (n_targets, n_components)
        The coefficients of the Fourier features.
    intercept_ : float or ndarray of shape (n_targets,)
    r2_ : float or ndarray of shape (n_targets,)

    Examples
    --------
    >>> import numpy as np, efface
    >>> X = np.linspace(0, 6, 200).reshape(-1, 1)
    >>> model = efface.FourierRidge(alpha=1e-3, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.0]]) - np.sin(1.0)) < 0.01)
    True
    """

    _rules = {
        **_RULES,
        "alpha": real(0.0, _MAX_ALPHA, closed=True),
        "gamma": or_none(real(0.0, 1e30)),
        "scale": SCALE_RULE,
        "n_components": whole(1, _MAX_FOURIER),
        "random_state": COMMON_RULES["random_state"],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        gamma: float | None = None,
        scale: Standard = None,
        n_components: int = 100,
        fit_intercept: bool = True,
        bound: float | None = None,
        random_state: Seed = None,
        offset: Offset = None,
        target_offset: Offset = None,
        n_jobs: int | None = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _view_parameters(self, parameters):
        return {
            "alpha": float(parameters["alpha"]),
            "intercept": bool(parameters["fit_intercept"]),
            "gamma": self._gamma(parameters),
            "scale": parameters["scale"] or "none",
            "n_fourier": int(parameters["n_components"]),
        }

    @staticmethod
    def _gamma(parameters):
        """The parameter of the kernel; 0 is 1 / n_features."""
        if parameters["gamma"] is not None:
            return float(parameters["gamma"])
        return 1.0 if parameters["scale"] is None else 0.0

    def _check_fit(self, model, array):
        variances = array.var(axis=0, dtype=np.float64) if len(array) > 1 else np.zeros(1)
        if self.scale is None:
            self._warn_of_units(variances)

    def _warn_of_units(self, variances):
        """Warns where the kernel sees one feature only, or all rows as strangers."""
        total, n_used = variances.sum(), (variances > 0).sum()
        if n_used > 1 and variances.max() > 0.999 * total:
            problem = f"feature {variances.argmax()} has nearly all of the variance"
        elif 2 * self._gamma({"gamma": self.gamma, "scale": None}) * total > 50:
            problem = "rows are so far apart that the kernel of most pairs is 0"
        else:
            return
        warnings.warn(
            f"{problem}: use scale='standard', or a smaller gamma and features of one size",
            stacklevel=4,
        )

    coef_: Final[Reals] = of_model(LinearModel.coef_)
    intercept_: Final[Any] = of_model(LinearModel.intercept_)
    r2_: Final[Any] = of_model(LinearModel.r2_)
