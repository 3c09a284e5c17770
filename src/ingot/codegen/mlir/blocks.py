"""A builder for functions of blocks, for code that leaves a loop early. A block is named by its
label; values of other blocks that it needs are its arguments or come before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from ingot.codegen.mlir.builder import Builder
from ingot.ops.values import Val, Value


class BlockBuilder(Builder):
    """Writes branches between the blocks of one function."""

    def __init__(self, lanes: int = 1):
        super().__init__(lanes)
        self._blocks = 0

    def block(self, label: str, *arguments: Value) -> None:
        """Begins a block."""
        given = ", ".join(f"{value.name}: {value.type}" for value in arguments)
        self.lines.append(f"  ^{label}({given}):" if given else f"  ^{label}:")

    def jump(self, label: str, *values: Value) -> None:
        """Goes to a block with its arguments."""
        self.line(f"llvm.br {_target(label, values)}")

    def jump_if(self, condition: Val, then: str, otherwise: str, *values: Value) -> None:
        """Goes to one of two blocks; `values` are the arguments of `then`."""
        self.line(f"llvm.cond_br {condition.name}, {_target(then, values)}, ^{otherwise}")

    def require(self, condition: Val, otherwise: str) -> None:
        """Goes on if the condition holds, otherwise to a block without arguments."""
        following = self._label("on")
        self.jump_if(condition, following, otherwise)
        self.block(following)

    @contextmanager
    def rounds(self, count: Val) -> Iterator[Val]:
        """Runs the body for 0 … count - 1. It may begin blocks, and leave the loop."""
        label = self._label("round")
        k = Val(f"%{label}", torch.int64)
        self.jump(label, self.const(0, torch.int64))
        self.block(label, k)
        self.jump_if(self.cmp("lt", k, count), f"{label}_do", f"{label}_done")
        self.block(f"{label}_do")
        yield k
        self.jump(label, self.add(k, self.const(1, torch.int64)))
        self.block(f"{label}_done")

    def _label(self, name: str) -> str:
        self._blocks += 1
        return f"{name}{self._blocks}"


def _target(label: str, values: Sequence[Value]) -> str:
    if not values:
        return f"^{label}"
    names, kinds = ", ".join(v.name for v in values), ", ".join(v.type for v in values)
    return f"^{label}({names} : {kinds})"
