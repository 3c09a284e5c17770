"""Weights in a file of their own, shared by several artifacts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import ingot
from ingot.errors import FileError, OptionError, SaveError
from tests.artifact.saving import run, save


class Tied(nn.Module):
    """A tied, a strided, a complex and an empty weight, and a buffer that is written."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)
        self.two.weight = self.one.weight
        self.turned = nn.Parameter(torch.randn(8, 8).t())
        self.gaps = nn.Parameter(torch.randn(8, 16)[:, ::2])
        self.wave = nn.Parameter(torch.randn(8, dtype=torch.complex64))
        self.nothing = nn.Parameter(torch.zeros(0))
        self.register_buffer("count", torch.zeros(()))
        self.count: torch.Tensor

    def forward(self, x: torch.Tensor) -> Any:
        self.count.add_(1)
        y = torch.relu(self.two(self.one(x))) @ self.turned @ self.gaps
        return y * self.count, (y * self.wave).real, self.nothing * 2


@pytest.fixture
def tied(tmp_path: Path) -> tuple[Path, nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    model, x = Tied().eval(), torch.randn(3, 8)
    with torch.no_grad():
        ingot.compile(model, (x,)).save(tmp_path / "it.ingot", weights="beside")
    return tmp_path, model, x


def test_beside_in_another_process(tmp_path: Path) -> None:
    torch.manual_seed(0)
    calls: list[Any] = [((torch.randn(3, 8),), {}) for _ in range(2)]
    arguments = save(Tied().eval(), calls, tmp_path, weights="beside")
    (tmp_path / "elsewhere").mkdir()
    for name in ("it.ingot", "it.safetensors"):
        (tmp_path / name).rename(tmp_path / "elsewhere" / name)
    done = run([str(tmp_path / "elsewhere/it.ingot"), arguments[1]], tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_file_is_a_state_dict(tied: tuple[Path, nn.Module, torch.Tensor]) -> None:
    folder, model, _ = tied
    found = load_file(folder / "it.safetensors")
    state = model.state_dict()
    assert set(found) == set(state) - {"two.weight"}
    for name in ("one.weight", "one.bias", "count", "nothing"):
        assert torch.equal(found[name], state[name])
    assert os.path.getsize(folder / "it.safetensors") < 4000


def test_the_file_is_not_written(tied: tuple[Path, nn.Module, torch.Tensor]) -> None:
    folder, model, x = tied
    before = (folder / "it.safetensors").read_bytes()
    one, two = ingot.load(folder / "it.ingot"), ingot.load(folder / "it.ingot")
    with torch.no_grad():
        wanted = [model(x)[0], model(x)[0]]
        for exe in (one, two):  # each counts for itself
            torch.testing.assert_close([exe(x)[0], exe(x)[0]], wanted)
    assert (folder / "it.safetensors").read_bytes() == before
    program = ingot.Program.load(folder / "it.ingot")
    with torch.no_grad():
        torch.testing.assert_close(program(x)[0], wanted[0])


def test_two_programs_share_a_file(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4)).eval()
    with torch.no_grad():
        for rows in (1, 5):
            exe = ingot.compile(model, (torch.randn(rows, 8),))
            exe.save(tmp_path / f"{rows}.ingot", weights="tensors.safetensors")
        when = os.stat(tmp_path / "tensors.safetensors").st_mtime_ns
        part = ingot.compile(model[0], (torch.randn(2, 8),))
        with pytest.raises(SaveError, match=r"tensors\.safetensors has no tensor like weight"):
            part.save(tmp_path / "part.ingot", weights="tensors.safetensors")
        for rows in (1, 5):
            x = torch.randn(rows, 8)
            found = ingot.load(tmp_path / f"{rows}.ingot")(x)
            torch.testing.assert_close(found, model(x), rtol=1e-4, atol=1e-5)
        model[0].bias.add_(1)
        with pytest.raises(SaveError, match=r"has other values for 0\.bias"):
            exe.save(tmp_path / "other.ingot", weights="tensors.safetensors")
    assert os.stat(tmp_path / "tensors.safetensors").st_mtime_ns == when
    assert not (tmp_path / "other.ingot").exists()


@pytest.mark.parametrize("where", ["../w.safetensors", "/w.safetensors", "it.ingot", "."])
def test_where_weights_may_be(where: str, tmp_path: Path) -> None:
    exe = ingot.compile(nn.Linear(2, 2), (torch.randn(1, 2),))
    with pytest.raises(OptionError, match="weights="):
        exe.save(tmp_path / "it.ingot", weights=where)
    assert not list(tmp_path.iterdir())


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


def _other(path: Path) -> None:
    save_file({"one.weight": torch.zeros(8, 8)}, path)


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "absent": (Path.unlink, "the weights are not there"),
    "flipped": (_flip, "damaged, or other weights"),
    "replaced": (_other, "damaged, or other weights"),
    "cut off": (lambda path: os.truncate(path, 100), "not safetensors|damaged, or other"),
    "empty": (lambda path: os.truncate(path, 0), "cannot be read"),
    "a folder": (_directory, "not a regular file"),
    "a pipe": (_pipe, "not a regular file"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_weights(name: str, tied: tuple[Path, nn.Module, torch.Tensor]) -> None:
    folder, *_ = tied
    damage, message = DAMAGE[name]
    damage(folder / "it.safetensors")
    for load in (ingot.load, ingot.Program.load):
        with pytest.raises(FileError, match=message) as caught:
            load(folder / "it.ingot")
        assert "it.safetensors" in str(caught.value)


def test_moved_weights(tied: tuple[Path, nn.Module, torch.Tensor]) -> None:
    folder, model, x = tied
    (folder / "it.safetensors").rename(folder / "moved")
    with pytest.raises(FileError, match="weights="):
        ingot.load(folder / "it.ingot")
    exe = ingot.load(folder / "it.ingot", weights=folder / "moved")
    with torch.no_grad():
        torch.testing.assert_close(exe(x), model(x), rtol=1e-4, atol=1e-5)
        ingot.compile(nn.Linear(2, 2), (torch.randn(1, 2),)).save(folder / "inside.ingot")
    with pytest.raises(FileError, match="its weights are inside"):
        ingot.load(folder / "inside.ingot", weights=folder / "moved")
