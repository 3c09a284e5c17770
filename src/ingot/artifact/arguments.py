"""Arguments of calls and descriptions of values as JSON.

An argument is null, true, false, a number, text or a list, or an object with one key for its kind:
a node, a tuple, a dtype, a symbolic number … A described value is the same with "tensor" in place
of "node": the dtype, shape, strides and device of a node's result, read back as a FakeTensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from ingot.artifact.symbol_ranges import SymbolReader, SymbolWriter
from ingot.document import Part
from ingot.errors import FileError, SaveError

MOST_RANK = 64
_INTEGERS = (-(2**63), 2**64 - 1)

DTYPES = {
    name: getattr(torch, name)
    for name in (
        "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
        "float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128",
        "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu",
    )
}  # fmt: skip
LAYOUTS = {
    name: getattr(torch, name)
    for name in ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
}
MEMORY_FORMATS = {
    name: getattr(torch, name)
    for name in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
}
DEVICES = {
    name: torch.device(name)
    for kind in ("cpu", "meta", "cuda", "xpu", "mps")
    for name in (kind, *(f"{kind}:{i}" for i in range(16)))
}
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_NAMES: dict[Any, str] = {
    value: name
    for table in (DTYPES, LAYOUTS, MEMORY_FORMATS, DEVICES)
    for name, value in table.items()
}
_TABLES: dict[str, tuple[type, Mapping[str, Any]]] = {
    "dtype": (torch.dtype, DTYPES),
    "layout": (torch.layout, LAYOUTS),
    "memory_format": (torch.memory_format, MEMORY_FORMATS),
    "device": (torch.device, DEVICES),
}


class ValueWriter:
    def __init__(self, symbols: SymbolWriter):
        self.symbols = symbols

    def encode(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int):
            if not _INTEGERS[0] <= value <= _INTEGERS[1]:
                raise SaveError(f"the number {value} has more than 64 bits")
            return int(value)
        if isinstance(value, float):
            return _float(value)
        if isinstance(value, Node):
            return {"node": value.name}
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, list | tuple | dict | slice):
            return self._container(value)
        return self._special(value)

    def _container(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {"dict": [[self.encode(k), self.encode(v)] for k, v in value.items()]}
        if isinstance(value, slice):
            return {"slice": [self.encode(v) for v in (value.start, value.stop, value.step)]}
        items = [self.encode(item) for item in value]
        return {"tuple": items} if isinstance(value, tuple) else items

    def _special(self, value: Any) -> Any:
        if isinstance(value, complex):
            return {"complex": [_float(value.real), _float(value.imag)]}
        if isinstance(value, torch.SymInt):
            number = self.symbols.number(value)
            return number if isinstance(number, int) else {"int": number}
        if isinstance(value, torch.SymFloat):
            return {"real": self.symbols.text(value.node.expr, value.node.shape_env)}
        if isinstance(value, torch.SymBool):
            return {"bool": self.symbols.text(value.node.expr, value.node.shape_env)}
        for key, (kind, _) in _TABLES.items():
            if isinstance(value, kind) and value in _NAMES:
                return {key: _NAMES[value]}
        raise SaveError(f"a value of type {type(value).__name__} cannot be saved")

    def _tensor(self, value: Tensor) -> Any:
        if value.layout is not torch.strided or value.dtype not in _NAMES:
            raise SaveError(f"a {value.layout} tensor of {value.dtype} cannot be saved")
        made: dict[str, Any] = {
            "tensor": _NAMES[value.dtype],
            "shape": [self.symbols.number(n) for n in value.shape],
            "strides": [self.symbols.number(n) for n in value.stride()],
        }
        offset = self.symbols.number(value.storage_offset())
        if offset != 0:
            made["offset"] = offset
        if value.device != torch.device("cpu"):
            made["device"] = _NAMES[value.device]
        flags = {
            "requires_grad": value.requires_grad,
            "conj": value.is_conj(),
            "neg": value.is_neg(),
        }
        return {**made, **{name: True for name, on in flags.items() if on}}


def _float(value: float) -> Any:
    if math.isfinite(value):
        return float(value)
    return {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}


class ArgumentReader:
    def __init__(self, symbols: SymbolReader):
        self.symbols = symbols

    def argument(self, part: Part, nodes: Mapping[str, Node]) -> Any:
        """`nodes`: the nodes before this one."""

        def node(inner: Part) -> Node:
            name = inner.name()
            if name not in nodes:
                inner.fail(f"no node {name} comes before this one")
            return nodes[name]

        return self._decode(part, {"node": node})

    def constant(self, part: Part) -> Any:
        """A value without nodes and tensors."""
        return self._decode(part, {})

    def described(self, part: Part) -> Any:
        """A tensor, a number, None, or a list or tuple of those. The symbols' reader makes the
        tensors."""
        if isinstance(part.value, dict) and "tensor" in part.value:
            return self._tensor(part)
        if isinstance(part.value, list):
            return [self.described(item) for item in part.items()]
        if isinstance(part.value, dict) and "tuple" in part.value:
            return tuple(self.described(item) for item in part.fields("tuple")["tuple"].items())
        return self._decode(part, {})

    def _decode(self, part: Part, more: Mapping[str, Callable[[Part], Any]]) -> Any:
        value = part.value
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, int):
            return part.integer(*_INTEGERS)
        if isinstance(value, str):
            return part.text()
        if isinstance(value, list):
            return [self._decode(item, more) for item in part.items()]
        if len(value) != 1:
            part.fail("expected an object with one key")
        ((key, inner),) = part.entries().items()
        if key in more:
            return more[key](inner)
        return self._tagged(part, key, inner, more)

    def _tagged(
        self, part: Part, key: str, inner: Part, more: Mapping[str, Callable[[Part], Any]]
    ) -> Any:
        if key == "tuple":
            return tuple(self._decode(item, more) for item in inner.items())
        if key == "dict":
            return self._dict(inner, more)
        if key == "slice":
            return slice(*(self._decode(item, more) for item in inner.items(3)))
        if key == "float":
            return inner.choice(_FLOATS, "number")
        if key == "complex":
            return complex(*(self._plain_float(item) for item in inner.items(2)))
        if key in _TABLES:
            return inner.choice(_TABLES[key][1], key)
        if key in ("int", "real", "bool"):
            made = {
                "int": self.symbols.integer, "real": self.symbols.real, "bool": self.symbols.boolean
            }  # fmt: skip
            return made[key](inner)
        part.fail(f"{key!a} is not a kind of value")

    def _dict(self, inner: Part, more: Mapping[str, Callable[[Part], Any]]) -> dict[Any, Any]:
        made = {}
        for row in inner.items():
            key, value = row.items(2)
            if not isinstance(key.value, str | int):
                key.fail("expected text or an integer as a key")
            if key.value in made:
                key.fail("this key occurs twice")
            made[key.value] = self._decode(value, more)
        return made

    def _plain_float(self, part: Part) -> float:
        value = self.constant(part)
        if type(value) not in (int, float):
            part.fail("expected a number")
        return float(value)

    def _tensor(self, part: Part) -> Any:
        fields = part.fields(
            "tensor",
            "shape",
            "strides",
            optional=("offset", "device", "requires_grad", "conj", "neg"),
        )
        dtype = fields["tensor"].choice(DTYPES, "dtype")
        sizes = [self.symbols.size(n) for n in fields["shape"].items(most=MOST_RANK)]
        strides = [self.symbols.size(n) for n in fields["strides"].items(len(sizes))]
        offset = self.symbols.size(fields["offset"]) if "offset" in fields else 0
        device = fields["device"].choice(DEVICES, "device") if "device" in fields else "cpu"
        flags = {
            name: name in fields and fields[name].boolean()
            for name in ("requires_grad", "conj", "neg")
        }
        _check_extent(part, sizes, strides, offset, dtype)
        if flags["requires_grad"] and not (dtype.is_floating_point or dtype.is_complex):
            fields["requires_grad"].fail(f"a tensor of {dtype} has no gradient")
        if (flags["conj"] or flags["neg"]) and not dtype.is_complex and not flags["neg"]:
            part.fail(f"a tensor of {dtype} has no conjugate")
        return self._fake(part, (sizes, strides, offset), dtype, device, flags)

    def _fake(
        self,
        part: Part,
        place: tuple[Any, Any, Any],
        dtype: torch.dtype,
        device: Any,
        flags: Mapping[str, bool],
    ) -> Tensor:
        try:
            made = self.symbols.tensor(*place, dtype=dtype, device=device)
            if flags["conj"]:
                made = torch._conj(made)
            if flags["neg"]:
                made = torch._neg_view(made)
            if flags["requires_grad"]:
                made.requires_grad_()
        except FileError:
            raise
        except Exception as error:  # meta kernels raise errors of any type
            part.fail(f"PyTorch cannot make this tensor: {type(error).__name__}: {error}")
        return made


def _check_extent(part: Part, sizes: Any, strides: Any, offset: Any, dtype: torch.dtype) -> None:
    extent = 1 + (offset if isinstance(offset, int) else 0)
    for size, stride in zip(sizes, strides):
        if isinstance(size, int) and isinstance(stride, int) and size > 1:
            extent += (size - 1) * stride
    if extent * dtype.itemsize >= 2**62:
        part.fail("the tensor is larger than memory can be")
