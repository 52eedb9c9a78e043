# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands of a program's functions that are recorded once: which have some, room for them, and their end.

What the code does with that room says targets/host/library/vulkan_graphs.mlir.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial

from ..manifest import Recorded, Signature
from . import structures as vk
from .opened import VulkanDevice

#: Words of the table before functions, of each function, and of a row.
_HEAD, _WORDS, _ROW_WORDS = 16, 8, 8
#: Commands of a function are kept for so many sets of addresses; others take their places so often. So many sets are
#: noted, of which a second call would be recorded.
_ROWS, _REPLACED, _NOTED = 4, 16, 16
#: Fewer launches are no more work than the command that runs what is kept.
_LEAST_LAUNCHES = 2
#: The most memory for temporaries that a function's commands keep, where nobody asked for them.
_MOST_MEMORY = 1 << 26
_RESETS_BUFFERS, _SECONDARY = 2, 1
_Rows = ctypes.Array[ctypes.c_uint64]


class KeptCommands:
    """Room for commands of each function; code fills it at their calls."""

    def __init__(
        self,
        device: VulkanDevice,
        signatures: Sequence[Signature],
        kept: Sequence[bool],
        parameter_bytes: int,
        forget: Callable[[int], object],
        undo: list[Callable[[], object]],
        *,
        at_once: bool,
    ) -> None:
        """`kept` says which functions have commands, `parameter_bytes` is the most that a launch has in memory,
        `forget` gives back what commands in a row have. `at_once` records what is called for the first time. What gives
        all of it back comes to `undo`.
        """
        self._names = [each.name for each in signatures]
        self._undo = undo
        self._table = (ctypes.c_uint64 * (_HEAD + _WORDS * len(signatures)))()
        self._held: list[object] = []
        #: Of each function, what is kept.
        self._rows: list[_Rows | None] = [None] * len(signatures)
        info = vk.CommandPoolInfo(flags=_RESETS_BUFFERS, family=device.physical.capabilities.queue_family)
        pool = device.made("vkCreateCommandPool", ctypes.byref(info), None)
        self._undo.append(partial(device.call, "vkDestroyCommandPool", pool, None))
        for place, signature in enumerate(signatures):
            if kept[place] and signature.graph is not None:
                rows = self._function(device, pool, signature.graph, parameter_bytes, forget)
                begin, places = _HEAD + _WORDS * place, map(ctypes.addressof, rows)
                self._table[begin : begin + _WORDS] = [1 + at_once, _REPLACED, 0, 0, *places, _ROWS, _NOTED]
                self._rows[place] = rows[0]

    @property
    def address(self) -> int:
        """Where code finds it, as long as this object lives."""
        return ctypes.addressof(self._table)

    @property
    def functions(self) -> tuple[str, ...]:
        """Those whose commands are kept, or will be."""
        return tuple(name for name, is_kept in zip(self._names, self._table[_HEAD::_WORDS], strict=True) if is_kept)

    def recorded(self, name: str) -> int:
        """For how many sets of addresses the commands of a function are kept now."""
        rows = self._rows[self._names.index(name)]
        return sum(count > 0 for count in rows[1::_ROW_WORDS]) if rows is not None else 0

    def _function(
        self, device: VulkanDevice, pool: int, graph: Recorded, parameter_bytes: int, forget: Callable[[int], object]
    ) -> tuple[_Rows, _Rows]:
        """A function's rows: of what is kept, of addresses that are noted."""
        buffers = (ctypes.c_uint64 * _ROWS)()
        info = vk.CommandBufferInfo(pool=pool, level=_SECONDARY, count=_ROWS)
        device.call("vkAllocateCommandBuffers", ctypes.byref(info), buffers)
        kept, noted = (self._addressed(rows, graph.tensors + 1) for rows in (_ROWS, _NOTED))
        size = max(graph.launches, 1) * parameter_bytes
        kept[0::_ROW_WORDS] = list(buffers)
        if size:
            room = device.host_visible(_ROWS * size)
            self._undo.append(partial(device.free, room))
            for which, base in ((2, room.host), (3, room.address)):
                kept[which::_ROW_WORDS] = [base + size * row for row in range(_ROWS)]
            kept[4::_ROW_WORDS] = [size] * _ROWS
        first = ctypes.addressof(kept)
        self._undo += [partial(forget, first + 8 * _ROW_WORDS * row) for row in range(_ROWS)]
        return kept, noted

    def _addressed(self, count: int, words: int) -> _Rows:
        """Rows with room for addresses."""
        rows, addresses = (ctypes.c_uint64 * (_ROW_WORDS * count))(), (ctypes.c_uint64 * (words * count))()
        self._held += [rows, addresses]
        rows[5::_ROW_WORDS] = [ctypes.addressof(addresses) + 8 * words * row for row in range(count)]
        rows[6::_ROW_WORDS] = [words] * count
        return rows


def kept_commands(
    device: VulkanDevice,
    signatures: Sequence[Signature],
    graphs: bool | None,
    parameter_bytes: int,
    forget: Callable[[int], object],
    undo: list[Callable[[], object]],
) -> KeptCommands | None:
    """Of a program's functions: of all that can have some, of none, or (None) of those that are faster so."""
    kept = [graphs is not False and each.graph is not None and (bool(graphs) or is_faster(each)) for each in signatures]
    if not any(kept):
        return None
    return KeptCommands(device, signatures, kept, parameter_bytes, forget, undo, at_once=bool(graphs))


def is_faster(signature: Signature) -> bool:
    """Whether calls of a function take less time by commands that are kept, which cost no copies: the host has one
    command to give for several, where their temporaries are few."""
    graph = signature.graph
    if graph is None or graph.launches < _LEAST_LAUNCHES:
        return False
    return _ROWS * (graph.memory - graph.bytes) <= _MOST_MEMORY
