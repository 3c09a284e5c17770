"""The code of a plan in a file, for one instruction set. Three members: the plan's text, a table of
its kernels and modules, and the modules one after the other, each with its MLIR and its object. A
plan is verified before it is used, ops are looked up as those of graphs are, and a module's key is
the digest of its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch

import ingot.kernels  # noqa: F401  (declares the attributes that plans name)
from ingot.artifact.archive import CODE, MODULES, PLAN
from ingot.codegen.jit import code_store
from ingot.codegen.jit.code_store import KEY, EntryError, code_key, read_module, unpacked_source
from ingot.codegen.jit.elf import ObjectError, read_object
from ingot.codegen.jit.jit import LOWERING
from ingot.codegen.jit.native import Native, compiled_function, find, recording, used
from ingot.codegen.support import executor, launcher, weight_guard
from ingot.document import Part, parse
from ingot.errors import FileError, IngotError, PlanError, PlanTextError, SaveError
from ingot.machine import LEVELS, Machine
from ingot.plan.ir import Kernel, Plan
from ingot.plan.names import (
    called,
    constants_of,
    has_objects,
    kernels_of,
    misfit,
    target_named,
    tensors_in,
)
from ingot.plan.parser import parse as parse_plan
from ingot.plan.resources import KernelEntry, Resources
from ingot.plan.verify import verify
from ingot.program.operators import CallError
from ingot.stages import Compiled

MOST_KERNELS = 100_000
MOST_MODULES = 10_000
GENERATED = "kernel_"
"""Before the digest of its text, the name of a region's kernel (codegen/loops/kernels.py)."""


@dataclass(frozen=True)
class PlanCode:
    """A plan with everything that it names, except for its constants."""

    plan: Plan
    resources: Resources


def used_modules(compiled: Compiled, examples: Mapping[str, int]) -> dict[str, Native]:
    """The modules that a program runs for the example sizes, by key. Which further ones it runs for
    other sizes, such as tiles of convolutions, is known when they are there."""
    assert compiled.resources is not None
    with recording() as found:
        for support in (executor, launcher, weight_guard):
            support.native_code()
        for entry in compiled.resources.kernels.values():
            used(_owner(entry.address)[0])
        for segment in compiled.segments:
            with suppress(IngotError):  # sizes that depend on values have no example
                segment.bind_for(examples)
    return found


def _owner(address: int) -> tuple[Native, str]:
    known = compiled_function(address)
    assert known is not None, "a kernel that ingot did not compile"
    return known


def encode_code(compiled: Compiled, modules: Mapping[str, Native]) -> dict[str, bytes]:
    from ingot.artifact.store import to_json

    plan, resources = compiled.plan, compiled.resources
    assert plan is not None and resources is not None
    for value in resources.objects.values():
        raise SaveError(f"the program holds a {type(value).__name__}, which cannot be saved")
    for name in called(plan):
        if _target(name) is not resources.target(name):
            raise SaveError(f"{name} cannot be saved")
    kernels = {}
    for name, entry in resources.kernels.items():
        native, function = _owner(entry.address)
        share = _owner(entry.share)[1] if entry.share else None
        kernels[name] = {"module": native.key, "function": function, "share": share}
    entries = {key: native.module.entry() for key, native in sorted(modules.items())}
    table = {
        "kernels": kernels,
        "modules": [{"key": key, "bytes": len(entry)} for key, entry in entries.items()],
    }
    return {
        PLAN: plan.as_text().encode(),
        CODE: to_json(table),
        MODULES: b"".join(entries.values()),
    }


def _target(name: str) -> Any:
    try:
        return target_named(name)
    except CallError as error:
        raise SaveError(str(error)) from None


# -- reading ---------------------------------------------------------------------------------------


def machine_of(part: Part) -> Machine:
    """The machine that a plan was made for."""
    fields = part.fields("level", "vector_bits", "l2_bytes", "l3_bytes")
    level = fields["level"].text()
    if level not in LEVELS:
        fields["level"].fail(f"{level!a} is none of {', '.join(LEVELS)}")
    widths = {128: 128, 256: 256, 512: 512}
    bits = fields["vector_bits"].integer(128, 512)
    if bits not in widths:
        fields["vector_bits"].fail(f"{bits} is not the width of a vector")
    sizes = [fields[name].integer(1 << 10, 1 << 40) for name in ("l2_bytes", "l3_bytes")]
    return Machine(bits, LEVELS[level], sizes[0], sizes[1], level)


def encode_machine(machine: Machine) -> dict[str, Any]:
    return {
        "level": machine.isa, "vector_bits": machine.vector_bits,
        "l2_bytes": machine.l2_bytes, "l3_bytes": machine.l3_bytes,
    }  # fmt: skip


