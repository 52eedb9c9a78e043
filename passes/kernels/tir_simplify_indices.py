# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Index expressions of PrimFuncs become sums of loop indices, where the ranges of the loops allow it.

Plans, vectors and tiles need such sums. PrimFuncs of te and of users have `co // 64 * 64 + rc` for the groups of a
convolution, and `(h + rh) // 2` under `(h + rh) % 2 == 0` for its transpose.
"""

from __future__ import annotations

from typing import ClassVar

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, operations_of
from ...dialects.core.ir_attributes import PLAN, SCHEDULE, UNPLANNED
from ...dialects.tir.prim_func import prim_funcs_in
from ...emit.generic import GENERIC, GenericOp
from ...emit.structured import structured_ops
from ..core.base import Pass
from ..core.registry import register_pass
from .indices.loop_splitting import loop_splits, split_loops
from .indices.maps import has_divisions, has_remainders, is_candidate, simplify_maps
from .indices.residue_classes import residues_of


@register_pass
class TirSimplifyIndices(Pass):
    """Simplify indices by the ranges of loops; split loops by divisors, and transposed convolutions by strides."""

    name: ClassVar[str] = "tir-simplify-indices"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "linalg", "tensor")

    def run(self, op: Operation) -> None:
        for function in prim_funcs_in(op):
            if SCHEDULE in function.attributes:
                continue
            # Erasing one candidate erases no other candidate: only fills and elementwise operations go with it.
            operations = structured_ops(function)
            for operation in operations:
                _hoist_constant(operation)
            candidates = [each for each in operations if _has_candidate_form(each)]
            with function.context:
                changed = [_simplify(candidate) for candidate in candidates]
            if any(changed):
                from .schedule.other_loops import note_other_loops  # few PrimFuncs need it

                note_other_loops(function, "its loops were split, for indices without divisions")


def _has_candidate_form(operation: Operation) -> bool:
    if operation.name != GENERIC or PLAN in operation.attributes or UNPLANNED in operation.attributes:
        return False
    op = GenericOp(operation)
    return is_candidate(op) and _is_on_plain_tensors(op) and 0 not in op.known_sizes


def _simplify(operation: Operation) -> bool:
    """Simplify the indices of an operation. Return True if its loops changed."""
    with operation.location:
        op = GenericOp(operation)
        if has_divisions(op):
            simplify_maps(operation)
            op = GenericOp(operation)
        # Only residue classes decide conditions on remainders.
        splits = [] if has_remainders(op) else loop_splits(op)
        residues = None if splits else residues_of(op)
        if residues is not None:
            residues.write()
            return True
        splits = splits or loop_splits(op)
        split_loops(operation, splits)
        return len(splits) > 0


def _is_on_plain_tensors(op: GenericOp) -> bool:
    types = [value.type for value in op.operands if isinstance(value.type, ir.ShapedType)]
    return all(isinstance(type_, ir.RankedTensorType) and type_.encoding is None for type_ in types)


def _hoist_constant(operation: Operation) -> None:
    """Move the constant of a fill, as te writes fills, out of its body. Sums can then start from the constant."""
    inner = operations_of(body_of(operation))
    if len(inner) == 2 and inner[0].name == "arith.constant" and not GenericOp(operation).reductions:
        inner[0].move_before(operation)
