# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators that create tensors: constants, ranges, masks."""

from __future__ import annotations

import math

from ....dialects.core.infos import bit_width, is_float
from ...core import sizes
from ...core.sizes import Size
from ...core.texts import texts_of
from ..input_sizes import input_length, input_size, input_sizes, integers
from ..prelude import OnnxNode, Outputs, Value, cast, const, register_onnx, relax
from ..texts import held_of


@register_onnx("", "Constant")
def constant(node: OnnxNode) -> Outputs:
    import numpy

    if (tensor_proto := node.tensor_proto("value")) is not None:
        return held_of(tensor_proto, node.graph.model.data)
    for name, read, dtype in (
        ("value_int", node.int, "int64"),
        ("value_ints", node.ints, "int64"),
        ("value_float", node.float, "float32"),
        ("value_floats", node.floats, "float32"),
    ):
        if node.has_attribute(name):
            return Value(array=numpy.array(read(name), dtype))
    if node.has_attribute("value_string"):
        return texts_of([node.string("value_string")], ())
    if node.has_attribute("value_strings"):
        strings = node.strings("value_strings")
        return texts_of(strings, (len(strings),))
    is_sparse = node.has_attribute("sparse_value")
    raise node.fail("gives a sparse tensor" if is_sparse else "has no value", "sparse_value" if is_sparse else "")


@register_onnx("", "ConstantOfShape")
def constant_of_shape(node: OnnxNode) -> Outputs:
    import numpy

    value = node.array("value", numpy.zeros(1, "float32"))
    if value.size != 1:
        raise node.fail(f"attribute 'value' must have one element, got {value.size}", "value")
    return sizes.full(input_sizes(node, 0), Value(array=value.reshape(())).ssa)


# ---- ranges ----


@register_onnx("", "Range")
def range_(node: OnnxNode) -> Outputs:
    """Convert Range: `start + index * delta`. Narrow floats are computed in f32, unless an attribute disables this."""
    dtype = node.value(0).dtype
    is_narrow = is_float(dtype) and bit_width(dtype) < 32
    wide = "f32" if is_narrow and node.int("stash_type", 1) else dtype
    numbers = [_number(node, index) for index in range(3)]
    if not any(number is None for number in numbers) and not is_narrow:
        return relax.dialect.ops["arange"](*numbers, dtype=dtype)
    # 1-D tensors, so that results have a dimension.
    start, limit, delta = (cast(relax.reshape(node.tensor(index), (1,)), wide) for index in range(3))
    span = relax.subtract(limit, start)
    if is_float(wide):
        quotient = relax.ceil(relax.divide(span, delta))
    else:
        quotient = relax.negative(relax.floor_divide(relax.negative(span), delta))  # Rounded up, too.
    count = relax.maximum(relax.astype(quotient, dtype="i64"), const([0], "i64"))
    counted = relax.add(relax.multiply(relax.astype(sizes.count_up(count), dtype=wide), delta), start)
    return cast(counted, dtype)


def _number(node: OnnxNode, index: int) -> object:
    """Return a known input as a Python number or an expression."""
    return node.scalar(index) if node.sizes(index) is None else input_size(node, index)


# ---- masks ----


@register_onnx("", "EyeLike")
def eye_like(node: OnnxNode) -> Outputs:
    return relax.eye_like(node.tensor(0), node.int("k", 0), dtype=node.dtype("dtype", node.value(0).dtype))


@register_onnx("", "Trilu")
def trilu(node: OnnxNode) -> Outputs:
    is_upper = bool(node.int("upper", 1))
    diagonal = 0 if not node.has(1) else None if node.sizes(1) is None else input_size(node, 1)
    if diagonal is not None:
        return relax.dialect.ops["triu" if is_upper else "tril"](node.tensor(0), diagonal)
    if node.rank(0) < 2:
        raise node.fail(f"a matrix has 2 dimensions at least, not {node.rank(0)}")
    own = sizes.sizes_of(node.value(0))
    rows = relax.add(sizes.positions(own, len(own) - 2), integers(node, 1))
    columns = sizes.positions(own, len(own) - 1)
    kept = relax.dialect.ops["greater_equal" if is_upper else "less_equal"](columns, rows)
    return relax.where(kept, node.tensor(0), const(0, node.value(0).dtype))


@register_onnx("", "OneHot")
def one_hot(node: OnnxNode) -> Outputs:
    """Convert OneHot. Negative indices count from the end, and indices out of range give no 1."""
    indices, rank = cast(node.tensor(0), "i64"), node.rank(0) + 1
    axis = node.axis(rank, -1)
    depth = _depth(node)
    at = relax.expand_dims(indices, axis=axis)
    from_end = relax.add(at, sizes.as_tensor([depth]))
    at = relax.where(relax.less(at, const(0, "i64")), from_end, at)
    classes = sizes.positions([*[1] * axis, depth, *[1] * (rank - axis - 1)], axis)
    off, on = (relax.take(node.tensor(2), const(place, "i64"), axis=0) for place in (0, 1))
    return relax.where(relax.equal(at, classes), on, off)


def _depth(node: OnnxNode) -> Size:
    """Return the number of classes, which may be a float in the model."""
    if (held := node.scalar(1)) is not None:
        if not math.isfinite(held) or held < 0:
            raise node.fail(f"input #1, the number of classes, is {held}")
        return int(held)
    if input_length(node, 1) != 1:
        raise node.fail("input #1, the number of classes, must be one number")
    return integers(node, 1) if node.sizes(1) is None else input_size(node, 1)
