# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer intrinsics, and intrinsics of integers and floats, by arith and loops; memory hints."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from ...bindings.conversion import Decline
from ...bindings.ir import OpView
from ...bindings.mlir import ir
from ...emit.arithmetic import convert, with_element
from ...emit.interpolation import limited
from ...emit.loops import repeat_while
from ...emit.numbers import Number, numbers, on_each_element, operation, select, unary
from ...passes.kernels.intrinsics.registry import register_legalize_intrinsic, register_lower_intrinsic

_CAST = "builtin.unrealized_conversion_cast"
#: Result of a rule, or the reason why the rule does not apply.
Made = Number | Decline
IntegerRule = TypeVar("IntegerRule", bound=Callable[..., Number])


def signless(x: Number) -> tuple[Number, bool]:
    """Return the same bits with a signless type, as arith requires, and True if the type was unsigned."""
    if x.is_float or not str(x.element).startswith(("ui", "si")):
        return x, False
    bare = with_element(x.type, ir.IntegerType.get_signless(x.element.width))
    return operation(_CAST, [x], bare), x.element.is_unsigned


def integer_rule(name: str, *, floats: Callable[..., Made] | None = None) -> Callable[[IntegerRule], IntegerRule]:
    """Register a function `(is_unsigned, *operands)` for integers, and optionally another one for floats."""

    def register(function: IntegerRule) -> IntegerRule:
        @functools.wraps(function)  # the location of the rule is that of the function
        def rule(op: OpView) -> Made:
            operands = numbers(op)
            if operands[0].is_float:
                return floats(*operands) if floats is not None else Decline("it requires integers")
            bare = [signless(operand) for operand in operands]
            result = function(bare[0][1], *(item for item, _ in bare))
            type_ = op.operation.results[0].type
            return result if result.type == type_ else operation(_CAST, [result], type_)

        register_legalize_intrinsic(name)(rule)
        return function

    return register


def _wide_only(function: Callable[..., Number]) -> Callable[..., Made]:
    """Restrict a formula with more than one rounding to f32 and f64."""

    def checked(*operands: Number) -> Made:
        if operands[0].dtype not in ("f32", "f64"):
            return Decline(f"it requires f32 or f64, not {operands[0].dtype}")
        return function(*operands)

    return checked


def _float_sign(x: Number) -> Number:
    one = operation("math.copysign", [x.constant(1.0), x], x.type)
    has_zero = x.dtype != "f8E8M0FNU"
    return select((x == 0.0) | (x != x) if has_zero else x != x, x, one)


def _float_floormod(x: Number, y: Number) -> Number:
    rest = operation("arith.remf", [x, y], x.type)
    is_across = (rest < 0.0) ^ (y < 0.0)
    rest_or_zero = select(rest == 0.0, operation("math.copysign", [x.constant(0.0), y], x.type), rest)
    return select((rest != 0.0) & is_across, rest + y, rest_or_zero)


def _float_floordiv(x: Number, y: Number) -> Number:
    """Return the floored quotient as in NumPy: the operand minus the remainder, divided and corrected for rounding."""
    rest = operation("arith.remf", [x, y], x.type)
    quotient = (x - rest) / y
    is_across = (rest != 0.0) & ((rest < 0.0) ^ (y < 0.0))
    quotient = select(is_across, quotient - 1.0, quotient)
    below = unary("math.floor", quotient)
    below = select(quotient - below > 0.5, below + 1.0, below)
    below = select(quotient == 0.0, operation("math.copysign", [x.constant(0.0), x / y], x.type), below)
    return select(y == 0.0, x / y, below)


@integer_rule("tir.abs", floats=lambda x: unary("math.absf", x))
def absolute(is_unsigned: bool, x: Number) -> Number:
    return x if is_unsigned else select(x < 0, 0 - x, x)


@integer_rule("tir.sign", floats=_float_sign)
def sign(is_unsigned: bool, x: Number) -> Number:
    minus_or_zero = select(x == 0, x, x.constant(1)) if is_unsigned else select(x < 0, x.constant(-1), x)
    return minus_or_zero if is_unsigned else select(x > 0, 1, minus_or_zero)


@integer_rule("tir.square", floats=_wide_only(lambda x: x * x))
def square(is_unsigned: bool, x: Number) -> Number:
    return x * x


@integer_rule("tir.clip", floats=limited)
def clip(is_unsigned: bool, x: Number, low: Number, high: Number) -> Number:
    x = select(_less(is_unsigned, x, low), low, x)
    return select(_less(is_unsigned, high, x), high, x)


def _less(is_unsigned: bool, x: Number, y: Number) -> Number:
    return x.unsigned("<", y) if is_unsigned else x < y


def _emit_division(name: str, x: Number, y: Number) -> Number:
    return operation(name, [x, y], x.type)


@integer_rule("tir.floordiv", floats=_wide_only(_float_floordiv))
def floordiv(is_unsigned: bool, x: Number, y: Number) -> Number:
    if is_unsigned:
        return _emit_division("arith.divui", x, y)
    quotient, rest = _emit_division("arith.divsi", x, y), _emit_division("arith.remsi", x, y)
    return select((rest != 0) & ((rest ^ y) < 0), quotient - 1, quotient)


@integer_rule("tir.floormod", floats=_wide_only(_float_floormod))
def floormod(is_unsigned: bool, x: Number, y: Number) -> Number:
    if is_unsigned:
        return _emit_division("arith.remui", x, y)
    rest = _emit_division("arith.remsi", x, y)
    return select((rest != 0) & ((rest ^ y) < 0), rest + y, rest)


