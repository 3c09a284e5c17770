"""The garbage collector during tracing: live objects are frozen, and unfrozen afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from ingot.collection import set_aside_while_compiling, with_the_rest_aside


@with_the_rest_aside
def frozen(fail: bool = False) -> int:
    if fail:
        raise ValueError("no")
    return gc.get_freeze_count()


@pytest.fixture(autouse=True)
def nothing_aside() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_set_aside_and_taken_back() -> None:
    assert frozen() > 10_000
    assert gc.get_freeze_count() == 0
    assert gc.isenabled()


def test_taken_back_after_a_failure() -> None:
    with pytest.raises(ValueError, match="no"):
        frozen(fail=True)
    assert gc.get_freeze_count() == 0


def test_a_user_who_set_objects_aside_keeps_them_there() -> None:
    gc.freeze()
    before = gc.get_freeze_count()
    assert frozen() == pytest.approx(before, rel=0.01)
    assert gc.get_freeze_count() == pytest.approx(before, rel=0.01)


def test_set_aside_from_the_first_step_of_dynamo_on() -> None:
    import torch
    from torch._dynamo.callback import callback_handler

    seen = []

    def backend(gm: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> object:
        seen.append(gc.get_freeze_count())
        return gm.forward

    callback_handler.clear()
    set_aside_while_compiling()
    try:
        torch.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
    finally:
        callback_handler.clear()
    assert seen[0] > 10_000
    assert gc.get_freeze_count() == 0
