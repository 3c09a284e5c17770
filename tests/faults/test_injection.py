"""Fault injection for the guarantee that nothing is refused: each function called by a compiler
stage fails in turn. The program must still give eager's result, with a warning whose reproducer
exists and runs; under `strict` the failure is raised."""

from __future__ import annotations

import itertools
import runpy
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import ingot
from ingot.errors import FallbackWarning
from ingot.fallback.boundary import forget_announcements

from .points import FAULTS, broken, called, points
from .workloads import WORKLOADS, Workload

QUICK = 29
"""The quick tests take one point in this many, or fewer."""
_numbers = itertools.count(1)
POINTS = points()


def _met(kind: type[Workload]) -> list[str]:
    """The injection points that a workload calls."""
    seen = called(lambda: kind(next(_numbers)).run({"tune": 0.0}))
    return sorted(name for name, function in POINTS.items() if function.__code__ in seen)


def _fallbacks(caught: list[warnings.WarningMessage]) -> list[str]:
    return [str(w.message) for w in caught if issubclass(w.category, FallbackWarning)]


def _script(warning: str) -> Path:
    return Path(warning.rpartition("Reproducer: python ")[2])


def _check(kind: type[Workload], name: str, fault: type[Exception]) -> list[str]:
    """Run with the fault and return the warnings."""
    forget_announcements()
    workload = kind(next(_numbers))
    expected = workload.expected()
    with warnings.catch_warnings(record=True) as caught, broken(name, POINTS[name], fault) as hits:
        warnings.simplefilter("always")
        results = workload.run({"tune": 0.0})
        met = list(hits)
    for result, wanted in zip(results, expected, strict=True):
        torch.testing.assert_close(result, wanted, atol=1e-4, rtol=1e-4)
    told = _fallbacks(caught)
    assert all(_script(each).exists() for each in told), told
    if told:
        assert met
        assert _raises_when_strict(kind, name, fault), "strict does not raise"
    return told


def _raises_when_strict(kind: type[Workload], name: str, fault: type[Exception]) -> bool:
    """True if the fault is raised, or if it is not reached because its result is already cached."""
    with broken(name, POINTS[name], fault) as hits:
        try:
            kind(next(_numbers)).run({"tune": 0.0, "strict": True})
        except Exception as error:
            return "injected" in str(error)
        return not hits


def _check_all(kind: type[Workload], step: int) -> None:
    names = _met(kind)[::step]
    assert names
    troubles, told = [], 0
    scripts: dict[str, Path] = {}
    for number, name in enumerate(names):
        fault = FAULTS[number % len(FAULTS)]
        try:
            warned = _check(kind, name, fault)
        except Exception as error:
            troubles.append(
                f"{name} ({fault.__name__}): {type(error).__name__}: {str(error)[:300]}"
            )
            continue
        told += bool(warned)
        scripts |= {each.partition("(")[0]: _script(each) for each in warned}
    for script in scripts.values():
        runpy.run_path(str(script), run_name="__main__")
    assert not troubles, "\n".join([f"{len(troubles)} of {len(names)}", *troubles])
    assert told


@pytest.mark.parametrize(("name", "step"), [("inference", QUICK), ("ahead dynamic", 4 * QUICK)])
def test_some_functions_fail(name: str, step: int) -> None:
    """In all, the dynamic program takes about four times as long as the static one."""
    _check_all(WORKLOADS[name], step)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_function_fails(name: str) -> None:
    _check_all(WORKLOADS[name], 1)


def test_points_are_found() -> None:
    names = "\n".join(POINTS)
    for module in ("passes.layout.Layout.rewrite", "fuse.group.fuse", "plan.", "ops.scalar.",
                   "codegen.loops.kernels.draft_kernel", "runtime.glue.emit"):  # fmt: skip
        assert f"ingot.{module}" in names


