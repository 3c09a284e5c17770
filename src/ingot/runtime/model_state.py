"""Locates the tensors that a program was made with in its model: attributes of modules, items of
their lists and dicts, closure cells and globals of functions. A program holds tensors; a model
holds names. If a name is bound to another tensor (`module.weight = ...`, `load_state_dict(...,
assign=True)`, a replaced layer), the next call must run with that tensor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import getitem, is_
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn
from torch._C._dynamo.guards import TensorGuards

from ingot.errors import CompileError, InputError
from ingot.program.graph import placeholders
from ingot.program.program import Program
from ingot.program.source import is_library

MOST = 100_000
"""Most paths from a model to its tensors that are followed."""
DEEPEST = 256
"""Most steps of such a path."""
REGISTRIES = ("_parameters", "_buffers", "_modules")
LEARNED = 16
"""Most guards that are made; a caller that changes modes in every call gets no more."""


@dataclass(frozen=True)
class Slot:
    """`container[key] is value`, as it was."""

    container: Any
    key: Any
    value: Any


class _Cell:
    """A closure cell as a container."""

    def __init__(self, cell: CellType):
        self.cell = cell

    def __getitem__(self, _: object) -> Any:
        return self.cell.cell_contents


def _slots(holder: Any) -> Iterator[Slot]:
    """The slots of an object whose values may hold tensors."""
    if isinstance(holder, nn.Module):
        for container in (holder._parameters, holder._buffers, holder._modules):
            yield from (Slot(container, k, v) for k, v in list(container.items()))
        own = holder.__dict__
        yield from (Slot(own, k, v) for k, v in list(own.items()) if k not in REGISTRIES)
    elif isinstance(holder, dict):
        yield from (Slot(holder, k, v) for k, v in list(holder.items()))
    elif isinstance(holder, list | tuple):
        yield from (Slot(holder, i, v) for i, v in enumerate(holder))
    elif isinstance(holder, functools.partial):
        yield from _slots((holder.func, holder.args, holder.keywords))
    elif isinstance(holder, MethodType):
        yield from _slots((holder.__func__, holder.__self__))
    elif isinstance(holder, FunctionType):
        yield from _function_slots(holder)


def _function_slots(function: FunctionType) -> Iterator[Slot]:
    if is_library(function.__code__.co_filename):
        return
    for cell in function.__closure__ or ():
        try:
            yield Slot(_Cell(cell), None, cell.cell_contents)
        except ValueError:  # not set yet
            continue
    yield from _slots((function.__defaults__ or (), function.__kwdefaults__ or {}))
    names = _names(function.__code__)
    for name in names:
        found = function.__globals__.get(name)
        if isinstance(found, ModuleType):
            if not is_library(getattr(found, "__file__", None) or "<frozen>"):
                own = vars(found)
                yield from (Slot(own, n, own[n]) for n in names if n in own)
        elif name in function.__globals__:
            yield Slot(function.__globals__, name, found)


def _names(code: CodeType) -> set[str]:
    """Names of globals and attributes, including those of nested functions."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


Path = tuple[str, ...]


@dataclass(frozen=True)
class _Found:
    path: Path
    slots: tuple[Slot, ...]
    """The path from the model to the tensor."""
    tensor: torch.Tensor


def _tensors(
    holder: Any, path: Path = (), slots: tuple[Slot, ...] = (), above: frozenset[int] = frozenset()
) -> Iterator[_Found]:
    """Every tensor reachable from the holder, once for each path to it."""
    if isinstance(holder, torch.Tensor):
        yield _Found(path, slots, holder)
        return
    if id(holder) in above:
        return
    if len(path) > DEEPEST:
        raise CompileError(f"a tensor of the model is more than {DEEPEST} attributes deep")
    for slot in _slots(holder):
        step = f"{type(slot.container).__name__} {slot.key}"
        yield from _tensors(slot.value, (*path, step), (*slots, slot), above | {id(holder)})


def _found(model: Callable[..., Any]) -> list[_Found]:
    """All tensors of the model: a name that is not checked would go stale unnoticed."""
    ways = list(islice(_tensors(model), MOST + 1))
    if len(ways) > MOST:
        raise CompileError(f"more than {MOST} ways lead from the model to its tensors")
    return ways


