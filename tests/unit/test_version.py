"""One version number: the package's, from which the build takes that of the distribution."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

from click.testing import CliRunner

import ingot
from ingot.cli import main

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())


def test_the_build_takes_the_version_of_the_package() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|(a|b|rc)\d+)?", ingot.__version__)
    assert "version" not in PROJECT["project"] and "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {
        "attr": "ingot.version.__version__"
    }


def test_the_command_line_prints_it() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert (result.exit_code, result.output) == (0, f"ingot, version {ingot.__version__}\n")


def test_installed_metadata_has_it() -> None:
    assert importlib.metadata.version("ingot") == ingot.__version__
