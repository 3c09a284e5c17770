"""Copies of views, `x.neg_(); return torch.unsqueeze_copy(x, 0)`: results in their own memory, even
if a compiler computes them as views of a value that it writes to an input.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim
from torch.utils._pytree import tree_leaves

import ingot
from tests.ops.compare import alias_map

aten = torch.ops.aten
Step = Callable[[Tensor], Any]

COPIES: dict[str, Step] = {
    "_reshape_alias_copy": lambda x: aten._reshape_alias_copy(x, [4, 6], [6, 1]),
    "alias_copy": lambda x: aten.alias_copy(x),
    "as_strided_copy": lambda x: aten.as_strided_copy(x, [3, 2], [2, 1]),
    "detach_copy": lambda x: aten.detach_copy(x),
    "diagonal_copy": lambda x: aten.diagonal_copy(x),
    "expand_copy": lambda x: aten.expand_copy(x, [2, *x.shape]),
    "narrow_copy": lambda x: aten.narrow_copy(x, 1, 1, 2),
    "permute_copy": lambda x: aten.permute_copy(x, [1, 0]),
    "select_copy": lambda x: aten.select_copy(x, 0, 1),
    "slice_copy": lambda x: aten.slice_copy(x, 1, 1),
    "split_copy": lambda x: aten.split_copy(x, 2, 1),
    "split_with_sizes_copy": lambda x: aten.split_with_sizes_copy(x, [2, 4], 1),
    "squeeze_copy": lambda x: aten.squeeze_copy(x),
    "t_copy": lambda x: aten.t_copy(x),
    "transpose_copy": lambda x: aten.transpose_copy(x, 0, 1),
    "unbind_copy": lambda x: aten.unbind_copy(x),
    "unfold_copy": lambda x: aten.unfold_copy(x, 1, 2, 2),
    "unsqueeze_copy": lambda x: aten.unsqueeze_copy(x, 0),
    "view_as_complex_copy": lambda x: aten.view_as_complex_copy(x.unflatten(1, (3, 2))),
    "view_as_real_copy": lambda x: aten.view_as_real_copy(torch.view_as_complex(x.view(4, 3, 2))),
    "view_copy": lambda x: aten.view_copy(x, [-1]),
    "view_copy.dtype": lambda x: aten.view_copy(x, torch.int32),
}
PLACES: dict[str, Callable[[Step], Step]] = {
    "of a written input": lambda copy: lambda x: (x.neg_(), copy(x))[1],
    "of an input": lambda copy: lambda x: (copy(x), x * 2),
    "of a result": lambda copy: lambda x: (lambda y: (y, copy(y), copy(y)))(x.neg()),
    "of a value copied to an input": lambda copy: (
        lambda x: (lambda y: (x.copy_(y), copy(y))[1])(x.neg())
    ),
}
VIEWS: dict[str, Step] = {
    "itself": lambda y: y,
    "unsqueezed": lambda y: y.unsqueeze(0),
    "flat": lambda y: y.view(-1),
    "a part": lambda y: y[1:],
    "chunks": lambda y: y.chunk(3, 1),
}


OF_OTHER_TENSORS = re.compile("sparse|nested|indices|values|primal|dual|conj|neg|lift|test")
"""Copied views of tensors that are not dense, or not of one real element each."""


def test_every_copied_view_is_covered() -> None:
    names = {n.partition(".")[0] for n in torch._C._dispatch_get_all_op_names()}
    found = {
        name.removeprefix("aten::")
        for name in names
        if name.startswith("aten::") and name.endswith("_copy") and name[:-5] in names
    }
    views = {n for n in found if _is_view(n.removesuffix("_copy"))}
    assert {n for n in views if not OF_OTHER_TENSORS.search(n)} <= {
        name.partition(".")[0] for name in COPIES
    }


def _is_view(name: str) -> bool:
    packet = getattr(aten, name)
    overload = getattr(packet, packet.overloads()[0])
    alias = overload._schema.arguments[0].alias_info
    return alias is not None and not alias.is_write


def check(function: Callable[..., Any], entry: str, inputs: int = 1) -> None:
    ours, theirs = _examples(inputs), _examples(inputs)
    with torch.no_grad():
        compiled = compiled_for(function, entry, inputs)
        got, wanted = tree_leaves(compiled(*ours)), tree_leaves(function(*theirs))
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(ours, theirs)
    assert alias_map(got, ours) == alias_map(wanted, theirs)
    assert [_memory(t, got) for t in got] == [_memory(t, wanted) for t in wanted]


def _examples(count: int) -> list[Tensor]:
    return [torch.arange(24.0).view(4, 6) for _ in range(count)]


def _memory(result: Tensor, among: list[Tensor]) -> int:
    known = [t.untyped_storage()._cdata for t in among]
    return known.index(result.untyped_storage()._cdata)


def compiled_for(function: Callable[..., Any], entry: str, inputs: int) -> Callable[..., Any]:
    options, dynamic = {"strict": True}, entry.endswith("dynamic")
    if entry.startswith("torch.compile"):
        torch._dynamo.reset()
        return torch.compile(function, backend="ingot", dynamic=dynamic, options=options)
    sizes = {0: Dim.AUTO, 1: Dim.AUTO} if dynamic else None
    shapes = ((sizes,) * inputs,) if dynamic else None
    return ingot.compile(function, _examples(inputs), dynamic_shapes=shapes, options=options)


ENTRIES = ("torch.compile", "torch.compile, dynamic", "ingot.compile", "ingot.compile, dynamic")


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("place", PLACES)
def test_copied_views(place: str, entry: str) -> None:
    functions = [PLACES[place](copy) for copy in COPIES.values()]

    def all_of_them(*inputs: Tensor) -> Any:
        return [function(x) for function, x in zip(functions, inputs, strict=True)]

    check(all_of_them, entry, len(functions))


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("view", VIEWS)
def test_views_of_a_value_copied_to_an_input(view: str, entry: str) -> None:
    def function(*inputs: Tensor) -> Any:
        (x,) = inputs
        y = x.neg()
        x.copy_(y)
        return VIEWS[view](y)

    check(function, entry)


CALLS: dict[str, Step] = {
    "max": lambda x: torch.max(x, 1),
    "sort": lambda x: torch.sort(x, 1),
    "topk": lambda x: torch.topk(x, 2)[0],
    "frexp": lambda x: torch.frexp(x),
    "split_copy": lambda x: aten.split_copy(x, 2, 1),
    "neg": lambda x: -x,
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("call", CALLS)
def test_equal_calls_have_results_of_their_own(call: str, entry: str) -> None:
    def function(*inputs: Tensor) -> Any:
        (x,) = inputs
        return CALLS[call](x), CALLS[call](x)

    check(function, entry)
