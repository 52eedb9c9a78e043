# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters between the rows of a jagged nested tensor and padded sequences [batch, length, ...]."""

from __future__ import annotations

from relax_mlir.dialects.relax.infer.slices import OPEN

from ..prelude import Outputs, Tensor, TorchNode, Value, cast, const, register_torch, relax, sizes
from .assertions import stop_where


def _bounds(node: TorchNode) -> tuple[Tensor, Tensor, Tensor]:
    """Return the first row of each sequence, the row after each sequence, and the last offset."""
    if len(node.values("offsets")) != 1:
        raise node.fail("only one jagged dimension is supported", "offsets")
    offsets = Value(ssa=node.tensors("offsets", "i64")[0])
    begins, ends, last = (sizes.sliced(offsets, {0: (*each, 1)}) for each in ((0, -1), (1, OPEN), (-1, OPEN)))
    is_wrong = relax.logical_or(relax.less(begins, const(0, "i64")), relax.less(ends, begins))
    stop_where(is_wrong, "the offsets of a nested tensor must not be negative, and must not decrease")
    return begins, ends, last


@register_torch("aten::_jagged_to_padded_dense_forward")
def padded_from_jagged(node: TorchNode) -> Outputs:
    """Convert rows to padded sequences. A sequence that is too long loses its last rows."""
    values, (length,) = node.value("values"), node.sizes("max_lengths")
    count, *rest = sizes.sizes_of(values)
    begins, ends, last = _bounds(node)
    behind = sizes.as_scalar(count, "i64")
    stop_where(relax.greater(last, behind), "the offsets of a nested tensor exceed its number of rows")
    places = relax.add(relax.expand_dims(begins, axis=[1]), sizes.count_up(length))
    index = relax.where(relax.less(places, relax.expand_dims(ends, axis=[1])), places, behind)
    padding = cast(const(node.float("padding_value", 0.0), "f64"), values.dtype)
    return relax.take(relax.concat([values.ssa, sizes.full([1, *rest], padding)], axis=0), index, axis=0)


@register_torch("aten::_padded_dense_to_jagged_forward")
def jagged_from_padded(node: TorchNode) -> Outputs:
    """Convert padded sequences to rows. The last offset is the number of rows."""
    batch, length, *rest = sizes.sizes_of(node.value("dense"))
    begins, ends, last = _bounds(node)
    longest = sizes.as_scalar(length, "i64")
    stop_where(relax.greater(relax.subtract(ends, begins), longest), "a sequence is longer than the padded tensor")
    total = node.size("total_L") if node.has("total_L") else last
    stop_where(relax.not_equal(last, sizes.as_scalar(total, "i64")), "final offset should match total_L value")
    rows = sizes.count_up(total)
    sequences = relax.bucketize(rows, ends, right=True)
    within = relax.subtract(rows, relax.take(begins, sequences, axis=0))
    flat = sizes.reshaped(node.tensor("dense"), [sizes.times(batch, length), *rest])
    return relax.take(flat, relax.add(relax.multiply(sequences, longest), within), axis=0)
