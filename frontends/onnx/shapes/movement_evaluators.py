# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What moves known elements: gathering, joining, slicing, other shapes and orders."""

from __future__ import annotations

import math
from typing import Any

from ..prelude import Node, Value
from ..tensors import Array
from .known_elements import MOST_ELEMENTS, NotKnown, by_numpy, elements, objects, result


def _numbers(node: Node, index: int) -> tuple[int, ...]:
    numbers = node.numbers(index)
    if numbers is None:
        raise NotKnown
    return numbers


def _indices(node: Node, index: int) -> Array:
    """Numbers as an array."""
    import numpy

    return numpy.array(_numbers(node, index), "int64").reshape(node.value(index).shape or ())


def _like_first(node: Node, found: Any) -> Value:
    return result(found, node.value(0).dtype)


def _moved(node: Node, name: str, *arguments: Any) -> Value:
    """What numpy's function of a name makes of elements of the first input."""
    import numpy

    return _like_first(node, by_numpy(getattr(numpy, name), *arguments))


# ---- parts ----


def gather(node: Node) -> Value:
    data, indices = elements(node, 0), _indices(node, 1)
    axis = node.axis(data.ndim, 0)
    size = data.shape[axis]
    if ((indices < -size) | (indices >= size)).any():
        raise NotKnown  # the program refuses it
    return _moved(node, "take", data, indices, axis)


def slice_(node: Node) -> Value:
    data = elements(node, 0)
    if node.version < 10:
        starts, ends, axes, steps = node.ints("starts"), node.ints("ends"), node.ints("axes"), None
    else:
        starts, ends, axes, steps = (
            _numbers(node, index) if index < 3 or node.has(index) else None for index in range(1, 5)
        )
    picks = [slice(None)] * data.ndim
    places = range(len(starts)) if axes is None else axes
    strides = [1] * len(starts) if steps is None else steps
    if len({len(starts), len(ends), len(places), len(strides)}) != 1 or 0 in strides:
        raise NotKnown
    for start, end, place, step in zip(starts, ends, places, strides, strict=True):
        axis = node.axis_of(place, data.ndim)
        if step < 0:
            # Down from an element that there is; Python's end for "down to the first" is none at all.
            start = max(start, -data.shape[axis])
            end = None if end < -data.shape[axis] else end
        picks[axis] = slice(start, end, step)
    return _like_first(node, data[tuple(picks)])


def split(node: Node) -> list[Value]:
    import numpy

    data = elements(node, 0)
    axis = node.axis(data.ndim, 0)
    lengths = node.ints("split") or (list(_numbers(node, 1)) if node.has(1) else None)
    if lengths is None:
        length = -(-data.shape[axis] // node.output_count)
        lengths = [length] * (node.output_count - 1)
        lengths.append(data.shape[axis] - sum(lengths))
    if not lengths or len(lengths) != node.output_count or sum(lengths) != data.shape[axis] or min(lengths) < 0:
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
    return _moved(node, "squeeze", elements(node, 0), _axes(node))


def unsqueeze(node: Node) -> Value:
    axes = _axes(node)
    if axes is None:
        raise NotKnown
    return _moved(node, "expand_dims", elements(node, 0), axes)


def reshape(node: Node) -> Value:
    shape = _numbers(node, 1) if node.version >= 5 else node.ints("shape", [])
    data = elements(node, 0)
    if 0 in shape and node.int("allowzero", 0) or 0 in shape[data.ndim :]:
        raise NotKnown
    sizes = [data.shape[axis] if size == 0 else size for axis, size in enumerate(shape)]
    return _moved(node, "reshape", data, sizes)


def transpose(node: Node) -> Value:
    return _moved(node, "transpose", elements(node, 0), node.ints("perm"))


# ---- more of them ----


def concat(node: Node) -> Value:
    parts = [elements(node, index) for index in range(len(node.inputs))]
    return _moved(node, "concatenate", parts, node.int("axis", 1))


def _require_few(count: int) -> None:
    if count > MOST_ELEMENTS:
        raise NotKnown


def expand(node: Node) -> Value:
    import numpy

    data, shape = elements(node, 0), _numbers(node, 1)
    _require_few(math.prod(shape) * data.size)
    common = by_numpy(numpy.broadcast_shapes, data.shape, shape)
    return _moved(node, "broadcast_to", data, common)


def tile(node: Node) -> Value:
    data, repeats = elements(node, 0), _numbers(node, 1)
    if node.version < 6 or len(repeats) != data.ndim or min(repeats, default=0) < 0:
        raise NotKnown
    _require_few(math.prod(repeats) * data.size)
    return _moved(node, "tile", data, repeats)


def constant_of_shape(node: Node) -> Value:
    import numpy

    shape = _numbers(node, 0)
    value = node.array("value", numpy.zeros(1, "float32"))
    if value.dtype.kind not in "iub" or value.size != 1:
        raise NotKnown
    _require_few(math.prod(shape))
    return Value(array=by_numpy(numpy.full, shape, value.ravel()[0]))


def range_(node: Node) -> Value:
    start, stop, step = (node.number(index) for index in range(3))
    if start is None or stop is None or not step or abs(stop - start) > MOST_ELEMENTS * abs(step):
        raise NotKnown
    return _like_first(node, objects(list(range(start, stop, step))))


# ---- written to ----


def scatter_elements(node: Node) -> Value:
    data, places, updates = elements(node, 0).copy(), list(_numbers(node, 1)), elements(node, 2)
    if data.ndim != 1 or updates.shape != (len(places),) or node.string("reduction", "none") != "none":
        raise NotKnown
    by_numpy(data.__setitem__, places, updates)
    return _like_first(node, data)


def scatter_nd(node: Node) -> Value:
    import numpy

    data, indices, updates = elements(node, 0).copy(), _indices(node, 1), elements(node, 2)
    if indices.ndim == 0 or node.string("reduction", "none") != "none":
        raise NotKnown
    for at in numpy.ndindex(*indices.shape[:-1]):
        by_numpy(data.__setitem__, tuple(indices[at]), by_numpy(updates.__getitem__, at))
    return _like_first(node, data)


def where(node: Node) -> Value:
    import numpy

    chosen = _indices(node, 0).astype(bool)
    found = by_numpy(numpy.where, chosen, elements(node, 1), elements(node, 2))
    return result(found, node.value(1).dtype)
