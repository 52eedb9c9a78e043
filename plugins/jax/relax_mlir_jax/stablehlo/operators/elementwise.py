# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operations: arithmetic, comparisons, bits, rounding; also for complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from relax_mlir.dialects.core.infos import bit_width, is_bool, is_float, is_unsigned
from relax_mlir.dialects.core.known import folding
from relax_mlir.dialects.relax.known_constants import splat
from relax_mlir.dialects.relax.values import keeps_shape
from relax_mlir.frontends.core import complex_numbers as pairs
from relax_mlir.frontends.core.complex_numbers import Pair, Unary, each_part
from relax_mlir.frontends.core.tensors import wide_float

from ..hlo_types import is_complex
from ..prelude import (
    ComplexValue,
    Convert,
    HloNode,
    Outputs,
    Tensor,
    cast,
    const,
    info_of,
    intrinsic_of,
    like,
    register_rows,
    register_stablehlo,
    relax,
)
from ..spreading import without_broadcasts

Function = Callable[..., Tensor]


def in_wide(node: HloNode, function: Function, *tensors: Tensor) -> Tensor:
    """Compute a function in at least f32, and return the result in the node's type."""
    wide = wide_float(node.dtype)
    return cast(function(*(cast(tensor, wide) for tensor in tensors)), node.dtype)


def of_complex(function: Unary) -> Convert:
    return lambda node: function(node.pair(0)).value()


def unary(real: Function, of_pair: Unary | None = None) -> Convert:
    def convert(node: HloNode) -> Outputs:
        if not node.is_complex:
            return real(node.tensor(0))
        if of_pair is None:
            raise node.fail("it is not supported for complex numbers")
        return of_pair(node.pair(0)).value()

    return convert


def of_tir(name: str) -> Convert:
    """Return the converter to a scalar intrinsic of tir, which is computed in f32 or f64."""

    def convert(node: HloNode) -> Outputs:
        if node.is_complex:
            raise node.fail("it is not supported for complex numbers")
        return in_wide(node, lambda *given: intrinsic_of(node, name, given), *node.tensors())

    return convert


@register_stablehlo("stablehlo.log")
def logarithm(node: HloNode) -> Outputs:
    if not node.is_complex:
        return relax.log(node.tensor(0))
    x = node.pair(0)
    one, other = relax.abs(x.real), relax.abs(x.whole_imag)
    large, small = relax.maximum(one, other), relax.minimum(one, other)
    less, more = relax.subtract(large, like(large, 1)), relax.add(large, like(large, 1))
    return _logarithm(node, x, relax.add(relax.multiply(less, more), relax.square(small)))


@register_stablehlo("stablehlo.log_plus_one")
def logarithm_plus_one(node: HloNode) -> Outputs:
    if not node.is_complex:
        return in_wide(node, lambda x: intrinsic_of(node, "log1p", [x]), node.tensor(0))
    x = node.pair(0)
    more = relax.multiply(x.real, relax.add(x.real, like(x.real, 2)))
    shifted = Pair(relax.add(x.real, like(x.real, 1)), x.imag)
    return _logarithm(node, shifted, relax.add(more, relax.square(x.whole_imag)))


def _logarithm(node: HloNode, x: Pair, apart: Tensor) -> Outputs:
    """Return a logarithm that is accurate near the unit circle, where `apart` is the squared magnitude minus 1."""
    whole = pairs.logarithm(x)
    near = relax.multiply(intrinsic_of(node, "log1p", [apart]), like(apart, 0.5))
    is_near = relax.less(relax.abs(apart), like(apart, 0.5))
    return Pair(relax.where(is_near, near, whole.real), whole.imag).value()


@register_stablehlo("stablehlo.exponential_minus_one")
def exponential_minus_one(node: HloNode) -> Outputs:
    """Compute a complex result as expm1(a) cos(b) - 2 sin(b/2)^2 and e^a sin(b), in which nothing cancels near 0."""
    if not node.is_complex:
        return in_wide(node, lambda x: intrinsic_of(node, "expm1", [x]), node.tensor(0))
    x = node.pair(0)
    half = relax.sin(relax.multiply(x.whole_imag, like(x.real, 0.5)))
    less = intrinsic_of(node, "expm1", [x.real])
    real = relax.subtract(
        relax.multiply(less, relax.cos(x.whole_imag)), relax.multiply(relax.square(half), like(half, 2))
    )
    return Pair(real, relax.multiply(relax.exp(x.real), relax.sin(x.whole_imag))).value()


