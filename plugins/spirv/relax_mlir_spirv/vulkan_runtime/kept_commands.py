# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command buffers of a program's functions that are recorded once: the choice of functions, storage, and release.

host_library/vulkan_graphs.py defines how code uses that storage.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial

from relax_mlir.runtime.manifest import Recorded, Signature

from . import structures as vk
from .opened import VulkanDevice

#: Words of the table before functions, of each function, and of a row.
_HEAD, _WORDS, _ROW_WORDS = 16, 8, 8
#: Number of address sets of a function with kept commands, number of replacements by other sets, and number of noted
#: sets. A second call with a noted set would be recorded.
_ROWS, _REPLACED, _NOTED = 4, 16, 16
#: With fewer launches, the command that executes kept commands is no less work.
_LEAST_LAUNCHES = 2
#: Maximum memory for temporaries of a function's kept commands, if the user did not request them.
_MOST_MEMORY = 1 << 26
_RESETS_BUFFERS, _SECONDARY = 2, 1
_Rows = ctypes.Array[ctypes.c_uint64]


class KeptCommands:
    """Storage for commands of each function. Code fills it during calls."""

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
        """Create the storage.

        `kept` selects the functions. `parameter_bytes` is the maximum size of a launch's parameters in memory. `forget`
        releases the resources of the commands in a row. `at_once` records at the first call. Callbacks that release
        everything are appended to `undo`.
        """
        self._names = [each.name for each in signatures]
        self._undo = undo
        self._table = (ctypes.c_uint64 * (_HEAD + _WORDS * len(signatures)))()
        self._held: list[object] = []
        #: Kept rows of each function.
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
        """Return the table's address, valid while this object lives."""
        return ctypes.addressof(self._table)

    @property
    def functions(self) -> tuple[str, ...]:
        """Return the functions with kept commands, now or later."""
        return tuple(name for name, is_kept in zip(self._names, self._table[_HEAD::_WORDS], strict=True) if is_kept)

    def recorded(self, name: str) -> int:
        """Return the number of address sets with kept commands of a function."""
        rows = self._rows[self._names.index(name)]
        return sum(count > 0 for count in rows[1::_ROW_WORDS]) if rows is not None else 0

    def _function(
        self, device: VulkanDevice, pool: int, graph: Recorded, parameter_bytes: int, forget: Callable[[int], object]
    ) -> tuple[_Rows, _Rows]:
        """Return a function's rows: of kept commands, and of noted addresses."""
        buffers = (ctypes.c_uint64 * _ROWS)()
        info = vk.CommandBufferInfo(pool=pool, level=_SECONDARY, count=_ROWS)
        device.call("vkAllocateCommandBuffers", ctypes.byref(info), buffers)
        kept, noted = (self._make_rows(rows, graph.tensors + 1) for rows in (_ROWS, _NOTED))
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

    def _make_rows(self, count: int, words: int) -> _Rows:
        """Return rows with room for addresses."""
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
    """Return the storage of kept commands. `graphs` tells where to keep them: True where possible, False nowhere, None
    where calls get faster."""
    kept = [
        graphs is not False and signature.graph is not None and (bool(graphs) or is_faster(signature))
        for signature in signatures
    ]
    if not any(kept):
        return None
    return KeptCommands(device, signatures, kept, parameter_bytes, forget, undo, at_once=bool(graphs))


def is_faster(signature: Signature) -> bool:
    """Estimate whether kept commands make a function faster. They cost no copies.

    The host submits one command in place of several, if the temporaries are few.
    """
    graph = signature.graph
    if graph is None or graph.launches < _LEAST_LAUNCHES:
        return False
    return _ROWS * (graph.memory - graph.bytes) <= _MOST_MEMORY
