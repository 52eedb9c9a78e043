# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of operators that fill tensors, by the fill value. An operand that only gives a shape has none."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.relax.values import dtype_of
from relax_mlir.emit.numbers import constant
from relax_mlir.passes.graph.decompose.tensor_formulas import as_tensor, cast, relax
from relax_mlir.passes.graph.gradient_rules import register_gradient

from ..gradient_call import Gradient, GradientCall, Gradients
from ..positions import positions_of


@register_gradient(["relax.zeros_like", "relax.ones_like", "relax.eye_like"], by_types=True)
def like(call: GradientCall) -> None:
    return None


@register_gradient("relax.grad.no_grad", by_types=True)
def no_grad(call: GradientCall) -> None:
    return None


@register_gradient(["relax.grad.start_checkpoint", "relax.grad.end_checkpoint"], by_types=True)
def checkpoint(call: GradientCall) -> Gradients:
    """Return the gradient unchanged. checkpoints.py differentiates the values between two marks."""
    return call.gradient


@register_gradient(["relax.full", "relax.full_like"], by_types=True)
def full(call: GradientCall) -> Sequence[Gradient]:
    def total() -> Value:
        return cast(relax.sum(call.gradient), dtype_of(call.fill_value))

    return [None, total]


@register_gradient("relax.scalar_to_tensor", by_types=True)
def scalar_to_tensor(call: GradientCall) -> Gradients:
    return call.gradient


@register_gradient("relax.arange", by_types=True)
def arange(call: GradientCall) -> Sequence[Gradient]:
    """Differentiate arange. The end only determines the number of elements, which changes in steps."""

    def by_step() -> Value:
        numbers = cast(positions_of(call.result), dtype_of(call.result))
        return _total(relax.multiply(call.gradient, numbers), call.step)

    return [lambda: _total(call.gradient, call.start), None, by_step]


@register_gradient("relax.one_hot", by_types=True)
def one_hot(call: GradientCall) -> Sequence[Gradient]:
    def chosen(on: float) -> Value:
        values = [constant(number, call.on_value.type).value for number in (on, 1 - on)]
        shares = relax.dialect.ops["one_hot"](call.indices, *values, depth=call.depth, axis=call.axis)
        return _total(relax.multiply(call.gradient, shares), call.on_value)

    return [None, lambda: chosen(1.0), lambda: chosen(0.0)]


@register_gradient("relax.hamming_window", by_types=True)
def hamming_window(call: GradientCall) -> Sequence[Gradient]:
    """Differentiate alpha - beta * cos(...)."""

    def by_beta() -> Value:
        dtype = dtype_of(call.result)
        slope = relax.hamming_window(call.window_size, call.periodic, 0.0, 1.0, dtype=dtype)
        return _total(relax.multiply(call.gradient, slope), call.beta)

    return [None, None, lambda: _total(call.gradient, call.alpha), by_beta]


def _total(gradient: Value, scalar: Value) -> Value:
    """Return the sum of a gradient, in the element type of a scalar."""
    return cast(relax.sum(gradient), dtype_of(as_tensor(scalar)))


@register_gradient(["relax.tril", "relax.triu"], by_types=True)
def triangle(call: GradientCall) -> Gradients:
    name = call.operation.name.removeprefix("relax.")
    return relax.dialect.ops[name](call.gradient, call.k)
