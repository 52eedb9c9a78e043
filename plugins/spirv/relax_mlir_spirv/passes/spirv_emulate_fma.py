# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emulation of x * y + z with a single rounding, for devices that round twice.

Intrinsic functions rely on it (targets/llvm/intrinsics). Vulkan allows devices to round twice and does not report it,
but nearly all have a fused instruction.
"""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_named
from relax_mlir.bindings.rewriting import replace_op
from relax_mlir.emit.numbers import Number, number, select
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.targets.gpu.kernels.outline import kernels_in

#: Factor that splits an f64 into two parts with half the bits.
_SPLITTER = 2.0**27 + 1


@register_pass
class EmulateFma(Pass):
    """Compute math.fma by other arithmetic that rounds once, or very rarely twice."""

    name: ClassVar[str] = "spirv-emulate-fma"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    def run(self, op: Operation) -> None:
        with op.context:
            fused = [each for kernel in kernels_in(op) for each in operations_named(kernel, "math.fma")]
            for operation in fused:
                with operation.location, ir.InsertionPoint(operation):
                    x, y, z = map(number, operation.operands)
                    if x.dtype == "f64":
                        replace_op(operation, [_compute_in_parts(x, y, z).value])
                    elif x.dtype == "f32":
                        replace_op(operation, [_wide(x, y, z).value])


def _wide(x: Number, y: Number, z: Number) -> Number:
    """Return the result in f64, in which the product is exact."""
    x, y, z = (each.to("f64") for each in (x, y, z))
    return (x * y + z).to("f32")


def _compute_in_parts(x: Number, y: Number, z: Number) -> Number:
    """Return the result with the product and the sum as pairs of numbers.

    Infinite values use the device's arithmetic.
    """
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    product_rest = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    total = product + z
    part = total - product
    total_rest = (product - (total - part)) + (z - part)
    exact = total + (total_rest + product_rest)
    return select(exact == exact, exact, total)


def _halves(x: Number) -> tuple[Number, Number]:
    scaled = x * _SPLITTER
    high = scaled - (scaled - x)
    return high, x - high
