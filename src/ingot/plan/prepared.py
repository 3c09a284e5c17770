"""Values made of weights once and kept: packed matrices. What holds: what is used is always made of
the weight as it is now. A weight is known by its tensor, the version that autograd counts up on
every write, and its address; what was made goes when the weight goes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable

import torch
from torch.utils.weak import WeakTensorKeyDictionary

_made: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
"""Weight to what was made of it, by recipe; shared by all programs."""


class Made:
    """What was made of a weight, and the weight as it was then."""

    def __init__(self, weight: torch.Tensor, result: torch.Tensor):
        self.weight = weakref.ref(weight)
        self.result = result
        # Writes to an inference tensor are not counted.
        self._version = None if weight.is_inference() else weight._version
        self._memory = weight.detach()
        """As long as this is held, no other weight can come to lie at the same address."""

    def is_of(self, weight: torch.Tensor) -> bool:
        """Is the weight still as it was?"""
        return (
            self._version is not None
            and weight._version == self._version
            and weight.data_ptr() == self._memory.data_ptr()
        )


class Prepared:
    """One use of a weight in a program: called with the tensor, gives the address of what was made
    of it."""

    def __init__(self, recipe: str, make: Callable[[torch.Tensor], torch.Tensor]):
        self.recipe = recipe
        self.make = make
        self._last: Made | None = None

    def __call__(self, weight: torch.Tensor) -> int:
        last = self._last
        if last is None or last.weight() is not weight or not last.is_of(weight):
            last = self._last = self._look_up(weight)
        return last.result.data_ptr()

    def bytes(self) -> int:
        """Of what is held for the last weight."""
        return 0 if self._last is None else self._last.result.nbytes

    def _look_up(self, weight: torch.Tensor) -> Made:
        """Made anew, or by another program of the same weight."""
        forms = _made.setdefault(weight, {})
        found: Made | None = forms.get(self.recipe)
        if found is None or not found.is_of(weight):
            with torch.no_grad():
                found = forms[self.recipe] = Made(weight, self.make(weight.detach()))
        return found


def prepared_bytes() -> int:
    """What is held at the moment."""
    return sum(made.result.nbytes for forms in _made.values() for made in forms.values())
