"""Every model at three batch sizes, two lengths and two image sizes, each in a process of its own:
code for dynamic sizes that reads out of bounds may crash."""

from __future__ import annotations

import pytest

from tests.process.run import run_python

from .sizes import MODELS


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", MODELS)
def test_sizes(name: str) -> None:
    run_python("-m", "tests.models.sizes", name, timeout=580)