def test_invalid_mlir(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of LLVM itself, not an exception of ingot."""
    from ingot.codegen.loops import kernels

    real = kernels.draft_kernel

    def garbled(*args: Any) -> Any:
        draft = real(*args)
        object.__setattr__(draft, "text", draft.text.replace("llvm.", "no_such_dialect.", 1))
        return draft

    monkeypatch.setattr(kernels, "draft_kernel", garbled)
    workload = WORKLOADS["inference"](next(_numbers))
    expected = workload.expected()
    with pytest.warns(FallbackWarning, match="codegen"):
        (result,) = workload.run({})
    torch.testing.assert_close(result, expected[0], atol=1e-4, rtol=1e-4)


def test_no_reproducer_on_a_disk_that_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: Any, **__: Any) -> str:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.mkdtemp", read_only)
    workload = WORKLOADS["inference"](next(_numbers))
    with (
        broken("fuse", POINTS["ingot.fuse.group.fuse"], KeyError),
        pytest.warns(FallbackWarning, match="No reproducer: OSError"),
    ):
        (result,) = workload.run({})
    torch.testing.assert_close(result, workload.expected()[0], atol=1e-4, rtol=1e-4)


def test_one_warning_for_a_kind_of_failure() -> None:
    with broken("fuse", POINTS["ingot.fuse.group.fuse"], KeyError):
        with pytest.warns(FallbackWarning):
            WORKLOADS["inference"](next(_numbers)).run({})
        WORKLOADS["inference"](next(_numbers)).run({})  # a second warning would be an error


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ingot.OptionError("x")])
def test_what_is_no_failure_of_ours_is_raised(error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr("ingot.pipeline.fuse", fail)
    with pytest.raises(error if isinstance(error, type) else type(error)):
        WORKLOADS["ahead"](next(_numbers)).run({})


def test_a_failure_after_a_write_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call cannot be repeated, because its input was overwritten."""
    monkeypatch.setattr("ingot.runtime.glue.give_back", _fail_like_ours())
    workload = WORKLOADS["writing"](next(_numbers))
    with pytest.raises(RuntimeError, match="injected"):
        workload.run({})


def test_a_failure_before_a_write_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.runtime.glue.borrow", _fail_like_ours())
    workload = WORKLOADS["writing"](next(_numbers))
    expected = workload.expected()
    with pytest.warns(FallbackWarning, match="planning a call"):
        results = workload.run({})
    torch.testing.assert_close(results, expected, atol=1e-4, rtol=1e-4)


def _fail_like_ours() -> Any:
    """A function that fails inside ingot's source tree."""
    scope: dict[str, Any] = {}
    text = "def fail(*args):\n    raise RuntimeError('injected')"
    file = str(Path(ingot.__file__).parent / "execute" / "workspace.py")
    exec(compile(text, file, "exec"), scope)
    return scope["fail"]


def test_errors_of_the_user_pass() -> None:
    """An index out of range and a failing check are eager's errors: no fallback, no warning."""
    table = torch.randn(4, 3)

    def program(index: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.embedding(index, table) * 2

    compiled = torch.compile(program, backend="ingot")
    compiled(torch.tensor([1, 2]))
    with pytest.raises((IndexError, RuntimeError), match="out of"):
        compiled(torch.tensor([1, 7]))


def test_explain_shows_failures() -> None:
    workload = WORKLOADS["inference"](next(_numbers))
    with (
        broken("fuse", POINTS["ingot.fuse.group.fuse"], KeyError),
        warnings.catch_warnings(),
        torch.no_grad(),
    ):
        warnings.simplefilter("ignore")
        report = ingot.explain(workload.program, (workload.x,))
    assert "fuse failed: KeyError" in report.failures[0]
    assert "Failures of the compiler" in report.as_text()
    assert report.kernels == 0
    assert report.fallbacks


def _swaps(x: torch.Tensor) -> torch.Tensor:
    x.transpose_(0, 1)
    return x + 1


def _writes_both(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x * y


def test_captured_programs_without_a_functional_form_run() -> None:
    """torch.export captures them, but PyTorch's functionalization refuses them."""
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    with pytest.warns(FallbackWarning, match="lowering"):
        compiled = ingot.compile(_swaps, (x.clone(),))
    given, other = x.clone(), x.clone()
    assert torch.equal(compiled(given), _swaps(other))
    assert given.shape == other.shape
    compiled = ingot.compile(_writes_both, (y, y.view(3, 4)))  # traced with storage of its own
    first, second = x.clone(), x.clone()
    assert torch.equal(compiled(first, first.view(3, 4)), _writes_both(second, second.view(3, 4)))
