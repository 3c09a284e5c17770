"""Reports what was captured, fused, called and left to PyTorch, and why:

    print(ingot.explain(model, args))

The package has the name of its function, so the package itself is callable.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingot.explain.report import Report
    from ingot.options import Options


class _Callable(ModuleType):
    """Importing a submodule binds the package to its name in `ingot`, replacing any function."""

    def __call__(
        self,
        model: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        options: Mapping[str, Any] | Options | None = None,
    ) -> Report:
        """See `ingot.explain.listen.explain`."""
        from ingot.explain.listen import explain

        return explain(model, args, kwargs, options=options)


sys.modules[__name__].__class__ = _Callable
