"""A model and its inputs from the words of a command line, without compiling."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
import torch
from torch import nn

from ingot.cli.dynamic import dynamic_shapes
from ingot.cli.errors import Failure
from ingot.cli.models import Request, Workload, build


def shapes(workload: Workload) -> dict[str, tuple[int, ...]]:
    return {name: tuple(value.shape) for name, value in workload.inputs().items()}


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [
        ("users_net.py:make_model", (), {"x": (3, 16)}),
        ("users_net:make_model", (), {"x": (3, 16)}),
        ("users_net:make_model", ("x=5x16",), {"x": (5, 16)}),
        ("users_net:make_model", ("scale=8",), {"x": (3, 16), "scale": (8,)}),
        ("users_net:make_model", ("5x16", "8"), {"x": (5, 16), "scale": (8,)}),
        ("users_net:pair", (), {"x": (2, 16)}),
        ("users_net:model", ("4x16",), {"x": (4, 16)}),
        ("users_net:model", ("scale=8", "x=4x16"), {"x": (4, 16), "scale": (8,)}),
        ("users_net:Net", ("4x16",), {"x": (4, 16)}),
        ("users_net:make_sized()", ("4x16",), {"x": (4, 16)}),
        ("users_net:make_sized(4)", ("3x4",), {"x": (3, 4)}),
        ("users_net:Net(width=4)", ("3x4",), {"x": (3, 4)}),
        ("users_net:model.linear", ("3x16",), {"input": (3, 16)}),
        ("users_net:scaled", ("3", "2x3"), {"x": (3,), "y": (2, 3)}),
        ("torch:sin", ("3",), {"0": (3,)}),
        ("torch.nn.functional:relu", ("3",), {"input": (3,)}),
    ],
)
def test_models(
    folder: Path, name: str, inputs: tuple[str, ...], expected: dict[str, tuple[int, ...]]
) -> None:
    workload = build(Request(name, inputs))
    assert shapes(workload) == expected
    assert isinstance(workload.call_eager(), torch.Tensor)


def test_only_classes_are_put_into_eval_mode(folder: Path) -> None:
    model = build(Request("users_net:Net", ("4x16",))).model
    assert isinstance(model, nn.Module) and not model.training
    trained = build(Request("users_net:Net()", ("4x16",))).model
    assert isinstance(trained, nn.Module) and trained.training, "the user made it"


def test_two_builds_are_the_same(folder: Path) -> None:
    first, second = (build(Request("users_net.py:Net", ("4x16",), seed=3)) for _ in range(2))
    other = build(Request("users_net.py:Net", ("4x16",), seed=4))
    assert torch.equal(first.call_eager(), second.call_eager())
    assert not torch.equal(first.args[0], other.args[0])


@pytest.mark.parametrize(
    "declared", ["(ones(2, 3),)", '{"x": ones(2, 3)}', "lambda: [ones(2, 3)]", "ones(2, 3)"]
)
def test_inputs_that_the_module_declares(folder: Path, declared: str) -> None:
    source = f"from torch import ones\nexample_inputs = {declared}\ndef f(x):\n    return x + 1\n"
    Path("declared.py").write_text(source)
    assert shapes(build(Request("declared.py:f"))) == {"x": (2, 3)}
    assert shapes(build(Request("declared.py:f", ("5",)))) == {"x": (5,)}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("users_net", "not of the form module:callable"),
        ("users_net.py", "users_net.py:NAME, one of Net, model, pair, number, make_model"),
        ("no_such_module:f", "cannot import 'no_such_module'"),
        ("no_such_file.py:f", "no such file"),
        ("users_net:scalde", "did you mean 'scaled'?"),
        ("users_net:number", "not a callable"),
        ("users_net:nothing", "returned a int, not (model, args)"),
        ("users_net:scaled", "give them with --input (missing a required argument: 'x')"),
        ("users_net:model", "needs inputs: give them with --input"),
        ("torch:sin", "give them with --input"),
        ("users_net:make_sized(x)", "the arguments of a call are literals"),
        ("users_net:make_sized(", "no 'make_sized('"),
        ("no_such.ingot", "no such file"),
    ],
)
def test_what_is_wrong(folder: Path, name: str, told: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        build(Request(name))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import torch\nraise KeyError('weights')\n", ["KeyError: 'weights'", "bad.py:2"]),
        ("import no_such_thing\n", ["No module named 'no_such_thing'", "bad.py:1"]),
        ("def f(:\n", ["SyntaxError", "bad.py:1"]),
        ("import sys\nsys.exit(3)\n", ["exits (3)", '__name__ == "__main__"']),
    ],
)
def test_a_program_that_cannot_be_imported(folder: Path, source: str, told: list[str]) -> None:
    Path("bad.py").write_text(source)
    with pytest.raises(Failure) as caught:
        build(Request("bad.py:f"))
    assert all(part in caught.value.message for part in told), caught.value.message


def test_settings_are_for_architectures(folder: Path) -> None:
    with pytest.raises(click.UsageError, match="--set is for hf: models only"):
        build(Request("users_net:pair", settings=("a=1",)))


# -- dynamic sizes ---------------------------------------------------------------------------------


def test_dynamic_sizes(folder: Path) -> None:
    workload = build(Request("users_net:scaled", ("4x3", "4x3")))
    found = dynamic_shapes(["n=x.0,1.0:2..9", "m=y.1"], workload)
    assert found["x"][0] is found["y"][0] and found.keys() == {"x", "y"}
    assert (found["x"][0].__name__, found["x"][0].min, found["x"][0].max) == ("n", 2, 9)
    assert found["y"][1].__name__ == "m"
    assert dynamic_shapes([], workload) is None


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("batch", "not of the form NAME=INPUT.DIM"),
        ("n=x", "no input ''"),
        ("n=z.0", "no input 'z'"),
        ("n=x.2", "x has 2 dims, from 0"),
        ("n=x.0:9..2", "9 is more than 2"),
    ],
)
def test_dynamic_sizes_that_are_none(folder: Path, word: str, told: str) -> None:
    workload = build(Request("users_net:scaled", ("4x3", "4x3")))
    with pytest.raises(click.BadParameter) as caught:
        dynamic_shapes([word], workload)
    assert told in str(caught.value)
