"""Reproducers: a request that crashed the helper's fork or exceeded its limits, on disk. The folder
holds the input, the pipelines, the arguments and one command. The command repeats the request under
the same limits in a process of its own, which ends as the fork did.

    python -m ingot.emit.reproduce FOLDER
"""

from __future__ import annotations

import json
import math
import resource
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

REQUEST, DATA = "request.json", "arguments.bin"


def write_reproducer(request: dict[str, Any]) -> str:
    """Write the request to disk. Returns the command that repeats it, or why there is none."""
    try:
        return _written(request, Path(tempfile.mkdtemp(prefix="ingot-reproducer-")))
    except OSError as error:
        return f"(no reproducer: {error})"


def _written(request: dict[str, Any], folder: Path) -> str:
    module = request["module"]
    source = "input.mlirbc" if isinstance(module, bytes) else "input.mlir"
    (folder / source).write_bytes(module if isinstance(module, bytes) else module.encode())
    plain = {**request, "module": source}
    if "file" in request:
        shutil.copyfile(request["file"], folder / DATA)
        plain["file"] = DATA
    (folder / REQUEST).write_text(json.dumps(plain, indent=1))
    script = folder / "reproduce.sh"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m ingot.emit.reproduce "$(dirname $0)"\n')
    return f"sh {script}"


def reproduce(folder: Path) -> dict[str, Any]:
    """Handle the request in this process, which may crash."""
    from ingot.emit.worker import HANDLERS

    request = json.loads((folder / REQUEST).read_text())
    data = (folder / request["module"]).read_bytes()
    request["module"] = data if request["module"].endswith("bc") else data.decode()
    request["file"] = str(folder / DATA)
    signal.alarm(math.ceil(request["seconds"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
    return HANDLERS[request["do"]](request)


def main() -> None:
    reply = reproduce(Path(sys.argv[1]))
    print(reply.get("text") or reply)
    sys.exit(1 if "failed" in reply else 0)


if __name__ == "__main__":
    main()
