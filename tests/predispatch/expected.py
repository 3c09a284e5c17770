"""Ops that cannot be exported at pre-dispatch level, with reasons. Strict: an op that exports fails
its test until it is removed."""

_VALUE = "torch.export: Python asks for a value that is known only when the program runs"
_SHAPE = "torch.export: a size is known only when the program runs, and the op cannot be traced so"
_RESIZE = "resizing an input has no functional form"

REFUSED: dict[str, str] = {
    "allclose": _VALUE,
    "corrcoef": _VALUE,
    "cov": _VALUE,
    "equal": _VALUE,
    "nn.functional.gaussian_nll_loss": _VALUE,
    "nn.functional.one_hot": _VALUE,
    "linalg.lstsq": _SHAPE,
    "linalg.lstsq.grad_oriented": _SHAPE,
    "nn.functional.ctc_loss": _SHAPE,
    "resize_": _RESIZE,
    "resize_as_": _RESIZE,
}
