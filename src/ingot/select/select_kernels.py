"""The steps of a program that run natively: calls that a kernel family claims, regions that have a
kernel, and branches and loops whose steps are all native."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import fx

from ingot.codegen.loops.kernels import Kernels
from ingot.fallback.boundary import blaming
from ingot.fuse.fused import CallStep, Fused, KernelStep, Step
from ingot.kernels.family import Claim, Family
from ingot.kernels.registry import FAMILIES, claimed
from ingot.plan.derived import is_derived
from ingot.plan.passes.base import Notes
from ingot.plan.places import native_view
from ingot.program.higher_order import Control, control_of
from ingot.program.spec import is_symbolic_arithmetic
from ingot.program.symbols import symbols_before
from ingot.select.control_flow import fits

aten = torch.ops.aten
SIZE_QUERIES = {aten.sym_size.int, aten.sym_numel.default, aten.sym_stride.int}


def select_kernels(fused: Fused, kernels: Kernels, notes: Notes) -> Claims:
    """Selects what runs each step: generated loops, a kernel family, PyTorch."""
    claims = Claims(fused, kernels)
    for line in claims.as_lines(fused):
        notes.add(line)
    return claims


class Claims:
    """The claims of a program, including those in the bodies of its control flow."""

    def __init__(self, fused: Fused, kernels: Kernels):
        self._kernels = kernels
        self.calls: dict[Step, tuple[Family[Any], Sequence[Claim]]] = {}
        """An empty sequence: the result of the call is computed by another claim."""
        self.refusals: dict[Step, dict[str, str]] = {}
        """The reasons of the families that do not run a call of their kind, by name."""
        self.covered: dict[Step, list[CallStep]] = {}
        """Calls computed by the claim of another call."""
        self.controls: dict[Step, Control] = {}
        self._find_calls(fused)
        self._find_controls(fused)

    def claims(self, step: Step) -> Sequence[Claim] | None:
        found = self.calls.get(step)
        return None if found is None else found[1]

    def refused(self) -> dict[Step, str]:
        """The calls that no family runs, each with the reasons."""
        return {
            step: "; ".join(dict.fromkeys(reasons.values()))
            for step, reasons in self.refusals.items()
            if step not in self.calls
        }

    def as_lines(self, fused: Fused) -> Iterator[str]:
        """What runs each step and why, without views and sizes."""
        for step in fused.steps:
            told = self._of_region(step) if isinstance(step, KernelStep) else self._of_call(step)
            if told:
                yield f"{step.name}: {told}"
            if isinstance(step, CallStep):
                for body in step.bodies:
                    yield from self.as_lines(body)

    def _of_region(self, step: KernelStep) -> str:
        if step.region in self._kernels.by_region:
            return "loops"
        failure = self._kernels.failures.get(step.region, "its kernel was not built")
        return f"PyTorch: {failure.splitlines()[0]}"

    def _of_call(self, step: CallStep) -> str:
        refusals = self.refusals.get(step, {})
        if step in self.calls:
            family, claims = self.calls[step]
            others = "".join(f"; not {name}: {why}" for name, why in refusals.items())
            return f"{family.name}{'' if claims else ', in the launch of another call'}{others}"
        if step in self.controls:
            return f"native {self.controls[step].kind}"
        if step.bodies:
            return "Python: a body has an eager step, or a new size"
        if step.kind == "view" or is_count(step.node) or self.is_result(step.node):
            return ""
        why = "; ".join(f"not {name}: {each}" for name, each in refusals.items())
        return f"PyTorch: {why or step.reason}"

    def _find_calls(self, fused: Fused) -> None:
        frozen = fused.program.frozen_inputs()
        frozen |= {node for node in fused.program.graph.nodes if is_derived(node)}
        found: dict[fx.Node, CallStep] = {}
        for step in fused.steps:
            if not isinstance(step, CallStep) or not step.native:
                continue
            with blaming(step=step):
                match, reasons = claimed(step.node, frozen)
            if match is not None:
                self.calls[step] = match
            if reasons:
                self.refusals[step] = reasons
            found[step.node] = step
        self._cover_items(fused)
        # A merged claim reads its first operand later than it would alone.
        if not any(spec.kind == "mutation" for spec in fused.program.signature.outputs):
            self._merge(found)

    def _cover_items(self, fused: Fused) -> None:
        """Marks the items of calls whose claims compute them."""
        steps = {step.node: step for step in fused.steps if isinstance(step, CallStep)}
        for family, claims in list(self.calls.values()):
            for claim in claims:
                for node in claim.results():
                    if node is not claim.node and node in steps:
                        self.calls[steps[node]] = family, ()

    def _merge(self, found: dict[fx.Node, CallStep]) -> None:
        """Merges claims of one family that run as one launch."""
        alone: dict[str, list[Claim]] = {}
        for step in found.values():
            family, claims = self.calls.get(step, (None, ()))
            if family is not None and len(claims) == 1:
                alone.setdefault(family.name, []).extend(claims)
        for family in FAMILIES:
            for merged in family.merge(alone.get(family.name, ())):
                steps = [found[node] for node in merged.computes()]
                last = found[merged.node]
                for step in steps:
                    self.calls[step] = family, ()
                self.calls[last] = family, (merged,)
                self.covered[last] = [step for step in steps if step is not last]

    def _find_controls(self, fused: Fused) -> None:
        for step in fused.steps:
            if not isinstance(step, CallStep) or not step.bodies:
                continue
            control = control_of(step.node)
            assert control is not None
            for body in step.bodies:
                self._find_calls(body)
                self._find_controls(body)
            in_sight = symbols_before(step.node)
            if (
                step.native
                and fits(step, control, in_sight)
                and all(map(self.is_native, step.bodies))
            ):
                self.controls[step] = control

    def is_native(self, body: Fused) -> bool:
        return all(map(self._runs_natively, body.steps))

    def _runs_natively(self, step: Step) -> bool:
        if isinstance(step, KernelStep):
            return step.region in self._kernels.by_region
        if step in self.calls or step in self.controls or is_count(step.node):
            return True
        return self.is_result(step.node) or native_view(step.node)

    def is_result(self, node: fx.Node) -> bool:
        """Is it a result of a native branch or loop?"""
        return node.target is operator.getitem and any(
            step.node is node.args[0] for step in self.controls if isinstance(step, CallStep)
        )

    def reads(self, step: Step) -> Iterator[fx.Node]:
        """The nodes that the claims of a call read."""
        for claim in self.claims(step) or ():
            yield from claim.reads()


def is_count(node: fx.Node) -> bool:
    """Is it arithmetic on sizes?"""
    asks_or_counts = node.target in SIZE_QUERIES or is_symbolic_arithmetic(node.target)
    return asks_or_counts and isinstance(
        node.meta.get("val"), torch.SymInt | torch.SymFloat | torch.SymBool
    )
