# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of operators that fill tensors: what they fill them with may change, the tensor whose shape it is not."""

from __future__ import annotations

from typing import Any

from ....bindings.ir import Value
from ...canonicalize.support import dtype_of
from ..registry import GradientCall, register_gradient
from ..tensors import relax


@register_gradient(["relax.zeros_like", "relax.ones_like", "relax.eye_like"])
def like(call: GradientCall) -> None:
    return None


@register_gradient(["relax.full", "relax.full_like"])
def full(call: GradientCall) -> list[Any]:
    def total() -> Value:
        value = relax["sum"](call.gradient)
        wanted = dtype_of(call.fill_value)
        return value if dtype_of(value) == wanted else relax["astype"](value, dtype=wanted)

    return [None, total]


@register_gradient(["relax.tril", "relax.triu"])
def triangle(call: GradientCall) -> Any:
    name = call.operation.name.removeprefix("relax.")
    return relax[name](call.gradient, call.k)
