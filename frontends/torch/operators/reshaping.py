# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that give the same elements another shape or order, or repeat them. Views are tensors of their own."""

from __future__ import annotations

from collections.abc import Sequence

from ..prelude import Node, Outputs, Value, register_torch, relax, sizes

# ---- shape ----


@register_torch(
    "aten::view.default", "aten::view_copy.default", "aten::_unsafe_view", "aten::reshape", "aten::_reshape_copy",
    "aten::_reshape_alias", "aten::flatten", "aten::unflatten", "aten::ravel", "aten::view_as", "aten::reshape_as",
)  # fmt: skip
def reshape(node: Node) -> Outputs:
    """torch knows the sizes of the result, those that -1 stands for too."""
    return _in_shape(node.value(0), node.sizes_of_result)


def _in_shape(value: Value, wanted: Sequence[sizes.Size]) -> Value:
    if value.shape is not None and list(value.shape) == list(wanted):
        return value
    return Value(ssa=sizes.reshaped(value.ssa, wanted))


@register_torch(
    "aten::squeeze", "aten::squeeze_copy", "aten::unsqueeze", "aten::unsqueeze_copy", "aten::atleast_1d",
    "aten::atleast_2d", "aten::atleast_3d",
)  # fmt: skip
def squeeze(node: Node) -> Outputs:
    """Which dimensions of unknown size have one element torch has decided: the result's rank says it."""
    x, name = node.value(0), node.op.partition("::")[2].partition(".")[0]
    if name.startswith("unsqueeze"):
        return relax.expand_dims(x.ssa, axis=[node.axis("dim", node.rank(0) + 1)])
    return _in_shape(x, node.sizes_of_result)


# ---- order ----


def _permuted(value: Value, order: Sequence[int]) -> Value:
    if list(order) == sorted(order):
        return value
    return Value(ssa=relax.permute_dims(value.ssa, axes=list(order)))


@register_torch("aten::permute", "aten::permute_copy")
def permute(node: Node) -> Outputs:
    rank = node.rank(0)
    return _permuted(node.value(0), [node.axis_of(axis, rank) for axis in node.ints("dims")])


@register_torch("aten::transpose", "aten::transpose_copy", "aten::swapaxes", "aten::swapdims")
def transpose(node: Node) -> Outputs:
    first, second = (node.axis(place, node.rank(0)) for place in (1, 2))
    order = list(range(node.rank(0)))
    if order:
        order[first], order[second] = second, first
    return _permuted(node.value(0), order)


@register_torch("aten::t", "aten::t_copy", "aten::mT", "aten::mH", "aten::adjoint")
def transpose_matrix(node: Node) -> Outputs:
    """The last two dimensions exchanged; what has fewer stays as it is."""
    *front, first, second = [-1, -1, *range(node.rank(0))]
    return node.value(0) if first < 0 else _permuted(node.value(0), [*front[2:], second, first])


@register_torch("aten::numpy_T", "aten::matrix_H")
def reverse_dimensions(node: Node) -> Outputs:
    return _permuted(node.value(0), range(node.rank(0))[::-1])


@register_torch("aten::movedim", "aten::moveaxis")
def movedim(node: Node) -> Outputs:
    rank = node.rank(0)
    sources, places = ([node.axis_of(axis, max(rank, 1)) for axis in node.ints(key)] for key in (1, 2))
    rest = iter([axis for axis in range(rank) if axis not in sources])
    moved = dict(zip(places, sources, strict=True))
    return _permuted(node.value(0), [moved[place] if place in moved else next(rest) for place in range(rank)])


@register_torch("aten::flip")
def flip(node: Node) -> Outputs:
    x = node.tensor(0)
    for axis in node.ints("dims"):
        x = relax.flip(x, axis=node.axis_of(axis, max(node.rank(0), 1))) if node.rank(0) else x
    return x


# ---- copies ----


@register_torch("aten::expand", "aten::expand_copy", "aten::expand_as", "aten::broadcast_to")
def expand(node: Node) -> Outputs:
    x, wanted = node.value(0), node.sizes_of_result
    return x if list(x.shape or ()) == wanted and x.rank == len(wanted) else sizes.broadcast(x.ssa, wanted)
