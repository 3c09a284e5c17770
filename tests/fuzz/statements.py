"""The statements of random programs, by family.

Each function takes a `Writer`, draws operands and parameters, and adds at most one statement.
`FAMILIES` maps a family to its functions; `random_program` draws a program from weighted families.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hypothesis import strategies as st

from .programs import Draw, Source, Value, Writer, write_inputs

Statement = Callable[[Writer], None]

# Bounded or slowly growing, so that a short chain stays well conditioned.
SMOOTH = (
    "torch.sigmoid({x})",
    "torch.tanh({x})",
    "torch.sin({x})",
    "torch.erf({x})",
    "torch.exp({x}.clamp(max=3))",
    "torch.log({x}.abs() + 1)",
    "torch.sqrt({x}.abs() + 1)",
    "torch.rsqrt({x}.abs() + 1)",
    "F.silu({x})",
    "F.gelu({x})",
    "F.softplus({x})",
    "({x} ** 2)",
    "(1 / ({x}.abs() + 1))",
)
BIT_EXACT = ("torch.relu({x})", "(-{x})", "{x}.abs()", "{x}.clamp(-1, 2)", "F.hardtanh({x})")
ROWWISE = (
    "{x}.softmax({d})",
    "{x}.log_softmax({d})",
    "F.layer_norm({x}, {x}.shape[-1:])",
    "F.rms_norm({x}, {x}.shape[-1:], eps=0.1)",
    "F.normalize({x}, dim={d}, eps=0.1)",
    "{x}.cumsum({d})",
)
REDUCTIONS = (
    "{x}.sum({d}, keepdim={k})",
    "{x}.mean({d}, keepdim={k})",
    "{x}.amax({d}, keepdim={k})",
    "{x}.amin({d}, keepdim={k})",
    "{x}.var({d}, correction=0, keepdim={k})",
    "{x}.logsumexp({d}, keepdim={k})",
    "{x}.max({d}, keepdim={k}).values",
    "{x}.sum()",
    "{x}.mean()",
    "{x}.amax()",
)
IN_PLACE_FLOAT = (
    "{x}.add_(0.5)",
    "{x}.mul_(-0.5)",
    "{x}.sigmoid_()",
    "{x}.sub_({y})",
    "{x}.copy_({y})",
    "{x}[..., :1] = 0.25",
    "{x}[0] += {y}",
    "{x}.mT.mul_(2)",
    "{x}.flatten()[1:].fill_(3)",
    "{x}.masked_fill_({x} * 0 == 0, 1.5)",
)
IN_PLACE_ANY = (
    "{x}.add_(1)",
    "{x}.zero_()",
    "{x}.copy_({y})",
    "{x}[..., 1:] = 1",
    "{x}[-1:].mul_(3)",
    "{x}.t_()",
    "{x}.transpose(0, -1).add_({y})",
)
SCALARS = ("2.5", "-3", "1", "0.125", "7")
CASTS = ("float32", "bfloat16", "float64", "float16")


def is_float(value: Value) -> bool:
    return value.floating


def smooth(w: Writer) -> None:
    if x := w.pick(is_float):
        w.assign(w.choose(SMOOTH).format(x=x.name), exact=False)


def bit_exact(w: Writer) -> None:
    if x := w.pick(lambda v: v.tensor.dtype.is_signed):
        w.assign(w.choose(BIT_EXACT).format(x=x.name), exact=x.exact)


def scalar_arithmetic(w: Writer) -> None:
    if x := w.pick():
        op, scalar = w.choose("+-*"), w.choose(SCALARS)
        left, right = w.choose([(x.name, scalar), (scalar, x.name)])
        w.assign(f"({left} {op} {right})", exact=x.exact and not x.half)


def binary(w: Writer) -> None:
    x, y = w.pick(), w.pick()
    if x and y:
        form = w.choose(
            ("({x} + {y})", "({x} - {y})", "({x} * {y})", "({x} / ({y}.abs() + 1))")
            + ("torch.maximum({x}, {y})", "torch.minimum({x}, {y})")
        )
        keeps = form.startswith("torch")
        w.assign(form.format(x=x.name, y=y.name), exact=keeps and x.exact and y.exact)


def compare(w: Writer) -> None:
    x, y = w.pick(lambda v: v.exact), w.pick(lambda v: v.exact)
    if x and y:
        right = w.choose((y.name, "0", "1.5"))
        w.assign(f"({x.name} {w.choose(('<', '>=', '==', '!='))} {right})", exact=True)


def select(w: Writer) -> None:
    mask = w.pick(lambda v: v.tensor.dtype.is_floating_point is False and v.exact)
    x, y = w.pick(), w.pick()
    if mask and x and y:
        form = w.choose(("torch.where({m} > 0, {x}, {y})", "torch.where({m} > 0, {x}, 2)"))
        text = form.format(m=mask.name, x=x.name, y=y.name)
        w.assign(text, exact=x.exact and y.exact)


def cast(w: Writer) -> None:
    if x := w.pick():
        w.assign(f"{x.name}.to(torch.{w.choose(CASTS)})", exact=x.exact and not x.half)


def cast_to_integer(w: Writer) -> None:
    if x := w.pick(lambda v: v.exact):
        w.assign(f"{x.name}.to(torch.{w.choose(('int64', 'int32', 'bool'))})", exact=True)


def view(w: Writer) -> None:
    if not (x := w.pick(lambda v: v.rank > 0)):
        return
    d, e = w.dim(x), w.dim(x)
    order = w.draw(st.permutations(range(x.rank)))
    size = x.tensor.shape[d]
    start = w.draw(st.integers(0, max(size - 1, 0)))
    form = w.choose(
        (
            f".permute({tuple(order)})",
            f".transpose({d}, {e})",
            f".unsqueeze({d})",
            f".squeeze({d})",
            f".select({d}, {start})",
            f".narrow({d}, {start}, {size - start})",
            f".flip({d})",
            f".roll({start + 1}, {d})",
            ".flatten()",
            ".contiguous()",
            ".reshape(-1, 1)",
            f".unflatten({d}, (-1, {size}))",
            "[..., ::2]",
            "[1:]",
            "[None]",
            ".expand(3, " + "-1, " * x.rank + ")",
            f".reshape({tuple(reversed(x.tensor.shape))})",
            f".movedim({d}, {e})",
            f".unfold({d}, {min(size, 2)}, 1)",
        )
    )
    w.assign(f"{x.name}{form}", exact=x.exact)


def structure(w: Writer) -> None:
    if not (x := w.pick(lambda v: v.rank > 0)):
        return
    y = w.pick(lambda v: v.rank == x.rank) or x
    d = w.dim(x)
    form = w.choose(
        (
            "torch.cat([{x}, {y}], {d})",
            "torch.stack([{x}, {x}], {d})",
            "F.pad({x}, (1, 2), value=1)",
            "F.pad({x}, (-1, 1))",
            "{x}.repeat_interleave(2, {d})",
            "torch.cat([{x}, {x}[..., :1]], -1)",
            "{x}.tril()",
            "{x}.index_select({d}, torch.tensor([0, 0]))",
            "torch.cat([{x}.flatten(), {y}.flatten()])",
        )
    )
    w.assign(form.format(x=x.name, y=y.name, d=d), exact=x.exact and y.exact)


def reduction(w: Writer) -> None:
    if x := w.pick(lambda v: v.floating and v.rank > 0):
        keep = w.choose((True, False))
        w.assign(w.choose(REDUCTIONS).format(x=x.name, d=w.dim(x), k=keep), exact=False)


def exact_reduction(w: Writer) -> None:
    if x := w.pick(lambda v: v.exact and v.rank > 0):
        form = w.choose(("argmax({d})", "amax({d})", "any({d})", "all()", "sort({d}).values"))
        w.assign(f"{x.name}.{form.format(d=w.dim(x))}", exact=True)


def rowwise(w: Writer) -> None:
    if x := w.pick(lambda v: v.floating and v.rank > 0):
        w.assign(w.choose(ROWWISE).format(x=x.name, d=w.dim(x)), exact=False)


def matmul(w: Writer) -> None:
    if x := w.pick(lambda v: v.floating and v.rank >= 2):
        w.assign(f"({x.name} @ {x.name}.mT)", exact=False)


def mutation(w: Writer) -> None:
    x, y = w.pick(), w.pick()
    if x and y:
        forms = IN_PLACE_FLOAT if x.floating else IN_PLACE_ANY
        text = w.choose(forms).format(x=x.name, y=y.name)
        w.mutate(x, text, exact=x.exact and y.exact and not x.half and "sigmoid" not in text)


FAMILIES: dict[str, tuple[Statement, ...]] = {
    "pointwise": (smooth, bit_exact, scalar_arithmetic, binary, compare, select, cast),
    "views": (view, view, view, structure, structure, binary, smooth),
    "reductions": (reduction, reduction, exact_reduction, rowwise, rowwise, binary, view, matmul),
    "mutation": (mutation, mutation, view, binary, scalar_arithmetic, smooth, reduction),
    "dtypes": (cast, cast_to_integer, compare, select, binary, scalar_arithmetic, exact_reduction),
}
EVERYTHING = tuple(statement for family in FAMILIES.values() for statement in family)


def random_program(draw: Draw, family: str) -> Source:
    """Two of every three statements come from the family, the third from any."""
    writer = Writer(draw)
    names, expressions = write_inputs(writer)
    for position in range(draw(st.integers(4, 14))):
        pool = EVERYTHING if position % 3 == 2 else FAMILIES[family]
        draw(st.sampled_from(pool))(writer)
    return Source(tuple(names), tuple(expressions), tuple(writer.body), chosen_results(writer))


def chosen_results(writer: Writer) -> tuple[str, ...]:
    """All values that no later statement reads, so that no code is dead, and one value more."""
    last = writer.values[-1].name
    read = set(re.findall(r"\b[abc]\b|\bt\d+\b", " ".join(right_sides(writer.body))))
    unread = [v.name for v in writer.values if v.name not in read and v.name.startswith("t")]
    extra = writer.draw(st.sampled_from([v.name for v in writer.values]))
    return tuple(dict.fromkeys([*unread, last, extra]))


def right_sides(body: list[str]) -> list[str]:
    """The statements without the names that they define."""
    return [re.sub(r"^t\d+ = ", "", statement) for statement in body]
