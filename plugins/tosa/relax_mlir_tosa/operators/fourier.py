# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms over the last two dimensions, without normalization in either direction."""

from __future__ import annotations

from relax_mlir.frontends.core.complex_numbers import Pair
from relax_mlir.frontends.core.fourier import Transform, transformed_along

from ..prelude import Outputs, TosaNode, const, register_tosa, relax


def _length(node: TosaNode, axis: int) -> int:
    if not isinstance(length := (node.value(0).shape or ())[axis], int):
        raise node.fail("a length of its transform is not known while the module is imported")
    return length


@register_tosa("tosa.fft2d")
def fft2d(node: TosaNode) -> Outputs:
    is_inverse = node.attr("inverse")
    x = Pair(node.tensor(0), node.tensor(1))
    count = 1
    for axis in (2, 1):
        length = _length(node, axis)
        count *= length
        x = transformed_along(node, x, axis, Transform(length, 2, is_inverse, False))
        x = Pair(x.real, x.whole_imag)
    both = [x.real, x.whole_imag]
    return [relax.multiply(tensor, const(count, "f32")) for tensor in both] if is_inverse else both


@register_tosa("tosa.rfft2d")
def rfft2d(node: TosaNode) -> Outputs:
    """Return the first half of the last dimension."""
    x = Pair(node.tensor(0), None)
    x = transformed_along(node, x, 2, Transform(_length(node, 2), 1, False, True))
    x = transformed_along(node, Pair(x.real, x.whole_imag), 1, Transform(_length(node, 1), 2, False, False))
    return [x.real, x.whole_imag]
