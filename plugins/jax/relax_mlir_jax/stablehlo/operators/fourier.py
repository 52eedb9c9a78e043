# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms of the last dimensions."""

from __future__ import annotations

from relax_mlir.frontends.core.complex_numbers import Pair
from relax_mlir.frontends.core.fourier import Transform, transformed_along

from ..prelude import HloNode, Outputs, register_stablehlo


@register_stablehlo("stablehlo.fft")
def fft(node: HloNode) -> Outputs:
    """Convert a transform. Inverse transforms divide by the number of elements. The last dimension is the real one."""
    kind, lengths = node.attr("fft_type"), node.attr("fft_length")
    x = node.pair(0)
    rank = len(node.sizes_of_operand(0))
    axes = list(range(rank - len(lengths), rank))
    pairs = list(zip(axes, lengths, strict=True))
    is_inverse = kind in ("IFFT", "IRFFT")
    if kind == "RFFT":
        x = transformed_along(node, x, axes[-1], Transform(lengths[-1], 1, False, True))
        pairs = pairs[:-1]
    of_complex = pairs[:-1] if kind == "IRFFT" else pairs
    for axis, length in of_complex:
        x = transformed_along(node, Pair(x.real, x.whole_imag), axis, Transform(length, 2, is_inverse, False))
    if kind != "IRFFT":
        return x.value()
    last = Transform(lengths[-1], 2, True, True)
    return transformed_along(node, Pair(x.real, x.whole_imag), axes[-1], last).real
