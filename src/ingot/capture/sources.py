"""Sources of intermediate graphs. torch.fx keeps the Python text of every GraphModule that it ever
compiled, for tracebacks: a capture makes a dozen, and their texts would stay for the life of the
process. Those that a capture leaves behind are dropped when the programs that it returns do not
need them: a traceback then names a line without its text.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from contextlib import contextmanager

from torch.fx import graph_module


@contextmanager
def forgetting_sources() -> Iterator[None]:
    """The texts of graph modules made within go at the end; those of other threads too."""
    known = graph_module._loader.eval_cache
    before = set(known)
    try:
        yield
    finally:
        for key in set(known) - before:
            known.pop(key, None)
            linecache.cache.pop(key, None)
