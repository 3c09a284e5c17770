"""Ops refused during lowering to MLIR, and ops excluded from the sweep. Both tables are strict: an
op that starts to lower, or that can now take part, fails the test until its row is removed.
"""

from __future__ import annotations

EVERYWHERE = ("torch", "linalg", "tosa", "stablehlo")
FIXED_SIZES = ("tosa", "stablehlo")
"""Dialects without sizes that depend on values."""

REFUSED: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "the size of the result depends on values",
        FIXED_SIZES,
        (
            "argwhere", "bincount", "combinations", "masked_select", "nonzero", "tensor_split",
            "unique",
        ),
    ),
    (
        "torch-mlir does not lower the sort of this sample to TOSA",
        ("tosa",),
        ("argsort", "msort", "sort"),
    ),
    (
        "LAPACK iterates until it converges",
        EVERYWHERE,
        (
            "linalg.cond", "linalg.eig", "linalg.eigh", "linalg.eigvals", "linalg.eigvalsh",
            "linalg.matrix_rank", "linalg.matrix_rank.hermitian", "linalg.pinv",
            "linalg.pinv.hermitian", "linalg.pinv.singular", "linalg.svd", "linalg.svdvals",
            "norm.nuc", "pinverse", "svd",
        ),
    ),
    (
        "factors of symmetric indefinite matrices, which nothing else here needs",
        EVERYWHERE,
        ("linalg.ldl_factor", "linalg.ldl_factor_ex", "linalg.ldl_solve"),
    ),
    (
        "takes as many steps as the value of an argument says",
        EVERYWHERE,
        (
            "igamma", "igammac", "special.chebyshev_polynomial_t",
            "special.chebyshev_polynomial_u", "special.chebyshev_polynomial_v",
            "special.chebyshev_polynomial_w", "special.hermite_polynomial_h",
            "special.hermite_polynomial_he", "special.laguerre_polynomial_l",
            "special.legendre_polynomial_p", "special.shifted_chebyshev_polynomial_t",
            "special.shifted_chebyshev_polynomial_u", "special.shifted_chebyshev_polynomial_v",
            "special.shifted_chebyshev_polynomial_w", "special.zeta",
        ),
    ),
    (
        "nobody has taken it apart yet",
        EVERYWHERE,
        (
            "_segment_reduce.lengths", "_segment_reduce.offsets", "_upsample_bilinear2d_aa",
            "histogram", "histogramdd", "nn.functional.fractional_max_pool2d", "special.airy_ai",
            "unique_consecutive",
        ),
    ),
    (
        "the bits of a number, unsigned 64-bit integers, or memory that nobody has written",
        EVERYWHERE,
        ("hash_tensor", "nextafter", "resize_as_"),
    ),
    (
        "a custom operation of PyTorch's own",
        EVERYWHERE,
        (
            "nn.functional.linear_cross_entropy.chunked",
            "nn.functional.linear_cross_entropy.chunked_none",
        ),
    ),
)  # fmt: skip
"""(reason, dialects, ops)."""

LEFT_OUT: dict[str, tuple[str, ...]] = {
    "it draws random numbers": (
        "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal",
        "normal.in_place", "normal.number_mean", "pca_lowrank", "rand_like", "randint",
        "randint_like", "randn", "randn_like", "svd_lowrank", "uniform",
        "nn.functional.fractional_max_pool3d",
    ),
    "no tensor comes in": (
        "arange", "eye", "full", "linspace", "logspace", "ones", "scalar_tensor",
        "signal.windows.bartlett", "signal.windows.blackman", "signal.windows.cosine",
        "signal.windows.exponential", "signal.windows.gaussian", "signal.windows.general_cosine",
        "signal.windows.general_hamming", "signal.windows.hamming", "signal.windows.hann",
        "signal.windows.kaiser", "signal.windows.nuttall", "tril_indices", "triu_indices", "zeros",
    ),
    "what comes out is no tensor, or one that nobody has written": (
        "allclose", "broadcast_shapes", "empty", "empty_like", "empty_permuted", "empty_strided",
        "equal", "item", "new_empty", "new_empty_strided",
    ),
    "one of the results has no elements": ("_batch_norm_with_update",),
    "sparse tensors": ("sparse.mm.reduce", "sparse.sampled_addmm", "to_sparse"),
    "PyTorch has none for CPUs, or no samples": (
        "jiterator_2inputs_2outputs", "jiterator_4inputs_with_extra_args", "jiterator_binary",
        "jiterator_binary_return_by_ref", "jiterator_unary",
        "nn.functional.batch_norm.without_cudnn", "torch._scaled_mm", "torch._scaled_mm_v2",
        "torch.ops.aten._efficient_attention_forward", "torch.ops.aten._flash_attention_forward",
    ),
    "torch.export cannot capture it": (
        "corrcoef", "cov", "linalg.lstsq", "linalg.lstsq.grad_oriented",
        "nn.functional.ctc_loss", "nn.functional.gaussian_nll_loss",
    ),
}  # fmt: skip
"""Reason → ops."""
