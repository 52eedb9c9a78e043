# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared memory of more than a block has without being asked: launches say how much, kernels find it at one place.

What is declared with its size is never more than 48 KB. A kernel that needs more has all of its memory in one array
without a size, which every such kernel of the module uses, one piece behind the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Block, Operation
from ....bindings.mlir import i64_attribute, ir
from ....bindings.navigation import operations_named, operations_of, symbol_name
from ....bindings.rewriting import located_error, replace_op
from ....dialects.core.ir_attributes import DYNAMIC_SHARED
from ....emit.memrefs import storage_bytes
from ....emit.numbers import as_index, operation
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ..emit.threads import STATIC_SHARED, shared_type
from ..kernels.outline import kernels_in

_NAME = "dynamic_shared"
#: As much as any access or instruction asks for.
_ALIGNMENT = 1024


@register_pass
@dataclass(frozen=True)
class PlaceShared(Pass):
    """Has launches ask for shared memory of which a kernel needs more than 48 KB."""

    name: ClassVar[str] = "gpu-place-shared"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref")

    #: Bytes that a block of the device may ask for.
    most: int = STATIC_SHARED

    def run(self, op: Operation) -> None:
        with op.context:
            for kernel in kernels_in(op):
                self._place(kernel)

    def _place(self, kernel: Operation) -> None:
        ops = operations_of(kernel.block)
        globals_ = {symbol_name(each): each for each in ops if each.name == "memref.global"}
        gets = operations_named(kernel, "memref.get_global")
        own = {each.attributes["name"].value: globals_[each.attributes["name"].value] for each in gets}
        places, total = _places(own)
        if total <= min(STATIC_SHARED, self.most):
            return
        if total > self.most:
            text = f"kernel '{symbol_name(kernel)}' needs {total} bytes of shared memory, a block may have {self.most}"
            raise located_error(f"{text}: smaller tiles take less, and fewer 'stages' of a plan", kernel.location)
        with kernel.location:
            _declare(kernel.block, globals_)
            for get in gets:
                _replace(get, places[get.attributes["name"].value])
            for each in own.values():
                each.erase()
            i64 = ir.IntegerType.get_signless(64)
            kernel.attributes[DYNAMIC_SHARED] = ir.IntegerAttr.get(i64, total)


def _places(globals_: Mapping[str, Operation]) -> tuple[dict[str, int], int]:
    """Where each begins, and the bytes of all."""
    found: dict[str, int] = {}
    end = 0
    for name, each in globals_.items():
        type_, alignment = each.attributes["type"].value, each.attributes["alignment"].value
        found[name] = -(-end // alignment) * alignment
        end = found[name] + math.prod(type_.shape) * storage_bytes(type_.element_type)
    return found, end


def _declare(block: Block, globals_: Mapping[str, Operation]) -> None:
    if _NAME in globals_:
        return
    attributes = {
        "sym_name": ir.StringAttr.get(_NAME),
        "type": ir.TypeAttr.get(_type()),
        "alignment": i64_attribute(_ALIGNMENT),
    }
    with ir.InsertionPoint.at_block_begin(block):
        ir.Operation.create("memref.global", attributes=attributes)


def _type() -> ir.Type:
    return shared_type([0], ir.IntegerType.get_signless(8))


def _replace(get: Operation, place: int) -> None:
    with get.location, ir.InsertionPoint(get):
        whole = operation("memref.get_global", [], _type(), name=ir.FlatSymbolRefAttr.get(_NAME))
        replace_op(get, [operation("memref.view", [whole.value, as_index(place).value], get.results[0].type).value])
