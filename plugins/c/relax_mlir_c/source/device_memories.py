# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device memories in C: one array each, as large as the largest use by a kernel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import string_value
from relax_mlir.bindings.navigation import made_by
from relax_mlir.dialects.core.ir_attributes import DEVICE_MEMORY
from relax_mlir.emit.memrefs import root_of

from .c_names import CNames, identifier

_ARRAY = """\
/* The memory '{memory}'. {macro} may say where it is, as attributes: section(".{name}"), aligned({alignment}). */
#ifndef {macro}
#ifdef __GNUC__
#define {macro} __attribute__((aligned({alignment})))
#else
#define {macro}
#endif
#endif
static {macro} union {{
    uint8_t bytes[{bytes}];
    int64_t integer;
    double number;
}} {name};"""


@dataclass(frozen=True)
class MemoryArray:
    """Array of one memory. Kernels run one after the other, so that all of them use the same bytes."""

    memory: str
    name: str
    macro: str
    bytes: int
    alignment: int

    @property
    def text(self) -> str:
        """Return the definition of the array."""
        return _ARRAY.format(**vars(self))


def device_memory_of(memref: Value) -> str:
    """Return the name of the device's memory that holds a buffer, or nothing."""
    made = made_by(root_of(memref), "memref.alloc")
    return string_value(made.attributes[DEVICE_MEMORY]) if made is not None and DEVICE_MEMORY in made.attributes else ""


def device_memories(operations: Iterable[Operation], names: CNames) -> dict[str, MemoryArray]:
    """Return the arrays for the memories that these operations allocate parts of, by the memories' names."""
    found: dict[str, list[Operation]] = {}
    for op in operations:
        if DEVICE_MEMORY in op.attributes:
            found.setdefault(device_memory_of(op.results[0]), []).append(op)
    return {memory: _array(memory, found[memory], names) for memory in sorted(found)}


def _array(memory: str, allocations: list[Operation], names: CNames) -> MemoryArray:
    name = names.fresh(identifier(memory))
    size = max(int(op.results[0].type.shape[0]) for op in allocations)
    alignment = max(int(op.attributes["alignment"].value) for op in allocations)
    return MemoryArray(memory, name, names.fresh(name.upper()), size, alignment)
