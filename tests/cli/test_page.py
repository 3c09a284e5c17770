"""The commands in docs/command-line.md run in order, succeed, and print what the page quotes. The
numbers may differ.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..docs.documents import ROOT, Block, blocks_of
from .call import ingot

PAGE = ROOT / "docs" / "command-line.md"
FILE = "file: "


def examples(*, slow: bool) -> Iterator[tuple[Block, list[Block]]]:
    """Blocks of commands that can run, each with the quotations that follow it."""
    blocks = blocks_of(PAGE)
    shell = [
        k for k, block in enumerate(blocks) if block.language == "sh" and "$(" not in block.code
    ]
    for k in shell:
        if (blocks[k].mark == "slow") is slow:
            quotes = []
            for block in blocks[k + 1 :]:
                if block.mark != "prints":
                    break
                quotes.append(block)
            yield blocks[k], quotes


def plain(text: str) -> list[str]:
    """Lines without digits, exponents, and runs of spaces."""
    return [
        re.sub(r"\d[\d.]*(e[-+]\d+)?", "#", " ".join(line.split())) for line in text.splitlines()
    ]


@pytest.fixture
def models(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for block in blocks_of(PAGE):
        if block.mark.startswith(FILE):
            (folder / block.mark.removeprefix(FILE)).write_text(block.code)
    monkeypatch.delitem(sys.modules, "model", raising=False)
    monkeypatch.setenv("INGOT_TUNING", str(folder / "tuning"))


def run(example: tuple[Block, list[Block]]) -> None:
    block, quotes = example
    printed = []
    for line in block.code.splitlines():
        program, *words = shlex.split(line, comments=True)
        assert program == "ingot"
        printed += plain(ingot(*words).output)
    for quote in quotes:
        for expected in plain(quote.code):
            assert any(expected in line for line in printed), f"{quote}: {expected}\n{printed}"


@pytest.mark.usefixtures("models")
def test_examples() -> None:
    for example in examples(slow=False):
        run(example)


@pytest.mark.slow
@pytest.mark.usefixtures("models")
def test_slow_examples() -> None:
    for package in ("transformers", "PIL"):
        pytest.importorskip(package)
    for example in examples(slow=True):
        run(example)


def test_every_command_has_an_example() -> None:
    ran = {line.split()[1] for slow in (False, True) for block, _ in examples(slow=slow)
           for line in block.code.splitlines()}  # fmt: skip
    assert ran == {"compile", "run", "explain", "bench", "export", "tune", "zoo", "cache",
                   "doctor", "completion"}  # fmt: skip
    assert sum(bool(quotes) for slow in (False, True) for _, quotes in examples(slow=slow)) >= 5
