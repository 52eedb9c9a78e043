# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Placement of the memory that host code allocates on the device."""

from __future__ import annotations

from typing import ClassVar

from ....bindings.ir import Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import functions_in, has_body, operations_in
from ....bindings.rewriting import replace_op
from ....emit import memrefs
from ....emit.linalg import product
from ....emit.numbers import as_i64
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ...host.llvm_ops import address_of, memref_at, pointer_of
from ...host.support import DEVICE_TABLE, Support


@register_pass
class PlaceMemory(Pass):
    """Allocate host code's memory on the device."""

    name: ClassVar[str] = "gpu-place-memory"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "llvm")

    def run(self, op: Operation) -> None:
        support = Support(op)
        functions = [function for function in functions_in(op) if has_body(function)]
        with op.context:
            for each in [inside for function in functions for inside in operations_in(function)]:
                if each.name == "memref.alloc":
                    _allocate(support, each)
                elif each.name == "memref.dealloc":
                    _free(support, each)


def _shape(alloc: Operation) -> list[int | Value]:
    sizes = iter(alloc.operands)
    return [as_i64(next(sizes)).value if known == DYNAMIC else known for known in alloc.results[0].type.shape]


def _allocate(support: Support, alloc: Operation) -> None:
    with alloc.location, ir.InsertionPoint(alloc):
        bytes_ = product(_shape(alloc)) * memrefs.storage_bytes(alloc.results[0].type.element_type)
        pointer = support.value("device_alloc", address_of(DEVICE_TABLE), as_i64(bytes_).value)
        replace_op(alloc, [memref_at(pointer, alloc.results[0].type, _shape(alloc))])


def _free(support: Support, free: Operation) -> None:
    with free.location, ir.InsertionPoint(free):
        support.call("device_free", address_of(DEVICE_TABLE), pointer_of(free.operands[0]))
    free.erase()
