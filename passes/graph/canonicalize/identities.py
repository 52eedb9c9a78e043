# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Algebraic identities: elementwise operations that are no-ops or equal simpler ones. Exact, including NaN."""

from __future__ import annotations

import math
from collections.abc import Callable

from ....bindings.ir import Operation, Type, Value
from ....bindings.rewriting import UPDATED, Outcome
from ....dialects.core.infos import bit_width, is_float, is_unsigned
from ....dialects.relax.known_constants import can_be_constant, is_constant, make_splat, splat
from ....dialects.relax.values import dtype_of, keeps_shape, result_type
from ...patterns.matched import Match
from ...patterns.operator_patterns import is_filled, is_op
from ...patterns.tree import Check, GraphPattern, is_const
from .rules import C, X, Y, rule

Number = int | float | bool


def _is_zero(number: Number, dtype: str) -> bool:
    return not is_float(dtype) and number == 0


def _is_positive_zero(number: Number, dtype: str) -> bool:
    # x - 0.0 is x for every x. x - -0.0 turns -0.0 into 0.0.
    return number == 0 and math.copysign(1, number) > 0


def _is_added_zero(number: Number, dtype: str) -> bool:
    # x + -0.0 is x for every x. x + 0.0 turns -0.0 into 0.0.
    return number == 0 and (not is_float(dtype) or math.copysign(1, number) < 0)


def _is_one(number: Number, dtype: str) -> bool:
    # x * 1, x / 1 and x ** 1 are x, without rounding.
    return number == 1


def _is_integer_one(number: Number, dtype: str) -> bool:
    # Floor division of floats rounds down.
    return number == 1 and not is_float(dtype)


def _is_all_ones(number: Number, dtype: str) -> bool:
    if isinstance(number, bool):
        return number
    return number == ((1 << bit_width(dtype)) - 1 if is_unsigned(dtype) else -1)


def _ops(names: str) -> list[str]:
    return [f"relax.{name}" for name in names.split()]


def _keeps_shape(kept: GraphPattern, *others: GraphPattern) -> Check:
    """Return a check that broadcasting with the others leaves an operand's shape unchanged."""
    return lambda found: keeps_shape(found[kept], *(found[other] for other in others))


# Right operands that leave the left operand unchanged.
_NEUTRAL = (
    (is_filled(_is_added_zero), _ops("add")),
    (is_filled(_is_positive_zero), _ops("subtract")),
    (is_filled(_is_one), _ops("multiply divide power")),
    (is_filled(_is_integer_one), _ops("floor_divide")),
    (is_filled(_is_zero), _ops("left_shift right_shift logical_or logical_xor bitwise_or bitwise_xor")),
    (is_filled(_is_all_ones), _ops("logical_and bitwise_and")),
)

# Right operands that are the result for every left operand. 0.0 is none: NaN * 0.0 is NaN.
_ABSORBING = (
    (is_filled(_is_zero), _ops("multiply logical_and bitwise_and")),
    (is_filled(_is_all_ones), _ops("logical_or bitwise_or")),
)

# Operators that return x for x and x. This includes NaN, and zeros have equal signs.
_SELF = _ops("logical_and logical_or bitwise_and bitwise_or maximum minimum")

# Results for n and n of integers and booleans. For floats, NaN differs from itself and inf - inf is NaN.
_SELF_NUMBER = (
    (0, _ops("subtract logical_xor bitwise_xor not_equal less greater")),
    (1, _ops("equal less_equal greater_equal")),
)

# Operand order does not matter, up to the bits of a NaN.
_COMMUTATIVE = _ops(
    "add multiply equal not_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor"
)
# For floats, maximum(0.0, -0.0) and maximum(1, NaN) may depend on the order.
_COMMUTATIVE_INTEGERS = _ops("maximum minimum")
_LESS, _GREATER, _AT_MOST, _AT_LEAST = _ops("less greater less_equal greater_equal")
_MIRRORED = {_LESS: _GREATER, _GREATER: _LESS, _AT_MOST: _AT_LEAST, _AT_LEAST: _AT_MOST}

# Operators that undo themselves: flipped sign bits, two's complement, inverted bits.
_INVOLUTIONS = _ops("negative logical_not bitwise_not")
_ROUNDINGS = _ops("ceil floor round trunc")
# Operators that keep their own results.
_IDEMPOTENT = _ops("abs sign nn.relu")

_OPPOSITE = {"relax.equal": "relax.not_equal", "relax.not_equal": "relax.equal"}
# With a NaN, a < b and a >= b are both false.
_OPPOSITE_INTEGERS = {_LESS: _AT_LEAST, _AT_LEAST: _LESS, _GREATER: _AT_MOST, _AT_MOST: _GREATER}

