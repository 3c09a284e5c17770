"""Fake tensors for AOTAutograd, made directly from plain inputs: its own converter takes a
millisecond for each, and a network has hundreds of weights. Applies to graphs without gradients and
symbols. Views, subclasses and other unusual inputs are left to PyTorch, as are all inputs if two
share memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._mode_utils import no_dispatch


def with_fakes(inputs: Sequence[Any]) -> list[Any]:
    context = TracingContext.try_get()
    mode = context.fake_mode if context is not None else None
    tensors = [x for x in inputs if isinstance(x, Tensor)]
    if mode is None or not _apart(tensors):
        return list(inputs)
    with no_dispatch():
        return [_fake(mode, x) if _is_plain(x) else x for x in inputs]


def _apart(tensors: Sequence[Tensor]) -> bool:
    """Whether each is an ordinary tensor in a storage of its own."""
    if not all(type(x) in _KINDS and x.layout is torch.strided for x in tensors):
        return False
    return len({x.untyped_storage()._cdata for x in tensors}) == len(tensors)


_KINDS = (Tensor, torch.nn.Parameter)


def _is_plain(x: Any) -> bool:
    return (
        isinstance(x, Tensor)
        and x.device.type == "cpu"
        and x.is_contiguous()
        and not x._is_view()
        and not x.is_inference()
        and not (x.dtype.is_complex or x.is_neg() or x.is_quantized)
        and x.untyped_storage().nbytes() == x.nbytes
    )


def _fake(mode: FakeTensorMode, x: Tensor) -> FakeTensor:
    like = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")
    fake = FakeTensor(mode, like, x.device, requires_grad=x.requires_grad)
    if type(x) is torch.nn.Parameter:
        fake._is_param = True
    mode.fake_tensor_converter.set_tensor_memo(x, fake)
    return fake
