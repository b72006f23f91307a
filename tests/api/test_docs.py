#!/usr/bin/python3
"""Compiles and runs the code that the documentation shows.

usage: test_docs.py SOURCE_DIR BUILD_DIR [--cc COMPILER]

- C code in the opening comments of the headers: the indented blocks of THE LIFE OF A MODEL and of
  EXAMPLE, which every family has. Code without a main() is put into one.
- The blocks of the pages in PAGES, in this order, in one folder for each page: ```sh, one shell for each
  block, except lines that begin with make or git, which set up what this test already has; ```c, each
  a program; ```python, all of a page as one script, if the build has the Python package. Blocks with
  another name (```text) are not run.
- Links of README.md, CONTRIBUTING.md, CHANGELOG.md and the pages of docs/ must lead to files, and no
  page has more than MAX_LINES lines.
- `efface serve` in such a block starts a service that runs until the page ends or starts another
  one, and must end with 0. It listens on a port that the system chooses, and commands that follow
  ask that port instead of 8741. Builds without the service leave out these blocks, blocks that make
  tokens and the pages in ABOUT_THE_SERVICE; builds without MPI leave out blocks with efface-mpi.

Each page runs in an empty folder with the links build, examples and include, and the file
people.csv, and must succeed; without a word on standard error, except for what the program efface
says there. In the place of psql is psql_by_sqlite.py. A ```text block right after a ```sh block is what
a terminal shows of that block, with what goes to standard error, but for times.
"""
import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PAGES = ["README.md", "docs/definition/forest.md",
         *(f"docs/use/{name}.md" for name in ("tutorial", "pipes", "serving", "upgrading", "python",
                                              "python_tables", "python_stores", "service", "operating", "cluster"))]
MAX_LINES = 300
LONG = ("results/report.md",)  # generated
ABOUT_THE_SERVICE = {"docs/use/service.md", "docs/use/operating.md"}


FAMILIES = ("kmeans", "sums", "segmented", "forest", "logistic")


def header_code(text):
    """The indented lines after THE LIFE OF A MODEL or EXAMPLE, up to an empty line; or nothing."""
    comment = text[:text.index("*/")]
    section = re.search(r"(?:THE LIFE OF A MODEL|EXAMPLE)\n \*\n(.*?)\n \*?\n", comment + "\n", re.S)
    return "\n".join(line[7:] for line in section.group(1).splitlines()
                     if line.startswith(" *     ")) if section else ""


def header_programs(source):
    """The code of all headers; a family without an example is an error."""
    folder = os.path.join(source, "include", "efface")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            code = header_code(file.read())
        if code:
            yield f"{name}, example", code
        elif name in {f"efface_{family}.h" for family in FAMILIES}:
            sys.exit(f"{name}: has no EXAMPLE")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.S | re.M)


def printed(text):
    """What the ```sh blocks of a page print, where the page shows it, by the number of the block."""
    found = re.findall(r"^```sh\n.*?^```\n(?:\n```text\n(.*?)^```)?", text, flags=re.S | re.M)
    return {i: output for i, output in enumerate(found, 1) if output}


def program(code):
    if "int main(" in code:
        return code
    return ("#include <efface/efface.h>\n#include <stdio.h>\n"
            "int main(void) {\n" + code + "\nreturn 0;\n}\n")


def commands(block):
    return "".join(line for line in block.splitlines(keepends=True)
                   if not re.match(r"\s*(make|git)\b", line))


def check_links(source):
    """No page is long. Relative links must lead to files, and their anchors to headings."""
    pages = [os.path.join(source, f"{name}.md") for name in ("README", "CONTRIBUTING", "CHANGELOG")]
    for folder, _, names in os.walk(os.path.join(source, "docs")):
        pages += [os.path.join(folder, name) for name in names if name.endswith(".md")]
    n_links = 0
    for page in pages:
        with open(page, encoding="utf-8") as file:
            text = file.read()
        if text.count("\n") > MAX_LINES and not page.endswith(LONG):
            sys.exit(f"{page}: more than {MAX_LINES} lines: divide it by what readers come for")
        text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
        text = re.sub(r"^    .*|`[^`\n]*`", "", text, flags=re.M)  # code is no link
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            path = os.path.join(os.path.dirname(page), path) if path else page
            if not os.path.exists(path):
                sys.exit(f"{page}: {target} leads nowhere")
            if anchor and anchor not in anchors(path):
                sys.exit(f"{page}: {target}: there is no such heading")
            n_links += 1
    print(f"{n_links} links of {len(pages)} pages: lead to files")


def anchors(page):
    with open(page, encoding="utf-8") as file:
        headings = re.findall(r"^#+ (.*)", file.read(), flags=re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


# Tests may run as root, with more ranks than processors, without ssh and without a network.
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_plm": "isolated",
            "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_btl_tcp_if_include": "lo",
            "OMPI_MCA_oob_tcp_if_include": "lo", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
            "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "PMIX_MCA_gds": "hash"}


def environment(folder):
    path = os.pathsep.join((os.path.join(folder, "bin"), os.path.join(folder, "build"), os.environ["PATH"]))
    return dict(os.environ, PATH=path, PYTHONPATH=os.path.join(folder, "build", "python"), **OPEN_MPI)


def without_times(text):
    return re.sub(r"\b\d+\.\d{3} s\b", "TIME", text)


def run(what, command, folder, may_speak=False, output=None):
    """Runs a command; it must succeed and, unless it may, say nothing on standard error."""
    result = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT if output is not None else subprocess.PIPE,
                            env=environment(folder))
    if result.returncode != 0 or result.stderr and not may_speak:
        sys.exit(f"{what}: exit status {result.returncode}\n{result.stdout}{result.stderr or ''}")
    if output is not None and without_times(result.stdout) != without_times(output):
        sys.exit(f"{what}: prints something else than the page shows:\n{result.stdout}")
    print(f"{what}: works")


