# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as SPIR-V, as programs have them (targets/spirv/abi.py), and what their code says that it needs."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from ..artifact import DeviceCode
from ..errors import ArtifactError

FORMAT = "spirv"
_VERSION, _NUMBERS = int.from_bytes(b"RSV1", "little"), Struct("<4I")
_MAGIC, _HEADER_WORDS, _OP_CAPABILITY = 0x07230203, 5, 17


class SpirvKernel(NamedTuple):
    """Its module, how many words of parameters it takes, how many threads subgroups have to have at least (0: any), and
    whether the last word is the number of blocks.
    """

    module: bytes
    words: int
    subgroup: int
    is_told_blocks: bool


def read_kernels(code: DeviceCode) -> list[SpirvKernel]:
    """What a program has for its kernels. Raises ArtifactError where that is not how this release has it."""
    if code.format != FORMAT or len(code.data) < _NUMBERS.size:
        raise ArtifactError(f"{code.label} are of the format '{code.format}', which this release does not know")
    version, count, subgroup, _ = _NUMBERS.unpack_from(code.data)
    if version != _VERSION:
        raise ArtifactError(f"{code.label} are of another version than this release reads")
    if count != len(code.kernels) or _NUMBERS.size * (1 + count) > len(code.data):
        raise ArtifactError(f"{code.label} are damaged: there are {len(code.kernels)}, their code says {count}")
    found = []
    for place in range(1, count + 1):
        begin, size, words, is_told_blocks = _NUMBERS.unpack_from(code.data, _NUMBERS.size * place)
        module = bytes(code.data[begin : begin + size])
        if len(module) != size or size % 4 or module[:4] != _MAGIC.to_bytes(4, "little"):
            raise ArtifactError(f"{code.label} are damaged: '{code.kernels[place - 1]}' is no SPIR-V")
        found.append(SpirvKernel(module, words, subgroup, bool(is_told_blocks)))
    return found


def capabilities(module: bytes) -> Iterator[int]:
    """The numbers of those that a module declares."""
    words = memoryview(module).cast("I")
    place = _HEADER_WORDS
    while place < len(words) and words[place] & 0xFFFF == _OP_CAPABILITY:
        yield words[place + 1]
        place += words[place] >> 16
