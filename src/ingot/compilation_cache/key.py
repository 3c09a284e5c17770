"""The keys of compiled programs: all that a plan follows from. Not part of a key: paths, the host
and its user, time, and the lines of the user's files. The number of threads and tuning records are
part of it only if compiling asks for them (cache/environment.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch.fx import GraphModule

from ingot.cache.programs import ProgramKey
from ingot.codegen.jit.code_store import compiler
from ingot.compilation_cache.graph_text import OWN, GraphText, Unencodable
from ingot.foreign_rules import foreign_rules
from ingot.machine import library_multiplies, this_machine
from ingot.options import Options
from ingot.program.program import Level, Program
from ingot.version import code_version

FORMAT = "1"


@dataclass(frozen=True)
class Subject:
    """What is compiled."""

    module: GraphModule
    signature: str
    symbols: str
    level: Level

    @staticmethod
    def of_graph(module: GraphModule, static: Sequence[int]) -> Subject:
        """A graph from AOTAutograd, of which a Program is made."""
        return Subject(module, f"static {list(static)}", "", Level.ATEN)

    @staticmethod
    def of_program(program: Program) -> Subject:
        inputs = (f"{each.name} {each.kind}" for each in program.signature.inputs)
        outputs = map(str, program.signature.outputs)
        ranges = (f"{name} {each.lower}..{each.upper}" for name, each in program.symbols.items())
        guards = (f"guard {guard.condition}" for guard in program.guards)
        return Subject(
            program.graph_module, "\n".join([program.level.value, *inputs, *outputs]),
            "\n".join([*ranges, *guards]), program.level,
        )  # fmt: skip


def program_key(subject: Subject, graph: GraphText, options: Options) -> ProgramKey:
    if rules := foreign_rules():
        raise Unencodable(f"code outside of ingot has registered rules for {', '.join(rules)}")
    if subject.level is Level.PRE_DISPATCH and (named := _foreign(subject.module)):
        raise Unencodable(f"{named} is decomposed by code outside of PyTorch and ingot")
    symbols = "\n".join(filter(None, (subject.symbols, graph.symbol_text())))
    return ProgramKey(
        FORMAT, code_version(), torch.__version__, compiler(), _machine(), _state(),
        replace(options, tuning="").key(), subject.signature, symbols, graph.constant_text(),
        graph.text,
    )  # fmt: skip


def _foreign(module: GraphModule) -> str:
    """An op of another library than PyTorch's own in a graph; empty if there is none."""
    for each in module.modules():
        for node in each.graph.nodes if isinstance(each, GraphModule) else ():
            target = node.target
            if isinstance(target, torch._ops.OpOverload) and target.namespace not in OWN:
                return str(target)
    return ""


def _machine() -> str:
    halves: Mapping[str, bool] = {
        str(half): library_multiplies(half) for half in (torch.bfloat16, torch.float16)
    }
    return f"{this_machine().as_text()}, oneDNN {torch.backends.mkldnn.enabled} {halves}"


def _state() -> str:
    return f"{torch.get_default_dtype()} grad {torch.is_grad_enabled()}"
