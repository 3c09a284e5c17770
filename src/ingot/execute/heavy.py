"""Products, convolutions, attention, recurrences and copies into caches as steps of the native
program. Comes in: what the plan found of one; goes out: a step, its function and words, in the
writer's open segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from ingot.codegen.attention import attention_function
from ingot.codegen.batched import batched_function, batched_share
from ingot.codegen.gemm import WORK_PER_THREAD, packed_as
from ingot.codegen.library import library_function
from ingot.codegen.placing import placing_function
from ingot.codegen.product import EACH, product_function, share_function
from ingot.codegen.recurrence import lstm_function, packed_gates
from ingot.dispatch.builtin_variants import always
from ingot.dispatch.ranges import RangeTable
from ingot.dispatch.threads import attention_work, product_work
from ingot.execute.choices import write_choice
from ingot.fuse import index as ix
from ingot.plan.attentions import Attention
from ingot.plan.batches import Batch
from ingot.plan.chains import Chain
from ingot.plan.choices import attention_table, product_table
from ingot.plan.convolutions import Convolution
from ingot.plan.derived import derived
from ingot.plan.placings import Placing
from ingot.plan.products import Product, Weight
from ingot.plan.recurrences import Recurrence
from ingot.plan.roles import Heavy
from ingot.plan.segment import ARENA, ZERO, NativeStep, SizedStep, Word
from ingot.plan.teams import shared, useful
from ingot.program.shapes import Size, shape_of, tensor_of

if TYPE_CHECKING:
    from ingot.execute.runner import RunnerWriter

ALONE = (Word(ZERO, 0),)
"""No function follows."""


def write_heavy(writer: RunnerWriter, call: Heavy, number: int) -> None:
    if isinstance(call, Attention):
        _attention(writer, call, number)
    elif isinstance(call, Convolution):
        _convolution(writer, call, number)
    elif isinstance(call, Chain):
        _chain(writer, call, number)
    elif isinstance(call, Recurrence):
        _recurrence(writer, call, number)
    elif isinstance(call, Batch):
        _batch(writer, call, number)
    elif isinstance(call, Placing):
        _placing(writer, call, number)
    else:
        _product(writer, call, number)


def _product(writer: RunnerWriter, product: Product, number: int) -> None:
    makers = {
        "packed": lambda: packed_products(writer, [(product, ALONE)], number),
        "library": lambda: _library_product(writer, product, number),
    }
    write_choice(writer, _product_table(writer, product), product.sizes[0], makers)


def is_packed(writer: RunnerWriter, product: Product) -> bool:
    """Does it always run on its packed weight?"""
    return {row.serves for row in _product_table(writer, product).rows} == {"packed"}


def _product_table(writer: RunnerWriter, product: Product) -> RangeTable:
    if _is_narrow(writer, product):
        return always("packed", "weights=int8")
    return product_table(writer.ways, product, writer.symbol_ranges)


def packed_products(
    writer: RunnerWriter,
    products: Sequence[tuple[Product, Sequence[Word]]],
    number: int,
    in_step: bool = False,
) -> NativeStep:
    """Products of the same rows, each with the function that follows it and that one's words.
    `in_step`: these read what the same thread has just made of those before."""
    first, _ = products[0]
    dtype, stored = tensor_of(first.node).dtype, stored_dtype(writer, first)
    work = sum(ix.product(product.sizes) for product, _ in products)
    share = shared(share_function(dtype, stored), work, product_work(writer.ways))
    sizes = [
        first.row_strides[0], first.sizes[0], first.sizes[2],
        1 if share is None else share.threads, int(in_step), len(products),
    ]  # fmt: skip
    words = [writer.address(first.left, number), *(Word(ZERO, size) for size in sizes)]
    for product, follower in products:
        words += _packed_product(writer, product, follower, number)
    sources = [product.node for product, _ in products]
    return NativeStep(product_function(dtype, stored), tuple(words), sources, share=share)


def _packed_product(
    writer: RunnerWriter, product: Product, follower: Sequence[Word], number: int
) -> list[Word]:
    _, rows, addend_rows = product.row_strides
    return [
        Word(ZERO, len(EACH) - 1 + len(follower)),
        _packed(writer, product.weight, stored_dtype(writer, product)),
        _addend(writer, product, number), writer.address(product.node, number), Word(ZERO, rows),
        Word(ZERO, product.sizes[1]), Word(ZERO, addend_rows), *follower,
    ]  # fmt: skip


def stored_dtype(writer: RunnerWriter, product: Product) -> torch.dtype:
    """Of its packed weight."""
    return torch.int8 if _is_narrow(writer, product) else product.weight.exact


def _is_narrow(writer: RunnerWriter, product: Product) -> bool:
    """Is its weight held as 8-bit integers?"""
    return writer.options.weights == "int8" and product.is_linear


def _library_product(writer: RunnerWriter, product: Product, number: int) -> NativeStep:
    node, weight = product.node, product.weight
    dtype = tensor_of(node).dtype
    left_rows, rows, addend_rows = product.row_strides
    by_columns = weight.strides[1] != 1
    words = (
        writer.address(product.left, number), Word(ZERO, left_rows),
        writer.memory(weight.root, number, weight.offset * dtype.itemsize),
        Word(ZERO, weight.strides[1 if by_columns else 0]), Word(ZERO, int(by_columns)),
        _addend(writer, product, number), Word(ZERO, addend_rows),
        writer.address(node, number), Word(ZERO, rows),
        *(Word(ZERO, size) for size in product.sizes),
    )  # fmt: skip
    return NativeStep(library_function(dtype), words, node)


def _addend(writer: RunnerWriter, product: Product | Batch, number: int) -> Word:
    if product.addend is None:
        return Word(ZERO, 0)
    return writer.address(product.addend, number)


def _attention(writer: RunnerWriter, call: Attention, number: int) -> None:
    addresses = [writer.address(n, number) for n in (call.query, call.key, call.value)]
    addresses.append(Word(ZERO, 0) if call.mask is None else writer.address(call.mask, number))
    addresses.append(writer.address(call.node, number))
    width = shape_of(call.query)[3]
    assert isinstance(width, int)
    function = attention_function(tensor_of(call.node).dtype, width)
    work = attention_work(writer.ways)

    def step(few: bool) -> NativeStep:
        words = [*addresses, *(Word(ZERO, size) for size in call.sizes(few, work))]
        return NativeStep(function, tuple(words), call.node)

    table = attention_table(writer.ways, call, writer.symbol_ranges)
    makers = {"few": lambda: step(True), "many": lambda: step(False)}
    write_choice(writer, table, shape_of(call.query)[2], makers)


def _batch(writer: RunnerWriter, call: Batch, number: int) -> None:
    addresses = [writer.address(n, number) for n in (call.left, call.right, call.node)]
    addresses.append(_addend(writer, call, number))
    words = (*addresses, *(Word(ZERO, size) for size in call.sizes()))
    dtype = tensor_of(call.node).dtype
    share = shared(batched_share(dtype), ix.product(call.counts()), product_work(writer.ways))
    step = NativeStep(batched_function(dtype), words, call.node, share=share)
    writer.segment.steps.append(step)


def _placing(writer: RunnerWriter, call: Placing, number: int) -> None:
    function = placing_function(tensor_of(call.node).dtype.itemsize)
    target, given, index, source = (
        writer.address(n, number) for n in (call.node, call.given, call.index, call.source)
    )

    def write(*words: Word | Size) -> None:
        given = (w if isinstance(w, Word) else Word(ZERO, w) for w in words)
        writer.segment.steps.append(NativeStep(function, tuple(given), call.node))

    if call.node not in writer.in_place:
        write(target, given, 0, *call.copy_sizes())
    write(target, source, index, *call.sizes())


def _recurrence(writer: RunnerWriter, call: Recurrence, number: int) -> None:
    made = derived(call.weight)
    weight = writer.prepared(
        f"gates of {made.recipe}",
        lambda *tensors: packed_gates(made.values(*tensors)[0]), made.roots,
    )  # fmt: skip
    states = [writer.address(n, number) for n in (call.hidden, call.cell, call.node)]
    words = [writer.address(call.gates, number), Word(weight, 0), *states]
    words += [Word(ZERO, size) for size in call.sizes()]
    function = lstm_function(tensor_of(call.node).dtype)
    writer.segment.steps.append(NativeStep(function, tuple(words), call.node))


def _convolution(writer: RunnerWriter, step: Convolution, number: int) -> None:
    image, result, _ = (start * step.dtype.itemsize for start in step.starts)
    words = {
        "image": writer.address(step.image, number, image),
        "c": writer.address(step.node, number, result),
        **_convolution_words(writer, step, number),
    }
    if step.scratch():
        writer.arena.make(step, step.scratch(), number)
        words["scratch"] = Word(ARENA, 0, step)
    threads = useful(step.geometry.work, WORK_PER_THREAD)
    sized = SizedStep(words, step.geometry.sizes(), step.launches, step.node, threads)
    writer.segment.steps.append(sized)


def _convolution_words(writer: RunnerWriter, step: Convolution, number: int) -> dict[str, Word]:
    """All but the image and the result."""
    size = step.dtype.itemsize
    weights = writer.prepared(step.weights.recipe, step.weights.make, step.weights.roots())
    starts = step.weights.starts(step.geometry.terms)
    words = {name: Word(weights, start * size) for name, start in starts.items()}
    words["addend"] = Word(ZERO, 0)
    if step.addend is not None:
        words["addend"] = writer.address(step.addend, number, step.starts[2] * size)
    return words


def _chain(writer: RunnerWriter, chain: Chain, number: int) -> None:
    first, last = chain.stages[0], chain.stages[-1]
    size = chain.dtype.itemsize
    writer.arena.make(chain, chain.scratch(), number)
    words = {
        "room": Word(ARENA, 0, chain),
        "image 0": writer.address(first.image, number, first.starts[0] * size),
        f"c {len(chain.stages) - 1}": writer.address(last.node, number, last.starts[1] * size),
    }
    for place, stage in enumerate(chain.stages):
        for name, word in _convolution_words(writer, stage, number).items():
            words[f"{name} {place}"] = word
    threads = useful(chain.work, WORK_PER_THREAD)
    writer.segment.steps.append(SizedStep(words, (), chain.launches, chain.node, threads))


def _packed(writer: RunnerWriter, weight: Weight, stored: torch.dtype) -> Word:
    """The address of a weight, packed for products."""
    made = derived(weight.root)
    base = writer.prepared(
        f"{stored} {weight.recipe} of {made.recipe}",
        lambda *tensors: packed_as(stored, weight.of(made.values(*tensors)[0])), made.roots,
    )  # fmt: skip
    return Word(base, 0)
