"""docs/troubleshooting.md and the source agree: every error has an entry under its own headline,
and every message, reason and warning on the page occurs in the source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from ingot import errors

from .documents import ROOT, headings_of, rows_of, text_of

PAGE = ROOT / "docs" / "troubleshooting.md"
SHORTEST = 4
"""Shorter fragments of a message, in letters, are ignored."""
OTHERS = ("`IndexError", "`RuntimeError", "(", "the guard, ")
"""First cells that are not ingot's messages: messages of PyTorch, and descriptions."""


def subclasses(kind: type[Any]) -> set[type[Any]]:
    found = {each for each in kind.__subclasses__() if each.__module__ == errors.__name__}
    return found | {deeper for each in found for deeper in subclasses(each)}


def by_name(kind: type[Any]) -> str:
    return kind.__name__


def section(name: str) -> str:
    text = text_of(PAGE)
    start = text.index(f"### {name}\n")
    end = re.search(r"^##+ ", text[start + 4 :], re.MULTILINE)
    return text[start : start + 4 + end.start()] if end else text[start:]


def test_every_class_has_an_entry() -> None:
    kinds = subclasses(errors.IngotError) | subclasses(errors.IngotWarning)
    entries = {text for level, text in headings_of(PAGE) if level == 3}
    assert {kind.__name__ for kind in kinds} <= entries
    named = {text for text in entries if re.fullmatch(r"\w+(Error|Warning)", text)}
    assert named == {kind.__name__ for kind in kinds}


@pytest.mark.parametrize("kind", sorted(subclasses(errors.IngotError), key=by_name), ids=by_name)
def test_headline_is_the_source_s(kind: type[errors.IngotError]) -> None:
    assert f"Headline: `{kind.headline}`." in section(kind.__name__)


@cache
def texts() -> tuple[str, ...]:
    """The string literals of the source, joined per function."""
    found = []
    for path in sorted((ROOT / "src" / "ingot").rglob("*.py")):
        tree = ast.parse(path.read_text())
        functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        found += [" ".join(_strings(node)) for node in (tree, *functions)]
    return tuple(re.sub(r"\s+", " ", text) for text in found)


def _strings(tree: ast.AST) -> Iterator[str]:
    """In source order, with … for each placeholder."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.JoinedStr):
            parts = (v.value if isinstance(v, ast.Constant) else "…" for v in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        else:
            nodes += reversed(list(ast.iter_child_nodes(node)))


def messages() -> list[str]:
    """First cells of the tables, and paragraphs that consist of one message."""
    found = [row[0] for row in rows_of(text_of(PAGE))]
    found += re.findall(r"^(`[^`\n]*…[^`\n]*`)$", text_of(PAGE), re.MULTILINE)
    found += [row[1] for row in rows_of(section_of_logs()) if row[1].startswith("`")]
    return [text for text in found if not text.startswith((*OTHERS, "`ingot."))]


def section_of_logs() -> str:
    text = text_of(PAGE)
    start = text.index("## Log lines")
    return text[start : text.index("\n## ", start)]


def fragments(message: str) -> list[str]:
    plain = message.split(" (")[0] if message.endswith(")") else message
    parts = (part.strip(" :;.,=") for part in plain.strip("`").split("…"))
    return [part for part in parts if len(part) >= SHORTEST]


def is_in_source(message: str) -> bool:
    """Whether the fixed parts of a message occur near each other in one function or module."""
    pattern = re.compile(".{0,80}?".join(map(re.escape, fragments(message))))
    return any(pattern.search(text) for text in texts())


@pytest.mark.parametrize("message", messages())
def test_message_is_in_the_source(message: str) -> None:
    assert is_in_source(message), f"{PAGE.name} lists a message that the source has not: {message}"


def test_other_messages_are_not_in_the_source() -> None:
    assert not is_in_source("`the program … was made of other matter`")


def test_there_are_messages() -> None:
    assert len(messages()) > 120
