"""Each attack written by hand raises one IngotError that names the location, runs no code and costs
little time and memory.
"""

from __future__ import annotations

import json
import os
import re
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from torch import Tensor

import ingot

from .attacks import ATTACKS, Attack, canary_of
from .files import File
from .harness import Outcome, check, load_all

NOBODY = 65534


@pytest.fixture(scope="session")
def outcomes(
    saved: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Outcome]:
    folder = tmp_path_factory.mktemp("attacks")
    files = []
    for i, attack in enumerate(ATTACKS):
        (folder / str(i)).mkdir()
        files.append(folder / str(i) / "it.ingot")
        attack.make(saved[attack.victim], files[-1])
    found = load_all([saved["static"], *files], folder)
    assert not found[0].error
    return {attack.name: outcome for attack, outcome in zip(ATTACKS, found[1:], strict=True)}


def test_names_are_distinct() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 50


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.name)
def test_attack(attack: Attack, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[attack.name]
    check(outcome)
    assert outcome.error == "FileError", outcome
    assert re.search(attack.names, outcome.message), outcome.message
    assert outcome.message.startswith("the file cannot be loaded: ")
    assert not canary_of(Path(outcome.file)).exists()


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ingot.Program.load(tmp_path / "none.ingot")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        ingot.Program.load(tmp_path)


def test_no_permission(saved: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "it.ingot"
    path.write_bytes(saved["static"].read_bytes())
    path.chmod(0)
    user = os.geteuid()
    if user == 0:  # root can read every file
        os.seteuid(NOBODY)
    try:
        with pytest.raises(PermissionError):
            ingot.Program.load(path)
    finally:
        os.seteuid(user)


def test_the_name_of_an_input_is_only_a_name(saved: dict[str, Path], tmp_path: Path) -> None:
    """Names used by Python and PyTorch are harmless in generated code."""
    file = File.read(saved["static"])
    graph, program = json.dumps(file.graph), json.dumps(file.program)
    user = next(i["name"] for i in file.program["inputs"] if i["kind"] == "user")
    for name in ("torch", "exec", "inputs", "self", "print"):
        file.graph = graph.replace(f'"{user}"', f'"{name}"').encode()
        file.program = program.replace(f'"{user}"', f'"{name}"').encode()
        loaded = ingot.Program.load(file.write(tmp_path / "it.ingot"))
        want = ingot.Program.load(saved["static"])(torch.ones(2, 4), scale=3.0)
        torch.testing.assert_close(loaded(torch.ones(2, 4), scale=3.0), want)


# -- files of the previous format, whose reader evaluated them -------------------------------------


def _old_file(path: Path, change: object) -> None:
    """A file as ingot used to write it: torch.export's own JSON."""
    from safetensors.torch import save
    from torch._export.serde.serialize import ExportedProgramSerializer, _to_json_bytes

    def double(x: Tensor) -> Tensor:
        return x * 2

    class Module(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return double(x)

    shapes = {"x": {0: torch.export.Dim("n", max=99)}}
    exported = torch.export.export(Module(), (torch.ones(5),), dynamic_shapes=shapes)
    made = ExportedProgramSerializer().serialize(
        exported.run_decompositions(),
        serialize_state_dict=False,
        serialize_constants=False,
        serialize_example_inputs=False,
    )
    graph = json.loads(_to_json_bytes(made.exported_program))
    change(graph)  # type: ignore[operator]
    extra = {
        "format": 2, "torch": torch.__version__, "level": "aten", "tracked": [False],
        "assumes": [], "plain": [], "state": [], "tensors": {},
    }  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("graph.json", json.dumps(graph))
        archive.writestr("program.json", json.dumps(extra))
        archive.writestr("tensors.safetensors", save({}))


@pytest.mark.parametrize("where", ["size", "number", "structure", "operator"])
def test_a_file_of_the_old_format_runs_nothing(where: str, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    text = f"__import__('os').system('touch {canary}')"

    def change(document: dict) -> None:  # type: ignore[type-arg]
        module = document["graph_module"]
        tensors = module["graph"]["tensor_values"]
        sizes = [s for t in tensors.values() for s in t["sizes"] if "as_expr" in s]
        assert sizes
        if where == "size":
            sizes[0]["as_expr"]["expr_str"] = text
        elif where == "number":
            module["graph"]["sym_int_values"]["n"] = {"as_expr": {"expr_str": text, "hint": None}}
            module["graph"]["inputs"].append({"as_sym_int": {"as_name": "n"}})
        elif where == "structure":
            (tmp_path / "evil_module.py").write_text(f"open({str(canary)!r}, 'w')\nthing = list\n")
            context = {"default_factory_module": "evil_module", "default_factory_name": "thing",
                       "dict_context": []}  # fmt: skip
            spec = {"type": "collections.defaultdict", "context": context, "children_spec": []}
            entry = module["module_call_graph"][0]["signature"]
            entry["in_spec"] = json.dumps([1, spec])
        else:
            module["graph"]["nodes"][0]["target"] = "torch.hub.load"

    _old_file(tmp_path / "it.ingot", change)
    sys.path.insert(0, str(tmp_path))
    try:
        with pytest.raises(ingot.IngotError, match="format 2"):
            ingot.Program.load(tmp_path / "it.ingot")
    finally:
        sys.path.remove(str(tmp_path))
    assert not canary.exists()
