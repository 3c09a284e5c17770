"""Operations on a pre-dispatch program: print, save and load, convert to PyTorch and back, lower.
The result always equals eager."""

from __future__ import annotations

import copy
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from torch import nn
from torch.fx import GraphModule

import ingot
from ingot.options import make_options
from ingot.pipeline import compile_program
from ingot.program.call import bind
from ingot.program.program import Level
from ingot.program.verify import verify
from ingot.runtime.executable import Executable
from tests.programs.check import observed

from .check import compare, plain_control_flow, targets
from .programs import CASES, Case

IN_CI = {
    "the_seeds_example",
    "write_through_a_view",
    "detached_alias_gets_a_history",
    "autocast_writes_outer_under_no_grad",
    "inference_mode_writes_outer",
    "CountsItsCalls",
    "input_view_is_returned",
    "cond_writes_under_autograd",
}
PARAMETERS = [
    pytest.param(case, marks=[] if case.name in IN_CI else [pytest.mark.slow], id=case.name)
    for case in CASES
]


def export(case: Case) -> ingot.Program:
    function, args = case.build()
    return ingot.export(function, args, level="pre-dispatch")


@pytest.mark.parametrize("case", PARAMETERS)
def test_lowered_program_equals_eager(case: Case) -> None:
    function, args = case.build()
    with plain_control_flow():
        want = observed(function, args, False, 1, lambda f: f)
    for level in ("aten", "core"):

        def lowered(f: Any, level: str = level) -> ingot.Program:
            program = ingot.export(f, args, level="pre-dispatch").lowered(level)
            verify(program)
            assert program.level is Level(level)
            return program

        compare(observed(function, args, False, 1, lowered), want, exact=False, strides=False)


@pytest.mark.parametrize("case", PARAMETERS)
def test_native_program_equals_eager(case: Case) -> None:
    function, args = case.build()
    with plain_control_flow():
        want = observed(function, args, False, 2, lambda f: f)

    def native(f: Any) -> Executable:
        program = ingot.export(f, args, level="pre-dispatch")
        compiled = compile_program(program, make_options({"strict": True}))
        return Executable(compiled.fused.program, compiled, f)

    compare(observed(function, args, False, 2, native), want, exact=False, strides=False)


@pytest.mark.parametrize("case", PARAMETERS)
def test_exported_program_and_back(case: Case) -> None:
    function, args = case.build()
    with plain_control_flow():
        want = observed(function, args, case.grad, 1, lambda f: f)

    def there_and_back(f: object) -> ingot.Program:
        program = ingot.export(f, args, level="pre-dispatch")
        return ingot.Program.from_exported(program.to_exported())

    compare(observed(function, args, case.grad, 1, there_and_back), want)


@pytest.mark.parametrize("case", PARAMETERS)
def test_saved_and_loaded(case: Case, tmp_path: Path) -> None:
    program = export(case)
    program.save(tmp_path / "it.ingot")
    loaded = ingot.Program.load(tmp_path / "it.ingot")
    verify(loaded)
    assert str(loaded) == str(program)
    assert loaded.signature == program.signature
    for name, tensor in program.state.items():
        assert torch.equal(loaded.state[name], tensor)
        assert loaded.state[name].requires_grad == tensor.requires_grad
        assert type(loaded.state[name]) is type(tensor)


def test_a_loaded_program_trains_like_the_model(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Linear(8, 2))
    x = torch.randn(6, 4)
    ingot.export(model, (x,), level="pre-dispatch").save(tmp_path / "it.ingot")
    loaded = ingot.Program.load(tmp_path / "it.ingot")
    parameters = [t for t in loaded.state.values() if isinstance(t, nn.Parameter)]
    ours = torch.optim.SGD(parameters, lr=0.1)
    theirs = torch.optim.SGD(model.parameters(), lr=0.1)
    for seed in range(3):
        losses = []
        for call, optimizer in ((loaded, ours), (model, theirs)):
            torch.manual_seed(seed)
            optimizer.zero_grad()
            loss = call(x).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        assert torch.equal(*losses)
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(loaded.state[name].detach(), tensor)


def test_nothing_is_pickled(tmp_path: Path) -> None:
    program = export(next(case for case in CASES if case.name == "TrainedBatchNorm"))
    program.save(tmp_path / "it.ingot")
    with zipfile.ZipFile(tmp_path / "it.ingot") as archive:
        assert sorted(archive.namelist()) == ["graph.json", "program.json", "tensors.safetensors"]


