# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations along the last dimension."""

from __future__ import annotations

from functools import reduce

from ..prelude import Outputs, TfliteNode, const, like, part, register_tflite, relax
from .activations import activated

#: Lower bound of a vector's length in the division.
_SHORTEST = 1e-6


@register_tflite("L2_NORMALIZATION")
def l2_normalization(node: TfliteNode) -> Outputs:
    x = node.tensor(0)
    length = relax.sqrt(relax.sum(relax.square(x), axis=[-1], keepdims=True))
    return activated(node, relax.divide(x, relax.maximum(length, like(x, _SHORTEST))))


@register_tflite("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(node: TfliteNode) -> Outputs:
    """Convert LOCAL_RESPONSE_NORMALIZATION, which divides by a power of the sum of squares of the near channels."""
    x, rank, radius = node.tensor(0), node.rank(0), node.attr("radius")
    if not isinstance(channels := node.sizes_of(0, 1)[-1], int):
        raise node.fail("the number of channels is not known at import")
    reach = max(min(radius, channels - 1), 0)
    padded = relax.nn.pad(relax.square(x), pad_width=[0, 0] * (rank - 1) + [reach, reach])
    windows = [part(padded, rank - 1, start, start + channels) for start in range(2 * reach + 1)]
    total = relax.multiply(reduce(relax.add, windows), const(node.attr("alpha"), "f32"))
    base = relax.add(total, const(node.attr("bias"), "f32"))
    return relax.multiply(x, relax.power(base, const(-node.attr("beta"), "f32")))
