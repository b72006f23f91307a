from os import PathLike
from typing import (
    Any,
    Collection,
    Iterable,
    Literal,
    NamedTuple,
    Self,
    Sequence,
    SupportsIndex,
)

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import datasets as datasets
from . import metrics as metrics

_Ids = SupportsIndex | str | Collection[SupportsIndex | str] | NDArray[np.integer[Any]]
_Each = Iterable[SupportsIndex | str] | NDArray[np.integer[Any]]
_Owners = Iterable[SupportsIndex | str | float | None] | NDArray[Any]
_Seed = int | np.random.RandomState | np.random.Generator | None
_Method = Literal["pyramid", "lloyd", "quantized", "tree"]
_Missing = Literal["raise", "skip"]
_Predicts = Literal["clusters", "classes", "values", "probabilities"]
_Numbers = NDArray[np.int32] | NDArray[np.int64] | NDArray[np.float64] | NDArray[Any]
_Reals = NDArray[np.float64]
_Offset = ArrayLike | Literal["auto"] | None
_Labels = Iterable[SupportsIndex | str | float | None] | NDArray[Any]
_Path = str | PathLike[str]
_Features = SupportsIndex | str | Iterable[SupportsIndex | str] | None

__version__: str

class NotFoundError(LookupError): ...
class BusyError(RuntimeError): ...
class CorruptError(RuntimeError): ...

class Report(NamedTuple):
    action: Literal["untouched", "repaired", "refitted"]
    reason: str
    where: str
    rows_forgotten: int
    rows_learned: int
    rows_missing: int
    rows_visited: int
    seconds: float

class ForestSize(NamedTuple):
    n_trees: int
    n_nodes: int
    n_leaves: int
    depth: int
    n_unsettled: int
    n_rows: int

class Difference(NamedTuple):
    identical: bool
    what: str
    where: str
    def __bool__(self) -> bool: ...

class ModelInfo(NamedTuple):
    family: str
    n_rows: int
    n_features: int
    predicts: _Predicts
    n_numbers: int
    parameters: dict[str, Any]
    facts: dict[str, Any]

class ModelChange(NamedTuple):
    name: str
    family: str
    report: Report
    before: str
    after: str

class StoreReport(NamedTuple):
    n_requested: int
    n_missing: int
    n_forgotten: int
    n_learned: int
    n_updated: int
    receipt: int
    seconds: float
    models: tuple[ModelChange, ...]
    new_ids: NDArray[np.uint64] | None
    row_hashes: tuple[str, ...]
    published: str | None = None

class StoreInfo(NamedTuple):
    format: int
    n_rows: int
    n_features: int
    n_models: int
    n_owners: int
    n_unowned_rows: int
    n_labels: int
    n_receipts: int
    keeps_texts: bool
    receipt_key_outside: bool
    file_bytes: int
    free_bytes: int

class StoredModel(NamedTuple):
    name: str
    family: str
    parameters: dict[str, Any]
    n_features: int
    digest: str
    n_init: int

class FoundRows(NamedTuple):
    ids: list[int | str]
    owners: list[int | str | None]
    weights: NDArray[np.int64]
    labels: list[int | str | None]
    values: NDArray[np.float32]
    feature_names: list[str] | None

class Model:
    @property
    def run(self) -> int: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def feature_names(self) -> list[str] | None: ...
    @property
    def info(self) -> ModelInfo: ...
    @property
    def ids_(self) -> NDArray[np.uint64]: ...
    @property
    def owners_(self) -> np.ma.MaskedArray[Any, np.dtype[np.uint64]]: ...
    @property
    def rows_(self) -> NDArray[np.float32] | NDArray[np.float64]: ...
    @property
    def y_(self) -> NDArray[Any] | None: ...
    @property
    def offset_(self) -> NDArray[np.float64] | None: ...
    @property
    def target_offset_(self) -> NDArray[np.float64] | None: ...
    @property
    def tables(self) -> tuple[str, ...]: ...
    def table(self, name: str) -> NDArray[np.float64]: ...
    @property
    def takes_missing(self) -> bool: ...
    def predict(self, X: ArrayLike) -> _Numbers: ...
    def digest(self) -> str: ...
    def encode(self) -> bytes: ...
    def verify(self) -> Difference: ...
    def forget(
        self,
        ids: _Ids | None = None,
        *,
        owners: _Ids | None = None,
        missing: _Missing = "raise",
    ) -> Report: ...
    def preview(
        self,
        ids: _Ids | None = None,
        *,
        owners: _Ids | None = None,
        missing: _Missing = "raise",
    ) -> Report: ...
    def learn(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        ids: _Each | None = None,
        owners: _Owners | None = None,
    ) -> Report: ...
    def update(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        ids: _Each,
        owners: _Owners | None = None,
    ) -> Report: ...
    def rekey(self, random_state: _Seed = None) -> Report: ...

