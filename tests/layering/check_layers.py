#!/usr/bin/python3
"""Keeps the laws of the source tree: who may include what, who may call what, what is exported.

usage: check_layers.py ROOT [--library libefface.so]...

The laws are tried on files that break them before they are trusted with the tree.
"""
import argparse
import os
import re
import subprocess
import sys

LAYERS = ["base", "kernel", "data", "model", "store"]  # each knows those before it
OUTSIDE = ("bench/", "cli/", "examples/", "mpi/", "python/", "serve/")  # these know include/ only,
ALSO_KNOWS = {"mpi": ("cli",),  # but efface-mpi has commands of cli/,
              "python": ("python/extension",)}  # and the extension is not all of python/
ON_KERNELS = "bench/paper/"  # what the paper prints; times compare, for the kernels are the same

# (what, a pattern for code without comments, in which paths it may stand); all of it about src/.
# What src/base, src/model/sums and src/model/logistic take (sqrt, fabs, frexp, ldexp) has the same bits everywhere; the square
# root of what is kept decides which rows are looked at, not what comes out.
RESERVED = [
    ("threads", r"<(pthread|threads|omp|semaphore)\.h>|\bpthread_\w+|#\s*pragma omp", r"src/base/"),
    ("an instruction set", r"<(\w*mmintrin|x86intrin|arm_\w+)\.h>|\b_mm\d*_\w+", r"src/kernel/"),
    ("SQLite", r"<sqlite3\.h>|\bsqlite3_\w+", r"src/store/"),
    # the rest of a store knows them through store/parts.h
    ("a store in parts", r'"store/cluster/|\bef_(cluster|team)_\w+', r"src/store/cluster/|src/(?!store/)"),
    ("MPI", r"<mpi\.h>|\bMPI_\w+", None),
    ("libm", r"<(math|tgmath|fenv)\.h>|\b__builtin_(sqrt|log|exp|pow|fma)\w*",
     r"src/model/answers/metrics\.c|src/base/(numbers/(eigen|elementary|matrix)|random/normals)\.c|"
     r"src/model/(sums|segmented|logistic)/(\w+/)?\w+\.c|"
     r"src/model/kmeans/(prediction/silhouette|kept/kept|kept/border_rows|definition/row_margins)\.c|src/kernel/centers\.c"),
    ("the environment", r"\b(secure_)?getenv\b", r"src/kernel/kernels\.c"),
    ("printing", r"\b(v|f|vf|d)?printf\s*\(|\bf?puts\s*\(|\bperror\s*\(|\bstd(out|err)\b", None),
    ("ending the process", r"\b(exit|_exit|_Exit|quick_exit|abort)\s*\(", None),
]
BUILT_OF = {"segmented": ("kmeans", "sums"), "logistic": ("sums",)}  # a family that is made of others knows them,
INSIDE = {"kmeans": "model/kmeans/kmeans_inside.h"}  # through this header, if there is one
# Inner types with the name of a public one: they are what stands behind it.
SAME_AS_PUBLIC = {"family", "view"}
MAX_FILES = 16  # .c files in a folder; more need a reason
CROWDED = {
    "bench/program": "efface-bench has a file for each command and what it measures",
}
MAY_REPEAT = {"CMakeLists.txt", "README.md", "SOURCE.md", "__init__.py"}
JUNK_DRAWERS = {"util", "utils", "common", "misc", "helpers"}


def without_comments(text):
    """The text with comments and the inside of strings blanked; lines stay where they are."""
    def blank(match):
        found = match.group(0)
        if found.startswith("/"):
            return re.sub(r"[^\n]", " ", found)
        return found if match.string[:match.start()].endswith("#include ") else '""'
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def check_includes(path, line, files):
    match = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line)
    target = match.group(1) if match else ""
    if f'#include "{target}"' in files.get("include/efface/efface.h", "") and match:
        if not path.startswith("include/"):
            yield f"includes {target}: include efface/efface.h, which has it"
        return
    if not match or "<" in line or target == "efface/efface.h":
        return
    if path.startswith(OUTSIDE):
        folder = path.split("/")[0]
        places = ("include", os.path.dirname(path), folder, *ALSO_KNOWS.get(folder, ()))
        if path.startswith(ON_KERNELS) and target.startswith(("base/", "kernel/")):
            places = ("src",)
        if not any(os.path.join(place, target) in files for place in places):
            yield f"includes {target}: only public headers and neighbours are known here"
    elif path.startswith("src/"):
        layer, below = path.split("/")[1], target.split("/")[0]
        if "src/" + target not in files or below not in LAYERS:
            yield f"includes {target}: there is no src/{target}"
        elif LAYERS.index(below) > LAYERS.index(layer):
            yield f"includes {target}: {layer} may not know {below}"


