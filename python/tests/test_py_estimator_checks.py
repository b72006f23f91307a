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
    LinearSVC,
    LogisticRegression,
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
    LogisticRegression(),
    LinearSVC(),
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


# Checks that some estimators fail, with the reasons; docs/use/python.md names them. Versions that can
# be told so are told.
WEIGHT_IS_NOT_ROWS = {  # newer versions: a row of weight 2 must give the very model of two equal rows
    KMeans: "rows draw lots by their ids: two draw twice, one draws once",
    RidgeCV: "to leave out a row of weight 2 is not to leave out one of two rows",
    QuadraticDiscriminantAnalysis: "a class with one row has no covariance, whatever its weight",
    LogisticRegression: "the sample and the width of the lattice are functions of rows",
    LinearSVC: "the sample and the width of the lattice are functions of rows",
    PCA: "there are at most as many components as rows",
}
SEVERAL_NUMBERS = {  # of sparse matrices: what accepts them must predict one number a row
    PCA: "predict gives the coordinates of a row",
    ColumnMeans: "predict gives all means",
}
PURE_LEAVES = {
    ForestClassifier: "the leaves of fully grown trees have one class, whatever its weight",
}
TELLS = "expected_failed_checks" in inspect.signature(check_estimator).parameters
SPARSE = ("array", "matrix") if TELLS else ("data",)
FAILING = [
    (WEIGHT_IS_NOT_ROWS, "check_sample_weight_equivalence_on_dense_data"),
    (WEIGHT_IS_NOT_ROWS, "check_sample_weight_equivalence_on_sparse_data"),
    *((SEVERAL_NUMBERS, f"check_estimator_sparse_{kind}") for kind in SPARSE),
    (PURE_LEAVES, "check_class_weight_classifiers"),
]


def expected(estimator):
    """The checks that are expected to fail."""
    kind = type(estimator)
    names = FAILING if TELLS else FAILING[2:]
    return {name: why[kind] for why, name in names if kind in why}


@parametrize_with_checks(
    KMEANS + OTHERS, **({"expected_failed_checks": expected} if TELLS else {})
)
def test_check(estimator, check):
    if not TELLS and check.func.__name__ in expected(estimator):
        with pytest.raises(AssertionError):
            check(estimator)
        return
    check(estimator)


@pytest.mark.parametrize("estimator", KMEANS + OTHERS, ids=repr)
def test_check_estimator_skips_nothing(estimator):
    fails = expected(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SkipTestWarning)
        if not TELLS:
            assert fails or check_estimator(estimator) is None
            return
        results = check_estimator(estimator, expected_failed_checks=fails, on_skip=None)
    # Newer versions skip, in every estimator, what is about an array library that is not there. What
    # is expected to fail does fail: else the pages say too much.
    assert set(fails) <= {result["check_name"] for result in results}
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
