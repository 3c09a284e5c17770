"""The page: one file that needs nothing else, built from the sources in report-ui/; the command
line; tables for notebooks."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from ingot.cli import main
from ingot.explain.page import document_to_html
from ingot.explain.report import CallRow, CompileTimes, Report
from tests.report.documents import ATTACK, chain, hostile
from tests.report.models import explained

ROOT = Path(__file__).parents[2]
UI = ROOT / "report-ui"


def digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_only_the_script_and_the_style_of_the_bundle_are_allowed() -> None:
    page = document_to_html(hostile())
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest(script)}'" in policy
    assert f"style-src 'sha256-{digest(style)}'" in policy
    assert "unsafe" not in policy


def test_the_page_refers_to_nothing() -> None:
    page = document_to_html(chain(8))
    assert not re.search(r"<(?:script|img|link|iframe)[^>]*\b(?:src|href)=", page)
    assert "@import" not in page and "url(http" not in page


def test_the_bundle_is_small_and_built_from_the_sources() -> None:
    page = (ROOT / "src/ingot/explain/page.html").read_text(encoding="utf-8")
    assert len(page) < 400_000
    (built,) = re.findall(r"inputs ([0-9a-f]{64})", page)
    hashed = hashlib.sha256()
    names = ["package-lock.json", "build.mjs", "page.html"]
    for name in [*names, *(f"src/{each.name}" for each in sorted((UI / "src").iterdir()))]:
        hashed.update(f"{name}\0".encode() + (UI / name).read_bytes() + b"\0")
    assert built == hashed.hexdigest(), "run `make report-ui`"


def test_the_lock_file_names_no_host() -> None:
    lock = (UI / "package-lock.json").read_text()
    assert '"resolved"' not in lock and '"integrity"' in lock
    assert "registry" not in lock


def test_a_hostile_document_adds_no_markup() -> None:
    page, harmless = document_to_html(hostile()), document_to_html(chain(40))
    assert "<title>chain&lt;/script&gt;" in page
    for markup in ("<script", "</script", "<img", "<!--", "-->"):
        assert page.count(markup) == harmless.count(markup)


def test_save_html(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    explained().save_html(path)
    page = path.read_text(encoding="utf-8")
    assert '"gb_per_s":' in page and "F.gelu(self.up" in page


def test_a_report_without_a_document_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match=r"ingot\.explain"):
        replace(explained(), description=None).as_html()


def test_command_line(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("def double(x):\n    return x * 2 + 1\n")
    target = f"{tmp_path / 'model.py'}:double"
    report = tmp_path / "report.html"
    given = ["explain", target, "--input", "4x8", "--html", str(report)]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 0, result.output
    assert str(report) in result.output
    assert "return x * 2 + 1" in report.read_text(encoding="utf-8")
    result = CliRunner().invoke(main, [*given[:-1], str(tmp_path / "missing" / "report.html")])
    assert result.exit_code == 1 and "Error: " in result.output and "missing" in result.output


def test_tables_for_a_notebook() -> None:
    html = explained()._repr_html_()
    assert "<script" not in html
    assert "special_airy_ai" in html and "Left to PyTorch" in html and "ms a call" in html


def hostile_report() -> Report:
    row = CallRow(ATTACK, "fallback", ATTACK, 1, (ATTACK,), None, 0.1)
    times = CompileTimes(1.0, 1.0, {})
    return Report(ATTACK, 1, 0, 0, 0, 0, 1, 0, (ATTACK,), (), (), (row,), times, 1.0)


def test_tables_for_a_notebook_escape() -> None:
    html = hostile_report()._repr_html_()
    assert "<script" not in html and "<img" not in html
    assert html.count("&lt;img") == 5


def test_tables_of_rich() -> None:
    console = Console(width=140, file=StringIO(), record=True)
    console.print(explained())
    text = console.export_text()
    assert "Kernels" in text and "special_airy_ai" in text and "ms a call" in text
    assert all(len(line) <= 140 for line in text.splitlines())


def test_text_is_no_markup_of_rich() -> None:
    console = Console(width=100, file=StringIO(), record=True)
    console.print(replace(hostile_report(), name="[bold]name[/nothing]"))
    assert "[bold]name[/nothing]" in console.export_text()
