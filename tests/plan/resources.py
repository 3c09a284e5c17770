"""Resources for hand-written plans: ops by name, constants and objects as given."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass
class Resources:
    constants: dict[str, Any] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)

    def target(self, name: str) -> Any:
        if name == "operator.getitem":
            return operator.getitem
        found: Any = torch.ops
        for part in name.split("."):
            found = getattr(found, part)
        return found
