#!/usr/bin/python3
"""Words that people stumbled over do not come back in what users read.

usage: test_words.py SOURCE_DIR

What users read: the pages, the manual pages, comments of public headers, the document of the service, all of
the Python package; and of other sources the strings, for they become messages, help and JSON. WORDS says what
to write instead. ALLOWED has the places that may have such a word, if there has to be one; bench/ and the pages
of measurements, which name fields of its results, are not looked at.
"""
import os
import re
import sys

WORDS = {
    r"anew": "again",
    r"memory is short": "out of memory",
    r"(is|are|was|were) counted of": "statistics of",
    r"nothing else changed": "no other row was needed",
    r"untouched": "adjusted, unchanged",
    r"whoever": "anyone who, the person who",
    r"somebody": "someone, a person",
    r"be it": "even if, or",
    r"(rows?|files?|ones?) that (is|are) there": "present, existing",
    r"lazy no|view linear": "leave out what is off, and call a model what it is",
    r"(?<!there )(?<!that )is no (?!(longer|more|other|different|such|limit|bound|rest)\b)\w+":
        "is not a",
    r"a centroid of a level": "a cluster center",
    r"the bound of (the|a) \S+ ?grid": "the range of a column, of the values",
}
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs")
STRINGS = ("cli", "mpi", "python/extension", "serve", "src")
WHOLE = ("include", "python/efface", "serve/api/openapi.json")
NOT_READ = ("docs/measured/",)
ALLOWED = {}  # "file": ("word", ...)


def files_of(source, place):
    path = os.path.join(source, place)
    if os.path.isfile(path):
        yield place
    for folder, _, names in os.walk(path):
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), source)


def strings_of(code):
    """The strings of a C or JavaScript source, a line each; strings side by side are one."""
    comment, string = r"/\*.*?\*/|(?<!:)//[^\n]*|#\s*include[^\n]*", r'"(?:\\.|[^"\\\n])*"'
    quoted = r"'(?:\\.|[^'\\\n]){2,}'|`(?:\\.|[^`\\])*`"
    found = re.findall(f"({comment})|({string})|({quoted})", code, flags=re.S)
    return "\n".join((a or b)[1:-1] for _, a, b in found if a or b)


def texts(source):
    """(file, what users read of it)."""
    for places, kinds, strings in ((PAGES, (".md", ".1"), False), (STRINGS, (".c", ".h", ".js"), True),
                                   (WHOLE, (".h", ".py", ".pyi", ".json"), False)):
        for place in places:
            for path in files_of(source, place):
                if path.endswith(kinds) and not path.startswith(NOT_READ):
                    with open(os.path.join(source, path), encoding="utf-8") as file:
                        yield path, strings_of(file.read()) if strings else file.read()


def check(text):
    """(the words found, what to write) of a text."""
    text = re.sub(r"[\s*]+", " ", text)  # comments and sentences go over lines
    for word, instead in WORDS.items():
        for found in re.finditer(rf"\b(?:{word})\b", text, flags=re.I):
            yield found.group(), instead


def try_itself():
    """The words are found where they stand, in strings and over lines, and not elsewhere."""
    assert [word for word, _ in check("drawn\n * anew; it is no\n * store")] == ["anew", "is no store"]
    assert not list(check("There is no store, that is no longer so; a new fit"))
    found = strings_of('/* anew */ f("a \\"b", \'ab\'); // "c"\n#include "d"\n"https://e"')
    assert found == 'a \\"b\nab\nhttps://e', found


def main():
    source = sys.argv[1]
    try_itself()
    n, wrong = 0, []
    for path, text in texts(source):
        n += 1
        wrong += [f'{path}: "{word}": write {instead}' for word, instead in check(text)
                  if word.lower() not in ALLOWED.get(path, ())]
    if wrong:
        sys.exit("\n".join(wrong))
    assert n > 200, "files are missing"
    print(f"{n} files: none of {len(WORDS)} words")


if __name__ == "__main__":
    main()
