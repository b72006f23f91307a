"""Builds the extension with the project's own CMake, from the source tree around this folder.

    pip install ./python

needs a C compiler, CMake and the libraries that the C library needs; with --no-build-isolation it
needs no network. What is built lies in a folder that goes afterwards, so that the source tree stays
as it is.
"""

import atexit
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PROJECT = pathlib.Path(__file__).resolve().parent.parent
SCRATCH = tempfile.mkdtemp(prefix="efface-build-")
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)


def version():
    """The version has one home, the public header."""
    header = (PROJECT / "include" / "efface" / "efface.h").read_text(encoding="utf-8")
    return re.search(r'^#define EFFACE_VERSION "(.+)"$', header, flags=re.M).group(1)


class BuildWithCMake(build_ext):
    """One extension, which is a target of the project."""

    def build_extension(self, extension):
        folder = pathlib.Path(self.build_temp).resolve() / "cmake"
        configure = [
            "cmake",
            f"-S{PROJECT}",
            f"-B{folder}",
            "-DCMAKE_BUILD_TYPE=Release",
            "-DEFFACE_PYTHON=ON",
            f"-DPython3_EXECUTABLE={sys.executable}",
            *shlex.split(os.environ.get("CMAKE_ARGS", "")),
        ]
        jobs = str(os.cpu_count() or 1)
        subprocess.run(configure, check=True)
        subprocess.run(
            ["cmake", "--build", folder, "--target", "efface_python", "--parallel", jobs],
            check=True,
        )
        built = folder / "python" / "efface" / "_efface.abi3.so"
        wanted = pathlib.Path(self.get_ext_fullpath(extension.name))
        wanted.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built, wanted)


setup(
    version=version(),
    ext_modules=[Extension("efface._efface", sources=[], py_limited_api=True)],
    cmdclass={"build_ext": BuildWithCMake},
    options={
        "bdist_wheel": {"py_limited_api": "cp311"},
        "build": {"build_base": SCRATCH},
        "egg_info": {"egg_base": SCRATCH},
    },
)
