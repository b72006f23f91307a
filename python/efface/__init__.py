"""Machine-learning models from which training data can be removed exactly.

The model after a removal is, byte for byte, the model that never saw the data::

    import efface

    model = efface.KMeans(n_clusters=8, random_state=0).fit(X, ids=ids)
    report = model.forget(ids=[7, 12])
    assert model.verify()

`KMeans` is a scikit-learn estimator; `open` and `create` give stores, files that hold rows, models
and receipts. docs/python.md maps scikit-learn's parameters to these.
"""

from . import datasets, metrics
from ._efface import BusyError, CorruptError, NotFoundError
from ._efface import version as _version
from ._kmeans import KMeans
from ._model import Model
from ._reports import Difference, ModelChange, ModelInfo, Report, StoreReport
from ._store import Store, StoredModel, create, make_keys, open, verify_receipt

__version__ = _version()

__all__ = [
    "BusyError",
    "CorruptError",
    "Difference",
    "KMeans",
    "Model",
    "ModelChange",
    "ModelInfo",
    "NotFoundError",
    "Report",
    "Store",
    "StoreReport",
    "StoredModel",
    "create",
    "datasets",
    "make_keys",
    "metrics",
    "open",
    "verify_receipt",
]