def _rounded_away(x: Tensor) -> Tensor:
    """Round halves away from 0. The fraction of a float is exact."""
    whole = relax.trunc(x)
    is_half = relax.greater_equal(relax.abs(relax.subtract(x, whole)), like(x, 0.5))
    return relax.where(is_half, relax.add(whole, relax.sign(x)), whole)


register_rows(
    {
        "stablehlo.negate": unary(relax.negative, lambda x: each_part(x, relax.negative)),
        "stablehlo.exponential": unary(relax.exp, pairs.exponential),
        "stablehlo.sqrt": unary(relax.sqrt, pairs.root),
        "stablehlo.rsqrt": unary(relax.rsqrt, lambda x: pairs.reciprocal(pairs.root(x))),
        "stablehlo.cbrt": of_tir("cbrt"),
        "stablehlo.sine": unary(relax.sin, lambda x: pairs.minus_turned(pairs.sinh(pairs.turned(x)))),
        "stablehlo.cosine": unary(relax.cos, lambda x: pairs.cosh(pairs.turned(x))),
        "stablehlo.tan chlo.tan": unary(relax.tan, lambda x: pairs.minus_turned(pairs.tanh(pairs.turned(x)))),
        "stablehlo.tanh": unary(relax.tanh, pairs.tanh),
        "stablehlo.logistic": unary(relax.sigmoid, pairs.sigmoid),
        "stablehlo.floor": unary(relax.floor),
        "stablehlo.ceil": unary(relax.ceil),
        "stablehlo.round_nearest_even": unary(relax.round),
        "stablehlo.round_nearest_afz": unary(_rounded_away),
        "stablehlo.is_finite": unary(relax.isfinite),
        "chlo.is_inf": unary(relax.isinf),
        "chlo.is_pos_inf": unary(lambda x: relax.equal(x, like(x, float("inf")))),
        "chlo.is_neg_inf": unary(lambda x: relax.equal(x, like(x, float("-inf")))),
        "chlo.sinh": unary(relax.sinh, pairs.sinh),
        "chlo.cosh": unary(relax.cosh, pairs.cosh),
        "chlo.square": unary(relax.square, lambda x: pairs.multiplied(x, x)),
        "stablehlo.popcnt": lambda node: intrinsic_of(node, "popcount", node.tensors()),
        "stablehlo.count_leading_zeros": lambda node: intrinsic_of(node, "clz", node.tensors()),
        "stablehlo.optimization_barrier": lambda node: list(node.inputs),
        "stablehlo.real": lambda node: node.pair(0).real,
        "stablehlo.imag": lambda node: node.pair(0).whole_imag,
        "stablehlo.complex": lambda node: ComplexValue(node.value(0), node.value(1)),
        "chlo.conj": of_complex(pairs.conjugate),
    }
)


@register_stablehlo("custom_call @control_dep")
def order_of_operations(node: HloNode) -> Outputs:
    """Drop a wanted order of two operations: the compiler orders operations without effects itself."""
    return []


@register_stablehlo("stablehlo.abs")
def absolute(node: HloNode) -> Outputs:
    if isinstance(node.held(0), ComplexValue):
        return pairs.magnitude(node.pair(0))
    x = node.tensor(0)
    return x if is_unsigned(node.dtype) else relax.abs(x)


@register_stablehlo("stablehlo.sign")
def sign(node: HloNode) -> Outputs:
    """Return the sign. The sign of a complex number is the number of magnitude 1 in the same direction."""
    return pairs.sign(node.pair(0)).value() if node.is_complex else relax.sign(node.tensor(0))


# ---- two operands ----


def _binary(
    real: Function, of_pairs: Callable[[Pair, Pair], Pair] | None = None, truth: Function | None = None
) -> Convert:
    """Return a converter. `truth` is the function for truth values."""

    def convert(node: HloNode) -> Outputs:
        if node.is_complex:
            if of_pairs is None:
                raise node.fail("it is not supported for complex numbers")
            return of_pairs(node.pair(0), node.pair(1)).value()
        function = truth if truth is not None and is_bool(node.dtype) else real
        return function(*_broadcast(node))

    return convert


def _broadcast(node: HloNode) -> tuple[Tensor, ...]:
    """Return both operands with one rank.

    In chlo an attribute maps dimensions of the smaller operand to the larger one.
    """
    left, right = node.tensor(0), node.tensor(1)
    places = node.attr("broadcast_dimensions", None)
    if places is None or left.type.rank == right.type.rank:
        return without_broadcasts(left, right)
    small, rank = (left, right.type.rank) if left.type.rank < right.type.rank else (right, left.type.rank)
    new = [axis for axis in range(rank) if axis not in places]
    wide = relax.expand_dims(small, axis=new) if new else small
    return (wide, right) if small is left else (left, wide)


