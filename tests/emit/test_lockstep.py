"""Comparison node by node: the first op whose value differs from eager is named."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import ingot
from ingot.emit.lockstep import first_difference
from tests.emit.programs import DIALECTS

aten = torch.ops.aten


@torch.library.custom_op("lockstep_tests::half", mutates_args=())
def half(x: Tensor) -> Tensor:
    return x / 2


@half.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


class Steps(nn.Module):
    """Linear, GELU, a mask, a masked sum, a complex number: ops that legalization decomposes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.first(x)
        y = nn.functional.gelu(y)
        y = self.second(y)
        z = torch.complex(y, x) * 2j
        return torch.softmax(z.abs(), -1), y[y > 0].sum()


def exported() -> tuple[ingot.Program, Tensor]:
    x = torch.randn(2, 4)
    with torch.no_grad():
        return ingot.export(Steps(), (x,)), x


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_is_found_where_all_is_well(dialect: str) -> None:
    program, x = exported()
    assert first_difference(program, dialect, (x,), {}) is None
    program.verify(dialect, (x,), lockstep=True)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_wrong_lowering_in_the_middle_is_named(dialect: str) -> None:
    program, x = exported()
    wrong = {aten.gelu.default: lambda x, approximate="none": torch.relu(x)}
    with pytest.raises(ingot.MismatchError, match="output 0"):
        program.verify(dialect, (x,), decompositions=wrong)
    with pytest.raises(ingot.MismatchError, match="gelu -> f32") as caught:
        program.verify(dialect, (x,), decompositions=wrong, lockstep=True)
    assert "y = nn.functional.gelu(y)" in str(caught.value), "at the user's line"


WRONG_TEXT = """
func.func @half(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}"""


def test_wrong_mlir_of_the_users_own_is_named() -> None:
    x = torch.randn(3)
    program = ingot.export(lambda x: (half(x.sin()) + 1).cos(), (x,))
    own = {torch.ops.lockstep_tests.half.default: WRONG_TEXT}
    with pytest.raises(ingot.MismatchError, match=r"lockstep_tests\.half"):
        program.verify("stablehlo", (x,), decompositions=own, lockstep=True)
