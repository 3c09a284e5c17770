"""The exceptions that eager raises, for failed checks and kernels of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingot.codegen.support.executor import STEP_SHIFT
from ingot.codegen.support.native_control_flow import INTERRUPTED, raise_interrupt
from ingot.ops.failures import OUT_OF_BOUNDS, OUT_OF_RANGE, ZERO_DIVISION
from ingot.plan.ir import Launch, Op, walk
from ingot.runtime.table import AnyStep


def broken(text: str) -> None:
    raise RuntimeError(text)


def failed(error: int, steps: Sequence[AnyStep]) -> None:
    """Raises the exception that eager raises for a kernel that stopped early, with the user's
    lines."""
    code = error & ((1 << STEP_SHIFT) - 1)
    if code == INTERRUPTED:
        raise_interrupt()
    op = steps[error >> STEP_SHIFT].source
    if code == ZERO_DIVISION:
        raise RuntimeError(f"ZeroDivisionError{_places(op, 'division')}")
    if code == OUT_OF_BOUNDS:
        text = "index is out of bounds for the dimension that it is looked up in"
        raise RuntimeError(f"{text}{_places(op, 'lookup')}")
    assert code == OUT_OF_RANGE, f"{op} failed with code {code}"
    raise IndexError(f"index out of range in self{_places(op, 'lookup')}")


def _places(op: Op, fault: str) -> str:
    """The user's lines at which this fault is possible."""
    found = dict.fromkeys(str(place) for kind, place in _faults(op) if kind == fault)
    return "".join(f"\n  {'or at' if k else 'at'} {place}" for k, place in enumerate(found))


def _faults(op: Op) -> Iterator[tuple[str, object]]:
    for inner in walk((op,)):
        if isinstance(inner, Launch):
            yield from inner.faults
