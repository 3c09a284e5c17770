"""Checks of memory: views inside their buffers, lifetimes that cover every use, and no overlap in
the arena. Checks that depend on symbols are made for given sizes."""

from __future__ import annotations

from collections.abc import Iterable

from ingot.plan.arena import LINE, Lifetime, arranged
from ingot.plan.invariants import Invariant
from ingot.plan.ir import Branch, Buffer, Kind, Launch, Loop, Operand, Pointer, Return
from ingot.plan.verify_context import Fault, VerifyContext


def verify_memory(context: VerifyContext) -> None:
    for position, op in enumerate(context.ops):
        match op:
            case Launch():
                for argument in op.arguments:
                    if isinstance(argument, Pointer):
                        _pointer(context, argument, position)
                for operand, _ in op.computes.operands():
                    _operand(context, operand, position)
                _in_place(context, op, position)
            case Loop():
                _loop(context, op, position)
            case Branch(condition=Pointer() as flag):
                _pointer(context, flag, position)
            case Return():
                for value in op.values:
                    if isinstance(value, Operand):
                        _operand(context, value, position)
    if Invariant.ARENA in context.holds:
        _lifetimes(context)
        _arena(context)
    elif any(b.lifetime is not None or b.offset is not None for b in context.plan.buffers):
        raise Fault(None, "a lifetime or an offset before the arena is assigned")


def _operand(context: VerifyContext, operand: Operand, position: int) -> None:
    buffer = context.buffer(operand.buffer, position)
    extent, offset = context.extent(operand), context.number(operand.offset)
    if offset is not None and (offset < 0 or offset % operand.dtype.itemsize):
        raise Fault(position, f"an offset of {offset} bytes in %{buffer.name}")
    if any((n := context.number(s)) is not None and n < 0
           for s in (*operand.shape, *operand.strides)):  # fmt: skip
        raise Fault(position, f"a view of %{buffer.name} with negative sizes or strides")
    size = _nbytes(context, buffer)
    if None not in (extent, offset, size) and extent and offset + extent > size:  # type: ignore[operator]
        raise Fault(
            position,
            f"bytes {offset} to {offset + extent} of %{buffer.name}, which has {size}",  # type: ignore[operator]
        )


def _pointer(context: VerifyContext, pointer: Pointer, position: int) -> None:
    """The size of packed memory is determined by its packing and is not checked."""
    buffer = context.buffer(pointer.buffer, position)
    offset = context.number(pointer.offset)
    if offset is None or buffer.dtype is None:
        return
    size = None if buffer.kind is Kind.PACKED else _nbytes(context, buffer)
    if offset < 0 or offset % buffer.dtype.itemsize or (size and offset >= size):
        raise Fault(position, f"a pointer to byte {offset} of %{buffer.name}, which has {size}")


def _nbytes(context: VerifyContext, buffer: Buffer) -> int | None:
    return None if buffer.dtype is None else context.extent(buffer)


def _in_place(context: VerifyContext, op: Launch, position: int) -> None:
    """Outputs of a launch are disjoint from its inputs, or exactly the same view."""
    for _, source in op.computes.inputs:
        if not isinstance(source, Operand):
            continue
        for _, target in op.computes.outputs:
            if source.buffer != target.buffer or source == target:
                continue
            spans = [(context.number(o.offset), context.extent(o)) for o in (source, target)]
            (a, n), (b, m) = spans
            if None in (a, n, b, m):
                continue
            if a < b + m and b < a + n and n and m:  # type: ignore[operator]
                raise Fault(position, f"it reads and writes overlapping views of %{source.buffer}")


def _loop(context: VerifyContext, op: Loop, position: int) -> None:
    for carried in op.carried:
        wanted = _nbytes(context, context.buffers[carried.old])
        for operand in (carried.start, carried.result):
            if operand is not None:
                _operand(context, operand, position)
                if _differ(context.extent(operand), wanted):
                    raise Fault(position, f"the value of %{carried.old} changes its size")
        for name in (carried.new, *carried.memory):
            if _differ(_nbytes(context, context.buffers[name]), wanted):
                raise Fault(position, f"%{name} is not of the same size as %{carried.old}")
    for piece in op.sliced:
        _pointer(context, piece.memory, position)
        stride, offset = context.number(piece.stride), context.number(piece.memory.offset)
        one = _nbytes(context, context.buffers[piece.cursor])
        whole = _nbytes(context, context.buffers[piece.memory.buffer])
        count = None if op.count is None else context.number(op.count)
        if count is None or stride is None or offset is None or one is None or whole is None:
            continue
        if stride < 0 or (count > 0 and offset + (count - 1) * stride + one > whole):
            raise Fault(position, f"{count} slices of {stride} bytes leave %{piece.memory.buffer}")
        if piece.access == "w" and count > 1 and stride < one:
            raise Fault(position, f"the slices of %{piece.memory.buffer} overlap")
    if op.flag is not None:
        _pointer(context, op.flag, position)


def _differ(a: int | None, b: int | None) -> bool:
    return a is not None and b is not None and a != b


# -- the arena -------------------------------------------------------------------------------------


def _lifetimes(context: VerifyContext) -> None:
    for buffer in context.plan.buffers:
        if buffer.kind is not Kind.ARENA or buffer.lifetime is None:
            continue
        first, last = buffer.lifetime
        needed = context.alive.get(buffer.name)
        if needed is None:
            raise Fault(f"%{buffer.name}", f"%{buffer.name} has a lifetime, but is not in use")
        if (first, last) != needed:
            raise Fault(f"%{buffer.name}", f"%{buffer.name} is in use at {needed[0]}..{needed[1]}")


def _arena(context: VerifyContext) -> None:
    arena = [b for b in context.plan.buffers if b.kind is Kind.ARENA]
    placed = [b for b in arena if b.lifetime is not None]
    for buffer in arena:
        if buffer.lifetime is None and buffer.name in context.alive:
            raise Fault(f"%{buffer.name}", "it has no lifetime")
    sizes = [context.extent(buffer) for buffer in placed]
    static = all(isinstance(n, int) for b in placed for n in (*b.shape, *b.strides))
    if static:
        _overlaps(placed, [b.offset for b in placed], sizes)
    elif any(b.offset is not None for b in placed):
        raise Fault(None, "a fixed offset in an arena whose sizes are symbolic")
    elif None not in sizes:
        known = [size for size in sizes if size is not None]
        spans = (b.lifetime or (0, 0) for b in placed)
        lives = [Lifetime(first, last, n) for (first, last), n in zip(spans, known, strict=True)]
        _overlaps(placed, arranged(lives)[0], sizes)


def _overlaps(placed: list[Buffer], offsets: Iterable[int | None], sizes: list[int | None]) -> None:
    """Sorted by start: each buffer is compared only with those that start before its end."""
    found: list[tuple[int, int, Buffer]] = []
    for buffer, offset, size in zip(placed, offsets, sizes):
        assert size is not None
        if offset is None or offset < 0 or offset % LINE:
            raise Fault(f"%{buffer.name}", f"%{buffer.name} lies at {offset} in the arena")
        found.append((offset, offset + size, buffer))
    found.sort(key=lambda each: each[:2])
    for k, (_, end, buffer) in enumerate(found):
        for start, behind, other in found[k + 1 :]:
            if start >= end:
                break
            if behind > start and _together(buffer.lifetime, other.lifetime):
                raise Fault(f"%{other.name}", f"%{other.name} overlaps %{buffer.name} in the arena")


def _together(a: tuple[int, int] | None, b: tuple[int, int] | None) -> bool:
    return a is not None and b is not None and a[0] <= b[1] and b[0] <= a[1]
