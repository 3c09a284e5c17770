"""Inputs as words: shapes, dtypes, values, files, names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy
import pytest
import torch
from safetensors.torch import save_file

from ingot.cli.inputs import DTYPES, described, parse_inputs, parse_value


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_every_dtype(name: str) -> None:
    made = parse_value(f"2x3:{name}")
    assert (made.dtype, tuple(made.shape)) == (DTYPES[name], (2, 3))
    assert described(made) == f"{name}[2, 3]"


def test_the_known_dtypes() -> None:
    assert {"float32", "bfloat16", "int64", "bool", "complex64", "float8_e4m3fn"} <= set(DTYPES)
    assert not [name for name in DTYPES if name.startswith(("q", "bits"))]
    assert parse_value("2:long").dtype is torch.int64, "a second name of PyTorch's"


@pytest.mark.parametrize(
    ("word", "shape"), [("8x128", (8, 128)), ("7", (7,)), (":int64", ()), ("0x3", (0, 3))]
)
def test_shapes(word: str, shape: tuple[int, ...]) -> None:
    assert tuple(parse_value(word).shape) == shape


def test_values() -> None:
    assert parse_value("2x3:float64:arange").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert parse_value("4:int8:ones").tolist() == [1] * 4
    assert parse_value("4:bfloat16:zeros").tolist() == [0.0] * 4
    whole = parse_value("1000:int64:5..9")
    assert set(whole.tolist()) == {5, 6, 7, 8}
    real = parse_value("1000:float32:-1..0.5")
    assert -1 <= real.min() < -0.9 and 0.4 < real.max() < 0.5
    assert parse_value("1000:float32:rand").min() >= 0
    assert parse_value("1000:float32").min() < -1
    assert set(parse_value("100:bool").tolist()) == {True, False}


def test_numbers_and_text() -> None:
    words = ["int:3", "float:0.5", "bool:true", "str:a:b", "none", "n=int:-4"]
    found = parse_inputs(words)
    assert found.args == [3, 0.5, True, "a:b", None] and found.kwargs == {"n": -4}


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("4xx", "8x128:int64"),
        ("-3", "8x128:int64"),
        ("²", "8x128:int64"),
        ("4:flaot32", "did you mean 'float32'? known: bfloat16, bool"),
        ("4:float32:rnd", "did you mean 'rand'?"),
        ("4:int64:9..9", "9..9 is empty"),
        ("4:int64:0.2..0.8", "is empty"),
        ("int:x", "'x' is no int"),
        ("bool:yes", "'yes' is no bool"),
        ("absent.pt", "absent.pt: No such file"),
        ("absent.npy", "absent.npy: No such file"),
        ("absent.safetensors", "absent.safetensors: No such file"),
    ],
)
def test_what_is_wrong(word: str, told: str, folder: Path) -> None:
    with pytest.raises(click.BadParameter) as caught:
        parse_inputs([word])
    assert told in str(caught.value)


def test_a_name_is_given_once() -> None:
    with pytest.raises(click.BadParameter, match="'x' is given twice"):
        parse_inputs(["x=3", "x=4"])


# -- files -----------------------------------------------------------------------------------------

X, Y = torch.arange(6.0).reshape(2, 3), torch.tensor([3, 1])


def test_files(folder: Path) -> None:
    torch.save(X, "one.pt")
    torch.save([X, Y], "list.pt")
    torch.save({"a": X, "b": Y}, "dict.pt")
    numpy.save("one.npy", X.numpy())
    save_file({"a": X, "b": Y}, "two.safetensors")
    for file in ("one.pt", "one.npy"):
        assert torch.equal(parse_inputs([file]).args[0], X)
    first, second = parse_inputs(["list.pt"]).args
    assert torch.equal(first, X) and torch.equal(second, Y)
    for file in ("dict.pt", "two.safetensors"):
        assert torch.equal(parse_inputs([file]).kwargs["b"], Y)
        named = parse_inputs([f"a={file}"]).kwargs
        assert named.keys() == {"a"} and torch.equal(named["a"], X)
    with pytest.raises(click.BadParameter, match="did you mean 'a'"):
        parse_inputs(["aa=dict.pt"])


class Bad:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("touched"),)


def test_files_with_code_are_refused(folder: Path) -> None:
    torch.save(Bad(), "bad.pt")
    numpy.save("bad.npy", numpy.array([Bad()], dtype=object), allow_pickle=True)
    Path("bad.safetensors").write_bytes(b"\xff" * 64)
    Path("empty.pt").touch()
    Path("text.npy").write_text("hello")
    for file in ("bad.pt", "bad.npy", "bad.safetensors", "empty.pt", "text.npy"):
        with pytest.raises(click.BadParameter, match="holds no plain tensors"):
            parse_inputs([file])
    torch.save(3, "number.pt")
    with pytest.raises(click.BadParameter, match="holds a int, not tensors"):
        parse_inputs(["number.pt"])
    assert not Path("touched").exists()
