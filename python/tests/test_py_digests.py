"""The same data, parameters and seed: the same digest from C, the program and Python."""

import json
import re
import subprocess

import numpy as np
import pytest

import efface
from efface import KMeans


def run(*command):
    return subprocess.run(
        [str(part) for part in command], check=True, capture_output=True, text=True
    ).stdout


def test_example_in_c(build_dir):
    text = run(build_dir / "examples" / "fit_gaussian")
    X, _ = efface.datasets.make_gaussian(5, 25, 2000, seed=1)
    model = KMeans(5, scale="minmax", random_state=1)  # defaults are the same too
    digest = model.fit(X, ids=range(len(X))).digest()
    assert re.search(r"[0-9a-f]{64}", text).group() == digest


@pytest.mark.parametrize("scale", [None, "minmax", "standard"])
@pytest.mark.parametrize("candidates", [None, 1])
def test_bench_and_program(build_dir, tmp_path, gaussian, method, scale, candidates):
    X = gaussian * 20
    path, store_path = tmp_path / "rows.npy", tmp_path / "rows.store"
    np.save(path, X)
    options = ["-k", 4, "--method", method, "--scale", scale or "none", "--seed", 9, "--json"]
    # With a rate, or pyramid would work as lloyd with so few rows.
    options += ["--candidates", candidates or 0, "--rate", 0.0625]
    bench = json.loads(run(build_dir / "efface-bench", "train", "--data", path, *options, "--weigh"))
    program = json.loads(run(build_dir / "efface", "fit", path, *options, "-o", store_path))
    model = KMeans(
        4, method=method, scale=scale, candidates=candidates, rate=0.0625, random_state=9
    )
    assert model.fit(X, ids=range(len(X))).digest() == bench["digest"]
    assert program["model"]["digest"] == bench["digest"]

    model.forget(ids=[3, 14, 159])
    run(build_dir / "efface", "forget", store_path, "--id", "3,14,159", "--yes")
    with efface.open(store_path, write=False) as store:
        assert store.digest("default") == model.digest()
        assert store.load("default").digest() == model.digest()
        assert store.encode("default") == model.encode()


def test_texts_and_weights(build_dir, tmp_path, rng):
    X, weights = rng.uniform(size=(200, 3)).astype(np.float32), rng.randint(1, 5, size=200)
    path, store_path = tmp_path / "rows.csv", tmp_path / "rows.store"
    lines = [f"{w}," + ",".join(repr(float(v)) for v in row) for row, w in zip(X, weights)]
    path.write_text("\n".join(["weight,a,b,c", *lines]) + "\n")
    options = ["-k", 3, "--weight", "weight", "--seed", 2, "-o", store_path]
    run(build_dir / "efface", "fit", path, *options)
    with efface.create(tmp_path / "mine.store", X, weights=weights) as mine:
        mine.fit("default", KMeans(3, random_state=2))
        with efface.open(store_path) as theirs:
            assert theirs.feature_names == ["a", "b", "c"]
            assert theirs.digest("default") == mine.digest("default")
