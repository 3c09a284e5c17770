"""Calls that differ from the example: other layouts, aliased inputs, other states around the call.
Each gives eager's result or is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import ingot
from ingot.errors import CaptureError, InputError
from tests.programs.check import copied


def export(function: Callable[..., Any], *args: Any) -> ingot.Program:
    return ingot.export(function, args, level="pre-dispatch")


def assert_equal_to_eager(
    function: Callable[..., Any], program: ingot.Program, *args: Tensor
) -> None:
    theirs, ours = copied(args), copied(args)
    want, got = function(*theirs), program(*ours)
    assert torch.equal(got, want)
    assert got.requires_grad == want.requires_grad
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a, b)


def writes_first_reads_second(x: Tensor, y: Tensor) -> Tensor:
    x.add_(1)
    return y * 2


def test_inputs_that_share_memory_at_the_call_are_refused() -> None:
    program = export(writes_first_reads_second, torch.ones(3), torch.ones(3))
    whole = torch.arange(6.0)
    for x, y in ((whole[:3], whole[:3]), (whole[1:4], whole[:3]), (whole[::2], whole[2:5])):
        before = whole.clone()
        with pytest.raises(InputError, match="x is written to and shares memory with y"):
            program(x, y)
        assert torch.equal(whole, before)
    same = whole.numpy()
    with pytest.raises(InputError, match="shares memory"):
        program(whole[:3], torch.from_numpy(same)[:3])


def test_inputs_in_other_parts_of_one_memory_are_not() -> None:
    program = export(writes_first_reads_second, torch.ones(3), torch.ones(3))
    whole = torch.arange(6.0)
    assert_equal_to_eager(writes_first_reads_second, program, whole[:3], whole[3:])
    assert_equal_to_eager(writes_first_reads_second, program, whole[::2], whole[1::2])


def test_inputs_that_are_only_read_may_share_memory() -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        return x.sin() * y

    x = torch.ones(3)
    program = export(function, x, x)
    assert_equal_to_eager(function, program, x, x)


def test_examples_that_share_memory_are_refused_where_one_is_written() -> None:
    x = torch.ones(3)
    with pytest.raises(CaptureError, match="shares memory with another") as caught:
        export(writes_first_reads_second, x, x)
    assert caught.value.place is not None
    assert "x.add_(1)" in caught.value.place.code


def writes_both(x: Tensor, y: Tensor) -> Tensor:
    x.add_(1)
    y.mul_(2)
    return x * y


def made_under_inference_mode() -> Tensor:
    with torch.inference_mode():
        return torch.ones(3)


@pytest.mark.parametrize(
    ("make", "rule", "eagers_rule"),
    [
        (made_under_inference_mode, "made under inference_mode", "inference tensor"),
        (lambda: torch.ones(1).expand(3), "single memory location", "single memory location"),
        (lambda: torch.ones(3, requires_grad=True), "a leaf that requires grad", "leaf Variable"),
    ],
    ids=["inference", "expanded", "leaf"],
)
def test_an_input_that_eager_would_not_write_to_is_refused_before_anything_runs(
    make: Callable[[], Tensor], rule: str, eagers_rule: str
) -> None:
    program = export(writes_both, torch.ones(3), torch.ones(3))
    x, y = torch.ones(3), make()
    with pytest.raises(RuntimeError, match=eagers_rule):
        writes_both(x.clone(), y)
    with pytest.raises(InputError, match=rule) as caught:
        program(x, y)
    assert torch.equal(x, torch.ones(3))
    assert caught.value.place is not None
    assert "y.mul_(2)" in caught.value.place.code


def test_an_inference_tensor_is_written_under_inference_mode() -> None:
    program = export(writes_both, torch.ones(3), torch.ones(3))
    with torch.inference_mode():
        assert_equal_to_eager(writes_both, program, torch.ones(3), torch.full((3,), 3.0))


class Counter(nn.Module):
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.count.add_(1)
        return x * 2


def test_an_argument_in_the_memory_of_a_written_buffer_is_refused() -> None:
    model = Counter()
    program = export(model, torch.ones(3))
    with pytest.raises(InputError, match="shares memory"):
        program(model.count)


def test_buffers_that_overlap_are_refused_where_one_is_written() -> None:
    class Model(nn.Module):
        whole: Tensor
        part: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("whole", torch.zeros(4))
            self.register_buffer("part", self.whole[1:])

        def forward(self, x: Tensor) -> Tensor:
            self.whole.add_(x)
            return self.part * 2

    with pytest.raises(CaptureError, match="shares memory with another"):
        export(Model(), torch.ones(4))


def test_a_plain_tensor_in_the_memory_of_a_parameter_that_is_written_is_refused() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))
            self.plain = self.weight.data[1:]

        def forward(self, x: Tensor) -> Tensor:
            with torch.no_grad():
                self.weight.mul_(2)
            return self.plain * x

    with pytest.raises(CaptureError, match="shares memory with another") as caught:
        export(Model(), torch.ones(2))
    assert caught.value.place is not None
    assert "self.weight.mul_(2)" in caught.value.place.code


ROWS, COLUMNS = torch.arange(12.0).view(3, 4), torch.arange(12.0).view(4, 3).t()


def reads(x: Tensor) -> Tensor:
    return nn.functional.linear(x.reshape(-1, 2), torch.ones(2, 2)) + x.contiguous().sum()


def writes_itself(x: Tensor) -> Tensor:
    x[1:].add_(1)
    return x * 2


@pytest.mark.parametrize("function", [reads, writes_itself], ids=lambda f: f.__name__)
@pytest.mark.parametrize("example", [ROWS, COLUMNS], ids=["rows", "columns"])
def test_another_layout(function: Callable[..., Any], example: Tensor) -> None:
    program = export(function, example.clone(memory_format=torch.preserve_format))
    for given in (ROWS, COLUMNS, torch.arange(24.0).view(3, 8)[:, ::2]):
        assert_equal_to_eager(function, program, given)


def writes_through_a_reshape(x: Tensor) -> Tensor:
    y = x.reshape(-1)
    y.add_(1)
    return y * 1


def writes_through_a_reshape_inside(x: Tensor) -> Tensor:
    y = x * 1
    y.reshape(-1).add_(1)
    return y


def returns_a_reshape(x: Tensor) -> Tensor:
    return x.reshape(-1)


@pytest.mark.parametrize(
    "function",
    [writes_through_a_reshape, writes_through_a_reshape_inside, returns_a_reshape],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("other", [False, True], ids=["rows", "columns"])
def test_a_layout_that_decides_what_is_shared_is_refused(
    function: Callable[..., Any], other: bool, tmp_path: Path
) -> None:
    example, given = (COLUMNS, ROWS) if other else (ROWS, COLUMNS)
    program = export(function, example.clone(memory_format=torch.preserve_format))
    program.save(tmp_path / "it.ingot")
    ways = {
        "as it is": program,
        "loaded": ingot.Program.load(tmp_path / "it.ingot"),
        "there and back": ingot.Program.from_exported(program.to_exported()),
        "lowered": program.lowered("aten"),
    }
    for made in ways.values():
        assert_equal_to_eager(function, made, example)
        with pytest.raises(InputError, match="has strides"):
            made(copied(given))


def test_sizes_of_one_have_any_stride() -> None:
    program = export(returns_a_reshape, torch.ones(1, 4))
    assert_equal_to_eager(returns_a_reshape, program, torch.ones(4, 1).t())


def test_a_conjugated_view_is_another_layout() -> None:
    def function(x: Tensor) -> Tensor:
        y = x.resolve_conj()
        y.add_(1j)
        return y * 1

    x = torch.randn(3, dtype=torch.complex64)
    program = export(function, x.clone())
    assert_equal_to_eager(function, program, x)
    with pytest.raises(InputError, match="has strides"):
        program(x.conj())


def test_an_input_that_requires_grad_only_at_the_call() -> None:
    def function(x: Tensor) -> Tensor:
        with torch.no_grad():
            v = x[0]
        v.add_(1)
        return x * 2

    program = export(function, torch.ones(3, 4))
    assert_equal_to_eager(function, program, torch.ones(3, 4))
    x = torch.ones(3, 4, requires_grad=True)
    with pytest.raises(RuntimeError, match="no_grad"):
        function(x * 1)
    with pytest.raises(InputError, match="requires grad"):
        program(x * 1)
    with torch.no_grad():
        assert_equal_to_eager(function, program, x * 1)


def test_a_folded_enable_grad_needs_grad() -> None:
    def function(x: Tensor) -> Tensor:
        with torch.enable_grad():
            return x * 2

    program = export(function, torch.ones(3))
    x = torch.ones(3, requires_grad=True)
    assert_equal_to_eager(function, program, x)
    with torch.no_grad():
        with pytest.raises(InputError, match="grad is disabled"):
            program(x)
        assert torch.equal(program.lowered("aten")(x), function(x))


def test_other_programs_are_called_under_no_grad_and_inference_mode() -> None:
    def function(x: Tensor) -> Tensor:
        with torch.no_grad():
            y = x * 2
        return y + x

    program = export(function, torch.ones(3))
    for state in (torch.no_grad, torch.inference_mode):
        with state():
            assert_equal_to_eager(function, program, torch.ones(3, requires_grad=True))


def test_autocast_around_a_call() -> None:
    def plain(x: Tensor) -> Tensor:
        return (x @ x).softmax(-1)

    def without(x: Tensor) -> Tensor:
        with torch.autocast("cpu", enabled=False):
            return x @ x

    def in_place(x: Tensor) -> Tensor:
        return x.addmm_(x.clone(), x.clone())

    x = torch.randn(4, 4)
    for function, refused in ((plain, False), (without, True), (in_place, True)):
        program = export(function, x.clone())
        assert_equal_to_eager(function, program, x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            if refused:
                with pytest.raises(InputError, match="autocast is enabled"):
                    program(x)
            else:
                assert_equal_to_eager(function, program, x)


@pytest.mark.parametrize("state", [torch.no_grad, torch.inference_mode])
def test_the_state_around_the_export_is_not_part_of_the_program(state: Any) -> None:
    def function(x: Tensor) -> Tensor:
        return x @ x

    x = torch.randn(4, 4, requires_grad=True)
    with state():
        program = export(function, torch.ones(4, 4))
    assert_equal_to_eager(function, program, x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        program = export(function, torch.ones(4, 4))
    assert_equal_to_eager(function, program, x)


def test_plain_tensors_of_the_model_are_written() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.plain, self.listed = torch.zeros(3), [torch.ones(3)]

        def forward(self, x: Tensor) -> Tensor:
            self.plain.add_(x)
            with torch.no_grad():
                self.listed[0][1:].mul_(2)
            return self.plain * self.listed[0] * x

    theirs, ours = Model(), Model()
    program = export(ours, torch.ones(3))
    for _ in range(2):
        x = torch.ones(3)
        assert torch.equal(program(x), theirs(x))
        assert torch.equal(ours.plain, theirs.plain)
        assert torch.equal(ours.listed[0], theirs.listed[0])
    again = ingot.Program.from_exported(program.to_exported())
    assert torch.equal(again(torch.ones(3)), theirs(torch.ones(3)))


def test_tensors_of_a_closure_are_written() -> None:
    total = torch.zeros(3)

    def function(x: Tensor) -> Tensor:
        total.add_(x)
        return total * 1

    program = export(function, torch.ones(3))
    assert torch.equal(total, torch.zeros(3))
    for count in (1.0, 2.0):
        assert torch.equal(program(torch.ones(3)), torch.full((3,), count))
        assert torch.equal(total, torch.full((3,), count))


def test_a_buffer_that_is_replaced() -> None:
    class Model(nn.Module):
        mean: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.zeros(3))

        def forward(self, x: Tensor) -> Tensor:
            self.mean = self.mean + x.detach()
            return self.mean * x

    model = Model()
    program = export(copy.deepcopy(model), torch.ones(3))
    for _ in range(3):
        x = torch.randn(3)
        assert torch.equal(program(x), model(x))
    assert torch.equal(program.state["mean"], model.mean)
