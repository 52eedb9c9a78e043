# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of com.microsoft operators without an ONNX counterpart: distances, inverses, windows, crops, hashes."""

from __future__ import annotations

import math
from typing import NamedTuple

from relax_mlir.dialects.relax.infer.slices import OPEN
from relax_mlir.frontends.core.matrices import System, identity
from relax_mlir.frontends.core.sizes import (
    Size,
    as_tensor,
    broadcast,
    count_up,
    divided,
    element,
    larger,
    minus,
    plus,
    reshaped,
    sizes_of,
    sliced,
    times,
)
from relax_mlir.frontends.onnx.input_sizes import integers
from relax_mlir.frontends.onnx.prelude import (
    OnnxNode,
    Outputs,
    Tensor,
    Value,
    cast,
    const,
    info_of,
    like,
    part,
    register_onnx,
    relax,
)

_DOMAIN = "com.microsoft"


# ---- matrices ----


@register_onnx(_DOMAIN, "CDist")
def distances(node: OnnxNode) -> Outputs:
    """Return the distance of each row of one matrix to each row of another."""
    metric = node.choice("metric", "sqeuclidean", ("sqeuclidean", "euclidean"))
    rows, columns = relax.expand_dims(node.tensor(0), axis=[1]), relax.expand_dims(node.tensor(1), axis=[0])
    apart = relax.subtract(rows, columns)
    squares = relax.sum(relax.multiply(apart, apart), axis=[2])
    return relax.sqrt(squares) if metric == "euclidean" else squares


@register_onnx(_DOMAIN, "Inverse")
def inverse(node: OnnxNode) -> Outputs:
    """Return the inverse of each matrix. The elements of a singular matrix's inverse are not finite."""
    dtype = node.value(0).dtype
    wide = cast(node.tensor(0), "f64" if dtype == "f64" else "f32")
    factors, pivots, _ = relax.linalg.lu_factor(wide)
    size = sizes_of(node.value(0))[-1]
    return cast(System(node, factors, identity(size, size, info_of(wide).dtype)).solve_lu(pivots), dtype)


# ---- elements ----


@register_onnx(_DOMAIN, "Unique")
def unique(node: OnnxNode) -> Outputs:
    """Return the distinct elements in the order of their first occurrence, with inverse indices and counts."""
    return list(relax.unique(node.tensor(0), False, False, True, True))


@register_onnx(_DOMAIN, "UnfoldTensor")
def unfold(node: OnnxNode) -> Outputs:
    """Gather the windows along a dimension; the elements of a window become a last dimension."""
    rank = node.rank(0)
    axis, size, step = node.axis(rank, -1, "dim"), node.int("size", 0), node.int("step", 1)
    for name, number in (("size", size), ("step", step)):
        if number < 1:
            raise node.fail(f"must be 1 or more, got {number}", name)
    if isinstance(length := sizes_of(node.value(0))[axis], int) and length < size:
        raise node.fail(f"a window of {size} elements is larger than the dimension of {length}", "size")
    starts = relax.multiply(count_up(plus(divided(minus(length, size), step), 1)), const(step, "i64"))
    places = relax.add(relax.expand_dims(starts, axis=[1]), count_up(size))
    windows = relax.take(node.tensor(0), places, axis=axis)
    return relax.permute_dims(windows, axes=[*range(axis + 1), *range(axis + 2, rank + 1), axis + 1])


@register_onnx(_DOMAIN, "MurmurHash3")
def murmur_hash(node: OnnxNode) -> Outputs:
    """Return the hash MurmurHash3_x86_32 of each element's bytes."""
    wide = node.value(0).dtype in _WIDE
    bits = relax.bitcast(node.tensor(0), dtype="ui64" if wide else "ui32")
    low = cast(relax.bitwise_and(bits, const(0xFFFFFFFF, "ui64")), "ui32") if wide else bits
    blocks = [low, cast(relax.right_shift(bits, const(32, "ui64")), "ui32")] if wide else [low]
    state: Tensor = _u32(node.int("seed", 0) % 2**32)
    for block in blocks:
        mixed = relax.multiply(_rotate(relax.multiply(block, _u32(0xCC9E2D51)), 15), _u32(0x1B873593))
        turned = _rotate(relax.bitwise_xor(mixed, state), 13)
        state = relax.add(relax.multiply(turned, _u32(5)), _u32(0xE6546B64))
    state = relax.bitwise_xor(state, _u32(4 * len(blocks)))
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        state = relax.multiply(relax.bitwise_xor(state, relax.right_shift(state, _u32(shift))), _u32(factor))
    return state if node.int("positive", 1) else relax.bitcast(state, dtype="i32")


#: Element types of two 32-bit blocks.
_WIDE = ("f64", "i64", "ui64")


def _u32(number: int) -> Tensor:
    return const(number, "ui32")


def _rotate(x: Tensor, count: int) -> Tensor:
    """Rotate the bits of 32-bit integers to the left."""
    return relax.bitwise_or(relax.left_shift(x, _u32(count)), relax.right_shift(x, _u32(32 - count)))


# ---- images ----


