"""The origin of measurements as text: the command that made them and the machine it ran on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def command_text() -> str:
    """The command that repeats the measurement, without output options, and the commit it ran
    at."""
    kept: list[str] = []
    skip = False
    for arg in sys.argv[1:]:
        if not skip and arg not in ("--out", "--append"):
            kept.append(arg)
        skip = arg == "--out"
    command = " ".join(["python", f"bench/{Path(sys.argv[0]).name}", *kept])
    return f"`{command}` at {commit_text()}"


def commit_text() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return found or "an unknown commit"


def machine_text() -> str:
    """The machine that the times depend on; a load above the number of threads spoils them."""
    import torch

    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return (
        f"{models[0] if models else 'unknown CPU'} ({torch.backends.cpu.get_cpu_capability()}), "
        f"{torch.get_num_threads()} threads, "
        f"torch {torch.__version__}, load average {os.getloadavg()[0]:.1f} at the end."
    )


def provenance() -> str:
    return f"{command_text()}\n\n{machine_text()}\n"
