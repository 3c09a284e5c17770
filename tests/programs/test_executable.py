"""The object returned by ingot.compile, and aliasing of its results with its arguments."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import ingot


def test_it_is_copied_as_functions_are() -> None:
    layer, x = nn.Linear(4, 3), torch.randn(2, 4)
    with torch.no_grad():
        fast = ingot.compile(layer, (x,))
        again = copy.deepcopy({"fast": fast, "layer": layer})
        assert again["fast"] is fast
        torch.testing.assert_close(again["fast"](x), layer(x))


def test_why_it_cannot_be_pickled() -> None:
    fast = ingot.compile(lambda x: x + 1, (torch.randn(3),))
    with pytest.raises(TypeError, match="cannot be pickled; write it to a file"):
        pickle.dumps(fast)


def flipped(x: Tensor) -> Tensor:
    x.copy_(x.flip(0))
    z = x.view(-1)
    z[::2] *= -1
    return x.unsqueeze(0)


VIEWS: dict[str, Callable[[Tensor], Any]] = {
    "written": lambda x: x.mul_(2),
    "written view": lambda x: x.t().mul_(2),
    "view of what was written": lambda x: x.add_(1).t(),
    "view of a part": lambda x: x[1:].add_(1)[:, 2:],
    "flipped": flipped,
    "twice": lambda x: (x.mul_(2).unsqueeze(0), x[0], x.sum()),
    "beside a read": lambda x: (x.t() + 1, x.mul_(3).t()),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_written_arguments_share_memory(name: str) -> None:
    f = VIEWS[name]
    fast = ingot.compile(f, (torch.randn(4, 6),))
    for _ in range(2):
        x = torch.randn(4, 6)
        y = x.clone()
        got, wanted = fast(y), f(x)
        torch.testing.assert_close(y, x)
        got, wanted = (v if isinstance(v, tuple) else (v,) for v in (got, wanted))
        for one, other in zip(got, wanted, strict=True):
            torch.testing.assert_close(one, other)
            assert one.stride() == other.stride()
            inside = other.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
            assert (one.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()) == inside
            assert not inside or one.storage_offset() == other.storage_offset()


def test_attention_with_a_dynamic_head_dimension() -> None:
    """Its scale is a quotient of floats computed from a size."""

    def attention(a: Tensor, b: Tensor) -> Tensor:
        return torch.nn.functional.scaled_dot_product_attention(a[None], b[None], b[None])

    a, b = torch.randn(2, 4), torch.randn(3, 4)
    sizes = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    with torch.no_grad():
        compiled = ingot.compile(
            attention, (a, b), dynamic_shapes=(sizes, sizes), options={"strict": True}
        )
        for x, y in ((a, b), (torch.randn(3, 8), torch.randn(5, 8))):
            torch.testing.assert_close(compiled(x, y), attention(x, y))


def test_a_failure_while_arguments_are_bound_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from ingot.runtime import executable as module

    x = torch.randn(3, 4)
    dynamic = ({0: torch.export.Dim.AUTO},)
    compiled = ingot.compile(lambda x: x * 2, (x,), dynamic_shapes=dynamic)
    assert compiled._quick is not None
    compiled._quick.__globals__["kind_of"] = None  # must not be called
    with pytest.warns(ingot.FallbackWarning, match="bound the long way"):
        assert torch.equal(compiled(x), x * 2)
    assert torch.equal(compiled(x), x * 2)

    def failing(*_: object) -> None:
        raise KeyError("a size")

    monkeypatch.setattr(module, "match", failing)
    monkeypatch.setattr(module, "bind", failing)
    with pytest.raises(ingot.InputError, match="compared"):
        compiled(x)
    monkeypatch.setattr(module, "match", lambda program, args, kwargs: (list(args), {}))
    with pytest.warns(ingot.FallbackWarning, match="runs in eager"):
        assert torch.equal(compiled(x), x * 2)
    strict = ingot.compile(lambda x: x * 3, (x,), dynamic_shapes=dynamic, options={"strict": True})
    strict._quick = None
    with pytest.raises(KeyError):
        strict(x)
