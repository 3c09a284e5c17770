"""Each rule of the passes: what it must rewrite, and what it must not. Every program is run before
and after; values must be bitwise equal and aliasing unchanged.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from ingot.passes.base import RuleTable, run_passes
from ingot.passes.cleanup import Cleanup
from ingot.passes.fold import Fold
from ingot.passes.native import core_passes
from ingot.passes.normalize import Normalize
from ingot.program.program import Level, Program
from ingot.program.verify import verify
from tests.unit.tracing import trace

aten = torch.ops.aten
X = torch.tensor([[-0.0, 1.5, float("nan")], [float("inf"), -2.0, 3.0]])


def _core(function: Callable[..., Any], *args: Any, dynamic: bool = False) -> Program:
    """The program at core level, compared with the original."""
    program = trace(function, *args, dynamic=dynamic).program()
    core = run_passes(program, core_passes(), verify=True)
    assert core.level is Level.CORE
    if not dynamic:
        for wanted, got in zip(_run(program, args), _run(core, args), strict=True):
            _assert_same_bits(got, wanted)
    return core


def _run(program: Program, args: tuple[Tensor, ...]) -> list[Tensor]:
    torch.manual_seed(0)
    values = program.graph_module(*[arg.clone() for arg in args])
    return [value for value in values if value is not None]


def _assert_same_bits(got: Any, wanted: Any) -> None:
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    assert got.stride() == wanted.stride()
    assert torch.equal(got.nan_to_num(nan=7), wanted.nan_to_num(nan=7))
    assert torch.equal(got.isnan(), wanted.isnan())
    if got.dtype.is_floating_point:
        assert torch.equal(got.signbit() & ~got.isnan(), wanted.signbit() & ~wanted.isnan())


def _ops(program: Program) -> list[str]:
    return [
        str(node.target).removeprefix("aten.").removesuffix(".default")
        for node in program.graph.nodes
        if node.op == "call_function"
    ]


CASES: dict[str, tuple[Callable[..., Any], list[str]]] = {
    # normalize
    "detach and alias go": (lambda x: (x.detach() + 1).detach() * 2, ["add.Tensor", "mul.Tensor"]),
    "t is permute": (lambda x: x.t() + 1, ["permute", "add.Tensor"]),
    "transpose is permute": (lambda x: x.transpose(-1, 0) + 1, ["permute", "add.Tensor"]),
    "a copy that copies nothing goes": (lambda x: x.clone() + 1, ["add.Tensor"]),
    "a cast to the same dtype goes": (
        lambda x: aten._to_copy(x, dtype=torch.float32) + 1,
        ["add.Tensor"],
    ),
    "a whole sum names its dims": (lambda x: x.sum() + 1, ["sum.dim_IntList", "add.Tensor"]),
    "a whole max is amax": (lambda x: x.max() + 1, ["amax", "add.Tensor"]),
    "add.Scalar is add.Tensor": (lambda x: aten.add.Scalar(x, 2, 3), ["add.Tensor"]),
    "a copy to other strides stays": (
        lambda x: x.t().contiguous().view(-1) + 1,
        ["permute", "clone", "view", "add.Tensor"],
    ),
    # simplify
    "times one goes": (lambda x: (x * 1 + 1) / 1, ["add.Tensor"]),
    "one times goes": (lambda x: 1 * x + 1, ["add.Tensor"]),
    "an integer factor on integers": (lambda x: (x.long() * 1) + 1, ["_to_copy", "add.Tensor"]),
    "times 1.0 promotes integers": (
        lambda x: x.nan_to_num(posinf=9).long() * 1.0,
        ["nan_to_num", "_to_copy", "mul.Tensor"],
    ),
    "plus zero stays for floats": (lambda x: x + 0 + 1, ["add.Tensor", "add.Tensor"]),
    "minus zero goes": (lambda x: x - 0 + 1, ["add.Tensor"]),
    "plus minus zero goes": (lambda x: x + -0.0 + 1, ["add.Tensor"]),
    "minus minus zero stays": (lambda x: x - -0.0 + 1, ["sub.Tensor", "add.Tensor"]),
    "plus zero goes for integers": (
        lambda x: (x > 0).long() + 0 + 1,
        ["gt.Scalar", "_to_copy", "add.Tensor"],
    ),
    "a power of one goes": (lambda x: x.pow(1) + 1, ["add.Tensor"]),
    "a square is a product": (lambda x: x**2, ["mul.Tensor"]),
    "a power that is a root": (lambda x: x**0.5 + x**-0.5, ["sqrt", "rsqrt", "add.Tensor"]),
    "a power that is a reciprocal": (lambda x: x.half() ** -1, ["_to_copy", "reciprocal"]),
    "f16 takes no roots": (lambda x: x.half() ** 0.5, ["_to_copy", "pow.Tensor_Scalar"]),
    "a cast there and back goes": (lambda x: x.double().float() + 1, ["add.Tensor"]),
    "a cast that loses digits stays": (
        lambda x: x.half().float() + 1,
        ["_to_copy", "_to_copy", "add.Tensor"],
    ),
    "a cast through a wider dtype is one": (lambda x: x.double().half(), ["_to_copy"]),
    "transposed twice": (lambda x: x.t().t() + 1, ["add.Tensor"]),
    "permuted twice": (
        lambda x: x.unsqueeze(0).permute(1, 2, 0).permute(1, 0, 2) + 1,
        ["unsqueeze", "permute", "add.Tensor"],
    ),
    "a view of a view": (lambda x: x.view(6).view(3, 2) + 1, ["view", "add.Tensor"]),
    "there and back": (lambda x: x.view(6).view(2, 3) + 1, ["add.Tensor"]),
    "expanded to its own size": (lambda x: x.expand(2, 3) + 1, ["add.Tensor"]),
    "a slice of all": (lambda x: x[:, 0:9] + 1, ["add.Tensor"]),
    "a slice of some": (lambda x: x[:, 0:2] + 1, ["slice.Tensor", "add.Tensor"]),
    "squeezed after unsqueezed": (lambda x: x.unsqueeze(1).squeeze(1) + 1, ["add.Tensor"]),
    "a choice that is made": (
        lambda x: torch.where(torch.ones(2, 3, dtype=torch.bool), x, x + 1) * 2,
        ["mul.Tensor"],
    ),
    "the sum of a number": (lambda x: x.sum().sum() + 1, ["sum.dim_IntList", "add.Tensor"]),
    "no padding": (lambda x: aten.constant_pad_nd(x, [0, 0]) + 1, ["add.Tensor"]),
    "joined with nothing": (lambda x: torch.cat([x]) + 1, ["add.Tensor"]),
    # cleanup
    "equal values once": (lambda x: x.exp() + x.exp(), ["exp", "add.Tensor"]),
    "1 and 1.0 are not equal": (
        lambda x: x.long().nan_to_num() + 1 + (x.long().nan_to_num() + 1.0),
        ["_to_copy", "nan_to_num", "add.Tensor", "add.Tensor", "add.Tensor"],
    ),
    "unused values never": (lambda x: (x.exp(), x + 1)[1], ["add.Tensor"]),
}


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str) -> None:
    function, ops = CASES[name]
    x = X if "long" not in name and "nan" not in name else X.nan_to_num(posinf=9)
    assert _ops(_core(function, x)) == ops


# -- memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.clone(),
        lambda x: x * 1,
        lambda x: x.double().float(),
        lambda x: x.clone().view(6),
        lambda x: torch.cat([x]).t(),
    ],
)
def test_an_output_never_becomes_its_input(function: Callable[[Tensor], Tensor]) -> None:
    core = _core(function, torch.ones(2, 3))
    x = torch.ones(2, 3)
    (out,) = core.graph_module(x)
    assert out.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x + 1, x + 1),
        lambda x: ((y := x + 1), y.clone()),
        lambda x: ((y := x + 1).t(), y * 1),
    ],
)
def test_two_outputs_never_become_one(function: Callable[[Tensor], tuple[Tensor, Tensor]]) -> None:
    first, second = _core(function, torch.ones(2, 3)).graph_module(torch.ones(2, 3))
    assert first.untyped_storage().data_ptr() != second.untyped_storage().data_ptr()


def test_a_copy_that_is_returned_alone_is_the_value_itself() -> None:
    assert _ops(_core(lambda x: (x + 1).clone(), X)) == ["add.Tensor"]


def test_swapped_inputs_are_swapped() -> None:
    def swap(x: Tensor, y: Tensor) -> None:
        old = x.clone()
        x.copy_(y)
        y.copy_(old)

    x, y = torch.zeros(3), torch.ones(3)
    core = _core(swap, x.clone(), y.clone())
    values = core.graph_module(x, y)
    for spec, value in zip(core.signature.outputs, values, strict=True):  # as runtime/ does
        if spec.target is not None:
            (x, y)[spec.target].copy_(value)
    assert torch.equal(x, torch.ones(3)) and torch.equal(y, torch.zeros(3))


# -- fold ------------------------------------------------------------------------------------------


def test_small_constants_are_computed() -> None:
    core = _core(lambda x: x + torch.arange(3).flip(0) * torch.tensor([1, 2, 4]), X)
    assert _ops(core) == ["add.Tensor"]
    (constant,) = core.constants.values()
    assert torch.equal(constant, torch.tensor([2, 2, 0]))


def test_a_constant_of_one_number_is_full() -> None:
    core = _core(lambda x: x + (torch.full((3,), 2.0) * 3), X)
    assert _ops(core) == ["full", "add.Tensor"]
    assert not core.constants


def test_a_constant_that_is_a_number_is_full() -> None:
    core = _core(lambda x: x + torch.tensor(2.5), X)
    assert _ops(core) == ["full", "add.Tensor"]


def test_large_constants_and_factories_stay() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        return x + torch.arange(3), torch.arange(100_000).flip(0) + x[0, 1]

    assert _ops(_core(function, X)).count("arange.start_step") == 2
    assert "flip" in _ops(_core(function, X))


def test_what_the_user_gets_is_made_anew() -> None:
    core = _core(lambda x: torch.arange(3) + torch.tensor([1, 2, 4]), X)
    first, second = core.graph_module(X)[0], core.graph_module(X)[0]
    assert first.untyped_storage().data_ptr() != second.untyped_storage().data_ptr()


def test_negative_zero_and_nan_survive_folding() -> None:
    for number in (-0.0, float("nan")):
        core = _core(lambda x, n=number: x * (torch.full((3,), n) * 1.0), X)
        assert "full" in _ops(core)


def test_what_fails_fails_when_it_runs() -> None:
    index = torch.tensor([7])
    program = trace(lambda x: x[0] + torch.arange(3), X).program()
    arange = next(n for n in program.graph.nodes if "arange" in str(n.target))
    draft_val = arange.meta["val"]
    with program.graph.inserting_after(arange):
        program.graph_module.register_buffer("index", index)
        get = program.graph.get_attr("index")
        get.meta["val"] = draft_val[:1]
    with program.graph.inserting_after(get):
        bad = program.graph.call_function(aten.index_select.default, (arange, 0, get))
        bad.meta["val"] = draft_val[:1]
    add = next(n for n in program.graph.nodes if n.target is aten.add.Tensor)
    add.replace_input_with(arange, bad)
    folded = run_passes(_with_constant(program, "index", index), [Fold()])
    assert any(node.target is aten.index_select.default for node in folded.graph.nodes)


def _with_constant(program: Program, name: str, tensor: Tensor) -> Program:
    return replace(program, constants={**program.constants, name: tensor})


# -- cleanup ---------------------------------------------------------------------------------------


def test_random_values_are_neither_merged_nor_dropped() -> None:
    def function(x: Tensor) -> Tensor:
        torch.rand(3)
        return torch.rand(3) - torch.rand(3)

    assert _ops(_core(function, X)).count("rand") == 3


def test_equal_sizes_are_one_number() -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        return x.reshape(x.shape[0] * x.shape[1]) + y.reshape(y.shape[0] * y.shape[1])

    x = torch.ones(4, 6)
    core = _core(function, x, x.clone(), dynamic=True)
    products = [node for node in core.graph.nodes if str(node.target).count("mul")]
    assert len(products) <= 1


def test_an_op_that_only_raises_stays() -> None:
    program = trace(lambda x: torch.linalg.cholesky(x) + 1, torch.eye(3)).program()
    core = run_passes(program, core_passes(), verify=True)
    assert any("_linalg_check_errors" in str(node.args) for node in core.graph.nodes)


# -- pass infrastructure ---------------------------------------------------------------------------


def test_a_pass_does_not_change_its_input_and_is_journaled() -> None:
    program = trace(lambda x: (x.t().t() * 1).clone() + x.exp() + x.exp(), X).program()
    before = program.as_text()
    core = run_passes(program, core_passes())
    assert program.as_text() == before
    assert not program.journal.entries
    assert [entry.name for entry in core.journal.entries] == [
        "normalize",
        "fold",
        "simplify",
        "cleanup",
    ]
    cleanup = core.journal.entries[-1]
    assert cleanup.nodes_before - cleanup.nodes_after == 2
    assert cleanup.notes == ("equal values merged: 1", "unused values removed: 1")


def test_a_pass_runs_alone() -> None:
    program = trace(lambda x: x.exp() + x.exp(), X).program()
    assert len(Cleanup().run(program).graph.nodes) == len(program.graph.nodes) - 1
    assert Normalize().run(program).level is Level.CORE


def test_a_rule_is_registered_once() -> None:
    table = RuleTable()
    rule = table.on(aten.add.Tensor)(lambda draft, node: None)
    with pytest.raises(ValueError, match="registered"):
        table.on(aten.add.Tensor)(rule)


def test_passes_are_fast() -> None:
    def function(x: Tensor) -> Tensor:
        for _ in range(60):
            x = torch.softmax(torch.nn.functional.layer_norm(x, (8,)), -1).t().contiguous().t() * 2
        return x

    program = trace(function, torch.randn(4, 8)).program()
    assert len(program.graph.nodes) > 1000
    times = []
    for _ in range(3):
        start = time.process_time()
        core = run_passes(program, core_passes())
        times.append(time.process_time() - start)
    verify(core)
    assert min(times) < 0.25, "the work of the passes grew: about 0.05 s on a quiet machine"
