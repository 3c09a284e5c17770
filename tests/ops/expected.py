"""Known failures and untestable ops, each with its reason.

EXPECTED is strict: a row whose test passes fails the run. Keys are (op, variant, dtype): the op as
named in OpInfo (with its variant_test_name after a dot), the kind of test (forward, inplace, grad,
error, edge; static and dynamic through all of torch.compile) and the dtype's name or "*". SKIPPED
holds (op, variant) pairs for which eager itself fails or has no deterministic result. METADATA_ONLY
holds ops whose values are undefined by contract.
"""

from __future__ import annotations

PINV = "PyTorch's trace of complex pinv loses a conjugation: every AOTAutograd backend is wrong"
UINT8_RESIZE = (
    "PyTorch decomposes uint8 resizing while tracing, with a rounding unlike its kernel's"
)
OUT_DTYPE = "AOTAutograd copies into out= of another dtype, which eager refuses, for every backend"
SPARSE_GRAD = "AOTAutograd loses requires_grad of a sparse result, for every backend"
PLAIN_INTS = "Dynamo hands symbolic ints to an op that takes plain ones, for every backend"
FAKE_BOOL = (
    "PyTorch's fake log_softmax refuses empty bools, which its kernel takes, for every backend"
)
HUGE_ROWS = "squares of huge values overflow: eager's variance is NaN, ours inf; no type is wider"
NO_GPU = "eager: jiterator needs a GPU"

EXPECTED: dict[tuple[str, str, str], str] = {
    ("to_sparse", "grad", "*"): SPARSE_GRAD,
    **{
        (op, "error", "*"): OUT_DTYPE
        for op in ("complex", "aminmax", "gather", "multinomial", "amax", "amin")
    },
    ("linalg.pinv", "forward", "complex64"): PINV,
    ("linalg.pinv.singular", "forward", "complex64"): PINV,
    ("pinverse", "forward", "complex64"): PINV,
    **{
        (op, "grad", "complex64"): PINV
        for op in ("pinverse", "linalg.pinv", "linalg.pinv.singular")
    },
    ("nn.functional.interpolate.bilinear", "forward", "uint8"): UINT8_RESIZE,
    ("nn.functional.interpolate.bicubic", "forward", "uint8"): UINT8_RESIZE,
    ("nn.functional.upsample_bilinear", "forward", "uint8"): UINT8_RESIZE,
    ("max_pool2d_with_indices_backward", "dynamic", "*"): PLAIN_INTS,
    ("log_softmax", "edge", "bool"): FAKE_BOOL,
    ("layer_norm", "edge", "float64"): HUGE_ROWS,
}

SKIPPED: dict[tuple[str, str], str] = {
    ("jiterator_unary", "*"): NO_GPU,
    ("jiterator_binary", "*"): NO_GPU,
    ("jiterator_binary_return_by_ref", "*"): NO_GPU,
    ("jiterator_2inputs_2outputs", "*"): NO_GPU,
    ("jiterator_4inputs_with_extra_args", "*"): NO_GPU,
}

METADATA_ONLY: frozenset[str] = frozenset(
    {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
)

# They multiply random matrices or the output of dropout: the random numbers equal eager's, but sums
# are rounded in another order. All other random ops must equal eager exactly.
SUMS_OF_RANDOM: frozenset[str] = frozenset(
    {
        "svd_lowrank", "pca_lowrank", "nn.functional.multi_head_attention_forward",
        "nn.functional.scaled_dot_product_attention",
    }
)  # fmt: skip
