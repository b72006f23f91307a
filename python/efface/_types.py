"""What arguments and results are, for type checkers."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

Path = str | PathLike[str]
Seed = int | np.random.RandomState | np.random.Generator | None

# Rows, one by one or all that a call has.
Id = SupportsIndex | str
Ids = Id | Collection[Id] | NDArray[np.integer[Any]]
EachId = Iterable[Id] | NDArray[np.integer[Any]]
EachOwner = Iterable[Id | float | None] | NDArray[Any]
EachLabel = EachOwner
Missing = Literal["raise", "skip"]

# Columns.
Column = SupportsIndex | str
Columns = Iterable[Column] | Column | None
Offset = ArrayLike | Literal["auto"] | None
Range = tuple[ArrayLike, ArrayLike] | None

# Parameters.
Method = Literal["pyramid", "lloyd", "quantized", "tree"]
NodeMethod = Literal["lloyd", "quantized", "pyramid"]
Scale = Literal["minmax", "standard"] | None
Standard = Literal["standard"] | None
Empty = Literal["reseed", "keep"]
Sizes = Sequence[int] | None
ClassWeight = Mapping[Any, float] | None
MaxFeatures = float | Literal["sqrt", "log2", "default"] | None
TreeRows = Literal["all", "some", "poisson"]

# Results.
Predicts = Literal["clusters", "classes", "values", "probabilities"]
Numbers = NDArray[np.int32] | NDArray[np.int64] | NDArray[np.float64] | NDArray[Any]
Clusters = NDArray[np.int32]
Reals = NDArray[np.float64]
RealOrReals = float | NDArray[np.float64]
RowIds = NDArray[np.uint64]
RowOwners = np.ma.MaskedArray[Any, np.dtype[np.uint64]]
Names = NDArray[np.object_]
