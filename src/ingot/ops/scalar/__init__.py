"""The pointwise ops. Importing this package registers every rule in `ingot.ops.rules`; each module
holds related ops and looks only at its own.
"""

from ingot.ops.scalar import (
    activation,
    activation_backward,
    arithmetic,
    bits,
    compare,
    convert,
    division,
    power,
    prims,
    rounding,
    special,
    transcendental,
)
from ingot.ops.scalar import select as choose

__all__ = [
    "activation",
    "activation_backward",
    "arithmetic",
    "bits",
    "choose",
    "compare",
    "convert",
    "division",
    "power",
    "prims",
    "rounding",
    "special",
    "transcendental",
]
