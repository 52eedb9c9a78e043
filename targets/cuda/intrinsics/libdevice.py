# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Intrinsic functions of NVIDIA's libdevice. docs/tir-intrinsics-cuda.md lists their accuracy."""

from __future__ import annotations

import math

from ....bindings.ir import OpView
from ....bindings.mlir import ir
from ....emit.conversions import to_float
from ....emit.extern_calls import call_on_floats, extern_call
from ....emit.numbers import Number, intrinsic, numbers, operation, select, unary
from ....passes.kernels.intrinsics.registry import register_legalize_intrinsic, register_lower_intrinsic

_DTYPES = ("f32", "f64")
# Functions that upstream maps to libdevice. As operations they can be vectorized, too.
_OF_MATH = {
    f"tir.{word}": f"math.{word}"
    for word in (
        "exp exp2 expm1 log log1p log2 log10 sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh atan2 erf "
        "erfc cbrt rsqrt"
    ).split()
}
_OF_MATH["tir.pow"] = "math.powf"
#: libdevice also has f32 versions of these that take a few instructions: ex2.approx, lg2.approx, sin.approx.
FAST = ("tir.exp", "tir.log", "tir.log2", "tir.log10", "tir.sin", "tir.cos", "tir.tan", "tir.pow")
# Functions called by name. hypot is missing because its largest result is infinite.
_CALLED = {
    "tir.exp10": "exp10",
    "tir.sinpi": "sinpi",
    "tir.cospi": "cospi",
    "tir.remainder": "remainder",
    "tir.i0": "cyl_bessel_i0",
}

register_lower_intrinsic(["tir.call_extern", "tir.call_pure_extern"], "cuda")(extern_call)


@register_lower_intrinsic(sorted(_OF_MATH), "cuda", dtypes=_DTYPES)
def of_math(op: OpView) -> Number:
    operands = numbers(op)
    return operation(_OF_MATH[op.operation.name], operands, operands[0].type)


@register_lower_intrinsic(sorted(FAST), "cuda", fast_math=True, dtypes=("f32",))
def approximate(op: OpView) -> Number:
    operands = numbers(op)
    flags = ir.Attribute.parse("#arith.fastmath<afn>")
    return operation(_OF_MATH[op.operation.name], operands, operands[0].type, fastmath=flags)


@register_legalize_intrinsic("tir.tanh", "cuda", fast_math=True, dtypes=("f32",))
def approximate_tanh(op: OpView) -> Number:
    """Lower tanh to tanh.approx, which upstream does not map."""
    return call_on_floats("__nv_fast_tanh", numbers(op))


@register_legalize_intrinsic(sorted(_CALLED), "cuda", dtypes=_DTYPES)
def called(op: OpView) -> Number:
    return call_on_floats(f"__nv_{_CALLED[op.operation.name]}", numbers(op))


@register_legalize_intrinsic(["tir.lgamma", "tir.tgamma"], "cuda", dtypes=_DTYPES)
def gamma(op: OpView) -> Number:
    """Compute the function in f64, because libdevice's f32 version is less accurate."""
    (x,) = numbers(op)
    function = f"__nv_{op.operation.name.removeprefix('tir.')}"
    return to_float(call_on_floats(function, [to_float(x, "f64")]), x.dtype)


@register_legalize_intrinsic("tir.tanpi", "cuda", dtypes=_DTYPES)
def tanpi(op: OpView) -> Number:
    """Return sin/cos. Zeros and poles have the signs of C23: +0 at even and -0 at odd positive integers."""
    (x,) = numbers(op)
    return intrinsic("sinpi", x) / intrinsic("cospi", x)


@register_legalize_intrinsic("tir.sinc", "cuda", dtypes=_DTYPES)
def sinc(op: OpView) -> Number:
    (x,) = numbers(op)
    size = unary("math.absf", x)
    y = intrinsic("sinpi", select(size == math.inf, 0.0, x)) / (x * math.pi)
    return select(size < (2.0**-30 if x.dtype == "f32" else 2.0**-60), 1.0, y)


@register_legalize_intrinsic("tir.logaddexp", "cuda", dtypes=_DTYPES)
def logaddexp(op: OpView) -> Number:
    x, y = numbers(op)
    return _log_of_sum(x, y, 1.0)


@register_legalize_intrinsic("tir.logaddexp2", "cuda", dtypes=_DTYPES)
def logaddexp2(op: OpView) -> Number:
    x, y = numbers(op)
    return _log_of_sum(x, y, math.log(2))


def _log_of_sum(x: Number, y: Number, log_of_base: float) -> Number:
    """Return the larger operand plus log1p of a power of the distance to the other operand."""
    larger, smaller = select(x > y, x, y), select(x > y, y, x)
    distance = select(larger == smaller, 0.0, smaller - larger)
    total = larger + intrinsic("log1p", intrinsic("exp", distance * log_of_base)) * (1 / log_of_base)
    return select((x == x) & (y == y), total, math.nan)
