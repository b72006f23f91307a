import numpy as np
from numpy.typing import NDArray

def make_gaussian(
    n_clusters: int = 5, n_features: int = 25, rows_per_cluster: int = 20_000, seed: int = 0
) -> tuple[NDArray[np.float32], NDArray[np.int32]]: ...
