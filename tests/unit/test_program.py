"""Invariants of a Program made from AOTAutograd's graph, errors of the verifier, and source
locations of nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.fx import Graph, GraphModule, Node

from ingot.errors import VerifyError
from ingot.journal import Journal, JournalEntry
from ingot.program.graph import copy_graph, output_values, placeholders
from ingot.program.program import (
    InputSpec,
    Level,
    OutputSpec,
    Program,
    Signature,
    SymbolRange,
    program_from_fx,
)
from ingot.program.source import node_place, trace_place
from ingot.program.verify import verify
from tests.unit.tracing import trace

aten = torch.ops.aten


def _mutating(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    x.add_(1)
    y.mul_(x[:, 0])
    return x * 2, y.view(-1, 1)


def test_writes_to_inputs_become_outputs_behind_the_users() -> None:
    traced = trace(_mutating, torch.ones(3, 2), torch.ones(3))
    program = traced.program()
    outputs = program.signature.outputs
    assert [spec.kind for spec in outputs] == ["user", "user", "mutation", "mutation"]
    assert [spec.target for spec in outputs[2:]] == [0, 1]
    assert not any(node.target is aten.copy_.default for node in program.graph.nodes)
    x, y = torch.full((3, 2), 2.0), torch.full((3,), 3.0)
    *_, new_x, new_y = program.graph_module(x, y)
    assert torch.equal(new_x, x + 1) and torch.equal(new_y, y * 3)
    assert torch.equal(x, torch.full((3, 2), 2.0)), "the program wrote to its input"
    verify(program)


def test_the_given_module_is_not_changed() -> None:
    traced = trace(_mutating, torch.ones(3, 2), torch.ones(3))
    before = traced.graphs[0].code
    traced.core()
    traced.graphs[0].recompile()
    assert traced.graphs[0].code == before


def _module_with_copy(value: Callable[[Graph, Node], Node], target: Tensor) -> GraphModule:
    """`copy_(x, value(x)); return x`, a graph that a tracer may produce."""
    graph = Graph()
    x = graph.placeholder("x")
    x.meta["val"] = target
    new = value(graph, x)
    copied = graph.call_function(aten.copy_.default, (x, new))
    copied.meta["val"] = target
    after = graph.call_function(aten.neg.default, (x,))
    after.meta["val"] = target
    graph.output((copied, after))
    return GraphModule({}, graph)


def test_a_written_value_gets_the_inputs_dtype_and_shape() -> None:
    def value(graph: Graph, x: Node) -> Node:
        node = graph.call_function(aten.sum.dim_IntList, (x, [0], True), {"dtype": torch.float64})
        node.meta["val"] = torch.empty(1, 2, dtype=torch.float64)
        return node

    program = program_from_fx(_module_with_copy(value, torch.empty(3, 2)))
    verify(program)
    x = torch.arange(6.0).reshape(3, 2)
    returned, after, written = program.graph_module(x)
    assert written.dtype == torch.float32 and written.shape == (3, 2)
    assert torch.equal(written, x.sum(0).expand(3, 2))
    assert returned is x, "what is returned is the written input itself"
    assert program.signature.outputs[0] == OutputSpec("user", alias_of=0)
    assert torch.equal(after, -written), "who reads after the write reads the new value"


def test_outputs_that_share_an_inputs_memory_say_so() -> None:
    traced = trace(lambda x: (x + 1, x + 2), torch.ones(2, 3))
    gm = traced.graphs[0]
    (x,) = placeholders(gm.graph)
    output = next(iter(reversed(gm.graph.nodes)))
    with gm.graph.inserting_before(output):
        row = gm.graph.call_function(aten.select.int, (x, 0, 0))
        row.meta["val"] = x.meta["val"][0]
    output.args = ((*output.args[0], row, x),)
    program = program_from_fx(gm)
    assert [spec.alias_of for spec in program.signature.outputs] == [None, None, 0, 0]
    verify(program)
    verify(traced.core())


def test_constants_are_tensors_beside_the_graph() -> None:
    def function(x: Tensor) -> Tensor:
        return x + torch.tensor([1.5, 2.5], dtype=torch.bfloat16)

    program = trace(function, torch.ones(2)).program()
    (constant,) = program.constants.values()
    assert constant.dtype == torch.bfloat16
    assert constant.tolist() == [1.5, 2.5]


def test_symbols_carry_their_ranges() -> None:
    program = trace(lambda x: x + x.shape[0], torch.ones(5, 3), dynamic=True).program()
    assert program.symbols
    assert all(known == SymbolRange(2, None) for known in program.symbols.values())
    assert {"user", "symbol"} >= {spec.kind for spec in program.signature.inputs}


def test_static_inputs_are_the_modules_own() -> None:
    gm = trace(lambda x, w: x + w, torch.ones(2), torch.ones(2)).graphs[0]
    program = program_from_fx(gm, static_input_indices=[1])
    assert [spec.kind for spec in program.signature.inputs] == ["user", "buffer"]


def test_a_copied_graph_is_the_same_and_apart() -> None:
    graph = trace(lambda x: (x.exp() + 1).sum(), torch.ones(3)).graphs[0].graph
    copy = copy_graph(graph)
    assert str(copy) == str(graph)
    first = next(node for node in copy.nodes if node.op == "call_function")
    with copy.inserting_after(first):
        assert copy.call_function(aten.exp.default, (first,)).name not in {
            node.name for node in graph.nodes
        }
    assert len(copy.nodes) == len(graph.nodes) + 1
    copy.lint()


# -- the verifier ----------------------------------------------------------------------------------


@pytest.fixture
def program() -> Program:
    return trace(lambda x: (x.exp() + 1, x.sum()), torch.ones(3, 2)).program()


def _call(program: Program, target: object) -> Node:
    return next(node for node in program.graph.nodes if node.target is target)


def test_a_node_without_a_value_is_refused(program: Program) -> None:
    del _call(program, aten.exp.default).meta["val"]
    with pytest.raises(VerifyError, match=r'no meta\["val"\]') as raised:
        verify(program)
    assert ">  %exp" in str(raised.value)
    assert "   %add" in str(raised.value), "the lines around the culprit are shown"


def test_an_op_that_writes_is_refused(program: Program) -> None:
    _call(program, aten.exp.default).target = aten.exp_.default
    with pytest.raises(VerifyError, match="writes to its arguments"):
        verify(program)


def test_an_aten_spelling_is_refused_at_core_level(program: Program) -> None:
    verify(program)
    with pytest.raises(VerifyError, match=r"sum\.dim_IntList with every dim named"):
        verify(replace(program, level=Level.CORE))


def test_an_unknown_constant_is_refused() -> None:
    program = trace(lambda x: x + torch.tensor([1.0, 2.0]), torch.ones(2)).program()
    verify(program)
    del program.graph_module._tensor_constant0
    program.graph_module.register_module("_tensor_constant0", torch.nn.Identity())
    with pytest.raises(VerifyError, match="neither a constant nor a subgraph"):
        verify(replace(program, constants={}))


@pytest.mark.parametrize(
    ("inputs", "outputs", "why"),
    [
        ((InputSpec("other", "user"),), None, "the graph's inputs are"),
        ((InputSpec("arg0_1", "symbol"),), None, "calls this input a symbol"),
        (None, (OutputSpec("user"),), "2 outputs, 1 in the signature"),
        (None, (OutputSpec("mutation", 0), OutputSpec("user")), "a mutation comes before"),
        (None, (OutputSpec("user"), OutputSpec("mutation", 3)), "a mutation of input 3"),
        (None, (OutputSpec("user"), OutputSpec("mutation", 0)), "not the dtype and shape"),
        (None, (OutputSpec("user"), OutputSpec("user", alias_of=0)), "shares memory"),
    ],
)
def test_a_signature_that_does_not_fit_is_refused(
    program: Program,
    inputs: tuple[InputSpec, ...] | None,
    outputs: tuple[OutputSpec, ...] | None,
    why: str,
) -> None:
    given = program.signature
    assert [spec.name for spec in given.inputs] == ["arg0_1"]
    signature = Signature(inputs or given.inputs, outputs or given.outputs)
    with pytest.raises(VerifyError, match=why):
        verify(replace(program, signature=signature))


def test_a_value_used_before_it_is_made_is_refused(program: Program) -> None:
    exp, add = _call(program, aten.exp.default), _call(program, aten.add.Tensor)
    exp.append(add)
    verify(program)
    add.append(exp)
    with pytest.raises(VerifyError, match="comes after it"):
        verify(program)


# -- source lines and the journal ------------------------------------------------------------------


def test_the_users_own_line_is_found() -> None:
    trace_text = (
        '  File "/home/me/model.py", line 12, in forward\n    y = self.norm(x)\n'
        f'  File "{torch.__path__[0]}/nn/functional.py", line 2901, in layer_norm\n'
        "    return torch.layer_norm(\n"
    )
    place = trace_place(trace_text)
    assert place is not None
    assert (place.file, place.line, place.code) == ("/home/me/model.py", 12, "y = self.norm(x)")


def test_without_a_line_of_the_users_the_innermost_is_named() -> None:
    place = trace_place(f'  File "{torch.__path__[0]}/a.py", line 1, in f\n    g()\n')
    assert place is not None and place.line == 1
    assert trace_place("no frames here") is None


def test_nodes_of_dynamo_know_their_line() -> None:
    places = []

    def backend(gm: GraphModule, inputs: object) -> GraphModule:
        places.extend(node_place(node) for node in gm.graph.nodes if node.op == "call_method")
        return gm

    torch.compile(lambda x: x.exp(), backend=backend)(torch.ones(2))
    assert len(places) == 1
    assert places[0] is not None and places[0].file == __file__
    assert "x.exp()" in places[0].code


def test_a_journal_only_grows() -> None:
    first = Journal().with_entry(JournalEntry("fold", 1.5, 9, 7, ("values computed: 2",)))
    second = first.with_entry(JournalEntry("cleanup", 0.5, 7, 6))
    assert len(first.entries) == 1
    assert second.total_ms() == 2.0
    assert second.as_text().splitlines() == [
        "fold: 9 -> 7 nodes, 1.5 ms",
        "  values computed: 2",
        "cleanup: 7 -> 6 nodes, 0.5 ms",
    ]


def test_output_values_may_be_none() -> None:
    graph = trace(lambda x: [x + 1, None], torch.ones(1)).graphs[0].graph
    assert len(output_values(graph)) >= 1
