# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms, and operators on complex numbers."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.frontends.core.complex_numbers import Pair, magnitude
from relax_mlir.frontends.core.fourier import Transform, transformed_along

from ..prelude import Convert, Outputs, Tensor, TfliteNode, register_rows, register_tflite


@register_tflite("RFFT2D")
def rfft2d(node: TfliteNode) -> Outputs:
    """Convert RFFT2D: the transform of the last two dimensions.

    The dimensions are cropped or zero-padded to the lengths in the second input. The result has the first half of the
    last dimension.
    """
    lengths, rank = node.known_numbers(1), node.rank(0)
    if len(lengths) != 2 or rank < 2 or min(lengths) < 1:
        raise node.fail(f"expected 2 positive lengths and at least 2 dimensions, got {lengths} and {rank} dimensions")
    x = Pair(node.tensor(0), None)
    x = transformed_along(node, x, rank - 1, Transform(lengths[1], 1, False, True))
    x = transformed_along(node, Pair(x.real, x.whole_imag), rank - 2, Transform(lengths[0], 2, False, False))
    return Pair(x.real, x.whole_imag).value()


def _make_part(function: Callable[[Pair], Tensor]) -> Convert:
    return lambda node: function(node.pair(0))


register_rows(
    {
        "REAL": _make_part(lambda x: x.real),
        "IMAG": _make_part(lambda x: x.whole_imag),
        "COMPLEX_ABS": _make_part(magnitude),
    }
)
