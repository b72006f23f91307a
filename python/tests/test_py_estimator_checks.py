"""scikit-learn's own checks of estimators, with none skipped."""

import inspect
import warnings

import pytest
from conftest import METHODS
from sklearn.exceptions import SkipTestWarning
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from efface import KMeans

# Checks that check_estimator leaves out though scikit-learn applies them to its own estimators.
FURTHER = [
    estimator_checks.check_n_features_in_after_fitting,
    estimator_checks.check_dataframe_column_names_consistency,
    estimator_checks.check_transformer_get_feature_names_out,
    estimator_checks.check_transformer_get_feature_names_out_pandas,
    estimator_checks.check_set_output_transform,
    estimator_checks.check_set_output_transform_pandas,
]


# A check that newer versions have, and that knows no randomness: a row of weight 2 must give the
# very clusters of two equal rows of weight 1. Here rows draw lots by their ids, and two rows draw
# twice; the chances are the same, not the draws. Versions that can be told so are told.
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "two rows draw lots twice, one row once"
}
TELLS = "expected_failed_checks" in inspect.signature(check_estimator).parameters


@parametrize_with_checks(
    [KMeans(method=method) for method in METHODS],
    **({"expected_failed_checks": lambda estimator: EXPECTED} if TELLS else {}),
)
def test_check(estimator, check):
    check(estimator)


def test_check_estimator_skips_nothing(method):
    with warnings.catch_warnings():
        warnings.simplefilter("error", SkipTestWarning)
        if not TELLS:
            check_estimator(KMeans(method=method))
            return
        results = check_estimator(
            KMeans(method=method), expected_failed_checks=EXPECTED, on_skip=None
        )
    # Newer versions skip, in every estimator, what is about an array library that is not there.
    for result in results:
        expected = "xfail" if result["check_name"] in EXPECTED else "passed"
        assert result["status"] == expected or "array_api" in result["check_name"], result


def test_no_check_is_expected_to_fail(method):
    if not TELLS:
        assert not KMeans(method=method)._get_tags()["_xfail_checks"]


@pytest.mark.parametrize("check", FURTHER, ids=lambda check: check.__name__)
def test_further_check(check, method):
    check("KMeans", KMeans(method=method, n_clusters=2))
