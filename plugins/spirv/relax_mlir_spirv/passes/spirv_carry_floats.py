# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Storage of bf16 as integers of its bits. Devices have no such type, and upstream would store f32.

Earlier passes have lowered arithmetic to f32 and conversions to integers (arith-emulate-unsupported-floats,
arith-expand). The remaining operations load, store, select and pass on values.
"""

from __future__ import annotations

import struct
from typing import ClassVar

from relax_mlir.bindings.ir import Attribute, Operation, Type
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.bindings.rewriting import located_error
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.targets.gpu.device_code import kernel_modules

#: Operations that may have bf16 operands or results.
_MOVES = ("arith.constant", "arith.select", "arith.bitcast", "memref.", "scf.", "vector.", "builtin.", "gpu.", "spirv.")


@register_pass
class CarryFloats(Pass):
    """Replace bf16 by i16 in kernels."""

    name: ClassVar[str] = "spirv-carry-floats"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "vector")

    def run(self, op: Operation) -> None:
        with op.context:
            for module in kernel_modules(op):
                for operation in operations_in(module):
                    _carry(operation)


def _carry(op: Operation) -> None:
    values = [
        *op.results,
        *(argument for region in op.regions for block in region.blocks for argument in block.arguments),
    ]
    changed = [(value, other) for value in values if (other := _replace_type(value.type)) is not None]
    for value, other in changed:
        value.set_type(other)
    if op.name in ("gpu.func", "memref.global"):
        _retype(op)
    if not changed:
        return
    if not op.name.startswith(_MOVES):
        raise located_error(f"'{op.name}' op computes with bf16, which SPIR-V devices do not support", op.location)
    if op.name == "arith.constant":
        op.attributes["value"] = _bits(op.attributes["value"], op.results[0].type)


def _retype(op: Operation) -> None:
    """Update the type attribute of a function or global."""
    name = "function_type" if op.name == "gpu.func" else "type"
    type_ = op.attributes[name].value
    if name == "type":
        op.attributes[name] = ir.TypeAttr.get(_replace_type(type_) or type_)
        return
    inputs = [_replace_type(input_) or input_ for input_ in type_.inputs]
    op.attributes[name] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))


def _replace_type(type_: Type) -> Type | None:
    """Return the replacement of a type, or None for other types."""
    if type_ == ir.BF16Type.get():
        return ir.IntegerType.get_signless(16)
    if isinstance(type_, (ir.MemRefType, ir.VectorType)):
        element = _replace_type(type_.element_type)
        if element is None:
            return None
        if isinstance(type_, ir.VectorType):
            return ir.VectorType.get(type_.shape, element)
        return ir.MemRefType.get(type_.shape, element, type_.layout, type_.memory_space)
    return None


def _bits(value: Attribute, type_: Type) -> Attribute:
    if isinstance(type_, ir.VectorType):
        return ir.DenseElementsAttr.get_splat(type_, _bits(value.get_splat_value(), type_.element_type))
    (bits,) = struct.unpack("<I", struct.pack("<f", value.value))
    return ir.IntegerAttr.get(type_, bits >> 16)
