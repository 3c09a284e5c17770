"""Loads compiled programs from files (save.py says what is in them). Weights stay in the mapping of
the file, and so does the graph until a call needs it: gradients, and arguments that only eager
takes. Neither LLVM nor PyTorch's tracers are imported. A file holds machine code: load only what
you would run.
"""

from __future__ import annotations

import hashlib
import os
import threading
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor, nn

from ingot.artifact.archive import CODE, MANIFEST, MODULES, PLAN, TENSORS, read_archive
from ingot.artifact.code import decode_code, decode_constants, machine_of, provide
from ingot.artifact.store import ProgramFile, file_errors, under
from ingot.artifact.weights import BESIDE, INSIDE, require_weights
from ingot.codegen.jit.code_store import compiler
from ingot.codegen.support.weight_guard import digest, native_code
from ingot.collection import without_collection
from ingot.document import Part, parse
from ingot.errors import FileError, InputError, did_you_mean
from ingot.fallback.boundary import Boundary
from ingot.fallback.reproducer import CapturedGraph
from ingot.machine import LEVELS, Machine, machine_levels
from ingot.options import make_options
from ingot.plan.ir import Plan, Return, walk
from ingot.program.call import call_program, trains
from ingot.program.graph import placeholders
from ingot.program.program import Program
from ingot.program.shapes import shape_of, strides_of
from ingot.runtime.call_state import CallState
from ingot.runtime.executable import Contract, Executable
from ingot.runtime.glue import emit
from ingot.runtime.model_state import check_replacement
from ingot.stages import Loaded

FORMAT = 2
PLAN_TENSORS = "plan/"
"""Prefix of names in the file: of constants of plans."""
_MOST_TEXT = 200
_FLOATS = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64)
}


def digest_of(data: memoryview) -> int:
    size = len(data)
    if not size:
        return 0
    with warnings.catch_warnings():  # of memory that may not be written
        warnings.simplefilter("ignore")
        return digest([(torch.frombuffer(data, dtype=torch.uint8).data_ptr(), size)])


@without_collection
def load(
    path: str | os.PathLike[str], *, weights: str | os.PathLike[str] | None = None
) -> LoadedExecutable | Program:
    """A compiled program that `save` wrote, or the Program in a file of `Program.save`. `weights`:
    where its weights are, if they are not inside and were moved. Any defect of the file is a
    FileError, and so is code for other machines than this one."""
    name = os.fspath(path)
    members = read_archive(path)
    with file_errors(name):
        mapped = MANIFEST in members
        moved = None if weights is None else os.fspath(weights)
        file = ProgramFile(name, members, mapped, moved)
        if moved is not None and file.weights is None:
            raise FileError(f"{name}: its weights are inside", hints=["load it without weights="])
        return _loaded(name, members, file) if mapped else file.program()


def _loaded(name: str, members: Mapping[str, memoryview], file: ProgramFile) -> LoadedExecutable:
    fields = _manifest(name, members)
    machine = _chosen(fields["targets"])
    where = f"code/{machine.isa}"
    parts = {each: members.get(f"{where}/{each}") for each in (PLAN, CODE, MODULES)}
    if any(data is None for data in parts.values()):
        raise FileError(f"{name}: there is no code for {machine.isa}")
    found = {k: v for k, v in parts.items() if v is not None}
    _check_code(fields["code"], {f"{where}/{each}": data for each, data in found.items()}, name)
    provided = provide(found, machine, where)
    with _Digests(fields["weights"], name, members, file) as digests:  # with code from the file
        code = decode_code(found[PLAN], provided, machine, where)
        decode_constants(code, under(f"{PLAN_TENSORS}{machine.isa}/", file.tensors), where)
        interface = file.interface()
        _check_inputs(interface, code.plan, where)
        _check_results(interface, code.plan, where)
        runner = emit(code.plan, code.resources, make_options())
        loaded = Loaded(runner.run, runner.source, code.plan, code.resources)
        contract = _contract(fields["contract"])
        digests.check()
    return LoadedExecutable(file, interface, loaded, contract, _decode_state(fields["state"]))


