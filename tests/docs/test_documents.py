"""The documents match the code: their Python runs and prints the quoted output, links and anchors
resolve, commands exist, and the option table is complete.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest

import ingot
from ingot.cli import main
from ingot.options import Options

from .documents import (
    DOCUMENTS,
    PAGES,
    README,
    ROOT,
    Block,
    anchors_of,
    blocks,
    blocks_of,
    links_of,
    rows_of,
    spans_of,
    text_of,
)

MOST_WORDS = 1500
DIGEST = re.compile(r"\b[0-9a-f]{16}\b")
"""The digest of a kernel's code, which differs between machines. The documents print … instead."""


# -- Python ----------------------------------------------------------------------------------------


def as_parameter(block: Block) -> object:
    marks = [pytest.mark.slow] if block.needs else []
    return pytest.param(block, id=str(block), marks=marks)


RUN = [block for block in blocks("python") if not block.source]
EXCERPTS = [block for block in blocks("python") if block.source]


@pytest.mark.parametrize("block", [as_parameter(block) for block in RUN])
def test_python_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if block.needs and importlib.util.find_spec(block.needs) is None:
        pytest.skip(f"{block.needs} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INGOT_TUNING", str(tmp_path))
    script = tmp_path / "snippet.py"
    script.write_text(block.code)
    printed = run_alone(script) if block.alone else run_here(script)
    printed = DIGEST.sub("…", printed)
    for expected in outputs_of(block):
        assert expected.code in printed, f"{expected}: this is not printed:\n{printed}"


@pytest.mark.parametrize("block", EXCERPTS, ids=str)
def test_excerpt_is_the_source(block: Block) -> None:
    assert block.code in (ROOT / block.source).read_text()


def run_here(script: Path) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(script), run_name="__main__")
    return printed.getvalue()


def run_alone(script: Path) -> str:
    path = os.pathsep.join(part for part in sys.path if part)
    run = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def outputs_of(block: Block) -> list[Block]:
    """The output blocks between this block and the next Python block."""
    found: list[Block] = []
    following = [each for each in blocks_of(block.document) if each.line > block.line]
    for each in following:
        if each.language == "python":
            break
        if each.mark == "output":
            found.append(each)
    return found


def test_there_is_python_to_run() -> None:
    assert len([block for block in blocks("python") if block.document == README]) >= 1
    assert len(blocks("python")) >= 15
    assert any(outputs_of(block) for block in blocks("python"))


# -- links, commands, tables -----------------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_resolve(document: Path) -> None:
    for link in links_of(document):
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        assert target.exists(), f"{link}: no such file"
        if document in PAGES:
            assert target.is_relative_to(ROOT / "docs"), f"{link}: outside of the site"
        if anchor:
            assert anchor in anchors_of(target), f"{link}: no such heading"


def test_every_page_is_in_the_navigation() -> None:
    named = re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(named) == sorted(page.name for page in PAGES)


def test_readme_is_short() -> None:
    assert len(text_of(README).split()) < MOST_WORDS


def commands(program: str) -> list[tuple[str, list[str]]]:
    """(location, arguments) of every call of `program` in shell blocks and between backticks."""
    found = []
    for block in blocks("sh"):
        lines = (line.split("#")[0] for line in block.code.splitlines())
        found += [(str(block), shlex.split(line)) for line in lines]
    for document in DOCUMENTS:
        spans = (span for span in spans_of(document) if "…" not in span)
        found += [(document.name, span.split()) for span in spans]
    return [(where, words) for where, words in found if words and words[0] == program]


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    mentioned = {words[1] for _, words in commands("make")}
    assert mentioned >= {"demo", "test", "docs"}
    assert mentioned <= targets


def test_ingot_commands_exist() -> None:
    calls = [(where, words) for where, words in commands("ingot") if len(words) > 1]
    assert {words[1] for _, words in calls} == set(main.commands)
    for where, words in calls:
        command, context = main.commands[words[1]], f"{where}: {' '.join(words)}"
        if isinstance(command, click.Group) and len(words) > 2:
            assert words[2] in command.commands, context
            command = command.commands[words[2]]
        known = {
            name
            for parameter in command.params
            if isinstance(parameter, click.Option)
            for name in parameter.opts
        }
        used = {word for word in words if word.startswith("-")}
        assert used <= known, context


def test_every_command_is_in_the_table() -> None:
    page = text_of(ROOT / "docs" / "command-line.md").partition("\n## ")[0]
    described = {row[0].strip("`"): row[2] for row in rows_of(page)}
    assert described.keys() == set(dict(leaves(main)))
    for name, command in leaves(main):
        options = [p.opts[-1] for p in command.params if isinstance(p, click.Option)]
        named = {word.strip("`,") for word in described[name].split()}
        assert {o for o in options if len(o) > 2} <= named | {"--output"}, name


def leaves(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from leaves(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def test_scripts_exist() -> None:
    for where, words in commands("python"):
        script = words[1]
        if script.startswith("bench/"):
            assert (ROOT / script).exists(), f"{where}: {script}"


def test_option_table_is_complete() -> None:
    head = text_of(ROOT / "docs" / "options.md").partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \|", head, re.MULTILINE)
    defaults = {field.name: repr(field.default).replace("'", '"') for field in fields(Options)}
    assert dict(rows) == defaults


def test_files_that_are_named_exist() -> None:
    """Paths in CONTRIBUTING.md and docs/architecture.md start at the root or at src/ingot."""
    for document in (ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"):
        for span in spans_of(document):
            if re.fullmatch(r"[\w/]+\.py", span):
                bases = (ROOT, ROOT / "src" / "ingot")
                assert any((base / span).exists() for base in bases), f"{document.name}: {span}"


def test_every_folder_of_the_source_is_described() -> None:
    source = ROOT / "src" / "ingot"
    folders = {path.parent.name for path in source.glob("*/__init__.py")}
    page = text_of(ROOT / "docs" / "architecture.md")
    section = page[page.index("## Rooms") :]
    described = [row[0].strip("`") for row in rows_of(section[: section.index("\n## ")])]
    assert set(described) == folders
    assert described == [room for room in rooms_in_order() if room in folders]


def rooms_in_order() -> list[str]:
    """From the top layer down, in the order of the import-linter contract."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = project["tool"]["importlinter"]["contracts"][0]
    return [room for layer in contract["layers"] for room in layer.split(" | ")]


def test_every_public_name_is_in_the_reference() -> None:
    page = text_of(ROOT / "docs" / "api.md")
    named = set(re.findall(r"^::: ingot\.[\w.]*?(\w+)$", page, re.MULTILINE))
    assert named >= set(ingot.__all__)


# -- slow ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_demo_runs() -> None:
    command = [sys.executable, "bench/demo.py", "--quick", "--rounds", "2"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "speed-up" in run.stdout


@pytest.mark.slow
def test_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "api.html").exists()
