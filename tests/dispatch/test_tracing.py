"""The branch survives tracing if the size is a symbol and folds if the size is known."""

from __future__ import annotations

import operator
import re
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dynamo.utils import counters
from torch.export import Dim
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

import ingot
from ingot import observe
from ingot.codegen.jit.code_store import text_digest
from ingot.dispatch.resolve import Resolve
from ingot.plan.ir import Segment
from ingot.program.program import Program, program_from_fx
from ingot.stages import Compiled
from tests.plans import branches, kernels_of, ops_of

from .activations import SIZES, activation, around, expected, rows

aten = torch.ops.aten
WAYS = {aten.sin.default, aten.tanh.default, aten.relu.default}
FREE = ({1: Dim("n", min=2, max=8192)},)


def targets(program: Program) -> set[Any]:
    """The targets of all calls, including those inside branches."""
    modules = [m for m in program.graph_module.modules() if isinstance(m, GraphModule)]
    return {node.target for module in modules for node in module.graph.nodes}


def conds(program: Program) -> int:
    return sum(
        node.target is torch.ops.higher_order.cond
        for module in program.graph_module.modules()
        if isinstance(module, GraphModule)
        for node in module.graph.nodes
    )


def notes(program: Program) -> str:
    return program.journal.as_text()


def test_make_fx_with_symbolic_sizes_keeps_the_branch() -> None:
    traced = make_fx(around, tracing_mode="symbolic")(rows(700))
    program = Resolve().run(program_from_fx(traced))
    assert targets(program) >= WAYS
    assert conds(program) == 2
    assert "a branch keeps 3 ways" in notes(program)
    for n in SIZES:
        x = rows(n)
        torch.testing.assert_close(program.graph_module(x)[0], expected(x))


@pytest.mark.parametrize("n", SIZES)
def test_make_fx_with_concrete_sizes_folds(n: int) -> None:
    traced = make_fx(around, tracing_mode="fake")(rows(n))
    program = Resolve().run(program_from_fx(traced))
    way = aten.sin if n <= 512 else aten.tanh if n <= 2048 else aten.relu
    name = "short" if n <= 512 else "middle" if n <= 2048 else "long"
    assert targets(program) & WAYS == {way.default}
    assert not conds(program)
    assert f"x.shape[1] is {n}, {name} serves: pinned" in notes(program)


def compiled_with(**words: Any) -> Any:
    options = {"strict": True, "verify": True}
    return torch.compile(around, backend="ingot", fullgraph=True, options=options, **words)


@pytest.mark.parametrize("mark", [False, True])
def test_one_compile_serves_all_sizes(mark: bool) -> None:
    """With dynamic=True, or with mark_dynamic alone."""
    compiled = compiled_with(dynamic=None if mark else True)
    counters.clear()
    heard: list[Compiled] = []
    with observe.listening(heard.append):
        for n in SIZES:
            x = rows(n)
            if mark:
                torch._dynamo.mark_dynamic(x, 1)
            torch.testing.assert_close(compiled(x), expected(x))
    assert counters["stats"]["unique_graphs"] == 1
    assert [targets(each.fused.program) & WAYS for each in heard] == [
        {aten.sin.default},
        {aten.tanh.default},
        {aten.relu.default},
    ]
    assert all(each.kernels == 1 for each in heard), "what is around is fused with each way"
    assert "the version for s" in notes(heard[0].fused.program)


def test_concrete_compile_holds_one_way() -> None:
    heard: list[Compiled] = []
    with observe.listening(heard.append):
        x = rows(700)
        torch.testing.assert_close(compiled_with(dynamic=False)(x), expected(x))
    (only,) = heard
    assert targets(only.fused.program) & WAYS == {aten.tanh.default}


def test_compile_ahead() -> None:
    exe = ingot.compile(around, (rows(700),), dynamic_shapes=FREE)
    assert len(exe.compiled.versions) == 3
    for n in SIZES:
        x = rows(n)
        torch.testing.assert_close(exe(x), expected(x))


def test_all_ways_are_in_one_native_program() -> None:
    exe = ingot.compile(around, (rows(700),), dynamic_shapes=FREE)
    source = exe.compiled.source
    assert source.count("failed(error") == 1
    assert not re.search(r"if \(*size_", source), "Python does not choose"
    (segment,) = ops_of(exe.compiled, Segment)
    assert isinstance(segment, Segment)
    (branch,) = segment.ops
    digests = [text_digest(k.text) for part in exe.compiled.versions for k in natives(part)]
    assert len(set(digests)) == 3
    kernels = kernels_of(exe.compiled)
    assert [kernels[launch.kernel].digest for launch in branches(branch)] == digests


def natives(part: Compiled) -> list[Any]:
    assert part.native is not None
    return list(part.native.by_region.values())


