"""Keeps a test that eats memory from taking the machine with it: in a worker of pytest-xdist the
address space is limited, so such a test fails (or crashes its own worker) and the others go on.
"""

from __future__ import annotations

import os
import resource

WORKER_BYTES = 8 << 30

if "PYTEST_XDIST_WORKER" in os.environ:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (WORKER_BYTES, hard))
