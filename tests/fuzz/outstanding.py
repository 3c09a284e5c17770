"""Differences of the fixed seeds that are not fixed yet. Strict: a seed that no longer differs, or
differs in another way, fails its test.
"""

from __future__ import annotations

from dataclasses import dataclass

from .schemas.campaign import Fault, Summary


@dataclass(frozen=True)
class Outstanding:
    issue: str
    """The finding's letter."""
    kind: str
    """The kind of the difference, as `Fault.kind` begins."""
    why: str
    """The smallest program, and what it does instead."""


OUTSTANDING: dict[int, Outstanding] = {
    2: Outstanding(
        "L", "strides",
        "v = x.long(); v[None, v] with Dim.AUTO, x (3, c, 1) permuted: strides of a "
        "contiguous result, not of the permuted one",
    ),
    17: Outstanding(
        "S", "raises",
        "torch.cond(p, lambda x: l1_loss(x, x), ..., (x.ravel(),)) with Dim.AUTO: the plan of the "
        "body lacks the symbols of its input's size (PlanError; eager without strict)",
    ),
    27: Outstanding(
        "E", "raises",
        "y = x.unfold(0, 0, n); y[1:3, 2:] = 2: refused with strict, in eager without: PyTorch's "
        "functionalization clears the rest of the input",
    ),
    56: Outstanding(
        "J", "raises",
        "_foreach_tan_([x, x]) of an empty view with Dim.AUTO: integer modulo by "
        "zero at capture",
    ),
    64: Outstanding(
        "J", "raises",
        "torch.linspace(3, 0.001, n, out=y): the written output has another shape "
        "(VerifyError)",
    ),
    80: Outstanding(
        "M", "raises",
        "x.fill_diagonal_(1) of a view at an offset: as_strided_scatter beyond the "
        "copied storage",
    ),
    100: Outstanding("M", "raises", "as 80"),
    94: Outstanding(
        "Q", "alias",
        "inputs x, x.detach(), z = w[..., 1:-1]; x.elu_(); z.tril_(2): the results are x and z in "
        "eager, views of their memory compiled",
    ),
    128: Outstanding(
        "Q", "alias",
        "y = not_equal(x, 1, out=z) of an input z: y is z in eager, a view of its memory compiled",
    ),
    130: Outstanding(
        "J", "raises",
        'while_loop whose condition reads x.shape[0] of a captured x: "might be '
        'aliasing the input"',
    ),
    131: Outstanding(
        "N", "raises",
        "y.copy_(x.shape[1]) with Dim.AUTO: 'SymInt' object has no attribute 'dtype'",
    ),
    135: Outstanding("J", "raises", "as 56"),
    183: Outstanding(
        "J", "raises",
        "x.polygamma_(1): taken for a custom operator whose output is an alias",
    ),
    196: Outstanding("J", "raises", "as 130"),
}  # fmt: skip

SHARED: dict[int, Outstanding] = {
    21: Outstanding(
        "P", "runs",
        "x.mul_(1.0) of int32: eager refuses to write floats to integers, the compiled graph runs",
    ),
    74: Outstanding(
        "Q", "alias",
        "x.flatten() of a vector is x in eager, and a new view of its memory in a "
        "compiled graph",
    ),
    105: Outstanding(
        "Q", "alias",
        "v = x.swapaxes(0, 1); w = v.renorm_(1, 0, 3): w is v in eager, a second "
        "view compiled",
    ),
    150: Outstanding(
        "Q", "alias",
        "y = x.detach(); z = y.le_(1): z is y in eager, another view of x compiled",
    ),
    167: Outstanding(
        "Q", "alias",
        "z = x.acosh_() with an alias of x as second input: z is x in eager, a view "
        "of it compiled",
    ),
    199: Outstanding(
        "Q", "alias",
        "w = v.as_strided_(...) of an empty v: w is v in eager, two tensors compiled",
    ),
}  # fmt: skip
"""Silent differences that PyTorch's own tracing causes: the control has them too."""


def unexplained(summary: Summary, seeds: range) -> list[str]:
    """Differences without an entry, and entries without a difference."""
    return [*_against(OUTSTANDING, summary.faults, seeds), *_against(SHARED, summary.shared, seeds)]


def _against(table: dict[int, Outstanding], faults: list[Fault], seeds: range) -> list[str]:
    seen = {fault.seed for fault in faults if _explains(table, fault)}
    new = [
        f"{fault.header()}\n{fault.program.preamble()}"
        for fault in faults if not _explains(table, fault)
    ]  # fmt: skip
    gone = [seed for seed in table if seed in seeds and seed not in seen]
    return [*new, *(f"seed {seed} no longer differs: {table[seed].why}" for seed in gone)]


def _explains(table: dict[int, Outstanding], fault: Fault) -> bool:
    entry = table.get(fault.seed)
    return entry is not None and fault.kind.startswith(entry.kind)
