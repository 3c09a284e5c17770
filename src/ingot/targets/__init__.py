"""Where a program can run besides this CPU: what an accelerator has to provide, and how a program
is split between it and the host."""

from ingot.targets.base import Moved, Target
from ingot.targets.run import Placed, place

__all__ = ["Moved", "Placed", "Target", "place"]
