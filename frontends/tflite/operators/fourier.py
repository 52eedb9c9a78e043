# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms, and what is done with their complex numbers."""

from __future__ import annotations

from collections.abc import Callable

from ...core.complex_numbers import Pair, magnitude
from ...core.fourier import Transform, transformed_along
from ..prelude import Convert, Node, Outputs, Tensor, register_rows, register_tflite


@register_tflite("RFFT2D")
def rfft2d(node: Node) -> Outputs:
    """Of the last two dimensions, cut or filled with zeros to the given lengths; the first half of the last one."""
    lengths, rank = node.known_numbers(1), node.rank(0)
    if len(lengths) != 2 or rank < 2 or min(lengths) < 1:
        raise node.fail(f"lengths {lengths} are none of a transform of the last two of {rank} dimensions")
    x = Pair(node.tensor(0), None)
    x = transformed_along(node, x, rank - 1, Transform(lengths[1], 1, False, True))
    x = transformed_along(node, Pair(x.real, x.whole_imag), rank - 2, Transform(lengths[0], 2, False, False))
    return Pair(x.real, x.whole_imag).value()


def _of_pair(function: Callable[[Pair], Tensor]) -> Convert:
    return lambda node: function(node.pair(0))


register_rows(
    {
        "REAL": _of_pair(lambda x: x.real),
        "IMAG": _of_pair(lambda x: x.whole_imag),
        "COMPLEX_ABS": _of_pair(magnitude),
    }
)