@dataclass(frozen=True)
class Provided:
    """The modules of a file, which this process now finds by their keys."""

    kernels: Part
    """The rows of kernels, by name."""
    modules: set[str]
    """Their keys."""


def provide(members: Mapping[str, memoryview], machine: Machine, where: str) -> Provided:
    """`members`: PLAN, CODE and MODULES."""
    table = parse(bytes(members[CODE]), f"{where}/{CODE}").fields("kernels", "modules")
    found = _provide(table["modules"], members[MODULES], machine.isa)
    return Provided(table["kernels"], found)


def decode_code(text: memoryview, provided: Provided, machine: Machine, where: str) -> PlanCode:
    """`text`: the plan's."""
    plan = _plan(bytes(text), f"{where}/{PLAN}")
    resources = Resources("off", machine)
    rows = provided.kernels.entries()
    for kernel in kernels_of(plan):
        if kernel.name not in rows:
            provided.kernels.fail(f"the plan's kernel {kernel.name!a} is not there")
        resources.kernels[kernel.name] = _entry(rows[kernel.name], kernel, provided.modules)
    for name in called(plan):
        try:
            resources.targets[name] = _target(name)
        except SaveError as error:
            raise FileError(
                f"{where}/{PLAN}: {error.why}", hints=["import what registers it before loading"]
            ) from None
    return PlanCode(plan, resources)


def _plan(data: bytes, where: str) -> Plan:
    try:
        plan = parse_plan(data.decode())
        verify(plan)
    except UnicodeDecodeError as error:
        raise FileError(f"{where}: {error}") from None
    except (PlanError, PlanTextError) as error:
        raise FileError(f"{where}: {error.why}") from None
    except RecursionError:
        raise FileError(f"{where}: nested too deeply") from None
    if has_objects(plan):
        raise FileError(f"{where}: it refers to objects of another process")
    return plan


def _provide(rows: Part, data: memoryview, isa: str) -> set[str]:
    """Make the modules known to this process; returns their keys."""
    found: dict[str, bytes] = {}
    at = 0
    for row in rows.items(most=MOST_MODULES):
        fields = row.fields("key", "bytes")
        key, size = fields["key"].text(), fields["bytes"].integer(0, len(data) - at)
        if not KEY.fullmatch(key) or key in found:
            fields["key"].fail("not the key of a module, or there twice")
        entry = bytes(data[at : at + size])
        at += size
        try:
            module = read_module(entry)
            text = unpacked_source(module.source)
            read_object(module.object)
        except (EntryError, ObjectError) as error:
            row.fail(f"damaged: {error.why}")
        if code_key(isa, LOWERING, text) != key:
            fields["key"].fail(
                "the key does not fit the text",
                hints=["it was made by another version of ingot or torch-mlir: save it again"],
            )
        found[key] = entry
    if at != len(data):
        rows.fail(f"{len(data) - at} bytes of {MODULES} belong to no module")
    code_store.provide(found)
    return set(found)


def _entry(row: Part, kernel: Kernel, known: set[str]) -> KernelEntry:
    fields = row.fields("module", "function", "share")
    key = fields["module"].text()
    if key not in known:
        fields["module"].fail("no such module in the file")
    # A family's kernel has the digest of its module, that of a region the digest of its own text.
    if kernel.digest not in (key[:16], fields["function"].text().removeprefix(GENERATED)):
        row.fail(f"it is not the code of digest {kernel.digest} that the plan names")
    try:
        native = find([key])
    except ObjectError as error:
        row.fail(error.why)
    if native is None:
        row.fail("its object is damaged, or imports what it may not")
    addresses = {}
    for name in ("function", "share"):
        part = fields[name]
        if name == "share" and part.value is None:
            addresses[name] = 0
        else:
            addresses[name] = part.choice(native.addresses, "function")
    return KernelEntry(addresses["function"], addresses["share"], native)


def encode_constants(plan: Plan, resources: Resources) -> dict[str, torch.Tensor]:
    """The constants of a plan that a file has to hold."""
    try:
        return tensors_in(plan, resources)
    except ValueError as error:
        raise SaveError(str(error)) from None


def decode_constants(code: PlanCode, tensors: Mapping[str, torch.Tensor], where: str) -> None:
    """Give the plan its constants."""
    for buffer in constants_of(code.plan):
        tensor = tensors.get(buffer.name)
        if tensor is None:
            raise FileError(f"{where}/{PLAN}: the constant {buffer.name} has no tensor in the file")
        if wrong := misfit(buffer, tensor):
            raise FileError(f"{where}/{PLAN}: {wrong}")
        code.resources.constants[buffer.name] = tensor
