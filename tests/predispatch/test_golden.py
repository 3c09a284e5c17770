"""The text of a dozen programs at pre-dispatch level, with indented regions. `EXPECTTEST_ACCEPT=1
pytest tests/predispatch/test_golden.py` updates them; check the diff before committing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import ingot

from .programs import CASES

FOLDER = Path(__file__).parent / "golden"
SHOWN = (
    "the_seeds_example",
    "write_to_a_leaf_under_no_grad",
    "write_through_two_views",
    "detached_alias_gets_a_history",
    "enable_grad_inside_no_grad",
    "write_then_enable_grad_inside",
    "inference_mode_writes_outer",
    "autocast_disabled_inside",
    "in_place_product_is_not_autocast",
    "TrainedBatchNorm",
    "CountsItsCalls",
    "cond_writes_under_autograd",
    "while_loop_writes_what_it_captures",
    "map_writes_what_it_captures",
    "composites_stay",
)


@pytest.mark.parametrize("name", SHOWN)
def test_text(name: str) -> None:
    case = next(case for case in CASES if case.name == name)
    function, args = case.build()
    text = ingot.export(function, args, level="pre-dispatch").as_text()
    file = FOLDER / f"{name}.txt"
    if os.environ.get("EXPECTTEST_ACCEPT"):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()
