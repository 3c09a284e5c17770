"""Where a program can run besides this CPU: what an accelerator has to provide, and how a program
is split between it and the host."""

from ingot.targets.run import Placed, place
from ingot.targets.target import Moved, Target

__all__ = ["Moved", "Placed", "Target", "place"]
