"""The documents of the repository as data: code blocks, headings, links. A comment before a block
marks it:

    <!-- needs: package -->  the block runs if that package is installed
    <!-- run: alone -->      the block registers something, so it runs in its own process
    <!-- source: path -->    the block is an excerpt of that file
    <!-- output -->          the block is the output of the last Python block
    <!-- walk -->            the block is text of data_flow.py
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = tuple(sorted((ROOT / "docs").rglob("*.md")))
DOCUMENTS = (README, CONTRIBUTING, *PAGES)

_FENCE = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    document: Path
    line: int
    """Number of its first line of code."""
    language: str
    code: str
    mark: str = ""

    @property
    def needs(self) -> str:
        """The package that the block requires, or an empty string."""
        return self.mark.removeprefix("needs: ") if self.mark.startswith("needs: ") else ""

    @property
    def source(self) -> str:
        """The file that the block is an excerpt of, or an empty string."""
        return self.mark.removeprefix("source: ") if self.mark.startswith("source: ") else ""

    @property
    def alone(self) -> bool:
        return self.mark == "run: alone"

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"


@cache
def text_of(document: Path) -> str:
    return document.read_text()


@cache
def blocks_of(document: Path) -> tuple[Block, ...]:
    text = text_of(document)
    return tuple(
        Block(
            document,
            text.count("\n", 0, found.start("code")) + 1,
            found["language"],
            found["code"],
            found["mark"] or "",
        )
        for found in _FENCE.finditer(text)
    )


def blocks(language: str) -> list[Block]:
    return [block for each in DOCUMENTS for block in blocks_of(each) if block.language == language]


def prose_of(document: Path) -> str:
    """The text without code blocks."""
    return _FENCE.sub("", text_of(document))


def spans_of(document: Path) -> list[str]:
    """Texts between backticks outside of code blocks."""
    return [found[2].strip() for found in _SPAN.finditer(prose_of(document))]


def links_of(document: Path) -> list[str]:
    return _LINK.findall(_SPAN.sub("", prose_of(document)))


def headings_of(document: Path) -> list[tuple[int, str]]:
    """Level and text."""
    return [(len(hashes), text.strip()) for hashes, text in _HEADING.findall(prose_of(document))]


def anchors_of(document: Path) -> set[str]:
    """Anchors that GitHub and MkDocs both generate for a heading."""
    texts = [text.replace("`", "") for _, text in headings_of(document)]
    return {_github_slug(text) for text in texts} & {_mkdocs_slug(text) for text in texts}


def _github_slug(text: str) -> str:
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def _mkdocs_slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def rows_of(text: str) -> Iterator[list[str]]:
    """The cells of every table row, without headers and delimiter rows."""
    previous = ""
    for line in text.splitlines():
        is_row = line.startswith("|")
        if is_row and previous.startswith("|") and not re.fullmatch(r"[|\s:-]+", line):
            yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        previous = line
