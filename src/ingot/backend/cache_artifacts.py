"""`torch.compiler.save_cache_artifacts` and `load_cache_artifacts`: the code that a process
compiled or found is saved with PyTorch's own artifacts. Loaded entries are known to the process;
the cache on disk is neither needed nor written. PyTorch knows the type of artifact once this module
is imported, which torch.compile(backend="ingot") does.
"""

from __future__ import annotations

import logging

from torch.compiler._cache import CacheArtifact, CacheArtifactFactory, CacheArtifactManager

from ingot.codegen.jit import code_store
from ingot.codegen.jit.code_store import KEY
from ingot.codegen.jit.stored_code import check_entry
from ingot.errors import CompileError
from ingot.forks import fork_safe_lock

log = logging.getLogger("ingot.cache")
TYPE = "ingot"
_lock = fork_safe_lock()


@CacheArtifactFactory.register
class CodeArtifact(CacheArtifact):
    """An entry of code_store.py under its key."""

    def populate_cache(self) -> None:
        try:
            if not KEY.fullmatch(self.key):
                raise code_store.EntryError("not the key of a module")
            check_entry(self.key, self.content)
        except CompileError as error:
            log.warning("a cache artifact is ignored: %s", error.why)
            return
        code_store.provide({self.key: self.content})

    @staticmethod
    def type() -> str:
        return TYPE


def _record(key: str, entry: bytes) -> None:
    with _lock:  # kernels are compiled by several threads
        CacheArtifactManager.record_artifact(TYPE, key, entry)


def record_artifacts() -> None:
    """From now on; PyTorch holds what was recorded as long as the process lives."""
    code_store.on_use(_record)
