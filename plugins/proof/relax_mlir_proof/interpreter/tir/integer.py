# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar functions of integers, computed with Python integers and truncated to the type's bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

from ..held_values import Elements
from ..integers import exact, low_bits, width

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall

#: Function of a width and unsigned integers.
_Bits = Callable[..., int]


def _apply_to_bits(function: _Bits) -> Callable[..., Elements]:
    def found(call: EvaluationCall, *operands: ndarray) -> Elements:
        bits = width(call.result.dtype)
        wanted = numpy.broadcast(*operands)
        values = [function(bits, *(int(number) % (1 << bits) for number in each)) for each in wanted]
        return low_bits(numpy.array(values, object).reshape(wanted.shape), call.result.dtype)

    return found


def _make_signed(number: int, bits: int) -> int:
    return number - (1 << bits) if number >> (bits - 1) else number


def _clamp_to_signed(number: int, bits: int) -> int:
    return min(max(number, -(1 << (bits - 1))), (1 << (bits - 1)) - 1)


_FUNCTIONS: dict[str, _Bits] = {
    "popcount": lambda bits, x: bin(x).count("1"),
    "ctpop": lambda bits, x: bin(x).count("1"),
    "clz": lambda bits, x: bits - x.bit_length(),
    "ctz": lambda bits, x: (x & -x).bit_length() - 1 if x else bits,
    "bitreverse": lambda bits, x: int(f"{x:0{bits}b}"[::-1], 2),
    "fshl": lambda bits, x, y, z: ((x << bits | y) << (z % bits)) >> bits,
    "fshr": lambda bits, x, y, z: (x << bits | y) >> (z % bits),
    "sadd_sat": lambda bits, x, y: _clamp_to_signed(_make_signed(x, bits) + _make_signed(y, bits), bits),
    "uadd_sat": lambda bits, x, y: min(x + y, (1 << bits) - 1),
    "ssub_sat": lambda bits, x, y: _clamp_to_signed(_make_signed(x, bits) - _make_signed(y, bits), bits),
    "usub_sat": lambda bits, x, y: max(x - y, 0),
}
for _name, _function in _FUNCTIONS.items():
    register_reference(f"tir.{_name}")(_apply_to_bits(_function))


def _apply_by_value(function: Callable[[int, int], int]) -> Callable[..., Elements]:
    def found(call: EvaluationCall, x1: ndarray, x2: ndarray) -> Elements:
        wanted = numpy.broadcast(x1, x2)
        values = [function(int(one), int(other)) for one, other in wanted]
        return low_bits(numpy.array(values, object).reshape(wanted.shape), call.result.dtype)

    return found


register_reference("tir.gcd")(_apply_by_value(math.gcd))
register_reference("tir.lcm")(_apply_by_value(math.lcm))


# ---- fixed point ----


@register_reference("tir.q_multiply_shift")
def q_multiply_shift(call: EvaluationCall, x: ndarray, y: ndarray, s: ndarray) -> Elements:
    left = numpy.maximum(s, 0)
    return _product(call, x, y, left, left - s + call.q)


@register_reference("tir.q_multiply_shift_per_axis")
def q_multiply_shift_per_axis(call: EvaluationCall, x: ndarray, y: ndarray, ls: ndarray, rs: ndarray) -> Elements:
    """Multiply and shift. Shifts that the flags exclude are ignored."""
    left = ls if call.is_lshift_required else 0 * ls
    return _product(call, x, y, left, (rs if call.is_rshift_required else 0 * rs) + call.q)


def _product(call: EvaluationCall, x: ndarray, y: ndarray, left: ndarray, right: ndarray) -> Elements:
    """Compute (x << left) * y / 2**right, rounded half up."""
    product = (exact(x) << exact(left)) * exact(y)
    half = numpy.where(exact(right) > 0, exact(1) << exact(numpy.maximum(right - 1, 0)), 0)
    return low_bits((product + half) >> exact(right), call.result.dtype)