class Shell:
    """Runs the blocks of a page, and the service that one of them starts."""

    def __init__(self, folder):
        self.folder = folder
        self.service = None
        self.port = 8741

    def run(self, what, script, output=None):
        before, serve, after = self.divide(script)
        if before.strip():
            self.run_commands(what, before, output)
        if serve:
            self.end(what)
            self.start(what, serve)
        if after.strip():
            self.run_commands(what, after)

    @staticmethod
    def divide(script):
        """What comes before the line that serves, that line, and what follows."""
        found = re.search(r"^(build/)?efface serve .*\n", script, flags=re.M)
        if not found:
            return script, "", ""
        return script[:found.start()], found.group().strip(), script[found.end():]

    def run_commands(self, what, script, output=None):
        speaks = re.search(r"^\s*(mpirun .*)?(build/)?efface(-mpi)? ", script, flags=re.M)
        run(what, ["sh", "-eu", "-c", script.replace("127.0.0.1:8741", f"127.0.0.1:{self.port}")],
            self.folder, may_speak=speaks is not None, output=output)

    def start(self, what, command):
        with open(os.path.join(self.folder, "service.log"), "wb") as log:
            self.service = subprocess.Popen(
                [*command.split(), "--listen", "127.0.0.1:0", "--json"], cwd=self.folder, text=True,
                env=environment(self.folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=log)
        line = self.service.stdout.readline()
        if not line:
            self.fail(what, "does not start")
        self.port = json.loads(line)["port"]
        print(f"{what}: serves")

    def end(self, what):
        if self.service is None:
            return
        self.service.send_signal(signal.SIGTERM)
        if self.service.wait() != 0:
            self.fail(what, f"ends with {self.service.returncode}")
        self.service.stdout.close()
        self.service = None

    def fail(self, what, why):
        with open(os.path.join(self.folder, "service.log"), encoding="utf-8") as log:
            sys.exit(f"{what}: the service {why}\n{log.read()}")

    def kill(self):
        if self.service is not None:
            self.service.kill()
            self.service.wait()


@contextlib.contextmanager
def page_folder(build, source):
    """An empty folder with what a page needs."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(build, os.path.join(folder, "build"))
        os.mkdir(os.path.join(folder, "bin"))
        os.symlink(os.path.join(HERE, "psql_by_sqlite.py"), os.path.join(folder, "bin", "psql"))
        for name in ("examples", "include"):
            os.symlink(os.path.abspath(os.path.join(source, name)), os.path.join(folder, name))
        with open(os.path.join(folder, "people.csv"), "w", encoding="utf-8") as file:
            file.write("id,age,height,weight\n")
            file.writelines(f"{i},{20 + i * 7 % 50},{150 + i * 11 % 40},{50 + i * 13 % 45}\n"
                            for i in range(1, 41))
        yield folder


def run_programs(programs, cc, build, folder):
    for what, code in programs:
        with open(os.path.join(folder, "program.c"), "w", encoding="utf-8") as file:
            file.write(program(code))
        run(what + ", compiled",
            [cc, "-std=c11", "-Wall", "-Wextra", "-Iinclude", "program.c", "-o", "program",
             "-Lbuild", "-lefface", "-Wl,-rpath," + build], folder)
        run(what + ", run", ["./program"], folder)


def can_run(block, build):
    """Whether the build has the programs that a block needs."""
    needs = {"efface-serve": r"\befface (serve|token) |127.0.0.1:8741", "efface-mpi": r"\befface-mpi "}
    return all(os.path.exists(os.path.join(build, name)) or not re.search(pattern, block)
               for name, pattern in needs.items())


def run_page(page, text, folder, build, cc):
    shell = Shell(folder)
    try:
        for i, block in enumerate(blocks(text, "sh"), 1):
            if can_run(block, build):
                shell.run(f"{page}, sh block {i}", commands(block), printed(text).get(i))
        run_programs([(f"{page}, C block {i}", code) for i, code in enumerate(blocks(text, "c"), 1)],
                     cc, build, folder)
        script = "\n".join(blocks(text, "python"))
        if script and os.path.exists(os.path.join(build, "python", "efface")):
            run(f"{page}, Python", [sys.executable, "-B", "-c", script], folder)
        shell.end(page)
    finally:
        shell.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--page", action="append", help="of these alone")
    arguments = parser.parse_args()

    build = os.path.abspath(arguments.build)

    def read(path):
        with open(os.path.join(arguments.source, path), encoding="utf-8") as file:
            return file.read()

    if not arguments.page:
        check_links(arguments.source)
        with page_folder(build, arguments.source) as folder:
            run_programs(header_programs(arguments.source), arguments.cc, build, folder)
    with_service = os.path.exists(os.path.join(build, "efface-serve"))
    for page in arguments.page or PAGES:
        if with_service or page not in ABOUT_THE_SERVICE:
            with page_folder(build, arguments.source) as folder:
                run_page(page, read(page), folder, build, arguments.cc)


if __name__ == "__main__":
    main()
