# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Written by tools/dev/gen_stubs.py from the operator tables (`make generate`): do not edit.
from collections.abc import Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex

from typing_extensions import Unpack

from ..core.dialect import Dialect
from ..core.operands import At, BoundLike, DTypeLike, ScalarLike, ShapeLike, TypesLike, Value
from .declare import declare_intrinsic as declare_intrinsic

dialect: Dialect

def abs(x: Value, **at: Unpack[At]) -> Value:
    """Absolute value; the lowest signed integer is its own."""

def acos(x: Value, **at: Unpack[At]) -> Value:
    """Inverse cosine."""

def acosh(x: Value, **at: Unpack[At]) -> Value:
    """Inverse hyperbolic cosine."""

def asin(x: Value, **at: Unpack[At]) -> Value:
    """Inverse sine."""

def asinh(x: Value, **at: Unpack[At]) -> Value:
    """Inverse hyperbolic sine."""

def atan(x: Value, **at: Unpack[At]) -> Value:
    """Inverse tangent."""

def atan2(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The angle of the point (x2, x1)."""

def atanh(x: Value, **at: Unpack[At]) -> Value:
    """Inverse hyperbolic tangent."""

def bitreverse(x: Value, **at: Unpack[At]) -> Value:
    """The bits in reverse order."""

def call_extern(func: str, args: Value | Sequence[Value] = ..., *, ty: TypesLike, **at: Unpack[At]) -> Any:
    """Calls a C function; ty is its result's type, () for none. Numbers are passed as i64, f64 or i1."""

def call_packed(func: str, args: Value | Sequence[Value] = ..., *, ty: TypesLike, **at: Unpack[At]) -> Any:
    """Calls a packed function; ty is its result's type, () for none."""

def call_pure_extern(func: str, args: Value | Sequence[Value] = ..., *, ty: TypesLike, **at: Unpack[At]) -> Any:
    """Calls a C function that has no effect and reads nothing that changes."""

def cbrt(x: Value, **at: Unpack[At]) -> Value:
    """Cube root."""

def ceil(x: Value, **at: Unpack[At]) -> Value:
    """The smallest integer not below x."""

def clip(x: Value, min: Value, max: Value, **at: Unpack[At]) -> Value:
    """The nearest to x in [min, max]."""

def clz(x: Value, **at: Unpack[At]) -> Value:
    """How many zeros precede the highest set bit; the width for 0."""

def copysign(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The magnitude of x1 with the sign of x2."""

def cos(x: Value, **at: Unpack[At]) -> Value:
    """Cosine."""

def cosh(x: Value, **at: Unpack[At]) -> Value:
    """Hyperbolic cosine."""

def cospi(x: Value, **at: Unpack[At]) -> Value:
    """cos(pi * x)."""

def ctpop(x: Value, **at: Unpack[At]) -> Value:
    """popcount, by LLVM's name."""

def ctz(x: Value, **at: Unpack[At]) -> Value:
    """How many zeros follow the lowest set bit; the width for 0."""

def deg2rad(x: Value, **at: Unpack[At]) -> Value:
    """Degrees to radians."""

def erf(x: Value, **at: Unpack[At]) -> Value:
    """The error function."""

def erfc(x: Value, **at: Unpack[At]) -> Value:
    """1 - erf(x), exact where erf(x) is near 1."""

def exp(x: Value, **at: Unpack[At]) -> Value:
    """e to the power of x."""

def exp10(x: Value, **at: Unpack[At]) -> Value:
    """10 to the power of x."""

def exp2(x: Value, **at: Unpack[At]) -> Value:
    """2 to the power of x."""

def exp_below(x: Value, **at: Unpack[At]) -> Value:
    """e to the power of x, which is not above 0; 0 where that is no normal number: for softmax."""

def expm1(x: Value, **at: Unpack[At]) -> Value:
    """exp(x) - 1, exact near 0."""

def fabs(x: Value, **at: Unpack[At]) -> Value:
    """Absolute value."""

def fdim(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 - x2 where that is positive, else 0; NaN for NaN."""

def floor(x: Value, **at: Unpack[At]) -> Value:
    """The largest integer not above x."""

def floordiv(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 / x2, rounded down."""

def floormod(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The remainder of x1 / x2 with the sign of x2."""

def fma(x1: Value, x2: Value, x3: Value, **at: Unpack[At]) -> Value:
    """x1 * x2 + x3, rounded once."""

def fmax(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The larger of both; a NaN counts as missing."""

def fmin(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The smaller of both; a NaN counts as missing."""

def fmod(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The remainder of x1 / x2 with the sign of x1."""

def frexp(x: Value, **at: Unpack[At]) -> tuple[Value, Value]:
    """x as mantissa * 2**exponent, the mantissa's magnitude in [0.5, 1), the exponent an i32."""

def fshl(x1: Value, x2: Value, x3: Value, **at: Unpack[At]) -> Value:
    """The high half of (x1:x2) << (x3 mod width): a rotation where x1 is x2."""

def fshr(x1: Value, x2: Value, x3: Value, **at: Unpack[At]) -> Value:
    """The low half of (x1:x2) >> (x3 mod width): a rotation where x1 is x2."""

def gcd(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The greatest common divisor; gcd(0, 0) is 0."""

def give_object(source: Value, place: Value, **at: Unpack[At]) -> None:
    """Leaves a reference to an object at the place, for the caller to own."""

def give_tensor(source: Value, place: Value, dtype: DTypeLike, **at: Unpack[At]) -> None:
    """Leaves a new tensor with a copy of the elements at the place, for the caller to own."""

def heaviside(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """0 where x1 < 0, x2 where x1 is 0, else 1; NaN for NaN."""

def hypot(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """sqrt(x1**2 + x2**2), without overflow."""

def i0(x: Value, **at: Unpack[At]) -> Value:
    """The modified Bessel function of the first kind, order 0."""

def ilogb(x: Value, **at: Unpack[At]) -> Value:
    """The exponent of x, as an i32."""

def isfinite(x: Value, **at: Unpack[At]) -> Value:
    """True where x is neither infinite nor NaN."""

def isinf(x: Value, **at: Unpack[At]) -> Value:
    """True where x is infinite."""

def isnan(x: Value, **at: Unpack[At]) -> Value:
    """True where x is NaN."""

def isneginf(x: Value, **at: Unpack[At]) -> Value:
    """True where x is negative infinity."""

def isnormal(x: Value, **at: Unpack[At]) -> Value:
    """True where x is neither zero, subnormal, infinite nor NaN."""

def isposinf(x: Value, **at: Unpack[At]) -> Value:
    """True where x is positive infinity."""

def lcm(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The least common multiple; 0 where one is 0."""

def ldexp(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 * 2**x2 for an integer x2."""

def lgamma(x: Value, **at: Unpack[At]) -> Value:
    """The logarithm of the gamma function's absolute value."""

def log(x: Value, **at: Unpack[At]) -> Value:
    """Natural logarithm."""

def log10(x: Value, **at: Unpack[At]) -> Value:
    """Logarithm to base 10."""

def log1p(x: Value, **at: Unpack[At]) -> Value:
    """log(1 + x), exact near 0."""

def log2(x: Value, **at: Unpack[At]) -> Value:
    """Logarithm to base 2."""

def logaddexp(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """log(exp(x1) + exp(x2)), without overflow."""

def logaddexp2(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """log2(2**x1 + 2**x2), without overflow."""

def logb(x: Value, **at: Unpack[At]) -> Value:
    """The exponent of x, as a float."""

def lrint(x: Value, dtype: DTypeLike = ..., **at: Unpack[At]) -> Value:
    """An integer by the current rounding mode, as an integer."""

def lround(x: Value, dtype: DTypeLike = ..., **at: Unpack[At]) -> Value:
    """The nearest integer, halves away from zero, as an integer."""

def modf(x: Value, **at: Unpack[At]) -> tuple[Value, Value]:
    """x as fraction + integral, both with the sign of x."""

def nearbyint(x: Value, **at: Unpack[At]) -> Value:
    """An integer by the current rounding mode."""

def nextafter(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """The next number from x1 towards x2."""

def packed(func: str, args: Value | Sequence[Value] = ..., *, ty: TypesLike, **at: Unpack[At]) -> Any:
    """Calls a packed function with memrefs as tensors; the caller owns the results."""

def place(ty: TypesLike, **at: Unpack[At]) -> Any:
    """The text, of C, that errors begin with which the function raises."""

def popcount(x: Value, **at: Unpack[At]) -> Value:
    """How many bits are set."""

def pow(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 to the power of x2."""

def prefetch(
    address: Value,
    indices: Value | Sequence[Value] = ...,
    rw: Literal['read', 'write'] = ...,
    locality: SupportsIndex = ...,
    cache: Literal['data', 'instruction'] = ...,
    **at: Unpack[At],
) -> None:
    """Asks for the cache line of an element of a memref, or behind a pointer."""

def q_multiply_shift(x: Value, y: Value, q: SupportsIndex, s: Value, **at: Unpack[At]) -> Value:
    """round(x * y * 2**(s - q)), halves up."""

def q_multiply_shift_per_axis(
    x: Value,
    y: Value,
    ls: Value,
    rs: Value,
    q: SupportsIndex,
    is_lshift_required: bool,
    is_rshift_required: bool,
    **at: Unpack[At],
) -> Value:
    """round((x << ls) * y * 2**(-rs - q)), halves up."""

def rad2deg(x: Value, **at: Unpack[At]) -> Value:
    """Radians to degrees."""

def random_key(**at: Unpack[At]) -> Value:
    """How often the loaded program has asked for one before."""

def reciprocal(x: Value, **at: Unpack[At]) -> Value:
    """1 / x."""

def release(value: Value, **at: Unpack[At]) -> None:
    """Ends the ownership of an object that tir.packed gave."""

def remainder(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 - n * x2 as in C (n nearest to x1 / x2); numpy's is floormod."""

def remquo(x1: Value, x2: Value, **at: Unpack[At]) -> tuple[Value, Value]:
    """remainder(x1, x2), and the sign and low bits (three or more) of its n as an i32."""

def return_unless_ok(status: ScalarLike, **at: Unpack[At]) -> None:
    """Ends the function with the status unless it is 0; memory that it holds is given back first."""

def rint(x: Value, **at: Unpack[At]) -> Value:
    """An integer by the current rounding mode; reports being inexact."""

def round(x: Value, **at: Unpack[At]) -> Value:
    """The nearest integer, halves to even, as upstream's; C's way is lround."""

def roundeven(x: Value, **at: Unpack[At]) -> Value:
    """The nearest integer, halves to even."""

def rsqrt(x: Value, **at: Unpack[At]) -> Value:
    """1 / sqrt(x)."""

def sadd_sat(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 + x2, kept in the signed range."""

def scalbn(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 * radix**x2 for an integer x2; the radix of IEEE's binary floats is 2."""

def sigmoid(x: Value, **at: Unpack[At]) -> Value:
    """1 / (1 + exp(-x))."""

def sign(x: Value, **at: Unpack[At]) -> Value:
    """-1, 0 or 1 by the sign of x; NaN for NaN."""

def signbit(x: Value, **at: Unpack[At]) -> Value:
    """True where the sign of x is minus, -0 and -NaN included."""

def sin(x: Value, **at: Unpack[At]) -> Value:
    """Sine."""

def sinc(x: Value, **at: Unpack[At]) -> Value:
    """sin(pi * x) / (pi * x), and 1 at 0."""

def sinh(x: Value, **at: Unpack[At]) -> Value:
    """Hyperbolic sine."""

def sinpi(x: Value, **at: Unpack[At]) -> Value:
    """sin(pi * x)."""

def spacing(x: Value, **at: Unpack[At]) -> Value:
    """The distance from x to the next number away from zero."""

def sqrt(x: Value, **at: Unpack[At]) -> Value:
    """Square root."""

def square(x: Value, **at: Unpack[At]) -> Value:
    """x * x."""

def ssub_sat(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 - x2, kept in the signed range."""

def tan(x: Value, **at: Unpack[At]) -> Value:
    """Tangent."""

def tanh(x: Value, **at: Unpack[At]) -> Value:
    """Hyperbolic tangent."""

def tanpi(x: Value, **at: Unpack[At]) -> Value:
    """tan(pi * x)."""

def tgamma(x: Value, **at: Unpack[At]) -> Value:
    """The gamma function."""

def trunc(x: Value, **at: Unpack[At]) -> Value:
    """x without its fraction."""

def tvm_warp_activemask(dtype: DTypeLike = ..., **at: Unpack[At]) -> Value:
    """The mask of the warp's active threads."""

def tvm_warp_shuffle(
    mask: Value,
    value: Value,
    warp_id: Value,
    width: SupportsIndex = ...,
    warp_size: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """The value that lane warp_id gives."""

def tvm_warp_shuffle_down(
    mask: Value,
    value: Value,
    offset: Value,
    width: SupportsIndex = ...,
    warp_size: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """The value that the lane `offset` above gives; the own one where there is none."""

def tvm_warp_shuffle_up(
    mask: Value,
    value: Value,
    offset: Value,
    width: SupportsIndex = ...,
    warp_size: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """The value that the lane `offset` below gives; the own one where there is none."""

def tvm_warp_shuffle_xor(
    mask: Value,
    value: Value,
    lane_mask: Value,
    width: SupportsIndex = ...,
    warp_size: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """The value that the lane with this one's number xor lane_mask gives."""

def uadd_sat(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 + x2, kept in the unsigned range."""

def usub_sat(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 - x2, kept in the unsigned range."""
