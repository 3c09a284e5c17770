"""The functions that a graph may call, by name. An op is looked up in PyTorch's dispatcher, whose
ops are registered by code that this process has run; arithmetic on sizes and higher-order operators
are looked up in tables. A name never leads to an import or through attributes of a module. Each
call of an op is checked against its schema: the number, names and types of its arguments.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._higher_order_ops.map import map_impl
from torch._higher_order_ops.wrap import wrap_with_autocast, wrap_with_set_grad_enabled
from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket
from torch.fx import Node

from ingot.program.custom_gradient import custom_gradient
from ingot.program.mode_regions import inference_mode

_QUALIFIED = re.compile(r"([A-Za-z_]\w*)\.([A-Za-z_]\w*)\.([A-Za-z_]\w*)", re.ASCII)

FORBIDDEN = frozenset(
    {
        "aten::from_file",  # maps a file of any name, and creates it
        "aten::save",
        "debugprims::load_tensor",
        "inductor::_alloc_from_pool",  # memory by offset, without a check of bounds
        "inductor::_reinterpret_tensor",
    }
)

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    **{
        f"operator.{function.__name__}": function
        for function in (
            operator.abs, operator.add, operator.and_, operator.eq, operator.floordiv, operator.ge,
            operator.getitem, operator.gt, operator.invert, operator.le, operator.lshift,
            operator.lt, operator.mod, operator.mul, operator.ne, operator.neg, operator.not_,
            operator.or_, operator.pos, operator.pow, operator.rshift, operator.sub,
            operator.truediv, operator.truth, operator.xor,
        )
    },
    **{
        f"math.{function.__name__}": function
        for function in (
            math.ceil, math.floor, math.trunc, math.sqrt, math.pow, math.exp, math.log, math.log2,
            math.sin, math.cos, math.tan, math.asin, math.acos, math.atan, math.sinh, math.cosh,
            math.tanh,
        )
    },
    **{
        f"builtins.{function.__name__}": function
        for function in (abs, bool, float, int, max, min, pow, round)
    },
    **{
        f"torch.{name}": getattr(torch, name)
        for name in (
            "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt",
            "sym_sum", "_sym_sqrt", "_sym_log2",
        )
        if hasattr(torch, name)
    },
}  # fmt: skip
_GROWING = (operator.pow, operator.lshift, math.pow, pow)
MOST_POWER = 64
_HIGHER: dict[str, HigherOrderOperator] = {
    f"higher_order.{op.name()}": op
    for op in (
        torch.ops.higher_order.cond,
        torch.ops.higher_order.while_loop,
        torch.ops.higher_order.scan,
        torch.ops.higher_order.associative_scan,
        map_impl,
        wrap_with_autocast,
        wrap_with_set_grad_enabled,
        inference_mode,
        custom_gradient,
    )
}
_KNOWN: dict[str, Any] = {**_ARITHMETIC, **_HIGHER}
_NAMES = {function: name for name, function in _KNOWN.items()}


class CallError(ValueError):
    """An invalid call, and the name of the argument at fault, if there is one."""

    def __init__(self, why: str, argument: str = ""):
        super().__init__(why)
        self.argument = argument


def operator_name(target: Any) -> str:
    """The inverse of `operator_named`."""
    if isinstance(target, OpOverload):
        name = f"{target.namespace}.{target._opname}.{target._overloadname}"
    else:
        name = _NAMES.get(target, "")
    if not name or operator_named(name) is not target:
        raise CallError(f"{target} cannot be saved")
    return name


def operator_named(name: str) -> Any:
    if name in _KNOWN:
        return _KNOWN[name]
    match = _QUALIFIED.fullmatch(name)
    if match is None:
        raise CallError(f"{name[:60]!a} names no operator")
    namespace, op, overload = match.groups()
    if f"{namespace}::{op}" in FORBIDDEN:
        raise CallError(f"{name} reaches outside of the program")
    try:
        torch._C._dispatch_find_schema_or_throw(
            f"{namespace}::{op}", "" if overload == "default" else overload
        )
    except RuntimeError:
        raise CallError(f"no operator {name} is registered in this process") from None
    packet = getattr(getattr(torch.ops, namespace), op)
    if not isinstance(packet, OpOverloadPacket) or overload not in packet.overloads():
        raise CallError(f"no operator {name} is registered in this process")
    found = getattr(packet, overload)
    assert isinstance(found, OpOverload)
    return found


# -- schemas ---------------------------------------------------------------------------------------


def check_call(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raises CallError for arguments that the target does not take."""
    if isinstance(target, OpOverload):
        _check_schema(target, args, kwargs)
    elif kwargs:
        raise CallError(f"{_NAMES[target]} takes no keywords")
    elif not isinstance(target, HigherOrderOperator):
        _check_arithmetic(target, args)