class SumsModel(Model):
    @property
    def means_(self) -> NDArray[np.float64]: ...

class LinearModel(Model):
    @property
    def coef_(self) -> _Reals: ...
    @property
    def intercept_(self) -> float | _Reals: ...
    @property
    def coef_std_(self) -> _Reals: ...
    @property
    def intercept_std_(self) -> float | _Reals: ...
    @property
    def r2_(self) -> float | _Reals: ...
    def leave_one_out(self, alpha: float | None = None) -> _Reals: ...

class ClassesModel(Model):
    @property
    def classes_(self) -> NDArray[Any]: ...
    @property
    def coef_(self) -> _Reals: ...
    @property
    def intercept_(self) -> _Reals: ...
    def decision_function(self, X: ArrayLike) -> _Reals: ...

class ProbableClassesModel(ClassesModel):
    @property
    def means_(self) -> _Reals: ...
    @property
    def priors_(self) -> _Reals: ...
    @property
    def class_count_(self) -> _Reals: ...
    def predict_proba(self, X: ArrayLike) -> _Reals: ...

class BayesModel(ProbableClassesModel):
    @property
    def theta_(self) -> _Reals: ...
    @property
    def class_prior_(self) -> _Reals: ...
    @property
    def var_(self) -> _Reals: ...

class DiscriminantModel(ProbableClassesModel):
    @property
    def scalings_(self) -> _Reals: ...
    @property
    def explained_variance_ratio_(self) -> _Reals: ...
    @property
    def xbar_(self) -> _Reals: ...

class ComponentsModel(Model):
    @property
    def components_(self) -> _Reals: ...
    @property
    def explained_variance_(self) -> _Reals: ...
    @property
    def explained_variance_ratio_(self) -> _Reals: ...
    @property
    def singular_values_(self) -> _Reals: ...
    @property
    def mean_(self) -> _Reals: ...
    def transform(self, X: ArrayLike) -> _Reals: ...

class SegmentedModel(Model):
    @property
    def cluster_centers_(self) -> _Reals: ...
    @property
    def labels_(self) -> NDArray[np.int32]: ...
    @property
    def n_iter_(self) -> int: ...
    @property
    def coef_(self) -> _Reals: ...
    @property
    def intercept_(self) -> _Reals: ...
    def segments(self, X: ArrayLike) -> NDArray[np.int32]: ...

class ForestModel(Model):
    @property
    def feature_importances_(self) -> _Reals: ...
    @property
    def size_(self) -> ForestSize: ...
    def apply(self, X: ArrayLike) -> NDArray[np.uint32]: ...
    def settle(self) -> None: ...
    def export(self, path: _Path, *, replace: bool = False) -> None: ...

class ForestClassesModel(ForestModel):
    @property
    def classes_(self) -> NDArray[Any]: ...
    def predict_proba(self, X: ArrayLike) -> _Reals: ...

