"""Tensors as MLIR constants. Elements are written as raw bytes, which covers every MLIR dtype."""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch_mlir import ir
from torch_mlir.extras.fx_importer import TORCH_DTYPE_TO_MLIR_TYPE, ContextCache


def literal(tensor: torch.Tensor, types: ContextCache) -> ir.Value:
    """A `torch.vtensor.literal`; the caller sets the location. A complex tensor is a view of a
    literal of its parts: MLIR's Python bindings cannot hold the complex attribute."""
    with _disable_current_modes():
        plain = tensor.detach().contiguous()
        if tensor.dtype.is_complex:
            parts = literal(torch.view_as_real(plain), types)
            kind = types.tensor_to_vtensor_type(tensor)
            return ir.Operation.create(
                "torch.aten.view_as_complex", results=[kind], operands=[parts]
            ).result
        return ir.Operation.create(
            "torch.vtensor.literal",
            results=[types.tensor_to_vtensor_type(tensor)],
            attributes={"value": _elements(plain)},
        ).result


def _elements(tensor: torch.Tensor) -> ir.Attribute:
    shaped = ir.RankedTensorType.get(list(tensor.shape), TORCH_DTYPE_TO_MLIR_TYPE[tensor.dtype]())
    if tensor.numel() == 0:
        return ir.Attribute.parse(f"dense<> : {shaped}")
    flat = tensor.reshape(-1)
    if tensor.dtype is torch.bool:  # MLIR packs i1 into bits
        return ir.DenseElementsAttr.get([ir.BoolAttr.get(v) for v in flat.tolist()], shaped)
    data = flat.view(torch.uint8).numpy().tobytes()
    size = len(data) // tensor.numel()
    if data == data[:size] * tensor.numel():
        data = data[:size]
    return ir.Attribute.parse(f'dense<"0x{data.hex().upper()}"> : {shaped}')