@register_stablehlo("chlo.broadcast_complex")
def broadcast_complex(node: HloNode) -> Outputs:
    both = _broadcast(node)
    real, imag = (relax.where(const(is_real), *both) for is_real in (True, False))
    return Pair(real, imag).value()


@register_stablehlo("chlo._asin_acos_kernel")
def asin_acos_kernel(node: HloNode) -> Outputs:
    """Return the common part of arc functions: asin z is atan2(z.real, w.real) + i w.imag with the sign of z.imag."""
    z = node.pair(0)
    one = Pair(like(z.real, 1), None)
    left, right = pairs.root(_minus(one, z)), pairs.root(pairs.added(one, z))
    width = pairs.multiplied(left, right).real
    height = relax.abs(pairs.multiplied(pairs.conjugate(left), right).whole_imag)
    return Pair(width, relax.asinh(height)).value()


def _minus(x: Pair, y: Pair) -> Pair:
    return pairs.added(x, y, relax.subtract)


def _power(x: Pair, y: Pair) -> Pair:
    """Return e^(y log x). For the base 0 the result is 1 for the exponent 0, and otherwise 0."""
    made = pairs.exponential(pairs.multiplied(pairs.logarithm(x), y))
    is_zero = _is(x, 0.0)
    real = relax.where(is_zero, relax.where(_is(y, 0.0), like(x.real, 1), like(x.real, 0)), made.real)
    return Pair(real, relax.where(is_zero, like(x.real, 0), made.whole_imag))


def _angle(y: Pair, x: Pair) -> Pair:
    """Return atan2(y, x) of complex numbers, -i log((x + i y) / sqrt(x^2 + y^2))."""
    size = pairs.root(pairs.added(pairs.multiplied(x, x), pairs.multiplied(y, y)))
    return pairs.minus_turned(pairs.logarithm(pairs.divided(pairs.added(x, pairs.turned(y)), size)))


def _first_by(more: Function) -> Callable[[Pair, Pair], Pair]:
    """Return the choice of the operand that comes first, by the real parts and, where those are equal, the others."""

    def chosen(x: Pair, y: Pair) -> Pair:
        is_same = relax.equal(x.real, y.real)
        is_first = relax.where(is_same, more(x.whole_imag, y.whole_imag), more(x.real, y.real))
        return Pair(relax.where(is_first, x.real, y.real), relax.where(is_first, x.whole_imag, y.whole_imag))

    return chosen


def _is(x: Pair, number: float) -> Tensor:
    return relax.logical_and(relax.equal(x.real, like(x.real, number)), relax.equal(x.whole_imag, like(x.real, 0)))


def _larger(left: Tensor, right: Tensor) -> Tensor:
    """Return the maximum.

    The maximum with 0 is relu, which codegens know; the maximum with -inf is the operand, also NaN.
    """
    if folding.get() is None and is_float(info_of(left).dtype):
        for x, least in ((left, right), (right, left)):
            number = str(splat(least))
            if number in ("0.0", "-inf") and keeps_shape(x, least):
                return relax.nn.relu(x) if number == "0.0" else x
    return relax.maximum(left, right)


def _divide(left: Tensor, right: Tensor) -> Tensor:
    """Divide. Integer division truncates; division by 0 gives -1."""
    made = relax.divide(left, right)
    if is_float(info_of(left).dtype):
        return made
    return relax.where(relax.equal(right, like(right, 0)), like(left, -1), made)


def _remainder(left: Tensor, right: Tensor) -> Tensor:
    """Return the remainder with the dividend's sign. The remainder of an integer by 0 is the integer."""
    remainder = relax.mod(left, right)
    if is_float(info_of(left).dtype):
        return remainder
    return relax.where(relax.equal(right, like(right, 0)), left, remainder)


