#!/usr/bin/python3
"""Compiles and runs the code that the documentation shows.

usage: test_docs.py SOURCE_DIR BUILD_DIR [--cc COMPILER]

- C code in the header's opening comment (the indented block of THE LIFE OF A MODEL) and in ```c
  blocks of README.md. Code without a main() is put into one.
- ```python blocks of README.md and of docs/python.md, each page as one script, if the build has the
  Python package.
- Commands in ```sh blocks of README.md and docs/tutorial.md, one shell for each block, except lines
  that begin with make or git: those set up what this test already has. Blocks with another name
  (```text) are not run.

Everything runs in an empty folder with the links build, examples and include, and the file
people.csv, and must succeed; without a word on standard error, except for what the program efface
says there.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile


def header_code(text):
    """The indented lines after THE LIFE OF A MODEL, up to the next heading."""
    comment = text[:text.index("*/")]
    section = re.search(r"THE LIFE OF A MODEL\n(.*?)\n \* [A-Z][A-Z ]+\n", comment, re.S).group(1)
    return "\n".join(line[7:] for line in section.splitlines() if line.startswith(" *     "))


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.S | re.M)


def program(code):
    if "int main(" in code:
        return code
    return ("#include <efface/efface.h>\n#include <stdio.h>\n"
            "int main(void) {\n" + code + "\nreturn 0;\n}\n")


def commands(block):
    return "".join(line for line in block.splitlines(keepends=True)
                   if not re.match(r"\s*(make|git)\b", line))


def run(what, command, folder, may_speak=False):
    """Runs a command; it must succeed and, unless it may, say nothing on standard error."""
    path = os.path.join(folder, "build") + os.pathsep + os.environ["PATH"]
    package = os.path.join(folder, "build", "python")
    result = subprocess.run(command, cwd=folder, text=True, capture_output=True,
                            env=dict(os.environ, PATH=path, PYTHONPATH=package))
    if result.returncode != 0 or result.stderr and not may_speak:
        sys.exit(f"{what}: exit status {result.returncode}\n{result.stdout}{result.stderr}")
    print(f"{what}: works")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("--cc", default="cc")
    arguments = parser.parse_args()

    build = os.path.abspath(arguments.build)

    def read(path):
        with open(os.path.join(arguments.source, path), encoding="utf-8") as file:
            return file.read()

    readme = read("README.md")
    programs = [("efface.h, the life of a model", header_code(read("include/efface/efface.h")))]
    programs += [(f"README.md, C block {i}", code) for i, code in enumerate(blocks(readme, "c"), 1)]
    scripts = [(f"{page}, sh block {i}", commands(block))
               for page in ("README.md", "docs/tutorial.md")
               for i, block in enumerate(blocks(read(page), "sh"), 1)]
    with_python = os.path.exists(os.path.join(build, "python", "efface"))
    pages = [(f"{page}, Python", "\n".join(blocks(read(page), "python")))
             for page in ("README.md", "docs/python.md") if with_python]

    with tempfile.TemporaryDirectory() as folder:
        os.symlink(build, os.path.join(folder, "build"))
        for name in ("examples", "include"):
            os.symlink(os.path.abspath(os.path.join(arguments.source, name)),
                       os.path.join(folder, name))
        with open(os.path.join(folder, "people.csv"), "w", encoding="utf-8") as file:
            file.write("id,age,height,weight\n")
            file.writelines(f"{i},{20 + i * 7 % 50},{150 + i * 11 % 40},{50 + i * 13 % 45}\n"
                            for i in range(1, 41))
        for what, code in programs:
            with open(os.path.join(folder, "program.c"), "w", encoding="utf-8") as file:
                file.write(program(code))
            run(what + ", compiled",
                [arguments.cc, "-std=c11", "-Wall", "-Wextra", "-Iinclude", "program.c",
                 "-o", "program", "-Lbuild", "-lefface", "-Wl,-rpath," + build], folder)
            run(what + ", run", ["./program"], folder)
        for what, script in pages:
            run(what, [sys.executable, "-B", "-c", script], folder)
        for what, script in scripts:
            run(what, ["sh", "-eu", "-c", script], folder,
                may_speak=re.search(r"^(build/)?efface ", script, flags=re.M) is not None)


if __name__ == "__main__":
    main()