@pytest.mark.parametrize("dynamic", [False, True])
def test_explain_tells_who_serves(dynamic: bool) -> None:
    x = rows(700)
    if dynamic:
        torch._dynamo.mark_dynamic(x, 1)
    report = ingot.explain(around, (x,))
    (row,) = (row for row in report.choices if row.name == "activation")
    assert ("a branch keeps 3 ways" if dynamic else "middle serves: pinned") in row.served[0]
    assert report.graphs == (3 if dynamic else 1)
    assert sum(kernel.ms > 0 for kernel in report.kernel_rows) == 1, "one way ran, and was timed"
    assert "Choices by size" in str(report)


def test_export_keeps_the_branch() -> None:
    program = ingot.export(around, (rows(700),), dynamic_shapes=FREE)
    assert targets(program) >= WAYS
    assert conds(program) == 2
    for n in SIZES:
        x = rows(n)
        torch.testing.assert_close(program(x), expected(x))


def test_the_operation_itself_is_exported() -> None:
    program = ingot.export(activation, (rows(700),), dynamic_shapes=FREE)
    assert conds(program) == 2


def test_export_in_one_range_folds() -> None:
    inside = ({1: Dim("n", min=600, max=2000)},)
    program = ingot.export(around, (rows(700),), dynamic_shapes=inside)
    assert targets(program) & WAYS == {aten.tanh.default}
    assert not conds(program)
    assert "x.shape[1] is 600..2000, middle serves: pinned" in notes(program)


def test_export_whole() -> None:
    program = ingot.export(around, (rows(700),), dynamic_shapes=FREE, keep=[activation])
    assert activation.target in targets(program)
    assert not targets(program) & WAYS
    for n in SIZES:
        x = rows(n)
        torch.testing.assert_close(program(x), expected(x))


def test_pre_dispatch_keeps_it_and_lowers_it() -> None:
    program = ingot.export(around, (rows(700),), dynamic_shapes=FREE, level="pre-dispatch")
    assert activation.target in targets(program)
    x = rows(3000).requires_grad_()
    program(x).sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, 2.0 * (x > 0))


