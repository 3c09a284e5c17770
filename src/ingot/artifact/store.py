"""Programs in files. One zip archive of three members, without compression or pickles:

graph.json           `graph`: nodes in order, and the bodies of regions and control flow
                     `traces`, `scopes`: files and lines, and modules, that nodes refer to by index
program.json         `format`, `torch`, `level`, `symbols`, `guards`, the signature (`inputs`,
                     `outputs`), how it is called (`calling`), `tensors`: the memory, shape and
                     strides of each of the program's tensors, and `weights`: the file that
                     has those of the module, or null
tensors.safetensors  the memory of the distinct tensors, each a flat array

A file is not trusted. Sizes and guards are expressions of a small grammar with a parser of its own
(expressions.py); operators and classes are looked up in registries that this process has filled
(operators.py, trees.py); every other string is compared, shown or used as a name. Documents,
numbers, nesting and sizes are bounded. Before a program is returned it passes the verifier, and
shape inference confirms the values that the file describes (inference.py). Any defect of a file
raises a FileError that names the member and the path inside of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from types import MappingProxyType
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor
from torch.fx import GraphModule

from ingot.artifact.archive import GRAPH, PROGRAM, TENSORS, read_archive, write_archive
from ingot.artifact.arguments import ValueWriter
from ingot.artifact.graphs import GraphReader, GraphWriter
from ingot.artifact.inference import InferenceError, infer_values
from ingot.artifact.input_symbols import InputSymbols
from ingot.artifact.signatures import SignatureReader, encode_calling, encode_signature
from ingot.artifact.symbol_ranges import SymbolReader, SymbolWriter
from ingot.artifact.tensors import pack, read_safetensors, unpack
from ingot.artifact.trees import TreeWriter
from ingot.artifact.weights import WeightsFile, checksum_of, map_weights, require_weights
from ingot.document import Part, parse
from ingot.errors import FileError, IngotError
from ingot.program.call import call_spec
from ingot.program.program import Level, Program, SizeGuard, tensor_attributes
from ingot.program.verify import verify

FORMAT = 4
_STATE, _CONSTANT = "state/", "graph/"
"""Prefixes of names in the file: of the module's tensors, and of attributes of graphs."""
NO_TENSORS: Mapping[str, Tensor] = MappingProxyType({})


def save_program(program: Program, path: str | os.PathLike[str]) -> None:
    write_archive(path, program_members(program))


def program_members(
    program: Program, more: Mapping[str, Tensor] = NO_TENSORS, weights: WeightsFile | None = None
) -> dict[str, bytes]:
    """The members that hold a program. `more`: tensors to be stored with the program's own.
    `weights`: where its state is, if not in TENSORS."""
    symbols = SymbolWriter()
    values = ValueWriter(symbols)
    graphs = GraphWriter(values)
    graph = graphs.encode(program.graph_module)
    state = {f"{_STATE}{name}": tensor for name, tensor in program.state.items()}
    constants = {f"{_CONSTANT}{name}": tensor for name, tensor in graphs.tensors.items()}
    layout, memory = pack({**state, **constants, **more})
    calling = encode_calling(call_spec(program), values, TreeWriter(values))
    guards = [symbols.text(guard.condition) for guard in program.guards]
    content = {
        "format": FORMAT,
        "torch": torch.__version__,
        "level": program.level.value,
        **encode_signature(program.signature),
        "calling": calling,
        "guards": guards,
        "symbols": symbols.table(program.symbols),
        "tensors": layout,
        "weights": None if weights is None else weights.encode(),
    }
    inside = {n: t for n, t in memory.items() if weights is None or not n.startswith(_STATE)}
    return {
        GRAPH: to_json({"graph": graph, **graphs.tables()}),
        PROGRAM: to_json(content),
        TENSORS: save(inside),
    }


