"""pip installs the package from the source tree, without a network, into an empty environment, and
leaves nothing behind in the tree."""

import os
import pathlib
import shutil
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]

USE = """
import efface

X = efface.datasets.make_gaussian(3, 4, 100)[0]
model = efface.KMeans(3, random_state=1).fit(X, ids=range(300))
model.forget(ids=[1, 2, 3])
assert model.verify()
print(model.digest())
"""


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_pip_install_without_a_network(tmp_path):
    source, venv = tmp_path / "source", tmp_path / "venv"
    leave_out = shutil.ignore_patterns("build*", ".git", "__pycache__", "tests")
    shutil.copytree(PROJECT, source, ignore=leave_out)
    run(sys.executable, "-m", "venv", "--system-site-packages", venv)
    python = venv / "bin" / "python"
    there = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    pip = [python, "-m", "pip", "install", "--no-index", "--no-build-isolation"]
    quick = {**there, "CMAKE_ARGS": "-DCMAKE_C_FLAGS_RELEASE=-O0"}  # the same bits
    before = set(source.rglob("*"))
    run(*pip, source / "python", env=quick)
    assert set(source.rglob("*")) == before
    where = run(python, "-c", "import efface; print(efface.__file__)", cwd=tmp_path, env=there)
    installed = pathlib.Path(where.strip()).parent
    assert venv in installed.parents
    assert {"py.typed", "_efface.pyi", "_efface.abi3.so"} <= set(os.listdir(installed))
    here = run(sys.executable, "-c", USE)
    assert run(python, "-c", USE, cwd=tmp_path, env=there) == here
