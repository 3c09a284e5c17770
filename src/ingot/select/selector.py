"""Kernel selection: lowers the steps of a Fused to the ops of a plan. Native steps become launches
of generated kernels or of the family that claims them; native branches and loops contain their
bodies; all other steps become eager ops. Memory is only named: every value made by native code is
an arena buffer of its own until `assign_buffers`.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import sympy
import torch
from torch import fx

from ingot.codegen.loops.kernels import Kernels
from ingot.fallback.boundary import blaming
from ingot.fuse.accesses import conditions_of
from ingot.fuse.fused import CallStep, Fused, KernelStep, Step
from ingot.fuse.region import Region
from ingot.fuse.views import is_view
from ingot.kernels.choose_variants import note_variants
from ingot.kernels.matmul.family import Member, packed_launch, table_of
from ingot.plan.calls import argument, call_of, definitions, size_expr
from ingot.plan.derived import is_derived
from ingot.plan.draft import PlanDraft, is_memory
from ingot.plan.host_ops import laid_out
from ingot.plan.ir import (
    NOWHERE,
    Call,
    Check,
    Define,
    Eager,
    EagerControlFlow,
    Items,
    Kind,
    Op,
    Plan,
    Ref,
    Return,
)
from ingot.plan.places import native_view
from ingot.program.graph import output_node, output_values, placeholders
from ingot.program.higher_order import control_of
from ingot.program.program import Program
from ingot.program.shapes import strides_of
from ingot.program.source import node_place
from ingot.program.spec import is_pure
from ingot.select.control_flow import free_symbols
from ingot.select.control_ops import ControlOps
from ingot.select.fallback import region_calls
from ingot.select.fuse_epilogues import Epilogue, with_code
from ingot.select.fuse_horizontal import Group, Grouping, fuse_horizontal
from ingot.select.generated import native_nodes, region_launch, with_epilogue
from ingot.select.in_place import WRITING, written_in_place
from ingot.select.select_kernels import is_count, select_kernels

aten = torch.ops.aten


class Selector:
    """Selects kernels for one program, or for one version of it."""

    def __init__(
        self,
        fused: Fused,
        kernels: Kernels,
        epilogues: Mapping[Region, Epilogue],
        draft: PlanDraft,
        version: int = 0,
    ):
        self.fused, self.kernels, self.draft, self.version = fused, kernels, draft, version
        self.decisions = decisions = draft.decisions
        self.claims = select_kernels(fused, kernels, decisions.select_kernels)
        self.in_place = written_in_place(fused, kernels)
        self.epilogues = with_code(epilogues, kernels, decisions.fuse_epilogues)
        self._waiting = {epilogue.call for epilogue in self.epilogues.values()}
        self._grouping = Grouping(self.claims, kernels, self.epilogues, draft)
        self.groups = fuse_horizontal(fused, self._grouping)
        self._numbers = {step: (version, k) for k, step in enumerate(fused.steps)}
        self._inside = 0
        """The number of native branches and loops around the next step."""

    # -- the program -------------------------------------------------------------------------------

    def inputs(self, given: Sequence[str] | None = None) -> list[str]:
        """Buffers for the inputs, or the given ones; defines the symbols of their sizes."""
        nodes = placeholders(self.fused.program.graph)
        if given is None:
            given = [self._input(k, node) for k, node in enumerate(nodes)]
        for node, name in zip(nodes, given, strict=True):
            if is_memory(node.meta.get("val")):
                self.draft.own(node, name)
            else:
                self.draft.name_as(node, name)
        for node in nodes:
            self.learn(node)
        return list(given)

    def _input(self, number: int, node: fx.Node) -> str:
        tensor = is_memory(node.meta.get("val"))
        return self.draft.add(node.name, Kind.INPUT if tensor else Kind.OBJECT, node)

    def ops(self) -> None:
        """Writes the ops of all steps, then the return."""
        draft, start = self.draft, len(self.draft.ops)
        self.constants(self.fused.program)
        self.folded(self.fused)
        for number, step in enumerate(self.fused.steps):
            draft.step = (self.version, number)
            before = len(draft.ops)
            with blaming(step=step):
                self.select(step)
            draft.ops[before:before], draft.prologue = draft.prologue, []
        self._outputs_written()
        draft.ops[start:start], draft.folds = draft.folds, []

    def constants(self, program: Program) -> None:
        draft = self.draft
        for node in program.graph.nodes:
            if node.op != "get_attr":
                continue
            value: Any = program.constants.get(str(node.target))
            if value is None:
                value = operator.attrgetter(str(node.target))(program.graph_module)
            if isinstance(value, torch.Tensor):
                node.meta.setdefault("val", value)
                name = draft.add(node.name, Kind.CONSTANT, node)
                draft.own(node, name)
                draft.resources.constants[name] = value
            else:
                name = draft.add(node.name, Kind.CONSTANT)
                draft.name_as(node, name)
                draft.resources.constants[name] = value

    def folded(self, fused: Fused) -> None:
        """Folds the values computed from weights that steps read unpacked."""
        read = [node for step in fused.steps for node in self.reads(step)]
        read += output_node(fused.program.graph).all_input_nodes
        for node in dict.fromkeys(filter(is_derived, read)):
            if not self.draft.is_known(node):
                self.draft.folded(node)

    def reads(self, step: Step) -> list[fx.Node]:
        if step in self.claims.calls:
            return [*self.claims.reads(step)]
        return self._grouping.reads(step)

    def _outputs_written(self) -> None:
        draft, program = self.draft, self.fused.program
        inputs = placeholders(program.graph)
        returned = []
        for spec, value in zip(
            program.signature.outputs, output_values(program.graph), strict=True
        ):
            if spec.kind != "mutation":
                returned.append(argument(value, draft.refer, draft.resources))
                continue
            assert spec.target is not None
            if value in self.in_place:
                continue
            target = draft.handle(inputs[spec.target])
            source = argument(value, draft.refer, draft.resources)
            name = draft.resources.target_name(aten.copy_.default)
            call = Call("", name, (Ref(target), source))
            draft.ops.append(Eager(call, writes=(target,), pure=False, step=draft.step))
        draft.ops.append(Return(tuple(returned)))

    # -- steps -------------------------------------------------------------------------------------

    def select(self, step: Step) -> None:
        self.draft.require(self._conditions(step))
        if step in self._waiting:
            return
        self.draft.covers = []
        group = self.groups.get(step)
        if group is not None and not self.draft.variants.options.profile:
            if step is group.members[0].step:
                self._together(group)
            return
        if isinstance(step, KernelStep):
            self._region(step)
        elif step in self.claims.calls:
            self._claimed(step)
        elif step in self.claims.controls:
            ControlOps(self, step, self.claims.controls[step]).write()
        elif not self.claims.is_result(step.node):
            self._eager(step)

    def _conditions(self, step: Step) -> list[Any]:
        """Conditions on sizes that a native step assumes."""
        if isinstance(step, KernelStep):
            native = step.region in self.kernels.by_region
            nodes = native_nodes(step.region) if native else ()
            return [condition for node in nodes for condition in conditions_of(node)]
        claims = self.claims.claims(step) or ()
        return [condition for claim in claims for condition in claim.conditions()]

    def _region(self, step: KernelStep) -> None:
        region, draft = step.region, self.draft
        kernel = self.kernels.by_region.get(region)
        if kernel is None:
            self._fallback(step)
            return
        if region in self.epilogues:
            self._cover(self.epilogues[region].call)
            member = with_epilogue(self.epilogues[region], kernel, draft)
            self._note_packed(member)
            draft.ops.append(packed_launch(draft, [member]))
            return
        self._place_in_input(region.stored)
        draft.ops += region_launch(region, kernel, draft)

    def _together(self, group: Group) -> None:
        members: list[Member] = []
        for member in group.members:
            self._cover(member.step, *([member.epilogue.call] if member.epilogue else []))
            if member.epilogue is None:
                self._make(member.matmul.node)
                members.append((member.matmul, None))
            else:
                kernel = self.kernels.by_region[member.epilogue.region]
                members.append(with_epilogue(member.epilogue, kernel, self.draft))
            self._note_packed(members[-1])
        self.draft.ops.append(packed_launch(self.draft, members, group.in_step))

    def _note_packed(self, member: Member) -> None:
        """Notes the variant of a matmul that is not launched alone."""
        matmul, epilogue = member
        name = f"{matmul.node.name} (matmul)"
        if epilogue is None:
            note_variants(name, self.decisions, table_of(self.draft, matmul))
        else:
            self.decisions.choose_variants.add(f"{name}: packed (its epilogue needs it)")

    def _cover(self, *steps: Step) -> None:
        numbers = (self._numbers.get(step, NOWHERE) for step in steps)
        self.draft.covers += [n for n in numbers if n not in (NOWHERE, self.draft.step)]

    def _claimed(self, step: CallStep) -> None:
        family, claims = self.claims.calls[step]
        self._cover(*self.claims.covered.get(step, ()))
        for node in dict.fromkeys(node for claim in claims for node in claim.results()):
            self._make(node)
        for claim in claims:
            self.draft.ops += family.launch(claim, self.draft)

    def _make(self, node: fx.Node) -> None:
        self._place_in_input([node])
        self.draft.make(node)

    def _place_in_input(self, nodes: Any) -> None:
        """Gives values that are written in place the memory of their mutated input."""
        draft = self.draft
        for node in nodes:
            target = self.in_place.get(node)
            if target is not None:
                place = draft.place(target)
                assert place is not None
                draft.put(node, place)
                draft.name_as(node, draft.handle(target))

    # -- eager ops ---------------------------------------------------------------------------------

    def _fallback(self, step: KernelStep) -> None:
        stored = step.region.stored
        draft = self.draft

        def is_known(node: fx.Node) -> bool:
            return size_expr(node, draft.known) is not None or node in draft.handles

        for node in region_calls(step.region, is_known):
            if not is_known(node):
                self._call(node, laid_out_as_traced=node in stored)

    def _eager(self, step: CallStep) -> None:
        node, draft = step.node, self.draft
        if self._inside:
            return  # views and sizes: native ops see through them
        if step.bodies:
            self._eager_control_flow(step)
            return
        if is_count(node) and size_expr(node, draft.known) is not None:
            return
        if node.target is aten._assert_scalar.default:
            condition = argument(node.args[0], draft.refer, draft.resources)
            draft.ops.append(Check(condition, check_text(node), draft.step))
            return
        if node in self.in_place and node.target in WRITING:
            self._write_in_place(node)
            return
        self._call(node, laid_out_as_traced=node.target is aten.convolution.default)

    def _call(self, node: fx.Node, laid_out_as_traced: bool = False) -> None:
        draft = self.draft
        alias = None
        if native_view(node) or (is_view(node) and node.target not in _COPIES):
            base = draft.place(node.args[0])  # type: ignore[arg-type]
            alias = None if base is None else base[0]
        name = self._result(node, alias)
        raw = draft.names.fresh(f"{name}_raw") if laid_out_as_traced else name
        call = call_of(node, raw, draft.refer, draft.resources)
        if laid_out_as_traced:
            draft.add_raw(raw)
        draft.ops.append(Eager(call, pure=may_run_twice(node), step=draft.step))
        if laid_out_as_traced:
            arranged = draft.resources.target_name(laid_out)
            args = (Ref(raw), Items(tuple(strides_of(node))))
            draft.ops.append(Eager(Call(name, arranged, args), step=draft.step))
        draft.name_as(node, name)
        if is_memory(node.meta.get("val")) and draft.place(node) is None:
            draft.own(node, name)
        self.learn(node)

    def _result(self, node: fx.Node, alias: str | None) -> str:
        tensor = is_memory(node.meta.get("val"))
        kind = Kind.EAGER if tensor else Kind.OBJECT
        return self.draft.add(node.name, kind, node, alias=alias)

    def _write_in_place(self, node: fx.Node) -> None:
        draft = self.draft
        target: Any = WRITING[node.target]
        call = call_of(node, "", draft.refer, draft.resources)
        call = Call("", draft.resources.target_name(target), call.args, call.kwargs)
        written = draft.handle(self.in_place[node])
        draft.ops.append(Eager(call, writes=(written,), pure=False, step=draft.step))
        self._place_in_input([node])

    def _eager_control_flow(self, step: CallStep) -> None:
        """Control flow with eager steps inside: each body is a plan of its own. Symbols that its
        inputs do not define (`x.view(-1)` has the size n·m) are operands behind the program's."""
        node, draft = step.node, self.draft
        control = control_of(node)
        assert control is not None
        symbols = [s for s in free_symbols(step) if s.name in draft.known]
        bodies = tuple(
            self._body(body, symbols, f"{node.name}/{number}")
            for number, body in enumerate(step.bodies)
        )
        operands = tuple(argument(o, draft.refer, draft.resources) for o in control.operands())
        predicate = argument(control.predicate, draft.refer, draft.resources)
        name = self._result(node, None)
        draft.ops.append(
            EagerControlFlow(
                control.kind, name, predicate, (*operands, *symbols),
                len(control.carried), len(control.sliced), bodies, draft.step,
            )
        )  # fmt: skip
        draft.name_as(node, name)
        self.learn(node)

    def _body(self, body: Fused, symbols: Sequence[sympy.Symbol], within: str) -> Plan:
        from ingot.select.planner import plan_body

        return plan_body(body, symbols, self.kernels, self.epilogues, self.draft, within)

    # -- symbols -----------------------------------------------------------------------------------

    def learn(self, node: fx.Node) -> None:
        """Defines the symbols that no earlier value defines."""
        draft = self.draft
        for symbol, query, dim in definitions(node.meta.get("val")):
            if symbol.name not in draft.known:
                draft.define(symbol)
                draft.ops.append(Define(symbol.name, draft.handle(node), query, dim))

    def symbol_inputs(self, symbols: Sequence[sympy.Symbol]) -> list[str]:
        """Buffers for symbols that a body receives as operands; defines them."""
        draft, names = self.draft, []
        for symbol in symbols:
            names.append(draft.add(symbol.name, Kind.OBJECT))
            draft.define(symbol)
            draft.ops.append(Define(symbol.name, names[-1], "value"))
        return names

    # -- blocks ------------------------------------------------------------------------------------

    def block(self, body: Fused) -> tuple[Op, ...]:
        """The ops of a body of native control flow."""
        draft = self.draft
        outer, draft.ops = draft.ops, []
        self._inside += 1
        for step in body.steps:
            self.select(step)
        self._inside -= 1
        ops, draft.ops = tuple(draft.ops), outer
        return ops


_COPIES = {aten.flip.default, aten.repeat.default, aten.roll.default}
"""Index maps in native code, copies in PyTorch."""


def may_run_twice(node: fx.Node) -> bool:
    return is_pure(node) or isinstance(node.target, torch._ops.HigherOrderOperator)


def check_text(check: fx.Node) -> str:
    """The message of a failed check: its own text and the user's line."""
    message, place = str(check.args[1]), node_place(check)
    return message if place is None or "\n  at " in message else f"{message}\n  at {place}"
