# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fusion pattern of a PrimFunc, derived from its body."""

from __future__ import annotations

from ....bindings.affine import compose, identity, inverse, plain_dim
from ....bindings.ir import AffineMap, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import function_type_of, made_by, operations_named, operations_of
from ....dialects.core.facts import OpPattern
from ....emit.generic import GenericOp
from .prim_info import AROUND, is_plain_generic, is_pure, writes_each

# Allowed beside the loops: computation of sizes, and memory of temporaries.
_ALLOWED = AROUND | {"func.return", "linalg.fill", "tensor.empty"}


def pattern_of(function: Operation) -> OpPattern:
    """Return the fusion pattern. Bodies of unknown or several kinds are opaque."""
    blocks = list(function.regions[0].blocks)
    results = function_type_of(function).results
    if len(blocks) != 1 or len(results) != 1 or not isinstance(results[0], ir.RankedTensorType):
        return OpPattern.OPAQUE
    if not is_pure(function):
        return OpPattern.OPAQUE
    loops = [op for op in operations_of(blocks[0]) if not _is_allowed(op)]
    if not loops or not all(map(is_plain_generic, loops)):
        return OpPattern.OPAQUE
    reductions = [generic for op in loops if (generic := GenericOp(op)).reductions]
    if reductions:
        return _classify_reductions(reductions)
    if len(loops) == 1 and writes_each(loops[0], blocks[0], operations_of(blocks[0])[-1]):
        return _classify_elements(loops[0])
    return OpPattern.OPAQUE


def _is_allowed(op: Operation) -> bool:
    return op.name in _ALLOWED or op.name.partition(".")[0] in ("arith", "index")


def _classify_reductions(reductions: list[GenericOp]) -> OpPattern:
    for op in reductions:
        # A reduction that continues from the contents of its output has no start value inside of another function.
        if not all(map(_is_begun, op.outputs)):
            return OpPattern.OPAQUE
    is_product = any(op.input_count > 1 for op in reductions)
    return OpPattern.OUT_EWISE_FUSABLE if is_product else OpPattern.COMM_REDUCE


def _is_begun(value: Value) -> bool:
    """Check whether a reduction's start value is written before it, and does not come from the output's memory."""
    if (begin := made_by(value, "linalg.fill", "linalg.generic")) is None or begin.name == "linalg.fill":
        return begin is not None
    generic = GenericOp(begin)
    return not generic.reductions and not any(map(generic.is_read, generic.output_numbers))


def _classify_elements(generic: Operation) -> OpPattern:
    *reads, output = GenericOp(generic).maps
    is_elsewhere = bool(operations_named(generic, "linalg.index", "tensor.extract"))
    if is_elsewhere or any(made_by(operand, "tensor.extract_slice") for operand in generic.operands):
        return OpPattern.INJECTIVE
    # From elements of the output to elements of the inputs.
    reads = [compose(read, inverse(output)) for read in reads]
    if all(read == identity(read.n_dims) for read in reads):
        return OpPattern.ELEMWISE
    return OpPattern.BROADCAST if all(map(_is_broadcast, reads)) else OpPattern.INJECTIVE


def _is_broadcast(read: AffineMap) -> bool:
    """Check whether a read follows some of the dimensions in order, with index 0 along axes of size 1."""
    dims = [
        plain_dim(result) for result in read.results if not isinstance(result.maybe_downcast(), ir.AffineConstantExpr)
    ]
    return None not in dims and dims == sorted(dims, key=lambda dim: -1 if dim is None else dim)
