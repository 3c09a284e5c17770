"""The memory model of functionalization. A Memory is one storage of eager's. A Cell is one tensor
in it that autograd tracks separately (the first, and every `detach` of it). A Value is one tensor
object of eager's: a Cell seen through view steps.

A Cell's `data` is the node with its current content, its `history` the node whose autograd history
eager would find at it. The two diverge where a write is hidden from autograd, under no_grad or
through a detached alias, and are joined by `carry` where they are read with grad enabled. A write
propagates to the Cell through the inverse of the steps, and from there to the other Cells of the
Memory as data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

Forward = Callable[[Node], Node]
Inverse = Callable[[Node, Node], Node]


@dataclass(frozen=True, eq=False)
class ViewStep:
    """A view: how to compute it, and how to write through it."""

    forward: Forward
    """From the node of the source to the node of the view."""
    inverse: Inverse
    """From the source and the new content of the view to the new content of the source."""


@dataclass(eq=False)
class CellStorage:
    cells: list[Cell] = field(default_factory=list)
    inference: bool = False
    """Allocated under inference_mode: must not be written to outside of it."""
    written_at: Node | None = None
    """The first node of the given graph that writes to it."""


@dataclass(eq=False)
class Cell:
    memory: CellStorage
    data: Node
    history: Node
    path: tuple[ViewStep, ...] = ()
    """The steps from the first cell of the memory to this one."""
    version: int = 0
    tracked: bool = False
    """Autograd recorded one of the writes."""
    from_inference: bool = False
    """`data` was computed under inference_mode, so autograd must not see it."""


@dataclass(eq=False)
class Value:
    eager: Tensor
    """Eager's tensor, fake: the program as written ran on it."""
    cell: Cell
    steps: tuple[ViewStep, ...] = ()
    seen: Node | None = None
    """The result of the last read."""
    seen_version: int = -1
    seen_untracked: bool = False
    """`seen` was recomputed with grad disabled; eager would compute it with grad."""


@dataclass(frozen=True)
class CellState:
    data: Node
    history: Node
    version: int
    tracked: bool


def cell_state(cell: Cell) -> CellState:
    return CellState(cell.data, cell.history, cell.version, cell.tracked)


def restore_cell(cell: Cell, state: CellState) -> None:
    cell.data, cell.history = state.data, state.history
    cell.version, cell.tracked = state.version, state.tracked


class Memories:
    """All memories, by eager's storages."""

    def __init__(self) -> None:
        self.by_storage: dict[int, CellStorage] = {}
        self.by_tensor: dict[int, Value] = {}
        self.alive: list[Any] = []
        """Keeps tensors alive, so that their addresses are not reused."""

    def memory_of(self, eager: Tensor) -> CellStorage | None:
        return self.by_storage.get(_storage(eager))

    def value_of(self, eager: Tensor) -> Value | None:
        return self.by_tensor.get(id(eager))

    def add_fresh(self, eager: Tensor, node: Node, inference: bool) -> Value:
        memory = CellStorage(inference=inference)
        cell = Cell(memory, node, node)
        memory.cells.append(cell)
        self.by_storage[_storage(eager)] = memory
        return self.add(Value(eager, cell, (), node, 0))

    def add_alias(self, source: Value, eager: Tensor, node: Node) -> Value:
        """A tensor in the memory of `source` that autograd tracks separately."""
        cell = self.add_cell(source.cell, source.steps, node)
        self.by_storage[_storage(eager)] = cell.memory
        return self.add(Value(eager, cell, (), node, 0))

    def add_cell(self, source: Cell, steps: tuple[ViewStep, ...], node: Node) -> Cell:
        cell = Cell(source.memory, node, node, (*source.path, *steps))
        source.memory.cells.append(cell)
        return cell

    def add(self, value: Value) -> Value:
        self.by_tensor[id(value.eager)] = value
        self.alive.append((value.eager, value))
        return value

    def cells(self) -> list[Cell]:
        return [cell for memory in self.by_storage.values() for cell in memory.cells]


def _storage(eager: Tensor) -> int:
    """Sparse tensors have no storage of their own to share."""
    strided = eager.layout is torch.strided
    return int(eager.untyped_storage()._cdata) if strided else id(eager)
