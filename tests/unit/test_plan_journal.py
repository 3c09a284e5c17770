"""The decisions of kernel selection in the plan's journal, with their reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import Dim

import ingot
from ingot.dispatch.builtin_variants import CHOICES, tensors, up_to
from ingot.dispatch.ranges import RangeTable, Row
from ingot.dispatch.records import remember, setting_of
from ingot.dispatch.tuning_record import TuningRecord
from ingot.errors import UnsupportedError

SELECTION = ["fuse_epilogues", "select_kernels", "fuse_horizontal", "choose_variants"]
N = Dim("n", min=1, max=100_000)


class Layers(nn.Module):
    """Linear layers of 32 columns and a function of them."""

    def __init__(self, use: Callable[..., Any], count: int = 1):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(count))
        self.use = use

    def forward(self, *args: Tensor) -> Any:
        return self.use(*args, *self.layers)


@torch.no_grad()
def journal(f: Callable[..., Any], *args: Tensor, sizes: Any = None, **options: Any) -> Any:
    """The notes of a compiled program, by entry; those of bodies begin with the body."""
    exe = ingot.compile(f, args, dynamic_shapes=sizes, options={"tune": 0.0, **options})
    entries = exe.compiled.plan_journal.entries
    return {": ".join(filter(None, (e.within, e.name))): list(e.notes) for e in entries}


def x(*shape: int) -> Tensor:
    return torch.randn(shape or (4, 32))


def test_selection_comes_before_the_passes() -> None:
    notes = journal(lambda x: x + 1, x())
    assert [*notes][: len(SELECTION)] == SELECTION
    assert "assign_buffers" in notes


# -- fuse_epilogues --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "told"),
    [
        (lambda x, a: a(x).tanh(), "addmm: epilogue tanh, in the memory of tanh"),
        (lambda x, a: (a(x).tanh(), a(x)), "addmm: epilogue tanh, and others read the matmul"),
        (lambda x, a: a(x) > 0, "addmm: epilogue gt, in memory of its own"),
        (lambda x, a: a(x), "addmm: no epilogue: no step reads it"),
        (lambda x, a: a(x).sum(1), "addmm: sum_1 is no epilogue: it reduces"),
        (lambda x, a: a(x).cumsum(1), "addmm: cumsum is no epilogue: it scans"),
        (lambda x, a: a(x).sort().values, "addmm: sort is no epilogue: it is a call"),
        (
            lambda x, a: a(x) + a(x).flip(0),
            "addmm: add is no epilogue: it reads more than one element of the matmul",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_epilogues(use: Callable[..., Any], told: str) -> None:
    (note, *_) = journal(Layers(use), x())["fuse_epilogues"]
    assert note.startswith(told)


def test_a_region_is_the_epilogue_of_one_matmul() -> None:
    notes = journal(Layers(lambda x, a, b: a(x) + b(x), 2), x())["fuse_epilogues"]
    assert sorted(notes) == [
        "addmm: epilogue add, in the memory of add",
        "addmm_1: add is no epilogue: it is the epilogue of addmm",
    ]


def test_an_epilogue_without_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise UnsupportedError("can fail")

    monkeypatch.setattr("ingot.codegen.loops.kernels.write_epilogue", fail)
    monkeypatch.setattr("ingot.codegen.loops.kernels._known_epilogues", {})
    notes = journal(Layers(lambda x, a: a(x).tanh()), x())
    assert "addmm: its epilogue became a step again: can fail" in notes["fuse_epilogues"]
    assert "addmm (matmul): packed (built-in threshold)" in notes["choose_variants"]


def test_no_epilogues_without_packed_weights() -> None:
    notes = journal(Layers(lambda x, a: a(x).tanh()), x(), variants="matmul=library")
    assert notes["fuse_epilogues"] == ["no epilogues: the option variants has matmul=library"]


# -- select_kernels --------------------------------------------------------------------------------


def test_what_runs_each_step() -> None:
    def use(x: Tensor, linear: nn.Module) -> tuple[Tensor, ...]:
        y = linear(x) + 1
        whole = (y @ y.t()).long()
        return y.sort().values, whole @ whole

    assert journal(Layers(use), x())["select_kernels"] == [
        "addmm: matmul",
        "add: loops",
        "mm: batched_matmul; not matmul: the second operand is computed in every call, so that"
        " packing it does not pay",
        "_to_copy: loops",
        "sort: PyTorch: no rule for this op",
        "mm_1: PyTorch: not matmul: no kernel for int64, only for float32 and float64;"
        " not batched_matmul: no kernel for int64, only for float32 and float64",
    ]


def test_control_flow_and_its_bodies() -> None:
    def either(x: Tensor, then: Callable[[Tensor], Tensor]) -> Tensor:
        return torch.cond(x.sum() > 0, then, lambda x: x.cos(), (x,))

    native = journal(lambda x: either(x, lambda x: x.sin()), x())["select_kernels"]
    assert native == ["gt: loops", "cond: native branch", "sin: loops", "cos: loops"]
    eager = journal(lambda x: either(x, lambda x: x.sort().values), x())
    assert "cond: Python: a body has an eager step, or a new size" in eager["select_kernels"]
    assert "sort: PyTorch: no rule for this op" in eager["cond/0: select_kernels"]
    assert eager["cond/1: select_kernels"] == ["cos: loops"]


# -- fuse_horizontal -------------------------------------------------------------------------------


def test_matmuls_of_the_same_rows() -> None:
    model = Layers(lambda x, y, a, b, c: (a(x), b(x), c(y)), 3)
    assert journal(model, x(), x())["fuse_horizontal"] == [
        "addmm_2: not with addmm, addmm_1: it reads other rows",
        "addmm, addmm_1: one launch, as they read the same rows",
    ]


def test_a_matmul_that_needs_a_value_between() -> None:
    def use(x: Tensor, a: nn.Module) -> Tensor:
        scale = a(x).sum()
        return torch.mm(x, torch.ones(32, 32) * 2) * 0 + F.linear(x, a.weight, a.bias * scale)

    notes = journal(Layers(use), x())["fuse_horizontal"]
    assert any("it needs values made between" in note for note in notes)


def test_matmuls_that_blas_may_run() -> None:
    notes = journal(Layers(lambda x, a: a(x)), x(), variants="matmul=library")
    assert notes["fuse_horizontal"] == ["addmm: alone, as BLAS may run it"]


# -- choose_variants -------------------------------------------------------------------------------


@pytest.fixture
def _forgotten() -> Iterator[None]:
    yield
    CHOICES["matmul"].operation.records.clear()


@pytest.mark.parametrize(
    ("options", "ground"),
    [
        ({}, "packed (built-in threshold)"),
        ({"variants": "matmul=library"}, "library (option variants)"),
        ({"weights": "int8"}, "packed (option weights=int8)"),
    ],
    ids=str,
)
def test_grounds_of_a_variant(options: dict[str, str], ground: str) -> None:
    notes = journal(Layers(lambda x, a: a(x)), x(), **options)["choose_variants"]
    assert notes[0] == f"addmm (matmul): {ground}"


@pytest.mark.usefixtures("_forgotten")
def test_a_variant_from_a_tuning_record() -> None:
    operation = CHOICES["matmul"].operation
    operation.records.clear()
    rows = up_to(64, "library", "packed").rows
    table = RangeTable(tuple(Row(r.box, r.serves, 1.0, "measured 1.5 times") for r in rows))
    form = torch.float32
    bound = tensors(a=(form, (37, 32), (32, 1)), w=(form, (32, 32), (1, 32)))
    remember(operation, TuningRecord(setting_of(operation, bound), table))
    notes = journal(Layers(lambda x, a: a(x)), x(), sizes=(({0: N},),), tune=1e-9)
    assert notes["choose_variants"][:2] == [
        "addmm (matmul): library for sizes 0..64 (tuning record: measured 1.5 times)",
        "addmm (matmul): packed for sizes 65.. (tuning record: measured 1.5 times)",
    ]


def test_variants_of_attention_and_reductions() -> None:
    q = x(1, 2, 8, 64)
    notes = journal(F.scaled_dot_product_attention, q, q.clone(), q.clone())
    assert "(attention): many (built-in threshold)" in notes["choose_variants"][0]
    notes = journal(lambda x: x.sum(1), x(2, 1 << 20))
    assert notes["choose_variants"][0] == "sum_1 (reduction): split (built-in threshold)"


def test_an_epilogue_needs_the_packed_variant() -> None:
    notes = journal(Layers(lambda x, a: a(x).tanh()), x())
    assert notes["choose_variants"][0] == "addmm (matmul): packed (its epilogue needs it)"


def test_thread_choices() -> None:
    if torch.get_num_threads() == 1:
        pytest.skip("one thread")
    notes = journal(lambda x: x.exp(), x(), variants="kernel_threads=serial")
    assert "kernel_threads: serial (option variants)" in notes["choose_variants"]


def test_versions_name_themselves() -> None:
    """Each version has decisions of its own."""

    def use(x: Tensor, a: nn.Module) -> Tensor:
        y = a(x)
        return torch.cond(x.shape[0] > 16, lambda y: y.tanh(), lambda y: y.sum(1, True), (y,))

    notes = journal(Layers(use), x(), sizes=(({0: N},),))
    assert notes["fuse_epilogues"] == [
        "version 0: addmm: epilogue tanh_default, in the memory of tanh_default",
        "version 1: addmm: sum_dim_int_list is no epilogue: it reduces",
    ]
