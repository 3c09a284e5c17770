"""Kernel families, one folder each. A loaded plan needs none of them: only the modules of the
attributes that it names, which are declared here."""

from ingot.plan.attributes import declare

_CONVOLUTION = "ingot.kernels.convolution"
declare({
    "border": f"{_CONVOLUTION}.claim",
    "depth_first": f"{_CONVOLUTION}.depth_first",
    "direct_convolution": f"{_CONVOLUTION}.claim",
    "filter_panels": f"{_CONVOLUTION}.claim",
    "gates": "ingot.kernels.recurrent.packing",
    "geometry": f"{_CONVOLUTION}.geometry",
    "panels": "ingot.kernels.matmul.packing",
    "transformed_panels": f"{_CONVOLUTION}.winograd",
    "winograd": f"{_CONVOLUTION}.winograd",
})  # fmt: skip
