"""Containers of classes that the process does not have, as files describe them."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from torch.utils import _pytree as pytree

from ingot.artifact.arguments import ArgumentReader, ValueWriter
from ingot.artifact.input_symbols import InputSymbols
from ingot.artifact.symbol_ranges import SymbolWriter
from ingot.artifact.trees import TreeReader, TreeWriter
from ingot.document import Part
from ingot.errors import FileError
from ingot.program.call import leaf_order
from ingot.program.record import Record


@dataclass
class Output:
    logits: Any
    loss: Any = None
    hidden: Any = None


class Pair(NamedTuple):
    low: Any
    high: Any


torch.export.register_dataclass(Output)  # without a name


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The structure of an Output, whose class is unknown from here on."""
    tree = _described(Output("a", hidden="b"))
    monkeypatch.delitem(pytree.SUPPORTED_SERIALIZED_TYPES, Output)
    return tree


def _described(value: Any) -> Any:
    """The structure of a value as a file has it."""
    return TreeWriter(ValueWriter(SymbolWriter())).encode(pytree.tree_structure(value))


def _read(tree: Any) -> pytree.TreeSpec:
    symbols = InputSymbols(Part([], "$"))
    return TreeReader(ArgumentReader(symbols)).decode(Part(tree, "$"))


def test_a_known_class_is_itself() -> None:
    output = pytree.tree_unflatten([1, 2], _read(_described(Output("a", hidden="b"))))
    assert output == Output(1, None, 2)


def test_fields_of_an_unknown_class(described: Any) -> None:
    record = pytree.tree_unflatten([1, [2, 3]], _read(described))
    assert isinstance(record, Record)
    assert (record.logits, record.loss, record.hidden) == (1, None, [2, 3])
    assert record["hidden"] == record[1] == [2, 3] and record[:1] == (1,)
    assert list(record) == ["logits", "hidden"] and len(record) == 2
    assert record.to_tuple() == (1, [2, 3])
    assert repr(record) == "Output(loss=None, logits=1, hidden=[2, 3])"
    with pytest.raises(AttributeError, match=r"Output has no field 'more'"):
        _ = record.more


def test_records_are_pytrees(described: Any) -> None:
    record = pytree.tree_unflatten([1, 2], _read(described))
    doubled = pytree.tree_map(lambda leaf: leaf * 2, record)
    assert isinstance(doubled, Record) and doubled.to_tuple() == (2, 4)
    (path, _), _ = pytree.tree_flatten_with_path(record)[0]
    assert pytree.keystr(path) == ".logits"
    assert copy.deepcopy(record).hidden == 2


def test_the_class_is_accepted_where_a_record_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    given, described = (f(Output("a", hidden="b")) for f in (pytree.tree_structure, _described))
    with monkeypatch.context() as patch:
        patch.delitem(pytree.SUPPORTED_SERIALIZED_TYPES, Output)
        wanted = _read(described)
    assert leaf_order(given, wanted) == [0, 1]
    assert leaf_order(pytree.tree_structure(Output("a", "b")), wanted) is None
    assert leaf_order(pytree.tree_structure(("a", "b")), wanted) is None


def test_a_namedtuple_has_its_fields() -> None:
    spec = _read(_described(Pair(1, 2)))
    made = pytree.tree_unflatten([3, 4], spec)
    assert made == (3, 4) and (made.low, made.high) == (3, 4)
    assert type(made).__name__ == "Pair" and type(made) is not Pair
    assert leaf_order(pytree.tree_structure(Pair(1, 2)), spec) == [0, 1]


@pytest.mark.parametrize(
    "tree",
    [
        {"kind": "namedtuple", "class": "m.P", "fields": ["a"], "children": ["*", "*"]},
        {"kind": "namedtuple", "class": "m.P", "fields": ["a", "a"], "children": ["*", "*"]},
        {"kind": "namedtuple", "class": "m.P", "fields": ["def"], "children": ["*"]},
        {"kind": "namedtuple", "class": "m.not this", "fields": ["a"], "children": ["*"]},
        {"kind": "class", "class": "m.C", "context": ["a", "b"], "children": ["*"]},
        {"kind": "class", "class": "m.C", "context": [["a"], ["a"]], "children": ["*"]},
    ],
)
def test_bad_descriptions(tree: Any) -> None:
    with pytest.raises(FileError):
        _read(tree)
