# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants in compiled code: aligned addresses of permanent memory."""

from __future__ import annotations

import ctypes

import numpy
from relax_mlir.runtime.constant_memory import ConstantMemory


def test_constants_in_memory_are_used_as_they_are_or_moved() -> None:
    block = numpy.zeros(256, numpy.uint8)
    start = -block.ctypes.data % 64
    block[start : start + 4] = [1, 2, 3, 4]
    aligned, odd = block[start : start + 4], block[start + 1 : start + 4]
    memory = ConstantMemory([memoryview(aligned), memoryview(odd)])
    assert memory.table[0] == aligned.ctypes.data
    assert memory.table[1] % 64 == 0 and memory.table[1] != odd.ctypes.data


def test_copied_constants_keep_their_bytes() -> None:
    """Copy constants of any length, also empty ones. The copies live as long as the table."""
    held = [bytes(range(count)) for count in (0, 1, 63, 64, 65, 200)]
    block = bytearray(b"".join(b"-" + each for each in held))
    start, views = 1, []
    for each in held:
        views.append(memoryview(block)[start : start + len(each)])
        start += len(each) + 1
    memory = ConstantMemory(views)
    del views
    assert memory.count == len(held)
    for address, each in zip(memory.table, held, strict=True):
        assert address % 64 == 0 and ctypes.string_at(address, len(each)) == each


def test_an_empty_table_of_constants_is_valid() -> None:
    memory = ConstantMemory([])
    assert (memory.count, list(memory.table)) == (0, [None])