def check_source(path, text, files):
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        problems = list(check_includes(path, line, files))
        if path.startswith("src/"):
            problems += [f"{what} has no place here" for what, pattern, where in RESERVED
                         if re.search(pattern, line) and not (where and re.match(where, path))]
        yield from (f"{path}:{number}: {problem}" for problem in problems)


def families(files):
    """The families of models: the folders NAME in src/model with a NAME_family.c."""
    found = (re.fullmatch(r"src/model/(\w+)/\1_family\.c", path) for path in files)
    return sorted(match.group(1) for match in found if match)


def places_of(name):
    """Where a family is at home: its folder, its options, its Python module, its pictures."""
    return (f"src/model/{name}/", f"cli/models/families/family_{name}",
            f"python/extension/families/py_family_{name}.c", f"serve/pictures/picture_{name}")


def check_families(path, text, names):
    """What is a family's own is named where it is at home, in families built of it, in tests."""
    for name in names:
        built = [other for other in names if name in BUILT_OF.get(other, ())]
        own = sum((places_of(one) for one in [name, *built]),
                  ("include/", "tests/", "bench/", "examples/"))
        if path.startswith(own):
            continue
        allowed = {f"ef_{name}_family"} if path.startswith("src/model/families.") else set()
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            found = set(re.findall(rf"\be(?:f|fface)_{name}(?:_\w+)?\b", line)) - allowed
            if f'"model/{name}/' in line:
                found.add(f"model/{name}/")
            yield from (f"{path}:{number}: {what} is {name}'s own" for what in sorted(found))


def check_tags(files):
    """A type tag stands for one thing, and no inner one is the homonym of a public name."""
    public = set()
    for path, text in files.items():
        if path.startswith("include/"):
            code = re.sub(r"#[^\n]*", "", without_comments(text))  # includes are file names
            public |= set(re.findall(r"\befface_(\w+)", code))
    seen = {}
    for path, text in sorted(files.items()):
        if not re.match(r"src/.*\.[ch]$", path) or re.match(r"src/kernel/(x86|arm)/", path):
            continue  # each instruction set has its own registers
        for tag in re.findall(r"\b(?:struct|enum|union)\s+(ef_\w+)\s*\{", without_comments(text)):
            if seen.setdefault(tag, path) != path:
                yield f"{path}: the tag {tag} is in {seen[tag]} already"
            if tag[3:] in public - SAME_AS_PUBLIC:
                yield f"{path}: {tag} is not what efface_{tag[3:]} is; give it another name"


def check_inside(path, text):
    """A family that others are built of is known to them through one header."""
    for name, header in INSIDE.items():
        built = [other for other, of in BUILT_OF.items() if name in of]
        if path.startswith(tuple(f"src/model/{other}/" for other in built)):
            for target in re.findall(rf'#include "(model/{name}/[^"]+)"', text):
                if target != header:
                    yield f"{path}: includes {target}: {header} is what is known of {name}"


def room_of(path):
    """The room of a file of src/: the folder in its layer. What lies in the layer itself is open to
    all of its rooms."""
    match = re.match(r"src/(\w+/\w+)/", path)
    return match.group(1) if match else None


def check_cycles(files):
    """No two rooms need each other, be it through others."""
    needs = {}
    for path, text in files.items():
        if re.match(r"src/.*\.[ch]$", path) and room_of(path):
            targets = re.findall(r'#\s*include "([^"]+)"', without_comments(text))
            rooms = {room_of("src/" + target) for target in targets} - {None, room_of(path)}
            needs.setdefault(room_of(path), set()).update(rooms)
    for start in sorted(needs):
        seen, wait = set(), sorted(needs[start])
        while wait:
            room = wait.pop()
            if room not in seen:
                seen.add(room)
                wait += needs.get(room, ())
        if start in seen:
            behind = sorted(room for room in needs[start] if start in reach(needs, room))
            yield f"src/{start}: needs {', '.join(behind)}, which needs it too"


def reach(needs, room):
    seen, wait = set(), [room]
    while wait:
        for other in needs.get(wait.pop(), ()):
            if other not in seen:
                seen.add(other)
                wait.append(other)
    return seen


def check_strings(path, text, names):
    """Messages of the layers below the models name no family."""
    if not path.startswith(("src/base/", "src/kernel/", "src/data/")):
        return
    words = "|".join({"kmeans": "k-?means"}.get(name, name) for name in names if name != "sums")
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    for string in re.findall(r'"((?:\\.|[^"\\\n])*)"', re.sub(r"#\s*include[^\n]*", "", code)):
        if words and re.search(rf"\b({words})", string, flags=re.I):
            yield f'{path}: "{string}" names a family'