register_rows(
    {
        "stablehlo.add chlo.broadcast_add": _binary(relax.add, pairs.added, relax.logical_or),
        "stablehlo.subtract chlo.broadcast_subtract": _binary(relax.subtract, _minus),
        "stablehlo.multiply chlo.broadcast_multiply": _binary(relax.multiply, pairs.multiplied, relax.logical_and),
        "stablehlo.divide chlo.broadcast_divide": _binary(_divide, pairs.divided),
        "stablehlo.remainder chlo.broadcast_remainder": _binary(_remainder),
        "stablehlo.maximum chlo.broadcast_maximum": _binary(_larger, _first_by(relax.greater), truth=relax.logical_or),
        "stablehlo.minimum chlo.broadcast_minimum": _binary(
            relax.minimum, _first_by(relax.less), truth=relax.logical_and
        ),
        "stablehlo.and chlo.broadcast_and": _binary(relax.bitwise_and, truth=relax.logical_and),
        "stablehlo.or chlo.broadcast_or": _binary(relax.bitwise_or, truth=relax.logical_or),
        "stablehlo.xor chlo.broadcast_xor": _binary(relax.bitwise_xor, truth=relax.logical_xor),
        "stablehlo.power chlo.broadcast_power": _binary(relax.power, _power),
        "stablehlo.atan2 chlo.broadcast_atan2": _binary(relax.atan2, _angle),
        "chlo.next_after chlo.broadcast_next_after": lambda node: intrinsic_of(node, "nextafter", node.tensors()),
    }
)


@register_stablehlo("stablehlo.not")
def invert(node: HloNode) -> Outputs:
    return (relax.logical_not if is_bool(node.dtype) else relax.bitwise_not)(node.tensor(0))


# ---- shifts: a shift by the bit width or more leaves no bits, as in relax ----


def _shift(function: Function) -> Convert:
    return lambda node: function(*_broadcast(node))


def _bitcast(x: Tensor, dtype: str) -> Tensor:
    return x if info_of(x).dtype == dtype else relax.bitcast(x, dtype=dtype)


def _shift_right(x: Tensor, count: Tensor, kind: str) -> Tensor:
    """Shift by the rule of another element type: "i" keeps the sign, "ui" does not."""
    dtype = info_of(x).dtype
    own = f"{kind}{bit_width(dtype)}"
    return _bitcast(relax.right_shift(_bitcast(x, own), _bitcast(count, own)), dtype)


register_rows(
    {
        "stablehlo.shift_left chlo.broadcast_shift_left": _shift(relax.left_shift),
        "stablehlo.shift_right_arithmetic chlo.broadcast_shift_right_arithmetic": _shift(
            partial(_shift_right, kind="i")
        ),
        "stablehlo.shift_right_logical chlo.broadcast_shift_right_logical": _shift(partial(_shift_right, kind="ui")),
    }
)


# ---- comparisons and choices ----

_COMPARISONS: dict[str, Function] = {
    "EQ": relax.equal, "NE": relax.not_equal, "LT": relax.less, "LE": relax.less_equal, "GT": relax.greater,
    "GE": relax.greater_equal,
}  # fmt: skip


@register_stablehlo("stablehlo.compare", "chlo.broadcast_compare")
def compare(node: HloNode) -> Outputs:
    """Compare. In the total order -0 is less than 0, and NaNs are at both ends."""
    direction = node.attr("comparison_direction")
    if isinstance(node.held(0), ComplexValue):
        x, y = node.pair(0), node.pair(1)
        same = relax.logical_and(relax.equal(x.real, y.real), relax.equal(x.whole_imag, y.whole_imag))
        return same if direction == "EQ" else relax.logical_not(same)
    left, right = _broadcast(node)
    dtype = info_of(left).dtype
    if node.attr("compare_type", "") == "TOTALORDER" and is_float(dtype):
        left, right = in_total_order(left), in_total_order(right)
    elif is_bool(dtype):
        left, right = cast(left, "i8"), cast(right, "i8")
    return _COMPARISONS[direction](left, right)


def in_total_order(x: Tensor) -> Tensor:
    """Map floats to integers in total order: the other bits of negative numbers are inverted."""
    dtype = f"i{bit_width(info_of(x).dtype)}"
    bits = relax.bitcast(x, dtype=dtype)
    most = const((1 << (bit_width(dtype) - 1)) - 1, dtype)
    return relax.where(relax.less(bits, like(bits, 0)), relax.bitwise_xor(bits, most), bits)


@register_stablehlo("stablehlo.select", "chlo.broadcast_select")
def select(node: HloNode) -> Outputs:
    if not node.is_complex:
        return relax.where(*without_broadcasts(*node.tensors()))
    condition = node.tensor(0)
    one, other = node.pair(1), node.pair(2)
    real = relax.where(condition, one.real, other.real)
    return Pair(real, relax.where(condition, one.whole_imag, other.whole_imag)).value()


