"""What the functions of a plan share: the words of its context, the code, tables and weights that
they refer to."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ingot.codegen.jit.native import Native, compiled_function
from ingot.deploy.arena_slots import ArenaSlots
from ingot.deploy.interface import Binding
from ingot.deploy.weights_file import Weights, memory_of
from ingot.errors import SaveError
from ingot.kernels.native_call import Lookup
from ingot.plan.ir import Kind, Plan
from ingot.plan.recipes import maker
from ingot.plan.resources import Resources
from ingot.program.shapes import Size

FIRST = 2
"""Word of the first argument in a context; the weights and the workspace come before it."""


@dataclass
class PlanCode:
    """The text of a plan's functions, and what they refer to."""

    functions: dict[str, str] = field(default_factory=dict)
    declarations: dict[str, str] = field(default_factory=dict)
    modules: dict[str, Native] = field(default_factory=dict)
    tables: dict[str, bytes] = field(default_factory=dict)
    words: int = 0
    """Of the context."""


@dataclass(frozen=True)
class Contents:
    """The tensors that a plan reads besides its arguments."""

    state: Mapping[str, Tensor]
    weights: Weights


class PlanScope:
    """What the functions of a plan share."""

    def __init__(
        self, plan: Plan, resources: Resources, binding: Binding, contents: Contents,
        examples: Mapping[str, int],
    ):  # fmt: skip
        self.plan, self.resources, self.binding, self.contents = plan, resources, binding, contents
        self.buffers = plan.by_name()
        self.recipes = {recipe.buffer: recipe for recipe in plan.recipes}
        self.code = PlanCode()
        self._placed: dict[str, int] = {}
        self.arena = ArenaSlots(plan, examples, binding.results)
        interface = binding.interface
        pointers = len(interface.pointers())
        self.words = {name: FIRST + number for name, number in binding.inputs.items()}
        self.words |= {name: FIRST + number for name, number in binding.results.items()}
        sizes = enumerate(interface.sizes, FIRST + pointers)
        self.symbols = {size.symbol: number for number, size in sizes}
        end = FIRST + pointers + len(self.symbols)
        self.slots = [end + number for number in range(len(self.arena.slots))]
        end += len(self.slots)
        for buffer in plan.buffers:
            if buffer.kind is Kind.CURSOR:
                self.words[buffer.name] = end
                end += 1
        self.code.words = end

    # -- what code refers to -----------------------------------------------------------------------

    def function(self, address: int, kind: str = "(!llvm.ptr) -> i64") -> str:
        """The symbol of a compiled function."""
        found = compiled_function(address)
        assert found is not None, "a kernel that ingot did not compile"
        native, name = found
        self._add(native)
        symbol, text = native.declaration(name, kind)
        self.code.declarations.setdefault(symbol, text)
        return symbol

    def _add(self, native: Native) -> None:
        if native.key not in self.code.modules:
            self.code.modules[native.key] = native
            for each in native.calls:
                self._add(each)

    def lookup(self, table: Lookup) -> str:
        """The symbol of a constant table."""
        data = table.items.tobytes()
        symbol = next((name for name, known in self.code.tables.items() if known == data), "")
        if not symbol:
            symbol = f"ingot_table{len(self.code.tables)}"
            self.code.tables[symbol] = data
            self.code.declarations[symbol] = f"  llvm.func @{symbol}()"
        return symbol

    def weight(self, name: str) -> int:
        """The offset of a buffer in the weights."""
        if name not in self._placed:
            place = self.contents.weights.place
            self._placed[name] = place(self._key(name), lambda: self._content(name))
        return self._placed[name]

    def _key(self, name: str) -> Hashable:
        """What the tensor is: one of the model's, by its memory; a constant of the program, by its
        contents; or made of such by a recipe, in the layout of this machine."""
        if name in self.recipes:
            recipe = self.recipes[name]
            made = repr((recipe.calls, recipe.results, recipe.packing))
            return made, self.resources.machine.isa, tuple(map(self._key, recipe.sources))
        strides = tuple(integers(self.buffers[name].strides))
        if name in self.binding.weights:
            own = self.contents.state[self.binding.weights[name]]
            return own.data_ptr(), own.dtype, tuple(own.shape), own.stride(), strides
        flat = memory_of(self._tensor(name), strides)
        return flat.view(torch.uint8).numpy().tobytes(), flat.dtype

    def _content(self, name: str) -> Tensor:
        buffer = self.buffers[name]
        if buffer.kind not in (Kind.PACKED, Kind.FOLDED):
            return memory_of(self._tensor(name), integers(buffer.strides))
        recipe = self.recipes[name]
        sources = [self._tensor(source) for source in recipe.sources]
        with torch.no_grad():
            tensor = maker(recipe, self.resources)(*sources)
        is_packed = buffer.kind is Kind.PACKED
        return memory_of(tensor, tensor.stride() if is_packed else integers(buffer.strides))

    def _tensor(self, name: str) -> Tensor:
        own, constants = self.binding.weights.get(name), self.resources.constants
        if own is None and not isinstance(constants.get(name), Tensor):
            raise SaveError(
                f"native code reads {name}, which is no tensor of the call or the model"
            )
        tensor = constants[name] if own is None else self.contents.state[own]
        buffer = self.buffers[name]
        if own is not None and buffer.kind is Kind.INPUT:
            strides = integers(buffer.strides)
            return memory_of(tensor, strides).as_strided(tensor.shape, strides)
        return tensor.detach()


def integers(sizes: Sequence[Size]) -> list[int]:
    return [int(size) for size in sizes]
