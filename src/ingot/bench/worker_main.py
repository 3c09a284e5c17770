"""The process of a `workers.Worker`, started with the file descriptor of its pipe. The code that
measures is that of this folder, whatever ingot it measures: the package of that name is made before
anything imports it from there.
"""

import importlib.util
import sys
from multiprocessing.connection import Connection
from pathlib import Path


def use_this_folder() -> None:
    folder = Path(__file__).parent
    spec = importlib.util.spec_from_file_location(
        "ingot.bench", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    package = sys.modules["ingot.bench"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)


if __name__ == "__main__":
    use_this_folder()
    pipe = Connection(int(sys.argv[1]))
    sys.path += [path for path in pipe.recv() if path not in sys.path]
    from ingot.bench.workers import serve

    serve(pipe)
