"""Holds the text of a page against the tables it has."""

import re

from . import Failure

NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w,]*\d)")
CODE = re.compile(r"```.*?```|`[^`]*`", flags=re.S)


def check(page, tables, round_numbers):
    """Fails unless the page has each of the tables, given by name and lines, and each number of its
    text that has a fraction or is in thousands, outside of code, stands in a table or is one of the
    round numbers."""
    text = page.read_text(encoding="utf-8")
    missing = [name for name, rows in tables if "\n".join(rows) not in text]
    if missing:
        raise Failure(f"{page.name} lacks a table of the CSV files: {'; '.join(missing)}")
    lines = CODE.sub(" ", text).splitlines()
    known = {n for line in lines if line.startswith("|") for n in NUMBER.findall(line)}
    strange = sorted({n for line in lines if not line.startswith("|") for n in NUMBER.findall(line)
                      if ("." in n or "," in n) and n not in known | set(round_numbers)})
    if strange:
        raise Failure(f"{page.name} has numbers that no table has: {', '.join(strange)}")
