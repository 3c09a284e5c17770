"""docs/architecture.md shows the measured order of the stages."""

from __future__ import annotations

from .data_flow import as_text, measured, nested, returns, walk
from .documents import ROOT, blocks_of

MOST_RETURNS = 3


def test_the_walk_is_that_of_the_architecture() -> None:
    found = measured()
    steps = walk(found)
    (shown,) = (b for b in blocks_of(ROOT / "docs" / "architecture.md") if b.mark == "walk")
    assert shown.code == as_text(steps)
    assert len(returns(steps)) <= MOST_RETURNS
    assert set(nested(found)) == {
        "codegen/loops/epilogue.py: epilogue_nest",
        "codegen/loops/epilogue.py: same_memory",
        "codegen/jit/native.py: compiled_function",
    }
