"""The spellings of a call: the overload itself, a function, a method, an operator."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import torch
from torch import Tensor

from .catalogue import Op
from .program import Raw, Ref, Statement

OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floor_divide": "//", "remainder": "%",
    "pow": "**", "matmul": "@", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "bitwise_left_shift": "<<",
    "bitwise_right_shift": ">>", "neg": "-", "bitwise_not": "~",
}  # fmt: skip
NAMESPACES = {"linalg_": "torch.linalg", "fft_": "torch.fft", "special_": "torch.special"}


def spell(rng: Random, call: Statement, op: Op) -> Statement:
    """The call in one of the spellings available for its op."""
    ways = ["op"]
    function = _function(op.name)
    if function and not op.name.startswith("_"):
        ways += ["function", "function"]
    first = call.args[0] if call.args else None
    if isinstance(first, Ref) and op.arguments[0][0] == "self" and hasattr(Tensor, op.name):
        ways += ["method", "method"]
    if op.name in OPERATORS and not call.kwargs and len(call.args) in (1, 2) and (
        isinstance(first, Ref) and not any(isinstance(each, Raw) for each in call.args)
    ):  # fmt: skip
        ways += ["operator", "operator"]
    match rng.choice(ways):
        case "function":
            return replace(call, target=function)
        case "method":
            return replace(call, target=f".{op.name}")
        case "operator":
            return replace(call, target=OPERATORS[op.name])
    return call


def _function(name: str) -> str:
    for prefix, module in NAMESPACES.items():
        if name.startswith(prefix):
            return _path(module, name.removeprefix(prefix))
    return _path("torch", name) or _path("torch.nn.functional", name)


def _path(module: str, name: str) -> str:
    scope: Any = torch
    for part in module.split(".")[1:]:
        scope = getattr(scope, part)
    return f"{module}.{name}" if callable(getattr(scope, name, None)) else ""
