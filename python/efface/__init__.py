"""Machine-learning models from which training data can be removed exactly.

The model after a removal is, byte for byte, the model that never saw the data::

    import efface

    model = efface.KMeans(n_clusters=8, random_state=0).fit(X, ids=ids)
    report = model.forget(ids=[7, 12])
    assert model.verify()

Models are scikit-learn estimators. `KMeans` clusters; `LinearRegression`, `Ridge`, `RidgeCV`,
`FourierRidge`, `SegmentedRegression` and `ForestRegressor` predict values; `RidgeClassifier`,
`GaussianNB`, `LinearDiscriminantAnalysis`, `QuadraticDiscriminantAnalysis`, `ForestClassifier`,
`LogisticRegression` and `LinearSVC` predict classes; `PCA` and `ColumnMeans` sum rows up. Each is an `Estimator`, which has what all
have in common; `open` and `create` give stores, files that hold rows, models and receipts.
docs/use/python.md maps scikit-learn's parameters to these.
"""

from . import datasets as datasets
from . import metrics as metrics
from ._audit import Audit as Audit, AuditedStep as AuditedStep, audit as audit
from ._classes import (
    BayesModel as BayesModel,
    ClassesModel as ClassesModel,
    DiscriminantModel as DiscriminantModel,
    GaussianNB as GaussianNB,
    LinearDiscriminantAnalysis as LinearDiscriminantAnalysis,
    ProbableClassesModel as ProbableClassesModel,
    QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis,
    RidgeClassifier as RidgeClassifier,
)
from ._components import PCA as PCA, ComponentsModel as ComponentsModel
from ._efface import (
    BusyError as BusyError,
    CorruptError as CorruptError,
    NotFoundError as NotFoundError,
)
from ._efface import version as _version
from ._estimator import Estimator as Estimator
from ._forest import (
    ForestClassesModel as ForestClassesModel,
    ForestClassifier as ForestClassifier,
    ForestModel as ForestModel,
    ForestRegressor as ForestRegressor,
    text_category as text_category,
)
from ._kmeans import KMeans as KMeans, KMeansModel as KMeansModel
from ._linear import (
    FourierRidge as FourierRidge,
    LinearModel as LinearModel,
    LinearRegression as LinearRegression,
    Ridge as Ridge,
    RidgeCV as RidgeCV,
)
from ._logistic import (
    LinearClassesModel as LinearClassesModel,
    LinearSVC as LinearSVC,
    LogisticModel as LogisticModel,
    LogisticRegression as LogisticRegression,
)
from ._model import Model as Model
from ._predictor import Predictor as Predictor, load_predictor as load_predictor
from ._reports import (
    Difference as Difference,
    ForestSize as ForestSize,
    FoundRows as FoundRows,
    ModelChange as ModelChange,
    ModelInfo as ModelInfo,
    Preview as Preview,
    Report as Report,
    StoredModel as StoredModel,
    StoreInfo as StoreInfo,
    StorePreview as StorePreview,
    StoreReport as StoreReport,
)
from ._segmented import SegmentedModel as SegmentedModel, SegmentedRegression as SegmentedRegression
from ._store import (
    Store as Store,
    create as create,
    make_keys as make_keys,
    open as open,
    receipt_root as receipt_root,
    verify_receipt as verify_receipt,
    verify_receipts as verify_receipts,
    wipes_memory as wipes_memory,
)
from ._sums import ColumnMeans as ColumnMeans, SumsModel as SumsModel

__version__ = _version()

__all__ = [name for name in dir() if not name.startswith("_")]
