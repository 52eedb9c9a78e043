# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout and calling convention of kernels in SPIR-V, for drivers of Vulkan or OpenCL.

A kernel is the entry point of the same name. Its workgroups have one dimension. The code contains their size, which is
that of the launch, and their shared memory. A kernel takes 64-bit little-endian words: addresses of device memory and
integers as they are, and narrower numbers in the lowest bits, with arbitrary bits above. No memory is bound to a
kernel. The interface defines the addresses (vkGetBufferDeviceAddress; SVM or USM of OpenCL).

A module for Vulkan that has a 32-bit specialization constant 0 may run with smaller workgroups. The constant is their
size, which divides the original size. A launch then has as many more workgroups.

- vulkan: the first `MOST_PUSHED` words are the push constants from offset 0, for which every device has room. A kernel
  with more words receives a single push constant, the address of all words in memory. There are no descriptors. The
  last word is the number N of blocks, because one dimension may not be large enough. Block x of row y, with rows of R
  blocks, has the number y * R + x, and blocks from N on do nothing.
- opencl: argument i of the kernel is word i, a `ulong`.

The OpCapability instructions state the device features that the code needs. Assertions write to addresses that they
receive: see targets/gpu/passes/gpu_lower_asserts.py.

The bytes of a program's kernels consist of a header, one entry per kernel, and the modules. Header and entries are four
32-bit numbers each. The header contains the magic number, the number of kernels, the size of subgroups, and 0. The size
is a minimum, or 0 without a requirement; for cooperative matrices it is exact. An entry contains the offset and the
size of the kernel's module, its number of words, and 1 if the last word is the number of blocks, else 0. Kernels of one
module have the same offset.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

#: Bytes of a word.
WORD = 8
#: Every device supports blocks of this many threads.
LEAST_THREADS = 128
#: Every device supports 128 bytes of push constants.
MOST_PUSHED = 128 // WORD
#: Operations that require a subgroup size.
SHUFFLES = ("spirv.GroupNonUniformShuffle", "spirv.GroupNonUniformShuffleXor")
OF_SUBGROUPS = (*SHUFFLES, "spirv.KHR.CooperativeMatrixMulAdd")

MAGIC = int.from_bytes(b"RSV1", "little")
_NUMBERS = struct.Struct("<4I")


class PackedKernel(NamedTuple):
    """Kernel of a program: its module, and its number of words."""

    module: bytes
    words: int


def packed(kernels: Sequence[PackedKernel], subgroup: int, *, counts_blocks: bool) -> bytes:
    """Return the bytes of a program's kernels, in the order of its table.

    `counts_blocks` is True if their last word is the number of blocks.
    """
    modules = dict.fromkeys(kernel.module for kernel in kernels)
    place = _NUMBERS.size * (1 + len(kernels))
    places: dict[bytes, int] = {}
    for module in modules:
        places[module] = place
        place += len(module)
    rows = [_NUMBERS.pack(MAGIC, len(kernels), subgroup, 0)]
    rows += [
        _NUMBERS.pack(places[kernel.module], len(kernel.module), kernel.words, counts_blocks) for kernel in kernels
    ]
    return b"".join([*rows, *modules])


def unpacked(data: bytes | memoryview) -> tuple[list[PackedKernel], int]:
    """Return the kernels, and the size of subgroups."""
    magic, count, subgroup, _ = _NUMBERS.unpack_from(data, 0)
    assert magic == MAGIC, "made by packed()"
    rows = [_NUMBERS.unpack_from(data, _NUMBERS.size * (1 + place)) for place in range(count)]
    return [PackedKernel(bytes(data[first : first + size]), words) for first, size, words, _ in rows], subgroup
