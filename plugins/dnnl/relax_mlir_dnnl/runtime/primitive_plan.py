# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans: primitives with their arguments, and the memory of the values between them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from relax_mlir.runtime import Call, CallArgument, CallList, Passed

from .library import library
from .objects import DnnlMemory, Layout, Primitive

_ALIGNMENT = 64


class _Argument(ctypes.Structure):
    """Argument of a primitive: dnnl_exec_arg_t."""

    _fields_ = [("argument", ctypes.c_int), ("memory", ctypes.c_void_p)]


@dataclass(eq=False)
class TensorBuffer:
    """Memory of a tensor: an argument of the call by its position, an address, or an offset in the arena."""

    nbytes: int
    position: int | None = None
    address: int | None = None
    #: Object that keeps the memory at the address alive.
    owner: object = None
    #: Live range: the first and the last call that use the tensor.
    first: int = -1
    last: int = -1
    offset: int = 0

    def is_at(self, other: TensorBuffer) -> bool:
        """Check whether both buffers are the same memory."""
        return self is other or (self.address is not None and self.address == other.address)

    @property
    def is_constant(self) -> bool:
        return self.address is not None

    @property
    def is_temporary(self) -> bool:
        return self.position is None and self.address is None


class PlacedTensor(NamedTuple):
    """Tensor with its layout and its memory."""

    layout: Layout
    buffer: TensorBuffer


class PrimitiveCall(NamedTuple):
    primitive: Primitive
    arguments: dict[int, PlacedTensor]
    #: Name in profiles, and the model nodes that the primitive computes.
    step: str = ""
    nodes: tuple[str, ...] = ()


@dataclass
class PrimitivePlan:
    """Primitives of a function for one set of sizes, in the order of execution."""

    calls: list[PrimitiveCall]
    arena: int = 0

    def __post_init__(self) -> None:
        buffers = {id(tensor.buffer): tensor.buffer for call in self.calls for tensor in call.arguments.values()}
        for number, call in enumerate(self.calls):
            for tensor in call.arguments.values():
                tensor.buffer.first = number if tensor.buffer.first < 0 else tensor.buffer.first
                tensor.buffer.last = number
        self.arena = place(buffer for buffer in buffers.values() if buffer.is_temporary)

    def make_calls(self, threads: int | None = None) -> CallList:
        """Return the calls of the plan with an arena of their own, for one thread at a time.

        The calls use `threads` OpenMP threads. If it is None, they use the current number.
        """
        arena, owner = allocate(self.arena)
        calls, memories = [], []
        for call in self.calls:
            entries = []
            for argument, tensor in call.arguments.items():
                buffer = tensor.buffer
                address = buffer.address if buffer.address is not None else arena + buffer.offset
                memories.append(DnnlMemory(tensor.layout, 0 if buffer.position is not None else address))
                if buffer.position is not None:
                    calls.append(_status_call("memory_set_data_handle", memories[-1].handle, Passed(buffer.position)))
                entries.append(_Argument(argument, memories[-1].handle))
            table = (_Argument * len(entries))(*entries)
            execution = _status_call("primitive_execute", call.primitive.handle, library().stream, len(table), table)
            calls.append(replace(execution, step=call.step, nodes=call.nodes))
        if threads is not None:
            calls = library().with_threads(threads, calls)
        return CallList(calls, keeps=(self, owner, memories))


def _status_call(name: str, *arguments: CallArgument) -> Call:
    return Call(library().function(name), arguments, is_status=True)


def place(buffers: Iterable[TensorBuffer]) -> int:
    """Assign offsets in the arena, and return the size of the arena in bytes.

    Tensors with overlapping live ranges get disjoint memory.
    """
    placed: list[TensorBuffer] = []
    end = 0
    for buffer in sorted(buffers, key=lambda each: (-each.nbytes, each.first)):
        others = sorted(
            (
                tensor_buffer
                for tensor_buffer in placed
                if tensor_buffer.first <= buffer.last and buffer.first <= tensor_buffer.last
            ),
            key=lambda tensor_buffer: tensor_buffer.offset,
        )
        offset = 0
        for other in others:
            if offset + buffer.nbytes <= other.offset:
                break
            offset = max(offset, other.offset + _align(other.nbytes))
        buffer.offset = offset
        placed.append(buffer)
        end = max(end, offset + _align(buffer.nbytes))
    return end


def _align(nbytes: int) -> int:
    return nbytes + -nbytes % _ALIGNMENT


def allocate(nbytes: int) -> tuple[int, object]:
    """Allocate memory aligned to 64 bytes. Return its address, and the object that keeps it alive."""
    owner = (ctypes.c_char * (nbytes + _ALIGNMENT))()
    address = ctypes.addressof(owner)
    return address + -address % _ALIGNMENT, owner
