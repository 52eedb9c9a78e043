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
    """Absolute value; the lowest signed integer maps to itself."""

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
    """Angle of the point (x2, x1)."""

def atanh(x: Value, **at: Unpack[At]) -> Value:
    """Inverse hyperbolic tangent."""

def bitreverse(x: Value, **at: Unpack[At]) -> Value:
    """Reverses the bits."""

def call_extern(
    func: str,
    args: Value | Sequence[Value] = ...,
    library: str = ...,
    *,
    ty: TypesLike,
    **at: Unpack[At],
) -> Any:
    """Calls a C function, with numbers as i64, f64 or i1. ty is its result type, () for none."""

def call_packed(func: str, args: Value | Sequence[Value] = ..., *, ty: TypesLike, **at: Unpack[At]) -> Any:
    """Calls a packed function. ty is its result type, () for none."""

def call_pure_extern(func: str, args: Value | Sequence[Value] = ..., *, ty: TypesLike, **at: Unpack[At]) -> Any:
    """Calls a C function without side effects that reads only constant memory."""

def cbrt(x: Value, **at: Unpack[At]) -> Value:
    """Cube root."""

def ceil(x: Value, **at: Unpack[At]) -> Value:
    """Smallest integer >= x."""

def clip(x: Value, min: Value, max: Value, **at: Unpack[At]) -> Value:
    """Limits x to [min, max]."""

def clz(x: Value, **at: Unpack[At]) -> Value:
    """Number of zeros above the highest set bit; the width for 0."""