def check_pointers(files):
    """Every file and function that docs/inside/architecture.md names is there, and every (file.c) that a
    header points to."""
    names = {os.path.basename(path) for path in files}
    page = files.get("docs/inside/architecture.md", "")
    symbols = set()
    for path, text in files.items():
        if path.endswith((".c", ".h")):
            symbols |= set(re.findall(r"\b(?:ef|efface|sv|cli)_\w+", text))
    for name in sorted(set(re.findall(r"\b[\w/.-]+\.(?:c|h|py|js|json|md)\b", page))):
        if os.path.basename(name) not in names:
            yield f"docs/inside/architecture.md: there is no {name}"
    for symbol in sorted(set(re.findall(r"\b(?:ef|efface|sv|cli)_\w+", page)) - symbols):
        if not symbol.endswith("_") and f"{symbol}.h" not in names:
            yield f"docs/inside/architecture.md: there is no {symbol}"
    for path, text in sorted(files.items()):
        if path.endswith(".h"):
            comments = " ".join(re.findall(r"/\*.*?\*/", text, flags=re.S))
            for name in sorted(set(re.findall(r"[(\s]([a-z][a-z0-9_-]*\.[ch])\b", comments)) - names - {"cmocka.h"}):
                yield f"{path}: points to {name}, which is not there"


def check_crowds(files):
    """A folder of more files than one can look through has rooms that nobody has named."""
    count = {}
    for path in files:
        if path.endswith(".c"):
            folder = os.path.dirname(path)
            count[folder] = count.get(folder, 0) + 1
    for folder, n in sorted(count.items()):
        if n > MAX_FILES and folder not in CROWDED:
            yield f"{folder}: {n} .c files side by side: which rooms are missing?"


def check_names(paths):
    seen = {}
    for path in sorted(paths):
        name = os.path.basename(path)
        if name not in MAY_REPEAT and name in seen:
            yield f"{path}: there is a file of this name already, {seen[name]}"
        if os.path.splitext(name)[0] in JUNK_DRAWERS:
            yield f"{path}: the name does not say what the file is for"
        seen.setdefault(name, path)


def check_built(files):
    """No file of src/ or tests/ is forgotten by the build: its room or one above names it."""
    for path in sorted(files):
        if not path.startswith(("src/", "tests/")) or not path.endswith(".c"):
            continue
        if path.startswith("tests/install/"):
            continue
        subject = re.sub(r"fuzz_\w+\.c$", "fuzz_${subject}.c", path)
        room, named = os.path.dirname(path), False
        while room and not named:
            named = subject[len(room) + 1:] in files.get(room + "/CMakeLists.txt", "")
            room = os.path.dirname(room)
        if not named:
            yield f"{path}: no CMakeLists.txt of its room or above names it"


def check_header(path, text):
    """Every paragraph that declares public functions begins with a comment."""
    number = 1
    for paragraph in text.split("\n\n"):
        first = paragraph.lstrip("\n")
        if re.search(r"^EFFACE_API", paragraph, flags=re.M) and not first.startswith("/*"):
            yield f"{path}:{number}: a public function without a comment: {first.splitlines()[0]}"
        number += paragraph.count("\n") + 2


def check(files):
    """The problems of a tree, given as a dictionary from path to text."""
    names = families(files)
    for path, text in sorted(files.items()):
        if path.endswith((".c", ".h", ".cpp")):
            yield from check_source(path, text, files)
            yield from check_families(path, text, names)
            yield from check_inside(path, text)
            yield from check_strings(path, text, names)
        if path.startswith("include/") and path.endswith(".h"):
            yield from check_header(path, text)
    yield from check_names(files)
    yield from check_built(files)
    yield from check_tags(files)
    yield from check_cycles(files)
    yield from check_pointers(files)
    yield from check_crowds(files)


def check_exports(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                             capture_output=True, text=True).stdout
    names = [line.split()[-1] for line in listing.splitlines()]
    if not names:
        yield f"{library}: exports nothing"
    yield from (f"{library}: exports {name}" for name in names if not name.startswith("efface_"))


def read_tree(root):
    files = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f != "corpus" and not f.startswith((".", "build", "__"))]
        for name in names:
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8", errors="replace") as file:
                files[os.path.relpath(path, root)] = file.read()
    return files


