# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dynamic shared memory: launches request the size, and kernels find all of it in one array.

Static shared memory is limited to 48 KB. A kernel that needs more places all of its shared memory in one array without
a size, one piece behind the other. All such kernels of a module use this array.
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
#: Largest alignment that any access or instruction requires.
_ALIGNMENT = 1024


@register_pass
@dataclass(frozen=True)
class PlaceShared(Pass):
    """Place the shared memory of a kernel that needs more than 48 KB, and request its size at launch."""

    name: ClassVar[str] = "gpu-place-shared"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref")

    #: Bytes that a block of the device may request.
    most: int = STATIC_SHARED

    def run(self, op: Operation) -> None:
        with op.context:
            for kernel in kernels_in(op):
                self._place(kernel)

    def _place(self, kernel: Operation) -> None:
        ops = operations_of(kernel.block)
        globals_ = {symbol_name(op): op for op in ops if op.name == "memref.global"}
        gets = operations_named(kernel, "memref.get_global")
        own = {each.attributes["name"].value: globals_[each.attributes["name"].value] for each in gets}
        places, total = _places(own)
        if total <= min(STATIC_SHARED, self.most):
            return
        if total > self.most:
            text = f"kernel '{symbol_name(kernel)}' needs {total} bytes of shared memory, a block may have {self.most}"
            raise located_error(f"{text}: use smaller tiles, or fewer 'stages' in the plan", kernel.location)
        with kernel.location:
            _declare(kernel.block, globals_)
            for get in gets:
                _replace(get, places[get.attributes["name"].value])
            for each in own.values():
                each.erase()
            kernel.attributes[DYNAMIC_SHARED] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), total)


def _places(globals_: Mapping[str, Operation]) -> tuple[dict[str, int], int]:
    """Return the offset of each global, and the total size in bytes."""
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
