# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorts by a comparator, and the largest elements.

A comparator may compare functions of either side, one or several in turn. Then these functions are sort keys. For any
other comparator all pairs of elements are compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.ir import Value as IRValue
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.frontends.core.values import Held

from ..hlo_attributes import value_of
from ..prelude import HloNode, Outputs, Tensor, cast, info_of, register_stablehlo, relax, sizes
from .elementwise import in_total_order
from .reductions import maker_of, of_parts, shape_of

#: Limit of compared pairs for a comparator of unknown form.
_MOST_PAIRS = 1 << 26


class Key(NamedTuple):
    """Sort key: the value in a comparator for the left side."""

    value: IRValue
    is_descending: bool
    is_total: bool


@register_stablehlo("stablehlo.sort")
def sort(node: HloNode) -> Outputs:
    operands = [node.held(index) for index in range(len(node.inputs))]
    shape = shape_of(operands[0])
    axis = node.attr("dimension", len(shape) - 1) % max(len(shape), 1)
    if not shape:
        return operands
    keys = _keys(list(node.body().operations)[-1].operands[0])
    order = _order_by_pairs(node, operands, axis) if keys is None else _order_by_keys(node, operands, keys, axis)
    return [of_parts(operand, lambda x: relax.gather_elements(x, order, axis=axis)) for operand in operands]


# ---- by keys ----


def _keys(value: IRValue) -> list[Key] | None:
    """Return the keys that a comparator's result compares in turn: `a < b`, or `a < b or (a == b and ...)`."""
    if (maker := maker_of(value)) is None:
        return None
    if maker.name == "stablehlo.compare":
        key = _key(maker, ("LT", "GT"))
        return None if key is None else [key]
    if maker.name != "stablehlo.or":
        return None
    for first, rest in (maker.operands, reversed(list(maker.operands))):
        keys, later = _keys(first), _where_equal(rest)
        if keys is not None and len(keys) == 1 and later is not None and _same(later[0], keys[0]):
            return [*keys, *later[1]]
    return None


def _where_equal(value: IRValue) -> tuple[IRValue, list[Key]] | None:
    """Return the equal key and the later keys of `a == b and ...`, or None."""
    if (maker := maker_of(value)) is None or maker.name != "stablehlo.and":
        return None
    for one, rest in (maker.operands, reversed(list(maker.operands))):
        equal, keys = maker_of(one), _keys(rest)
        if equal is None or equal.name != "stablehlo.compare" or keys is None:
            continue
        if (key := _key(equal, ("EQ",))) is not None:
            return key.value, keys
    return None


def _same(value: IRValue, key: Key) -> bool:
    """Check whether two values of the left side are computed the same way."""
    return _text(value) == _text(key.value)


def _text(value: IRValue) -> str:
    if (maker := maker_of(value)) is None:
        return f"argument {value.arg_number}"
    if maker.name == "stablehlo.constant":
        return maker.get_asm().partition("=")[2]
    attributes = ", ".join(f"{name}={maker.attributes[name]}" for name in maker.attributes)
    return f"{maker.name}({', '.join(map(_text, maker.operands))}; {attributes})"


def _key(compare: Operation, directions: Sequence[str]) -> Key | None:
    direction = value_of(compare.attributes["comparison_direction"])
    left, right = compare.operands
    sides = [_side(each) for each in (left, right)]
    if direction not in directions or set(sides) != {0, 1}:
        return None
    is_swapped = sides == [1, 0]
    one, other = (right, left) if is_swapped else (left, right)
    # The arguments are in pairs: the left element of each operand, then the right one.
    if _text(one) != re.sub(r"argument (\d+)", lambda found: f"argument {int(found[1]) - 1}", _text(other)):
        return None
    is_total = "compare_type" in compare.attributes and value_of(compare.attributes["compare_type"]) == "TOTALORDER"
    return Key(one, (direction == "GT") != is_swapped, is_total)


def _side(value: IRValue) -> int | None:
    """Return 0 if a value depends on left elements only, 1 on right ones, 2 on both; None on neither."""
    if (maker := maker_of(value)) is None:
        return int(value.arg_number) % 2
    if not (sides := {_side(operand) for operand in maker.operands} - {None}):
        return None
    return sides.pop() if len(sides) == 1 else 2


