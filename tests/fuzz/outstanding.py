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
    27: Outstanding(
        "E", "raises",
        "y = x.unfold(0, 0, n); y[1:3, 2:] = 2: refused with strict, in eager without: PyTorch's "
        "functionalization clears the rest of the input",
    ),
    64: Outstanding(
        "J", "raises",
        "torch.linspace(3, 0.001, n, out=y) of an input y of another shape: refused with strict "
        "(VerifyError), in eager without",
    ),
}  # fmt: skip

SHARED: dict[int, Outstanding] = {
    21: Outstanding(
        "P", "runs",
        "x.mul_(1.0) of int32: eager refuses to write floats to integers, the compiled graph runs",
    ),
    183: Outstanding(
        "R", "value (grad)",
        "torch.cond of feature_dropout with gradients: the backward pass draws another mask, and "
        "the generator advances twice",
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
