#!/usr/bin/python3
"""Where programs and shared libraries look for libraries: never in the current folder.

    check_runpaths.py TREE [READELF]

Reads the dynamic section of every ELF program and shared library below TREE. An element of RUNPATH
or RPATH that is empty or relative means the folder in which a program happens to be started, and
with it whatever lies there.
"""

import re
import subprocess
import sys
from pathlib import Path


def is_linked(path):
    """Whether a file is an ELF program or shared library (types 2 and 3; 1 is an object)."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(18)
    if len(start) < 18 or start[:4] != b"\x7fELF":
        return False
    return int.from_bytes(start[16:18], "little" if start[5] == 1 else "big") in (2, 3)


def elements(path, readelf):
    """The elements of RUNPATH and RPATH, empty ones too."""
    run = subprocess.run([readelf, "-d", "-W", str(path)], capture_output=True, text=True,
                         check=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
    for line in run.stdout.splitlines():
        found = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", line)
        if found:
            yield from found.group(1).split(":")


def main():
    tree = Path(sys.argv[1])
    readelf = sys.argv[2] if len(sys.argv) > 2 else "readelf"
    linked = sorted(path for path in tree.rglob("*") if is_linked(path))
    wrong = [f"{path}: '{element}'" for path in linked for element in elements(path, readelf)
             if not re.match(r"/|\$ORIGIN(/|$)|\$\{ORIGIN\}(/|$)", element)]
    for line in wrong:
        print(line)
    if wrong:
        sys.exit("the elements above are empty or relative: libraries are looked for in the "
                 "current folder")
    names = {path.name for path in linked}
    if "efface" not in names or not any(name.startswith("libefface.so") for name in names):
        sys.exit(f"{tree} has no program efface or no shared library: nothing was checked")
    print(f"{len(linked)} programs and libraries")


main()
