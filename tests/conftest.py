"""Common state of every test: no AMX in oneDNN, a fixed seed, nothing compiled by earlier tests,
and the builtin variants of the compiler."""

from __future__ import annotations

import os
import tempfile

# Both are read once, when torch and its libgomp are loaded.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
os.environ.setdefault("INGOT_TUNE", "0")
os.environ.setdefault("INGOT_CACHE_MB", "0")  # a test compiles what it tests
os.environ.setdefault("INGOT_TUNING", os.path.join(tempfile.gettempdir(), f"ingot-{os.getpid()}"))
if "PYTEST_XDIST_WORKER" in os.environ:
    # Several workers share the cores: waiting threads must sleep, not spin.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from ingot.stages import Compiled

# The same examples on every run; `make fuzz` samples others from a seed that it prints.
COMMON: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}
settings.register_profile("fixed", derandomize=True, max_examples=75, **COMMON)
settings.register_profile("fresh", max_examples=1000, print_blob=True, **COMMON)
settings.load_profile("fixed")


@pytest.fixture(autouse=True)
def fixed_seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def fresh_warnings() -> None:
    """Repeat the warning for a failure that an earlier test was already warned about."""
    from ingot.fallback.boundary import forget_announcements

    forget_announcements()


@pytest.fixture(autouse=True)
def valid_plans() -> Iterator[None]:
    """Every plan compiled by a test verifies after every pass, and round-trips through its text
    form."""
    from ingot import observe
    from ingot.plan.ir import Plan
    from ingot.plan.passes import base
    from ingot.plan.text import parse
    from ingot.plan.verify import verify

    faults: list[str] = []
    seen: list[Plan] = []

    def check_pass(passed: base.Passed) -> None:
        try:
            verify(passed.plan, holds=passed.holds, after=passed.name)
        except Exception as error:
            faults.append(f"{type(error).__name__}: {error}")

    def check_text(compiled: Compiled) -> None:
        plan = compiled.plan
        if plan is None or any(plan is each for each in seen):
            return
        seen.append(plan)
        try:
            text = plan.as_text()
            assert parse(text) == plan, f"another plan is read from this text:\n{text}"
        except Exception as error:  # raised here, it would count as a failure of the compiler
            faults.append(f"{type(error).__name__}: {error}")

    with base.listening(check_pass), observe.listening(check_text):
        yield
    assert not faults, faults[0]


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()
