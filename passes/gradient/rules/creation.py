# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of operators that fill tensors: what they fill them with may change, the tensor whose shape it is not."""

from __future__ import annotations

from typing import Any

from ....bindings.ir import Value
from ...canonicalize.support import dtype_of
from ..registry import GradientCall, register_gradient
from ..tensors import cast, relax


@register_gradient(["relax.zeros_like", "relax.ones_like", "relax.eye_like"], by_types=True)
def like(call: GradientCall) -> None:
    return None


@register_gradient("relax.grad.no_grad", by_types=True)
def no_grad(call: GradientCall) -> None:
    return None


@register_gradient(["relax.grad.start_checkpoint", "relax.grad.end_checkpoint"], by_types=True)
def checkpoint(call: GradientCall) -> Any:
    """The same value; what lies between them is gone through where an end_checkpoint is met (checkpoints.py)."""
    return call.gradient


@register_gradient(["relax.full", "relax.full_like"], by_types=True)
def full(call: GradientCall) -> list[Any]:
    def total() -> Value:
        return cast(relax["sum"](call.gradient), dtype_of(call.fill_value))

    return [None, total]


@register_gradient(["relax.tril", "relax.triu"], by_types=True)
def triangle(call: GradientCall) -> Any:
    name = call.operation.name.removeprefix("relax.")
    return relax[name](call.gradient, call.k)
