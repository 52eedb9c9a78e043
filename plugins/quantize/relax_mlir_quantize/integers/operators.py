# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer arithmetic of sums, differences, elementwise products, concatenations and selected elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.dialects import relax
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.known_constants import elements_of
from relax_mlir.dialects.relax.values import dtype_of
from relax_mlir.passes.graph.quantization.numbers import made

from .layer_emission import LayerEmission

if TYPE_CHECKING:
    from numpy import ndarray


def emit_sum(to: LayerEmission, core: Operation) -> Value:
    """Bring both operands to one scale with more bits, and requantize their sum or difference."""
    operands = [to.single(value, f"x{place}") for place, value in enumerate(core.operands, 1)]
    combine = relax.add if core.name == "relax.add" else relax.subtract
    if to.how.sums == "result":
        steps = sum(of.most * float(of.scale) for of in operands) / to.scale
        to.check_width(int(steps * 2.0**to.summand_bits), f"a sum with {to.summand_bits} fractional bits")
        left, right = (rescaled_summand(to, to.less(of), of.scale) for of in operands)
        return finished_sum(to, combine(left, right))
    common, places = 2 * max(float(of.scale) for of in operands), to.summand_bits
    to.check_width(max(of.most for of in operands) << places, f"an operand, shifted by {places} bits,")
    left, right = (
        to.requantize(relax.left_shift(to.less(of), const(places, "int32")), of.scale / common, 0, "i32")
        for of in operands
    )
    return to.requantize(combine(left, right), common / (to.scale * 2.0**places), to.zero, to.dtype)


def rescaled_summand(to: LayerEmission, numbers: Value, scale: ndarray, axis: int = -1) -> Value:
    """Return i32 numbers with the result's scale and the fractional bits of summands."""
    return to.requantize(numbers, scale / to.scale * 2.0**to.summand_bits, 0, "i32", axis=axis)


def finished_sum(to: LayerEmission, total: Value) -> Value:
    """Return a sum of such numbers as integers of the result."""
    if not to.summand_bits:
        return to.stored(total, to.zero)
    return to.requantize(total, 2.0**-to.summand_bits, to.zero, to.dtype)


def emit_product(to: LayerEmission, core: Operation) -> Value:
    """Multiply differences to the zero points, and requantize the product. Scaled sums are requantized."""
    if (sums := _scaled_sums(core)) is not None:
        return to.requantize(sums[0], sums[1].astype(float).reshape(()) / to.scale, to.zero, to.dtype)
    left, right = (to.single(value, f"x{place}") for place, value in enumerate(core.operands, 1))
    to.check_width(left.most * right.most, "a product of the operands")
    product = relax.multiply(to.less(left), to.less(right))
    return to.requantize(product, left.scale * right.scale / to.scale, to.zero, to.dtype)


def _scaled_sums(core: Operation) -> tuple[Value, ndarray] | None:
    """Return the i32 sums and the constant scale of `astype(sums) * scale`, or None."""
    for value, other in (core.operands, reversed(core.operands)):
        scale, maker = elements_of(other), getattr(value.owner, "operation", None)
        if scale is not None and scale.size == 1 and maker is not None and maker.name == "relax.astype":
            sums = maker.operands[0]
            return (sums, scale) if dtype_of(sums) == "i32" else None
    return None


def emit_concat(to: LayerEmission, core: Operation) -> Value:
    """Concatenate operands that have the result's scale, zero point and type."""
    parts = [to.rescaled(to.single(value, f"tensor {place}")) for place, value in enumerate(core.operands)]
    attributes = {name: core.attributes[name] for name in core.attributes}
    return made(core.name, parts, to.result.numbers.type, attributes).results[0]


def emit_selection(to: LayerEmission, core: Operation) -> Value:
    """Select elements on raw integers, and rescale them."""
    return to.moved(core, to.single(core.operands[0], "data"))
