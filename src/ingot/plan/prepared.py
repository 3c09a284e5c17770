"""Values made of weights once and kept: packed matrices. What holds: what is used is always made of
the weight as it is now. A weight is known by its tensor, the version that autograd counts up on
every write, its address, and samples of its elements; what was made goes when the weight goes.
"""

from __future__ import annotations

import itertools
import weakref
from array import array
from collections.abc import Callable, Sequence

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from ingot.codegen.watch import FRAME, ITEMS, digester, noted, watcher
from ingot.plan.samples import Samples

INT8 = f"{torch.int8} "
"""How the recipe of a weight that is held as 8-bit integers begins."""
_made: WeakTensorKeyDictionary = WeakTensorKeyDictionary()
"""Weight to what was made of it and of others, by recipe; shared by all programs."""


class Weights:
    """Weights as they are now. An object's number can be another's once it is gone, so the first
    that goes ends it all."""

    def __init__(self, weights: Sequence[torch.Tensor]):
        self._alive = alive = {True}  # not this object: it goes as soon as it is replaced
        # Writes to an inference tensor are not counted: it is never known again.
        self._counted = not any(weight.is_inference() for weight in weights)
        self._notes = _notes(weights) if self._counted else []
        self._samples = samples = Samples(weights)
        self._table = array("q", itertools.chain.from_iterable(self._notes))
        tables = (table.buffer_info() for table in (samples.rows, samples.words))
        places = [word for table in tables for word in table]
        self._frame = array("q", [len(weights), self._table.buffer_info()[0], *places, 0])
        frame, self._address = self._frame, self._frame.buffer_info()[0]
        frame[FRAME.index("digest")] = digester()(self._address)

        def end(_: object) -> None:
            alive.clear()
            frame[FRAME.index("tensors")] = -1

        self._references = [weakref.ref(weight, end) for weight in weights]
        self._unchanged = watcher()

    def watched(self) -> int:
        """The frame in which native code finds what was noted of them; 0 where it cannot tell."""
        return self._address if self._counted and self._unchanged is not None else 0

    def are(self, weights: tuple[torch.Tensor, ...]) -> bool:
        """Are these the weights, as they were? Asked in every call."""
        if not self._counted or not self._alive or len(weights) != len(self._notes):
            return False
        if self._unchanged is not None:
            return bool(self._unchanged(id(weights) + ITEMS, self._address))
        same = _notes(weights) == self._notes
        return same and digester()(self._address) == self._frame[FRAME.index("digest")]


def _notes(weights: Sequence[torch.Tensor]) -> list[tuple[int, ...]]:
    if watcher() is not None:
        return [noted(weight) for weight in weights]
    return [(id(weight), weight._version, weight.data_ptr()) for weight in weights]


class Made:
    """What was made of weights, and the weights as they were before: what is written meanwhile is
    seen by the next call."""

    def __init__(self, weights: Sequence[torch.Tensor], make: Callable[..., torch.Tensor]):
        self._weights = Weights(weights)
        self._memory = [weight.detach() for weight in weights]
        """As long as this is held, no other weight can come to lie at the same address."""
        with torch.no_grad():
            self.result = make(*self._memory)
        self.address = self.result.data_ptr()

    def is_of(self, *weights: torch.Tensor) -> bool:
        return self._weights.are(weights)


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
            found = forms[self.recipe] = Made(weights, self.make)
        return found


class Seen:
    """The weights of a call, and what was made of them: an address for each use. A network has
    hundreds of weights, so they are looked at together."""

    def __init__(
        self, weights: Sequence[torch.Tensor], uses: Sequence[tuple[Prepared, Sequence[int]]]
    ):
        """Each use with the numbers of its weights among those of the call."""
        self.weights = Weights(weights)
        self._made = [each.made(*(weights[n] for n in numbers)) for each, numbers in uses]
        """Holds the memory at the addresses."""
        self.addresses = [made.address for made in self._made]


def prepared_bytes() -> int:
    """What is held at the moment."""
    return sum(made.result.nbytes for forms in _made.values() for made in forms.values())
