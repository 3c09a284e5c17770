"""A change of any field of a plan is noticed: by the verifier, or because the changed plan computes
something else when it is interpreted. The exceptions stand in one table."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, is_dataclass

from ingot.errors import Place, PlanError
from ingot.plan import ir
from ingot.plan.verify import verify
from tests.plan.corruption import corruptions
from tests.plan.running import Run, same, samples

CODE = "read by machine code alone, which tests/fuzz compares with eager"
SIGNATURE = "the signature of machine code, which a plan cannot see"
PROFILE = "for profiles and reports"
MESSAGE = "text that the program shows if it fails"
KEPT = "memory is kept longer"
UNUSED = "%bias of the sample is not used"
ROOM = "a larger or differently ordered area: only its extent counts in the arena"
SIDE = "the same side is taken for every size that is tried"
HOLDS = "the requirement holds for the sizes that are tried, and fails for the same ones"
RANGE = "the range of a size, wider or narrower than the sizes that are tried"

UNNOTICED: dict[str, tuple[int, str]] = {
    "Plan.inputs": (1, "the body of a steered branch adds its inputs, in any order"),
    "Plan.ops": (3, "two neighbours that do not depend on each other"),
    "Launch.arguments": (26, CODE),
    "Launch.attributes": (1, CODE),
    "Attributes.extents": (7, CODE),
    "Attributes.dtype": (1, CODE),
    "Attributes.rows": (4, CODE),
    "Attributes.scale": (1, CODE),
    "Attributes.padded": (1, CODE),
    "Pointer.offset": (1, "scratch memory is larger than the kernel needs here"),
    "Operand.shape": (
        32,
        "both operands of a random launch broadcast, or only part of one is returned",
    ),
    "Operand.strides": (
        74,
        "the stride of a dimension of size 1, and operands whose results are not returned",
    ),
    "Call.args": (101, "operands of commutative ops; bounds of a clamp that no value reaches"),
    "Launch.threads": (38, PROFILE),
    "Launch.step": (66, PROFILE),
    "Launch.covers": (7, PROFILE),
    "Branch.step": (6, PROFILE),
    "Eager.step": (6, PROFILE),
    "Loop.step": (4, PROFILE),
    "Check.step": (4, PROFILE),
    "EagerControlFlow.step": (4, PROFILE),
    "Launch.faults": (5, MESSAGE),
    "Check.message": (1, MESSAGE),
    "Affine.constant": (3, HOLDS),
    "Affine.terms": (2, HOLDS),
    "Iteration.size": (2, HOLDS),
    "Free.buffers": (1, KEPT),
    "Branch.otherwise": (1, KEPT),
    "Buffer.name": (1, UNUSED),
    "Buffer.dtype": (2, UNUSED),
    "Buffer.shape": (50, ROOM),
    "Buffer.strides": (51, ROOM),
    "Buffer.alias": (5, "an op whose schema does not say whether it returns a view"),
    "Kernel.parameters": (3, SIGNATURE),
    "Parameter.name": (28, SIGNATURE),
    "Parameter.dtype": (24, SIGNATURE),
    "Parameter.optional": (24, SIGNATURE),
    "Recipe.results": (1, "packing of one more result: the interpreter packs nothing"),
    "Symbol.lower": (6, RANGE),
    "Symbol.upper": (4, RANGE),
    "Call.kwargs": (1, "pin_memory of a random tensor is off by default"),
    "Branch.then": (1, "a launch whose result nobody reads"),
    "AtMost.left": (6, SIDE),
    "AtMost.right": (7, SIDE),
    "Eager.pure": (10, "an op that counts as impure is never repeated, which is safe"),
    "Loop.count": (4, "a further iteration computes the same values, or nobody reads them"),
    "Entries.pairs": (1, "a key that occurs twice with one value"),
}
"""The number of changes that nothing notices, and why. The numbers are exact: a stronger verifier
or another sample changes them."""


UNTRIED = {
    "Require.requirements": "segments have taken them over",
    "Opaque.name": "an object of the process that made the plan",
}
"""Records that do not occur in the samples."""


def test_a_change_of_any_field_is_noticed() -> None:
    tried: Counter[str] = Counter()
    unnoticed: Counter[str] = Counter()
    for plan, runs in samples():
        wanted = [run.outcome(plan) for run in runs]
        for where, changed in corruptions(plan):
            tried[where] += 1
            if not _is_refused(changed, runs):
                results = (run.outcome(changed) for run in runs)
                unnoticed[where] += all(map(same, wanted, results))
    assert +unnoticed == {where: count for where, (count, _) in UNNOTICED.items()}
    fields_of_the_ir = {f"{kind.__name__}.{name}" for kind, name in _fields()}
    assert fields_of_the_ir - set(tried) == set(UNTRIED)


def _is_refused(plan: ir.Plan, runs: list[Run]) -> bool:
    try:
        for run in runs:
            verify(plan, run.sizes)
    except PlanError as error:
        assert "\n>" in str(error), f"no line is marked: {error}"
        return True
    return False


def _fields() -> list[tuple[type, str]]:
    """Every field of every record of the IR."""
    kinds = [each for each in vars(ir).values() if isinstance(each, type) and is_dataclass(each)]
    return [
        (kind, field.name)
        for kind in kinds
        if not issubclass(kind, ir.Attributes | Place)
        for field in fields(kind)
    ]