def code_digest(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()


def _check_code(part: Part, members: Mapping[str, memoryview], name: str) -> None:
    """Finds damage. Code whose digest fits is as trustworthy as whoever wrote the file."""
    rows = part.entries()
    for member, data in members.items():
        if member not in rows:
            part.fail(f"{member!r} is missing")
        if rows[member].line(_MOST_TEXT) != code_digest(data):
            raise FileError(f"{name}: {member}: damaged: the digest is wrong")


class _Digests:
    """Compares the tensors of a file with their digests, on a thread of its own. It has ended when
    the block is left: the mapping of a file that was refused is not read any more."""

    def __init__(self, part: Part, name: str, members: Mapping[str, memoryview], file: ProgramFile):
        known = [INSIDE] if file.weights is None else [INSIDE, BESIDE]
        fields = part.fields(*known)
        self._wanted = [fields[each].integer() for each in known]
        self._data = [members[TENSORS]]
        if file.weights is not None:
            self._data.append(file.weights_data)
        self._name, self._file = name, file
        self._found: list[int] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _Digests:
        native_code()  # linked by this thread
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def _run(self) -> None:
        self._found = [digest_of(data) for data in self._data]

    def check(self) -> None:
        self._thread.join()
        inside, *outside = (a == b for a, b in zip(self._found, self._wanted, strict=True))
        if not inside:
            raise FileError(f"{self._name}: {TENSORS}: damaged: the digest is wrong")
        for matches in outside:
            require_weights(matches, self._file.weights_path)


def _manifest(name: str, members: Mapping[str, memoryview]) -> dict[str, Part]:
    root = parse(bytes(members[MANIFEST]), f"{name}: {MANIFEST}")
    given = root.entries()
    if "format" not in given:
        root.fail("'format' is missing")
    if given["format"].integer() != FORMAT:
        given["format"].fail(
            f"format {given['format'].value}; this version of ingot reads {FORMAT}",
            hints=["save the program again"],
        )
    fields = root.fields(
        "format", "ingot", "torch", "compiler", "state", "contract", "targets", "weights", "code"
    )
    fields["ingot"].line(_MOST_TEXT)
    for key, here in (("torch", torch.__version__), ("compiler", compiler())):
        made = fields[key].line(_MOST_TEXT)
        if made.partition("+")[0] != here.partition("+")[0]:
            fields[key].fail(f"made with {made}; here is {here}", hints=["save the program again"])
    return fields


def _chosen(part: Part) -> Machine:
    """The best machine in the file that this one can stand in for."""
    machines = [machine_of(row) for row in part.items(most=len(LEVELS))]
    here = machine_levels()
    fitting = [machine for machine in machines if machine.isa in here]
    if not fitting:
        names = " and ".join(machine.isa for machine in machines) or "no machine"
        raise FileError(
            f"it has code for {names}; this machine supports {', '.join(here) or 'neither'}",
            hints=["save it with targets=[…] for this machine"],
        )
    return max(fitting, key=lambda machine: -here.index(machine.isa))


def _check_inputs(program: Program, plan: Plan, where: str) -> None:
    """A call is checked against the program's inputs, and native code reads what the plan says."""
    nodes, buffers = placeholders(program.graph), plan.by_name()
    if len(plan.inputs) != len(nodes):
        raise FileError(f"{where}/{PLAN}: {len(plan.inputs)} inputs; the program has {len(nodes)}")
    for node, name in zip(nodes, plan.inputs):
        value, buffer = node.meta["val"], buffers[name]
        if not isinstance(value, Tensor) or value.layout is not torch.strided:
            continue
        described = (buffer.dtype, tuple(buffer.shape), tuple(buffer.strides))
        if described != (value.dtype, tuple(shape_of(node)), tuple(strides_of(node))):
            raise FileError(f"{where}/{PLAN}: the input {name} is not what the program says")


def _check_results(program: Program, plan: Plan, where: str) -> None:
    wanted = sum(spec.kind != "mutation" for spec in program.signature.outputs)
    for op in walk(plan.ops):
        if isinstance(op, Return) and len(op.values) != wanted:
            raise FileError(f"{where}/{PLAN}: {len(op.values)} results; the program has {wanted}")


def _contract(part: Part) -> Contract:
    fields = part.fields("settles", "no_history")
    why = fields["no_history"]
    text = None if why.value is None else why.line(_MOST_TEXT)
    return Contract(fields["settles"].boolean(), text)


def _decode_state(part: Part) -> CallState:
    fields = part.fields("bits", "autocast", "default")
    autocast, default = (fields[key].choice(_FLOATS, "dtype") for key in ("autocast", "default"))
    return CallState(fields["bits"].integer(0, 63), autocast, default)


class LoadedExecutable(Executable):
    """A compiled program from a file. Its weights belong to it: they change through `load_weights`
    only."""

    def __init__(
        self,
        file: ProgramFile,
        interface: Program,
        loaded: Loaded,
        contract: Contract,
        state: CallState,
    ):
        learns = trains(interface)
        self._weights = {
            name: tensor.requires_grad_(learns and tensor.requires_grad)
            for name, tensor in interface.state.items()
        }
        saved = _Saved(file)
        options = make_options()
        boundary = Boundary(CapturedGraph(interface.graph_module, interface.level.value), options)
        super().__init__(
            interface, loaded, partial(saved, self._weights), boundary, contract, state
        )

    def load_weights(self, weights: Mapping[str, Tensor] | str | os.PathLike[str]) -> None:
        """Replace weights, all or some, without compiling: a mapping or a safetensors file. Names,
        shapes and dtypes are those of the saved model's."""
        given = weights if isinstance(weights, Mapping) else _read_weights(weights)
        for name, tensor in given.items():
            if name not in self._weights:
                raise InputError(f"no weight {name!r}", hints=[did_you_mean(name, self._weights)])
            if not isinstance(tensor, Tensor):
                raise InputError(f"{name} is a {type(tensor).__name__}, not a tensor")
            check_replacement(name, self._weights[name], tensor)
        new = {id(self._weights[name]): _copied(tensor, self._weights[name])
               for name, tensor in given.items()}  # fmt: skip
        for name, tensor in self._weights.items():  # names that share a tensor go on sharing one
            self._weights[name] = new.get(id(tensor), tensor)

    @property
    def weights(self) -> dict[str, Tensor]:
        """By name. Those of a training step are its parameters, with their gradients; writes to
        others are not noticed, use `load_weights`."""
        return dict(self._weights)


def _copied(tensor: Tensor, old: Tensor) -> Tensor:
    """A copy that is a parameter, and requires gradients, if the old one did."""
    copy = tensor.detach().clone()
    is_parameter = isinstance(old, nn.Parameter)
    return nn.Parameter(copy, old.requires_grad) if is_parameter else copy


def _read_weights(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (SafetensorError, ValueError) as error:
        raise FileError(f"{os.fspath(path)}: not safetensors: {error}") from None


class _Saved:
    """The program of a file, run by PyTorch; read when it is first called."""

    def __init__(self, file: ProgramFile):
        self._file = file

    @cached_property
    def _program(self) -> Program:
        return self._file.program()

    def __call__(self, weights: Mapping[str, Tensor], *args: Any, **kwargs: Any) -> Any:
        return call_program(replace(self._program, state=dict(weights)), args, kwargs)
