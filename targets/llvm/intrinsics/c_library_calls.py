# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of C functions, and the intrinsics that are left to the C library: gamma functions, IEEE's remainders."""

from __future__ import annotations

from ....bindings.ir import OpView
from ....emit.conversions import to_float
from ....emit.extern_calls import call_on_floats, extern_call
from ....emit.numbers import Number, numbers
from ....passes.intrinsics.registry import register_legalize_intrinsic, register_lower_intrinsic

register_lower_intrinsic(["tir.call_extern", "tir.call_pure_extern"], "llvm")(extern_call)


@register_legalize_intrinsic(["tir.lgamma", "tir.tgamma"], "llvm", dtypes=("f32", "f64"))
def gamma(op: OpView) -> Number:
    """In f64, as f32's own are less exact."""
    (x,) = numbers(op)
    return to_float(call_on_floats(op.operation.name.removeprefix("tir."), [to_float(x, "f64")]), x.dtype)


@register_legalize_intrinsic("tir.remainder", "llvm", dtypes=("f32", "f64"))
def remainder(op: OpView) -> Number:
    return call_on_floats("remainder", numbers(op))
