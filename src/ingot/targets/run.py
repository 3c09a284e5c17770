"""Runs a program on a device and the host, and reports the placement of its ops. A value is copied
to the other side at most once, and only if an op there reads it. The model's own tensors stay on
the device between calls until they change, which the guard of packed weights detects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ingot.emit.problems import Problem
from ingot.errors import EmitError
from ingot.options import Options, make_options
from ingot.plan.prepared import OFF, Weights
from ingot.program.graph import placeholders
from ingot.program.program import Program
from ingot.program.text import target_name
from ingot.targets.placement import Stage, returned_names, split
from ingot.targets.target import Moved, Runner, Target

HostRunner = Callable[[list[Any]], Sequence[Any]]
Kept = dict[str, tuple[Weights, Any]]
"""Input to the guard of its tensor when it was uploaded, and its value on the device."""


@dataclass
class Traffic:
    """Copies of the last call."""

    uploads: int = 0
    downloads: int = 0


@dataclass(frozen=True)
class Placed:
    """A program that runs on a device and the host: `run(list of inputs) -> list of outputs`."""

    program: Program
    target: str
    ops: int
    """Ops of the program."""
    left: dict[str, str]
    """Ops that stay on the host, each with the reason."""
    stages: tuple[str, ...]
    """The sides of the stages, in order of execution."""
    run: Callable[[Sequence[Any]], list[Any]]
    traffic: Traffic = field(default_factory=Traffic)

    def as_text(self) -> str:
        lines = [
            f"{self.target}: {self.ops} ops, {len(self.left)} left on the host",
            f"  stages: {' '.join(self.stages)}",
            f"  copies of the last call: {self.traffic.uploads} up, {self.traffic.downloads} down",
        ]
        return "\n".join([*lines, *(f"  {name}: {why}" for name, why in self.left.items())])


def place(program: Program, target: Target, options: Options | None = None) -> Placed:
    """Split the program by the target's claims and compile both sides."""
    options = options or make_options()
    stages, left, lowered = _lowered(program, target)
    made = [_made(stage, runner, options) for stage, runner in zip(stages, lowered)]
    traffic = Traffic()
    kept: Kept = {}
    stay = frozenset(
        spec.name for spec in program.signature.inputs if spec.kind in ("parameter", "buffer")
    )
    wanted = {node.name: node.meta.get("val") for node in program.graph.nodes}

    def run(inputs: Sequence[Any]) -> list[Any]:
        values = _Values(target, traffic, kept, stay, options.weight_guard, wanted)
        traffic.uploads = traffic.downloads = 0
        for node, value in zip(placeholders(program.graph), inputs):
            values.host[node.name] = value
        for stage, (device, runner) in zip(stages, made):
            side = values.on_device if device else values.on_host
            results = runner([side(name) for name in stage.inputs])
            store = values.device if device else values.host
            store.update(zip(stage.outputs, results))
        names = returned_names(program)
        return [n[0] if isinstance(n, tuple) else values.on_host(n) for n in names]

    ops = sum(stage.ops for stage in stages)
    sides = tuple("device" if device else "host" for device, _ in made)
    return Placed(program, target.name, ops, left, sides, run, traffic)


def _lowered(
    program: Program, target: Target
) -> tuple[list[Stage], dict[str, str], list[Runner | None]]:
    """The stages, the ops left on the host with the reasons, and the device's code for each stage.
    A claimed op that the device cannot lower is left as well, and the rest is split again."""
    refused: dict[str, str] = {}
    while True:
        stages, left = split(program, lambda node: target.claim(node) or refused.get(node.name, ""))
        runners, told = [], {}
        for stage in stages:
            runner, against = _lower(stage, target)
            runners.append(runner)
            told.update(against)
        if not told:
            return stages, left, runners
        refused.update(told)


def _lower(stage: Stage, target: Target) -> tuple[Runner | None, dict[str, str]]:
    """The device's code, or the ops of the stage that cannot be lowered: those that the error
    names, or all of them."""
    if not stage.device:
        return None, {}
    try:
        return target.lower(stage.program), {}
    except EmitError as error:
        nodes = [n for n in stage.program.graph.nodes if n.op == "call_function"]
        known = {p.op: p.why for p in error.problems if isinstance(p, Problem)}
        told = {n.name: known[op] for n in nodes if (op := target_name(n.target)) in known}
        why = f"{target.name} could not lower its region: {error.why.splitlines()[0]}"
        return None, told or {n.name: why for n in nodes}


def _made(
    stage: Stage, runner: Runner | None, options: Options
) -> tuple[bool, Runner | HostRunner]:
    """The stage's code and whether it runs on the device."""
    if runner is not None:
        return True, runner
    from ingot.pipeline import compile_program

    return False, compile_program(stage.program, replace(options, target="")).run


class _Values:
    """The values on each side, by name."""

    def __init__(
        self,
        target: Target,
        traffic: Traffic,
        kept: Kept,
        stay: frozenset[str],
        guard: str,
        wanted: Mapping[str, Any],
    ) -> None:
        self.target, self.traffic = target, traffic
        self.kept, self.stay, self.guard = kept, stay, guard
        self.wanted = wanted
        self.host: dict[str, Any] = {}
        self.device: dict[str, Any] = {}

    def on_host(self, name: str) -> Any:
        if name not in self.host:
            moved = self.target.download(self.device[name])
            self.traffic.downloads += moved.copied
            self.host[name] = _in_layout(moved.value, self.wanted.get(name))
        return self.host[name]

    def on_device(self, name: str) -> Any:
        if name not in self.device:
            self.device[name] = self._uploaded(name, self.host[name])
        return self.device[name]

    def _uploaded(self, name: str, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if name not in self.stay and not isinstance(value, torch.nn.Parameter):
            return self._sent(value).value
        weights, sent = self.kept.get(name, (None, None))
        if weights is None or not weights.are([value]):
            weights = Weights([value], self.guard)
            moved = self._sent(value)
            if not moved.copied:  # the device reads the tensor's own memory
                weights = Weights([value], OFF)
            sent = moved.value
            self.kept[name] = weights, sent
        return sent

    def _sent(self, tensor: torch.Tensor) -> Moved:
        moved = self.target.upload(tensor)
        self.traffic.uploads += moved.copied
        return moved


def _in_layout(value: Any, wanted: Any) -> Any:
    """With the strides that the host's code and the caller expect; a device has its own."""
    if not isinstance(value, torch.Tensor) or not isinstance(wanted, torch.Tensor):
        return value
    strides = [int(stride) for stride in wanted.stride()]
    if list(value.stride()) == strides:
        return value
    return torch.empty_strided(value.shape, strides, dtype=value.dtype).copy_(value)
