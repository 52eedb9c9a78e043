# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Joining, padding, slicing, reversing and repeating of tensors."""

from __future__ import annotations

from relax_mlir.frontends.core.padding import padded

from ..prelude import Outputs, TosaNode, Value, register_rows, register_tosa, relax, sizes
from ..tosa_types import info_of

register_rows(
    {
        "tosa.concat": lambda node: relax.concat(node.tensors(), axis=node.attr("axis")),
        "tosa.transpose": lambda node: relax.permute_dims(node.tensor(0), axes=node.attr("perms")),
        "tosa.reverse": lambda node: relax.flip(node.tensor(0), axis=node.attr("axis")),
        "tosa.tile": lambda node: sizes.tiled(node.value(0), node.known_sizes(1)),
        "tosa.identity": lambda node: list(node.inputs),
    }
)


@register_tosa("tosa.reshape")
def reshape(node: TosaNode) -> Outputs:
    """Reshape. One size may be -1, which is inferred."""
    return sizes.reshaped(node.tensor(0), sizes.with_rest(node.sizes_of_operand(0), node.known_sizes(1)))


@register_tosa("tosa.pad")
def pad(node: TosaNode) -> Outputs:
    around = node.known_sizes(1)
    pairs = {axis: (around[2 * axis], around[2 * axis + 1]) for axis in range(node.rank(0))}
    fill = node.scalar(2)
    return padded(node.value(0), pairs, "constant", relax.reshape(node.tensor(2), ()) if fill is None else fill)


@register_tosa("tosa.slice")
def slice_(node: TosaNode) -> Outputs:
    """Slice. A size of -1 extends to the end."""
    starts, counts, own = node.known_sizes(1), node.known_sizes(2), node.sizes_of_operand(0)
    ends = [
        whole if isinstance(count, int) and count == -1 else sizes.plus(start, count)
        for start, count, whole in zip(starts, counts, own, strict=True)
    ]
    bounds = {axis: (start, end, 1) for axis, (start, end) in enumerate(zip(starts, ends, strict=True))}
    return sizes.stated(sizes.sliced(node.value(0), bounds), list(info_of(node.result_types[0]).shape or ()))


@register_tosa("tensor.cast")
def tensor_cast(node: TosaNode) -> Outputs:
    """Return a tensor with a type that has more or fewer static sizes."""
    return Value(ssa=sizes.stated(node.tensor(0), list(node.info.shape or ())))
