"""The document of the visual report: its links hold in both directions, its work is that of the
model, and its JSON cannot end the element that it stands in."""

from __future__ import annotations

import gc
import json
import shutil
import weakref
from dataclasses import replace

import pytest
import torch

import ingot
from ingot.explain.records import Arena, Document, Graph, Roofline, Step, Text
from ingot.explain.roofline import reaching, roofline
from tests.report.documents import ATTACK, chain, hostile
from tests.report.models import explained


@pytest.fixture(scope="module")
def document() -> Document:
    return explained().document


@pytest.fixture(scope="module")
def graph(document: Document) -> Graph:
    (graph,) = document.graphs
    return graph


def step_with(graph: Graph, *ops: str) -> Step:
    return next(step for step in graph.steps if step.ops == ops and step.within < 0)


def test_nodes_and_steps_name_each_other(graph: Graph) -> None:
    for number, step in enumerate(graph.steps):
        assert step.nodes
        assert all(graph.nodes[node].step == number for node in step.nodes)
    calls = [node for node in graph.nodes if node.kind == "call"]
    assert calls and all(node.step >= 0 for node in calls)
    for k, node in enumerate(graph.nodes):
        assert all(read < k for read in node.inputs)


def lines_of(text: Text, step: int) -> list[str]:
    lines = text.text.splitlines()
    return [line for a, b, of in text.marks if of == step for line in lines[a : b + 1]]


def test_lines_of_each_text_belong_to_their_step(graph: Graph) -> None:
    for number, step in enumerate(graph.steps):
        names = [graph.nodes[node].name for node in step.nodes]
        program = [line.split(":")[0].strip() for line in lines_of(graph.program, number)]
        assert program == names
        first = lines_of(graph.regions, number)[0].split()[0]
        assert first in ("region", "view", "library", "host", "fallback")
        for line in lines_of(graph.plan, number):
            assert "step" not in line or f"0:{number}" in line
    for text in (graph.program, graph.regions, graph.plan, graph.python):
        assert text.marks
        assert all(0 <= a <= b < len(text.text.splitlines()) for a, b, _ in text.marks)


def test_marks_of_the_plan_hold_whole_launches(graph: Graph) -> None:
    lines = graph.plan.text.splitlines()
    launches = [(a, b) for a, b, _ in graph.plan.marks if lines[a].lstrip().startswith("launch")]
    assert launches
    for first, last in launches:
        block = lines[first : last + 1]
        assert sum(line.count("{") - line.count("}") for line in block) == 0
        assert sum(line.lstrip().startswith("launch") for line in block) == 1


def test_source_lines(document: Document, graph: Graph) -> None:
    gelu = next(node for node in graph.nodes if node.user_op == "gelu")
    *_, (source, line) = document.stacks[gelu.stack]
    assert document.sources[source].name == "models.py"
    assert "F.gelu(self.up" in document.sources[source].text.splitlines()[line - 1]
    outer = [document.sources[s].text.splitlines()[n - 1] for s, n in document.stacks[gelu.stack]]
    assert "x = block(x)" in outer[0]
    assert gelu.module == "blocks.0"


def test_a_matmul_and_its_epilogue_are_one_launch(graph: Graph) -> None:
    step = step_with(graph, "addmm", "gelu")
    own = graph.steps.index(step)
    inner = [each for each in graph.steps if each.within == own]
    assert [each.ops[-1] for each in inner] == ["addmm"] or inner == []
    assert step.kind == "native"
    assert step.flops == 2 * 16 * 32 * 64 + 16 * 64
    assert step.bytes == 4 * (16 * 32 + 32 * 64 + 64 + 16 * 64)
    assert step.ms > 0


def test_times_are_those_of_the_report() -> None:
    report = explained()
    steps = sum(step.ms for graph in report.document.graphs for step in graph.steps)
    rows = sum(row.ms for row in (*report.kernel_rows, *report.call_rows))
    assert steps == pytest.approx(rows)
    summary = report.document.summary
    assert (summary.run_ms, summary.eager_ms) == (report.run_ms, report.eager_ms)
    assert 0 <= summary.outside_ms <= report.run_ms
    assert steps + summary.outside_ms <= report.run_ms * 1.0001
    assert report.eager_ms is not None and report.eager_ms > 0


def test_an_op_left_to_pytorch_has_its_reason(graph: Graph) -> None:
    step = step_with(graph, "special_airy_ai")
    assert step.kind == "fallback" and step.reason and not step.kernels
    assert all(not each.reason for each in graph.steps if each.kind in ("kernel", "native"))


