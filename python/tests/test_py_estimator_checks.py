"""scikit-learn's own checks of estimators, with none skipped."""

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


@parametrize_with_checks([KMeans(method=method) for method in METHODS])
def test_check(estimator, check):
    check(estimator)


def test_check_estimator_skips_nothing(method):
    with warnings.catch_warnings():
        warnings.simplefilter("error", SkipTestWarning)
        check_estimator(KMeans(method=method))


def test_no_check_is_expected_to_fail(method):
    assert not KMeans(method=method)._get_tags()["_xfail_checks"]


@pytest.mark.parametrize("check", FURTHER, ids=lambda check: check.__name__)
def test_further_check(check, method):
    check("KMeans", KMeans(method=method, n_clusters=2))
