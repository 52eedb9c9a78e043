# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How kernels in SPIR-V are found and launched: what whoever drives Vulkan or OpenCL has to know.

A kernel is the entry point of its name. Its group of threads has one dimension and the size that its launch says, which
stands in the code; its shared memory does, too. It takes words of 64 bits, little endian: addresses of the device's
memory and integers as they are, narrower numbers in the lowest bits, of which the rest may be anything. No memory is
bound to it: addresses are those that the interface gives (vkGetBufferDeviceAddress; SVM or USM of OpenCL).

A module for Vulkan with a constant 0 that may be specialized may have smaller groups. Their size, which divides the
other one, is that constant, of 32 bits, and there are as many more of them.

- vulkan: the words are the push constants, from offset 0, as far as there are `MOST_PUSHED`, of which any device has
  room. A kernel of more words is pushed one: the address of all of them in memory. No descriptors. The last word is the
  number of blocks, as there may be more than one dimension has room for: block x of row y of N is number y * N + x, and
  those behind the last one do nothing.
- opencl: argument i of the kernel is word i, a `ulong`.

Which features of a device code needs its OpCapability instructions say. Asserts write to addresses that they are
given: see targets/gpu/passes/gpu_lower_asserts.py.

The bytes of a program's kernels: a header of four numbers of 32 bits (magic, how many kernels, how many threads
subgroups have to have at least or 0, 0; where a module multiplies cooperative matrices exactly so many), for each
kernel four more (where its module begins, the module's bytes, how many words it takes, 1 if the last of them is the
number of blocks or 0), then the modules. Kernels of one module say the same place.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

#: Bytes of a word.
WORD = 8
#: Devices have blocks of so many threads at least.
LEAST_THREADS = 128
#: Devices push 128 bytes at least.
MOST_PUSHED = 128 // WORD
#: What needs subgroups of a size.
SHUFFLES = ("spirv.GroupNonUniformShuffle", "spirv.GroupNonUniformShuffleXor")
OF_SUBGROUPS = (*SHUFFLES, "spirv.KHR.CooperativeMatrixMulAdd")

MAGIC = int.from_bytes(b"RSV1", "little")
_NUMBERS = struct.Struct("<4I")


class PackedKernel(NamedTuple):
    """A kernel of a program: the module that it is in, and how many words it takes."""

    module: bytes
    words: int


def packed(kernels: Sequence[PackedKernel], subgroup: int, *, counts_blocks: bool) -> bytes:
    """The kernels of a program, in the order of its table. `counts_blocks`: whether their last word says how many."""
    modules = dict.fromkeys(kernel.module for kernel in kernels)
    place = _NUMBERS.size * (1 + len(kernels))
    places: dict[bytes, int] = {}
    for module in modules:
        places[module] = place
        place += len(module)
    rows = [_NUMBERS.pack(MAGIC, len(kernels), subgroup, 0)]
    rows += [_NUMBERS.pack(places[each.module], len(each.module), each.words, counts_blocks) for each in kernels]
    return b"".join([*rows, *modules])


def unpacked(data: bytes | memoryview) -> tuple[list[PackedKernel], int]:
    """The kernels, and the size of subgroups."""
    magic, count, subgroup, _ = _NUMBERS.unpack_from(data, 0)
    assert magic == MAGIC, "made by packed()"
    rows = [_NUMBERS.unpack_from(data, _NUMBERS.size * (1 + place)) for place in range(count)]
    return [PackedKernel(bytes(data[first : first + size]), words) for first, size, words, _ in rows], subgroup
