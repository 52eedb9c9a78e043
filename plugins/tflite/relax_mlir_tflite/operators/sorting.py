# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters that sort elements and remove duplicates."""

from __future__ import annotations

from ..prelude import Outputs, TfliteNode, Value, cast, const, register_tflite, relax, sizes


@register_tflite("TOPK_V2")
def top_k(node: TfliteNode) -> Outputs:
    """Convert TOPK_V2: the largest elements of each row, and their indices."""
    count = node.number(1)
    most = count if count is not None and count > 0 else 0
    ordered = relax.topk(node.tensor(0), k=most, axis=-1, dtype=node.results[1].dtype)
    if most:
        return list(ordered)
    last = node.rank(0) - 1
    return [sizes.sliced(Value(ssa=each), {last: (0, node.size_in(1), 1)}) for each in ordered]


@register_tflite("BUCKETIZE")
def bucketize(node: TfliteNode) -> Outputs:
    """Count, for each element, the boundaries that are less than or equal to it."""
    boundaries = const(node.attr("boundaries"), "f32")
    return relax.bucketize(cast(node.tensor(0), "f32"), boundaries, out_int32=True, right=True)


@register_tflite("UNIQUE")
def unique(node: TfliteNode) -> Outputs:
    """Convert UNIQUE: the distinct elements in order of first occurrence, and the index of each element among them."""
    values, index = relax.unique(node.tensor(0), False, False, True, False)
    return [values, cast(index, node.results[1].dtype)]
