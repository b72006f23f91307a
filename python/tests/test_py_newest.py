"""The command of README.md, `pip install ./python`, in a fresh environment, with the newest packages of
PyPI: scikit-learn's checks, data frames, and Arrow tables of those who make them. Needs a network."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = "numpy scipy scikit-learn pandas pytest hypothesis pyarrow polars duckdb".split()
TESTS = "estimator_checks estimator manners tables arrow arrow_makers linear classes components".split()


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_command_of_the_readme(tmp_path):
    assert "pip install ./python" in (PROJECT / "README.md").read_text(encoding="utf-8")
    source, venv = tmp_path / "source", tmp_path / "venv"
    leave_out = shutil.ignore_patterns("build*", ".git", "__pycache__")
    shutil.copytree(PROJECT, source, ignore=leave_out)
    run(sys.executable, "-m", "venv", venv)
    python = venv / "bin" / "python"
    there = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    offline = subprocess.run([*pip, "--retries", "1", "wheel"], capture_output=True, env=there)
    if offline.returncode != 0:
        pytest.skip("PyPI cannot be reached")
    before = set(source.rglob("*"))
    run(*pip, "./python", cwd=source, env=there)
    assert set(source.rglob("*")) == before
    run(*pip, *PACKAGES, env=there)
    files = [PROJECT / "python" / "tests" / f"test_py_{name}.py" for name in TESTS]
    run(python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, cwd=tmp_path, env=there)
