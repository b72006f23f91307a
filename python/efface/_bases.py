"""What an estimator derives from: scikit-learn's bases, or small ones of our own without it."""

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # scikit-learn has no types
    from ._own_bases import *
else:
    try:
        from sklearn.base import (
            BaseEstimator,
            ClassifierMixin,
            ClassNamePrefixFeaturesOutMixin,
            ClusterMixin,
            MultiOutputMixin,
            RegressorMixin,
            TransformerMixin,
        )
        from sklearn.exceptions import DataConversionWarning, NotFittedError
        from sklearn.utils import check_array

        # What says whether NaN is allowed; older versions have another name for it.
        _FINITE = "ensure_all_finite"
        if _FINITE not in inspect.signature(check_array).parameters:
            _FINITE = "force_all_finite"

        def check_missing(X, **named):
            """check_array, but values may be NaN."""
            return check_array(X, **named, **{_FINITE: "allow-nan"})

    except ImportError:
        from ._own_bases import *

        check_array = check_missing = None
