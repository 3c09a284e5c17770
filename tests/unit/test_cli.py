"""The command line as users call it."""

from __future__ import annotations

import torch
from click.testing import CliRunner

from ingot.cli import main


def test_doctor_names_the_versions() -> None:
    result = CliRunner().invoke(main, ["doctor"])
    assert torch.__version__ in result.output
    assert "torch-mlir" in result.output
    assert "iree-base-compiler" in result.output
