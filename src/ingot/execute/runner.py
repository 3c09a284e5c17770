"""The plan as a Python function: bind, run native segments, call what only the host can run. Comes
in: a Fused and its kernels; goes out: a function from a list of inputs to one of outputs, and
its text. What holds: between two calls of the host's there is one foreign call; a tensor is let go
after its last use; inputs are written back after everything that reads them; an error code of a
kernel becomes the exception eager raises.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import sympy
import torch
from torch import fx
from torch._C._dynamo.guards import _empty_strided_cpu  # type: ignore[attr-defined]

from ingot.codegen.kernels import Kernels
from ingot.codegen.launcher import UNUSUAL
from ingot.dispatch.ways import Ways
from ingot.execute.checked import CheckedLaunch
from ingot.execute.control import write_control
from ingot.execute.fallback import laid_out
from ingot.execute.heavy import write_heavy
from ingot.execute.hosted import write_hosted
from ingot.execute.in_place import written_in_place
from ingot.execute.launch import Base, Bound, Launch, Unbound, Use
from ingot.execute.lifetimes import last_uses, uses
from ingot.execute.memory import LARGE, empty_kept, empty_large, extent
from ingot.execute.outcome import broken, failed, is_check, plain
from ingot.execute.presence import known_extent, write_presence
from ingot.execute.regions import native_followers, native_nodes, share_memory, write_region
from ingot.execute.together import Group, together, write_together
from ingot.execute.workspace import LARGE as LARGE_ARENA
from ingot.execute.workspace import borrow, borrow_any, give_back, give_back_any
from ingot.fallback.boundary import blaming
from ingot.fallback.recovery import RUNNER, WRITES, guarded, no_recovery
from ingot.fuse.accesses import Condition, conditions_of
from ingot.fuse.index import Size
from ingot.fuse.region import Region
from ingot.fuse.shapes import shape_of, strides_of, tensor_of
from ingot.plan.bounds import SHIFT, Extents, with_checks
from ingot.plan.derived import derived, is_derived
from ingot.plan.extents import conditions_of_call
from ingot.plan.followers import Follower
from ingot.plan.places import Moved, Place, Places, bytes_of
from ingot.plan.prepared import Prepared
from ingot.plan.roles import Roles, is_count
from ingot.plan.segment import ARENA, AnyStep, ArenaPlan, Segment, Word
from ingot.plan.sizes import SizePrinter, identifier
from ingot.plan.teams import teamed
from ingot.program.graph import output_node
from ingot.program.program import Program
from ingot.program.symbols import has_symbols
from ingot.stages import CallStep, Fused, KernelStep, Step

Run = Callable[[list[Any]], Sequence[Any]]
NO_FOLLOWERS: Mapping[Region, Follower] = MappingProxyType({})


@dataclass(frozen=True)
class Runner:
    run: Run
    source: str
    products: frozenset[Step]
    """Calls that run as products of our own."""
    prepared: tuple[Prepared, ...]
    controls: frozenset[Step]
    """Branches and loops that run natively."""
    together: frozenset[Group]
    """Products that run as one step, unless each is timed."""


def build_runner(
    fused: Fused,
    kernels: Kernels,
    ways: Ways,
    followers: Mapping[Region, Follower] = NO_FOLLOWERS,
    prefix: str = "",
) -> Runner:
    """`prefix`: of the names of what the text refers to, for texts that are to be put together."""
    return finished(RunnerWriter(fused, kernels, ways, followers, prefix))


def finished(writer: RunnerWriter) -> Runner:
    source = writer.source()
    scope = writer.captured
    scope["recover"] = no_recovery
    exec(compile(guarded(source), RUNNER, "exec"), scope)
    # Not in its own scope: in a cycle, code and weights would wait for the garbage collector.
    run = scope.pop("run")
    if writer.options.profile:
        run.seconds = scope[f"{writer.prefix}seconds"]
    prepared = tuple(value for value in scope.values() if isinstance(value, Prepared))
    roles = writer.roles
    return Runner(
        run, source, frozenset(roles.products), prepared, frozenset(roles.controls),
        frozenset(writer.together.values()),
    )  # fmt: skip


class RunnerWriter:
    def __init__(
        self,
        fused: Fused,
        kernels: Kernels,
        ways: Ways,
        followers: Mapping[Region, Follower],
        prefix: str = "",
    ):
        self.fused = fused
        self.prefix = prefix
        self.kernels = kernels
        self.ways = ways
        self.options = ways.options
        self.symbol_ranges = fused.program.symbols
        self.followers = native_followers(kernels, followers)
        self.lines: list[str] = []
        self.captured: dict[str, Any] = {
            "empty_strided": _empty_strided_cpu,
            "empty_large": empty_large,
            "empty_kept": empty_kept,
            "failed": failed,
            "broken": broken,
            "plain": plain,
            "laid_out": laid_out,
            "borrow": borrow,
            "borrow_any": borrow_any,
            "give_back": give_back,
            "give_back_any": give_back_any,
        }
        self.capture("code", kernels.code())  # what tables have the addresses of
        self.names: dict[fx.Node, str] = {}
        self.symbols: dict[sympy.Symbol, str] = {}
        self.in_place = written_in_place(fused, kernels)
        self.roles = Roles(fused, kernels)
        self.places = Places(self.roles.hosted, self.in_place)
        self.waiting: set[Step] = {follower.call for follower in self.followers.values()}
        """Products that run when their followers do."""
        for follower in self.followers.values():
            share_memory(self, follower)
        self.arena = ArenaPlan()
        self.segment = Segment(self.arena)
        self.bases: dict[Any, int] = {}
        """Hosted values, prepared weights and what loops move to the numbers of their bases."""
        self.unset: list[Base] = []
        """Bases that the next segment is the first to need."""
        self.gone: list[str] = []
        """Names that the open segment uses last."""
        self.segments: list[tuple[str, Segment]] = []
        """Those that are done, with the names of their tables."""
        self.dynamic = bool(fused.program.symbols) or has_symbols(fused.program.graph)
        self._clock = 0
        self.last_use = last_uses(self)
        self.together = together(self, fused)
        """Steps to the groups in which they run."""

    # -- names -------------------------------------------------------------------------------------

    def capture(self, stem: str, value: Any) -> str:
        name = f"{self.prefix}{stem}{len(self.captured)}"
        self.captured[name] = value
        return name

    def argument(self, value: Any) -> str:
        """An FX argument as Python text."""
        if isinstance(value, fx.Node):
            return self.names[value]
        if isinstance(value, list | tuple):
            inner = ", ".join(self.argument(v) for v in value)
            return (
                f"[{inner}]"
                if isinstance(value, list)
                else f"({inner}{',' if len(value) == 1 else ''})"
            )
        if isinstance(value, bool | int | str) or value is None:
            return repr(value)
        if isinstance(value, torch.SymInt):
            return self.size(value.node.expr)
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k!r}: {self.argument(v)}" for k, v in value.items()) + "}"
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return f"slice({', '.join(self.argument(part) for part in parts)})"
        return self.capture("value", value)

    def size(self, size: Any) -> str:
        if isinstance(size, int):
            return str(size)
        for symbol in size.free_symbols:
            if symbol not in self.symbols:
                raise KeyError(f"the symbol {symbol} has no value when it is needed")
        if isinstance(size, sympy.Symbol):
            return self.symbols[size]
        return f"int({SizePrinter(self.symbols).doprint(size)})"

    def values(self, sizes: Iterable[Size]) -> str:
        return "(" + "".join(f"{self.size(s)}, " for s in sizes) + ")"

    # -- text --------------------------------------------------------------------------------------

    def source(self) -> str:
        self._inputs()
        write_presence(self)
        start = len(self.lines)
        profile = self.options.profile
        if profile:
            seconds = f"{self.prefix}seconds"
            self.captured |= {"clock": time.perf_counter, seconds: [0.0] * len(self.fused.steps)}
        for number, step in enumerate(self.fused.steps):
            if profile:
                self.lines.append("start = clock()")
            with blaming(step=step):
                self.step(step)
            self.gone += [self.names[n] for n in self.last_use.get(number, []) if n in self.names]
            if profile or self._touches_tensors(step):
                self._flush()
            if profile:
                self.lines.append(f"{self.prefix}seconds[{number}] += clock() - start")
        self._flush()
        if self.segments:
            any_size = self.dynamic or self.arena.bound(())[1] > LARGE_ARENA
            self.lines[start:start] = self._borrowed("borrow_any" if any_size else "borrow")
            self.lines.append(f"{'give_back_any' if any_size else 'give_back'}(workspace)")
            self._make_tables()
        self._outputs()
        return "\n".join(["def run(inputs):", *(f"    {line}" for line in self.lines)])

    def tick(self) -> int:
        """The number of a native step in the order in which they first run, for lifetimes."""
        self._clock += 1
        return self._clock

    def step(self, step: Step) -> None:
        self.segment.conditions += self._conditions(step)
        if step in self.waiting:
            return
        group, number = self.together.get(step), self.tick()
        if group is not None and not self.options.profile:
            if step is group.members[0].step:
                write_together(self, group, number)
            return
        if isinstance(step, CallStep) and step in self.roles.products:
            if self.roles.products[step]:
                self.make(step.node, number)
            for product in self.roles.products[step]:
                write_heavy(self, product, number)
        elif isinstance(step, CallStep) and step in self.roles.controls:
            write_control(self, step, self.roles.controls[step])
        elif isinstance(step, KernelStep) and step.region in self.kernels.by_region:
            write_region(self, step.region, number)
        elif self.roles.is_host(step):
            if self._touches_tensors(step):
                self._flush()
            write_hosted(self, step)

    def _conditions(self, step: Step) -> list[Condition]:
        """On sizes, which a native step takes for granted."""
        if isinstance(step, KernelStep):
            nodes = native_nodes(step.region) if step.region in self.kernels.by_region else ()
            return [condition for node in nodes for condition in conditions_of(node)]
        calls = self.roles.products.get(step, ())
        return [condition for call in calls for condition in conditions_of_call(call)]

    def _touches_tensors(self, step: Step) -> bool:
        """Is it the host's, and more than arithmetic on sizes?"""
        counts = isinstance(step, CallStep) and (is_count(step.node) or is_check(step.node))
        return self.roles.is_host(step) and not counts

    def _borrowed(self, borrow: str) -> list[str]:
        count = len(self.bases) + 2 + (SHIFT if self.options.checks else 0)
        if self.dynamic:
            bound = self.capture("arena", self.arena.bound)
            lines = [
                f"sizes = {self.values(self.arena.symbols())}",
                f"workspace = {borrow}({bound}(sizes)[1], {count})",
            ]
        else:
            lines = [f"workspace = {borrow}({self.arena.bound(())[1]}, {count})"]
        return lines

    def _flush(self) -> None:
        """End the open segment: set its bases, run it, let go of what it was the last to use."""
        if self.segment.steps:
            self.segment.steps = self._checked(teamed(self.segment.steps))
            self._run_segment(self.segment)
            self.segment = Segment(self.arena)
        if self.gone:
            self.lines.append(f"del {', '.join(dict.fromkeys(self.gone))}")
        self.gone = []

    def _checked(self, steps: list[AnyStep]) -> list[AnyStep]:
        if not self.options.checks:
            return steps
        owners = {number: owner for owner, number in self.bases.items()}
        return with_checks(steps, Extents(self.arena.sizes, owners))

    def _run_segment(self, segment: Segment) -> None:
        first = 2 + len(self.bases) - len(self.unset)
        make = CheckedLaunch if self.options.checks else Launch
        launch = make(list(enumerate(self.unset, first)))
        self.unset = []
        table = self.capture("table", segment.table)
        steps = self.capture("steps", segment.steps)
        self.segments.append((table, segment))
        if self.dynamic:
            self.lines.append(f"table = {table}(sizes, {self.values(segment.symbols())})")
        address = "table.address" if self.dynamic else table
        given = ", ".join(["workspace.address", address, *launch.weights, *launch.tensors])
        slow = self.capture("launch", launch)
        writes = WRITES if self.in_place else ""
        if launch.quick is None:
            self.lines.append(f"error = {slow}({given}){writes}")
        else:
            # UNUSUAL: nothing was run.
            self.lines.append(f"error = {self.capture('quick', launch.quick)}({given})")
            self.lines.append(f"if error == {UNUSUAL}: error = {slow}({given}){writes}")
        self.lines.append(f"if error: failed(error, {steps})")

    def _make_tables(self) -> None:
        """Where nothing is dynamic there is one table for each segment."""
        self.captured[f"{self.prefix}segments"] = self.segments
        if not self.dynamic:
            for name, segment in self.segments:
                self.captured[name] = segment.table((), ()).address

    def _inputs(self) -> None:
        for i, node in enumerate(self.roles.inputs):
            self.names[node] = f"in{i}"
        if self.roles.inputs:
            self.lines.append(f"{', '.join(self.names[n] for n in self.roles.inputs)}, = inputs")
            self.lines.append("inputs.clear()")
        for node in self.roles.inputs:
            self._learn_symbols(node)
        self.name_constants(self.fused.program)
        self.name_prepared(self.fused)

    def name_constants(self, program: Program) -> None:
        for node in program.graph.nodes:
            if node.op == "get_attr":
                value: Any = program.constants.get(str(node.target))
                if value is None:
                    value = operator.attrgetter(str(node.target))(program.graph_module)
                self.names[node] = self.capture("constant", value)

    def name_prepared(self, fused: Fused) -> None:
        """Values made of weights that steps read as they are."""
        read = [node for step in fused.steps for node in uses(self, step)]
        read += output_node(fused.program.graph).all_input_nodes
        for node in dict.fromkeys(filter(is_derived, read)):
            made = derived(node)
            prepared = self.capture(
                "prepared",
                Prepared(
                    f"value {made.recipe}",
                    lambda *tensors, made=made: made.values(*tensors)[0],
                    self.options.weight_guard,
                ),
            )
            roots = ", ".join(self.names[root] for root in made.roots)
            self.lines.append(f"{self.name(node)} = {prepared}.tensor({roots})")

    def _learn_symbols(self, node: fx.Node) -> None:
        """Symbols that are an input, or a size of one."""
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and isinstance(value.node.expr, sympy.Symbol):
            self.symbols.setdefault(value.node.expr, self.names[node])
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return
        told = [(s, f"size({k})") for k, s in enumerate(value.shape)]
        told += [(s, f"stride({k})") for k, s in enumerate(value.stride())]
        for number, text in [*told, (value.storage_offset(), "storage_offset()")]:
            if (
                isinstance(number, torch.SymInt)
                and isinstance(number.node.expr, sympy.Symbol)
                and number.node.expr not in self.symbols
            ):
                name = identifier("size", number.node.expr.name)
                self.symbols[number.node.expr] = name
                self.lines.append(f"{name} = {self.names[node]}.{text}")

    def name(self, node: fx.Node) -> str:
        name = identifier("v", node.name)
        self.names[node] = name
        return name

    # -- host steps --------------------------------------------------------------------------------

    def run_of(self, body: Fused) -> Run:
        """A body of control flow, as a plan of its own."""
        return build_runner(body, self.kernels, self.ways, self.followers).run

    def learn_results(self, node: fx.Node) -> None:
        """Symbols that this call is the first to know: data-dependent sizes and numbers."""
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and isinstance(value.node.expr, sympy.Symbol):
            self.symbols.setdefault(value.node.expr, self.names[node])
        elif isinstance(value, torch.Tensor):
            self._learn_symbols(node)

    # -- native steps ------------------------------------------------------------------------------

    def prepared(
        self, recipe: str, make: Callable[..., torch.Tensor], roots: Sequence[fx.Node]
    ) -> int:
        """The base of what is made of the roots, once."""
        names = ", ".join(self.names[root] for root in roots)
        if (recipe, names) not in self.bases:
            made = Prepared(recipe, make, self.options.weight_guard)
            self.capture("prepared", made)
            self.bases[recipe, names] = 2 + len(self.bases)
            self.unset.append(Use(made, [self.names[root] for root in roots]))
        return self.bases[recipe, names]

    def make(self, node: fx.Node, number: int) -> None:
        """Memory for a value that the next native step writes."""
        place = self.places.of(node)
        if node in self.in_place:
            self.names[node] = self.names[self.in_place[node]]
        elif place.root is not node:
            return
        elif node in self.roles.hosted:
            self._allocate(node)
        else:
            self.arena.make(node, bytes_of(node), number)

    def address(self, node: fx.Node, number: int, behind: Size = 0) -> Word:
        """`behind` bytes after the start of a value."""
        place: Place = self.places.of(node)
        root = place.root
        if isinstance(root, Moved):
            return Word(self.moved_base(root), place.offset + behind)
        return self.memory(root, number, place.offset + behind)

    def memory(self, root: fx.Node, number: int, behind: Size = 0) -> Word:
        """In the memory that was made for `root`."""
        if root in self.roles.hosted:
            return Word(self._base(root), behind)
        self.arena.use(root, number)
        return Word(ARENA, behind, root)

    def moved_base(self, moved: Moved) -> int:
        """The number of a base that native steps set."""
        if moved not in self.bases:
            self.bases[moved] = 2 + len(self.bases)
            self.unset.append(Unbound())
        return self.bases[moved]

    def _base(self, node: fx.Node) -> int:
        if node not in self.bases:
            self.bases[node] = 2 + len(self.bases)
            name = self._plain(node)
            if node in self.in_place.values():
                self.lines.append(f"{name}.data_ptr()")  # copies what is copied when written
            written = node in self.in_place.values()
            dtype, extent_ = tensor_of(node).dtype, known_extent(node)
            self.unset.append(Bound(name, dtype.itemsize, extent_, written, node.name, dtype=dtype))
        return self.bases[node]

    def _plain(self, node: fx.Node) -> str:
        """A tensor whose memory holds its values: a lazily negated one is written out first."""
        reads_complex = any(
            isinstance(v := o.meta.get("val"), torch.Tensor) and v.is_complex()
            for o in node.all_input_nodes
        )
        if not reads_complex and not tensor_of(node).is_neg():
            return self.names[node]
        name = f"{self.names[node]}_plain"
        self.lines.append(f"{name} = plain({self.names[node]})")
        return name

    def _allocate(self, node: fx.Node) -> None:
        shape = self.values(shape_of(node))
        strides = self.values(strides_of(node))
        dtype = self.capture("dtype", tensor_of(node).dtype)
        allocate = self._allocator(node)
        self.lines.append(f"{self.name(node)} = {allocate}{shape}, {strides}, {dtype})")

    def _allocator(self, node: fx.Node) -> str:
        """The beginning of a call."""
        numbers = [*shape_of(node), *strides_of(node)]
        if not all(isinstance(number, int) for number in numbers):
            return "empty_large("
        size = extent(shape_of(node), strides_of(node)) * tensor_of(node).dtype.itemsize
        return "empty_strided(" if size < LARGE else f"empty_kept({size}, "

    def _outputs(self) -> None:
        signature = self.fused.program.signature
        values = output_node(self.fused.program.graph).args[0]
        assert isinstance(values, Sequence)
        user = []
        for spec, value in zip(signature.outputs, values, strict=True):
            if spec.kind == "mutation":
                assert spec.target is not None
                if value in self.in_place:
                    continue
                target = self.names[self.roles.inputs[spec.target]]
                self.lines.append(f"{target}.copy_({self.argument(value)}){WRITES}")
            else:
                user.append(self.argument(value))
        self.lines.append(f"return [{', '.join(user)}]")
