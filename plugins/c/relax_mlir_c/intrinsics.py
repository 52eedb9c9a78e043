# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Intrinsic functions from <math.h>."""

from __future__ import annotations

from relax_mlir.bindings.ir import OpView
from relax_mlir.emit.numbers import Number, numbers, operation
from relax_mlir.passes.kernels.intrinsics.registry import register_lower_intrinsic
from relax_mlir.targets.default.intrinsics import WIDE

_OF_MATH = {
    f"tir.{word}": f"math.{word}"
    for word in (
        "exp exp2 expm1 log log1p log2 log10 sin cos sinh cosh tanh asin acos atan asinh acosh atanh atan2 erf "
        "erfc cbrt"
    ).split()
}
_OF_MATH["tir.pow"] = "math.powf"


@register_lower_intrinsic(sorted(_OF_MATH), "c", dtypes=WIDE)
def of_math(op: OpView) -> Number:
    operands = numbers(op)
    return operation(_OF_MATH[op.operation.name], operands, operands[0].type)
