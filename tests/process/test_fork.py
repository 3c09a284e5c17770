"""fork after compilation, data loader workers and process pools work without hangs."""

from __future__ import annotations

import pytest

from tests.process.run import run_python


@pytest.mark.parametrize("case", ["after_compile", "beside_a_blocked_main_thread"])
def test_fork(case: str) -> None:
    run_python("-m", "tests.process.forking", case, timeout=300)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["while_threads_compile", "loaders", "pools"])
def test_workers(case: str) -> None:
    run_python("-m", "tests.process.forking", case, timeout=500)
