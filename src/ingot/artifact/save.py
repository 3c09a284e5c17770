"""Compiled programs in files. The file of a program (store.py) with, besides:

manifest.json            `format`, `ingot`, `torch`, `compiler`; `state`: the thread state under
                         which it was made; `contract`; `targets`: the machines that it has code
                         for, the best last; `weights`: the digests of tensors.safetensors
                         (`inside`) and of the file of the weights, if they are not in it
                         (`beside`); `code`: the digests of the members below
code/LEVEL/plan.txt      the plan
code/LEVEL/code.json     its kernels, and the modules that they are in
code/LEVEL/modules.bin   the modules: MLIR and object

A plan and its kernels depend on the machine, so the program is compiled for each one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ingot.artifact.archive import MANIFEST, TENSORS, write_archive
from ingot.artifact.code import encode_code, encode_constants, encode_machine, used_modules
from ingot.artifact.load import (
    FORMAT,
    PLAN_TENSORS,
    LoadedExecutable,
    code_digest,
    digest_of,
)
from ingot.artifact.store import program_members, to_json
from ingot.artifact.weights import (
    BESIDE,
    INSIDE,
    WeightsFile,
    checksum_of,
    save_weights,
    weights_path,
)
from ingot.codegen.jit.code_store import compiler
from ingot.errors import OptionError, SaveError, did_you_mean
from ingot.machine import LEVELS, machine_levels, machine_of_level, targeting
from ingot.options import Options
from ingot.pipeline import compile_program
from ingot.program.graph import placeholders
from ingot.program.program import Program
from ingot.runtime.call_state import CallState
from ingot.runtime.executable import EagerExecutable, Executable
from ingot.stages import Compiled
from ingot.version import __version__


def save_executable(
    exe: Executable,
    path: str | os.PathLike[str],
    targets: Sequence[str] | None = None,
    weights: str | os.PathLike[str] = INSIDE,
) -> None:
    if isinstance(exe, LoadedExecutable):
        raise SaveError("it was loaded from a file", hints=["copy that file"])
    if isinstance(exe, EagerExecutable):
        raise SaveError("the model runs in eager: there is no code to save")
    if exe.options.target or exe.options.checks:
        name = "target" if exe.options.target else "checks"
        raise SaveError(f"it was compiled with the option {name}")
    program = exe.program
    place = weights_path(path, weights)
    examples = example_sizes(program)
    members: dict[str, bytes] = {}
    constants: dict[str, Tensor] = {}
    machines = []
    for level in levels_to_save(targets):
        machine = machine_of_level(level)
        machines.append(encode_machine(machine))
        with targeting(machine):
            compiled = compiled_for_saving(program, exe.options)
            code = encode_code(compiled, used_modules(compiled, examples))
        assert compiled.plan is not None and compiled.resources is not None
        for name, tensor in encode_constants(compiled.plan, compiled.resources).items():
            constants[f"{PLAN_TENSORS}{level}/{name}"] = tensor
        members |= {f"code/{level}/{name}": data for name, data in code.items()}
    digests, file = {}, None
    if place is not None:
        data = save_weights(program.state, place[0], share=weights != BESIDE)
        file = WeightsFile(place[1], checksum_of(data))
        digests[BESIDE] = digest_of(data)
    written = program_members(program, constants, file)
    digests[INSIDE] = digest_of(memoryview(written[TENSORS]))
    manifest = {
        "format": FORMAT,
        "ingot": __version__,
        "torch": torch.__version__,
        "compiler": compiler(),
        "state": _encode_state(exe.call_state),
        "contract": {"settles": exe.contract.settles, "no_history": exe.contract.no_history},
        "targets": machines,
        "weights": digests,
        "code": {name: code_digest(data) for name, data in members.items()},
    }
    write_archive(path, {MANIFEST: to_json(manifest), **members, **written})


def levels_to_save(targets: Sequence[str] | None) -> list[str]:
    """From the lowest."""
    if targets is None:
        known = machine_levels()
        if not known:
            raise SaveError("this machine has less than x86-64-v2")
        return known[:1]
    if isinstance(targets, str) or not targets:
        raise OptionError(f"targets={targets!r}", hints=[f"a list of {', '.join(LEVELS)}"])
    for level in targets:
        if level not in LEVELS:
            raise OptionError(f"targets={list(targets)!r}", hints=[did_you_mean(level, LEVELS)])
    return [level for level in LEVELS if level in targets]


def compiled_for_saving(program: Program, options: Options) -> Compiled:
    compiled = compile_program(program, options)
    if compiled.plan is None or compiled.resources is None:
        raise SaveError("PyTorch runs the whole graph: there is no code to save")
    return compiled


def example_sizes(program: Program) -> dict[str, int]:
    """The sizes that the program was made with, by symbol."""
    found = {}
    for node in placeholders(program.graph):
        value = node.meta["val"]
        numbers = [*value.shape, *value.stride()] if isinstance(value, Tensor) else [value]
        for number in numbers:
            if isinstance(number, torch.SymInt) and number.node.expr.is_Symbol:
                hint = number.node.hint
                if hint is not None:
                    found[number.node.expr.name] = int(hint)
    return found


def _encode_state(state: CallState) -> dict[str, Any]:
    names = [str(dtype).removeprefix("torch.") for dtype in (state.autocast, state.default)]
    return {"bits": state.bits, "autocast": names[0], "default": names[1]}
