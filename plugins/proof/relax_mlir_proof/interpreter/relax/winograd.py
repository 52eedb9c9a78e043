# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions by Winograd's minimal filtering (transposed Toom-Cook products of polynomials).

A tile of m x m results is out^T [kernel * (in^T d in)] out. The input d has (m + 2) x (m + 2) elements, and the kernel
is already transformed. The matrices follow from the points at which polynomials are multiplied.
"""

from __future__ import annotations

from itertools import product
from math import isqrt
from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall

#: By the side of a tile. The last point is at infinity.
_POINTS = {4: (0, 1, -1), 6: (0, 0.625, -0.625, 1.5, -1.5)}


@register_reference("relax.nn.conv2d_winograd")
def conv2d_winograd(
    call: EvaluationCall, data: ndarray, weight: ndarray, bias: ndarray, residual: ndarray | None
) -> ndarray:
    batch, _, *sizes, lanes = data.shape
    panels, points, channels, columns = weight.shape
    side = isqrt(points)
    step = side - 2
    top, left, bottom, right = call.padding
    counts = [
        size + before + after - 2 for size, before, after in zip(sizes, (top, left), (bottom, right), strict=True)
    ]
    tiles = [-(-count // step) for count in counts]
    padded = numpy.zeros((batch, channels, *(tile * step + 2 for tile in tiles)))
    plain = data.transpose(0, 1, 4, 2, 3).reshape(batch, channels, *sizes)
    padded[:, :, top : top + sizes[0], left : left + sizes[1]] = plain
    kernel = weight.reshape(panels, side, side, channels, columns)
    into, out = _matrices(side)
    result = numpy.zeros((batch, panels * columns, *(tile * step for tile in tiles)))
    for row, column in product(*(range(0, tile * step, step) for tile in tiles)):
        tile = into.T @ padded[:, :, row : row + side, column : column + side] @ into
        products = numpy.einsum("ncij,pijck->npkij", tile, kernel, optimize=True)
        products = products.reshape(batch, panels * columns, side, side)
        result[:, :, row : row + step, column : column + step] = out.T @ products @ out
    result = result[:, :, : counts[0], : counts[1]] + (0 if bias is None else bias.reshape(-1, 1, 1))
    result = result.reshape(batch, panels * columns // lanes, lanes, *counts).transpose(0, 1, 3, 4, 2)
    result = result if residual is None else result + residual
    return numpy.maximum(result, 0) if call.relu else result


def _matrices(side: int) -> tuple[ndarray, ndarray]:
    """Return the matrices for data (coefficients that vanish at all points but one) and for results (powers)."""
    points = _POINTS[side]
    into = numpy.zeros((side, side))
    for place, _ in enumerate(points):
        into[:-1, place] = numpy.poly([*points[:place], *points[place + 1 :]])[::-1]
    into[:, -1] = numpy.poly(points)[::-1]
    out = numpy.zeros((side, side - 2))
    out[:-1] = numpy.vander(points, side - 2, increasing=True)
    out[-1, -1] = 1
    return into, out
