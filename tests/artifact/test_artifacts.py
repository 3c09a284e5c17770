"""A compiled program is saved, loaded in another process and gives eager's results there, its
writes included, without a compiler; code is chosen by what the machine has."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import ingot
from ingot.errors import FileError, InputError, OptionError, SaveError
from tests.artifact.models import CASES, Case
from tests.artifact.saving import run, save


def _save(case: Case, folder: Path, **given: Any) -> list[str]:
    calls = [(call, {}) for call in case.calls]
    return save(case.model, calls, folder, case.dynamic_shapes, **given)


@pytest.mark.parametrize("name", CASES)
def test_another_process(name: str, tmp_path: Path) -> None:
    case = CASES[name]()
    done = run(_save(case, tmp_path), tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    if name in ("convolutions", "attention", "views"):
        assert found["run"] == []
    if name in ("mlp", "attention", "views"):
        assert found["load"] == []


def test_attributes_are_declared_where_they_are() -> None:
    import ingot.kernels.registry  # noqa: F401
    from ingot.plan.attributes import _CLASSES, _HOMES

    homes = {name: kind.__module__ for name, kind in _CLASSES.items()}
    own = {name: home for name, home in homes.items() if not home.startswith("tests.")}
    assert own == _HOMES


def test_one_file_for_two_machines(tmp_path: Path) -> None:
    arguments = _save(CASES["mlp"](), tmp_path, targets=["x86-64-v4", "x86-64-v3"])
    for machine in ("x86-64-v3", "x86-64-v4"):
        done = run(arguments, tmp_path, INGOT_MACHINE=machine)
        assert done.returncode == 0, done.stderr
    done = run(arguments, tmp_path, INGOT_MACHINE="x86-64-v2")
    assert done.returncode == 1
    assert "it has code for x86-64-v3 and x86-64-v4; this machine supports x86-64-v2" in done.stderr


@pytest.mark.skipif(shutil.which("objdump") is None, reason="no objdump to disassemble with")
@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_code_of_a_level_keeps_to_it(level: str, tmp_path: Path) -> None:
    from ingot.artifact.archive import read_archive
    from ingot.codegen.jit.code_store import read_module

    _save(CASES["mlp"](), tmp_path, targets=[level])
    members = read_archive(tmp_path / "it.ingot")
    table = json.loads(bytes(members[f"code/{level}/code.json"]))
    data, at, text = members[f"code/{level}/modules.bin"], 0, ""
    for row in table["modules"]:
        module = read_module(bytes(data[at : at + row["bytes"]]))
        at += row["bytes"]
        (tmp_path / "it.o").write_bytes(module.object)
        command = ["objdump", "-d", "--no-show-raw-insn", str(tmp_path / "it.o")]
        text += subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "%ymm" in text
    assert ("%zmm" in text) == (level == "x86-64-v4")
    assert ("%k1" in text) <= (level == "x86-64-v4")


@pytest.fixture(scope="module")
def mlp(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, nn.Module]:
    folder = tmp_path_factory.mktemp("mlp")
    case = CASES["mlp"]()
    _save(case, folder)
    assert isinstance(case.model, nn.Module)
    return folder / "it.ingot", case.model


def test_errors_are_those_of_the_program(mlp: tuple[Path, nn.Module]) -> None:
    exe = ingot.load(mlp[0])
    with pytest.raises(InputError, match="dim 1 of input is 47; the program was made for 48"):
        exe(torch.randn(2, 47))
    with pytest.raises(InputError, match=r"dim 0 of input is 2000; the program takes 1\.\.1024"):
        exe(torch.randn(2000, 48))
    with pytest.raises(InputError, match="float64"):
        exe(torch.randn(2, 48).double())
    with pytest.raises(InputError, match="keyword"):
        exe(torch.randn(2, 48), more=1)


def test_unusual_tensors(mlp: tuple[Path, nn.Module]) -> None:
    path, model = mlp
    exe = ingot.load(path)
    wide = torch.randn(6, 96)
    with torch.no_grad():
        for x in (wide[:, ::2], wide.t().contiguous().t()[:, :48], wide[1:4, 48:]):
            torch.testing.assert_close(exe(x), model(x), rtol=1e-4, atol=1e-5)
        x = torch.randn(0, 48)
        with pytest.raises(InputError):
            exe(x)


def test_gradients_of_inputs(mlp: tuple[Path, nn.Module]) -> None:
    path, model = mlp
    exe = ingot.load(path)
    x = torch.randn(5, 48, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    exe(x).square().sum().backward()
    model(y).square().sum().backward()
    assert x.grad is not None and y.grad is not None
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-4, atol=1e-4)


def test_weights_are_replaced(mlp: tuple[Path, nn.Module], tmp_path: Path) -> None:
    from safetensors.torch import save_file

    path, model = mlp
    exe, other = ingot.load(path), copy.deepcopy(model)
    x = torch.randn(7, 48)
    with torch.no_grad():
        before = exe(x)
        for parameter in other.parameters():
            parameter.mul_(1.5).add_(0.01)
        exe.load_weights(other.state_dict())
        torch.testing.assert_close(exe(x), other(x), rtol=1e-4, atol=1e-5)
        save_file(dict(model.state_dict()), tmp_path / "first.safetensors")
        exe.load_weights(tmp_path / "first.safetensors")
        torch.testing.assert_close(exe(x), before)
        exe.load_weights({"0.bias": torch.zeros(96)})
        assert not torch.equal(exe(x), before)
    with pytest.raises(InputError, match=r"no weight '0\.wait'"):
        exe.load_weights({"0.wait": torch.zeros(96)})
    with pytest.raises(InputError, match="shape"):
        exe.load_weights({"0.bias": torch.zeros(95)})
    with pytest.raises(InputError, match="dtype"):
        exe.load_weights({"0.bias": torch.zeros(96).double()})
    (tmp_path / "text").write_text("no weights")
    with pytest.raises(FileError, match="not safetensors"):
        exe.load_weights(tmp_path / "text")


def test_tied_weights_stay_tied(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).eval()
    model[2].weight = model[0].weight
    x = torch.randn(3, 8)
    with torch.no_grad():
        ingot.compile(model, (x,)).save(tmp_path / "it.ingot")
        exe = ingot.load(tmp_path / "it.ingot")
        new = torch.randn(8, 8)
        exe.load_weights({"0.weight": new})
        model[0].weight.copy_(new)
        torch.testing.assert_close(exe(x), model(x), rtol=1e-4, atol=1e-5)


def test_the_program_is_in_the_file(mlp: tuple[Path, nn.Module], tmp_path: Path) -> None:
    path, model = mlp
    program = ingot.Program.load(path)
    x = torch.randn(4, 48)
    with torch.no_grad():
        torch.testing.assert_close(program(x), model(x), rtol=1e-4, atol=1e-5)
        fast = ingot.compile(program)
        torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-5)
        fast.save(tmp_path / "again.ingot")
        again = ingot.load(tmp_path / "again.ingot")
        torch.testing.assert_close(again(x), model(x), rtol=1e-4, atol=1e-5)
        program.save(tmp_path / "program.ingot")
        assert isinstance(ingot.load(tmp_path / "program.ingot"), ingot.Program)


@pytest.mark.parametrize(
    ("targets", "error"),
    [([], OptionError), ("x86-64-v4", OptionError), (["x86-64-v9"], OptionError)],
)
def test_targets_are_checked(targets: Any, error: type[Exception], tmp_path: Path) -> None:
    exe = ingot.compile(torch.sin, (torch.randn(3),))
    with pytest.raises(error, match="targets="):
        exe.save(tmp_path / "it.ingot", targets=targets)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_saved(mlp: tuple[Path, nn.Module], tmp_path: Path) -> None:
    with pytest.raises(SaveError, match="copy that file"):
        ingot.load(mlp[0]).save(tmp_path / "x")
    slow = ingot.compile(torch.sin, (torch.randn(3),), options={"fuse": False})
    slow.save(tmp_path / "eager.ingot")  # eager steps name ops by schema
    x = torch.randn(3)
    torch.testing.assert_close(ingot.load(tmp_path / "eager.ingot")(x), x.sin())
    checked = ingot.compile(torch.sin, (torch.randn(3),), options={"checks": "bounds"})
    with pytest.raises(SaveError, match="checks"):
        checked.save(tmp_path / "x")


def test_missing_and_foreign_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ingot.load(tmp_path / "absent")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(FileError, match="not a zip archive"):
        ingot.load(tmp_path / "text")


def _edited(source: Path, target: Path, edit: Callable[[dict[str, bytes]], None]) -> None:
    from ingot.artifact.archive import read_archive, write_archive

    members = {name: bytes(data) for name, data in read_archive(source).items()}
    edit(members)
    write_archive(target, members)


def _manifest(key: str, value: Any) -> Callable[[dict[str, bytes]], None]:
    def edit(members: dict[str, bytes]) -> None:
        manifest = json.loads(members["manifest.json"])
        manifest[key] = value
        members["manifest.json"] = json.dumps(manifest).encode()

    return edit


OTHER_MANIFESTS: dict[str, tuple[Callable[[dict[str, bytes]], None], str]] = {
    "format": (_manifest("format", 99), "format 99"),
    "torch": (_manifest("torch", "1.0.0"), "made with 1.0.0; here is"),
    "compiler": (_manifest("compiler", "torch-mlir 1"), "made with torch-mlir 1"),
    "unknown key": (_manifest("more", 1), "unknown key 'more'"),
    "no target": (_manifest("targets", []), "code for no machine"),
    "targets": (_manifest("targets", [{"level": "x"}]), "is missing"),
    "state": (_manifest("state", {"bits": 1 << 40, "autocast": "x", "default": "y"}), "state"),
}


@pytest.mark.parametrize("name", OTHER_MANIFESTS)
def test_other_manifests(name: str, mlp: tuple[Path, nn.Module], tmp_path: Path) -> None:
    edit, message = OTHER_MANIFESTS[name]
    _edited(mlp[0], tmp_path / "bad.ingot", edit)
    with pytest.raises(FileError, match=message):
        ingot.load(tmp_path / "bad.ingot")
