"""Documents made by hand: a long chain of ops in nested modules, and one whose every text is an
attack on the page."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from ingot.capture.recompiles import Recompile
from ingot.explain.records import (
    Arena,
    ArenaBuffer,
    Document,
    Graph,
    Host,
    Kernel,
    Node,
    Pass,
    Roofline,
    Source,
    Step,
    Summary,
    Text,
)

PER_STEP = 4
SOURCE = "def model(x):\n    y = x.sin()\n    return y.exp()\n"


def chain(count: int, modules: bool = True) -> Document:
    """`count` nodes, each reading the one before; `PER_STEP` of them make a step."""
    steps = count // PER_STEP
    return Document(
        name="chain",
        summary=Summary(
            steps * 0.011, 0.5, steps * 0.02, 800.0, 200.0, 1500.0, (), (), (), ("a note",)
        ),
        host=Host("a CPU", 2, 512, 32 << 20, "0", "2"),
        roofline=Roofline(20.0, 100.0, 200.0),
        sources=(Source("model.py", SOURCE),),
        stacks=(((0, 2),), ((0, 2), (0, 3))),
        graphs=(_graph(count, steps, modules),),
        kernels=(Kernel("loops.0", "loops", "llvm.func @k()", "k:\n  ret", "", ()),),
        recompiles=(Recompile("the size of x along dim 0 changed", "8", "9", "mark it dynamic"),),
        choices=(),
    )


def _graph(count: int, steps: int, modules: bool) -> Graph:
    names = [f"%op.{k}" for k in range(count)]
    lines = ["program @ core", *(f"  {name}: f32[8] = sin(%x)" for name in names)]
    by_line = tuple((k + 1, k + 1, k // PER_STEP) for k in range(steps * PER_STEP))
    by_step = tuple((k, k, k) for k in range(steps))
    return Graph(
        name="graph 0",
        nodes=tuple(
            _node(k, names[k], min(k // PER_STEP, steps - 1), modules) for k in range(count)
        ),
        steps=tuple(_step(k) for k in range(steps)),
        program=Text("\n".join(lines), by_line),
        regions=Text("\n".join(f"region {k}" for k in range(steps)), by_step),
        plan=Text("\n".join(f"launch @loops.0 step 0:{k}" for k in range(steps)), by_step),
        python=Text("def run(inputs): ...", ()),
        arena=Arena(
            1024,
            tuple(range(steps)),
            tuple(_buffer(k, steps) for k in range(steps)),
        ),
        passes=(Pass("program", "fold", 1.0, count, count, ("nothing to fold",)),),
        times={"passes": 10.0, "codegen": 490.0},
        memory={"arena": 512 * steps, "input": 4096},
    )


def _node(k: int, name: str, step: int, modules: bool) -> Node:
    module = f"layers.{k // 50}.part" if modules else ""
    inputs = (k - 1,) if k else ()
    return Node(name, "call", "sin", "sin", "f32[8]", inputs, step, k % 2, module)


def _step(k: int) -> Step:
    nodes = tuple(range(PER_STEP * k, PER_STEP * (k + 1)))
    kind = "fallback" if k % 50 == 49 else "kernel"
    reason = "no rule for this op" if kind == "fallback" else ""
    module = f"layers.{PER_STEP * k // 50}.part"
    return Step(
        f"step {k}", kind, ("sin",), nodes, (0,), reason, "8", (module,), 0.01, 64_000, 9_000, -1
    )


def _buffer(k: int, steps: int) -> ArenaBuffer:
    return ArenaBuffer(f"b{k}", "f32[128]", 512 * (k % 2), 512, k, min(k + 1, steps - 1), k)


ATTACK = (
    "</script><script>window.attacked = 1</script>"
    "<img src=x onerror='window.attacked = 1'><!-- {{script}} \u2028 \\u003c &lt;"
)


def hostile() -> Document:
    """A short chain with the attack in every text that a user or a model can determine."""
    return _attacked(chain(40))


_KEPT = {"kind", "stage", "format"}


def _attacked(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            f.name: _attacked(getattr(value, f.name)) for f in fields(value) if f.name not in _KEPT
        }
        return replace(value, **changed)
    if isinstance(value, tuple):
        return tuple(map(_attacked, value))
    if isinstance(value, dict):
        return {key + ATTACK: each for key, each in value.items()}
    return value + ATTACK if isinstance(value, str) else value
