# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What moves known elements: gathering, joining, slicing, other shapes and orders."""

from __future__ import annotations

import math
from typing import Any

from ..node import Node
from ..values import Value
from .known_elements import MOST_ELEMENTS, NotKnown, elements, objects, result


def _numbers(node: Node, index: int) -> tuple[int, ...]:
    numbers = node.numbers(index)
    if numbers is None:
        raise NotKnown
    return numbers


def _indices(node: Node, index: int) -> Any:
    """Numbers as an array."""
    import numpy

    return numpy.array(_numbers(node, index), "int64").reshape(node.value(index).shape or ())


def _like_first(node: Node, found: Any) -> Value:
    return result(found, node.value(0).dtype)


# ---- parts ----


def gather(node: Node) -> Value:
    import numpy

    data, indices, axis = elements(node, 0), _indices(node, 1), node.int("axis", 0)
    if not -data.ndim <= axis < data.ndim:
        raise NotKnown
    size = data.shape[axis]
    if ((indices < -size) | (indices >= size)).any():
        raise NotKnown  # the program refuses it
    return _like_first(node, numpy.take(data, indices, axis))


def slice_(node: Node) -> Value:
    data = elements(node, 0)
    if node.version < 10:
        starts, ends, axes, steps = node.ints("starts"), node.ints("ends"), node.ints("axes"), None
    else:
        starts, ends = _numbers(node, 1), _numbers(node, 2)
        axes = _numbers(node, 3) if node.has(3) else None
        steps = _numbers(node, 4) if node.has(4) else None
    picks = [slice(None)] * data.ndim
    for index, axis in enumerate(range(len(starts)) if axes is None else axes):
        start, end, step = starts[index], ends[index], steps[index] if steps else 1
        if step < 0:
            # Down from an element that there is; Python's end for "down to the first" is none at all.
            start = max(start, -data.shape[axis])
            end = None if end < -data.shape[axis] else end
        picks[axis] = slice(start, end, step)
    return _like_first(node, data[tuple(picks)])


def split(node: Node) -> list[Value]:
    import numpy

    data, axis = elements(node, 0), node.int("axis", 0)
    lengths = node.ints("split") or (list(_numbers(node, 1)) if node.has(1) else None)
    if lengths is None:
        length = -(-data.shape[axis] // node.output_count)
        lengths = [length] * (node.output_count - 1)
        lengths.append(data.shape[axis] - sum(lengths))
    if len(lengths) != node.output_count or sum(lengths) != data.shape[axis] or min(lengths) < 0:
        raise NotKnown
    return [_like_first(node, part) for part in numpy.split(data, numpy.cumsum(lengths)[:-1], axis)]


def non_zero(node: Node) -> Value:
    import numpy

    numbers = _indices(node, 0)
    if numbers.ndim == 0:
        raise NotKnown
    return Value(array=numpy.array(numpy.nonzero(numbers), "int64"))


# ---- shapes and orders ----


def _axes(node: Node) -> tuple[int, ...] | None:
    if node.version >= 13:
        return _numbers(node, 1) if node.has(1) else None
    axes = node.ints("axes")
    return None if axes is None else tuple(axes)


def squeeze(node: Node) -> Value:
    import numpy

    return _like_first(node, numpy.squeeze(elements(node, 0), _axes(node)))


def unsqueeze(node: Node) -> Value:
    import numpy

    axes = _axes(node)
    if axes is None:
        raise NotKnown
    return _like_first(node, numpy.expand_dims(elements(node, 0), axes))


def reshape(node: Node) -> Value:
    shape = _numbers(node, 1) if node.version >= 5 else node.ints("shape", [])
    data = elements(node, 0)
    if 0 in shape and node.int("allowzero", 0):
        raise NotKnown
    return _like_first(node, data.reshape([data.shape[axis] if size == 0 else size for axis, size in enumerate(shape)]))


def transpose(node: Node) -> Value:
    return _like_first(node, elements(node, 0).transpose(node.ints("perm")))


# ---- more of them ----


def concat(node: Node) -> Value:
    import numpy

    parts = [elements(node, index) for index in range(len(node.inputs))]
    return _like_first(node, numpy.concatenate(parts, node.int("axis", 1)))


def _require_few(count: int) -> None:
    if count > MOST_ELEMENTS:
        raise NotKnown


def expand(node: Node) -> Value:
    import numpy

    data, shape = elements(node, 0), _numbers(node, 1)
    _require_few(math.prod(shape) * data.size)
    common = numpy.broadcast_shapes(data.shape, shape)
    return _like_first(node, numpy.broadcast_to(data, common))


def tile(node: Node) -> Value:
    import numpy

    data, repeats = elements(node, 0), _numbers(node, 1)
    if node.version < 6 or len(repeats) != data.ndim:
        raise NotKnown
    _require_few(math.prod(repeats) * data.size)
    return _like_first(node, numpy.tile(data, repeats))


def constant_of_shape(node: Node) -> Value:
    import numpy

    shape = _numbers(node, 0)
    value = node.array("value", numpy.zeros(1, "float32"))
    if value.dtype.kind not in "iub" or value.size != 1:
        raise NotKnown
    _require_few(math.prod(shape))
    return Value(array=numpy.full(shape, value.ravel()[0]))


def range_(node: Node) -> Value:
    start, stop, step = (_numbers(node, index)[0] for index in range(3))
    if step == 0 or abs(stop - start) > MOST_ELEMENTS * abs(step):
        raise NotKnown
    return _like_first(node, objects(list(range(start, stop, step))))


# ---- written to ----


def scatter_elements(node: Node) -> Value:
    data, updates = elements(node, 0).copy(), elements(node, 2)
    if data.ndim != 1 or node.string("reduction", "none") != "none":
        raise NotKnown
    for place, update in zip(_numbers(node, 1), updates, strict=True):
        data[place] = update
    return _like_first(node, data)


def scatter_nd(node: Node) -> Value:
    import numpy

    data, indices, updates = elements(node, 0).copy(), _indices(node, 1), elements(node, 2)
    if indices.ndim == 0 or node.string("reduction", "none") != "none":
        raise NotKnown
    for at in numpy.ndindex(*indices.shape[:-1]):
        data[tuple(indices[at])] = updates[at]
    return _like_first(node, data)


def where(node: Node) -> Value:
    import numpy

    chosen = _indices(node, 0).astype(bool)
    return result(numpy.where(chosen, elements(node, 1), elements(node, 2)), node.value(1).dtype)