class KMeansModel(Model):
    @property
    def cluster_centers_(self) -> NDArray[np.float64]: ...
    @property
    def labels_(self) -> NDArray[np.int32]: ...
    @property
    def inertia_(self) -> float: ...
    @property
    def n_iter_(self) -> int: ...
    @property
    def method_(self) -> str: ...
    def predict(self, X: ArrayLike) -> NDArray[np.int32]: ...
    def transform(self, X: ArrayLike) -> NDArray[np.float64]: ...
    def score(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float: ...
    def silhouette(self, labels: ArrayLike | None = None, max_rows: int = 10_000) -> float: ...

class Estimator:
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    @property
    def ids_(self) -> NDArray[np.uint64]: ...
    @property
    def owners_(self) -> np.ma.MaskedArray[Any, np.dtype[np.uint64]]: ...
    @property
    def offset_(self) -> NDArray[np.float64] | None: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        ids: _Each | None = None,
        owners: _Owners | None = None,
    ) -> Self: ...
    def predict(self, X: ArrayLike) -> _Numbers: ...
    def verify(self) -> Difference: ...
    def digest(self) -> str: ...
    def encode(self) -> bytes: ...
    def forget(
        self,
        ids: _Ids | None = None,
        *,
        owners: _Ids | None = None,
        missing: _Missing = "raise",
    ) -> Report: ...
    def preview(
        self,
        ids: _Ids | None = None,
        *,
        owners: _Ids | None = None,
        missing: _Missing = "raise",
    ) -> Report: ...
    def learn(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        ids: _Each | None = None,
        owners: _Owners | None = None,
    ) -> Report: ...
    def update(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        ids: _Each,
        owners: _Owners | None = None,
    ) -> Report: ...
    def rekey(self, random_state: _Seed = None) -> Report: ...

class ColumnMeans(Estimator):
    def __init__(
        self,
        *,
        bound: float | None = None,
        random_state: Any = None,
        offset: Any = None,
        n_threads: int | None = None,
    ) -> None: ...
    @property
    def means_(self) -> NDArray[np.float64]: ...

class KMeans(Estimator):
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        method: _Method = "pyramid",
        n_init: int = 1,
        max_iter: int | None = 10,
        random_state: _Seed = None,
        scale: Literal["minmax"] | None = None,
        bound: float | None = None,
        column_range: tuple[ArrayLike, ArrayLike] | None = None,
        offset: ArrayLike | Literal["auto"] | None = None,
        empty: Literal["reseed", "keep"] = "reseed",
        candidates: int | None = None,
        epsilon: float | None = None,
        gamma: float = 0.2,
        rate: float | None = None,
        passes: int = 1,
        n_starts: int = 4,
        height: int = 1,
        width: int | None = None,
        leaf_method: Literal["lloyd", "quantized", "pyramid"] = "lloyd",
        node_method: Literal["lloyd", "quantized", "pyramid"] = "lloyd",
        depth_clusters: Sequence[int] | None = None,
        weigh_centroids: bool = True,
        n_threads: int | None = None,
    ) -> None: ...
    @property
    def cluster_centers_(self) -> NDArray[np.float64]: ...
    @property
    def labels_(self) -> NDArray[np.int32]: ...
    @property
    def inertia_(self) -> float: ...
    @property
    def n_iter_(self) -> int: ...
    @property
    def method_(self) -> str: ...
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]: ...
    def fit_predict(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        ids: _Each | None = None,
        owners: _Owners | None = None,
    ) -> NDArray[np.int32]: ...
    def fit_transform(
        self, X: ArrayLike, y: Any = None, **fit_params: Any
    ) -> NDArray[np.float64]: ...
    def predict(self, X: ArrayLike) -> NDArray[np.int32]: ...
    def transform(self, X: ArrayLike) -> NDArray[np.float64]: ...
    def score(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float: ...

class _Regressor(Estimator):
    @property
    def coef_(self) -> _Reals: ...
    @property
    def intercept_(self) -> Any: ...
    @property
    def target_offset_(self) -> _Reals | None: ...
    def predict(self, X: ArrayLike) -> _Reals: ...
    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float: ...

class _LinearRegressor(_Regressor):
    def leave_one_out(self, alpha: float | None = None) -> _Reals: ...

class LinearRegression(_LinearRegressor):
    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        bound: float | None = None,
        offset: _Offset = None,
        target_offset: _Offset = None,
        n_threads: int | None = None,
    ) -> None: ...
    @property
    def coef_(self) -> _Reals: ...
    @property
    def intercept_(self) -> Any: ...
    @property
    def coef_std_(self) -> _Reals: ...
    @property
    def intercept_std_(self) -> Any: ...
    @property
    def r2_(self) -> Any: ...

class Ridge(_LinearRegressor):
    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        bound: float | None = None,
        offset: _Offset = None,
        target_offset: _Offset = None,
        n_threads: int | None = None,
    ) -> None: ...
    @property
    def coef_(self) -> _Reals: ...
    @property
    def intercept_(self) -> Any: ...
    @property
    def coef_std_(self) -> _Reals: ...
    @property
    def intercept_std_(self) -> Any: ...
    @property
    def r2_(self) -> Any: ...

