"""Overrides the check of every plan, because faults are injected into the verifier too."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def valid_plans() -> None:
    """Replaces the fixture that checks every plan."""