def try_the_laws():
    """Each of these files must be refused, and the last not."""
    built = " ".join(f"{layer}/{x}.c" for layer in LAYERS for x in "abcdefghiz")
    built += " base/util.c model/families.c model/kin/kin_family.c model/kmeans/kmeans_family.c"
    built += " model/segmented/a.c data/near/a.c"
    built += " ".join(["", "base/many/q.c", *(f"base/many/m{i}.c" for i in range(MAX_FILES))])
    tree = {"src/base/grid.h": "", "src/model/fit.h": "", "bench/table.h": "",
            "cli/cli.h": "", "include/efface/other.h": "", "include/efface/part.h": "",
            "include/efface/efface.h": '#include "efface/part.h"', "src/model/kin/kin.h": "void ef_kin_fit(int);",
            "src/model/kin/kin_family.c": "",
            "src/model/kmeans/kmeans_family.c": "", "src/model/kmeans/kmeans_inside.h": "",
            "src/model/kmeans/kept.h": "", "src/data/far/b.h": '#include "data/near/a.h"',
            "src/data/near/a.h": "", "include/row.h": "typedef struct efface_row efface_row;",
            "src/base/taken.h": "struct ef_taken { int y; };",
            "src/CMakeLists.txt": built}
    refused = {
        "src/kernel/a.c": '#include "model/fit.h"',
        "src/kernel/b.c": '#include "grid.h"',
        "src/data/c.c": "#include <pthread.h>",
        "src/model/d.c": "#include <immintrin.h>",
        "src/model/e.c": "sqlite3_open(0);",
        "src/model/f.c": "#include <math.h>",
        "src/data/g.c": 'getenv("X");',
        "src/data/h.c": 'fprintf(out, "");',
        "src/data/i.c": "exit(1);",
        "src/base/a.c": "MPI_Init(0, 0);",
        "src/base/b.c": '#include "efface/other.h"',
        "src/model/grid.h": "",
        "src/base/util.c": "",
        "bench/j.c": '#include "base/grid.h"',
        "bench/paper/o.c": '#include "model/fit.h"',
        "serve/j.c": '#include "cli.h"',
        "mpi/j.c": '#include "base/grid.h"',
        "cli/l.c": '#include "table.h"',
        "cli/m.c": '#include "efface/part.h"',
        "tests/m.c": "#include <efface/part.h>",
        "src/base/unbuilt.c": "",
        "include/k.h": "\n\nEFFACE_API void k(void);\n",
        "src/store/a.c": '#include "model/kin/kin.h"',
        "src/store/b.c": "ef_kin_fit(0);",
        "src/store/rows/c.c": '#include "store/cluster/cluster.h"',
        "src/store/rows/d.c": "ef_team_agree(0);",
        "cli/l.c": "efface_kin_fit(0);",
        "src/model/families.c": "ef_kin_fit(0);",
        "src/base/c.c": "struct ef_taken { int x; };",
        "src/base/d.c": "enum ef_row { A };",
        "src/model/segmented/a.c": '#include "model/kmeans/kept.h"',
        "src/data/near/a.c": '#include "data/far/b.h"',
        "src/data/e.c": 'f("take a kin, a model of its own");',
        "src/data/f.h": "/* as told elsewhere (gone.c) */",
        "docs/inside/architecture.md": "`gone.c` does it",
        "src/base/many/q.c": "",
    }
    accepted = {"src/model/z.c": '#include "base/grid.h"\n/* exit(1) */ f("abort()"); snprintf(s);',
                "bench/z.h": '#include "efface/efface.h"\n#include "table.h"\nprintf("");',
                "mpi/x.c": '#include "efface/other.h"\n#include "cli.h"',
                "bench/paper/p.c": '#include "base/grid.h"',
                "bench/room/w.c": '#include "table.h"\n#include "efface/efface.h"',
                "src/model/families.h": "extern ef_kin_family;",
                "cli/models/families/family_kin.c": "efface_kin_fit(0);",
                "include/efface/x.h": '#include "efface/part.h"',
                "include/y.h": "/* Does. */\nEFFACE_API void y(void);\n"}
    tree.update({f"src/base/many/m{i}.c": "" for i in range(MAX_FILES)})
    for path, text in refused.items():
        assert list(check({**tree, path: text})), f"{path} breaks a law and nobody noticed"
    assert not list(check({**tree, **accepted})), list(check({**tree, **accepted}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root")
    parser.add_argument("--library", action="append", default=[])
    arguments = parser.parse_args()

    try_the_laws()
    problems = list(check(read_tree(arguments.root)))
    for library in arguments.library:
        problems += check_exports(library)
    print("\n".join(problems) or "the laws hold")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
