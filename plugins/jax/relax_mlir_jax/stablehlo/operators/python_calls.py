# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of Python at run time, in the form that this project registers with jax.

They are packed functions of the process, which finds the callee by a number.
"""

from __future__ import annotations

from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.infos import ObjectInfo, TensorInfo
from relax_mlir.emit.arithmetic import constant_value
from relax_mlir.frontends.core.complex_numbers import in_pairs, of_pairs

from ..hlo_types import info_of, is_complex
from ..prelude import ComplexValue, HloNode, Outputs, Tensor, Value, register_stablehlo, relax

TARGET = "relax_mlir.call_python"
#: Packed functions. The first copies tensors into an object. The second calls by a number and that object.
GIVEN, CALL_BACK = "relax_mlir.jax.given", "relax_mlir.jax.call_back"
_ELEMENT = "ffi.ArrayGetItem"


def number(value: int) -> Tensor:
    """Return an argument of a packed function."""
    return constant_value(value, ir.IntegerType.get_signless(64))


@register_stablehlo(f"custom_call @{TARGET}")
def call_python(node: HloNode) -> Outputs:
    """Call Python through objects: a program's own tensors are never written to."""
    inputs = [
        in_pairs(input_) if isinstance(input_, ComplexValue) else node.tensor(place)
        for place, input_ in enumerate(node.inputs)
    ]
    call = relax.call_packed if node.attr("has_side_effect", False) else relax.call_pure_packed
    given = relax.call_pure_packed(GIVEN, inputs, ty_args=ObjectInfo())
    found = call(CALL_BACK, [number(node.attr("mhlo.backend_config")["number"]), given], ty_args=ObjectInfo())
    return [
        element_of(found, place, info_of(type_), is_complex(type_)) for place, type_ in enumerate(node.result_types)
    ]


def element_of(tensor: Tensor, place: int, info: TensorInfo, has_pairs: bool) -> Value | ComplexValue:
    """Return an element of an array of tensors; complex numbers come as pairs."""
    if not has_pairs:
        return Value(ssa=relax.call_pure_packed(_ELEMENT, [tensor, number(place)], ty_args=info))
    pairs = info.with_shape([*(info.shape or ()), 2])
    return of_pairs(relax.call_pure_packed(_ELEMENT, [tensor, number(place)], ty_args=pairs))
