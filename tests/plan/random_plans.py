"""Random valid plans, each with a reference: a list of Python steps on a dict of tensors."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import sympy
import torch

from ingot.plan import ir
from ingot.plan.arena import Lifetime, arranged
from ingot.plan.liveness import lifetimes

F32 = torch.float32
aten = torch.ops.aten
UNARY = {
    "aten.neg.default": torch.neg,
    "aten.exp.default": torch.exp,
    "aten.tanh.default": torch.tanh,
}
BINARY = {"aten.add.Tensor": torch.add, "aten.mul.Tensor": torch.mul, "aten.sub.Tensor": torch.sub}
Env = dict[str, torch.Tensor]
Step = Callable[[Env], None]


@dataclass
class Made:
    plan: ir.Plan
    sizes: dict[str, int]
    steps: list[Step]

    def inputs(self, seed: int) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(seed)
        rows = self.sizes.get("s0", 3)
        return [torch.rand(rows, 4, generator=generator) for _ in self.plan.inputs]

    def expected(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        env = dict(zip(self.plan.inputs, (each.clone() for each in inputs)))
        for step in self.steps:
            step(env)
        end = self.plan.ops[-1]
        assert isinstance(end, ir.Return)
        return [env[value.name] for value in end.values]


def random_plan(rng: random.Random) -> Made:
    builder = _Builder(rng, rng.random() < 0.5)
    known = ["x0", "x1"]
    ops: list[ir.Op] = list(builder.prologue)
    for _ in range(rng.randint(1, 6)):
        more, steps = builder.statement(known, 2)
        ops += more
        builder.steps += steps
    named = [name for name in known if builder.kinds[name] is not ir.Kind.ARENA]
    returned = tuple(map(ir.Ref, rng.sample(named, min(len(named), 2))))
    freed = [n for n in named if ir.Ref(n) not in returned and rng.random() < 0.3]
    ops += [ir.Free(tuple(freed))] if freed else []
    return Made(builder.plan((*ops, ir.Return(returned))), builder.sizes, builder.steps)


@dataclass
class _Builder:
    rng: random.Random
    symbolic: bool
    kinds: dict[str, ir.Kind] = field(default_factory=dict)
    cursors: set[str] = field(default_factory=set)
    kernels: dict[str, ir.Kernel] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.symbol = ir.Symbol("s0", ("integer", "positive"), 1, 64)
        self.rows: Any = self.symbol.expr if self.symbolic else 3
        self.sizes = {"s0": self.rng.randint(1, 6)} if self.symbolic else {}
        self.kinds |= {"x0": ir.Kind.INPUT, "x1": ir.Kind.INPUT}
        self.prologue = [ir.Define("s0", "x0", "size", 0)] if self.symbolic else []

    # -- pieces ------------------------------------------------------------------------------------

    def fresh(self, kind: ir.Kind) -> str:
        name = f"b{len(self.kinds)}"
        self.kinds[name] = kind
        return name

    def operand(self, name: str) -> ir.Operand:
        return ir.Operand(name, 0, F32, (self.rows, 4), (4, 1))

    def kernel(self, count: int) -> str:
        name = f"loops.k{count}.00"
        reads = tuple(ir.Parameter(f"b{k}", "r", F32) for k in range(count))
        out = ir.Parameter(f"b{count}", "w", F32)
        sizes = (ir.Parameter("n0"),) if self.symbolic else ()
        self.kernels[name] = ir.Kernel(name, "loops", "00", (*reads, out, *sizes))
        return name

    def launch(self, out: str, sources: list[str]) -> tuple[ir.Launch, Step]:
        named = tuple((f"v{k}", self.operand(name)) for k, name in enumerate(sources))
        refs = tuple(ir.Ref(f"v{k}") for k in range(len(sources)))
        table = UNARY if len(sources) == 1 else BINARY
        target = self.rng.choice(sorted(table))
        calls = (
            ir.Call("a", target, refs),
            ir.Call("b", "aten.clamp.default", (ir.Ref("a"), -2, 2)),
        )
        pointers = [ir.Pointer(name) for name in (*sources, out)]
        computes = ir.Computation(named, calls, (("b", self.operand(out)),))
        function = table[target]

        def step(env: Env) -> None:
            env[out] = function(*(env[name] for name in sources)).clamp(-2, 2)

        threads = self.rng.choice([None, 1, 8])
        sizes = (self.rows,) if self.symbolic else ()
        kernel = self.kernel(len(sources))
        launch = ir.Launch(kernel, (*pointers, *sizes), computes, threads, step=(0, 1))
        return launch, step

    def sources(self, known: list[str]) -> list[str]:
        return self.rng.sample(known, min(len(known), self.rng.randint(1, 2)))

    # -- statements --------------------------------------------------------------------------------

    def statement(self, known: list[str], depth: int) -> tuple[list[ir.Op], list[Step]]:
        """A statement outside native code; extends `known`."""
        kind = self.rng.choice(["native", "native", "eager", "segment", "parallel", "in place"])
        if kind == "eager":
            return self.eager(known)
        if kind == "in place":
            return self.in_place(known)
        if kind == "parallel":
            return self.parallel(known)
        allocated: list[ir.Op] = []
        body, steps = self.native(known, depth, allocated)
        return [*allocated, *([ir.Segment(tuple(body))] if kind == "segment" else body)], steps

    def memory(self, allocated: list[ir.Op]) -> str:
        if self.rng.random() < 0.5:
            return self.fresh(ir.Kind.ARENA)
        name = self.fresh(ir.Kind.RESULT)
        allocated.append(ir.Allocate(name))
        return name

    def native(
        self, known: list[str], depth: int, allocated: list[ir.Op]
    ) -> tuple[list[ir.Op], list[Step]]:
        kind = self.rng.choice(["launch", "launch", "branch", "loop"]) if depth else "launch"
        if kind == "branch":
            return self.branch(known, depth, allocated)
        if kind == "loop":
            return self.loop(known, depth, allocated)
        out = self.memory(allocated)
        launch, step = self.launch(out, self.sources(known))
        known.append(out)
        return [launch], [step]

    def branch(
        self, known: list[str], depth: int, allocated: list[ir.Op]
    ) -> tuple[list[ir.Op], list[Step]]:
        out, bound = self.memory(allocated), self.rng.randint(0, 6)
        blocks: list[tuple[ir.Op, ...]] = []
        sides: list[list[Step]] = []
        for _ in range(2):
            inner = list(known)
            ops, steps = self.native(inner, depth - 1, allocated)
            launch, step = self.launch(out, self.sources(inner))
            blocks.append((*ops, launch))
            sides.append([*steps, step])
        known.append(out)
        rows = self.sizes.get("s0", 3)

        def choose(env: Env) -> None:
            for step in sides[0 if rows <= bound else 1]:
                step(env)

        then, otherwise = blocks
        return [ir.Branch(ir.AtMost(self.rows, bound), then, otherwise)], [choose]

    def loop(
        self, known: list[str], depth: int, allocated: list[ir.Op]
    ) -> tuple[list[ir.Op], list[Step]]:
        old, new = self.fresh(ir.Kind.CURSOR), self.fresh(ir.Kind.CURSOR)
        memory = self.fresh(ir.Kind.ARENA), self.fresh(ir.Kind.ARENA)
        start, count = self.rng.choice(known), self.rng.randint(0, 3)
        out = self.memory(allocated)
        inner = [*known, old]
        ops, steps = self.native(inner, depth - 1, allocated)
        launch, step = self.launch(new, list(dict.fromkeys([old, inner[-1]])))
        known.append(out)

        def run(env: Env) -> None:
            env[old] = env[start]
            for _ in range(count):
                for each in (*steps, step):
                    each(env)
                env[old] = env[new]
            env[out] = env[old]

        carried = ir.Carried(self.operand(start), old, new, memory, self.operand(out))
        return [ir.Loop((carried,), (), (*ops, launch), count)], [run]

    def parallel(self, known: list[str]) -> tuple[list[ir.Op], list[Step]]:
        allocated: list[ir.Op] = []
        launches, steps = [], []
        for _ in range(self.rng.randint(1, 3)):
            out = self.memory(allocated)
            launch, step = self.launch(out, self.sources(known))
            launches.append(replace(launch, threads=4))
            steps.append(step)
            known.append(out)
        return [*allocated, ir.Segment((ir.Parallel(tuple(launches), 4),))], steps

    def eager(self, known: list[str]) -> tuple[list[ir.Op], list[Step]]:
        tensors = [name for name in known if self.kinds[name] is not ir.Kind.ARENA]
        source, out = self.rng.choice(tensors), self.fresh(ir.Kind.EAGER)
        known.append(out)

        def step(env: Env) -> None:
            env[out] = torch.add(env[source], 1, alpha=2)

        args = (ir.Ref(source), 1)
        return [ir.Eager(ir.Call(out, "aten.add.Tensor", args, (("alpha", 2),)))], [step]

    def in_place(self, known: list[str]) -> tuple[list[ir.Op], list[Step]]:
        out = self.fresh(ir.Kind.RESULT)
        tensors = [name for name in known if self.kinds[name] is not ir.Kind.ARENA]
        source = self.rng.choice(tensors)
        known.append(out)

        def step(env: Env) -> None:
            env[out] = env[source] * 3

        copy = ir.Call("", "aten.copy_.default", (ir.Ref(out), ir.Ref(source)))
        scale = ir.Call("", "aten.mul_.Tensor", (ir.Ref(out), 3.0))
        ops = [ir.Eager(call, (out,), pure=False) for call in (copy, scale)]
        return [ir.Allocate(out), *ops], [step]

    # -- the plan ----------------------------------------------------------------------------------

    def plan(self, ops: tuple[ir.Op, ...]) -> ir.Plan:
        alive = lifetimes(ops)
        shape, strides = (self.rows, 4), (4, 1)
        buffers = []
        for name, kind in self.kinds.items():
            buffer = ir.Buffer(name, kind, F32, shape, strides)
            if kind is ir.Kind.ARENA:
                buffer = replace(buffer, lifetime=alive[name])
            buffers.append(buffer)
        if not self.symbolic:
            arena = [b for b in buffers if b.kind is ir.Kind.ARENA]
            lives = [Lifetime(*alive[b.name], b.nbytes) for b in arena]
            offsets = dict(zip((b.name for b in arena), arranged(lives)[0]))
            buffers = [replace(b, offset=offsets.get(b.name)) for b in buffers]
        symbols = (self.symbol,) if self.symbolic else ()
        assert not self.symbolic or isinstance(self.rows, sympy.Symbol)
        return ir.Plan(("x0", "x1"), ops, tuple(buffers), tuple(self.kernels.values()), (), symbols)