def _order_by_keys(node: HloNode, operands: Sequence[Held], keys: Sequence[Key], axis: int) -> Tensor:
    """Return the order of stable sorts by each key, the last key first."""
    both = [each for operand in operands for each in (operand, operand)]
    held = node.graph.values_in(node.body(), both, [key.value for key in keys])
    order: Tensor | None = None
    for key, value in reversed(list(zip(keys, held, strict=True))):
        found = _comparable(value.ssa, key)
        if order is not None:
            found = relax.gather_elements(found, order, axis=axis)
        step = relax.argsort(found, axis=axis, descending=key.is_descending, dtype="i64")
        order = step if order is None else relax.gather_elements(order, step, axis=axis)
    assert order is not None
    return order


def _comparable(x: Tensor, key: Key) -> Tensor:
    dtype = info_of(x).dtype
    if key.is_total and is_float(dtype):
        return in_total_order(x)
    return cast(x, "i8") if dtype == "i1" else x


# ---- by all pairs ----


def _order_by_pairs(node: HloNode, operands: Sequence[Held], axis: int) -> Tensor:
    """Return the rank of each element: the number of smaller elements, and of equal elements before it."""
    shape = shape_of(operands[0])
    size = shape[axis]
    count = sizes.product(shape)
    if not isinstance(size, int) or not isinstance(count, int) or size * count > _MOST_PAIRS:
        raise node.fail("its comparator has no known form, and there are too many elements to compare all pairs")
    last = len(shape)

    def as_rows(held: Held, place: int) -> Held:
        """Return the elements along the last two dimensions, as columns or as rows."""
        order = [*(index for index in range(last) if index != axis), axis]
        return of_parts(held, lambda x: relax.expand_dims(relax.permute_dims(x, axes=order), axis=[place]))

    def compared(left: int, right: int) -> Tensor:
        wide = [*(each for place, each in enumerate(shape) if place != axis), size, size]
        given = [
            of_parts(as_rows(operand, place), lambda x: sizes.broadcast(x, wide))
            for operand in operands
            for place in (left, right)
        ]
        found = node.on_tensors(given)[0]
        return found.ssa

    # [..., i, j]: True if j is ordered before i, and the other way round.
    before, behind = compared(last - 1, last), compared(last, last - 1)
    places = sizes.count_up(size)
    is_earlier = relax.less(relax.expand_dims(places, axis=[0]), relax.expand_dims(places, axis=[1]))
    ties = relax.logical_and(relax.logical_not(behind), is_earlier)
    ranks = relax.sum(cast(relax.logical_or(before, ties), "i64"), axis=[last])
    back = [*range(axis), last - 1, *range(axis, last - 1)]
    return relax.argsort(relax.permute_dims(ranks, axes=back), axis=axis, dtype="i64")


@register_stablehlo("chlo.top_k")
def top_k(node: HloNode) -> Outputs:
    """Select the largest elements of the last dimension, in the total order. Ties go to the lowest index."""
    x = node.tensor(0)
    first = _first(x, x.type.rank - 1, node.attr("k"), is_descending=True)
    place_type = str(node.operation.results[1].type.element_type)
    return [relax.gather_elements(x, first, axis=x.type.rank - 1), cast(first, place_type)]


def _first(x: Tensor, axis: int, count: int, is_descending: bool) -> Tensor:
    """Return the indices of the largest or smallest elements."""
    key = in_total_order(x) if is_float(info_of(x).dtype) else x
    order = relax.argsort(key, axis=axis, descending=is_descending, dtype="i64")
    return relax.strided_slice(order, axes=[axis], begin=[0], end=[count])


@register_stablehlo("custom_call @ApproxTopK")
def approximate_top_k(node: HloNode) -> Outputs:
    """Return the exact first elements along a dimension, and the elements of a second tensor at the same indices."""
    x, others = node.tensor(0), node.tensor(1)
    axis = node.attr("mhlo.backend_config")["reduction_dim"]
    (comparator,) = node.attr("called_computations")
    is_descending = "_gt_" in comparator  # names that jax uses
    if not is_descending and "_lt_" not in comparator:
        raise node.fail(f"its comparator '{comparator}' has no known name", "called_computations")
    first = _first(x, axis, node.static_shape()[axis], is_descending)
    return [relax.gather_elements(each, first, axis=axis) for each in (x, others)]
