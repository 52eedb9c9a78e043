# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bits of integers, common divisors, and the parts that floats are represented by."""

from __future__ import annotations

from ....emit.numbers import Number
from ..prelude import (
    Convert,
    Node,
    Outputs,
    Tensor,
    cast,
    elementwise,
    intrinsic_of,
    like,
    register_rows,
    register_torch,
    relax,
    wide_float,
)
from .elementwise import operands

_BITS = {
    "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "__and__": "and", "__or__": "or", "__xor__": "xor"
}  # fmt: skip


def _bits(name: str) -> Convert:
    def convert(node: Node) -> Tensor:
        kind = "logical" if node.dtype == "i1" else "bitwise"
        return relax.dialect.ops[f"{kind}_{name}"](*operands(node))

    return convert


register_rows({f"aten::{name}": _bits(ours) for name, ours in _BITS.items()})
register_rows(
    {
        "aten::bitwise_not": lambda node: relax.bitwise_not(node.tensor(0)),
        "aten::__lshift__ aten::bitwise_left_shift": lambda node: relax.left_shift(*operands(node)),
        "aten::__rshift__ aten::bitwise_right_shift": lambda node: relax.right_shift(*operands(node)),
        "aten::gcd": lambda node: intrinsic_of(node, "gcd", operands(node)),
        "aten::lcm": lambda node: relax.abs(intrinsic_of(node, "lcm", operands(node))),
        "aten::copysign": lambda node: intrinsic_of(node, "copysign", operands(node)),
        "aten::ldexp": lambda node: _times_power_of_two(node),
        "aten::nextafter": lambda node: intrinsic_of(node, "nextafter", operands(node)),
    }
)


def _times_power_of_two(node: Node) -> Tensor:
    left, right = operands(node)
    return relax.multiply(left, relax.power(like(right, 2), right))


@register_torch("aten::frexp")
def frexp(node: Node) -> Outputs:
    """The mantissa, of a magnitude in [0.5, 1), and the exponent; of 0, infinity and NaN the exponent is 0."""
    x = node.tensor(0, wide_float(node.value(0).dtype))
    mantissa = cast(elementwise(node, _mantissa, [x]), node.value(0).dtype)
    return [mantissa, elementwise(node, _exponent, [x], dtype="i32")]


def _mantissa(x: Number) -> Number:
    return _parts(x)[0]


def _exponent(x: Number) -> Number:
    return _parts(x)[1]


def _parts(x: Number) -> tuple[Number, Number]:
    from ....dialects.tir import dialect as tir

    mantissa, exponent = tir.ops["frexp"](x)
    return Number(mantissa), Number(exponent)
