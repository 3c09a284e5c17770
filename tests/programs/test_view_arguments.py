"""Every op that returns views, with arguments other than the usual ones: foreign strides, negative
dims, steps, offsets, other dtypes. A decomposition that drops an argument gives wrong values or
strides here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.export import Dim
from torch.utils._pytree import tree_leaves

import ingot
from tests.ops.compare import alias_map, assert_same_metadata

aten = torch.ops.aten
Step = Callable[[Tensor], Any]

VIEWS: dict[str, list[Step]] = {
    "_reshape_alias": [
        lambda x: aten._reshape_alias(x, [6, 4], [1, 6]),
        lambda x: aten._reshape_alias.default(x, [4, 6], [0, 2]),
        lambda x: aten._reshape_alias.default(x[1:, 4:], [3, 2], [2, 1]),
        lambda x: aten._reshape_alias(x, [6, 4], [4, 1]),
    ],
    "as_strided": [
        lambda x: aten.as_strided(x, [3, 2], [1, 5]),
        lambda x: aten.as_strided(x[1:], [2, 2], [2, 1]),
        lambda x: aten.as_strided(x[1:], [2, 2], [2, 1], 3),
        lambda x: aten.as_strided(x[:, 2:], [2], [0], storage_offset=1),
    ],
    "alias": [lambda x: aten.alias(x[:, 1])],
    "conj": [lambda x: aten.conj(x.t())],
    "_conj": [lambda x: aten._conj(torch.complex(x, x))],
    "_neg_view": [lambda x: aten._neg_view(x[1:].t())],
    "detach": [lambda x: aten.detach(x[1:, ::2])],
    "diagonal": [
        lambda x: aten.diagonal(x, 1, 1, 0),
        lambda x: aten.diagonal(x, -2),
        lambda x: aten.diagonal(x[1:], offset=1, dim1=-1, dim2=-2),
    ],
    "expand": [
        lambda x: aten.expand(x[:1], [2, 3, -1], implicit=True),
        lambda x: aten.expand(x[:, 1:2], [-1, 3]),
    ],
    "imag": [lambda x: aten.imag(torch.complex(x, 2 * x).t())],
    "real": [lambda x: aten.real(torch.complex(x, 2 * x)[1:])],
    "lift_fresh": [lambda x: aten.lift_fresh(x[1:].t())],
    "narrow": [lambda x: aten.narrow(x, -1, -3, 2)],
    "permute": [lambda x: aten.permute(x.view(2, 2, 6), [-1, 0, 1])],
    "positive": [lambda x: aten.positive(x.t())],
    "reshape": [lambda x: aten.reshape(x.t(), [3, 2, -1]), lambda x: aten.reshape(x[1:], [-1])],
    "select": [lambda x: aten.select(x, -1, -2)],
    "slice": [
        lambda x: aten.slice(x, -1, -5, -1, 2),
        lambda x: aten.slice(x, 1, None, 100, 4),
        lambda x: aten.slice(x, 0, 3, 1),
        lambda x: aten.slice(x),
    ],
    "split": [lambda x: aten.split(x, 4, -1), lambda x: aten.split.sizes(x, [1, 3], 0)],
    "split_with_sizes": [lambda x: aten.split_with_sizes(x, [1, 5, 0], -1)],
    "squeeze": [
        lambda x: aten.squeeze.dim(x[:1, None], -2),
        lambda x: aten.squeeze.dims(x[:1, None, :1], [0, -1]),
        lambda x: aten.squeeze.dims(x[:1], []),
    ],
    "t": [lambda x: aten.t(x[1:, 1:]), lambda x: aten.t(x[1])],
    "tensor_split": [
        lambda x: aten.tensor_split.sections(x, 4, -1),
        lambda x: aten.tensor_split.indices(x, [-1, 2], 1),
    ],
    "to": [
        lambda x: aten.to.dtype(x.t(), torch.float64, copy=True),
        lambda x: aten.to.dtype(x.t(), torch.float32),
        lambda x: aten.to.dtype(x.t(), torch.float32, memory_format=torch.contiguous_format),
    ],
    "transpose": [lambda x: aten.transpose(x.view(2, 2, 6), -1, -3)],
    "unbind": [lambda x: aten.unbind(x, -1)],
    "unfold": [lambda x: aten.unfold(x, -1, 3, 2), lambda x: aten.unfold(x, 0, 4, 9)],
    "unsqueeze": [lambda x: aten.unsqueeze(x.t(), -2)],
    "view": [
        lambda x: aten.view(x, [2, -1, 3]),
        lambda x: aten.view.dtype(x[1:], torch.int16),
        lambda x: aten.view.dtype(x, torch.float64),
    ],
    "view_as_complex": [lambda x: aten.view_as_complex(x.view(4, 3, 2)[1:].transpose(0, 1))],
    "view_as_real": [lambda x: aten.view_as_real(torch.complex(x, 2 * x).t())],
    # Copies, and ops that are views in effect.
    "_unsafe_view": [lambda x: aten._unsafe_view(x.neg(), [-1, 2])],
    "as_strided_copy": [
        lambda x: aten.as_strided_copy(x, [3, 2], [1, 5]),
        lambda x: aten.as_strided_copy(x[1:], [2, 2], [0, 3]),
        lambda x: aten.as_strided_copy(x, [2], [2], 3),
    ],
    "_reshape_alias_copy": [lambda x: aten._reshape_alias_copy(x, [6, 4], [1, 6])],
    "unfold_copy": [lambda x: aten.unfold_copy(x, -1, 3, 2)],
    "expand_copy": [lambda x: aten.expand_copy(x[:1], [2, -1, -1], implicit=True)],
    "unsafe_split": [lambda x: aten.unsafe_split(x.neg(), 4, -1)],
    "unsafe_chunk": [lambda x: aten.unsafe_chunk(x.neg(), 4, 1)],
}
UNCOVERED = re.compile(
    "nested|pin_memory|slice_inverse|_fw_primal|dual|indices|values|sparse|coo|csr|ccol|col_|row_|test"
)
"""Views of tensors that are not dense, of other devices, and inside of transforms."""


def test_every_view_is_covered() -> None:
    names = [n for n in torch._C._dispatch_get_all_op_names() if n.startswith("aten::")]
    found = {op._schema.name.removeprefix("aten::") for op in map(_op, names) if _is_view(op)}
    assert {name for name in found if not UNCOVERED.search(name)} <= {*VIEWS}


def _op(name: str) -> OpOverload:
    packet, _, overload = name.removeprefix("aten::").partition(".")
    found = getattr(getattr(aten, packet), overload or "default")
    assert isinstance(found, OpOverload)
    return found


def _is_view(op: OpOverload) -> bool:
    """Among the ops with kernels of their own, which composite ops call."""
    views = any(result.alias_info for result in op._schema.returns)
    return views and not op._schema.is_mutable and not op._can_decompose()


PLACES: dict[str, Callable[[Step], Step]] = {
    "of an input": lambda view: view,
    "of a value": lambda view: lambda x: view(x + 1),
    "computed with": lambda view: lambda x: [y + y for y in tree_leaves(view(x * 2))],
}
DENSE_BEFORE_DISPATCH = {"lift_fresh"}
"""The tracer records `lift_fresh` as a copy, which is dense at the pre-dispatch level."""

ENTRIES = ("torch.compile", "ingot.compile", "pre-dispatch", "core",
           pytest.param("torch.compile, dynamic", marks=pytest.mark.slow),
           pytest.param("ingot.compile, dynamic", marks=pytest.mark.slow))  # fmt: skip


def compiled_for(function: Callable[..., Any], entry: str, count: int) -> Callable[..., Any]:
    options, dynamic = {"strict": True}, entry.endswith("dynamic")
    if entry.startswith("torch.compile"):
        torch._dynamo.reset()
        return torch.compile(function, backend="ingot", dynamic=dynamic, options=options)
    if not entry.startswith("ingot.compile"):
        return ingot.export(function, examples(count), level=entry)
    shapes = (({0: Dim.AUTO},) * count,) if dynamic else None
    return ingot.compile(function, examples(count), dynamic_shapes=shapes, options=options)


def examples(count: int) -> list[Tensor]:
    return [torch.arange(24.0).view(4, 6) for _ in range(count)]


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("place", PLACES)
def test_arguments_of_views(place: str, entry: str) -> None:
    skipped = DENSE_BEFORE_DISPATCH if entry == "pre-dispatch" else ()
    chosen = [
        (f"{name} {k}", PLACES[place](view))
        for name, views in VIEWS.items() for k, view in enumerate(views) if name not in skipped
    ]  # fmt: skip

    def function(*inputs: Tensor) -> list[Any]:
        return [view(x) for (_, view), x in zip(chosen, inputs, strict=True)]

    ours, theirs = examples(len(chosen)), examples(len(chosen))
    with torch.no_grad():
        results = compiled_for(function, entry, len(chosen))(*ours), function(*theirs)
    for (label, _), *rows in zip(chosen, *results, ours, theirs, strict=True):
        got, wanted = (tree_leaves(row) for row in rows[:2])
        for a, b in zip(got, wanted, strict=True):
            assert_same_metadata(a, b, label)
            torch.testing.assert_close(a, b, msg=label)
        assert torch.equal(rows[2], rows[3]), label
        assert alias_map(got, [rows[2]]) == alias_map(wanted, [rows[3]]), label


@pytest.mark.parametrize("entry", ENTRIES)
def test_writes_through_foreign_strides(entry: str) -> None:
    def function(x: Tensor) -> list[Tensor]:
        y = x * 2
        for each in (x, y):
            aten._reshape_alias.default(each, [6, 4], [1, 6])[1:3].neg_()
        return [y + 1]

    ours, theirs = examples(1), examples(1)
    with torch.no_grad():
        got, wanted = compiled_for(function, entry, 1)(*ours), function(*theirs)
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(ours, theirs)
