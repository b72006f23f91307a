"""scikit-learn's own checks of estimators, with none skipped."""

import inspect
import warnings

import pytest
from conftest import METHODS
from sklearn.exceptions import SkipTestWarning
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from efface import (
    PCA,
    ColumnMeans,
    ForestClassifier,
    ForestRegressor,
    FourierRidge,
    GaussianNB,
    KMeans,
    LinearDiscriminantAnalysis,
    LinearRegression,
    QuadraticDiscriminantAnalysis,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    SegmentedRegression,
)

KMEANS = [KMeans(method=method) for method in METHODS]
OTHERS = [
    ColumnMeans(),
    LinearRegression(),
    Ridge(),
    RidgeCV(),
    FourierRidge(),
    RidgeClassifier(),
    GaussianNB(),
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(),
    PCA(),
    SegmentedRegression(),
    ForestClassifier(20),
    ForestClassifier(20, missing=True, lazy=True),
    ForestRegressor(20),
    ForestRegressor(20, missing=True),
]

# Checks that check_estimator leaves out though scikit-learn applies them to its own estimators.
FURTHER = [
    estimator_checks.check_n_features_in_after_fitting,
    estimator_checks.check_dataframe_column_names_consistency,
    estimator_checks.check_transformer_get_feature_names_out,
    estimator_checks.check_transformer_get_feature_names_out_pandas,
    estimator_checks.check_set_output_transform,
    estimator_checks.check_set_output_transform_pandas,
]


# A check that newer versions have: a row of weight 2 must give the very model of two equal rows of
# weight 1. Some models look at rows for what they are. Versions that can be told so are told.
WEIGHT_IS_NOT_ROWS = {
    KMeans: "rows draw lots by their ids: two draw twice, one draws once",
    RidgeCV: "to leave out a row of weight 2 is not to leave out one of two rows",
    QuadraticDiscriminantAnalysis: "a class with one row has no covariance, whatever its weight",
    PCA: "there are at most as many components as rows",
}
TELLS = "expected_failed_checks" in inspect.signature(check_estimator).parameters


def expected(estimator):
    """The checks that are expected to fail."""
    why = WEIGHT_IS_NOT_ROWS.get(type(estimator))
    return {} if why is None else {"check_sample_weight_equivalence_on_dense_data": why}


@parametrize_with_checks(
    KMEANS + OTHERS, **({"expected_failed_checks": expected} if TELLS else {})
)
def test_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", KMEANS, ids=repr)
def test_check_estimator_skips_nothing(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("error", SkipTestWarning)
        if not TELLS:
            check_estimator(estimator)
            return
        fails = expected(estimator)
        results = check_estimator(estimator, expected_failed_checks=fails, on_skip=None)
    # Newer versions skip, in every estimator, what is about an array library that is not there.
    for result in results:
        wanted = "xfail" if result["check_name"] in fails else "passed"
        assert result["status"] == wanted or "array_api" in result["check_name"], result


@pytest.mark.parametrize("estimator", KMEANS + OTHERS, ids=repr)
def test_no_check_is_expected_to_fail(estimator):
    if not TELLS:
        assert not estimator._get_tags()["_xfail_checks"]


@pytest.mark.parametrize("check", FURTHER, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", KMEANS + OTHERS, ids=repr)
def test_further_check(check, estimator):
    if "transform" in check.__name__ and not hasattr(estimator, "transform"):
        return
    if isinstance(estimator, KMeans):
        estimator = KMeans(2, method=estimator.method)
    check(type(estimator).__name__, estimator)
