# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer intrinsics that take more than arithmetic: loops, wider numbers, hints about memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ...bindings.conversion import Decline
from ...bindings.mlir import ir
from ...emit.loops import repeat_while
from ...emit.numbers import Number, convert, element_type, numbers, operation, select
from ...passes.intrinsics.registry import register_legalize_intrinsic, register_lower_intrinsic
from .intrinsics_integer import absolute, integer_rule


def _on_each_element(function: Callable[..., Number], x: Number, y: Number) -> Number:
    """Loops that end at different times are run one after the other."""
    if not isinstance(x.type, ir.VectorType):
        return function(x, y)
    result = x
    for position in itertools.product(*(range(size) for size in x.type.shape)):
        place = ir.DenseI64ArrayAttr.get(list(position))
        pair = [operation("vector.extract", [item], element_type(item.type), static_position=place) for item in (x, y)]
        result = operation("vector.insert", [function(*pair), result], x.type, static_position=place)
    return result


def _euclid(x: Number, y: Number) -> Number:
    """while y: x, y = y, x % y"""
    return repeat_while([x, y], lambda x, y: y != 0, lambda x, y: [y, x % y])[0]


@integer_rule("tir.gcd")
def gcd(is_unsigned: bool, x: Number, y: Number) -> Number:
    return _on_each_element(_euclid, absolute(is_unsigned, x), absolute(is_unsigned, y))


@integer_rule("tir.lcm")
def lcm(is_unsigned: bool, x: Number, y: Number) -> Number:
    x, y = absolute(is_unsigned, x), absolute(is_unsigned, y)
    divisor = _on_each_element(_euclid, x, y)
    divisor = select(divisor == 0, 1, divisor)
    return x // divisor * y


# ---- fixed point ----
def _rounded_product(x: Number, y: Number, left: Number, right: Number) -> Number:
    """(x << left) * y / 2**right, halves up, in 64 bits."""
    right = select(right > 63, 63, right)
    product = (x << left) * y
    half = (product.constant(1) << right) >> 1
    return convert("arith.trunci", (product + half) >> right, ir.IntegerType.get_signless(32))


def _as_i64(x: Number) -> Number:
    return convert("arith.extsi", x, ir.IntegerType.get_signless(64))


@register_legalize_intrinsic("tir.q_multiply_shift")
def q_multiply_shift(op: Any) -> Any:
    x, y, s = (_as_i64(item) for item in numbers(op))
    left = select(s > 0, s, 0)
    return _rounded_product(x, y, left, left - s + op.operation.attributes["q"].value)


@register_legalize_intrinsic("tir.q_multiply_shift_per_axis")
def q_multiply_shift_per_axis(op: Any) -> Any:
    """What the flags say cannot be is 0 in the operands, or must not count."""
    x, y, left, right = (_as_i64(item) for item in numbers(op))
    attributes = op.operation.attributes
    if not attributes["is_lshift_required"].value:
        left = left.constant(0)
    if not attributes["is_rshift_required"].value:
        right = right.constant(0)
    return _rounded_product(x, y, left, right + attributes["q"].value)


# ---- memory ----
@register_lower_intrinsic("tir.prefetch")
def prefetch(op: Any) -> Any:
    operands = list(op.operation.operands)
    if not isinstance(operands[0].type, ir.MemRefType):
        return Decline(f"a {operands[0].type} is no memref")
    attributes = {
        "isWrite": ir.BoolAttr.get(op.rw == "write"),
        "localityHint": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), op.locality),
        "isDataCache": ir.BoolAttr.get(op.cache == "data"),
    }
    ir.Operation.create("memref.prefetch", operands=operands, attributes=attributes)
    return ()
