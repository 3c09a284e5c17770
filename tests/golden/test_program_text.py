"""The text of programs before and after the passes. `EXPECTTEST_ACCEPT=1 pytest tests/golden`
updates the expected text in this file; check the diff before committing.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from expecttest import assert_expected_inline
from functorch.experimental.control_flow import cond
from torch import Tensor
from torch.fx import GraphModule

from ingot.passes.base import run_passes
from ingot.passes.native import core_passes
from ingot.program.program import Program, program_from_fx
from ingot.program.text import digest
from tests.unit.tracing import trace, trace_training


def _core(graph: GraphModule) -> str:
    return run_passes(program_from_fx(graph), core_passes(), verify=True).as_text()


def test_mutation_constant_and_strides() -> None:
    def function(x: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
        table.mul_(2)
        return x.t() + torch.tensor([1, 2]), table.view(4)

    traced = trace(function, torch.ones(2, 3), torch.ones(2, 2, dtype=torch.float16))
    assert_expected_inline(
        traced.program().as_text(),
        """\
program @ aten
  constant _tensor_constant0: i64[2] #0c730b69905c
  %in0: f32[2, 3] = input user
  %in1: f16[2, 2] = input user
  %mul: f16[2, 2] = mul.Tensor(%in1, 2)
  %t: f32[3, 2] strides(1, 3) = t(%in0)
  %const: i64[2] = constant _tensor_constant0
  %lift_fresh_copy: i64[2] = lift_fresh_copy(%const)
  %add: f32[3, 2] strides(1, 3) = add.Tensor(%t, %lift_fresh_copy)
  %view: f16[4] = view(%mul, [4])
  return %add, %view, %mul -> %in1
""",
    )
    assert_expected_inline(
        _core(traced.graphs[0]),
        """\
program @ core
  constant _tensor_constant0: i64[2] #0c730b69905c
  %in0: f32[2, 3] = input user
  %in1: f16[2, 2] = input user
  %mul: f16[2, 2] = mul.Tensor(%in1, 2)
  %permute: f32[3, 2] strides(1, 3) = permute(%in0, [1, 0])
  %const: i64[2] = constant _tensor_constant0
  %add: f32[3, 2] strides(1, 3) = add.Tensor(%permute, %const)
  %view: f16[4] = view(%mul, [4])
  return %add, %view, %mul -> %in1
""",
    )


def test_symbols_and_symbolic_arithmetic() -> None:
    def function(x: Tensor) -> Tensor:
        return F.softmax(x.reshape(x.shape[0] * 2, -1), -1)

    traced = trace(function, torch.ones(3, 8), dynamic=True)
    assert_expected_inline(
        _core(traced.graphs[0]),
        """\
