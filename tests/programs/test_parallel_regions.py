"""Consecutive steps in one parallel region: results equal eager's and do not depend on the number
of threads, also for dynamic sizes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import ingot
from ingot.plan.ir import Parallel
from ingot.runtime.executable import Executable
from tests.plans import ops_of
from tests.programs.check import by_threads


def network() -> nn.Module:
    torch.manual_seed(0)
    layers = [nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 512), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(512, 40)).eval()


def teams(compiled: Executable) -> int:
    return len(ops_of(compiled.compiled, Parallel))


def check(compiled: Executable, module: nn.Module, x: Tensor) -> None:
    expected = module.double()(x.double()).float()
    module.float()
    results = by_threads(lambda: compiled(x))
    torch.testing.assert_close(results[0], expected, rtol=1e-5, atol=1e-5, equal_nan=True)
    for result in results[1:]:
        assert torch.equal(result.nan_to_num(), results[0].nan_to_num())


@torch.no_grad()
@pytest.mark.parametrize("rows", [1, 2, 7, 32, 300])
def test_fixed_sizes(rows: int) -> None:
    module = network()
    compiled = ingot.compile(module, (torch.randn(rows, 256),), options={"strict": True})
    assert teams(compiled) == (rows > 1)
    check(compiled, module, torch.randn(rows, 256))


@torch.no_grad()
def test_sizes_that_move() -> None:
    module = network()
    dynamic = ({0: torch.export.Dim("rows", min=1, max=4096)},)
    compiled = ingot.compile(
        module, (torch.randn(6, 256),), dynamic_shapes=dynamic, options={"strict": True}
    )
    assert teams(compiled) == 1
    for rows in (1, 2, 3, 7, 32, 300, 1, 1025):
        check(compiled, module, torch.randn(rows, 256))
    x = torch.randn(9, 256)
    x[3, 5], x[7, 1] = float("nan"), float("inf")
    check(compiled, module, x)


@torch.no_grad()
def test_where_there_are_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.kernels.family.has_openmp", lambda: False)
    module, x = network(), torch.randn(32, 256)
    compiled = ingot.compile(module, (x,), options={"strict": True})
    assert teams(compiled) == 0
    check(compiled, module, x)
