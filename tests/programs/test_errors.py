"""Errors are the same as in eager, and ingot's own errors explain themselves."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dynamo.exc import BackendCompilerFailed

import ingot
from ingot import observe
from ingot.machine import this_machine
from ingot.options import Options
from ingot.plan.text import parse
from ingot.stages import Compiled

ERRORS: dict[str, tuple[Callable[..., object], tuple[Tensor, ...]]] = {
    "integer division": (lambda x, y: (x + 1) // y, (torch.arange(4), torch.tensor([1, 0, 2, 1]))),
    "integer division by scalar tensor": (lambda x, y: x // y, (torch.arange(4), torch.tensor(0))),
    "remainder": (lambda x, y: x % y + 1, (torch.arange(4), torch.tensor([1, 0, 2, 1]))),
    "fmod": (lambda x, y: torch.fmod(x, y), (torch.arange(4), torch.tensor([1, 0, 2, 1]))),
    "index": (lambda x, i: x[i] * 2, (torch.randn(3), torch.tensor([0, 3]))),
    "index below": (lambda x, i: x[i] * 2, (torch.randn(3), torch.tensor([0, -4]))),
    "index of two": (
        lambda x, i: x[i, i] + 1,
        (torch.randn(3, 2), torch.tensor([0, 2])),
    ),
    "gather": (lambda x, i: x.gather(1, i) + 1, (torch.randn(2, 2), torch.tensor([[0], [2]]))),
    "gather below": (lambda x, i: x.gather(1, i), (torch.randn(2, 2), torch.tensor([[0], [-1]]))),
    "index_select": (lambda x, i: x.index_select(0, i), (torch.randn(3), torch.tensor([5]))),
    "embedding": (
        lambda w, i: torch.nn.functional.embedding(i, w) * 2,
        (torch.randn(3, 2), torch.tensor([1, 7])),
    ),
    "scatter": (
        lambda x, i: x.scatter(0, i, 1.0) * 2,
        (torch.randn(3), torch.tensor([3])),
    ),
    "index_put": (
        lambda x, i: x.index_put((i,), torch.tensor(1.0)) * 2,
        (torch.randn(3), torch.tensor([3])),
    ),
    "cross entropy": (
        lambda x, t: torch.nn.functional.cross_entropy(x, t),
        (torch.randn(2, 3), torch.tensor([0, 3])),
    ),
    "one hot": (
        lambda x, i: torch.nn.functional.one_hot(i, 2),
        (torch.randn(1), torch.tensor([5])),
    ),
    "take": (lambda x, i: torch.take(x, i), (torch.randn(3), torch.tensor([4]))),
    "empty maximum": (lambda x: x.max(), (torch.empty(0),)),
    "empty maximum of a row": (lambda x: x.max(1), (torch.empty(3, 0),)),
    "softmax of integers": (lambda x: x.softmax(0), (torch.arange(3),)),
    "log_softmax of integers": (lambda x: x.log_softmax(0), (torch.arange(3),)),
    "argmax of bool": (lambda x: x.argmax(), (torch.tensor([False, True]),)),
    "round of bool": (lambda x: x.round(), (torch.tensor([False, True]),)),
    "abs of bool": (lambda x: x.abs(), (torch.tensor([False, True]),)),
    "relu of bool": (lambda x: x.relu(), (torch.tensor([False, True]),)),
    "nextafter of integers": (lambda x: x.nextafter(x), (torch.arange(3),)),
    "argmin of bool": (lambda x: x.argmin(0), (torch.tensor([False, True]),)),
    "singular": (lambda x: torch.linalg.inv(x * 0), (torch.eye(2),)),
    "not positive": (lambda x: torch.linalg.cholesky(-x), (torch.eye(2),)),
    "shapes": (lambda x, y: x + y, (torch.randn(3), torch.randn(4))),
    "product shapes": (lambda x, y: x @ y, (torch.randn(3, 2), torch.randn(3, 2))),
    "view": (lambda x: x.t().view(-1), (torch.randn(3, 2),)),
    "bernoulli": (lambda x: torch.bernoulli(x * 3), (torch.ones(3),)),
    "multinomial": (lambda x: torch.multinomial(-x, 1), (torch.ones(3),)),
    "negative power": (lambda x: x**-1, (torch.arange(3),)),
    "binary cross entropy": (
        lambda x: torch.nn.functional.binary_cross_entropy(x, torch.ones(3)),
        (torch.full((3,), 2.0),),
    ),
}


def raised(call: Callable[..., object], args: tuple[Tensor, ...]) -> Exception | None:
    try:
        with torch.no_grad():
            call(*args)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_raised_as_in_eager(name: str) -> None:
    function, args = ERRORS[name]
    want = raised(function, args)
    assert want is not None
    got = raised(torch.compile(function, backend="ingot", options={"strict": True}), args)
    assert got is not None, f"eager raises {want!r}"
    if isinstance(got, BackendCompilerFailed):  # only because of `strict`
        assert "UnsupportedError: no native lowering: eager" in str(got), f"eager's is {want!r}"
    at_compile_time = type(got).__module__.startswith("torch._dynamo")
    assert at_compile_time or isinstance(got, type(want)), f"{got!r}, eager's is {want!r}"


def divides(x: Tensor, y: Tensor) -> Tensor:
    return (x + 1) // y  # here


def looks_up(x: Tensor, i: Tensor) -> Tensor:
    y = x * 2
    z = y[i]  # here
    return z.relu() + 1


def looks_up_twice(x: Tensor, i: Tensor) -> Tensor:
    first = x.gather(0, i)  # here
    return first + x.gather(0, i + 1)  # and here


@pytest.mark.parametrize("compiler", [torch.compile, ingot.compile], ids=["torch", "ingot"])
@pytest.mark.parametrize("function", [divides, looks_up, looks_up_twice])
def test_errors_of_values_name_the_line(
    function: Callable[..., Tensor], compiler: Callable[..., Any]
) -> None:
    source, start = inspect.getsourcelines(function)
    x, bad = torch.arange(9), torch.tensor([1, 0, 2, 20])
    args = (x[:4], bad) if function is divides else (x, bad)
    if compiler is torch.compile:
        compiled = torch.compile(function, backend="ingot", options={"strict": True})
    else:
        compiled = ingot.compile(function, args, options={"strict": True})
    error = raised(compiled, args)
    assert isinstance(error, raised(function, args).__class__)
    for number, line in enumerate(source, start):
        said = f"{__file__}:{number}\n" in str(error)
        assert said == line.rstrip().endswith("here"), f"{line} in {error}"


@pytest.mark.parametrize(
    "name",
    ["integer division", "index", "index below", "gather", "embedding", "take", "index_select"],
)
def test_good_inputs_still_work_after_an_error(name: str) -> None:
    """One compiled function called with good, bad and good inputs."""
    function, (x, y) = ERRORS[name]
    good = (x, torch.ones_like(y)) if name != "embedding" else (x, torch.zeros_like(y))
    compiled = torch.compile(function, backend="ingot", options={"strict": True})
    torch.testing.assert_close(compiled(*good), function(*good))
    assert raised(compiled, (x, y)) is not None
    torch.testing.assert_close(compiled(*good), function(*good))


def test_error_leaves_inputs_alone() -> None:
    def function(x: Tensor, i: Tensor) -> Tensor:
        y = x[i] * 2
        x.add_(1)
        return y

    x = torch.zeros(3)
    assert raised(torch.compile(function, backend="ingot"), (x, torch.tensor([9]))) is not None
    assert torch.equal(x, torch.zeros(3))


def test_division_by_zero_of_floats_is_no_error() -> None:
    compiled = torch.compile(lambda x: x // 0, backend="ingot", options={"strict": True})
    x = torch.tensor([1.0, -1.0, 0.0])
    torch.testing.assert_close(compiled(x), x // 0, equal_nan=True)


# -- errors of ingot -----------------------------------------------------------------------------


def compile_error(options: dict[str, object]) -> str:
    """Dynamo wraps exceptions of a backend; the text is what the user reads."""
    compiled = torch.compile(lambda x: x + 1, backend="ingot", options=options)
    with pytest.raises(Exception) as caught:
        compiled(torch.ones(3))
    return str(caught.value)


def test_unknown_option() -> None:
    text = compile_error({"strickt": True})
    assert "not a valid ingot option: 'strickt'" in text
    assert "did you mean 'strict'?" in text
    for option in fields(Options):
        assert option.name in text


def test_option_of_the_wrong_type() -> None:
    text = compile_error({"strict": "yes"})
    assert "not a valid ingot option: strict='yes'" in text
    assert "strict takes a bool, not a str" in text


def test_unknown_mode() -> None:
    compiled = torch.compile(lambda x: x + 1, backend="ingot", mode="max-autotone")
    with pytest.raises(Exception, match=r"did you mean 'max-autotune'\?.*reduce-overhead"):
        compiled(torch.ones(2))


@pytest.mark.parametrize("mode", [m for m in torch._inductor.list_mode_options() if m])
def test_modes_of_pytorch(mode: str) -> None:
    x = torch.randn(8, 8)
    compiled = torch.compile(lambda x: x.softmax(1) + 1, backend="ingot", mode=mode)
    torch.testing.assert_close(compiled(x), x.softmax(1) + 1)


def test_option_out_of_range() -> None:
    text = compile_error({"vector_bits": 100})
    assert "not a valid ingot option: vector_bits=100" in text
    assert "one of 0, 1, 128, 256, 512" in text


def test_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_VECTOR_BITS", "many")
    assert "INGOT_VECTOR_BITS='many'" in compile_error({})


def fail(*_: object) -> None:
    raise ingot.CompileError("injected")


def break_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kernel fails to be generated, and none is cached."""
    monkeypatch.setattr("ingot.codegen.loops.kernels.draft_kernel", fail)
    monkeypatch.setattr("ingot.codegen.loops.kernels._known", {}, raising=False)


