# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hiding of constant zeros from lavapipe.

lavapipe folds x * 0.0 to 0.0 and x + 0.0 to x, and leaves x / 0.0 undefined (gallivm's lp_build_mul, lp_build_add,
lp_build_div). It does so even if exact arithmetic is requested.
"""

from __future__ import annotations

import math
from typing import ClassVar

from relax_mlir.bindings.ir import Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import made_by, operations_named
from relax_mlir.emit.arithmetic import result_of
from relax_mlir.emit.numbers import number
from relax_mlir.emit.vectors import is_vector, spread
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.targets.gpu.kernels.outline import kernels_in

_ARITHMETIC = frozenset(f"arith.{name}" for name in ("addf", "subf", "mulf", "divf", "remf"))


@register_pass
class HideZeros(Pass):
    """Replace constant 0.0 operands by values that the driver cannot recognize."""

    name: ClassVar[str] = "spirv-hide-zeros"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "gpu", "vector")

    def run(self, op: Operation) -> None:
        with op.context:
            for kernel in kernels_in(op):
                for operation in operations_named(kernel, *_ARITHMETIC):
                    with operation.location, ir.InsertionPoint(operation):
                        for place, operand in enumerate(list(operation.operands)):
                            known = _constant(operand)
                            if known == 0:
                                operation.operands[place] = _hide(operand, is_negative=math.copysign(1.0, known) < 0)


def _constant(value: Value) -> float | None:
    """Return the value of all lanes, or None if unknown."""
    made = made_by(value, "arith.constant")
    if made is None:
        return None
    splat_value = made.attributes["value"]
    if not isinstance(splat_value, ir.FloatAttr):
        dense = ir.DenseElementsAttr(splat_value)
        if not dense.is_splat:
            return None
        splat_value = dense.get_splat_value()
    found: float = ir.FloatAttr(splat_value).value
    return found


def _hide(zero: Value, *, is_negative: bool) -> Value:
    """Return a zero from the bits of the block index in the third dimension, which has size 1."""
    element: Type = zero.type.element_type if is_vector(zero) else zero.type
    place = result_of("gpu.block_id", [], ir.IndexType.get(), dimension=ir.Attribute.parse("#gpu<dim z>"))
    bits = number(place).to("i32").value
    value = number(result_of("arith.bitcast", [bits], ir.F32Type.get())).to(str(element)).value
    value = result_of("arith.negf", [value], element) if is_negative else value
    return spread(zero.type, value).value if is_vector(zero) else value