@register_stablehlo("stablehlo.clamp", "chlo.broadcast_clamp")
def clamp(node: HloNode) -> Outputs:
    return relax.minimum(relax.maximum(node.tensor(1), node.tensor(0)), node.tensor(2))


# ---- types ----


@register_stablehlo("stablehlo.convert")
def convert(node: HloNode) -> Outputs:
    """Convert to another element type. A real or boolean result uses only the real part."""
    x = node.pair(0)
    if is_bool(node.dtype):
        return _is_not_zero(x.real)
    if not is_complex(node.result_types[0]):
        return cast(x.real, node.dtype)
    return each_part(x, lambda each: cast(each, node.dtype)).value()


def _is_not_zero(x: Tensor) -> Tensor:
    return x if info_of(x).dtype == "i1" else relax.not_equal(x, like(x, 0))


@register_stablehlo("stablehlo.bitcast_convert")
def bitcast_convert(node: HloNode) -> Outputs:
    """Reinterpret bits.

    If widths differ, the last dimension has the narrow elements of a wide one, the lowest first.
    """
    x = node.tensor(0)
    given, wanted = bit_width(info_of(x).dtype), bit_width(node.dtype)
    if given == wanted:
        return relax.bitcast(x, dtype=node.dtype)
    return _narrow(node, x, given // wanted) if given > wanted else _widen(node, x, wanted // given)


def _narrow(node: HloNode, x: Tensor, count: int) -> Tensor:
    wide, narrow = bit_width(info_of(x).dtype), bit_width(node.dtype)
    bits = relax.bitcast(x, dtype=f"ui{wide}")
    shifts = const([narrow * place for place in range(count)], f"ui{wide}")
    parts = cast(relax.right_shift(relax.expand_dims(bits, axis=[-1]), shifts), f"ui{narrow}")
    return relax.bitcast(parts, dtype=node.dtype)


def _widen(node: HloNode, x: Tensor, count: int) -> Tensor:
    wide, narrow = bit_width(node.dtype), bit_width(info_of(x).dtype)
    bits = cast(relax.bitcast(x, dtype=f"ui{narrow}"), f"ui{wide}")
    shifts = const([narrow * place for place in range(count)], f"ui{wide}")
    made = relax.sum(relax.left_shift(bits, shifts), axis=[-1])
    return relax.bitcast(cast(made, f"ui{wide}"), dtype=node.dtype)


@register_stablehlo("stablehlo.reduce_precision")
def reduce_precision(node: HloNode) -> Outputs:
    """Round to a format of fewer bits. A format without mantissa bits has no NaN: NaN becomes infinity."""
    exponent, mantissa = node.attr("exponent_bits"), node.attr("mantissa_bits")
    x = node.tensor(0)
    dtype = node.dtype
    if (own := {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}.get(dtype)) is None:
        raise node.fail(f"it is not supported for {dtype}")
    return _reduce_precision(x, own, (exponent, mantissa))


def _reduce_precision(x: Tensor, own: tuple[int, int], wanted: tuple[int, int]) -> Tensor:
    bits_type, width = f"ui{1 + sum(own)}", 1 + sum(own)
    bits = relax.bitcast(x, dtype=bits_type)

    def word(number: int) -> Tensor:
        return const(number, bits_type)

    field = word(((1 << own[0]) - 1) << own[1])
    sign = relax.bitwise_and(bits, word(1 << (width - 1)))
    infinity = relax.bitwise_or(sign, field)
    if wanted[1] < own[1]:
        # Round to nearest, ties to even. A carry extends into the exponent.
        dropped = own[1] - wanted[1]
        last = relax.bitwise_and(relax.right_shift(bits, word(dropped)), word(1))
        bits = relax.add(bits, relax.add(last, word((1 << (dropped - 1)) - 1)))
        bits = relax.bitwise_and(bits, word(((1 << width) - 1) ^ ((1 << dropped) - 1)))
    if wanted[0] < own[0]:
        bias, narrow_bias = (1 << (own[0] - 1)) - 1, (1 << (wanted[0] - 1)) - 1
        exponent = relax.bitwise_and(bits, field)
        is_large = relax.greater(exponent, word((bias + narrow_bias) << own[1]))
        is_small = relax.less(exponent, word((bias - narrow_bias + 1) << own[1]))
        bits = relax.where(is_large, infinity, relax.where(is_small, sign, bits))
    of_nan = x if wanted[1] else relax.bitcast(infinity, dtype=info_of(x).dtype)
    return relax.where(relax.isnan(x), of_nan, relax.bitcast(bits, dtype=info_of(x).dtype))