program @ core
  symbol s26: 2..
  symbol s49: 2..
  %in0: f32[s26, s49] = input user
  %sym_size: sym(s26) = sym_size.int(%in0, 0)
  %mul: sym(2*s26) = sym.mul(%sym_size, 2)
  %view: f32[2*s26, (s49//2)] = view(%in0, [%mul, -1])
  %amax: f32[2*s26, 1] = amax(%view, [1], True)
  %sub: f32[2*s26, (s49//2)] strides(Max(1, (s49//2)), 1) = sub.Tensor(%view, %amax)
  %exp: f32[2*s26, (s49//2)] strides(Max(1, (s49//2)), 1) = exp(%sub)
  %sum: f32[2*s26, 1] = sum.dim_IntList(%exp, [1], True)
  %div: f32[2*s26, (s49//2)] strides(Max(1, (s49//2)), 1) = div.Tensor(%exp, %sum)
  return %div
""",
    )


def test_half_layer_norm_widens_once_and_narrows_once() -> None:
    def function(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.layer_norm(x, (8,), weight, bias)

    args = [torch.ones(shape, dtype=torch.bfloat16) for shape in ((4, 8), (8,), (8,))]
    assert_expected_inline(
        _core(trace(function, *args).graphs[0]),
        """\
program @ core
  %in0: bf16[4, 8] = input user
  %in1: bf16[8] = input user
  %in2: bf16[8] = input user
  %_to_copy: f32[4, 8] = _to_copy(%in0, dtype=f32)
  %sum: f32[4, 1] = sum.dim_IntList(%_to_copy, [1], True)
  %div: f32[4, 1] = div.Tensor(%sum, 8)
  %sub: f32[4, 8] = sub.Tensor(%_to_copy, %div)
  %mul: f32[4, 8] = mul.Tensor(%sub, %sub)
  %sum.1: f32[4, 1] = sum.dim_IntList(%mul, [1], True)
  %div.1: f32[4, 1] = div.Tensor(%sum.1, 8)
  %sub.1: f32[4, 1] = sub.Tensor(%div.1, %div.1)
  %add: f32[4, 1] = add.Tensor(%div.1, %sub.1)
  %add.1: f32[4, 1] = add.Tensor(%add, 1e-05)
  %rsqrt: f32[4, 1] = rsqrt(%add.1)
  %mul.1: f32[4, 8] = mul.Tensor(%sub, %rsqrt)
  %mul.2: f32[4, 8] = mul.Tensor(%mul.1, %in1)
  %add.2: f32[4, 8] = add.Tensor(%mul.2, %in2)
  %_to_copy.1: bf16[4, 8] = _to_copy(%add.2, dtype=bf16)
  return %_to_copy.1
""",
    )


def test_training_of_a_linear_layer() -> None:
    def function(x: Tensor, weight: Tensor) -> Tensor:
        return F.cross_entropy(F.gelu(x @ weight.t()), torch.tensor([0, 2]))

    args = [torch.ones(shape, requires_grad=True) for shape in ((2, 3), (4, 3))]
    forward, backward = trace_training(function, *args).graphs
    assert_expected_inline(
        _core(forward),
        """\
program @ core
  constant _tensor_constant0: i64[2] #c571327cb01a
  constant _folded1: i64[2] #c571327cb01a
  %in0: f32[2, 3] = input user
  %in1: f32[4, 3] = input user
  %permute: f32[3, 4] strides(1, 3) = permute(%in1, [1, 0])
  %mm: f32[2, 4] = mm(%in0, %permute)
  %gelu: f32[2, 4] = gelu(%mm)
  %const: i64[2] = constant _tensor_constant0
  %clone: i64[2] = clone(%const)
  %amax: f32[2, 1] = amax(%gelu, [1], True)
  %sub: f32[2, 4] = sub.Tensor(%gelu, %amax)
  %exp: f32[2, 4] = exp(%sub)
  %sum: f32[2, 1] = sum.dim_IntList(%exp, [1], True)
  %log: f32[2, 1] = log(%sum)
  %sub.1: f32[2, 4] = sub.Tensor(%sub, %log)
  %const.1: i64[2] = constant _folded1
  %unsqueeze: i64[2, 1] = unsqueeze(%const.1, 1)
  %gather: f32[2, 1] = gather(%sub.1, 1, %unsqueeze)
  %squeeze: f32[2] = squeeze.dims(%gather, [1])
  %neg: f32[2] = neg(%squeeze)
  %full: f32[] = full([], 2.0, device=cpu, dtype=f32)
  %sum.1: f32[] = sum.dim_IntList(%neg, [0], False)
  %div: f32[] = div.Tensor(%sum.1, %full)
  return %div, %in0 (shares %in0), %permute (shares %in1), %mm, %clone, %sub.1, %full
""",
    )
    assert_expected_inline(
        _core(backward),
        """\
program @ core
  %in0: f32[2, 3] = input user
  %in1: f32[3, 4] strides(1, 3) = input user
  %in2: f32[2, 4] = input user
  %in3: i64[2] = input user
  %in4: f32[2, 4] = input user
  %in5: f32[] = input user
  %in6: f32[] = input user
  %div: f32[] = div.Tensor(%in6, %in5)
  %unsqueeze: i64[2, 1] = unsqueeze(%in3, 1)
  %arange: i64[4] = arange.start_step(0, 4, 1, device=cpu, dtype=i64)
  %view: i64[1, 4] = view(%arange, [1, 4])
  %eq: b8[2, 4] = eq.Tensor(%view, %unsqueeze)
  %ne: b8[2, 1] = ne.Scalar(%unsqueeze, -100)
  %bitwise_and: b8[2, 4] = bitwise_and.Tensor(%eq, %ne)
  %full: f32[] = full([], 0, device=cpu, dtype=f32)
  %mul: f32[] = mul.Tensor(%div, 0)
  %where: f32[2, 1] = where.self(%ne, %mul, %full)
  %neg: f32[] = neg(%div)
  %where.1: f32[2, 4] = where.self(%bitwise_and, %neg, %where)
  %exp: f32[2, 4] = exp(%in4)
  %sum: f32[2, 1] = sum.dim_IntList(%where.1, [1], True)
  %mul.1: f32[2, 4] = mul.Tensor(%exp, %sum)
  %sub: f32[2, 4] = sub.Tensor(%where.1, %mul.1)
  %gelu_backward: f32[2, 4] = gelu_backward(%sub, %in2)
  %permute: f32[4, 2] strides(1, 4) = permute(%gelu_backward, [1, 0])
  %mm: f32[4, 3] = mm(%permute, %in0)
  %permute.1: f32[4, 3] = permute(%in1, [1, 0])
  %mm.1: f32[2, 3] = mm(%gelu_backward, %permute.1)
  return %mm.1, %mm
""",
    )


def test_branches_are_printed_behind_the_program() -> None:
    def function(x: Tensor) -> Tensor:
        return cond(x.sum() > 0, lambda y: y + 1, lambda y: y.sin(), (x,))

    assert_expected_inline(
        _core(trace(function, torch.ones(3)).graphs[0]),
        """\
program @ core
  %in0: f32[3] = input user
  %sum: f32[] = sum.dim_IntList(%in0, [0], False)
  %gt: b8[] = gt.Scalar(%sum, 0)
  %cond: (f32[3]) = cond(%gt, @true_graph_0, @false_graph_0, [%in0])
  %getitem: f32[3] = item(%cond, 0)
  return %getitem
subgraph true_graph_0
  %in0: f32[3] = input
  %add: f32[3] = add.Tensor(%in0, 1)
  return %add
subgraph false_graph_0
  %in0: f32[3] = input
  %sin: f32[3] = sin(%in0)
  return %sin
""",
    )


def test_text_does_not_depend_on_the_tracers_names() -> None:
    graph = trace(lambda x: (x.exp() + 1) * x.exp(), torch.ones(3)).graphs[0]
    before = program_from_fx(graph)
    for i, node in enumerate(graph.graph.nodes):
        if node.op == "call_function":
            node._rename(f"other_{i}")
    after: Program = program_from_fx(graph)
    assert after.as_text() == before.as_text()


def test_digests_tell_dtypes_apart_by_their_bytes() -> None:
    for dtype in (torch.bfloat16, torch.complex64, torch.bool, torch.float8_e4m3fn, torch.uint16):
        ones = torch.ones(3).to(dtype)
        assert digest(ones) == digest(ones.clone())
        assert digest(ones) != digest(torch.zeros(3).to(dtype))
    assert digest(torch.ones(2, 3).t()) == digest(torch.ones(2, 3).t().contiguous())
    assert digest(torch.ones(0)) == digest(torch.zeros(0, 2))
