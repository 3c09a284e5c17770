"""One as an ordinary size. By default the tracer assumes that every dynamic size is two or more.
Here it assumes one or more, and a question that is undecidable for all sizes leaves a guard. Zero
remains special: the tracer's symbols are positive by assumption.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from torch.fx.experimental import _config


def ordinary_sizes() -> AbstractContextManager[Any]:
    return mock.patch.object(_config, "backed_size_oblivious", True)
