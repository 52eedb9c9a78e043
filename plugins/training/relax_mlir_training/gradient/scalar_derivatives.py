# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of scalars, and of tensor elements, by rules for tensors without axes."""

from __future__ import annotations

import math
from collections.abc import Callable

from relax_mlir.bindings.ir import Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import ScalarInfo, is_float
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.values import shape_of
from relax_mlir.emit.numbers import as_i64
from relax_mlir.passes.graph.decompose.tensor_formulas import Tensor, apply, as_tensor

from .scf_derivatives import DifferentiatedRegion

#: TIR intrinsics with equivalent operators on tensors.
_OF_TIR = (
    "abs acos acosh asin asinh atan atan2 atanh ceil cos cosh erf exp floor log round rsqrt sigmoid sin sinh sqrt tan "
    "tanh trunc"
).split()
_SAME = {
    "arith.addf": "add", "arith.subf": "subtract", "arith.mulf": "multiply", "arith.divf": "divide",
    "arith.negf": "negative", "arith.remf": "mod", "arith.select": "where",
    "arith.maximumf": "maximum", "arith.maxnumf": "maximum", "arith.minimumf": "minimum", "arith.minnumf": "minimum",
    "math.absf": "abs", "math.powf": "power", "math.fma": "ewise_fma", "math.roundeven": "round",
    **{f"math.{name}": name for name in _OF_TIR if name not in ("abs", "round", "sigmoid")},
    **{f"tir.{name}": name for name in _OF_TIR}, "tir.pow": "power",
}  # fmt: skip
_FORMULAS: dict[str, Callable[[Tensor], Tensor]] = {
    "math.exp2": lambda x: apply("exp", x * math.log(2)),
    "math.expm1": lambda x: apply("exp", x) - 1,
    "math.log10": lambda x: apply("log", x) / math.log(10),
    "math.log1p": lambda x: apply("log", x + 1),
    "math.log2": lambda x: apply("log", x) / math.log(2),
}

Pairs = list[tuple[Value, Value]]


def _differentiate_by_operator(region: DifferentiatedRegion) -> Pairs:
    """Differentiate a scalar operation by the equivalent operator on tensors."""
    operation = region.operation
    tensors = [as_tensor(operand) for operand in operation.operands]
    formula = _FORMULAS.get(operation.name)
    result = (
        relax.dialect.ops[_SAME[operation.name]](*tensors) if formula is None else formula(Tensor(tensors[0])).value
    )
    floats = [place for place, operand in enumerate(operation.operands) if _is_float(operand)]
    made = region.inside([(result, region.arriving[0])], [tensors[place] for place in floats], ())
    return [(operation.operands[place], gradient) for place, gradient in zip(floats, made, strict=True)]


def _differentiate_cast(region: DifferentiatedRegion) -> Pairs:
    (operand,) = region.operation.operands
    info = decode(operand.type)
    assert isinstance(info, ScalarInfo), operand
    return [(operand, relax.astype(region.arriving[0], dtype=info.dtype))]


def _differentiate_extract(region: DifferentiatedRegion) -> Pairs:
    """Return zeros, with the gradient at the position of the element."""
    tensor, *indices = region.operation.operands
    if not indices:
        return [(tensor, region.arriving[0])]
    i64 = ir.IntegerType.get_signless(64)
    numbers = [as_i64(index).value for index in indices]
    type_ = ir.RankedTensorType.get([1, len(numbers)], i64)
    place = ir.Operation.create("tensor.from_elements", results=[type_], operands=numbers).result
    arriving = relax.expand_dims(region.arriving[0], axis=[0])
    return [(tensor, relax.scatter_nd(relax.zeros_like(tensor), place, arriving, reduction="add"))]


def _elements(region: DifferentiatedRegion) -> Pairs:
    """Return for each element its gradient, in row-major order."""
    operands, arriving = list(region.operation.operands), region.arriving[0]
    if not shape_of(arriving):
        return [(operands[0], arriving)]
    flat = relax.flatten(arriving)
    return [(operand, relax.take(flat, const(place, "i64"), axis=0)) for place, operand in enumerate(operands)]


def _is_float(value: Value) -> bool:
    info = decode(value.type)
    return isinstance(info, ScalarInfo) and is_float(info.dtype)


#: Derivatives of operations by name, as in CONTROL_FLOW.
SCALARS: dict[str, Callable[[DifferentiatedRegion], Pairs]] = {
    **dict.fromkeys([*_SAME, *_FORMULAS], _differentiate_by_operator),
    **dict.fromkeys(["arith.extf", "arith.truncf"], _differentiate_cast),
    "tensor.extract": _differentiate_extract,
    "tensor.from_elements": _elements,
}
