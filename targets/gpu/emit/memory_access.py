# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory accesses: aligned vectors where possible, single elements otherwise; shared memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import i64_attribute, ir
from ....bindings.navigation import enclosing
from ....emit import loops
from ....emit.arithmetic import result_of
from ....emit.memrefs import storage_bytes
from ....emit.numbers import Number, Size, as_index, number
from ....emit.vectors import from_elements, in_each_lane, lane_of, vector_of
from ...core.machine import Machine
from . import threads

_VECTOR_BYTES = Machine.thread_bytes


def load(memref: Value, at: Sequence[Size], lanes: int) -> Value:
    """Load an element, or `lanes` adjacent elements of the last axis. The last index must be a multiple of `lanes`."""
    if lanes == 1:
        return loops.load(memref, *at).value
    type_ = loaded_type(memref.type.element_type, lanes)
    if _is_truth(type_):
        return gathered(lanes, lambda lane: loops.load(memref, *at[:-1], at[-1] + lane).value)
    return result_of("vector.load", [memref, *map(as_index, at)], type_, alignment=_alignment(type_))


def loaded_type(element: Type, lanes: int) -> Type:
    """Return the type of a loaded value."""
    return element if lanes == 1 else vector_of(lanes, element)


def filled(scalar: Value, lanes: int) -> Number:
    """Return the scalar in each lane, or the scalar itself for one lane."""
    return number(scalar) if lanes == 1 else in_each_lane(scalar, lanes)


def store(value: Value, memref: Value, at: Sequence[Size]) -> None:
    if not isinstance(value.type, ir.VectorType):
        loops.store(value, memref, *at)
        return
    if _is_truth(value.type):
        for lane, element in enumerate(elements(value)):
            loops.store(element, memref, *at[:-1], at[-1] + lane)
        return
    operands = [value, memref, *map(as_index, at)]
    ir.Operation.create("vector.store", operands=operands, attributes={"alignment": _alignment(value.type)})


def _is_truth(vector: Type) -> bool:
    """Check for i1 elements, which are bytes in memory and bits in vectors."""
    element = vector.element_type
    return isinstance(element, ir.IntegerType) and element.width == 1


def elements(value: Value) -> list[Value]:
    """Return the lanes of a vector, or the scalar in a list."""
    return [lane_of(value, lane) for lane in range(lanes_of(value))] if lanes_of(value) else [value]


def lanes_of(value: Value) -> int:
    return math.prod(value.type.shape) if isinstance(value.type, ir.VectorType) else 0


def gathered(lanes: int, load_lane: Callable[[int], Value]) -> Value:
    """Return a vector of one load per lane, or a scalar for one lane."""
    return load_lane(0) if lanes == 1 else from_elements([load_lane(lane) for lane in range(lanes)])


def _alignment(vector: Type) -> ir.Attribute:
    """Return the alignment of a vector access. Vectors wider than a thread's access are split into several accesses."""
    return i64_attribute(min(storage_bytes(vector), _VECTOR_BYTES))


def shared_memory(inside: Operation, shape: Sequence[int], element: Type, alignment: int = threads.ALIGNMENT) -> Value:
    """Allocate shared memory for each block of the kernel that contains an operation."""
    kernel = enclosing(inside, "gpu.func")
    assert kernel is not None, "blocks of threads run kernels"
    return threads.shared_memory(kernel, shape, element, alignment)


def wait_for_block() -> None:
    """Emit a barrier for all threads of the block."""
    ir.Operation.create("gpu.barrier", attributes={})