def test_pytorch_exports_it_and_comes_back() -> None:
    """torch.export sees one op; importing the export as a Program gives the branch."""

    class Around(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return around(x)

    exported = torch.export.export(Around(), (rows(700),), dynamic_shapes=FREE)
    assert activation.target in {node.target for node in exported.graph.nodes}
    for n in SIZES:
        x = rows(n)
        torch.testing.assert_close(exported.module()(x), expected(x))
    program = Resolve().run(ingot.Program.from_exported(exported))
    assert targets(program) >= WAYS and conds(program) == 2
    assert "a branch keeps 3 ways" in notes(program)


@pytest.mark.parametrize("keep", [False, True])
def test_mlir_has_the_branch(keep: bool) -> None:
    kept = [activation] if keep else []
    program = ingot.export(around, (rows(700),), dynamic_shapes=FREE, keep=kept)
    text = program.to_mlir("linalg").text
    assert text.count("scf.if") == 2
    assert "math.sin" in text and "math.tanh" in text
    if not keep:
        for n in (512, 513, 2049):
            program.verify("linalg", (rows(n),))


def test_sizes_outside_every_range_go_to_the_reference() -> None:
    @ingot.dispatch(on=("x", 0), ranges=[(4, 8)], budget=0)
    def tripled(x: Tensor) -> Tensor:
        return x * 3

    @tripled.implementation()
    def wrong(x: Tensor) -> Tensor:
        return x * 4

    tripled.pin({(4, 8): "wrong"})
    compiled = torch.compile(tripled, backend="ingot", dynamic=True)
    for n, factor in ((3, 3), (4, 4), (8, 4), (9, 3)):
        assert compiled(torch.ones(n)).eq(factor).all()
        assert tripled(torch.ones(n)).eq(factor).all()


def test_a_branch_knows_its_range() -> None:
    """A Python `if` on the size is decided by the range, without a guard."""

    @ingot.dispatch(on=("x", 0), ranges=[64], budget=0)
    def halves(x: Tensor) -> Tensor:
        return x * 0.5

    seen = []

    @halves.implementation()
    def looking(x: Tensor) -> Tensor:
        seen.append(bool(x.shape[0] <= 64))
        return x / 2 if x.shape[0] <= 64 else x * 0.5

    halves.pin({(0, 64): "looking", (65, None): "looking"})
    traced = make_fx(halves, tracing_mode="symbolic")(torch.ones(10))
    program = Resolve().run(program_from_fx(traced))
    assert seen == [True, False]
    assert targets(program) >= {aten.div.Tensor, aten.mul.Tensor}
    assert conds(program) == 1


def test_what_is_assumed_becomes_part_of_the_condition() -> None:
    @ingot.dispatch(on=("x", 0), ranges=[64], budget=0)
    def total(x: Tensor) -> Tensor:
        return x.sum(0)

    @total.implementation()
    def paired(x: Tensor) -> Tensor:
        if x.shape[0] % 2:
            return x.sum(0) * 1.0
        return x.view(2, x.shape[0] // 2, -1).sum(1).sum(0)

    total.pin({(0, 64): "paired", (65, None): "reference"})
    compiled = torch.compile(total, backend="ingot", dynamic=True, options={"strict": True})
    for n in (4, 5, 6, 7, 64, 65, 100):
        x = torch.randn(n, 3)
        torch.testing.assert_close(compiled(x), x.sum(0))


def test_several_sizes_and_expressions() -> None:
    @ingot.dispatch(on=["x.shape[0] * w.shape[1]", ("w", 0)], ranges=[[64, 4096], [32]], budget=0)
    def product(x: Tensor, w: Tensor, scale: float = 2.0) -> Tensor:
        return x @ w * scale

    @product.implementation()
    def by_sum(x: Tensor, w: Tensor, scale: float) -> Tensor:
        return (x[:, :, None] * w).sum(1) * scale

    product.pin({((0, 4096), (0, 32)): "by_sum", ((4097, None), (0, None)): "reference"})
    compiled = torch.compile(product, backend="ingot", dynamic=True)
    counters.clear()
    for m, k, n in ((4, 5, 6), (7, 33, 8), (80, 5, 90), (80, 40, 90)):
        x, w = torch.randn(m, k), torch.randn(k, n)
        want = x @ w * 3.0
        torch.testing.assert_close(compiled(x, w, 3.0), want, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(product(x, w, 3.0), want, rtol=1e-4, atol=1e-4)
    assert counters["stats"]["unique_graphs"] == 1


def test_several_results_and_layouts() -> None:
    @ingot.dispatch(on=("x", 0), ranges=[8], budget=0)
    def parts(x: Tensor) -> tuple[Tensor, Tensor]:
        return x + 1, x.t() * 2

    @parts.implementation()
    def other(x: Tensor) -> tuple[Tensor, Tensor]:
        return (x.t() + 1).t().contiguous(), (x * 2).t().contiguous()

    parts.pin({(0, 8): "other", (9, None): "reference"})

    def both(x: Tensor) -> Tensor:
        a, b = parts(x)
        return a.sum() + operator.mul(b, 3).sum(0)

    compiled = torch.compile(both, backend="ingot", dynamic=True, options={"strict": True})
    for n in (4, 8, 9):
        x = torch.randn(n, 5)
        torch.testing.assert_close(compiled(x), both(x))
        assert [t.stride() for t in parts(x)] == [t.stride() for t in parts.reference(x)]


def test_many_dispatches_ask_once() -> None:
    def deep(x: Tensor) -> Tensor:
        for _ in range(4):
            x = activation(x) + x
        return x

    exe = ingot.compile(deep, (rows(700),), dynamic_shapes=FREE)
    assert len(exe.compiled.versions) == 3
    for n in (512, 513, 2049):
        x = rows(n)
        torch.testing.assert_close(exe(x), deep(x), rtol=1e-4, atol=1e-5)


def test_an_implementation_may_have_tensors_of_its_own() -> None:
    own = torch.randn(5)

    @ingot.dispatch(on=("x", 0), ranges=[8], budget=0)
    def shifted(x: Tensor) -> Tensor:
        return x + own

    @shifted.implementation()
    def other(x: Tensor) -> Tensor:
        return x - own * -1

    shifted.pin({(0, 8): "other", (9, None): "reference"})
    free = ({0: Dim("n", min=2, max=100)},)
    compiled = torch.compile(shifted, backend="ingot", dynamic=True, options={"strict": True})
    program = ingot.export(shifted, (torch.randn(6, 5),), dynamic_shapes=free)
    for n in (4, 20):
        x = torch.randn(n, 5)
        torch.testing.assert_close(compiled(x), x + own)
        torch.testing.assert_close(program(x), x + own)


def test_who_writes_to_arguments_does_not_serve() -> None:
    @ingot.dispatch(on=("x", 0), ranges=[8], budget=0)
    def grown(x: Tensor) -> Tensor:
        return x + 1

    @grown.implementation()
    def writing(x: Tensor) -> Tensor:
        return x.add_(1)

    grown.pin({(0, 8): "writing", (9, None): "reference"})
    traced = make_fx(grown, tracing_mode="symbolic")(torch.ones(4))
    program = Resolve().run(program_from_fx(traced))
    assert "writing: it writes to its arguments" in notes(program)
