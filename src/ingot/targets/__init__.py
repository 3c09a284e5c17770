"""Targets other than this CPU: the protocol that an accelerator implements, and the placement of a
program's ops on it and the host."""

from ingot.targets.run import Placed, place
from ingot.targets.target import Moved, Target

__all__ = ["Moved", "Placed", "Target", "place"]
