"""A page made of blocks, written as Markdown (as GitHub reads it) and as one HTML file that needs
nothing else: no script, no font, no picture from elsewhere.

Text has a small markup, a part of Markdown: `code`, **bold**, *emphasis*, [text](#place) and a
backslash before a sign that means itself. Text that comes from a file goes through plain() first.
A newline in a cell of a table begins a second line, which is set smaller.
"""

import html
import re
from collections import namedtuple

from . import Failure

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


def slug(text):
    """The anchor GitHub gives a heading."""
    bare = re.sub(r"[^\w\- ]", "", re.sub(r"\\(.)", r"\1", text).lower())
    return bare.replace(" ", "-")


# ---------------------------------------------------------------- Markdown


def markdown_table(grid):
    rows = [grid.head, ["---"] * len(grid.head), *grid.rows]
    return ["| " + " | ".join(str(c).replace("\n", "<br>") for c in row) + " |" for row in rows]


def markdown_block(block):
    """The lines of a block."""
    if isinstance(block, Heading):
        return ["#" * block.level + " " + block.text]
    if isinstance(block, (Text, Note)):
        return [block.text if isinstance(block, Text) else f"*{block.text}*"]
    if isinstance(block, Items):
        return [f"- {item}" for item in block.items]
    if isinstance(block, Grid):
        return markdown_table(block)
    if isinstance(block, Code):
        return ["```text", *block.lines, "```"]
    if isinstance(block, Picture):
        image = f"[![{block.title}]({block.name}.png)]({block.name}.svg)"
        return [image, "", f"**{block.title}.** {block.caption}"]
    inner = [line for b in block.blocks for line in [*markdown_block(b), ""]]
    return ["<details>", f"<summary>{inline(block.summary)}</summary>", "", *inner, "</details>"]


def to_markdown(blocks):
    lines = [line for block in blocks for line in [*markdown_block(block), ""]]
    return "\n".join(lines).rstrip() + "\n"


# ---------------------------------------------------------------- HTML

MARKUP = re.compile(
    r"\\(?P<sign>.)|`(?P<code>[^`]*)`|\*\*(?P<bold>(?:\\.|[^*\\])+)\*\*"
    r"|\*(?P<emphasis>(?:\\.|[^*\\])+)\*|\[(?P<link>(?:\\.|[^\]\\])+)\]\((?P<place>[^)\s]+)\)")


def inline(text):
    """HTML of a text."""
    out, end = [], 0
    for found in MARKUP.finditer(text):
        out.append(html.escape(text[end:found.start()], quote=False))
        out.append(inline_markup(found))
        end = found.end()
    out.append(html.escape(text[end:], quote=False))
    return "".join(out)


def inline_markup(found):
    if found["sign"]:
        return html.escape(found["sign"], quote=False)
    if found["code"] is not None:
        return f"<code>{html.escape(found['code'], quote=False)}</code>"
    if found["bold"]:
        return f"<strong>{inline(found['bold'])}</strong>"
    if found["emphasis"]:
        return f"<em>{inline(found['emphasis'])}</em>"
    return f'<a href="{html.escape(found["place"])}">{inline(found["link"])}</a>'


def html_cell(text, tag):
    first, *others = str(text).split("\n")
    rest = "".join(f'<br><span class="second">{inline(line)}</span>' for line in others)
    whole = re.match(r"\**[\d.−-]", first) or len(first) <= 12
    kind = ' class="whole"' if whole and tag == "td" else ""
    return f"<{tag}{kind}>{inline(first)}{rest}</{tag}>"


def html_table(grid):
    head = "".join(html_cell(c, "th") for c in grid.head)
    rows = ["<tr>" + "".join(html_cell(c, "td") for c in row) + "</tr>" for row in grid.rows]
    return ['<div class="wide"><table>', f"<thead><tr>{head}</tr></thead>", "<tbody>", *rows,
            "</tbody></table></div>"]


def inline_svg(text, name, title):
    """A drawing as a part of a page: names that are its own, a size that follows the page."""
    start = text.find("<svg")
    if start < 0:
        raise Failure(f"{name}.svg: not a drawing")
    head, _, body = text[start:].partition(">")
    box = re.search(r'viewBox="([^"]*)"', head)
    if box is None:
        raise Failure(f"{name}.svg: has no viewBox")
    body = re.sub(r"""\bid=(['"])""", rf"id=\1{name}-", body)
    body = re.sub(r"""\b(?:xlink:)?href=(['"])#""", rf"href=\1#{name}-", body)
    body = body.replace("url(#", f"url(#{name}-")
    return (f'<svg role="img" aria-label="{html.escape(title)}" viewBox="{box[1]}">'
            f"{body.strip()}")