@register_onnx(_DOMAIN, "CropAndResize")
def crop_and_resize(node: OnnxNode) -> Outputs:
    """Sample a grid of points in each box of an image. A point outside of the image gives the extrapolation value.

    The corners of the grid are the corners of the box; along an axis of one point, the point is the middle.
    """
    mode, outside = node.choice("mode", "bilinear", ("bilinear", "nearest")), node.float("extrapolation_value", 0.0)
    counts = list(node.sizes(3) or [element(integers(node, 3), place) for place in (0, 1)])
    own = sizes_of(node.value(0))
    if len(counts) != 2 or len(own) != 4:
        raise node.fail(f"takes images of 4 dimensions and 2 sizes of crops, got {len(own)} and {len(counts)}")
    pixels = relax.permute_dims(node.tensor(0), axes=[0, 2, 3, 1])
    pixels = reshaped(pixels, [times(own[0], times(own[2], own[3])), own[1]])
    batch = relax.expand_dims(cast(node.tensor(2), "i64"), axis=[1, 2])
    rows, columns = (_points(node, place, counts[place], own[2 + place]) for place in (0, 1))
    width, height = (as_tensor([size]) for size in (own[3], own[2]))

    def pixel(row: Tensor, column: Tensor) -> Tensor:
        line = relax.add(relax.multiply(batch, height), row)
        return relax.take(pixels, relax.add(relax.multiply(line, width), column), axis=0)

    if mode == "nearest":
        tensor = pixel(rows.nearest, columns.nearest)
    else:
        upper, lower = (
            _interpolate(pixel(row, columns.before), pixel(row, columns.after), columns.share)
            for row in (rows.before, rows.after)
        )
        tensor = _interpolate(upper, lower, rows.share)
    is_inside = relax.expand_dims(relax.logical_and(rows.is_inside, columns.is_inside), axis=[3])
    return relax.permute_dims(relax.where(is_inside, tensor, like(tensor, outside)), axes=[0, 3, 1, 2])


class _Points(NamedTuple):
    """Sampling points along one axis, [boxes, rows, 1] or [boxes, 1, columns].

    The fields are the elements before and after each point, the weight of the element after, the nearest element, and a
    mask of the points within the image.
    """

    before: Tensor
    after: Tensor
    share: Tensor
    nearest: Tensor
    is_inside: Tensor


def _points(node: OnnxNode, place: int, count: Size, length: Size) -> _Points:
    """Return the points of the grids along the height (place 0) or the width (1) of the boxes."""
    dtype = node.value(1).dtype
    start, end = (part(node.tensor(1), 1, number, number + 1) for number in (place, place + 2))
    last, steps = (cast(as_tensor([minus(size, 1)]), dtype) for size in (length, count))
    step = relax.divide(relax.multiply(relax.subtract(end, start), last), relax.maximum(steps, like(steps, 1)))
    grid = relax.add(relax.multiply(start, last), relax.multiply(cast(count_up(count), dtype), step))
    middle = relax.multiply(relax.multiply(relax.add(start, end), like(start, 0.5)), last)
    points = relax.expand_dims(relax.where(relax.greater(steps, like(steps, 0)), grid, middle), axis=[2 - place])
    is_inside = relax.logical_and(relax.greater_equal(points, like(points, 0)), relax.less_equal(points, last))
    points = relax.where(is_inside, points, like(points, 0))
    before = relax.floor(points)
    places = (before, relax.ceil(points), relax.floor(relax.add(points, like(points, 0.5))))
    low, high, nearest = (cast(each, "i64") for each in places)
    return _Points(low, high, relax.expand_dims(relax.subtract(points, before), axis=[3]), nearest, is_inside)


def _interpolate(one: Tensor, other: Tensor, share: Tensor) -> Tensor:
    return relax.add(one, relax.multiply(relax.subtract(other, one), share))


# ---- tokens ----


@register_onnx(_DOMAIN, "NGramRepeatBlock")
def block_repeated_ngrams(node: OnnxNode) -> Outputs:
    """Give -inf to each token that would repeat an n-gram of the sequence if the token came next."""
    if (size := node.int("ngram_size", 0)) < 1:
        raise node.fail(f"must be 1 or more, got {size}", "ngram_size")
    tokens, scores = node.value(0), node.tensor(1)
    length = sizes_of(tokens)[1]
    count = larger(minus(length, size - 1), 0)
    repeats = None
    for place in range(size - 1):
        own = sliced(tokens, {1: (place, plus(count, place), 1)}, {1: count})
        begin = larger(minus(length, size - 1 - place), 0)
        equal = relax.equal(own, sliced(tokens, {1: (begin, plus(begin, 1), 1)}))
        repeats = equal if repeats is None else relax.logical_and(repeats, equal)
    last = sliced(tokens, {1: (size - 1, OPEN, 1)}, {1: count})
    banned = like(scores, -math.inf)
    updates = (
        broadcast(banned, sizes_of(Value(ssa=last)))
        if repeats is None
        else relax.where(repeats, banned, like(scores, math.inf))
    )
    return relax.scatter_elements(scores, last, updates, axis=1, reduction="min")
