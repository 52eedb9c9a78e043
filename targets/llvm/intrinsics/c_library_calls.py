# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Intrinsics that become calls of the C library: gamma functions and IEEE remainders."""

from __future__ import annotations

from ....bindings.ir import OpView
from ....emit.conversions import to_float
from ....emit.extern_calls import call_on_floats, extern_call
from ....emit.numbers import Number, numbers
from ....passes.intrinsics.registry import register_legalize_intrinsic, register_lower_intrinsic

register_lower_intrinsic(["tir.call_extern", "tir.call_pure_extern"], "llvm")(extern_call)


@register_legalize_intrinsic(["tir.lgamma", "tir.tgamma"], "llvm", dtypes=("f32", "f64"))
def gamma(op: OpView) -> Number:
    """Call the f64 function, because the f32 function is less accurate."""
    (x,) = numbers(op)
    return to_float(call_on_floats(op.operation.name.removeprefix("tir."), [to_float(x, "f64")]), x.dtype)


@register_legalize_intrinsic("tir.remainder", "llvm", dtypes=("f32", "f64"))
def remainder(op: OpView) -> Number:
    return call_on_floats("remainder", numbers(op))
