"""`ingot compile`, `run` and `explain`: files of compiled programs, and what is printed of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest
import torch
from safetensors.torch import load_file

import ingot as package
from ingot.cli.compile import default_output

from .call import failed, flat, ingot, refused


def test_a_file_is_compiled_run_and_explained(folder: Path) -> None:
    text = ingot("compile", "users_net.py:make_model", "-o", "m.ingot").output
    assert "m.ingot: 0.1 MB" in text and "kernels, 0 steps that call PyTorch" in text
    assert "equal to eager's" in text
    x = torch.randn(3, 16)
    exe = package.load("m.ingot")
    numpy.save("x.npy", x.numpy())
    text = ingot("run", "m.ingot", "-i", "x=x.npy", "-o", "y.npy", "--check").output
    assert "result: float32[3, 8] from" in text and "equal to eager's" in text
    assert numpy.array_equal(numpy.load("y.npy"), exe(x).numpy())
    text = ingot("explain", "m.ingot").output
    assert "x: float32[3, 16]" in text and "1 matmul" in text and "calls of PyTorch  none" in text
    found = json.loads(ingot("explain", "m.ingot", "--json").output)
    assert found["weights_bytes"] == 4 * (16 * 8 + 8) and found["eager_steps"] == {}
    assert "needs the model itself" in failed("explain", "m.ingot", "--html", "report.html")
    assert "is compiled already" in refused("compile", "m.ingot")
    told = failed("run", "m.ingot", "-i", "3x17")
    assert "dim 1 of x is 17; the program was made for 16" in told
    told = ingot("run", "m.ingot", "-i", "3x16", "-i", "3", code=2).output
    assert "m.ingot takes x" in told


def test_sizes_that_vary(folder: Path) -> None:
    words = ("users_net.py:Net", "-i", "x=4x16", "--dynamic", "batch=x.0:1..64", "-o", "d.ingot")
    found = json.loads(ingot("compile", *words, "--json").output)
    assert found["file"] == "d.ingot" and found["checked"] and found["kernels"] > 0
    assert found["bytes"] == Path("d.ingot").stat().st_size
    for rows in (1, 9, 64):
        assert "equal" in ingot("run", "d.ingot", "-i", f"{rows}x16", "--check").output
    assert "takes 1..64" in failed("run", "d.ingot", "-i", "65x16")


def test_results_are_written(folder: Path) -> None:
    Path("two.py").write_text(
        "import torch\n\ndef f(x):\n    return {'a': x + 1, 'b': [x.sum(), x.argmax()]}\n"
    )
    x = torch.arange(6.0)
    torch.save(x, "x.pt")
    text = ingot("run", "two.py:f", "-i", "x.pt", "-o", "out.safetensors").output
    assert "['a']: float32[6] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]" in text
    saved = load_file("out.safetensors")
    assert torch.equal(saved["['a']"], x + 1) and saved["['b'][1]"].item() == 5
    ingot("run", "two.py:f", "-i", "x.pt", "-o", "out.pt")
    assert torch.load("out.pt", weights_only=True).keys() == saved.keys()
    assert "holds one tensor" in failed("run", "two.py:f", "-i", "x.pt", "-o", "o.npy")
    assert "written as .pt" in refused("run", "two.py:f", "-i", "x.pt", "-o", "o.txt")
    assert "no folder" in refused("run", "two.py:f", "-i", "x.pt", "-o", "no/o.pt")
    found = json.loads(ingot("run", "two.py:f", "-i", "x.pt", "--json").output)
    assert found["results"][0] == {"name": "['a']", "dtype": "float32", "shape": [6]}


def test_a_wrong_result_fails_the_check(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(model, args, kwargs, *, dynamic_shapes=None, options=None):  # type: ignore
        return lambda x: model(x) + 1

    monkeypatch.setattr(package, "compile", wrong)
    for command in (("compile", "-o", "m.ingot"), ("run", "--check")):
        told = failed(command[0], "users_net:make_model", *command[1:])
        assert "the results differ from eager's" in told and "beyond the tolerance" in told
    assert not Path("m.ingot").exists()


def test_options_of_the_compiler(folder: Path) -> None:
    told = failed("run", "users_net:make_model", "-O", "strct=1")
    assert "not a valid ingot option" in told and "did you mean 'strict'" in told
    assert "one of 0, 1, true, false" in failed("run", "users_net:make_model", "-O", "strict=x")
    assert "not of the form NAME=VALUE" in flat(
        ingot("run", "users_net:make_model", "-O", "x", code=2)
    )
    found = json.loads(ingot("compile", "users_net:pair", "-O", "tune=0", "--json").output)
    assert found["file"] == "pair.ingot"


STATEFUL = """
import torch
from torch import nn

class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        x.mul_(2)
        return torch.rand(3) + x + self.calls
"""


def test_state_is_the_same_for_both(folder: Path) -> None:
    """Random numbers, buffers that are written, inputs that are written."""
    Path("stateful.py").write_text(STATEFUL)
    assert "equal" in ingot("run", "stateful.py:Counting", "-i", "3", "--check").output
    assert "equal" in ingot("compile", "stateful.py:Counting", "-i", "3", "-o", "s.ingot").output


@pytest.mark.parametrize(
    ("model", "file"),
    [
        ("folder/net.py:make_model", "make_model.ingot"),
        ("package.net:Net.inner", "inner.ingot"),
        ("net:make(3, a=1)", "make.ingot"),
        ("hf:bert", "bert.ingot"),
        ("hf:some/folder/model-1.5/", "model-1.5.ingot"),
    ],
)
def test_the_file_is_named_after_the_model(model: str, file: str) -> None:
    assert default_output(model) == file


def test_targets(folder: Path) -> None:
    words = ("users_net:make_model", "--target", "x86-64-v3", "-o", "m.ingot")
    ingot("compile", *words)
    told = failed("compile", *words[:2], "x86-64-v9", "-o", "n.ingot")
    assert "x86-64-v3" in told and not Path("n.ingot").exists()


def test_a_program_for_c(folder: Path) -> None:
    text = ingot("compile", "users_net.py:make_model", "--c", "deployed").output
    assert "deployed: " in text and "model.h" in text and not list(folder.glob("*.ingot"))
    found = json.loads(
        ingot("compile", "users_net:make_model", "--c", "two", "-o", "m.ingot", "--json").output
    )
    assert (found["file"], found["folder"]) == ("m.ingot", "two") and Path("m.ingot").exists()
    assert sorted(each.name for each in Path("two").iterdir()) == sorted(
        each.name for each in Path("deployed").iterdir()
    )


def test_explain_as_json(folder: Path) -> None:
    found = json.loads(
        ingot("explain", "users_net:scaled", "-i", "4x16", "-i", "16", "--json").output
    )
    assert (found["name"], found["graphs"], found["kernels"]) == ("scaled", 1, 1)
    assert found["kernel_rows"][0]["places"][0]["line"] == 30
    assert "description" not in found
