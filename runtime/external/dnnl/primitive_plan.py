# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitives with what they read and write, and the memory between them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from ... import native_calls
from ...native_calls import CallList, Passed
from .library import library
from .objects import Layout, Memory, Primitive

_ALIGNMENT = 64


class _Entry(ctypes.Structure):
    """dnnl_exec_arg_t."""

    _fields_ = [("argument", ctypes.c_int), ("memory", ctypes.c_void_p)]


@dataclass(eq=False)
class TensorBuffer:
    """Where a tensor is: an argument of the call by its number, memory at an address, or a place in the arena."""

    nbytes: int
    position: int | None = None
    address: int | None = None
    #: What keeps the address alive.
    owner: object = None
    #: The calls that first and last use it.
    first: int = -1
    last: int = -1
    offset: int = 0

    def is_at(self, other: TensorBuffer) -> bool:
        """Whether both are the same memory."""
        return self is other or (self.address is not None and self.address == other.address)

    @property
    def is_constant(self) -> bool:
        return self.address is not None

    @property
    def is_temporary(self) -> bool:
        return self.position is None and self.address is None


class Held(NamedTuple):
    """A tensor in a layout at a place."""

    layout: Layout
    buffer: TensorBuffer


class PrimitiveCall(NamedTuple):
    primitive: Primitive
    arguments: dict[int, Held]
    #: What it is called in profiles, and the model's nodes that it computes.
    step: str = ""
    nodes: tuple[str, ...] = ()


@dataclass
class PrimitivePlan:
    """The primitives of a function for given sizes, in their order."""

    calls: list[PrimitiveCall]
    arena: int = 0

    def __post_init__(self) -> None:
        buffers = {id(held.buffer): held.buffer for call in self.calls for held in call.arguments.values()}
        for number, call in enumerate(self.calls):
            for held in call.arguments.values():
                held.buffer.first = number if held.buffer.first < 0 else held.buffer.first
                held.buffer.last = number
        self.arena = place(buffer for buffer in buffers.values() if buffer.is_temporary)

    def listed(self, threads: int | None = None) -> CallList:
        """Its calls, with memory of their own for what is between primitives: for one thread at a time.

        With this number of threads of OpenMP; as many as there are without.
        """
        arena, owner = allocate(self.arena)
        calls, memories = [], []
        for call in self.calls:
            entries = []
            for argument, held in call.arguments.items():
                buffer = held.buffer
                address = buffer.address if buffer.address is not None else arena + buffer.offset
                memories.append(Memory(held.layout, 0 if buffer.position is not None else address))
                if buffer.position is not None:
                    calls.append(_called("memory_set_data_handle", memories[-1].handle, Passed(buffer.position)))
                entries.append(_Entry(argument, memories[-1].handle))
            table = (_Entry * len(entries))(*entries)
            made = _called("primitive_execute", call.primitive.handle, library().stream, len(table), table)
            calls.append(replace(made, step=call.step, nodes=call.nodes))
        if threads is not None:
            calls = library().with_threads(threads, calls)
        return CallList(calls, keeps=(self, owner, memories))


def _called(name: str, *arguments: native_calls.Argument) -> native_calls.Call:
    return native_calls.Call(library().function(name), arguments, is_status=True)


def place(buffers: Iterable[TensorBuffer]) -> int:
    """Gives each temporary tensor a place that no other one has while it is used; returns how many bytes that takes."""
    placed: list[TensorBuffer] = []
    end = 0
    for buffer in sorted(buffers, key=lambda each: (-each.nbytes, each.first)):
        others = sorted(
            (each for each in placed if each.first <= buffer.last and buffer.first <= each.last),
            key=lambda each: each.offset,
        )
        offset = 0
        for other in others:
            if offset + buffer.nbytes <= other.offset:
                break
            offset = max(offset, other.offset + _aligned(other.nbytes))
        buffer.offset = offset
        placed.append(buffer)
        end = max(end, offset + _aligned(buffer.nbytes))
    return end


def _aligned(nbytes: int) -> int:
    return nbytes + -nbytes % _ALIGNMENT


def allocate(nbytes: int) -> tuple[int, object]:
    """Memory on a boundary: its address, and what keeps it."""
    owner = (ctypes.c_char * (nbytes + _ALIGNMENT))()
    address = ctypes.addressof(owner)
    return address + -address % _ALIGNMENT, owner
