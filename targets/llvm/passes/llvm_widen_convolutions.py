# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of f16 operands of convolutions with constant weights to f32.

Sums of f16 are computed in f32. A convolution reads each element once per tap and block of results, and would convert
it each time. The pass converts the data once, fused with its producer if possible, and the weights at compile time. The
weights then take twice the memory. CPUs with dot products of f16 read f16 directly.
"""

from __future__ import annotations

from typing import ClassVar

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import operations_in
from ....bindings.rewriting import is_used
from ....dialects import relax
from ....dialects.relax.constants import elements_attribute
from ....dialects.relax.known_constants import constant_op, stored_elements
from ....dialects.relax.values import dtype_of, with_dtype
from ....passes.core.registry import register_pass
from ...core.machine_pass import MachinePass

_CONVOLUTIONS = frozenset(f"relax.nn.conv{rank}d" for rank in (1, 2, 3))


@register_pass
class WidenConvolutions(MachinePass):
    """Convert f16 operands of convolutions with constant weights to f32."""

    name: ClassVar[str] = "llvm-widen-convolutions"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        if any(dot.left == "f16" for dot in self.machine.dots):
            return
        wide: dict[Value, Value] = {}
        for operation in operations_in(op):
            if operation.name in _CONVOLUTIONS:
                _widen(operation, wide)
        for weight in wide:
            if not is_used(weight.owner.operation):
                weight.owner.operation.erase()


def _widen(convolution: Operation, wide: dict[Value, Value]) -> None:
    """Convert the operands of a convolution.

    `wide` holds the f32 weights: weights with several users are converted once.
    """
    (data, weight), result = convolution.operands, convolution.result
    dtype = dtype_of(result)
    if not dtype_of(data) == dtype_of(weight) == "f16" or dtype not in ("f16", "f32"):
        return
    if (elements := stored_elements(weight)) is None:
        return
    with convolution.location:
        if weight not in wide:
            with ir.InsertionPoint(weight.owner):
                values = elements_attribute(elements.astype("float32"), ir.F32Type.get())
                wide[weight] = constant_op(values).result
        with ir.InsertionPoint(convolution):
            convolution.operands[0] = relax.astype(data, dtype="f32")
        convolution.operands[1] = wide[weight]
    if "out_dtype" in convolution.attributes:
        del convolution.attributes["out_dtype"]
    if dtype == "f32":
        return
    result.set_type(with_dtype(result, "f32"))
    with ir.InsertionPoint.after(convolution), convolution.location:
        narrow = relax.astype(result, dtype=dtype)
    result.replace_all_uses_except(narrow, narrow.owner.operation)