def copysign(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Magnitude of x1 with the sign of x2."""

def cos(x: Value, **at: Unpack[At]) -> Value:
    """Cosine."""

def cosh(x: Value, **at: Unpack[At]) -> Value:
    """Hyperbolic cosine."""

def cospi(x: Value, **at: Unpack[At]) -> Value:
    """cos(pi * x)."""

def ctpop(x: Value, **at: Unpack[At]) -> Value:
    """popcount under its LLVM name."""

def ctz(x: Value, **at: Unpack[At]) -> Value:
    """Number of zeros below the lowest set bit; the width for 0."""

def deg2rad(x: Value, **at: Unpack[At]) -> Value:
    """Converts degrees to radians."""

def erf(x: Value, **at: Unpack[At]) -> Value:
    """Error function."""

def erfc(x: Value, **at: Unpack[At]) -> Value:
    """1 - erf(x), accurate where erf(x) is near 1."""

def exp(x: Value, **at: Unpack[At]) -> Value:
    """e to the power of x."""

def exp10(x: Value, **at: Unpack[At]) -> Value:
    """10 to the power of x."""

def exp2(x: Value, **at: Unpack[At]) -> Value:
    """2 to the power of x."""

def exp_below(x: Value, **at: Unpack[At]) -> Value:
    """exp(x) for x <= 0, with 0 for subnormal results; for softmax."""

def expm1(x: Value, **at: Unpack[At]) -> Value:
    """exp(x) - 1, accurate near 0."""

def fabs(x: Value, **at: Unpack[At]) -> Value:
    """Absolute value."""

def fdim(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """max(x1 - x2, 0); NaN for NaN."""

def floor(x: Value, **at: Unpack[At]) -> Value:
    """Largest integer <= x."""

def floordiv(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 / x2, rounded down."""

def floormod(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Remainder of x1 / x2 with the sign of x2."""

def fma(x1: Value, x2: Value, x3: Value, **at: Unpack[At]) -> Value:
    """x1 * x2 + x3, rounded once."""

def fmax(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Maximum; ignores a NaN operand."""

def fmin(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Minimum; ignores a NaN operand."""

def fmod(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Remainder of x1 / x2 with the sign of x1."""

def frexp(x: Value, **at: Unpack[At]) -> tuple[Value, Value]:
    """x = mantissa * 2**exponent, with |mantissa| in [0.5, 1) and an i32 exponent."""

def fshl(x1: Value, x2: Value, x3: Value, **at: Unpack[At]) -> Value:
    """High half of (x1:x2) << (x3 mod width): a rotation if x1 == x2."""

def fshr(x1: Value, x2: Value, x3: Value, **at: Unpack[At]) -> Value:
    """Low half of (x1:x2) >> (x3 mod width): a rotation if x1 == x2."""

def gcd(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Greatest common divisor; gcd(0, 0) is 0."""

def give_object(source: Value, place: Value, **at: Unpack[At]) -> None:
    """Stores a reference to an object at the place. The caller owns the reference."""

def give_tensor(source: Value, place: Value, dtype: DTypeLike, **at: Unpack[At]) -> None:
    """Stores a new tensor with a copy of the elements at the place. The caller owns the tensor."""

def heaviside(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """0 where x1 < 0, x2 where x1 is 0, else 1; NaN for NaN."""

def hypot(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """sqrt(x1**2 + x2**2), without overflow."""

def i0(x: Value, **at: Unpack[At]) -> Value:
    """Modified Bessel function of the first kind, order 0."""

def ilogb(x: Value, **at: Unpack[At]) -> Value:
    """Exponent of x, as an i32."""

def isfinite(x: Value, **at: Unpack[At]) -> Value:
    """True where x is neither infinite nor NaN."""

def isinf(x: Value, **at: Unpack[At]) -> Value:
    """True where x is infinite."""

def isnan(x: Value, **at: Unpack[At]) -> Value:
    """True where x is NaN."""

def isneginf(x: Value, **at: Unpack[At]) -> Value:
    """True where x is negative infinity."""

def isnormal(x: Value, **at: Unpack[At]) -> Value:
    """True where x is not zero, subnormal, infinite or NaN."""

def isposinf(x: Value, **at: Unpack[At]) -> Value:
    """True where x is positive infinity."""

def lcm(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Least common multiple; 0 if an operand is 0."""

def ldexp(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 * 2**x2 for an integer x2."""

def lgamma(x: Value, **at: Unpack[At]) -> Value:
    """Logarithm of the absolute value of the gamma function."""

def log(x: Value, **at: Unpack[At]) -> Value:
    """Natural logarithm."""

def log10(x: Value, **at: Unpack[At]) -> Value:
    """Logarithm to base 10."""

def log1p(x: Value, **at: Unpack[At]) -> Value:
    """log(1 + x), accurate near 0."""

def log2(x: Value, **at: Unpack[At]) -> Value:
    """Logarithm to base 2."""

def logaddexp(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """log(exp(x1) + exp(x2)), without overflow."""

def logaddexp2(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """log2(2**x1 + 2**x2), without overflow."""

def logb(x: Value, **at: Unpack[At]) -> Value:
    """Exponent of x, as a float."""

def lrint(x: Value, dtype: DTypeLike = ..., **at: Unpack[At]) -> Value:
    """x rounded in the current rounding mode, as an integer type."""

def lround(x: Value, dtype: DTypeLike = ..., **at: Unpack[At]) -> Value:
    """Nearest integer, as an integer type; ties away from zero."""

def modf(x: Value, **at: Unpack[At]) -> tuple[Value, Value]:
    """x = fraction + integral, both with the sign of x."""

def nearbyint(x: Value, **at: Unpack[At]) -> Value:
    """x rounded in the current rounding mode."""

def nextafter(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """Next number after x1 in the direction of x2."""

def packed(func: str, args: Value | Sequence[Value] = ..., *, ty: TypesLike, **at: Unpack[At]) -> Any:
    """Calls a packed function, with memrefs passed as tensors. The caller owns the results."""

def place(ty: TypesLike, **at: Unpack[At]) -> Any:
    """C string at the beginning of the function's errors."""

def popcount(x: Value, **at: Unpack[At]) -> Value:
    """Number of set bits."""

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
    """Prefetches the cache line of a memref's element, or at a pointer."""

def q_multiply_shift(x: Value, y: Value, q: SupportsIndex, s: Value, **at: Unpack[At]) -> Value:
    """round(x * y * 2**(s - q)), ties up."""

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
    """round((x << ls) * y * 2**(-rs - q)), ties up."""

def rad2deg(x: Value, **at: Unpack[At]) -> Value:
    """Converts radians to degrees."""

def random_key(**at: Unpack[At]) -> Value:
    """Number of earlier calls in the loaded program."""

def reciprocal(x: Value, **at: Unpack[At]) -> Value:
    """1 / x."""

def release(value: Value, **at: Unpack[At]) -> None:
    """Releases an object that tir.packed returned."""

def remainder(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 - n * x2, n nearest to x1 / x2, as in C; numpy.remainder is floormod."""

def remquo(x1: Value, x2: Value, **at: Unpack[At]) -> tuple[Value, Value]:
    """remainder(x1, x2), and the sign and three or more low bits of its n, as an i32."""

def return_unless_ok(status: ScalarLike, **at: Unpack[At]) -> None:
    """Frees the function's memory and returns the status, unless the status is 0."""

def rint(x: Value, **at: Unpack[At]) -> Value:
    """x rounded in the current rounding mode; sets the inexact flag."""

def round(x: Value, **at: Unpack[At]) -> Value:
    """Nearest integer; ties to even, unlike C's round."""

def roundeven(x: Value, **at: Unpack[At]) -> Value:
    """Nearest integer; ties to even."""

def rsqrt(x: Value, **at: Unpack[At]) -> Value:
    """1 / sqrt(x)."""

def sadd_sat(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 + x2, saturated to the signed range."""

def scalbn(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 * radix**x2 for an integer x2; the radix is 2."""

def sigmoid(x: Value, **at: Unpack[At]) -> Value:
    """1 / (1 + exp(-x))."""

def sign(x: Value, **at: Unpack[At]) -> Value:
    """Sign of x: -1, 0 or 1; NaN for NaN."""

def signbit(x: Value, **at: Unpack[At]) -> Value:
    """True where the sign bit of x is set, including -0 and -NaN."""

def sin(x: Value, **at: Unpack[At]) -> Value:
    """Sine."""

def sinc(x: Value, **at: Unpack[At]) -> Value:
    """sin(pi * x) / (pi * x), and 1 at 0."""

def sinh(x: Value, **at: Unpack[At]) -> Value:
    """Hyperbolic sine."""

def sinpi(x: Value, **at: Unpack[At]) -> Value:
    """sin(pi * x)."""

def spacing(x: Value, **at: Unpack[At]) -> Value:
    """Distance from x to the next number away from zero."""

def sqrt(x: Value, **at: Unpack[At]) -> Value:
    """Square root."""

def square(x: Value, **at: Unpack[At]) -> Value:
    """x * x."""

def ssub_sat(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 - x2, saturated to the signed range."""

def tan(x: Value, **at: Unpack[At]) -> Value:
    """Tangent."""

def tanh(x: Value, **at: Unpack[At]) -> Value:
    """Hyperbolic tangent."""

def tanpi(x: Value, **at: Unpack[At]) -> Value:
    """tan(pi * x)."""

def tgamma(x: Value, **at: Unpack[At]) -> Value:
    """Gamma function."""

def trunc(x: Value, **at: Unpack[At]) -> Value:
    """Integer part of x."""

def tvm_warp_activemask(dtype: DTypeLike = ..., **at: Unpack[At]) -> Value:
    """Mask of the warp's active threads."""

def tvm_warp_shuffle(
    mask: Value,
    value: Value,
    warp_id: Value,
    width: SupportsIndex = ...,
    warp_size: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """Value of lane warp_id."""

def tvm_warp_shuffle_down(
    mask: Value,
    value: Value,
    offset: Value,
    width: SupportsIndex = ...,
    warp_size: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """Value of the lane `offset` above; the own value if there is no such lane."""

def tvm_warp_shuffle_up(
    mask: Value,
    value: Value,
    offset: Value,
    width: SupportsIndex = ...,
    warp_size: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """Value of the lane `offset` below; the own value if there is no such lane."""

def tvm_warp_shuffle_xor(
    mask: Value,
    value: Value,
    lane_mask: Value,
    width: SupportsIndex = ...,
    warp_size: SupportsIndex = ...,
    **at: Unpack[At],
) -> Value:
    """Value of the lane with index (own index XOR lane_mask)."""

def uadd_sat(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 + x2, saturated to the unsigned range."""

def usub_sat(x1: Value, x2: Value, **at: Unpack[At]) -> Value:
    """x1 - x2, saturated to the unsigned range."""