def _check_arithmetic(target: Any, args: Sequence[Any]) -> None:
    """Few arguments, and numbers only: text times a number is as long as the number says."""
    values: list[Any] = [a.meta.get("val") if isinstance(a, Node) else a for a in args]
    if target is operator.getitem:
        fits = len(args) == 2 and isinstance(values[0], list | tuple) and type(values[1]) is int
        if not fits or not 0 <= values[1] < len(values[0]):
            raise CallError("operator.getitem takes a list or tuple and the index of an item")
        return
    if len(values) == 1 and isinstance(values[0], list | tuple):
        values = [v.meta.get("val") if isinstance(v, Node) else v for v in values[0]]
    elif not 1 <= len(args) <= 3:
        raise CallError(f"{_NAMES[target]} does not take {len(args)} arguments")
    if not all(isinstance(value, _FLOAT) for value in values):
        raise CallError(f"{_NAMES[target]} takes numbers")
    by = values[-1] if values else 0
    if target in _GROWING and isinstance(by, int | float) and abs(by) > MOST_POWER:
        raise CallError(f"{_NAMES[target]} may return too large a number")


def _check_schema(target: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    arguments = target._schema.arguments
    positional = [a for a in arguments if not a.kwarg_only]
    if len(args) > len(positional):
        raise CallError(f"{target} takes {len(positional)} arguments, not {len(args)}")
    known = {a.name: a for a in arguments}
    given = {a.name: value for a, value in zip(positional, args)}
    for name, value in kwargs.items():
        if name not in known:
            raise CallError(f"{target} has no argument {name!a}")
        if name in given:
            raise CallError(f"{target} gets {name!a} twice")
        given[name] = value
    for name, argument in known.items():
        if name in given:
            if not _accepts(argument.real_type, given[name]):
                raise CallError(f"{target} takes a {argument.real_type} as {name!a}", name)
        elif not argument.has_default_value():
            raise CallError(f"{target} needs {name!a}")


def _accepts(kind: Any, value: Any) -> bool:
    value = value.meta.get("val") if isinstance(value, Node) else value
    name = kind.kind()
    if name == "OptionalType":
        return value is None or _accepts(kind.getElementType(), value)
    if name == "ListType":
        element = kind.getElementType()
        if isinstance(value, list | tuple):
            return all(_accepts(element, item) for item in value)
        return isinstance(value, bool | int | float | torch.SymInt) and _accepts(element, value)
    if name not in _TYPES:
        return False
    types = _TYPES[name]
    return isinstance(value, types)


_INTEGER = (bool, int, torch.SymInt, torch.SymBool)
_FLOAT = (*_INTEGER, float, torch.SymFloat)
_NUMBER = (*_FLOAT, complex)
_TYPES: dict[str, tuple[type, ...]] = {
    "TensorType": (Tensor, *_NUMBER),  # PyTorch wraps numbers
    "NumberType": (Tensor, *_NUMBER),
    "IntType": (Tensor, *_INTEGER),
    "SymIntType": (Tensor, *_INTEGER),
    "FloatType": (Tensor, *_FLOAT),
    "ComplexType": (Tensor, *_NUMBER),
    "BoolType": (Tensor, bool, torch.SymBool),
    "SymBoolType": (Tensor, bool, torch.SymBool),
    "StringType": (str,),
    "DeviceObjType": (torch.device,),
    "ScalarTypeType": (torch.dtype,),
    "LayoutType": (torch.layout,),
    "MemoryFormatType": (torch.memory_format,),
}
