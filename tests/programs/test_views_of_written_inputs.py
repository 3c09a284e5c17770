"""Results that are views of a written input: eager's values, strides, offsets and memory, wherever
the input itself lies. A compiler sees neither the storage offset of an input nor its gaps: the
written value that a trace computes starts at 0 and is dense.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.export import Dim
from torch.utils._pytree import tree_leaves

import ingot

Step = Callable[[Tensor], Any]

VIEWS: dict[str, Step] = {
    "chunk": lambda x: x.chunk(3, -1),
    "split": lambda x: x.split(x.shape[1] // 2, -1),
    "split_with_sizes": lambda x: x.split([2, x.shape[1] - 2], 1),
    "tensor_split": lambda x: x.tensor_split(2, 1),
    "unbind": lambda x: x.unbind(1)[:4],
    "select": lambda x: x[:, -1],
    "slice": lambda x: x[1:, x.shape[1] // 2 :],
    "step": lambda x: x[:, ::2],
    "transposed": lambda x: x.t(),
    "unsqueezed": lambda x: x.unsqueeze(1),
    "expanded": lambda x: x[:, None].expand(-1, 2, -1),
    "expand_as": lambda x: x.expand_as(x),
    "split dimension": lambda x: x.unflatten(1, (2, x.shape[1] // 2)),
    "diagonal": lambda x: x.diagonal(1),
    "unfold": lambda x: x.unfold(1, 2, 3),
    "narrow": lambda x: x.narrow(1, 1, x.shape[1] - 2),
    "itself": lambda x: x,
}
WRITES: dict[str, Step] = {
    "all": lambda x: x.mul_(2),
    "zero_": lambda x: x.zero_(),
    "a chunk": lambda x: x.chunk(3, -1)[1].mul_(2),
    "a slice": lambda x: x[:, x.shape[1] // 2 :].add_(1),
    "a row": lambda x: x[-1].neg_(),
    "a column": lambda x: x[:, 1].fill_(7),
    "transposed": lambda x: x.t().mul_(torch.arange(x.shape[0])),
    "diagonal": lambda x: x.diagonal().mul_(3),
}
MEMORY: dict[str, Callable[[int, int], Tensor]] = {
    "dense": lambda rows, width: _numbers(rows, width),
    "an offset": lambda rows, width: _numbers(rows + 1, width)[1:],
    "gaps": lambda rows, width: _numbers(rows, width + 3)[:, 2:-1],
}


def _numbers(rows: int, width: int) -> Tensor:
    return torch.arange(float(rows * width)).view(rows, width)


def program(write: Step) -> Step:
    weight = torch.full((), 0.5, requires_grad=True)

    def before_and_after(x: Tensor) -> Any:
        before = [view(x) for view in VIEWS.values()]
        write(x)
        return before, [view(x) for view in VIEWS.values()], x * weight

    return before_and_after


def check(function: Step, compiled: Step, memory: str, rows: int, width: int) -> None:
    ours, theirs = MEMORY[memory](rows, width), MEMORY[memory](rows, width)
    got, wanted = tree_leaves(compiled(ours)), tree_leaves(function(theirs))
    label = f"{memory}, {rows}x{width}"
    torch.testing.assert_close(ours, theirs, msg=lambda text: f"{label}: {text}")
    assert [_place(t, ours) for t in got] == [_place(t, theirs) for t in wanted], label
    torch.testing.assert_close(got, wanted, msg=lambda text: f"{label}: {text}")


def _place(result: Tensor, source: Tensor) -> tuple[Any, ...]:
    shares = result.untyped_storage()._cdata == source.untyped_storage()._cdata
    return shares, result.shape, result.stride(), result.storage_offset()


@pytest.mark.parametrize("grad", [False, True], ids=["no grad", "grad"])
@pytest.mark.parametrize(
    ("write", "dynamic"),
    [*((write, True) for write in WRITES), ("all", False), ("a chunk", False), ("all", None)],
)
def test_torch_compile(write: str, dynamic: bool | None, grad: bool) -> None:
    torch._dynamo.reset()
    function = program(WRITES[write])
    compiled = torch.compile(
        function, backend="ingot", dynamic=dynamic, fullgraph=True, options={"strict": True}
    )
    with torch.set_grad_enabled(grad):
        check(function, compiled, "an offset", 2, 6)
        check(function, compiled, "gaps", 2, 6)
        if dynamic is not False:
            check(function, compiled, "an offset", 3, 8)


@pytest.mark.parametrize("memory", ["an offset", "gaps"])
@pytest.mark.parametrize("sizes", ["static", "dynamic"])
@pytest.mark.parametrize("write", WRITES)
def test_ahead(write: str, sizes: str, memory: str) -> None:
    function = program(WRITES[write])
    shapes = ({0: Dim.AUTO, 1: Dim.AUTO},) if sizes == "dynamic" else None
    example = (MEMORY[memory](3, 8),)
    with torch.no_grad():
        compiled = ingot.compile(function, example, dynamic_shapes=shapes, options={"strict": True})
        check(function, compiled, memory, 3, 8)
        if memory == "an offset":
            check(function, compiled, "dense", 3, 8)
