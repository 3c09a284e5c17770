"""Values made of weights once and kept: packed matrices. What holds: what is used is always made of
the weight as it is now. A weight is known by its tensor, the version that autograd counts up on
every write, and its address; what was made goes when the weight goes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

import torch
from torch.utils.weak import WeakTensorKeyDictionary

INT8 = f"{torch.int8} "
"""How the recipe of a weight that is held as 8-bit integers begins."""
_made: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
"""Weight to what was made of it and of others, by recipe; shared by all programs."""


class Made:
    """What was made of a weight and of others, and the weights as they were then."""

    def __init__(self, weights: Sequence[torch.Tensor], result: torch.Tensor):
        weight, *others = weights
        counted = not weight.is_inference()
        # Writes to an inference tensor are not counted: it is never known again.
        self.weight: Callable[[], torch.Tensor | None] = weakref.ref(weight) if counted else _none
        self.version = weight._version if counted else 0
        self.place = weight.data_ptr()
        self.others = Made(others, result) if others else None
        self.result = result
        self.address = result.data_ptr()
        self._memory = weight.detach()
        """As long as this is held, no other weight can come to lie at the same address."""

    def is_of(self, weight: torch.Tensor, *others: torch.Tensor) -> bool:
        """Are these the weights, as they were? Asked in every call."""
        return (
            self.weight() is weight
            and weight._version == self.version
            and weight.data_ptr() == self.place
            and (self.others is None or self.others.is_of(*others))
        )


def _none() -> None:
    return None


class Prepared:
    """One use of weights in a program."""

    def __init__(self, recipe: str, make: Callable[..., torch.Tensor]):
        self.recipe = recipe
        self.make = make
        self._last: Made | None = None

    def made(self, *weights: torch.Tensor) -> Made:
        last = self._last
        if last is None or not last.is_of(*weights):
            last = self._last = self._look_up(weights)
        return last

    def tensor(self, *weights: torch.Tensor) -> torch.Tensor:
        return self.made(*weights).result

    def bytes(self) -> int:
        """Of what is held for the last weights."""
        return 0 if self._last is None else self._last.result.nbytes

    def _look_up(self, weights: Sequence[torch.Tensor]) -> Made:
        """Made anew, or by another program of the same weights."""
        forms = _made.setdefault(weights[0], {})
        found: Made | None = forms.get(self.recipe)
        if found is None or not found.is_of(*weights):
            with torch.no_grad():
                result = self.make(*(weight.detach() for weight in weights))
            found = forms[self.recipe] = Made(weights, result)
        return found


class Roster:
    """All that a run needs of what was made of its weights: called with the weights, gives an
    address for each use. A network has hundreds of weights, so they are looked at together."""

    def __init__(self, uses: Sequence[tuple[Prepared, Sequence[int]]]):
        """Each use with the numbers of its weights among those of the call."""
        self._uses = uses
        self._seen: Seen | None = None

    def __call__(self, *weights: torch.Tensor) -> Sequence[int]:
        seen = self._seen
        if seen is not None and seen.are(weights):
            return seen.addresses
        seen = Seen(weights, self._uses)
        self._seen = None if any(weight.is_inference() for weight in weights) else seen
        return seen.addresses


class Seen:
    """Weights as they were, and what was made of them. An object's number can be another's once it
    is gone, so the first that goes ends it all."""

    def __init__(
        self, weights: Sequence[torch.Tensor], uses: Sequence[tuple[Prepared, Sequence[int]]]
    ):
        self._alive = alive = {True}  # not this object: it goes as soon as it is replaced
        self._objects = list(map(id, weights))
        self._versions = [0 if weight.is_inference() else weight._version for weight in weights]
        self._places = list(map(torch.Tensor.data_ptr, weights))
        self._watched = [weakref.ref(weight, lambda _: alive.clear()) for weight in weights]
        # After the versions were read: what is written meanwhile is seen by the next call.
        self._made = [each.made(*(weights[n] for n in numbers)) for each, numbers in uses]
        """Holds the memory at the addresses."""
        self.addresses = [made.address for made in self._made]

    def are(self, weights: Sequence[torch.Tensor]) -> bool:
        return (
            bool(self._alive)
            and list(map(id, weights)) == self._objects
            and [weight._version for weight in weights] == self._versions
            and list(map(torch.Tensor.data_ptr, weights)) == self._places
        )


def prepared_bytes() -> int:
    """What is held at the moment."""
    return sum(made.result.nbytes for forms in _made.values() for made in forms.values())
