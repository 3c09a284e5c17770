"""Limits the memory of tests, so that a leak fails one test instead of exhausting the machine.

In a worker of pytest-xdist the address space may grow by 6 GB during a test; beyond that the test
fails (or crashes its own worker) and the others go on. The limit is relative to the address space
before the test, because freed memory keeps its addresses: after an hour of tests a worker has
several times as many as it uses. Garbage in cycles, machine code included, is collected regularly
instead of waiting for Python's own collection.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

STATM = Path("/proc/self/statm")
TEST_BYTES = 6 << 30
TOGETHER = 40
"""Number of tests between two collections; a collection takes a few tenths of a second."""
_number = count(1)


@pytest.fixture(autouse=True)
def limited() -> Iterator[None]:
    if "PYTEST_XDIST_WORKER" not in os.environ or not STATM.exists():
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(STATM.read_text().split()[0])
    most = pages * resource.getpagesize() + TEST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    yield
    if next(_number) % TOGETHER == 0:
        gc.collect()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
