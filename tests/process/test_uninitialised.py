"""No uninitialised memory is read: a selection of the suite passes if the C library fills allocated
and freed memory with a pattern."""

from __future__ import annotations

import pytest

from tests.process.run import run_python

SELECTION = (
    "tests/programs/test_attention.py",
    "tests/programs/test_convolution.py",
    "tests/programs/test_dynamic_shapes.py",
    "tests/programs/test_fusion.py",
    "tests/programs/test_launch.py",
    "tests/programs/test_mutation.py",
    "tests/programs/test_pooling.py",
    "tests/programs/test_recurrent.py",
    "tests/programs/test_strides.py",
    "tests/programs/test_training.py",
    "tests/programs/test_weights.py",
)


PROGRAMS = "tests/fuzz/test_schemas.py::test_programs_of_schemas[0]"
"""50 random programs."""
PATTERN = {"MALLOC_PERTURB_": "165"}


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("file", [*SELECTION, PROGRAMS])
def test_passes_with_perturbed_memory(file: str) -> None:
    run_python(
        "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:xdist", "-p", "no:cacheprovider",
        file, timeout=1500, env=PATTERN,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(1000)
@pytest.mark.parametrize("stress", [
    ("tests.process.stress", "4", "10"),
    ("tests.process.forking", "after_compile"),
    ("tests.process.forking", "while_threads_compile"),
], ids="-".join)  # fmt: skip
def test_threads_and_forks_with_perturbed_memory(stress: tuple[str, ...]) -> None:
    run_python("-m", *stress, timeout=900, env=PATTERN)
