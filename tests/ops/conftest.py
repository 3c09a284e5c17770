"""Keeps a test that eats memory from taking the machine with it: in a worker of pytest-xdist the
address space is limited, so such a test fails (or crashes its own worker) and the others go on.
What tests leave behind in cycles, machine code among it, goes now and then: it would wait for
Python's own collection, and thousands of tests of one worker would come up to the limit together.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
from collections.abc import Iterator
from itertools import count

import pytest

WORKER_BYTES = 8 << 30
TOGETHER = 40
"""Tests between two collections, each of which takes a few tenths of a second."""
_number = count(1)

if "PYTEST_XDIST_WORKER" in os.environ:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (WORKER_BYTES, hard))


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    yield
    if next(_number) % TOGETHER == 0:
        gc.collect()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
