# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Straight-through derivatives of quantization, for quantization-aware training.

Rounding counts as the identity, so y = (clip(round(x / scale) + zero_point) - zero_point) * scale has the derivative 1
by x within the range of the type, and 0 outside of it. The derivatives by scales are equal to learned step sizes
(LSQ). Gradients of quantized tensors are f32, whatever the type of the tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress

from relax_mlir.bindings.ir import Value
from relax_mlir.bindings.navigation import made_by
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.values import dtype_of, shape_of
from relax_mlir.passes.graph.decompose.tensor_formulas import cast, relax
from relax_mlir.passes.graph.gradient_rules import register_gradient

from ..gradient_call import Gradient, GradientCall
from ..requirements import rank_of
from ..reverse import QUANTIZE, gradients_at

#: A number that all small floats saturate.
_HUGE = 3e38
Along = Callable[[Value], Value]


@register_gradient(QUANTIZE)
def quantize(call: GradientCall) -> Sequence[Gradient]:
    """Differentiate data / scale + zero_point where the result is not clipped, by the operands that are floats."""
    along = _make_broadcast(call)

    def steps(data: Value, scale: Value, zero_point: Value) -> Value:
        return relax.add(relax.divide(data, along(scale)), along(zero_point))

    numbers = [cast(operand, "f32") for operand in call.operands]
    inside = _is_inside(call, steps(*numbers), along)

    def forward(*values: Value) -> Value:
        made = steps(*values)
        return relax.where(inside, made, relax.zeros_like(made))

    return _differentiate_in_floats(call, forward, numbers, [is_float(dtype_of(operand)) for operand in call.operands])


def _is_inside(call: GradientCall, steps: Value, along: Along) -> Value:
    """Return where the type holds the rounded steps."""
    if not is_float(call.out_dtype):
        rounded = relax.add(
            relax.round(relax.divide(cast(call.data, "f32"), along(call.scale))), along(call.zero_point)
        )
        return relax.equal(rounded, cast(call.result, "f32"))
    one, zero = const(1.0, "f32"), const(0.0, "f16")
    largest = relax.quantize(const(_HUGE, "f32"), one, zero, axis=0, out_dtype=call.out_dtype)
    return relax.less_equal(relax.abs(steps), cast(largest, "f32"))


@register_gradient("relax.dequantize")
def dequantize(call: GradientCall) -> Sequence[Gradient]:
    """Differentiate (data - zero_point) * scale, by a quantized tensor and by the operands that are floats."""
    along = _make_broadcast(call)

    def forward(data: Value, scale: Value, zero_point: Value) -> Value:
        return relax.multiply(relax.subtract(data, along(zero_point)), along(scale))

    numbers = [cast(operand, "f32") for operand in call.operands]
    is_wanted = [is_float(dtype_of(operand)) for operand in call.operands]
    is_quantized = made_by(call.data, QUANTIZE) is not None
    is_wanted[0] = is_wanted[0] or is_quantized
    return _differentiate_in_floats(call, forward, numbers, is_wanted, keeps_first=is_quantized)


def _make_broadcast(call: GradientCall) -> Along:
    """Return a function that broadcasts scales and zero points to the data, as f32."""
    rank = rank_of(call, call.data)
    behind = rank - 1 - call.axis % max(rank, 1)

    def along(x: Value) -> Value:
        wide = cast(x, "f32")
        return relax.expand_dims(wide, axis=list(range(1, 1 + behind))) if shape_of(x) and behind else wide

    return along


def _differentiate_in_floats(
    call: GradientCall,
    forward: Callable[..., Value],
    numbers: Sequence[Value],
    is_wanted: Sequence[bool],
    *,
    keeps_first: bool = False,
) -> list[Value | None]:
    """Return the gradients of `forward` of numbers in f32, in the types of the operands."""

    def of_wanted(*values: Value) -> Value:
        rest = iter(values)
        return forward(*(next(rest) if wanted else own for wanted, own in zip(is_wanted, numbers, strict=True)))

    made = iter(gradients_at(list(compress(numbers, is_wanted)), of_wanted, cast(call.gradient, "f32")))
    found = [next(made) if wanted else None for wanted in is_wanted]
    return [
        each if each is None or (keeps_first and place == 0) else cast(each, dtype_of(call.operands[place]))
        for place, each in enumerate(found)
    ]
