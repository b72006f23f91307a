"""Machine-learning models from which training data can be removed exactly.

The model after a removal is, byte for byte, the model that never saw the data::

    import efface

    model = efface.KMeans(n_clusters=8, random_state=0).fit(X, ids=ids)
    report = model.forget(ids=[7, 12])
    assert model.verify()

Models are scikit-learn estimators. `KMeans` clusters; `LinearRegression`, `Ridge`, `RidgeCV`,
`FourierRidge`, `SegmentedRegression` and `ForestRegressor` predict values; `RidgeClassifier`,
`GaussianNB`, `LinearDiscriminantAnalysis`, `QuadraticDiscriminantAnalysis` and `ForestClassifier`
predict classes; `PCA` and `ColumnMeans` sum rows up. Each is an `Estimator`, which has what all
have in common; `open` and `create` give stores, files that hold rows, models and receipts.
docs/python.md maps scikit-learn's parameters to these.
"""

from . import datasets, metrics
from ._classes import (
    BayesModel,
    ClassesModel,
    DiscriminantModel,
    GaussianNB,
    LinearDiscriminantAnalysis,
    ProbableClassesModel,
    QuadraticDiscriminantAnalysis,
    RidgeClassifier,
)
from ._components import PCA, ComponentsModel
from ._efface import BusyError, CorruptError, NotFoundError
from ._efface import version as _version
from ._estimator import Estimator
from ._forest import (
    ForestClassesModel,
    ForestClassifier,
    ForestModel,
    ForestRegressor,
    text_category,
)
from ._kmeans import KMeans, KMeansModel
from ._linear import FourierRidge, LinearModel, LinearRegression, Ridge, RidgeCV
from ._model import Model
from ._predictor import Predictor, load_predictor
from ._reports import (
    Difference,
    ForestSize,
    FoundRows,
    ModelChange,
    ModelInfo,
    Report,
    StoredModel,
    StoreInfo,
    StoreReport,
)
from ._segmented import SegmentedModel, SegmentedRegression
from ._store import (
    Store,
    create,
    make_keys,
    open,
    receipt_root,
    verify_receipt,
    verify_receipts,
    wipes_memory,
)
from ._sums import ColumnMeans, SumsModel

__version__ = _version()

__all__ = [
    "BayesModel",
    "BusyError",
    "ClassesModel",
    "ColumnMeans",
    "ComponentsModel",
    "CorruptError",
    "Difference",
    "DiscriminantModel",
    "Estimator",
    "ForestClassesModel",
    "ForestClassifier",
    "ForestModel",
    "ForestRegressor",
    "ForestSize",
    "FoundRows",
    "FourierRidge",
    "GaussianNB",
    "KMeans",
    "KMeansModel",
    "LinearDiscriminantAnalysis",
    "LinearModel",
    "LinearRegression",
    "Model",
    "ModelChange",
    "ModelInfo",
    "NotFoundError",
    "PCA",
    "Predictor",
    "ProbableClassesModel",
    "QuadraticDiscriminantAnalysis",
    "Report",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "SegmentedModel",
    "SegmentedRegression",
    "Store",
    "StoreInfo",
    "StoreReport",
    "StoredModel",
    "SumsModel",
    "create",
    "datasets",
    "load_predictor",
    "make_keys",
    "metrics",
    "open",
    "receipt_root",
    "text_category",
    "verify_receipt",
    "verify_receipts",
    "wipes_memory",
]
