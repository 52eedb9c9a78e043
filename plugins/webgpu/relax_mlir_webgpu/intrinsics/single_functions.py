# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Intrinsics on f32 that are computed in f32 (wgsl/floats_32.py). Other targets use f64, which takes much code here."""

from __future__ import annotations

import math

from relax_mlir import select
from relax_mlir.bindings.ir import OpView
from relax_mlir.emit.numbers import Number, intrinsic, maximum, minimum, numbers, operation, unary
from relax_mlir.rules import register_legalize_intrinsic, register_lower_intrinsic

_OF_MATH = {f"tir.{name}": f"math.{name}" for name in "sin cos tan sinh cosh asinh acosh atanh cbrt".split()}
_OF_MATH["tir.pow"] = "math.powf"
_DTYPES = ("f32",)


@register_lower_intrinsic(sorted(_OF_MATH), "webgpu", dtypes=_DTYPES)
def of_math(op: OpView) -> Number:
    operands = numbers(op)
    return operation(_OF_MATH[op.operation.name], operands, operands[0].type)


@register_legalize_intrinsic("tir.hypot", "webgpu", dtypes=_DTYPES)
def hypot(op: OpView) -> Number:
    x, y = (unary("math.absf", number) for number in numbers(op))
    large, small = maximum(x, y), minimum(x, y)
    part = select(large == 0.0, small, small / large)
    found = large * unary("math.sqrt", part * part + 1.0)
    return select((x == math.inf) | (y == math.inf), math.inf, found)


@register_legalize_intrinsic("tir.logaddexp", "webgpu", dtypes=_DTYPES)
def logaddexp(op: OpView) -> Number:
    x, y = numbers(op)
    large, small = maximum(x, y), minimum(x, y)
    found = large + intrinsic("log1p", intrinsic("exp", small - large))
    return select((x == y), x + math.log(2), found)


@register_legalize_intrinsic("tir.logaddexp2", "webgpu", dtypes=_DTYPES)
def logaddexp2(op: OpView) -> Number:
    x, y = numbers(op)
    large, small = maximum(x, y), minimum(x, y)
    found = large + intrinsic("log1p", intrinsic("exp2", small - large)) * (1 / math.log(2))
    return select((x == y), x + 1.0, found)