class RidgeCV(_LinearRegressor):
    def __init__(
        self,
        alphas: ArrayLike = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        bound: float | None = None,
        offset: _Offset = None,
        target_offset: _Offset = None,
        n_threads: int | None = None,
    ) -> None: ...
    @property
    def alpha_(self) -> float: ...
    @property
    def best_score_(self) -> float: ...
    @property
    def coef_(self) -> _Reals: ...
    @property
    def intercept_(self) -> Any: ...

class FourierRidge(_LinearRegressor):
    def __init__(
        self,
        alpha: float = 1.0,
        *,
        gamma: float = 1.0,
        n_components: int = 100,
        fit_intercept: bool = True,
        bound: float | None = None,
        random_state: _Seed = None,
        offset: _Offset = None,
        target_offset: _Offset = None,
        n_threads: int | None = None,
    ) -> None: ...
    @property
    def coef_(self) -> _Reals: ...
    @property
    def intercept_(self) -> Any: ...
    @property
    def r2_(self) -> Any: ...

class SegmentedRegression(_Regressor):
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        sums_bound: float | None = None,
        target_offset: _Offset = None,
        method: _Method = "pyramid",
        max_iter: int | None = 10,
        random_state: _Seed = None,
        scale: Literal["minmax"] | None = None,
        bound: float | None = None,
        column_range: tuple[ArrayLike, ArrayLike] | None = None,
        offset: _Offset = None,
        empty: Literal["reseed", "keep"] = "reseed",
        candidates: int | None = None,
        epsilon: float | None = None,
        gamma: float = 0.2,
        rate: float | None = None,
        passes: int = 1,
        n_starts: int = 4,
        height: int = 1,
        width: int | None = None,
        leaf_method: Literal["lloyd", "quantized", "pyramid"] = "lloyd",
        node_method: Literal["lloyd", "quantized", "pyramid"] = "lloyd",
        depth_clusters: Sequence[int] | None = None,
        weigh_centroids: bool = True,
        n_threads: int | None = None,
    ) -> None: ...
    @property
    def cluster_centers_(self) -> _Reals: ...
    @property
    def labels_(self) -> NDArray[np.int32]: ...
    @property
    def n_iter_(self) -> int: ...
    @property
    def coef_(self) -> _Reals: ...
    @property
    def intercept_(self) -> _Reals: ...
    @property
    def target_offset_(self) -> _Reals | None: ...
    def segments(self, X: ArrayLike) -> NDArray[np.int32]: ...

class _Classifier(Estimator):
    @property
    def classes_(self) -> NDArray[Any]: ...
    def predict(self, X: ArrayLike) -> NDArray[Any]: ...
    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float: ...

class _Probable(_Classifier):
    def predict_proba(self, X: ArrayLike) -> _Reals: ...
    def predict_log_proba(self, X: ArrayLike) -> _Reals: ...

class RidgeClassifier(_Classifier):
    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        bound: float | None = None,
        offset: _Offset = None,
        n_threads: int | None = None,
    ) -> None: ...
    @property
    def coef_(self) -> _Reals: ...
    @property
    def intercept_(self) -> _Reals: ...
    def decision_function(self, X: ArrayLike) -> _Reals: ...

class GaussianNB(_Probable):
    def __init__(
        self,
        *,
        priors: ArrayLike | None = None,
        var_smoothing: float = 1e-9,
        bound: float | None = None,
        offset: _Offset = None,
        n_threads: int | None = None,
    ) -> None: ...
    @property
    def theta_(self) -> _Reals: ...
    @property
    def var_(self) -> _Reals: ...
    @property
    def class_prior_(self) -> _Reals: ...
    @property
    def class_count_(self) -> _Reals: ...
    def predict_joint_log_proba(self, X: ArrayLike) -> _Reals: ...

