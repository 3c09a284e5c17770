"""Sources of intermediate graphs. torch.fx keeps the Python source of every GraphModule that it
ever compiled, for tracebacks. A capture makes a dozen, whose sources would stay for the life of the
process. They are dropped after a capture where the programs it returns do not need them: a
traceback then names a line without its text.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from contextlib import contextmanager

from torch.fx import graph_module


@contextmanager
def forgetting_sources() -> Iterator[None]:
    """Drop the sources of graph modules made within at the end, those of other threads included."""
    known = graph_module._loader.eval_cache
    before = set(known)
    try:
        yield
    finally:
        for key in set(known) - before:
            known.pop(key, None)
            linecache.cache.pop(key, None)
