"""Compiles under adverse conditions; run as a subprocess by `test_environment`. Both entry points,
a measured variant and a tuned dispatch op must return eager's results with at most one line in the
log."""

import ctypes
import json
import logging
import os
import resource
import sys
from pathlib import Path


def adverse(condition: str, folder: str) -> None:
    """Set up the condition before torch is imported, as at the start of a container."""
    if condition == "unknown user":
        os.environ.pop("HOME", None)
    elif condition == "no home":
        os.environ["HOME"] = f"{folder}/absent"
        Path(folder).chmod(0o555)
    elif condition == "home is a file":
        os.environ["HOME"] = f"{folder}/file"
        Path(f"{folder}/file").touch()
    elif condition == "relative home":
        os.environ["HOME"] = ""
    elif condition == "closed home":
        os.environ["HOME"] = f"{folder}/closed"
        Path(f"{folder}/closed").mkdir(mode=0)
    elif condition == "no temporary folder":
        os.environ["TMPDIR"] = f"{folder}/absent"
        os.environ["HOME"] = folder
    elif condition == "full disk":
        os.environ["HOME"] = folder
    elif condition == "odd option":
        os.environ["INGOT_TUNING"] = f"{folder}/a\udcffb/{'x' * 300}"
    if os.getuid() == 0:
        become_nobody()


def become_nobody() -> None:
    """Become a user without a name who can read everything, since Python may be in root's home, but
    write nothing."""
    libc, keep_capabilities, read_all = ctypes.CDLL(None), 8, 1 << 2
    assert libc.prctl(keep_capabilities, 1, 0, 0, 0) == 0
    os.setgroups([])
    os.setgid(12345)
    os.setuid(12345)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    assert libc.capset(header, (ctypes.c_uint32 * 6)(read_all, read_all, 0, 0, 0, 0)) == 0


def main(condition: str, folder: str) -> None:
    records: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("ingot").addHandler(handler)
    adverse(condition, folder)
    import torch

    import ingot

    if condition == "full disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))

    def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x @ w, -1).sum(0)

    @ingot.dispatch(on=("x", 0), ranges=[(1, 8), (9, None)], budget=2)
    def rows(x: torch.Tensor) -> torch.Tensor:
        return x.sin().sum(-1)

    @rows.implementation()
    def other(x: torch.Tensor) -> torch.Tensor:
        return torch.einsum("nk->n", x.sin())

    torch.manual_seed(0)
    x, w = torch.randn(64, 64), torch.randn(64, 64)
    with torch.no_grad():
        for found in (
            ingot.compile(program, (x, w), options={"tune": float("inf")})(x, w),
            torch.compile(program, backend="ingot")(x, w),
        ):
            torch.testing.assert_close(found, program(x, w), rtol=1e-4, atol=1e-5)
        rows.tune(x)
        torch.testing.assert_close(rows(x), x.sin().sum(-1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(json.dumps(records))


if __name__ == "__main__":
    main(*sys.argv[1:])
