# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters that create tensors from sizes and scalars, and converters that return shapes and ranks."""

from __future__ import annotations

import math

from relax_mlir.dialects.relax.infer.broadcast import broadcast_dim

from ..prelude import (
    Outputs,
    Tensor,
    TfliteNode,
    Value,
    cast,
    const,
    known,
    register_rows,
    register_tflite,
    relax,
    sizes,
)

register_rows(
    {
        "RANK": lambda node: known(node.rank(0), "i32"),
        "ZEROS_LIKE": lambda node: relax.zeros_like(node.tensor(0)),
        "FILL": lambda node: sizes.full(node.sizes_in(0), node.tensor(1)),
    }
)


@register_tflite("SHAPE")
def shape(node: TfliteNode) -> Outputs:
    own = node.sizes_of(0)
    return known(own, node.dtype) if sizes.is_known(*own) else cast(sizes.as_tensor(own), node.dtype)


@register_tflite("BROADCAST_ARGS")
def broadcast_args(node: TfliteNode) -> Outputs:
    """Convert BROADCAST_ARGS: the shape to which two shapes are broadcast."""
    shapes = [node.sizes_in(index) for index in (0, 1)]
    count = max(map(len, shapes))
    one, other = ([1] * (count - len(each)) + each for each in shapes)
    pairs = list(zip(one, other, strict=True))
    if not all(sizes.is_known(*pair) for pair in pairs):
        raise node.fail("its shapes are only known when the model runs")
    dims = [broadcast_dim(*pair) for pair in pairs]
    if None in dims:
        raise node.fail(f"shapes {one} and {other} cannot be broadcast, or are not fully known")
    return known(dims, node.dtype)


@register_tflite("RANGE")
def arange(node: TfliteNode) -> Outputs:
    """Convert RANGE: numbers from a start to a limit, which is excluded, in steps."""
    bounds = [node.value(index) for index in range(3)]
    if all(bound.array is not None for bound in bounds):
        return _make_range(node, *(bound.array.ravel()[0].item() for bound in bounds if bound.array is not None))
    elements = [bound.elements for bound in bounds]
    if any(element is None for element in elements):
        raise node.fail("its bounds are only known when the model runs")
    start, limit, step = (element.ravel()[0] for element in elements if element is not None)
    if not isinstance(step, int) or step == 0:
        raise node.fail("its step must be a known integer other than 0")
    return relax.arange(start, limit, step, dtype=node.dtype)


def _make_range(node: TfliteNode, start: float, limit: float, step: float) -> Value:
    import numpy

    count = math.ceil((limit - start) / step) if step and math.isfinite(start + limit + step) else -1
    if count < 0:
        raise node.fail(f"steps of {step} do not lead from {start} to {limit}")
    node.take_table(f"a range of {count} numbers", count)
    name = "float32" if node.dtype == "f32" else f"int{node.dtype[1:]}"
    return Value(array=(start + numpy.arange(count) * step).astype(name))


@register_tflite("ONE_HOT")
def one_hot(node: TfliteNode) -> Outputs:
    """Convert ONE_HOT: along a new axis, the value `on` at each index and the value `off` elsewhere."""
    rank = node.rank(0)
    axis = node.attr("axis", -1)
    axis = rank if axis == -1 else node.axis_of(axis, rank + 1)
    depth = node.size_in(1)
    indices = relax.expand_dims(node.integers(0), axis=[axis])
    places = sizes.positions([1] * axis + [depth] + [1] * (rank - axis), axis)
    on, off = (relax.reshape(node.tensor(index), ()) for index in (2, 3))
    return relax.where(relax.equal(indices, places), on, off)


@register_tflite("MATRIX_DIAG")
def matrix_diag(node: TfliteNode) -> Outputs:
    """Convert MATRIX_DIAG: matrices with the elements of the last dimension on their diagonals."""
    x = node.tensor(0)
    size = node.sizes_of(0, 1)[-1]
    rows, columns = (sizes.positions([size, size], axis) for axis in (0, 1))
    return relax.where(relax.equal(rows, columns), relax.expand_dims(x, axis=[-1]), const(0, node.dtype))


@register_tflite("MATRIX_SET_DIAG")
def matrix_set_diag(node: TfliteNode) -> Outputs:
    """Convert MATRIX_SET_DIAG: matrices with their main diagonal replaced."""
    height, width = node.sizes_of(0, 2)[-2:]
    diagonal = node.tensor(1)
    rows, columns = (sizes.positions([height, width], axis) for axis in (0, 1))
    # The diagonal is extended to the width of the matrices. The comparison below ignores the added elements.
    spread = relax.take(diagonal, relax.minimum(sizes.count_up(width), _last(node)), axis=node.rank(1) - 1)
    return relax.where(relax.equal(rows, columns), relax.expand_dims(spread, axis=[-2]), node.tensor(0))


def _last(node: TfliteNode) -> Tensor:
    """Return the last index of the diagonal."""
    return sizes.as_tensor([sizes.minus(node.sizes_of(1, 1)[-1], 1)])
