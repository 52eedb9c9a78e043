# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operations that change nothing, or do what a simpler one does. Exact for all floats, NaN included."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ...bindings.ir import Operation, OpView, Value
from ...bindings.patterns import UPDATED, Outcome, Pattern, Rewriter, defining_op
from ...dialects.core.infos import bit_width, is_float, is_unsigned
from .constants import SPLATS, can_be_constant, make_splat, splat
from .support import as_result, dtype_of, keeps_shape, make, removal, result_type

Number = int | float | bool


def _is_zero(number: Number, dtype: str) -> bool:
    return not is_float(dtype) and number == 0


def _is_positive_zero(number: Number, dtype: str) -> bool:
    # x - 0.0 is x for every x; x - -0.0 turns -0.0 into 0.0.
    return number == 0 and math.copysign(1, number) > 0


def _is_added_zero(number: Number, dtype: str) -> bool:
    # x + -0.0 is x for every x; x + 0.0 turns -0.0 into 0.0.
    return number == 0 and (not is_float(dtype) or math.copysign(1, number) < 0)


def _is_one(number: Number, dtype: str) -> bool:
    # x * 1, x / 1 and x ** 1 are x itself, which needs no rounding.
    return number == 1


def _is_integer_one(number: Number, dtype: str) -> bool:
    # Floats are rounded down on the way.
    return number == 1 and not is_float(dtype)


def _is_all_ones(number: Number, dtype: str) -> bool:
    if isinstance(number, bool):
        return number
    return number == ((1 << bit_width(dtype)) - 1 if is_unsigned(dtype) else -1)


_Test = Callable[[Number, str], bool]


def _tests(*rows: tuple[_Test, str]) -> dict[str, _Test]:
    return {f"relax.{name}": test for test, names in rows for name in names.split()}


# A number on the right that leaves the left operand as it is.
_NEUTRAL = _tests(
    (_is_added_zero, "add"),
    (_is_positive_zero, "subtract"),
    (_is_one, "multiply divide power"),
    (_is_integer_one, "floor_divide"),
    (_is_zero, "left_shift right_shift logical_or logical_xor bitwise_or bitwise_xor"),
    (_is_all_ones, "logical_and bitwise_and"),
)

# A number on the right that is the result, whatever stands on the left. Not so 0.0: NaN * 0.0 is NaN.
_ABSORBING = _tests((_is_zero, "multiply logical_and bitwise_and"), (_is_all_ones, "logical_or bitwise_or"))

# Applied to the same value twice they give it back: also for NaN, and 0.0 meets a zero of its own sign.
_SELF = tuple(f"relax.{name}" for name in "logical_and logical_or bitwise_and bitwise_or maximum minimum".split())

# What integers and booleans give with themselves; NaN is not equal to itself, and inf - inf is NaN.
_SELF_NUMBER = {
    **{f"relax.{name}": 0 for name in "subtract logical_xor bitwise_xor not_equal less greater".split()},
    **{f"relax.{name}": 1 for name in "equal less_equal greater_equal".split()},
}

# Operand order does not matter, up to the bits of a NaN.
_COMMUTATIVE = tuple(
    f"relax.{name}" for name in "add multiply equal not_equal logical_and logical_or logical_xor "
    "bitwise_and bitwise_or bitwise_xor".split()
)  # fmt: skip
# Of floats, maximum(0.0, -0.0) and maximum(1, NaN) may depend on the order.
_COMMUTATIVE_INTEGERS = ("relax.maximum", "relax.minimum")
_LESS, _GREATER, _AT_MOST, _AT_LEAST = "relax.less", "relax.greater", "relax.less_equal", "relax.greater_equal"
_MIRRORED = {_LESS: _GREATER, _GREATER: _LESS, _AT_MOST: _AT_LEAST, _AT_LEAST: _AT_MOST}

# Applied twice they give the operand back: a sign bit flipped twice, two's complement, every bit inverted twice.
_INVOLUTIONS = ("relax.negative", "relax.logical_not", "relax.bitwise_not")
_ROUNDINGS = ("relax.ceil", "relax.floor", "relax.round", "relax.trunc")
# Applied to their own result they change nothing more.
_IDEMPOTENT = ("relax.abs", "relax.sign", "relax.nn.relu")
# They do not see the sign of their operand, not even the smallest integer's, which is its own negative.
_EVEN = ("relax.abs", "relax.square")

_OPPOSITE = {"relax.equal": "relax.not_equal", "relax.not_equal": "relax.equal"}
# With a NaN, a < b and a >= b are both false.
_OPPOSITE_INTEGERS = {_LESS: _AT_LEAST, _AT_LEAST: _LESS, _GREATER: _AT_MOST, _AT_MOST: _GREATER}


def _has_on_right(op: OpView, tests: Mapping[str, _Test]) -> bool:
    """Whether the right operand is such a number. Constants stand on the right (constant_to_right)."""
    number = splat(op.x2)
    return number is not None and tests[op.OPERATION_NAME](number, dtype_of(op.x2))


def _adds_nothing(op: OpView) -> bool:
    """x + -0.0, x * 1, x - 0.0, x & true, ... are x."""
    return _has_on_right(op, _NEUTRAL) and keeps_shape(op.x1, op.x2)


