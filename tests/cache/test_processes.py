"""Eight processes compile the same models at once with one cache: no error, no torn entry, and each
module and each program is built at most twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from ingot.cache.disk import KEY, DiskCache, read_entry
from ingot.cache.programs import is_program
from ingot.codegen.jit.stored_code import check_entry

PROCESSES, MODELS = 8, 10
PROGRAM = """
import json
import torch
from torch import nn
import ingot
from ingot.codegen.jit import jit

built = []
compiled = jit._compiled
def counted(key, *rest):
    built.append(key)
    return compiled(key, *rest)
jit._compiled = counted

torch.manual_seed(0)
x, image = torch.randn(4, 24), torch.randn(2, 3, 9, 9)
MODELS = [
    (nn.Sequential(nn.Linear(24, 40), nn.GELU(), nn.Linear(40, 8)), (x,)),
    (nn.Sequential(nn.LayerNorm(24), nn.Linear(24, 24), nn.Tanh()), (x,)),
    (nn.Softmax(-1), (x,)),
    (nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten()), (image,)),
    (nn.Sequential(nn.Conv2d(3, 3, 3, groups=3), nn.SiLU()), (image,)),
    (nn.LSTM(24, 16), (x[None],)),
    (lambda x: (x.sin() * x.cos()).sum(0), (x,)),
    (lambda x: x.cumsum(-1) / (1 + x.abs().amax(-1, keepdim=True)), (x,)),
    (lambda x: (x.double().exp() @ x.double().mT).sigmoid(), (x,)),
    (lambda x: torch.where(x > 0, x, x.mT.mT * 0.1).to(torch.bfloat16), (x,)),
]
with torch.no_grad():
    for model, args in MODELS:
        model = model.eval() if isinstance(model, nn.Module) else model
        exe = ingot.compile(model, args, options={"strict": True, "tune": 0.0})
        torch.testing.assert_close(exe(*args), model(*args), rtol=1e-2, atol=1e-4)
print(json.dumps(built))
"""


@pytest.mark.slow
def test_eight_processes_compile_the_same_models(tmp_path: Path) -> None:
    folder = tmp_path / "code"
    environment = {**os.environ, "INGOT_CACHE_DIR": str(folder), "INGOT_CACHE_MB": "64"}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in range(PROCESSES)
    ]  # fmt: skip
    built: Counter[str] = Counter()
    for process in running:
        out, error = process.communicate(timeout=500)
        assert process.returncode == 0, error
        built.update(json.loads(out.splitlines()[-1]))
    assert len(built) > 15 and max(built.values()) <= 2, built.most_common(5)

    logged = Counter(key for run in DiskCache(folder, 64 << 20).runs() for key in run.keys)
    programs = [
        path.name for path in folder.rglob("*")
        if KEY.fullmatch(path.name) and is_program(read_entry(path) or b"")
    ]  # fmt: skip
    assert len(programs) == MODELS and max(map(logged.__getitem__, programs)) <= 2
    assert min(map(logged.__getitem__, programs)) >= 1

    files = [path for path in folder.rglob("*") if path.is_file() and path.parent != folder]
    assert {path.name for path in files} >= set(built)
    for path in files:  # whole entries only, each under the key that it belongs to
        entry = read_entry(path) if KEY.fullmatch(path.name) else None
        assert entry is not None, path
        check_entry(path.name, entry)
