# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that host code takes is the device's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import functions_in, has_body, operations_in
from ....bindings.rewriting import replace_op
from ....emit.linalg import product
from ....emit.numbers import as_i64, number
from ....emit.structured import DYNAMIC
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....passes.lower_calls import memrefs
from ...host.llvm_ops import address_of, memref_at, pointer_of
from ...host.support import DEVICE_TABLE, Support


@register_pass
@dataclass(frozen=True)
class PlaceMemory(Pass):
    """Takes host code's memory from the device."""

    name: ClassVar[str] = "gpu-place-memory"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "llvm")

    def run(self, op: Operation) -> None:
        support = Support(op)
        inside = [each for function in functions_in(op) if has_body(function) for each in operations_in(function)]
        with op.context:
            for each in inside:
                if each.name == "memref.alloc":
                    _allocate(support, each)
                elif each.name == "memref.dealloc":
                    _free(support, each)


def _allocate(support: Support, alloc: Operation) -> None:
    type_ = alloc.results[0].type
    with alloc.location, ir.InsertionPoint(alloc):
        sizes = iter(alloc.operands)
        shape = [as_i64(next(sizes)).value if known == DYNAMIC else known for known in type_.shape]
        count = product([size if isinstance(size, int) else number(size) for size in shape])
        bytes_ = as_i64(count * memrefs.storage_bytes(type_.element_type)).value
        pointer = support.value("device_alloc", address_of(DEVICE_TABLE), bytes_)
        replace_op(alloc, [memref_at(pointer, type_, shape)])


def _free(support: Support, free: Operation) -> None:
    with free.location, ir.InsertionPoint(free):
        support.call("device_free", address_of(DEVICE_TABLE), pointer_of(free.operands[0]))
    free.erase()