def to_json(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


def load_program(path: str | os.PathLike[str]) -> Program:
    """Raises FileError if the file is not a program, and the errors of `open` if it cannot be
    opened."""
    name = os.fspath(path)
    members = read_archive(path)
    with file_errors(name):
        return ProgramFile(name, members).program()


@contextmanager
def file_errors(name: str) -> Iterator[None]:
    """Whatever is wrong with a file is a FileError."""
    try:
        yield
    except FileError:
        raise
    except IngotError as error:  # the verifier's
        raise FileError(f"{name}: {GRAPH}: {error.headline}: {error.why}") from None
    except Exception as error:
        # PyTorch and sympy raise errors of any type for values that they do not support.
        raise FileError(f"{name}: {type(error).__name__}: {error}") from error


class ProgramFile:
    """A program in a file. `mapped`: its tensors stay in the file's mapping, and the caller checks
    the bytes of weights that are not inside. `moved`: where those are, if not where they were."""

    def __init__(
        self, name: str, members: Mapping[str, memoryview], mapped: bool = False,
        moved: str | None = None,
    ):  # fmt: skip
        self._name, self._members, self._mapped, self._moved = name, members, mapped, moved
        root = parse(bytes(members[PROGRAM]), f"{name}: {PROGRAM}")
        self._check_format(root)
        self._fields = root.fields(
            "format", "torch", "level", "inputs", "outputs", "calling", "guards", "symbols",
            "tensors", "weights",
        )  # fmt: skip

    def _check_format(self, root: Part) -> None:
        given = root.entries()
        if "format" not in given:
            root.fail("'format' is missing")
        found = given["format"].integer()
        if found != FORMAT:
            given["format"].fail(
                f"format {found}; this version of ingot reads {FORMAT}",
                hints=["export and save the program again"],
            )

    @cached_property
    def weights(self) -> WeightsFile | None:
        return WeightsFile.decode(self._fields["weights"])

    @cached_property
    def weights_path(self) -> str:
        """Of the weights, if they are not inside."""
        assert self.weights is not None
        folder = os.path.dirname(self._name)
        return os.path.join(folder, self.weights.name) if self._moved is None else self._moved

    @cached_property
    def weights_data(self) -> memoryview:
        return map_weights(self.weights_path)

    @cached_property
    def tensors(self) -> dict[str, Tensor]:
        where = f"{self._name}: {TENSORS}"
        memory = read_safetensors(self._members[TENSORS], where)
        if self.weights is not None:
            if not self._mapped:
                matches = checksum_of(self.weights_data) == self.weights.checksum
                require_weights(matches, self.weights_path)
            memory |= self._state()
        return unpack(self._fields["tensors"], memory, where, not self._mapped)

    def _state(self) -> dict[str, Tensor]:
        """The tensors of the other file; it may have more than the program."""
        rows = self._fields["tensors"].entries()
        own = {n for n, row in rows.items() if n.startswith(_STATE) and "dtype" in row.entries()}
        found = read_safetensors(self.weights_data, self.weights_path)
        named = {f"{_STATE}{name}": tensor for name, tensor in found.items()}
        require_weights(own <= set(named), self.weights_path)
        return {name: named[name] for name in own}

    def program(self) -> Program:
        """The whole program, verified."""
        symbols = SymbolReader(self._fields["symbols"])
        reader = self._reader(symbols)
        with symbols.mode, torch.no_grad():
            program = self._described(reader.decode(self._graph["graph"]), symbols, True)
        verify(program)
        try:
            infer_values(program.graph_module, symbols)
        except InferenceError as error:
            raise FileError(f"{self._name}: {GRAPH}: {error}") from None
        return program

    def interface(self) -> Program:
        """What a call needs to know of the program: its inputs, signature and calling convention.
        The graph has no nodes besides inputs and an output of nothing."""
        symbols = InputSymbols(self._fields["symbols"])
        with symbols.mode, torch.no_grad():
            module = self._reader(symbols).decode_inputs(
                self._graph["graph"], len(self._fields["outputs"].items())
            )
            return self._described(module, symbols, False)

    def _described(self, module: GraphModule, symbols: SymbolReader, is_whole: bool) -> Program:
        fields = self._fields
        fields["torch"].line(100)
        level = fields["level"].choice({level.value: level for level in Level}, "level")
        state = under(_STATE, self.tensors)
        signatures = SignatureReader(module.graph, state, symbols, is_whole)
        return Program(
            graph_module=module,
            signature=signatures.signature(fields["inputs"], fields["outputs"]),
            constants=MappingProxyType(tensor_attributes(module)),
            symbols=MappingProxyType(symbols.ranges),
            level=level,
            state=MappingProxyType(signatures.state),
            calling=signatures.calling(fields["calling"]),
            guards=tuple(SizeGuard(symbols.condition(g)) for g in fields["guards"].items()),
        )

    @cached_property
    def _graph(self) -> dict[str, Part]:
        root = parse(bytes(self._members[GRAPH]), f"{self._name}: {GRAPH}")
        return root.fields("graph", "traces", "scopes")

    def _reader(self, symbols: SymbolReader) -> GraphReader:
        return GraphReader(symbols, self._graph, under(_CONSTANT, self.tensors))


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
