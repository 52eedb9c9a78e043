# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering of kernel launches and of host reads of device memory to calls of the host's device functions.

A kernel's index in the program's table is its position in the module's attribute `relax.kernels`.
"""

from __future__ import annotations

from typing import ClassVar

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir, string_value
from ....bindings.navigation import operations_in_functions, symbol_name
from ....bindings.rewriting import replace_op
from ....dialects.core.ir_attributes import BY_VALUE, DYNAMIC_SHARED, KERNELS
from ....emit import memrefs
from ....emit.numbers import Number, as_i64, number, operation
from ....emit.subviews import strided_metadata
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ...host.llvm_ops import address_of, load, pointer_of, stack, store, view_of
from ...host.support import DEVICE_TABLE, Support
from ..kernels.outline import kernels_in, launched

_WORD = 8


@register_pass
class LowerLaunches(Pass):
    """Lower launches and reads of single elements in host code to calls of device functions."""

    name: ClassVar[str] = "gpu-lower-launches"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "llvm", "memref")

    def run(self, op: Operation) -> None:
        kernels = [string_value(each) for each in op.attributes[KERNELS]] if KERNELS in op.attributes else []
        functions = {symbol_name(kernel): kernel for kernel in kernels_in(op)}
        support = Support(op)
        with op.context:
            for each in operations_in_functions(op, "gpu.launch_func", "memref.load"):
                if each.name == "memref.load":
                    _read(support, each)
                else:
                    _launch(support, each, kernels, functions[launched(each)])


def _dynamic_shared(kernel: Operation) -> int:
    """Return the bytes of shared memory that launches of a kernel request."""
    return int(kernel.attributes[DYNAMIC_SHARED].value) if DYNAMIC_SHARED in kernel.attributes else 0


def _launch(support: Support, launch: Operation, kernels: list[str], kernel: Operation) -> None:
    blocks, _, _, threads, _, _, *given = launch.operands
    with launch.location, ir.InsertionPoint(launch):
        values, places = stack(_WORD * len(given)), stack(_WORD * len(given))
        for position, value in enumerate(given):
            index = isinstance(value.type, ir.IndexType)
            store(as_i64(value).value if index else value, values, _WORD * position)
            is_whole = BY_VALUE in kernel.attributes and kernel.attributes[BY_VALUE][position] > 0
            store(value if is_whole else view_of(values, _WORD * position), places, _WORD * position)
        numbers = (kernels.index(symbol_name(kernel)), blocks, threads, _dynamic_shared(kernel))
        sizes = [as_i64(each).value for each in numbers]
        support.require("device_launch", address_of(DEVICE_TABLE), *sizes, places)
    launch.erase()


def _read(support: Support, read: Operation) -> None:
    """Read an element of device memory. The host waits for the device's earlier work."""
    memref, *indices = read.operands
    with read.location, ir.InsertionPoint(read):
        bytes_ = memrefs.storage_bytes(memref.type.element_type)
        place = view_of(pointer_of(memref), (as_i64(_offset(memref, indices)) * bytes_).value)
        slot = stack(_WORD)
        support.require("device_read", address_of(DEVICE_TABLE), slot, place, as_i64(bytes_).value)
        type_ = read.results[0].type
        is_index = isinstance(type_, ir.IndexType)
        value = load(slot, 0, ir.IntegerType.get_signless(64) if is_index else type_)
        replace_op(read, [operation("arith.index_cast", [value], type_).value if is_index else value])


def _offset(memref: Value, indices: list[Value]) -> Number:
    """Return the offset of an element from the base pointer, in elements."""
    _, first, *rest = strided_metadata(memref).results
    offset = number(first)
    for place, stride in zip(indices, rest[memref.type.rank :], strict=True):
        offset = offset + number(place) * number(stride)
    return offset
