"""Other numeric libraries, each with one small problem, interleaved with ingot; run as a subprocess
by `test_peers`. Each library must compute the same values whether ingot compiled before it was
loaded, after, or not at all.
"""

from __future__ import annotations

import struct
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def numpy_linalg() -> list[Array]:
    a, b = _random(96, 96), _random(96, 96, seed=1)
    spd = a @ a.T + 96 * np.eye(96, dtype=np.float32)
    return [a @ b, np.linalg.solve(spd, b), np.linalg.eigvalsh(spd), np.linalg.svd(a)[1]]


def scipy_linalg() -> list[Array]:
    import scipy.linalg
    import scipy.linalg.blas

    a, b = _random(96, 96, seed=2), _random(96, 96, seed=3)
    spd = a @ a.T + 96 * np.eye(96, dtype=np.float32)
    triangle = scipy.linalg.cholesky(spd)
    return [
        scipy.linalg.blas.sgemm(1.0, a, b),
        triangle,
        scipy.linalg.solve_triangular(triangle, b),
        np.abs(scipy.linalg.qr(a)[1]),
        scipy.linalg.expm(a / 10),
    ]


def _field(number: int, value: bytes | int) -> bytes:
    """One field of a protobuf message."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    parts = [value & 127]
    while value := value >> 7:
        parts.append(value & 127)
    return bytes([*(part | 128 for part in parts[:-1]), parts[-1]])


def _onnx_model(weight: Array) -> bytes:
    """Relu(x · weight) · weightᵀ as an ONNX file, for x of one or more rows."""

    def value(name: bytes, columns: int) -> bytes:
        sizes = _field(1, _field(2, b"n")) + _field(1, _field(1, columns))
        return _field(1, name) + _field(2, _field(1, _field(1, 1) + _field(2, sizes)))

    def node(op: bytes, inputs: Sequence[bytes], output: bytes) -> bytes:
        names = b"".join(_field(1, name) for name in inputs)
        return _field(1, names + _field(2, output) + _field(4, op))

    rows, columns = weight.shape
    data = struct.pack(f"<{weight.size}f", *weight.ravel())
    tensor = _field(1, rows) + _field(1, columns) + _field(2, 1) + _field(8, b"w") + _field(9, data)
    nodes = [
        node(b"MatMul", [b"x", b"w"], b"h"),
        node(b"Relu", [b"h"], b"r"),
        node(b"Transpose", [b"w"], b"t"),
        node(b"MatMul", [b"r", b"t"], b"y"),
    ]
    graph = b"".join(nodes) + _field(2, b"g") + _field(5, tensor)
    graph += _field(11, value(b"x", rows)) + _field(12, value(b"y", rows))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(2, 13))


def onnx_runtime() -> list[Array]:
    import onnxruntime

    session = onnxruntime.InferenceSession(_onnx_model(_random(256, 512, seed=4)))
    return list(session.run(None, {"x": _random(33, 256, seed=5)}))


def openvino() -> list[Array]:
    from openvino import Core

    core = Core()
    model = core.read_model(_onnx_model(_random(256, 512, seed=6)), b"")
    precise = {"INFERENCE_PRECISION_HINT": "f32"}
    return [np.array(core.compile_model(model, "CPU", precise)(_random(33, 256, seed=7))[0])]


def ctranslate2() -> list[Array]:
    """Tokens and scores of a small random decoder."""
    import ctranslate2

    width, heads, vocabulary = 128, 4, [f"t{i}" for i in range(512)]
    spec = ctranslate2.specs.TransformerDecoderModelSpec.from_config(2, heads, pre_norm=True)
    seeds = iter(range(10, 1000))

    def linear(part: Any, outputs: int, inputs: int) -> None:
        part.weight = _random(outputs, inputs, seed=next(seeds)) / np.float32(inputs**0.5)
        part.bias = _random(outputs, seed=next(seeds)) / 10

    def norm(part: Any) -> None:
        part.gamma = 1 + _random(width, seed=next(seeds)) / 10
        part.beta = _random(width, seed=next(seeds)) / 10

    decoder = spec.decoder
    decoder.scale_embeddings = False
    decoder.embeddings.weight = _random(len(vocabulary), width, seed=next(seeds))
    decoder.position_encodings.encodings = _random(64, width, seed=next(seeds))
    norm(decoder.layer_norm)
    linear(decoder.projection, len(vocabulary), width)
    for layer in decoder.layer:
        norm(layer.self_attention.layer_norm)
        linear(layer.self_attention.linear[0], 3 * width, width)
        linear(layer.self_attention.linear[1], width, width)
        norm(layer.ffn.layer_norm)
        linear(layer.ffn.linear_0, 4 * width, width)
        linear(layer.ffn.linear_1, width, 4 * width)
    spec.register_vocabulary(vocabulary)
    spec.config.bos_token = spec.config.eos_token = spec.config.unk_token = "t0"
    spec.validate()
    spec.optimize()
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        generator = ctranslate2.Generator(folder, device="cpu", compute_type="float32")
        prompts = [[f"t{7 * k + i}" for i in range(9)] for k in range(8)]
        results = generator.generate_batch(
            prompts,
            max_length=24,
            sampling_topk=1,
            return_scores=True,
            include_prompt_in_result=False,
        )
        logits = np.array(generator.forward_batch(prompts))
    tokens = [[*each.sequences_ids[0], *[-1] * 24][:24] for each in results]
    return [np.array(tokens), np.array([each.scores[0] for each in results]), logits]


def ingot() -> list[Array]:
    """Both entry points, with kernels, BLAS, Sleef and threads."""
    import torch

    import ingot

    def program(x: Any, w: Any) -> Any:
        return torch.lgamma(torch.softmax(x @ w, -1) + 1).sum(-1), x @ w.t()

    torch.manual_seed(0)
    x, w = torch.randn(300, 256), torch.randn(256, 256)
    results = [*ingot.compile(program, (x, w))(x, w)]
    results += torch.compile(program, backend="ingot")(x, w)
    for result, want in zip(results, [*program(x, w)] * 2, strict=True):
        torch.testing.assert_close(result, want, rtol=1e-4, atol=1e-4)
    return [result.numpy() for result in results]


PEERS: dict[str, Callable[[], list[Array]]] = {
    "numpy": numpy_linalg,
    "scipy": scipy_linalg,
    "onnxruntime": onnx_runtime,
    "openvino": openvino,
    "ctranslate2": ctranslate2,
    "ingot": ingot,
}


def main(file: str, *names: str) -> None:
    """Run the named libraries in order and save their results. A repeated name runs again."""
    found: dict[str, Any] = {}
    for turn, name in enumerate(names):
        for k, array in enumerate(PEERS[name]()):
            found[f"{turn}.{name}.{k}"] = array
    np.savez(Path(file), **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
