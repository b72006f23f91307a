"""What the tests share. They run against the package on PYTHONPATH; programs of the build are named
by EFFACE_BUILD_DIR."""

import os
import pathlib

import numpy as np
import pytest

import efface

METHODS = ("pyramid", "lloyd", "quantized", "tree")


@pytest.fixture(scope="session")
def gaussian():
    """1,500 rows in three clusters."""
    return efface.datasets.make_gaussian(3, 4, 500, seed=1)[0]


@pytest.fixture(params=METHODS)
def method(request):
    return request.param


@pytest.fixture(scope="session")
def build_dir():
    """Where the programs of the build are."""
    return pathlib.Path(os.environ["EFFACE_BUILD_DIR"])


@pytest.fixture
def rng():
    return np.random.RandomState(7)