def html_block(block, drawings):
    """The lines of a block; drawings has the text of the SVG files by name."""
    if isinstance(block, Heading):
        anchor = f' id="{slug(block.text)}"'
        return [f"<h{block.level}{anchor}>{inline(block.text)}</h{block.level}>"]
    if isinstance(block, (Text, Note)):
        kind = ' class="note"' if isinstance(block, Note) else ""
        return [f"<p{kind}>{inline(block.text)}</p>"]
    if isinstance(block, Items):
        return ["<ul>", *(f"<li>{inline(item)}</li>" for item in block.items), "</ul>"]
    if isinstance(block, Grid):
        return html_table(block)
    if isinstance(block, Code):
        return ["<pre>" + html.escape("\n".join(block.lines), quote=False) + "</pre>"]
    if isinstance(block, Picture):
        drawing = inline_svg(drawings[block.name], block.name, block.title)
        caption = f"<strong>{inline(block.title)}.</strong> {inline(block.caption)}"
        return ["<figure>", f'<div class="sheet">{drawing}</div>',
                f"<figcaption>{caption}</figcaption>", "</figure>"]
    inner = [line for b in block.blocks for line in html_block(b, drawings)]
    return ["<details>", f"<summary>{inline(block.summary)}</summary>", *inner, "</details>"]


STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1f; --soft: #5c5c62; --line: #d9d9de;
  --back: #ffffff; --band: #f6f6f8; --link: #0060a0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8ea; --soft: #a5a5ac; --line: #3c3c42;
  --back: #17171a; --band: #212125; --link: #7cc0f4; } }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 74rem; color: var(--ink);
  background: var(--back); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, Helvetica,
  Arial, "Liberation Sans", sans-serif; }
p, ul, nav, figcaption { max-width: 50rem; }
h1 { font-size: 1.9rem; line-height: 1.2; }
td:first-child { white-space: nowrap; }
h2 { margin-top: 2.6rem; padding-top: .6rem; border-top: 1px solid var(--line); font-size: 1.4rem; }
h3 { margin-top: 1.8rem; font-size: 1.1rem; }
a { color: var(--link); }
nav ul { columns: 2; padding-left: 1.2rem; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: .86em; }
pre { padding: .8rem; overflow-x: auto; background: var(--band); border: 1px solid var(--line);
  border-radius: 4px; line-height: 1.45; }
.wide { overflow-x: auto; margin: 1rem 0 .4rem; }
table { border-collapse: collapse; font-size: .82rem; line-height: 1.4;
  font-variant-numeric: tabular-nums; }
th, td { padding: .38rem .55rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { position: sticky; left: 0; padding-left: .3rem;
  background: var(--back); }
th { border-bottom: 2px solid var(--soft); font-weight: 600; vertical-align: bottom; }
td.whole { white-space: nowrap; }
tbody tr:nth-child(even), tbody tr:nth-child(even) td:first-child { background: var(--band); }
.second, .note, figcaption { color: var(--soft); }
.second { font-size: .92em; }
.note { margin-top: .3rem; font-size: .86rem; }
figure { margin: 1.8rem 0; }
.sheet { padding: .5rem; background: #ffffff; border: 1px solid var(--line); border-radius: 4px; }
.sheet svg { display: block; width: 100%; height: auto; }
figcaption { margin-top: .5rem; font-size: .92rem; }
figcaption strong { color: var(--ink); }
summary { cursor: pointer; margin: .6rem 0; }
@media print { body { max-width: none; font-size: 11pt; } figure, tr { break-inside: avoid; } }
"""


def to_html(title, blocks, drawings):
    parts = [b for b in blocks if isinstance(b, Heading) and b.level == 2]
    places = [f'<li><a href="#{slug(b.text)}">{inline(b.text)}</a></li>' for b in parts]
    contents = ["<nav><ul>", *places, "</ul></nav>"]
    lines = []
    for i, block in enumerate(blocks):
        lines += html_block(block, drawings)
        if i == 0:
            lines += contents
    return "\n".join([
        "<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title, quote=False)}</title>", f"<style>{STYLE}</style>", "</head>",
        "<body>", *lines, "</body>", "</html>", ""])
