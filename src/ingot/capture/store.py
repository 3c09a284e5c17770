"""A Program in a file. One zip archive with three members: the graph as JSON in torch.export's own
schema, what our signature adds to it as JSON, and the tensors as safetensors. What holds: nothing
is pickled; tensors that are one tensor in the program are one in the file, and one again when it is
loaded, with the strides they had.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor, nn
from torch._export.serde.schema import ExportedProgram as ProgramSchema
from torch._export.serde.serialize import (
    ExportedProgramDeserializer,
    ExportedProgramSerializer,
    _dict_to_dataclass,
    _to_json_bytes,
)

from ingot.capture.exported import program_from_exported
from ingot.capture.functionalize_trim import trim
from ingot.capture.to_exported import program_to_exported
from ingot.errors import InputError
from ingot.program.call import call_spec
from ingot.program.program import Level, Program

FORMAT = 2


def save_program(program: Program, path: str | os.PathLike[str]) -> None:
    exported = program_to_exported(program, keep_inference=True)
    graph = ExportedProgramSerializer().serialize(
        exported,
        serialize_state_dict=False,
        serialize_constants=False,
        serialize_example_inputs=False,
    )
    tensors = {**exported.state_dict, **exported.constants}
    layout, data = _pack(tensors)
    extra = {
        "format": FORMAT,
        "torch": torch.__version__,
        "level": program.level.value,
        "tracked": [spec.tracked for spec in program.signature.outputs],
        "assumes": sorted(call_spec(program).assumes),
        "plain": sorted(call_spec(program).plain),
        "state": sorted(exported.state_dict),
        "tensors": layout,
    }
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("graph.json", _to_json_bytes(graph.exported_program))
        archive.writestr("program.json", json.dumps(extra, indent=1))
        archive.writestr("tensors.safetensors", save(data))


def load_program(path: str | os.PathLike[str]) -> Program:
    with zipfile.ZipFile(path) as archive:
        extra = json.loads(archive.read("program.json"))
        if extra["format"] != FORMAT:
            raise InputError(f"{path} has format {extra['format']}; this ingot reads {FORMAT}")
        graph = _dict_to_dataclass(ProgramSchema, json.loads(archive.read("graph.json")))
        tensors = _unpack(extra["tensors"], load(archive.read("tensors.safetensors")))
    state = {name: tensors[name] for name in extra["state"]}
    constants = {name: tensor for name, tensor in tensors.items() if name not in state}
    exported = ExportedProgramDeserializer().deserialize(graph, state, constants)
    trim(exported.graph_module)
    program = program_from_exported(exported, Level(extra["level"]))
    outputs = tuple(
        replace(spec, tracked=tracked)
        for spec, tracked in zip(program.signature.outputs, extra["tracked"], strict=True)
    )
    calling = replace(
        call_spec(program), assumes=frozenset(extra["assumes"]), plain=frozenset(extra["plain"])
    )
    signature = replace(program.signature, outputs=outputs)
    return replace(program, signature=signature, calling=calling)


def _pack(tensors: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What each name is, and the bytes of the distinct tensors in row-major order."""
    layout: dict[str, Any] = {}
    data: dict[str, Tensor] = {}
    first: dict[int, str] = {}
    for name, tensor in tensors.items():
        same = first.setdefault(id(tensor), name)
        if same != name:
            layout[name] = {"same_as": same}
            continue
        plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
        data[name] = torch.view_as_real(plain).clone() if plain.is_complex() else plain.clone()
        layout[name] = {
            "stride": list(tensor.stride()),
            "complex": plain.is_complex(),
            "parameter": isinstance(tensor, nn.Parameter),
            "requires_grad": tensor.requires_grad,
        }
    return layout, data


def _unpack(layout: Mapping[str, Any], data: Mapping[str, Tensor]) -> dict[str, Tensor]:
    made: dict[str, Tensor] = {}
    for name, known in layout.items():
        if "same_as" in known:
            made[name] = made[known["same_as"]]
            continue
        plain = torch.view_as_complex(data[name]) if known["complex"] else data[name]
        tensor = torch.empty_strided(plain.shape, known["stride"], dtype=plain.dtype).copy_(plain)
        if known["parameter"]:
            tensor = nn.Parameter(tensor, requires_grad=known["requires_grad"])
        made[name] = tensor
    return made