def test_tied_weights_stay_tied(tmp_path: Path) -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(5, 3)
            self.head = nn.Linear(3, 5, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                self.embed.weight.mul_(0.5)
            return self.head(self.embed(ids))

    model, ids = Tied(), torch.tensor([1, 4])
    program = ingot.export(model, (ids,), level="pre-dispatch")
    program.save(tmp_path / "it.ingot")
    loaded = ingot.Program.load(tmp_path / "it.ingot")
    want = model(ids)
    torch.testing.assert_close(loaded(ids), want)
    weights = [t for n, t in loaded.state.items() if n.endswith("weight")]
    assert all(weight is weights[0] for weight in weights)


def test_pytorch_runs_what_it_is_given() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU())
    x = torch.randn(2, 4)
    exported = ingot.export(model, (x,), level="pre-dispatch").to_exported()
    torch.testing.assert_close(exported.module()(x), model(x))
    kinds = [str(node.target) for node in exported.graph.nodes]
    assert {"aten.linear.default", "aten.layer_norm.default"} <= set(kinds)


def _quantized(x: torch.Tensor) -> torch.Tensor:
    return torch.fake_quantize_per_tensor_affine(x, 0.05, 0, -128, 127)


def _quantize(module: GraphModule) -> None:
    """Like tools for quantization-aware training, which look for composite ops."""
    for node in module.graph.find_nodes(
        op="call_function", target=torch.ops.aten.linear.default, sort=False
    ):
        for i in (0, 1):
            with module.graph.inserting_before(node):
                node.update_arg(i, module.graph.call_function(_quantized, (node.args[i],)))
    module.recompile()


def test_a_tool_quantizes_it_and_trains_it() -> None:
    torch.manual_seed(0)
    model, x = _Small(), torch.randn(3, 8)
    module = ingot.export(copy.deepcopy(model), (x,), level="pre-dispatch").to_exported().module()
    assert isinstance(module, GraphModule)
    _quantize(module)
    again = ingot.export(module, (x,), level="pre-dispatch")
    assert targets(again).count("aten.linear.default") == 2
    assert targets(again).count("aten.fake_quantize_per_tensor_affine.default") == 4
    linear = nn.functional.linear

    def quantized_linear(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return linear(_quantized(x), _quantized(w), b)

    with mock.patch.object(nn.functional, "linear", quantized_linear):
        want = model(x)
    want.square().sum().backward()
    grads = {name: p.grad for name, p in model.named_parameters()}
    for call in (1, 2):
        got = (module, again)[call - 1](x)
        torch.testing.assert_close(got, want * call)
        module.zero_grad()
        got.square().sum().backward()
        assert torch.equal(module.get_buffer("calls"), torch.full((4,), float(call)))
        for name, p in module.named_parameters():
            torch.testing.assert_close(p.grad, grads[name] * call**2)  # type: ignore[operator]


def test_a_program_of_torch_export_is_made_functional() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                x.add_(1)
            return x * 2

    exported = torch.export.export(Model(), (torch.ones(3),), strict=False)
    program = ingot.Program.from_exported(exported)
    assert "aten.add_.Tensor" not in targets(program)
    x = torch.ones(3)
    assert torch.equal(program(x), torch.full((3,), 4.0))
    assert torch.equal(x, torch.full((3,), 2.0))


def test_dynamic_sizes_stay_dynamic() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x.flatten()
            with torch.no_grad():
                x[1:].mul_(2)
            return y + y.size(0)

    model = Model()
    sizes = ({0: torch.export.Dim("n", min=2, max=64)},)
    x = torch.ones(4, 3)
    program = ingot.export(model, (x,), level="pre-dispatch", dynamic_shapes=sizes)
    for n in (2, 7):
        x, same = torch.arange(3.0 * n).view(n, 3), torch.arange(3.0 * n).view(n, 3)
        assert torch.equal(program(x), model(same))
        assert torch.equal(x, same)


class _Small(nn.Module):
    calls: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4))
        self.register_buffer("calls", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.body(x)
        with torch.no_grad():
            self.calls.add_(1)
        return y * self.calls


def test_the_native_road_takes_it() -> None:
    torch.manual_seed(0)
    model, x = _Small(), torch.randn(3, 8)
    program = ingot.export(model, (x,), level="pre-dispatch")
    compiled = compile_program(program, make_options({"strict": True}))
    for call in (1, 2):
        with torch.no_grad():
            (result,) = compiled.run(bind(compiled.fused.program, (x,), {}))
        assert torch.equal(model.calls, torch.full((4,), float(call)))
        torch.testing.assert_close(result, model.body(x) * call, rtol=1e-4, atol=1e-5)


def test_the_mlir_road_takes_it() -> None:
    torch.manual_seed(0)
    model, x = _Small(), torch.randn(3, 8)
    program = ingot.export(model, (x,), level="pre-dispatch")
    assert "linalg" in str(program.to_mlir("linalg"))
    assert program.verify("linalg", (x,))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "the_seeds_example", "autocast_writes_outer_under_no_grad", "states_left_in_another_order",
        "cond_writes_what_it_captures", "WeightDecaysItself", "TrainedInstanceNorm",
        "autograd_function_result_is_written", "complex_parts",
    ],
)  # fmt: skip
def test_linalg_takes_writes_and_regions(name: str) -> None:
    function, args = next(case for case in CASES if case.name == name).build()
    args = tuple(arg.detach() for arg in args)
    assert ingot.export(function, args, level="pre-dispatch").verify("linalg", args)