class ModelState:
    """The tensors of a program by name, and every slot on the paths to them from the model."""

    def __init__(self, state: Mapping[str, Any], model: Callable[..., Any]):
        self._model = model
        self.state: dict[str, Any] = dict(state)
        """As the model has them: for an alias made by the tracer, the tensor that it aliases."""
        self._paths: dict[str, list[Path]] = {}
        slots: dict[tuple[int, str], Slot] = {}
        by_memory: dict[Any, list[_Found]] = {}
        for found in _found(model):
            by_memory.setdefault(_memory(found.tensor), []).append(found)
        for name, tensor in state.items():
            ways = by_memory.get(_memory(tensor), []) if isinstance(tensor, torch.Tensor) else []
            same = [way for way in ways if way.tensor is tensor] or ways
            if not same:
                continue
            self.state[name] = same[0].tensor
            self._paths[name] = [way.path for way in same]
            slots |= {(id(s.container), repr(s.key)): s for way in same for s in way.slots}
        self._slots = list(slots.values())
        self._containers = [slot.container for slot in self._slots]
        self._keys = [slot.key for slot in self._slots]
        self._values = [slot.value for slot in self._slots]
        self._tensors = [t for t in self.state.values() if _is_plain(t)]
        self._geometry = list(map(_geometry, self._tensors))
        self._alike: Callable[..., bool] | None = None
        self._learned = 0

    def is_empty(self) -> bool:
        return not self._tensors and not self._slots

    def is_current(self) -> bool:
        """Does the model hold the same tensors, with the same geometry? Checked in every call."""
        if self._alike is None or not self._alike(*self._tensors):
            return self.holds_the_same() and self._learn()
        return self.holds_the_same()

    def holds_the_same(self) -> bool:
        try:
            return all(map(is_, map(getitem, self._containers, self._keys), self._values))
        except (LookupError, ValueError):
            return False

    def _learn(self) -> bool:
        """Compares geometry in Python and makes a PyTorch guard that recognises it. Guards also
        check grad mode and inference mode, so several may be needed."""
        if list(map(_geometry, self._tensors)) != self._geometry:
            return False
        self._learned += 1
        if self._tensors and self._learned <= LEARNED:
            sizes: Any = [list(t.shape) for t in self._tensors]
            strides: Any = [list(t.stride()) for t in self._tensors]
            guards = TensorGuards(
                *self._tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides
            )
            self._alike = guards.check
        return True

    def fits(self, program: Program) -> bool:
        """Do the tensors have the layouts that the program expects, or must they be copied for each
        call? Raises if they are not those it was made for."""
        as_expected = True
        for spec, node in zip(program.signature.inputs, placeholders(program.graph), strict=True):
            tensor = self.state.get(spec.target) if spec.target is not None else None
            if isinstance(tensor, torch.Tensor) and _is_plain(tensor):
                wanted = node.meta["val"]
                check_replacement(spec.target or spec.name, wanted, tensor)
                lies = wanted.stride() == tensor.stride()
                as_expected = as_expected and lies and not tensor.is_neg() and not tensor.is_conj()
        return as_expected

    def renewed(self) -> ModelState:
        """The current state of the model; it must hold a tensor that fits wherever it held one."""
        now = {found.path: found.tensor for found in _found(self._model)}
        state = dict(self.state)
        for name, paths in self._paths.items():
            tensors = [now.get(path) for path in paths]
            state[name] = _replacement(name, state[name], tensors)
        return ModelState(state, self._model)


def _memory(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Equal for aliases of a whole tensor."""
    if not _is_plain(tensor):
        return (id(tensor),)
    return tensor.untyped_storage()._cdata, tensor.storage_offset(), *_geometry(tensor)


def _replacement(
    name: str, old: torch.Tensor, tensors: Sequence[torch.Tensor | None]
) -> torch.Tensor:
    new = tensors[0]
    if new is None or any(tensor is not new for tensor in tensors):
        gone = any(tensor is None for tensor in tensors)
        why = "is no longer in the model" if gone else "was one tensor and is several now"
        raise InputError(f"{name} {why}", hints=["compile the model again"])
    check_replacement(name, old, new)
    return new


def _is_plain(tensor: Any) -> bool:
    return type(tensor) in (torch.Tensor, nn.Parameter) and tensor.layout is torch.strided


def _geometry(tensor: torch.Tensor) -> tuple[Any, ...]:
    return (
        tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.device,
        tensor.is_neg(), tensor.is_conj(),
    )  # fmt: skip


def check_replacement(name: str, old: torch.Tensor, new: torch.Tensor) -> None:
    for what, was, given in (
        ("dtype", old.dtype, new.dtype),
        ("shape", list(old.shape), list(new.shape)),
        ("device", old.device, new.device),
    ):
        if was != given:
            raise InputError(
                f"{name} now has {what} {given}; the program was made for {was}",
                hints=["compile the model again"],
            )
