# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization and its inverse, as ONNX defines them.

For integers the result is round(data / scale), halves to even, plus the zero point, saturated. For small floats it is
data / scale plus the zero point, rounded once and saturated. NaN becomes 0 in integers. The computation is in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from ...bindings.ir import Value
from ...dialects.core.infos import TensorInfo, bit_width, is_float
from ...dialects.core.symbols import equal
from ...emit import loops
from ...emit.broadcast import Place, along_axis, broadcast_generic, require_broadcast
from ...emit.numbers import Number, intrinsic
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize


@register_legalize("relax.quantize", by_types=True)
def quantize(call: LegalizeCall) -> Legalized:
    data, scale, zero_point = map(call.dtype, call.operands)
    target = call.result_dtype()

    def body(x: Number, s: Number, z: Number) -> Number:
        quotient = _f32(x, data) / _f32(s, scale)
        if is_float(target):
            return (quotient + _f32(z, zero_point)).to(target, saturate=True)
        # f32 is exact for every sum in the range of 16 bits. A larger zero point needs more digits.
        wide = "f64" if bit_width(zero_point) > 16 else "f32"
        return (intrinsic("roundeven", quotient).to(wide) + z.of(zero_point).to(wide)).to(target)

    return apply_along_axis(call, body)


@register_legalize("relax.dequantize", by_types=True)
def dequantize(call: LegalizeCall) -> Legalized:
    data, scale, zero_point = map(call.dtype, call.operands)
    target = call.result_dtype()

    def body(x: Number, s: Number, z: Number) -> Number:
        return (_difference(x, data, z, zero_point) * _f32(s, scale)).to(target)

    return apply_along_axis(call, body)


def _f32(value: Number, dtype: str) -> Number:
    return value.of(dtype).to("f32")


def _difference(x: Number, data: str, z: Number, zero_point: str) -> Number:
    """Return x - z as f32. For integers the difference is exact before the conversion."""
    if is_float(data) or is_float(zero_point):
        return _f32(x, data) - _f32(z, zero_point)
    wide = "i32" if max(bit_width(data), bit_width(zero_point)) <= 16 else "i64"
    return (x.of(data).to(wide) - z.of(zero_point).to(wide)).to("f32")


def apply_along_axis(call: LegalizeCall, body: Callable[..., Number]) -> list[Value]:
    """Apply `body` to each element with its parameters, such as scale and zero point.

    A parameter is a single number, or one number per place along the axis.
    """
    # Ranks and sizes are known here, or named.
    data, *others = cast(list[TensorInfo], [call.info(value) for value in call.operands])
    assert data.shape is not None
    rank = len(data.shape)
    axis = call.op.axis % max(rank, 1)
    slices = data.shape[axis] if rank else 1
    plans: list[Sequence[Place]] = [range(rank), *(along_axis(info.shape or (), slices, axis) for info in others)]
    # Sizes that inference could not compare are compared at run time.
    checked = [at for at, info in enumerate(others, 1) if info.shape and equal(info.shape[0], slices) is not True]

    def write(*parameters: Value) -> Value:
        *inputs, output = parameters
        for position in checked:
            require_broadcast(inputs[position], [loops.sizes(output)[axis] if rank else 1])
        return broadcast_generic(inputs, output, plans, body)

    return call.prim(write)