#: Types without rounding and NaN.
_EXACT = "integer", "bool"
_N = X.has_dtype(*_EXACT)
_TRUE, _FALSE, _rounded = is_filled(True), is_filled(False), is_op(*_ROUNDINGS)
_negative, _abs, _square = (is_op(name) for name in _ops("negative abs square"))
_not, _where = is_op("relax.logical_not"), is_op("relax.where")


def _number(number: int) -> Callable[[Match], Operation | None]:
    def make(match: Match) -> Operation | None:
        type_ = result_type(match.op())
        if not can_be_constant(type_) or _shape_differs(match[_N], type_):
            return None
        return make_splat(bool(number) if str(type_.element_type) == "i1" else number, type_)

    return make


def _shape_differs(operand: Value, type_: Type) -> bool:
    """Check whether the result's stated shape differs: a static result of a dynamic operand."""
    return not operand.type.has_rank or list(operand.type.shape) != list(type_.shape)


def swap(match: Match) -> Outcome:
    """Rewrite c + x to x + c, so that other rules look at one side only."""
    operands = match.root.operands
    operands[0], operands[1] = match[_OTHER], match[_CONSTANT]
    return UPDATED


def _is_number(match: Match) -> bool:
    return is_constant(match[_OTHER]) or splat(match[_OTHER]) is not None


_CONSTANT, _OTHER = is_const() | is_filled(), X.where(lambda found: not _is_number(found))
_inverted = _not(C)

PATTERNS = (
    rule(is_op(*_COMMUTATIVE).in_order()(_CONSTANT, _OTHER), swap, name="constant_to_right"),
    rule(
        is_op(*_COMMUTATIVE_INTEGERS).in_order()(_CONSTANT, _OTHER.has_dtype(*_EXACT)), swap, name="constant_to_right"
    ),
    # c < x is x > c.
    *(
        rule(is_op(name)(_CONSTANT, _OTHER), is_op(other)(_OTHER, _CONSTANT), name="constant_to_right")
        for name, other in _MIRRORED.items()
    ),
    # x + -0.0, x * 1, x - 0.0, x & true, ... are x.
    *(
        rule(is_op(*names).in_order()(X, c).where(_keeps_shape(X, c)), X, name="remove_neutral")
        for c, names in _NEUTRAL
    ),
    # x & false is false, n * 0 is 0: the constant itself, if it has the result's shape.
    *(
        rule(is_op(*names).in_order()(X, c).where(_keeps_shape(c, X)), c, name="take_absorbing")
        for c, names in _ABSORBING
    ),
    rule(is_op(*_SELF)(X, X), X, name="combine_with_itself"),
    *(rule(is_op(*names)(_N, _N), _number(given), name="number_with_itself") for given, names in _SELF_NUMBER),
    # -(-x) is x, not (not x) is x.
    *(rule(is_op(name)(is_op(name)(X)), X, name="undo_involution") for name in _INVOLUTIONS),
    # abs(abs(x)) is abs(x), and a rounded number is an integer.
    rule(is_op(*_ROUNDINGS)(_rounded), _rounded, name="keep_idempotent"),
    *(rule(once(once), once, name="keep_idempotent") for once in map(is_op, _IDEMPOTENT)),
    rule(is_op(*_ROUNDINGS)(_N), _N, name="skip_rounding_of_integers"),
    # For unsigned integers -x is another large number, but its square is the same.
    rule(_abs(_negative(X)).where(lambda found: not is_unsigned(dtype_of(found[X]))), _abs(X), name="drop_sign"),
    rule(_square(_negative(X) | _abs(X)), _square(X), name="drop_sign"),
    # not (a == b) is a != b. For integers, not (a < b) is a >= b.
    *(rule(_not(is_op(name)(X, Y)), is_op(other)(X, Y), name="negate_comparison") for name, other in _OPPOSITE.items()),
    *(
        rule(_not(is_op(name)(_N, Y)), is_op(other)(_N, Y), name="negate_comparison")
        for name, other in _OPPOSITE_INTEGERS.items()
    ),
    rule(_where(_TRUE, X, Y).where(_keeps_shape(X, _TRUE, Y)), X, name="choose"),
    rule(_where(_FALSE, X, Y).where(_keeps_shape(Y, _FALSE, X)), Y, name="choose"),
    rule(_where(C, X, X).where(_keeps_shape(X, C, X)), X, name="choose"),
    rule(
        _where(_inverted, X, Y).where(lambda found: found[C].type == found[_inverted].type),
        _where(C, Y, X),
        name="choose",
    ),
)
