"""A page made of blocks, written as Markdown (as GitHub reads it). Text is Markdown; text that comes
from a file goes through plain() first. A newline in a cell of a table begins a second line.
"""

import re
from collections import namedtuple

Heading = namedtuple("Heading", "level text")
Text = namedtuple("Text", "text")
Note = namedtuple("Note", "text")  # a text of less weight, below a table
Items = namedtuple("Items", "items")
Grid = namedtuple("Grid", "head rows")  # a table
Code = namedtuple("Code", "lines")
Picture = namedtuple("Picture", "name title caption")
Folded = namedtuple("Folded", "summary blocks")  # shown when asked for


def plain(text):
    """Text in which nothing is markup."""
    return re.sub(r"([\\`*_\[\]<>&|~])", r"\\\1", " ".join(str(text).split()))


def table(head, rows):
    """The lines of a table."""
    return ["| " + " | ".join(str(c).replace("\n", "<br>") for c in row) + " |"
            for row in (head, ["---"] * len(head), *rows)]


def markdown_block(block):
    """The lines of a block."""
    if isinstance(block, Heading):
        return ["#" * block.level + " " + block.text]
    if isinstance(block, (Text, Note)):
        return [block.text if isinstance(block, Text) else f"*{block.text}*"]
    if isinstance(block, Items):
        return [f"- {item}" for item in block.items]
    if isinstance(block, Grid):
        return table(*block)
    if isinstance(block, Code):
        return ["```text", *block.lines, "```"]
    if isinstance(block, Picture):
        return [f"![{block.title}]({block.name}.svg)", "", f"**{block.title}.** {block.caption}"]
    inner = [line for b in block.blocks for line in [*markdown_block(b), ""]]
    return ["<details>", f"<summary>{block.summary}</summary>", "", *inner, "</details>"]


def to_markdown(blocks):
    lines = [line for block in blocks for line in [*markdown_block(block), ""]]
    return "\n".join(lines).rstrip() + "\n"
