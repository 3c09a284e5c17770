"""Range dispatch: the best implementation for each range of sizes, chosen by measurement:

    @ingot.dispatch(on=("x", 1), ranges=[512, 2048])
    def activation(x: torch.Tensor) -> torch.Tensor: ...

The package has the name of its decorator and can be called like it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingot.dispatch.declare import Dispatch


class _Callable(ModuleType):
    """A callable module. Importing a submodule binds the package's name in `ingot`, over any
    function of that name."""

    def __call__(self, **words: Any) -> Callable[[Callable[..., Any]], Dispatch]:
        """See `ingot.dispatch.declare.dispatch`."""
        from ingot.dispatch.declare import dispatch

        return dispatch(**words)


sys.modules[__name__].__class__ = _Callable
