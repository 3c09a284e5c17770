"""What cannot be a C program is refused with a reason, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import ingot
from ingot.errors import OptionError, SaveError
from tests.deploy.building import saved


def _eager(x: Tensor) -> Tensor:
    return torch.linalg.qr(x)[0]


def _random(x: Tensor) -> Tensor:
    return x + torch.rand(4, 4)


def _sized_by_values(x: Tensor) -> Tensor:
    return x[x > 0]


def _complex(x: Tensor) -> Tensor:
    return torch.view_as_real(torch.polar(x, x)).sum(-1)


def _number(x: Tensor) -> tuple[Tensor, int]:
    return x * 2, x.shape[0] * 3


def _view(x: Tensor) -> Tensor:
    return torch.diagonal(x * 2, offset=1)


class _Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        self.seen += 1
        return x + self.seen


CASES: dict[str, tuple[Callable[..., Any], Tensor, Any, str]] = {
    "eager step": (_eager, torch.randn(4, 4), None, r"PyTorch runs aten.linalg_qr(?s:.)*qr\(x\)"),
    "random op": (_random, torch.randn(4, 4), None, r"PyTorch runs aten.rand(?s:.)*torch.rand\("),
    "size that depends on values": (
        _sized_by_values, torch.randn(4), None, r"its size depends on values(?s:.)*x\[x > 0\]"
    ),
    "complex": (_complex, torch.randn(4), None, "PyTorch runs aten.polar"),
    "number": (_number, torch.randn(4, 4), ({0: Dim("n")},), "its result output1 is not a tensor"),
    "view of dynamic size": (_view, torch.randn(4, 4), ({0: Dim("n", min=3)},), "return a copy"),
    "state": (_Counter(), torch.randn(4), None, "it writes to 'seen', a tensor of the model"),
    "images of dynamic size": (
        nn.Conv2d(3, 8, 3), torch.randn(1, 3, 16, 16), ({2: Dim("height", min=8)},),
        "images of a convolution have dynamic sizes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_programs(name: str, tmp_path: Path) -> None:
    model, x, shapes, why = CASES[name]
    with pytest.raises(SaveError, match=why):
        saved(model, [x], tmp_path / "out", dynamic_shapes=shapes)
    assert not (tmp_path / "out").exists()


def test_the_users_line(tmp_path: Path) -> None:
    with pytest.raises(SaveError) as caught:
        saved(_eager, [torch.randn(4, 4)], tmp_path)
    place = caught.value.place
    assert place is not None and place.file == __file__
    assert place.line == _eager.__code__.co_firstlineno + 1


def test_checked_programs(tmp_path: Path) -> None:
    with torch.no_grad():
        exe = ingot.compile(torch.sin, (torch.randn(4),), options={"checks": "bounds"})
    with pytest.raises(SaveError, match="it was compiled with the option checks"):
        exe.save_c(tmp_path)


def test_a_loaded_program(tmp_path: Path) -> None:
    with torch.no_grad():
        ingot.compile(torch.sin, (torch.randn(4),)).save(tmp_path / "it.ingot")
    exe = ingot.load(tmp_path / "it.ingot")
    with pytest.raises(SaveError, match="it was loaded from a file"):
        exe.save_c(tmp_path / "out")


def test_arguments(tmp_path: Path) -> None:
    with torch.no_grad():
        exe = ingot.compile(torch.sin, (torch.randn(4),))
    for wrong in (
        {"threads": "many"}, {"name": "My Model"}, {"name": ""}, {"targets": ["arm"]},
        {"targets": []},
    ):  # fmt: skip
        with pytest.raises(OptionError, match=next(iter(wrong))):
            exe.save_c(tmp_path / "out", **wrong)
    assert not (tmp_path / "out").exists()
