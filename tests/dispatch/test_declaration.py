"""Errors in a declaration name the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import ingot
from ingot import DispatchError
from ingot.dispatch.declare import Dispatch
from ingot.dispatch.ranges import Range, RangeTable, Row, ranges_from
from ingot.dispatch.size_expressions import parse


def plain(x: Tensor, y: Tensor) -> Tensor:
    return x + y


def declared(**words: Any) -> Dispatch:
    return ingot.dispatch(**{"on": ("x", 1), "ranges": [512], **words})(plain)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"on": ("z", 1)}, "no tensor 'z'"),
        ({"on": ("xs", 0)}, "did you mean 'x'"),
        ({"on": "x.shape[y]"}, "no dimension"),
        ({"on": "x.mean()"}, "is no size"),
        ({"on": "x.shape[0] +"}, "not an expression"),
        ({"on": 3}, "names no size"),
        ({"on": []}, "names no size"),
        ({"ranges": [2048, 512]}, "not sorted: 512 comes after 2048"),
        ({"ranges": [512, 512]}, "not sorted"),
        ({"ranges": [(1, 512), (500, 2048)]}, "1..512 and 500..2048 overlap"),
        ({"ranges": [(513, 2048), (1, 512)]}, "not sorted"),
        ({"ranges": [(1, 512), (600, 2048)]}, "no range holds the sizes 513..599"),
        ({"ranges": [(5, 1)]}, "holds no size"),
        ({"ranges": "automatic"}, "no list"),
        ({"ranges": []}, "no list"),
        ({"on": [("x", 0), ("x", 1)], "ranges": [512]}, "one for each size"),
        ({"on": [("x", 0), ("x", 1)], "ranges": "auto"}, "takes one size"),
    ],
)
def test_declaration_errors(words: dict[str, Any], message: str) -> None:
    with pytest.raises(DispatchError, match=message) as caught:
        declared(**words)
    assert "not a valid dispatch" in str(caught.value)
    assert caught.value.place is not None
    assert caught.value.place.file == __file__
    assert caught.value.place.line == plain.__code__.co_firstlineno


def test_a_reference_needs_annotations() -> None:
    with pytest.raises(DispatchError, match="annotate"):

        @ingot.dispatch(on=("x", 0), ranges=[8])
        def bare(x):
            return x


def test_a_dimension_that_is_not_there() -> None:
    op = declared(on=("x", 5))
    with pytest.raises(DispatchError, match="x has 2 dimensions, and there is no dimension 5"):
        op(torch.ones(2, 2), torch.ones(2, 2))


def takes_one(x: Tensor) -> Tensor:
    return x


def takes_more(x: Tensor, y: Tensor, z: int) -> Tensor:
    return x


@pytest.mark.parametrize("function", [takes_one, takes_more])
def test_signatures_that_differ(function: Callable[..., Any]) -> None:
    op = declared()
    with pytest.raises(DispatchError, match=r"signature of .* differs") as caught:
        op.implementation()(function)
    assert caught.value.place is not None
    assert caught.value.place.line == function.__code__.co_firstlineno


def test_implementation_errors() -> None:
    op = declared()
    with pytest.raises(DispatchError, match="no tensor 'w'"):
        op.implementation(name="a", when="w.shape[0] > 1")(plain)
    with pytest.raises(DispatchError, match="no list of values"):
        op.implementation(name="a", BLOCK=32)(lambda x, y, BLOCK: x)
    op.implementation(name="a")(plain)
    with pytest.raises(DispatchError, match="has an implementation a already"):
        op.implementation(name="a")(plain)


def test_pin_errors() -> None:
    op = declared()
    op.implementation(name="tiled", BLOCK=[32, 64])(lambda x, y, BLOCK: x + y)
    assert list(op.candidates) == ["reference", "tiled[BLOCK=32]", "tiled[BLOCK=64]"]
    with pytest.raises(DispatchError, match="no implementation 'tiles'"):
        op.pin({(1, 512): "tiles"})
    with pytest.raises(DispatchError, match=r"1..512 and 100..200 overlap"):
        op.pin({(1, 512): "reference", (100, 200): "tiled[BLOCK=32]"})
    with pytest.raises(DispatchError, match="pin of plain"):
        op.pin({7: "reference"})


def test_mlir_errors() -> None:
    op = declared()
    with pytest.raises(DispatchError, match="no function @main"):
        op.mlir("module {}", name="empty")
    one = "func.func @main(%x: memref<?xf32>) { return }"
    with pytest.raises(DispatchError, match="it takes 1 memrefs"):
        op.mlir(one, name="one")
    with pytest.raises(DispatchError, match="broken"):
        op.mlir("func.func @main(", name="broken")


def test_expressions_of_sizes() -> None:
    shapes = {"x": (3, 4), "y": (5, 6)}
    for text, value in {
        "x.shape[1]": 4,
        "x.size(-1) * y.shape[0]": 20,
        "x.numel() // 5 + y.shape[1] % 4 - 1": 3,
        "max(x.shape[0], y.shape[0], 2)": 5,
        "x.shape[0] <= 3 and not y.shape[0] == 6": True,
        "1 < x.shape[0] < 3 or y.shape[1] != 6": False,
        "-x.shape[0] + 4": 1,
    }.items():
        assert parse(text).of(shapes) == value, text
    assert parse("x.size(-1) * y.numel()").dimensions == (("x", -1), ("y", None))


def test_ranges() -> None:
    bounds = ranges_from([512, 2048])
    assert bounds == (Range(0, 512), Range(513, 2048), Range(2049, None))
    assert 512 in bounds[0] and 513 not in bounds[0] and 10**9 in bounds[2]


def test_adjacent_ranges_merge() -> None:
    def row(x: tuple[int, int | None], y: tuple[int, int | None], name: str) -> Row:
        return Row((Range(*x), Range(*y)), name)

    low, high = (0, 8), (9, None)
    table = RangeTable(
        (row(low, low, "a"), row(low, high, "a"), row(high, low, "b"), row(high, high, "a"))
    )
    merged = table.merged()
    assert len(merged.rows) == 3
    for point in ((1, 1), (1, 100), (100, 1), (100, 100)):
        before, after = table.row(point), merged.row(point)
        assert before is not None and after is not None
        assert before.serves == after.serves