class LinearDiscriminantAnalysis(_Probable):
    def __init__(
        self,
        *,
        shrinkage: float | None = None,
        priors: ArrayLike | None = None,
        n_components: int | None = None,
        bound: float | None = None,
        offset: _Offset = None,
        n_threads: int | None = None,
    ) -> None: ...
    @property
    def coef_(self) -> _Reals: ...
    @property
    def intercept_(self) -> _Reals: ...
    @property
    def means_(self) -> _Reals: ...
    @property
    def priors_(self) -> _Reals: ...
    @property
    def scalings_(self) -> _Reals: ...
    @property
    def explained_variance_ratio_(self) -> _Reals: ...
    @property
    def xbar_(self) -> _Reals: ...
    def decision_function(self, X: ArrayLike) -> _Reals: ...
    def transform(self, X: ArrayLike) -> _Reals: ...
    def fit_transform(self, X: ArrayLike, y: ArrayLike, **fit_params: Any) -> _Reals: ...
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]: ...

class QuadraticDiscriminantAnalysis(_Probable):
    def __init__(
        self,
        *,
        priors: ArrayLike | None = None,
        reg_param: float = 0.0,
        bound: float | None = None,
        offset: _Offset = None,
        n_threads: int | None = None,
    ) -> None: ...
    @property
    def means_(self) -> _Reals: ...
    @property
    def priors_(self) -> _Reals: ...
    def decision_function(self, X: ArrayLike) -> _Reals: ...

class ForestClassifier(_Probable):
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: Literal["gini", "entropy"] = "gini",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_features: float | Literal["sqrt", "log2", "default"] | None = "default",
        rows: Literal["all", "some", "poisson"] = "all",
        trees_per_row: int = 10,
        lazy: bool = False,
        missing: bool = False,
        categories: _Features = None,
        random_state: _Seed = None,
        offset: _Offset = None,
        n_threads: int | None = None,
    ) -> None: ...
    @property
    def feature_importances_(self) -> _Reals: ...
    @property
    def size_(self) -> ForestSize: ...
    def apply(self, X: ArrayLike) -> NDArray[np.uint32]: ...
    def settle(self) -> None: ...
    def export(self, path: _Path, *, replace: bool = False) -> None: ...

class ForestRegressor(Estimator):
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_features: float | Literal["sqrt", "log2", "default"] | None = "default",
        rows: Literal["all", "some", "poisson"] = "all",
        trees_per_row: int = 10,
        lazy: bool = False,
        missing: bool = False,
        categories: _Features = None,
        random_state: _Seed = None,
        bound: float | None = None,
        offset: _Offset = None,
        target_offset: _Offset = None,
        n_threads: int | None = None,
    ) -> None: ...
    @property
    def feature_importances_(self) -> _Reals: ...
    @property
    def size_(self) -> ForestSize: ...
    def apply(self, X: ArrayLike) -> NDArray[np.uint32]: ...
    def settle(self) -> None: ...
    def export(self, path: _Path, *, replace: bool = False) -> None: ...
    @property
    def target_offset_(self) -> _Reals | None: ...
    def predict(self, X: ArrayLike) -> _Reals: ...
    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float: ...

class PCA(Estimator):
    def __init__(
        self,
        n_components: float | None = None,
        *,
        whiten: bool = False,
        bound: float | None = None,
        offset: _Offset = None,
        n_threads: int | None = None,
    ) -> None: ...
    @property
    def n_components_(self) -> int: ...
    @property
    def components_(self) -> _Reals: ...
    @property
    def explained_variance_(self) -> _Reals: ...
    @property
    def explained_variance_ratio_(self) -> _Reals: ...
    @property
    def singular_values_(self) -> _Reals: ...
    @property
    def noise_variance_(self) -> float: ...
    @property
    def mean_(self) -> _Reals: ...
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]: ...
    def fit_transform(self, X: ArrayLike, y: Any = None, **fit_params: Any) -> _Reals: ...
    def transform(self, X: ArrayLike) -> _Reals: ...
    def inverse_transform(self, X: ArrayLike) -> _Reals: ...

