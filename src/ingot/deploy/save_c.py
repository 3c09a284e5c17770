"""`Executable.save_c`: a compiled program as a folder that a C compiler builds a program of:

libNAME.a        the code, one object for each instruction set and one that chooses among them
NAME.h           the interface
weights.bin      the weights as kernels read them; mapped into memory
main.c           an example
CMakeLists.txt   builds the example

Neither libtorch nor Python is needed at run time: the program is compiled for a machine without
them, on which matmuls are ingot's own and functions are polynomials or those of the C library.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor

from ingot.artifact.save import compiled_for_saving, example_sizes, levels_to_save
from ingot.codegen.jit.jit import unlinked_object
from ingot.deploy.ar import write_archive
from ingot.deploy.c_functions import Levels, c_functions, exported, single_thread_names
from ingot.deploy.c_text import cmake_text, example_text, header_text
from ingot.deploy.elf_writer import DEFAULT, HIDDEN
from ingot.deploy.emit_plan import emit_plan
from ingot.deploy.interface import Binding, Interface, bound
from ingot.deploy.objects import Parts, Unit, combined
from ingot.deploy.plan_scope import Contents, PlanCode
from ingot.deploy.refusals import check_imports, check_steps
from ingot.deploy.view_offsets import view_offsets
from ingot.deploy.weights_file import Weights
from ingot.errors import OptionError, SaveError
from ingot.machine import Machine, machine_of_level, targeting
from ingot.program.program import Program
from ingot.runtime.executable import Executable

THREADS = ("openmp", "single")
WEIGHTS = "weights.bin"
_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_ANY_MACHINE = "x86-64-v2"
"""What the functions that choose the code need."""


@dataclass(frozen=True)
class Saved:
    """What was written."""

    folder: Path
    interface: Interface
    levels: tuple[str, ...]
    code_bytes: int
    weight_bytes: int


def save_c(
    exe: Executable, folder: str | os.PathLike[str], targets: Sequence[str] | None = None,
    threads: str = "openmp", name: str = "model",
) -> Saved:  # fmt: skip
    if threads not in THREADS:
        raise OptionError(f"threads={threads!r}", hints=[f"one of {', '.join(THREADS)}"])
    if not _NAME.fullmatch(name):
        raise OptionError(f"name={name!r}", hints=["lower case letters, digits and underscores"])
    program = saved_program(exe)
    names, weights = levels_to_save(targets), Weights()
    parts = [_level(exe, program, name, level, weights) for level in names]
    interface = parts[0].binding.interface
    if any(part.binding.interface != interface for part in parts):
        raise SaveError("its outputs have other layouts for other instruction sets")
    texts = [*(part.plan_text for part in parts), name]
    header = weights.header(texts)
    words = max(part.code.words for part in parts)
    levels = Levels(names, words, header, threads == "openmp")
    members = {}
    for level, part in zip(names, parts, strict=True):
        members[f"{level.rpartition('-')[2]}.o"] = _object(part, level, interface, levels)
    members["interface.o"] = _interface_object(interface, levels)
    library = write_archive(members)
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"lib{name}.a").write_bytes(library)
    weights.write(out / WEIGHTS, header)
    (out / f"{name}.h").write_text(header_text(interface, names, levels.openmp))
    (out / "main.c").write_text(example_text(interface))
    (out / "CMakeLists.txt").write_text(cmake_text(name, levels.openmp))
    return Saved(out, interface, tuple(names), len(library), weights.size)


@dataclass(frozen=True)
class _Part:
    """The program for one instruction set."""

    machine: Machine
    binding: Binding
    code: PlanCode
    plan_text: str


def _level(exe: Executable, program: Program, name: str, level: str, weights: Weights) -> _Part:
    machine = replace(machine_of_level(level), has_torch=False)
    options = replace(exe.options, tune=0.0)
    with targeting(machine):
        compiled = compiled_for_saving(program, options)
        plan, resources = compiled.plan, compiled.resources
        assert plan is not None and resources is not None
        check_steps(compiled)
        binding = bound(name, program, plan, view_offsets(plan, resources))
        state: Mapping[str, Tensor] = program.state
        contents = Contents(state, weights)
        code = emit_plan(plan, resources, binding, contents, program.guards, example_sizes(program))
    return _Part(machine, binding, code, plan.as_text())


def _object(
    part: _Part, level: str, interface: Interface, levels: Levels
) -> tuple[bytes, list[str]]:
    code, name = part.code, interface.name
    with targeting(part.machine):
        driver = unlinked_object(list(code.declarations.values()), code.functions)
    public = {levels.symbol(name, level, each): each for each in ("prepare", "run")}
    units = [Unit(driver, public)]
    for native in code.modules.values():
        names = {native.symbol(function): function for function in native.addresses}
        units.append(Unit(native.module.object, names))
    renamed = {} if levels.openmp else single_thread_names(name)
    whole = Parts(units, code.tables, renamed)
    data, imports = combined(whole, dict.fromkeys(public, HIDDEN))
    check_imports(imports, [*renamed.values()])
    return data, list(public)


def _interface_object(interface: Interface, levels: Levels) -> tuple[bytes, list[str]]:
    declarations, functions = c_functions(interface, levels)
    machine = replace(machine_of_level(_ANY_MACHINE), has_torch=False)
    with targeting(machine):
        data = unlinked_object(declarations, functions)
    public = dict.fromkeys(exported(interface.name), DEFAULT)
    if not levels.openmp:
        public |= dict.fromkeys(single_thread_names(interface.name).values(), HIDDEN)
    unit = Unit(data, {each: each for each in functions})
    return combined(Parts([unit]), public)[0], list(public)


def saved_program(exe: Executable) -> Program:
    """The program, if it can be saved for C at all."""
    from ingot.artifact.load import LoadedExecutable
    from ingot.runtime.executable import EagerExecutable

    if isinstance(exe, LoadedExecutable):
        raise SaveError("it was loaded from a file", hints=["compile the model"])
    if isinstance(exe, EagerExecutable):
        raise SaveError("the model runs in eager: there is no code to save")
    for option in ("target", "checks"):
        if getattr(exe.options, option):
            raise SaveError(f"it was compiled with the option {option}")
    return exe.program