def test_kernel_that_fails_to_compile_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """One warning for one region, eager's result, and no second warning in the next call."""
    break_kernels(monkeypatch)
    compiled = torch.compile(lambda x: (x * 2).softmax(-1), backend="ingot")
    x = torch.randn(3, 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = [compiled(x) for _ in range(2)]
    ours = [w for w in caught if issubclass(w.category, ingot.FallbackWarning)]
    assert len(ours) == 1
    assert "injected" in str(ours[0].message)
    assert "region" in str(ours[0].message)
    for result in results:
        torch.testing.assert_close(result, (x * 2).softmax(-1))


def test_fallback_keeps_strides_and_reductions(monkeypatch: pytest.MonkeyPatch) -> None:
    from .check import check

    break_kernels(monkeypatch)

    def function(x: Tensor) -> tuple[Tensor, ...]:
        y = x.t().exp()
        return y, y.sum(0), y.max(1), torch.nn.functional.layer_norm(y, (3,)), y[1:].clone() + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(function, torch.randn(3, 4), options={"strict": False})
        check(function, torch.randn(3, 4), options={"strict": False}, dynamic=True)


def test_llvm_that_fails_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are compiled together, then one by one: only the failing kernel falls back to
    PyTorch."""
    from ingot.codegen.loops import kernels

    real, tried = kernels.compile_module, []

    def fussy(declarations: list[str], functions: dict[str, str], inside: list[str]) -> object:
        tried.append(len(functions))
        if len(tried) <= 2:
            raise ingot.CompileError("LLVM said no")
        return real(declarations, functions, inside)

    monkeypatch.setattr(kernels, "compile_module", fussy)
    monkeypatch.setattr(kernels, "_compiled", {})
    compiled = torch.compile(lambda x, y: ((x + 1) @ y).exp(), backend="ingot")
    x, y = torch.randn(3, 3), torch.randn(3, 3)
    with pytest.warns(UserWarning, match="LLVM said no"):
        result = compiled(x, y)
    torch.testing.assert_close(result, ((x + 1) @ y).exp())
    assert tried == [2, 1, 1]


def test_strict_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    break_kernels(monkeypatch)
    compiled = torch.compile(lambda x: (x * 2).exp(), backend="ingot", options={"strict": True})
    with pytest.raises(Exception, match="a kernel could not be compiled") as caught:
        compiled(torch.randn(3))
    assert "injected" in str(caught.value)


def test_fusion_off() -> None:
    from .check import check

    (compiled,) = check(
        lambda x: (x * 2).softmax(-1).sum(), torch.randn(3, 4), options={"fuse": False}
    )
    assert compiled.kernels == 0
    assert not compiled.fused.regions()


@pytest.mark.parametrize("bits", [1, 128, 256, 512])
def test_every_vector_width(bits: int) -> None:
    from .check import check

    def function(x: Tensor) -> tuple[Tensor, ...]:
        y = torch.nn.functional.gelu(x * 2 + 1)
        return y, y.softmax(-1), y.sum(0), y.argmax(-1), x.t().contiguous() + 1

    widest = this_machine().vector_bits
    if bits > widest:  # LLVM would abort the process
        with pytest.raises(Exception, match=f"this machine has {widest} at most"):
            torch.compile(function, backend="ingot", options={"vector_bits": bits})(torch.ones(3))
        return
    check(function, torch.randn(17, 37), options={"vector_bits": bits})


def test_dump_writes_every_stage(tmp_path: object) -> None:
    folder = f"{tmp_path}/dump"
    compiled = torch.compile(lambda x: (x * 2).sum(), backend="ingot", options={"dump": folder})
    heard: list[Compiled] = []
    with observe.listening(heard.append):
        compiled(torch.randn(8))
    names = sorted(path.name for path in Path(folder).iterdir())
    stages = ["fused.txt", "plan.txt", "plan_journal.txt", "program.txt", "runner.py"]
    kernels = [name for name in names if name.endswith(".mlir")]
    assert [name for name in names if name not in kernels] == [f"000.{stage}" for stage in stages]
    plan = Path(folder, "000.plan.txt").read_text()
    assert kernels and all(name[4 : -len(".mlir")] in plan for name in kernels)
    assert parse(plan) == heard[0].plan
    assert all(path.read_text().strip() for path in Path(folder).iterdir())


def test_verification_of_every_pass() -> None:
    from .check import check

    check(
        lambda x: torch.nn.functional.layer_norm(x, (4,)),
        torch.randn(3, 4),
        options={"verify": True},
    )
