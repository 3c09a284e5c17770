"""Products, convolutions and attention as steps of the native program. Comes in: what the plan
found of one; goes out: a step, its function and words, in the writer's open segment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingot.codegen.attention import attention_function
from ingot.codegen.gemm import packed, product_function
from ingot.fuse.shapes import tensor_of
from ingot.plan.attentions import Attention
from ingot.plan.convolutions import Convolution
from ingot.plan.derived import derived
from ingot.plan.products import Product, Weight
from ingot.plan.roles import Heavy
from ingot.plan.segment import ARENA, ZERO, NativeStep, SizedStep, Word

if TYPE_CHECKING:
    from ingot.execute.runner import RunnerWriter


def write_heavy(writer: RunnerWriter, call: Heavy, number: int) -> None:
    if isinstance(call, Attention):
        _attention(writer, call, number)
    elif isinstance(call, Convolution):
        _convolution(writer, call, number)
    else:
        _product(writer, call, number)


def _product(writer: RunnerWriter, product: Product, number: int) -> None:
    node = product.node
    addend = Word(ZERO, 0)
    if product.addend is not None:
        addend = writer.address(product.addend, number)
    left_rows, rows, addend_rows = product.row_strides
    words = (
        writer.address(product.left, number), Word(ZERO, left_rows),
        _packed(writer, product.weight), addend, writer.address(node, number), Word(ZERO, rows),
        *(Word(ZERO, size) for size in product.sizes), Word(ZERO, addend_rows),
    )  # fmt: skip
    function = product_function(tensor_of(node).dtype)
    writer.segment.steps.append(NativeStep(function, words, node))


def _attention(writer: RunnerWriter, call: Attention, number: int) -> None:
    addresses = [writer.address(n, number) for n in (call.query, call.key, call.value)]
    addresses.append(Word(ZERO, 0) if call.mask is None else writer.address(call.mask, number))
    words = [*addresses, writer.address(call.node, number)]
    words += [Word(ZERO, size) for size in call.sizes()]
    function = attention_function(tensor_of(call.node).dtype)
    writer.segment.steps.append(NativeStep(function, tuple(words), call.node))


def _convolution(writer: RunnerWriter, step: Convolution, number: int) -> None:
    size = step.dtype.itemsize
    image, result, addend = (start * size for start in step.starts)
    weights = writer.prepared(step.weights, step.weights.recipe, step.weights.make,
                             step.weights.roots())  # fmt: skip
    words = {
        "image": writer.address(step.image, number, image),
        "addend": Word(ZERO, 0),
        "c": writer.address(step.node, number, result),
    }
    for name, start in step.weights.starts(step.geometry.terms).items():
        words[name] = Word(weights, start * size)
    if step.addend is not None:
        words["addend"] = writer.address(step.addend, number, addend)
    if step.scratch():
        writer.arena.make(step, step.scratch(), number)
        words["scratch"] = Word(ARENA, 0, step)
    sized = SizedStep(words, step.geometry.sizes(), step.launches, step.node)
    writer.segment.steps.append(sized)


def _packed(writer: RunnerWriter, weight: Weight) -> Word:
    """The address of a weight, packed for products."""
    made = derived(weight.root)
    base = writer.prepared(
        weight, f"{weight.recipe} of {made.recipe}",
        lambda *tensors: packed(weight.of(made.values(*tensors)[0])), made.roots,
    )  # fmt: skip
    return Word(base, 0)