def _is_absorbed(op: OpView) -> bool:
    """x & false is false, n * 0 is 0: the constant itself, where it has the result's shape."""
    return _has_on_right(op, _ABSORBING) and keeps_shape(op.x2, op.x1)


def number_with_itself(op: OpView, rewriter: Rewriter) -> Operation | None:
    """n - n is 0, n == n is true, ... for integers and booleans."""
    type_ = result_type(op)
    if op.x1 != op.x2 or is_float(dtype_of(op.x1)) or not can_be_constant(type_) or shape_differs(op):
        return None
    number = _SELF_NUMBER[op.OPERATION_NAME]
    return make_splat(bool(number) if str(type_.element_type) == "i1" else number, type_)


def shape_differs(op: OpView) -> bool:
    """Whether the result states another shape than the operand: a static result of an operand that is not."""
    return list(op.x1.type.shape) != list(result_type(op).shape) if op.x1.type.has_rank else True


def constant_to_right(op: OpView, rewriter: Rewriter) -> Outcome:
    """c + x is x + c, c < x is x > c: so that other rules need to look at one side only."""
    if not _is_filled(op.x1) or _is_filled(op.x2):
        return None
    name = op.OPERATION_NAME
    if name in _MIRRORED:
        return make(op, _MIRRORED[name], [op.x2, op.x1])
    if name in _COMMUTATIVE_INTEGERS and is_float(dtype_of(op.x1)):
        return None
    left, right = op.x1, op.x2
    op.operation.operands[0], op.operation.operands[1] = right, left
    return UPDATED


def _is_filled(value: Value) -> bool:
    owner = defining_op(value, *SPLATS)
    return owner is not None and (owner.operation.name == "arith.constant" or splat(value) is not None)


def undo_involution(op: OpView, rewriter: Rewriter) -> Value | None:
    """-(-x) is x, not (not x) is x."""
    inner = defining_op(op.x, op.OPERATION_NAME)
    return as_result(op, inner.x) if inner is not None else None


def _is_done_already(op: OpView) -> bool:
    """abs(abs(x)) is abs(x); what is rounded once is whole."""
    same = _ROUNDINGS if op.OPERATION_NAME in _ROUNDINGS else (op.OPERATION_NAME,)
    return defining_op(op.x, *same) is not None


def drop_sign(op: OpView, rewriter: Rewriter) -> Operation | None:
    """abs(-x) is abs(x), square(-x) and square(abs(x)) are square(x)."""
    name = op.OPERATION_NAME
    inner = defining_op(op.x, "relax.negative", "relax.abs")
    # abs(abs(x)) is keep_idempotent's; without a sign, -x is another large number, whose square is the same.
    if inner is None or name == inner.OPERATION_NAME or name == "relax.abs" and is_unsigned(dtype_of(op.x)):
        return None
    return make(op, name, [inner.x])


def negate_comparison(op: OpView, rewriter: Rewriter) -> Operation | None:
    """not (a == b) is a != b; of integers, not (a < b) is a >= b."""
    inner = defining_op(op.x, *_OPPOSITE, *_OPPOSITE_INTEGERS)
    if inner is None:
        return None
    name = inner.OPERATION_NAME
    if name in _OPPOSITE_INTEGERS and is_float(dtype_of(inner.x1)):
        return None
    return make(op, {**_OPPOSITE, **_OPPOSITE_INTEGERS}[name], [inner.x1, inner.x2])


def choose(op: OpView, rewriter: Rewriter) -> Outcome:
    """where(true, a, b) is a, where(false, a, b) is b, where(c, a, a) is a, where(not c, a, b) is where(c, b, a)."""
    condition = splat(op.condition)
    if condition is not None or op.x1 == op.x2:
        chosen, other = (op.x1, op.x2) if condition in (True, None) else (op.x2, op.x1)
        return as_result(op, chosen) if keeps_shape(chosen, op.condition, other) else None
    inverted = defining_op(op.condition, "relax.logical_not")
    if inverted is None or inverted.x.type != op.condition.type:
        return None
    return make(op, "relax.where", [inverted.x, op.x2, op.x1])


PATTERNS = (
    Pattern((*_COMMUTATIVE, *_COMMUTATIVE_INTEGERS, *_MIRRORED), constant_to_right, after=SPLATS),
    removal(tuple(_NEUTRAL), "x1", _adds_nothing, "remove_neutral", after=SPLATS),
    removal(tuple(_ABSORBING), "x2", _is_absorbed, "take_absorbing", after=SPLATS),
    removal(_SELF, "x1", lambda op: op.x1 == op.x2, "combine_with_itself"),
    Pattern(tuple(_SELF_NUMBER), number_with_itself),
    Pattern(_INVOLUTIONS, undo_involution, after=_INVOLUTIONS),
    removal((*_ROUNDINGS, *_IDEMPOTENT), "x", _is_done_already, "keep_idempotent", after=(*_ROUNDINGS, *_IDEMPOTENT)),
    removal(_ROUNDINGS, "x", lambda op: not is_float(dtype_of(op.x)), "skip_rounding_of_integers"),
    Pattern(_EVEN, drop_sign, after=("relax.negative", "relax.abs")),
    Pattern("relax.logical_not", negate_comparison, after=(*_OPPOSITE, *_OPPOSITE_INTEGERS)),
    Pattern("relax.where", choose),
)
