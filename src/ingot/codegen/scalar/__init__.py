"""The pointwise ops. Importing this package registers every rule in `ingot.codegen.rules`; each module holds ops that
belong together and looks only at its own.
"""

from ingot.codegen.scalar import (
    activation,
    arithmetic,
    choose,
    compare,
    convert,
    division,
    transcendental,
)

__all__ = ["activation", "arithmetic", "choose", "compare", "convert", "division", "transcendental"]
