"""The work that is worth a thread, from tables of serial and parallel variants by size. The result,
for each kind of native code, is half of the work from which on a second thread is woken, in the
unit that the code counts. It is measured on one op of the kind, whose work is linear in its size. A
table made while other processes occupied the cores is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from ingot.codegen.loops.entry import WORK_PER_THREAD as KERNEL_WORK
from ingot.codegen.loops.gemm import WORK_PER_THREAD as MATMUL_WORK
from ingot.dispatch.builtin_variants import BUILT_IN, Form, up_to
from ingot.dispatch.variants import BY_HAND, Variants
from ingot.ops.kernel_shapes import ATTENTION_WORK
from ingot.ops.rules import pointwise_rules

NEVER = 1 << 50
SIDE = 64
"""Of the weight of the measured matmul; the width of heads."""
HEADS = 4
F32 = torch.float32


def kernel_work(variants: Variants) -> int:
    """In instructions, roughly."""
    cost = 2 + pointwise_rules[torch.ops.aten.exp.default].cost
    return _work(variants, "kernel_threads", {"x": (F32, (4096,), (1,))}, KERNEL_WORK, cost)


def matmul_work(variants: Variants) -> int:
    """In multiplications."""
    forms = {"a": (F32, (37, SIDE), (SIDE, 1)), "w": (F32, (SIDE, SIDE), (SIDE, 1))}
    return _work(variants, "matmul_threads", forms, MATMUL_WORK, SIDE * SIDE)


def attention_work(variants: Variants) -> int:
    """In multiplications."""
    forms = {
        name: (F32, (1, HEADS, n, SIDE), (HEADS * n * SIDE, n * SIDE, SIDE, 1))
        for name, n in {"q": 1, "kv": 37}.items()
    }
    return _work(variants, "attention_threads", forms, ATTENTION_WORK, HEADS * SIDE)


def _work(
    variants: Variants, name: str, forms: Mapping[str, Form], built_in: int, unit: int
) -> int:
    bound = max(0, 2 * built_in // unit - 1)
    table = variants.table(name, forms, up_to(bound, "serial", "parallel"))
    if all(row.why == BUILT_IN for row in table.rows):
        return built_in
    last = table.rows[-1]
    if last.serves == "parallel":
        return max(1, last.box[0].low * unit // 2)
    # Threads that did not help even at the largest size had no cores to run on.
    return NEVER if last.why == BY_HAND else built_in
