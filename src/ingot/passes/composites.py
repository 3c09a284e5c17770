"""Decomposition of composite ops under autocast. torch.export keeps composite ops whole and
decomposes them below autocast's dispatch key, where their parts are no longer cast: an einsum in an
autocast region would multiply in f32. Here the region's autocast state is restored while such an op
is decomposed, unless autocast has a rule for the op itself, whose parts it leaves alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest import mock

import torch
from torch._ops import OpOverload

DEVICE = "cpu"


@contextmanager
def casting_parts(composites: Mapping[OpOverload, Callable[..., Any]]) -> Iterator[dict[Any, Any]]:
    """`composites`, each decomposed under the autocast state of the region being traced."""
    regions: list[torch.dtype | None] = []
    enter, leave = torch.autocast.__enter__, torch.autocast.__exit__

    def noting_enter(self: Any) -> Any:
        if self.device == DEVICE:
            regions.append(self.fast_dtype if self._enabled else None)
        return enter(self)  # type: ignore[no-untyped-call]

    def noting_leave(self: Any, *error: Any) -> Any:
        if self.device == DEVICE:
            regions.pop()
        return leave(self, *error)

    def under_region(op: OpOverload, decompose: Callable[..., Any]) -> Callable[..., Any]:
        own = torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "AutocastCPU")

        def decomposed(*args: Any, **kwargs: Any) -> Any:
            dtype = regions[-1] if regions else None
            if dtype is None or torch.is_autocast_enabled(DEVICE):
                return decompose(*args, **kwargs)
            with torch.autocast(DEVICE, dtype, enabled=not own, cache_enabled=False):
                return decompose(*args, **kwargs)

        return decomposed

    with (
        mock.patch.object(torch.autocast, "__enter__", noting_enter),
        mock.patch.object(torch.autocast, "__exit__", noting_leave),
    ):
        yield {op: under_region(op, decompose) for op, decompose in composites.items()}


@cache
def composite_table() -> dict[Any, Any]:
    """The ops that autograd decomposes, with their decompositions."""
    from torch._export.utils import (
        _collect_all_valid_cia_ops_for_aten_namespace,
        _get_decomp_for_cia,
    )

    return {op: _get_decomp_for_cia(op) for op in _collect_all_valid_cia_ops_for_aten_namespace()}
