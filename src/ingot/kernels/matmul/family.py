"""Matmuls with weights: ingot's kernel on packed panels, or BLAS on the weight in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import fx

from ingot.dispatch.builtin_variants import always
from ingot.dispatch.ranges import RangeTable
from ingot.dispatch.threads import matmul_work
from ingot.fuse import index as ix
from ingot.kernels.choose_variants import INT8, choose_variants
from ingot.kernels.family import Family, Reason, fields, useful_threads
from ingot.kernels.matmul.blas import FIELDS as LIBRARY_FIELDS
from ingot.kernels.matmul.blas import library_function
from ingot.kernels.matmul.claim import Matmul, Weight, matmul_of
from ingot.kernels.matmul.emit import EACH, FIELDS, matmul_function, share_function
from ingot.kernels.matmul.packing import Panels
from ingot.kernels.matmul.variants import matmul_table
from ingot.plan.draft import PlanDraft
from ingot.plan.ir import Argument, Function, Launch, Op, Parameter, Pointer
from ingot.program.shapes import tensor_of

aten = torch.ops.aten


@dataclass(frozen=True)
class FusedEpilogue:
    """An epilogue that runs on each part of a matmul's result as soon as it is done."""

    kernel: str
    arguments: tuple[Argument, ...]
    parameters: tuple[Parameter, ...]
    stored: tuple[fx.Node, ...]
    members: tuple[fx.Node, ...]
    read: tuple[fx.Node, ...]
    matmul_is_read: bool
    """Whether other nodes than the epilogue read the matmul."""


Member = tuple[Matmul, FusedEpilogue | None]


class MatmulFamily(Family[Matmul]):
    name = "matmul"
    targets = (aten.mm.default, aten.addmm.default, aten.convolution.default)

    def match(self, node: fx.Node, frozen: set[fx.Node]) -> Sequence[Matmul] | Reason:
        found = matmul_of(node, frozen)
        if isinstance(found, Reason):
            return found
        return [] if found is None else [found]

    def launch(self, claim: Matmul, draft: PlanDraft) -> list[Op]:
        makers = {
            "packed": lambda: [packed_launch(draft, [(claim, None)])],
            "library": lambda: [_library(draft, claim)],
        }
        table = table_of(draft, claim)
        name = f"{claim.node.name} (matmul)"
        return choose_variants(name, draft.decisions, table, claim.sizes[0], makers)

    early = (
        F.linear, torch.addmm, torch.mm, torch.matmul, aten.addmm.default, aten.mm.default,
        aten.linear.default,
    )  # fmt: skip

    def precompile(self, node: fx.Node, dtype: torch.dtype) -> None:
        from ingot.kernels.matmul.emit import begin

        begin(dtype)


def table_of(draft: PlanDraft, matmul: Matmul) -> RangeTable:
    if is_narrow(draft, matmul):
        return always("packed", INT8)
    return matmul_table(draft.variants, matmul, draft.ranges)


def is_packed(draft: PlanDraft, matmul: Matmul) -> bool:
    """Whether it always runs on its packed weight."""
    return {row.serves for row in table_of(draft, matmul).rows} == {"packed"}


def is_narrow(draft: PlanDraft, matmul: Matmul) -> bool:
    """Whether its weight is packed as 8-bit integers."""
    return draft.variants.options.weights == "int8" and matmul.is_linear


def stored_dtype(draft: PlanDraft, matmul: Matmul) -> torch.dtype:
    """The dtype of its packed weight."""
    return torch.int8 if is_narrow(draft, matmul) else matmul.weight.exact


def panels_of(weight: Weight, stored: torch.dtype) -> Panels:
    dtype = torch.uint8 if stored is torch.int8 else stored
    return Panels(dtype, stored, weight.shape, weight.strides, weight.offset)