# ---- bits ----
def _count(name: str) -> Callable[[bool, Number], Number]:
    def rule(is_unsigned: bool, x: Number) -> Number:
        """Apply the operation in 64 bits to index operands, which math's bit operations do not support."""
        if str(x.element) != "index":
            return unary(name, x)
        wide = convert("arith.index_cast", x, ir.IntegerType.get_signless(64))
        return convert("arith.index_cast", unary(name, wide), x.element)

    return rule


for _name, _counts in {"popcount": "ctpop", "ctpop": "ctpop", "clz": "ctlz", "ctz": "cttz"}.items():
    integer_rule(f"tir.{_name}")(_count(f"math.{_counts}"))


@integer_rule("tir.bitreverse")
def bitreverse(is_unsigned: bool, x: Number) -> Number:
    """Reverse the bits by swapping halves recursively, or bit by bit for widths that are not powers of two."""
    width = x.bits
    if width & (width - 1):
        bits = [(x.shift_right_unsigned(i) & 1) << (width - 1 - i) for i in range(width)]
        result = bits[0]
        for bit in bits[1:]:
            result = result | bit
        return result
    step = width // 2
    while step:
        low = sum(((1 << step) - 1) << start for start in range(0, width, 2 * step))
        low = low - (1 << width) if low >> (width - 1) else low
        x = ((x & low) << step) | (x.shift_right_unsigned(step) & low)
        step //= 2
    return x


@integer_rule("tir.fshl")
def fshl(is_unsigned: bool, x: Number, y: Number, amount: Number) -> Number:
    amount = _emit_division("arith.remui", amount, amount.constant(x.bits))
    # In two steps, since a shift by the width is undefined.
    return (x << amount) | (y.shift_right_unsigned(1)).shift_right_unsigned((x.bits - 1) - amount)


@integer_rule("tir.fshr")
def fshr(is_unsigned: bool, x: Number, y: Number, amount: Number) -> Number:
    amount = _emit_division("arith.remui", amount, amount.constant(x.bits))
    return ((x << 1) << ((x.bits - 1) - amount)) | y.shift_right_unsigned(amount)


# ---- saturation ----
@integer_rule("tir.uadd_sat")
def uadd_sat(is_unsigned: bool, x: Number, y: Number) -> Number:
    total = x + y
    return select(total.unsigned("<", x), -1, total)


@integer_rule("tir.usub_sat")
def usub_sat(is_unsigned: bool, x: Number, y: Number) -> Number:
    return select(x.unsigned("<", y), 0, x - y)


@integer_rule("tir.sadd_sat")
def sadd_sat(is_unsigned: bool, x: Number, y: Number) -> Number:
    total = x + y
    return select(((x ^ total) & (y ^ total)) < 0, _select_limit(x), total)


@integer_rule("tir.ssub_sat")
def ssub_sat(is_unsigned: bool, x: Number, y: Number) -> Number:
    total = x - y
    return select(((x ^ y) & (x ^ total)) < 0, _select_limit(x), total)


def _select_limit(x: Number) -> Number:
    """Return the minimum for negative x, else the maximum."""
    return (x >> (x.bits - 1)) ^ ((1 << (x.bits - 1)) - 1)


# ---- loops ----
def _euclid(x: Number, y: Number) -> Number:
    """Repeat x, y = y, x % y while y is not 0."""
    return repeat_while([x, y], lambda x, y: y != 0, lambda x, y: [y, x % y])[0]


@integer_rule("tir.gcd")
def gcd(is_unsigned: bool, x: Number, y: Number) -> Number:
    return on_each_element(_euclid, absolute(is_unsigned, x), absolute(is_unsigned, y))


@integer_rule("tir.lcm")
def lcm(is_unsigned: bool, x: Number, y: Number) -> Number:
    x, y = absolute(is_unsigned, x), absolute(is_unsigned, y)
    divisor = on_each_element(_euclid, x, y)
    divisor = select(divisor == 0, 1, divisor)
    return x // divisor * y


# ---- fixed point ----
def _rounded_product(x: Number, y: Number, left: Number, right: Number) -> Number:
    """Return (x << left) * y / 2**right in 64 bits, rounding halves up."""
    right = select(right > 63, 63, right)
    product = (x << left) * y
    return ((product + ((product.constant(1) << right) >> 1)) >> right).to("i32")


@register_legalize_intrinsic("tir.q_multiply_shift")
def q_multiply_shift(op: OpView) -> Number:
    x, y, s = (item.to("i64") for item in numbers(op))
    left = select(s > 0, s, 0)
    return _rounded_product(x, y, left, left - s + op.operation.attributes["q"].value)


@register_legalize_intrinsic("tir.q_multiply_shift_per_axis")
def q_multiply_shift_per_axis(op: OpView) -> Number:
    """Multiply with per-axis shifts. Shifts that the flags exclude are treated as 0."""
    x, y, left, right = (item.to("i64") for item in numbers(op))
    attributes = op.operation.attributes
    if not attributes["is_lshift_required"].value:
        left = left.constant(0)
    if not attributes["is_rshift_required"].value:
        right = right.constant(0)
    return _rounded_product(x, y, left, right + attributes["q"].value)


# ---- memory ----
@register_lower_intrinsic("tir.prefetch")
def prefetch(op: OpView) -> Decline | tuple[()]:
    operands = list(op.operation.operands)
    if not isinstance(operands[0].type, ir.MemRefType):
        return Decline(f"a {operands[0].type} is not a memref")
    attributes = {
        "isWrite": ir.BoolAttr.get(op.rw == "write"),
        "localityHint": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), op.locality),
        "isDataCache": ir.BoolAttr.get(op.cache == "data"),
    }
    ir.Operation.create("memref.prefetch", operands=operands, attributes=attributes)
    return ()
