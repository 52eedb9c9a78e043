# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters that read, write and find elements by index."""

from __future__ import annotations

from relax_mlir.dialects.core.infos import is_float
from relax_mlir.emit.axis_reduction import highest, lowest

from ..prelude import (
    Convert,
    Outputs,
    Tensor,
    TfliteNode,
    Value,
    cast,
    const,
    register_rows,
    register_tflite,
    relax,
    sizes,
)

#: Largest finite number of f32.
_LARGEST = (2 - 2**-23) * 2.0**127


@register_tflite("GATHER")
def gather(node: TfliteNode) -> Outputs:
    """Convert GATHER: slices along an axis. The leading dimensions of data and indices may be batch dimensions."""
    rank, shared = node.rank(0), node.attr("batch_dims", 0)
    axis = node.axis_of(node.attr("axis", 0), rank)
    shared = shared + node.rank(1) if shared < 0 else shared
    if not shared:
        return relax.take(node.tensor(0), node.integers(1), axis=axis)
    if not 0 <= shared <= min(axis, node.rank(1)):
        raise node.fail(
            f"{shared} batch dimensions do not fit indices of rank {node.rank(1)} and axis {axis}", "batch_dims"
        )
    # The axis moves behind the batch dimensions, so the indices' other dimensions are there in the result, too.
    between = list(range(shared, axis))
    behind = list(range(axis + 1, rank))
    moved = relax.permute_dims(node.tensor(0), axes=[*range(shared), axis, *between, *behind])
    made = relax.gather_nd(moved, relax.expand_dims(node.integers(1), axis=[-1]), batch_dims=shared)
    first = shared + (node.rank(1) - shared)
    last = first + len(between)
    order = [*range(shared), *range(first, last), *range(shared, first), *range(last, last + len(behind))]
    return relax.permute_dims(made, axes=order)


@register_tflite("SCATTER_ND")
def scatter_nd(node: TfliteNode) -> Outputs:
    """Convert SCATTER_ND of the operands indices, updates and shape. Updates of the same element are added."""
    base = sizes.zeros(node.sizes_in(2), node.dtype)
    return relax.scatter_nd(base, node.integers(0), node.tensor(1), reduction="add")


@register_tflite("SPARSE_TO_DENSE")
def sparse_to_dense(node: TfliteNode) -> Outputs:
    """Convert SPARSE_TO_DENSE of the operands indices, shape, values and default value."""
    base = sizes.full(node.sizes_in(1), relax.reshape(node.tensor(3), ()))
    indices, rank = node.integers(0), node.rank(0)
    if rank < 2:
        indices = relax.expand_dims(indices, axis=[-1])
    if rank == 0:
        indices = relax.expand_dims(indices, axis=[0])
    (count, _) = sizes.sizes_of(Value(ssa=indices))
    return relax.scatter_nd(base, indices, sizes.broadcast(node.tensor(2), [count]))


@register_tflite("WHERE")
def where(node: TfliteNode) -> Outputs:
    """Convert WHERE: one row with the indices of each nonzero element."""
    return cast(relax.permute_dims(relax.nonzero(node.tensor(0)), axes=[1, 0]), node.dtype)


@register_tflite("REVERSE_SEQUENCE")
def reverse_sequence(node: TfliteNode) -> Outputs:
    rank = node.rank(0)
    axis, batch = (node.axis_of(node.attr(name), rank, name) for name in ("seq_dim", "batch_dim"))
    return relax.reverse_sequence(node.tensor(0), node.integers(1), seq_axis=axis, batch_axis=batch)


@register_tflite("DYNAMIC_UPDATE_SLICE")
def dynamic_update_slice(node: TfliteNode) -> Outputs:
    """Convert DYNAMIC_UPDATE_SLICE. The start indices are clamped so that the update is within the data."""
    own, written = node.sizes_of(0), node.sizes_of(1)
    made, starts = node.tensor(1), node.integers(2)
    places = None
    limits = sizes.as_tensor([sizes.minus(size, part) for size, part in zip(own, written, strict=True)])
    starts = relax.minimum(relax.maximum(starts, const(0, "i64")), limits)
    flat_size: sizes.Size = 1
    for axis in reversed(range(len(own))):
        along = relax.add(sizes.positions(written, axis), sizes.element(starts, axis))
        along = relax.multiply(along, sizes.as_tensor([flat_size]))
        places = along if places is None else relax.add(places, along)
        flat_size = sizes.times(flat_size, own[axis])
    assert places is not None
    return _write(node, made, sizes.broadcast(places, written), flat_size)


def _write(node: TfliteNode, update: Tensor, places: Tensor, count: sizes.Size) -> Tensor:
    """Write elements to the flattened data of `count` elements, at flat indices, and restore the shape."""
    flat = sizes.reshaped(node.tensor(0), [count])
    made = relax.scatter_elements(flat, relax.flatten(places), relax.flatten(update), axis=0)
    return sizes.reshaped(made, node.sizes_of(0))


@register_tflite("SEGMENT_SUM")
def segment_sum(node: TfliteNode) -> Outputs:
    """Convert SEGMENT_SUM: the sum of the slices of each segment.

    The segment ids are sorted, so the last one determines the number of sums.
    """
    if (ids := node.numbers(1)) is None or not ids:
        raise node.fail("the number of sums is not known at import")
    return _sums(node, max(ids) + 1)


def _sums(node: TfliteNode, count: sizes.Size, reduction: str = "add") -> Tensor:
    """Reduce the slices of each segment. The result of an empty segment is the identity of the reduction."""
    least, most = (-_LARGEST, _LARGEST) if is_float(node.dtype) else (lowest(node.dtype), highest(node.dtype))
    first = {"add": 0, "mul": 1, "max": least, "min": most}[reduction]
    base = sizes.full([count, *node.sizes_of(0)[node.rank(1) :]], const(first, node.dtype))
    places = relax.expand_dims(node.integers(1), axis=[-1])
    return relax.dialect.ops["scatter_nd"](base, places, node.tensor(0), reduction=reduction)


def _make_segment_converter(reduction: str) -> Convert:
    return lambda node: _sums(node, node.size_in(2), reduction)


register_rows(
    {
        "UNSORTED_SEGMENT_SUM": _make_segment_converter("add"),
        "UNSORTED_SEGMENT_PROD": _make_segment_converter("mul"),
        "UNSORTED_SEGMENT_MAX": _make_segment_converter("max"),
        "UNSORTED_SEGMENT_MIN": _make_segment_converter("min"),
        "GATHER_ND": lambda node: relax.gather_nd(node.tensor(0), node.integers(1)),
        "EMBEDDING_LOOKUP": lambda node: relax.take(node.tensor(1), node.integers(0), axis=0),
    }
)
