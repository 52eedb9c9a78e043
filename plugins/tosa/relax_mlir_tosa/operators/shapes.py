# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic on shapes at import, on sizes that are constants or symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.passes.evaluate.elements import objects

from ..prelude import Convert, Outputs, TosaNode, Value, known, register_rows, register_tosa, relax, sizes

Size = sizes.Size


def as_value(found: Sequence[Size]) -> Value:
    return known(objects(found)) if sizes.is_known(*found) else Value(ssa=sizes.as_tensor(found))


def _make_pair_converter(function: Callable[[Size, Size], Size]) -> Convert:
    return lambda node: as_value(list(map(function, node.known_sizes(0), node.known_sizes(1))))


def _make_shape_converter(function: Callable[[int], int]) -> Convert:
    return lambda node: known([function(each) for each in node.known_shape(0)])


def _rest(left: Size, right: Size) -> Size:
    return sizes.minus(left, sizes.times(sizes.divided(left, right), right))


def _divide_up(left: Size, right: Size) -> Size:
    return sizes.divided(sizes.minus(sizes.plus(left, right), 1), right)


register_rows(
    {
        "tosa.add_shape": _make_pair_converter(sizes.plus),
        "tosa.sub_shape": _make_pair_converter(sizes.minus),
        "tosa.mul_shape": _make_pair_converter(sizes.times),
        "tosa.div_floor_shape": _make_pair_converter(sizes.divided),
        "tosa.div_ceil_shape": _make_pair_converter(_divide_up),
        "tosa.mod_shape": _make_pair_converter(_rest),
        "tosa.max_shape": _make_pair_converter(sizes.larger),
        "tosa.min_shape": _make_pair_converter(sizes.smaller),
        "tosa.exp2_shape": _make_shape_converter(lambda each: 1 << each),
        "tosa.log2_floor_shape": _make_shape_converter(lambda each: each.bit_length() - 1),
        "tosa.log2_ceil_shape": _make_shape_converter(lambda each: (each - 1).bit_length()),
        "tosa.dim": lambda node: as_value([node.sizes_of_operand(0)[node.attr("axis")]]),
    }
)


@register_tosa("tosa.concat_shape")
def concat_shape(node: TosaNode) -> Outputs:
    return as_value([size for index in range(len(node.inputs)) for size in node.known_sizes(index)])


@register_tosa("tosa.slice_shape")
def slice_shape(node: TosaNode) -> Outputs:
    (start,), (count,) = node.known_shape(1), node.known_shape(2)
    return as_value(node.known_sizes(0)[start : start + count])


@register_tosa("tosa.assert_equal_shape")
def assert_equal_shape(node: TosaNode) -> Outputs:
    """Check that shapes are equal. A size of 1 matches any size if broadcasting is allowed."""
    may_broadcast = node.attr("allow_broadcast")
    for left, right in zip(node.known_sizes(0), node.known_sizes(1), strict=True):
        if may_broadcast and 1 in [each for each in (left, right) if isinstance(each, int)]:
            continue
        if not isinstance(left, int) or not isinstance(right, int):
            _check(left, right, may_broadcast)
        elif left != right:
            raise node.fail(f"the shapes differ: {left} and {right}")
    return []


def _check(left: Size, right: Size, may_broadcast: bool) -> None:
    one, other = (relax.reshape(sizes.as_tensor([size]), ()) for size in (left, right))
    holds = relax.equal(one, other)
    if may_broadcast:
        for each in (one, other):
            holds = relax.logical_or(holds, relax.equal(each, relax.ones_like(each)))
    relax.assert_op(holds, format="tosa.assert_equal_shape: the shapes differ")