def packed_launch(draft: PlanDraft, members: Sequence[Member], in_step: bool = False) -> Launch:
    """Matmuls of the same rows in one launch, each with its epilogue. `in_step`: an epilogue reads
    the result of an earlier matmul that the same thread has just computed."""
    first, _ = members[0]
    dtype, stored = tensor_of(first.node).dtype, stored_dtype(draft, first)
    work = sum(ix.product(matmul.sizes) for matmul, _ in members)
    share = share_function(dtype, stored)
    threads = useful_threads(work, matmul_work(draft.variants)) if share else None
    arguments: list[Argument] = [
        draft.pointer(first.left), first.row_strides[0], first.sizes[0], first.sizes[2],
        1 if threads is None else threads, int(in_step), len(members),
    ]  # fmt: skip
    parameters = list(fields(FIELDS, {"a": ("r", dtype)}))
    for matmul, epilogue in members:
        more, declared = _member(draft, matmul, epilogue, stored)
        arguments += more
        parameters += declared
    kernel = draft.kernel("matmul", matmul_function(dtype, stored), parameters, share)
    computes = draft.computes(*_computed(members))
    return draft.launch(kernel, arguments, computes, threads=threads)


def _computed(
    members: Sequence[Member],
) -> tuple[list[fx.Node], list[fx.Node], list[fx.Node]]:
    """(stored nodes, computed nodes, read nodes)"""
    outputs: list[fx.Node] = []
    inside: list[fx.Node] = []
    read: list[fx.Node] = []
    for matmul, epilogue in members:
        inside.append(matmul.node)
        read += matmul.reads()
        if epilogue is None or epilogue.matmul_is_read:
            outputs.append(matmul.node)
        if epilogue is not None:
            outputs += epilogue.stored
            inside += epilogue.members
            read += epilogue.read
    return outputs, inside, read


def _member(
    draft: PlanDraft, matmul: Matmul, epilogue: FusedEpilogue | None, stored: torch.dtype
) -> tuple[list[Argument], list[Parameter]]:
    _, rows, addend_rows = matmul.row_strides
    dtype = tensor_of(matmul.node).dtype
    packing = panels_of(matmul.weight, stored)
    follows: tuple[Argument, ...] = (0,)
    if epilogue is not None:
        follows = (Function(epilogue.kernel), *epilogue.arguments)
    arguments = [
        len(EACH) - 1 + len(follows), draft.packed(packing, matmul.weight.root),
        _addend(draft, matmul.addend), draft.pointer(matmul.node), rows, matmul.sizes[1],
        addend_rows, *follows,
    ]  # fmt: skip
    pointers = {
        "b": ("r", packing.dtype), "addend": ("r", dtype), "c": ("rw", dtype),
        "epilogue": ("call", None),
    }  # fmt: skip
    parameters = [*fields(EACH, pointers, ("addend", "epilogue"))]
    if epilogue is not None:
        parameters += epilogue.parameters
    return arguments, parameters


def _addend(draft: PlanDraft, addend: fx.Node | None) -> Argument:
    return 0 if addend is None else draft.pointer(addend)


def _library(draft: PlanDraft, matmul: Matmul) -> Launch:
    node, weight = matmul.node, matmul.weight
    dtype = tensor_of(node).dtype
    left_rows, rows, addend_rows = matmul.row_strides
    by_columns = weight.strides[1] != 1
    root = draft.pointer(weight.root)
    m, n, k = matmul.sizes
    values: dict[str, Argument] = {
        "a": draft.pointer(matmul.left), "lda": left_rows,
        "b": Pointer(root.buffer, root.offset + weight.offset * dtype.itemsize),
        "ldb": weight.strides[1 if by_columns else 0], "by_columns": int(by_columns),
        "addend": _addend(draft, matmul.addend), "ldadd": addend_rows,
        "c": draft.pointer(node), "ldc": rows, "m": m, "n": n, "k": k,
    }  # fmt: skip
    pointers = {name: ("r", dtype) for name in ("a", "b", "addend")} | {"c": ("w", dtype)}
    kernel = draft.kernel(
        "blas", library_function(dtype), fields(LIBRARY_FIELDS, pointers, ("addend",))
    )
    arguments = [values[name] for name in LIBRARY_FIELDS]
    return draft.launch(kernel, arguments, draft.computes([node], [node]))