class Store:
    @staticmethod
    def open(
        path: _Path,
        *,
        write: bool = True,
        wait: float = 5.0,
        receipt_key: bytes | None = None,
        secret_key: bytes | None = None,
    ) -> Store: ...
    @staticmethod
    def create(
        path: _Path,
        X: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        ids: _Each | None = None,
        owners: _Owners | None = None,
        labels: _Labels | None = None,
        offset: ArrayLike | Literal["auto"] | None = None,
        missing: bool = False,
        hash_key: bytes | None = None,
        keep_texts: bool = False,
        receipt_key: bytes | None = None,
        secret_key: bytes | None = None,
    ) -> Store: ...
    def __enter__(self) -> Store: ...
    def __exit__(self, *exception: object) -> None: ...
    def close(self) -> None: ...
    @property
    def info(self) -> StoreInfo: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def feature_names(self) -> list[str] | None: ...
    @property
    def offset(self) -> NDArray[np.float64] | None: ...
    def owners(self) -> dict[int | str, int]: ...
    def find(
        self,
        ids: _Ids | None = None,
        *,
        owners: _Ids | None = None,
        missing: _Missing = "raise",
    ) -> Any: ...
    @property
    def models(self) -> list[StoredModel]: ...
    def columns(self, name: str) -> list[str] | list[int]: ...
    def load(self, name: str) -> Model: ...
    def predict(self, name: str, X: ArrayLike) -> _Numbers: ...
    def digest(self, name: str) -> str: ...
    def encode(self, name: str) -> bytes: ...
    def verify(self, name: str | None = None) -> Difference: ...
    def fit(
        self,
        name: str,
        estimator: Estimator,
        columns: Iterable[str | SupportsIndex] | str | None = None,
        *,
        targets: Iterable[str | SupportsIndex] | SupportsIndex | str | None = None,
    ) -> StoredModel: ...
    def drop(self, name: str) -> None: ...
    def rekey(self, name: str | None = None, random_state: _Seed = None) -> None: ...
    def publish(self, name: str, path: _Path, *, replace: bool = False) -> StoreReport: ...
    def forget(
        self,
        ids: _Ids | None = None,
        *,
        owners: _Ids | None = None,
        missing: _Missing = "raise",
    ) -> StoreReport: ...
    def preview(
        self,
        ids: _Ids | None = None,
        *,
        owners: _Ids | None = None,
        missing: _Missing = "raise",
    ) -> StoreReport: ...
    def learn(
        self,
        X: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        ids: _Each | None = None,
        owners: _Owners | None = None,
        labels: _Labels | None = None,
    ) -> StoreReport: ...
    def update(
        self,
        X: ArrayLike,
        *,
        ids: _Each,
        weights: ArrayLike | None = None,
        owners: _Owners | None = None,
        labels: _Labels | None = None,
    ) -> StoreReport: ...
    @property
    def receipts(self) -> list[dict[str, Any]]: ...
    def receipt(self, number: int) -> str: ...
    def row_hash(self, id: SupportsIndex | str, *, receipt_key: bytes | None = None) -> str: ...
    def check(self) -> list[str]: ...
    def compact(self) -> None: ...

class Predictor:
    @property
    def family(self) -> str: ...
    @property
    def n_features(self) -> int: ...
    @property
    def predicts(self) -> _Predicts: ...
    @property
    def feature_names(self) -> list[str] | None: ...
    @property
    def offset(self) -> NDArray[np.float64] | None: ...
    @property
    def tables(self) -> tuple[str, ...]: ...
    def table(self, name: str) -> NDArray[np.float64]: ...
    @property
    def classes(self) -> NDArray[Any] | None: ...
    @property
    def takes_missing(self) -> bool: ...
    def predict(self, X: ArrayLike) -> _Numbers: ...
    def predict_proba(self, X: ArrayLike) -> _Reals: ...
    def decision_function(self, X: ArrayLike) -> _Reals: ...

def load_predictor(path: _Path) -> Predictor: ...
def text_category(text: str) -> float: ...
def open(
    path: _Path,
    *,
    write: bool = True,
    wait: float = 5.0,
    receipt_key: bytes | None = None,
    secret_key: bytes | None = None,
) -> Store: ...
def create(
    path: _Path,
    X: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    ids: _Each | None = None,
    owners: _Owners | None = None,
    labels: _Labels | None = None,
    offset: ArrayLike | Literal["auto"] | None = None,
    missing: bool = False,
    hash_key: bytes | None = None,
    keep_texts: bool = False,
    receipt_key: bytes | None = None,
    secret_key: bytes | None = None,
) -> Store: ...
def wipes_memory() -> bool: ...
def make_keys() -> tuple[bytes, bytes]: ...
def verify_receipt(receipt: str, public_key: bytes) -> None: ...
def verify_receipts(receipts: Iterable[str], public_key: bytes | None = None) -> list[str]: ...
def receipt_root(row_hashes: Iterable[str]) -> str: ...
