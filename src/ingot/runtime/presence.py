"""Checks the memory of inputs that eager ops use: PyTorch's own kernels would follow a null
pointer."""

from __future__ import annotations

import torch

from ingot.errors import InputError
from ingot.program.plain_tensor import memory_fault


class Look:
    """The slow path. Tensors of other classes and devices are left to PyTorch."""

    def __init__(self, labels: list[str]):
        self._labels = labels

    def __call__(self, *tensors: torch.Tensor) -> None:
        for label, tensor in zip(self._labels, tensors, strict=True):
            plain = type(tensor) in (torch.Tensor, torch.nn.Parameter)
            if not plain or tensor.device.type != "cpu" or tensor._is_zerotensor():
                continue
            why = memory_fault(tensor)
            if why is not None:
                raise InputError(f"{label} {why}")
