# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements of constant tensors, checked against the shape. Dense elements stay in the file's bytes without a copy."""

from __future__ import annotations

import math

from relax_mlir.dialects.relax.constants import storage_dtype
from relax_mlir.frontends.core.limits import Room
from relax_mlir.frontends.core.node import Unsupported
from relax_mlir.frontends.core.values import Array

from .tflite_file import Sparsity, TensorRow, TfliteFile

#: Maximum number of elements: memory cannot contain a larger tensor.
_MOST_ELEMENTS = 2**40


def checked_shape(row: TensorRow) -> None:
    """Raise Unsupported if a size is below -1 or the shape has too many elements."""
    if any(size < -1 for size in row.shape) or math.prod(max(size, 1) for size in row.shape) > _MOST_ELEMENTS:
        raise Unsupported(f"tensor '{row.name}' has the invalid shape {row.shape}")


def constant_of(model: TfliteFile, row: TensorRow, room: Room) -> Array | None:
    """Return the stored elements of a tensor, or None if the tensor has no data in the file."""
    if not 0 <= row.buffer < len(model.buffers):
        raise Unsupported(f"tensor '{row.name}' is in buffer #{row.buffer}, but the file has {len(model.buffers)}")
    data = model.buffers[row.buffer]
    if not len(data):
        return None
    checked_shape(row)
    if -1 in row.shape:
        raise Unsupported(f"tensor '{row.name}' has elements, but its shape {row.shape} is dynamic")
    if row.type == "STRING":
        raise Unsupported(f"tensor '{row.name}' contains strings, which programs do not support")
    if not row.dtype:
        raise Unsupported(f"tensor '{row.name}': elements of type {row.type} are not supported")
    if row.sparsity is not None:
        return _dense(row, row.sparsity, _elements(row, data, None), room)
    return _elements(row, data, math.prod(row.shape)).reshape(row.shape)


def _elements(row: TensorRow, data: memoryview, count: int | None) -> Array:
    """Return exactly `count` elements, or all elements of the data if `count` is None."""
    import numpy

    dtype = storage_dtype(row.dtype)
    if row.type == "INT4":
        packed = numpy.frombuffer(data, "int8")
        stored = numpy.stack([packed << 4 >> 4, packed >> 4], axis=-1).ravel()
    else:
        stored = numpy.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype)
    if count is None:
        return stored
    padding = 1 if row.type == "INT4" else 0
    if not count <= len(stored) <= count + padding:
        raise Unsupported(
            f"tensor '{row.name}' of shape {row.shape} needs {count} elements, but its buffer has {len(stored)}"
        )
    return stored[:count]


def _dense(row: TensorRow, sparsity: Sparsity, values: Array, room: Room) -> Array:
    """Return a sparse constant as a dense array.

    The stored dimensions are the tensor's dimensions, followed by the dimensions of its blocks.
    """
    import numpy

    rank, blocks = len(row.shape), sparsity.block_map
    order, dimensions = sparsity.order, sparsity.dimensions
    refused = Unsupported(f"tensor '{row.name}' has an inconsistent sparse format")
    if sorted(order) != list(range(rank + len(blocks))) or len(dimensions) != len(order):
        raise refused
    if any(not 0 <= axis < rank for axis in blocks) or len(set(blocks)) < len(blocks):
        raise refused
    room.take_bytes(f"tensor '{row.name}'", math.prod(row.shape) * values.itemsize)
    block = [1] * rank
    for place, axis in enumerate(order):
        if axis >= rank:
            block[blocks[axis - rank]] = dimensions[place][1]
    if any(size < 1 for size in block):
        raise refused
    places = numpy.zeros((1, 0), "int64")  # indices along the dimensions processed so far, in storage order
    parts = numpy.zeros(1, "int64")
    for is_sparse, size, segments, indices in dimensions:
        if is_sparse:
            ends, found = numpy.array(segments, "int64"), numpy.array(indices, "int64")
            if len(ends) != len(parts) + 1 or (numpy.diff(ends) < 0).any() or ends[0] != 0 or ends[-1] != len(found):
                raise refused
            repeats = numpy.diff(ends)
        else:
            if size < 1 or len(parts) * size > len(values):
                raise refused
            repeats, found = numpy.full(len(parts), size), numpy.tile(numpy.arange(size), len(parts))
        places = numpy.concatenate([numpy.repeat(places, repeats, axis=0), found[:, None]], axis=1)
        parts = numpy.arange(len(found))
    if len(places) != len(values):
        raise refused
    dense = numpy.zeros(row.shape, values.dtype)
    index = [numpy.zeros(len(places), "int64") for _ in row.shape]
    for place, axis in enumerate(order):
        if axis < rank:
            index[axis] += places[:, place] * block[axis]
        else:
            index[blocks[axis - rank]] += places[:, place]
    if any(((along < 0) | (along >= size)).any() for along, size in zip(index, row.shape, strict=True)):
        raise refused
    dense[tuple(index)] = values
    return dense
