# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mapping of loops to threads in kernels: assignment of points and steps, and barriers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.mlir import ir, string_value
from ....bindings.navigation import body_of, operations_in
from ....bindings.rewriting import replace_op
from ....dialects.core.ir_attributes import FORM, PARALLEL
from ....emit.numbers import operation
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ..emit.threads import ALIGNMENT, shared_memory
from ..forms.table import FORMS
from ..kernels.outline import kernels_in
from ..parallel_work import is_structured
from ..unplanned.collapse import collapse_loops
from ..unplanned.points import Points


@register_pass
class ShareThreads(Pass):
    """Assign the work of kernels to threads."""

    name: ClassVar[str] = "gpu-share-threads"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("affine", "arith", "gpu", "memref", "scf", "vector")

    def run(self, op: Operation) -> None:
        with op.context:
            for kernel in [each for each in kernels_in(op) if FORM in each.attributes]:
                with kernel.location:
                    FORMS[string_value(kernel.attributes[FORM])].write(kernel)
                    inside = operations_in(kernel)
                    allocations = [each for each in inside if each.name == "memref.alloc"]
                    loops = [each for each in inside if each.name == "scf.for" and PARALLEL in each.attributes]
                    structured = list(filter(is_structured, inside))
                    _place_memory(kernel, allocations)
                    _write_the_rest(structured)
                    for loop in loops:
                        del loop.attributes[PARALLEL]
                del kernel.attributes[FORM]


def _write_the_rest(ops: Sequence[Operation]) -> None:
    """Emit the remaining operations as sequential loops, for one thread or for all threads alike."""
    for op in list(map(collapse_loops, ops)):
        with op.location, ir.InsertionPoint(op):
            Points(op).write_all()
        op.erase()


def _place_memory(kernel: Operation, allocations: Sequence[Operation]) -> None:
    """Allocate the memory of a block as shared memory."""
    for op in allocations:
        type_ = op.results[0].type
        with op.location, ir.InsertionPoint.at_block_begin(body_of(kernel)):
            asked = op.attributes["alignment"].value if "alignment" in op.attributes else ALIGNMENT
            shared = shared_memory(kernel, type_.shape, type_.element_type, max(asked, ALIGNMENT))
            is_same = shared.type == type_
            replace_op(op, [shared if is_same else operation("memref.memory_space_cast", [shared], type_).value])
