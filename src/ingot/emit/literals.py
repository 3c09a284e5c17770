"""Tensors as MLIR constants, by their bytes: every dtype that MLIR has, none through Python
numbers.
"""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch_mlir import ir
from torch_mlir.extras.fx_importer import TORCH_DTYPE_TO_MLIR_TYPE


def literal(tensor: torch.Tensor, kind: ir.Type) -> ir.Value:
    """A `torch.vtensor.literal`; a location is set by the caller."""
    return ir.Operation.create(
        "torch.vtensor.literal", results=[kind], attributes={"value": elements(tensor)}
    ).result


def elements(tensor: torch.Tensor) -> ir.Attribute:
    element = TORCH_DTYPE_TO_MLIR_TYPE[tensor.dtype]()
    shaped = ir.RankedTensorType.get(list(tensor.shape), element)
    if tensor.numel() == 0:
        return ir.Attribute.parse(f"dense<> : {shaped}")
    with _disable_current_modes():
        plain = tensor.detach().contiguous().reshape(-1)
        if tensor.dtype is torch.bool:  # MLIR packs its bits
            return ir.DenseElementsAttr.get([ir.BoolAttr.get(v) for v in plain.tolist()], shaped)
        if tensor.dtype.is_complex:  # the parser of attributes does not return these
            flat = plain.numpy()
            return ir.DenseResourceElementsAttr.get_from_buffer(flat, "complex", shaped)
        data = plain.view(torch.uint8).numpy().tobytes()
    return _from_bytes(data, tensor.numel(), shaped)


def _from_bytes(data: bytes, count: int, shaped: ir.RankedTensorType) -> ir.Attribute:
    if count == 1 or data == data[: len(data) // count] * count:
        data = data[: len(data) // count]
    return ir.Attribute.parse(f'dense<"0x{data.hex().upper()}"> : {shaped}')
