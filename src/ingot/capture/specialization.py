"""One as a size like any other. By itself the tracer takes every dynamic size to be two or more; in
here it takes it to be one or more, and a question that cannot be decided for all sizes leaves a
guard. Zero stays apart: the tracer's symbols are positive by assumption.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from torch.fx.experimental import _config


def ordinary_sizes() -> AbstractContextManager[Any]:
    return mock.patch.object(_config, "backed_size_oblivious", True)
