"""In-place ops that PyTorch cannot functionalize by itself: of an intermediate, of views of it, and
of an input that is a view at an offset.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.export import Dim

import ingot

WRITES: dict[str, Callable[[Tensor], Tensor]] = {
    "polygamma_": lambda x: x.polygamma_(1),
    "polygamma_ by name": lambda x: torch.ops.aten.polygamma_.default(x, n=2),
    "fill_diagonal_": lambda x: x.fill_diagonal_(2.5),
    "fill_diagonal_ by name": lambda x: torch.ops.aten.fill_diagonal_(x, fill_value=-1),
    "fill_diagonal_ of a cube": lambda x: x[:3, :3, None].expand(3, 3, 3).clone().fill_diagonal_(3),
}
STATIC = {"fill_diagonal_ wrapping": lambda x: x.fill_diagonal_(7, wrap=True)}
ENTRIES = ("torch.compile", "torch.compile, dynamic", "ingot.compile", "ingot.compile, dynamic")


def program(write: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], object]:
    def function(x: Tensor, whole: Tensor) -> object:
        y = x * 2
        write(y[2:])
        turned = write(x.t().exp()[:, 1:])
        return y, turned, write(whole.long()) if write not in FLOATS else None, write(x)

    return function


FLOATS = [WRITES["polygamma_"], WRITES["polygamma_ by name"]]


def example(rows: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(rows)
    return torch.rand(rows + 1, 4)[1:] + 1, torch.arange(4.0 * rows).view(rows, 4)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("name", [*WRITES, *STATIC])
def test_as_in_eager(name: str, entry: str) -> None:
    dynamic, function = entry.endswith("dynamic"), program({**WRITES, **STATIC}[name])
    if dynamic and name in STATIC:
        pytest.skip("torch.export and Dynamo refuse it")
    with torch.no_grad():
        if entry.startswith("torch"):
            torch._dynamo.reset()
            compiled = torch.compile(
                function, backend="ingot", dynamic=dynamic, options={"strict": True}
            )
        else:
            shapes = ({0: Dim.AUTO}, {0: Dim.AUTO}) if dynamic else None
            compiled = ingot.compile(
                function, example(9), dynamic_shapes=shapes, options={"strict": True}
            )
        for rows in (9, 12) if dynamic else (9,):
            ours, theirs = example(rows), example(rows)
            found, wanted = compiled(*ours), function(*theirs)
            torch.testing.assert_close(found, wanted)
            torch.testing.assert_close(ours, theirs)
            assert found[-1] is ours[0] or name.endswith("cube")