def test_kernels_have_listings(document: Document, graph: Graph) -> None:
    used = {k for step in graph.steps for k in step.kernels}
    assert used and {"loops", "matmul"} <= {document.kernels[k].family for k in used}
    for k in used:
        kernel = document.kernels[k]
        assert "llvm.func" in kernel.mlir
        assert all(document.kernels[each].family == "function" for each in kernel.calls)
        assert bool(kernel.assembly) == bool(shutil.which("objdump"))
        assert not kernel.note or not kernel.assembly


def overlaps(arena: Arena) -> list[tuple[str, str]]:
    return [
        (one.name, other.name)
        for k, one in enumerate(arena.buffers)
        for other in arena.buffers[k + 1 :]
        if one.first <= other.last and other.first <= one.last
        if one.offset < other.offset + other.bytes and other.offset < one.offset + one.bytes
    ]


def test_values_of_the_arena_do_not_overlap(graph: Graph) -> None:
    arena = graph.arena
    assert arena is not None and len(arena.buffers) >= 4
    assert overlaps(arena) == []
    for buffer in arena.buffers:
        assert 0 <= buffer.first <= buffer.last < len(arena.positions)
        assert buffer.offset + buffer.bytes <= arena.bytes
        assert buffer.step >= 0
        assert arena.positions[buffer.first] == buffer.step


def test_sizes_known_at_run_time_have_the_values_of_the_run() -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.softmax(x, 0) * 2, 1)

    x = torch.randn(6, 10)
    torch._dynamo.mark_dynamic(x, 0)
    document = ingot.explain(model, (x,)).document
    (graph,) = document.graphs
    step = next(each for each in graph.steps if each.name.startswith("exp"))
    assert step.bytes == 4 * (60 + 10 + 60 + 10)  # x and its maxima; exp and its sums
    assert step.flops == 3 * 60  # sub, exp, sum
    assert graph.arena is None or graph.arena.bytes >= max(b.bytes for b in graph.arena.buffers)


def test_recompiles_name_the_guard() -> None:
    class Counter(torch.nn.Module):
        calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return x * self.calls

    document = ingot.explain(Counter(), (torch.randn(4),)).document
    assert document.recompiles
    assert "calls" in document.recompiles[0].guard
    assert len(document.graphs) > 1


def test_the_report_keeps_no_graph_and_no_weight() -> None:
    model = torch.nn.Linear(32, 32)
    weight = weakref.ref(model.weight)
    with torch.no_grad():
        report = ingot.explain(model, (torch.randn(8, 32),))
    del model
    torch._dynamo.reset()
    gc.collect()
    assert weight() is None
    assert {kernel.family for kernel in report.document.kernels} >= {"matmul"}
    assert report.document is report.document


def test_a_model_without_operations() -> None:
    document = ingot.explain(lambda: 3, ()).document
    assert document.graphs == () and document.kernels == () and document.summary.notes


def test_json_is_the_document_and_stays_inside_its_element() -> None:
    document = hostile()
    text = document.to_json()
    assert text.isascii() and not set("<>&") & set(text)
    read = json.loads(text)
    assert read["name"] == "chain" + ATTACK
    assert read["graphs"][0]["nodes"][3]["name"] == "%op.3" + ATTACK
    assert read["graphs"][0]["steps"][0]["bytes"] == 64_000


def test_a_number_that_json_has_not_is_an_error() -> None:
    document = chain(8)
    endless = replace(document, summary=replace(document.summary, run_ms=float("inf")))
    with pytest.raises(ValueError):
        endless.to_json()


def test_the_roofs_are_measured_once() -> None:
    roofs = roofline()
    assert roofs.gflop_per_s > 0 and roofs.gb_per_s > 0 and roofs.cache_gb_per_s > 0
    assert roofline() is roofs


def test_no_step_is_above_a_roof() -> None:
    document = chain(8)  # 64 kB and 9,000 operations in 0.01 ms: 6.4 GB/s, 0.9 GFLOP/s
    high, low = Roofline(20.0, 100.0, 200.0), Roofline(2.0, 3.0, 0.5)
    assert reaching(high, document) == high
    raised = reaching(low, document)
    assert (raised.gb_per_s, raised.cache_gb_per_s) == (2.0, pytest.approx(6.4))
    assert raised.gflop_per_s == pytest.approx(0.9)
    small = replace(document, host=replace(document.host, cache_bytes=1000))
    raised = reaching(low, small)
    assert (raised.gb_per_s, raised.cache_gb_per_s) == (pytest.approx(6.4), 3.0)
