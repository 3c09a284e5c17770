"""Writes a function over the context of a call: arguments, addresses and frames of launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import sympy
import torch

from ingot.codegen.mlir.blocks import BlockBuilder
from ingot.codegen.support.executor import FRAME_WORDS
from ingot.deploy.plan_scope import PlanScope, integers
from ingot.deploy.size_code import SizeWriter
from ingot.errors import SaveError
from ingot.kernels.native_call import CallWord, Code, Lookup
from ingot.machine import targeting
from ingot.ops.values import Ptr, Val
from ingot.plan.ir import Argument, Buffer, Expansion, Function, Launch, Pointer
from ingot.plan.resources import KernelEntry
from ingot.program.shapes import Size

I64 = torch.int64
CONTEXT = Ptr("%context")
WEIGHTS, WORKSPACE = 0, 1
"""Words of the context."""
Invoke = Callable[[KernelEntry, Sequence[Val]], None]
"""Writes a call of a kernel with its arguments."""


def is_static(code: Expansion) -> bool:
    return all(isinstance(size, int) or size.is_Integer for size in code.sizes())


class ContextWriter:
    """Writes one function of the context."""

    def __init__(self, plan: PlanScope):
        self.plan, self.b = plan, BlockBuilder()
        self.sizes = SizeWriter(self.b, self._symbol)

    def const(self, value: int) -> Val:
        return self.b.const(value, I64)

    def _symbol(self, symbol: sympy.Symbol) -> Val:
        number = self.plan.symbols.get(symbol.name)
        if number is None:
            raise SaveError(f"the size {symbol} is none of the call's")
        return self.word(number)

    def word(self, number: int) -> Val:
        return self.b.load_word(self.b.word_at(CONTEXT, number))

    def set_word(self, number: int, value: Val) -> None:
        self.b.store_register(self.b.word_at(CONTEXT, number), value)

    # -- arguments ---------------------------------------------------------------------------------

    def address(self, name: str, offset: Size = 0) -> Val:
        """The address of a byte of a buffer."""
        plan, buffer = self.plan, self.plan.buffers[name]
        if buffer.alias is not None:
            return self.address(buffer.alias, self._start_in_root(buffer) + offset)
        place, slot = plan.arena.offset_of.get(name), plan.arena.slot_of.get(name)
        if slot is not None:
            start = self.b.add(self.word(WORKSPACE), self.word(plan.slots[slot]))
            return self._moved(start, 0, offset)
        if place is not None:
            return self._moved(self.word(WORKSPACE), place, offset)
        at = plan.words.get(name)
        if at is not None:
            return self._moved(self.word(at), 0, offset)
        return self._moved(self.word(WEIGHTS), plan.weight(name), offset)

    def _start_in_root(self, view: Buffer) -> Size:
        """The bytes between the start of what a view is of, and its own."""
        assert view.dtype is not None and view.alias is not None
        offsets = self.plan.binding.offsets
        return (offsets[view.name] - offsets.get(view.alias, 0)) * view.dtype.itemsize

    def _moved(self, start: Val, by: int, offset: Size) -> Val:
        if isinstance(offset, int):
            by += offset
            return self.b.add(start, self.const(by)) if by else start
        moved = self.b.add(start, self.sizes.value(offset))
        return self.b.add(moved, self.const(by)) if by else moved

    def argument(self, value: Argument) -> Val:
        if isinstance(value, Pointer):
            return self.address(value.buffer, value.offset)
        if isinstance(value, Function):
            return self.code_address(self.plan.resources.kernels[value.kernel].address)
        return self.sizes.value(value)

    def code_address(self, address: int) -> Val:
        return self.b.as_number(self.b.address_of(self.plan.function(address)))

    # -- launches ----------------------------------------------------------------------------------

    def launch(self, op: Launch, invoke: Invoke) -> None:
        """Writes the native calls of a launch by `invoke`."""
        if op.attributes is None:
            entry = self.plan.resources.kernels[op.kernel]
            invoke(entry, [self.argument(each) for each in op.arguments])
            return
        kernel = next(k for k in self.plan.plan.kernels if k.name == op.kernel)
        names = (parameter.name for parameter in kernel.parameters)
        given = dict(zip(names, map(self.argument, op.arguments), strict=True))
        if is_static(op.attributes):
            self._expand(op.attributes, given, invoke)
        else:
            self._over_images(op.attributes, given, invoke)

    def _over_images(self, code: Expansion, given: Mapping[str, Val], invoke: Invoke) -> None:
        b, looped = self.b, code.of_one_image()
        if looped is None or not is_static(looped[0]):
            raise SaveError(
                "the images of a convolution have dynamic sizes: its tables are made for each",
                hints=["compile it for one size of image; the batch may be dynamic"],
            )
        one, count, steps = looped
        with b.loop(self.const(0), self.sizes.value(count), self.const(1)) as image:
            moved = {name: b.mul(image, self.sizes.value(by)) for name, by in steps.items()}
            here = {
                name: self._moved_unless_null(start, moved[name]) if name in moved else start
                for name, start in given.items()
            }
            self._expand(one, here, invoke)

    def _moved_unless_null(self, start: Val, by: Val) -> Val:
        missing = self.b.cmp("eq", start, self.const(0))
        return self.b.select(missing, start, self.b.add(start, by))

    def _expand(self, code: Expansion, given: Mapping[str, Val], invoke: Invoke) -> None:
        with targeting(self.plan.resources.machine):
            calls = code.launches(integers(code.sizes()))
        for call in calls:
            entry = KernelEntry(call.function, call.share)
            invoke(entry, [self._call_word(word, given) for word in call.words])

    def _call_word(self, word: CallWord, given: Mapping[str, Val]) -> Val:
        match word:
            case Code():
                return self.code_address(word.address)
            case Lookup():
                return self.b.as_number(self.b.address_of(self.plan.lookup(word)))
            case (name, offset):
                return self._moved(given[name], 0, offset)
        return self.const(word)

    def frame_memory(self) -> Ptr:
        return self.b.slot(I64, count=FRAME_WORDS)

    def fill(self, frame: Ptr, values: Sequence[Val]) -> None:
        for number, value in enumerate(values):
            self.b.store_register(self.b.word_at(frame, number), value)
