# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as SPIR-V or text in the format of programs (abi.py), and the requirements in their code."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from struct import Struct
from typing import NamedTuple

from relax_mlir.runtime.artifact import DeviceCode
from relax_mlir.runtime.errors import ArtifactError
from relax_mlir.support.byte_sizes import byte_text

FORMAT, TEXT_FORMAT = "spirv", "opencl-c"
_VERSION, _NUMBERS = int.from_bytes(b"RSV1", "little"), Struct("<4I")
_MAGIC, _HEADER_WORDS = 0x07230203, 5
_OP_CAPABILITY, _OP_EXECUTION_MODE, _OP_CONSTANT, _OP_VARIABLE, _OP_FUNCTION = 17, 16, 43, 59, 54
_OP_SPEC_CONSTANT_COMPOSITE = 51
_OP_INT, _OP_FLOAT, _OP_VECTOR, _OP_ARRAY, _OP_STRUCT, _OP_POINTER = 21, 22, 23, 28, 30, 32
_LOCAL_SIZE, _WORKGROUP = 17, 4
#: Defaults of targets without options (options.py).
USUAL_SUBGROUP, _USUAL_THREADS, _USUAL_SHARED = 32, 256, 32 << 10


class BlockNeeds(NamedTuple):
    """Maximum numbers of threads and bytes of shared memory of a module's blocks.

    `is_divisible` is True if a constant of the module can reduce the threads.
    """

    threads: int
    shared_bytes: int
    is_divisible: bool = False

    def threads_of(self, most: int) -> int:
        """Return the threads of a block on a device with a maximum.

        The result exceeds the maximum if no division suffices.
        """
        threads = self.threads
        while self.is_divisible and threads > most and threads % 2 == 0:
            threads //= 2
        return threads


class SpirvKernel(NamedTuple):
    """Kernel: its module or text, the words of parameters, the minimum subgroup size (0 for any), and a flag.

    The flag is True if the last word is the number of blocks.
    """

    module: bytes
    words: int
    subgroup: int
    is_told_blocks: bool


def read_kernels(code: DeviceCode, *formats: str) -> list[SpirvKernel]:
    """Return the kernels of a program in one of the formats, by default in SPIR-V.

    Raises ArtifactError if the format is not the one of this release.
    """
    if code.format not in (formats or (FORMAT,)) or len(code.data) < _NUMBERS.size:
        raise ArtifactError(f"{code.label} are of the format '{code.format}', which this release does not know")
    version, count, subgroup, _ = _NUMBERS.unpack_from(code.data)
    if version != _VERSION:
        raise ArtifactError(f"{code.label} are of another version than this release reads")
    if count != len(code.kernels) or _NUMBERS.size * (1 + count) > len(code.data):
        raise ArtifactError(f"{code.label} are damaged: there are {len(code.kernels)}, their code says {count}")
    kernels = []
    for place in range(1, count + 1):
        begin, size, words, is_told_blocks = _NUMBERS.unpack_from(code.data, _NUMBERS.size * place)
        module = bytes(code.data[begin : begin + size])
        is_text = code.format == TEXT_FORMAT
        if len(module) != size or not (is_text or _is_spirv(module)):
            raise ArtifactError(f"{code.label} are damaged: '{code.kernels[place - 1]}' is no SPIR-V")
        kernels.append(SpirvKernel(module, words, subgroup, bool(is_told_blocks)))
    return kernels


def _is_spirv(module: bytes) -> bool:
    return len(module) % 4 == 0 and module[:4] == _MAGIC.to_bytes(4, "little")


def version_of(module: bytes) -> tuple[int, int]:
    """Return the version of SPIR-V."""
    return module[6], module[5]


def capabilities(module: bytes) -> Iterator[int]:
    """Yield the numbers of the capabilities that a module declares."""
    declared = takewhile(lambda instruction: instruction[0] == _OP_CAPABILITY, _instructions(module))
    return (operands[0] for _, operands in declared)


def block_needs(module: bytes) -> BlockNeeds:
    threads, shared, is_divisible = 0, 0, False
    #: Sizes of types, values of constants, and pointees of pointers, by their ids.
    sizes: dict[int, int] = {}
    numbers: dict[int, int] = {}
    pointed: dict[int, int] = {}
    for opcode, operands in _instructions(module):
        if opcode == _OP_EXECUTION_MODE and operands[1] == _LOCAL_SIZE:
            threads = max(threads, math.prod(operands[2:5]))
        elif opcode == _OP_SPEC_CONSTANT_COMPOSITE:
            is_divisible = True
        elif opcode in (_OP_INT, _OP_FLOAT):
            sizes[operands[0]] = operands[1] // 8
        elif opcode == _OP_VECTOR:
            sizes[operands[0]] = sizes.get(operands[1], 0) * operands[2]
        elif opcode == _OP_ARRAY:
            sizes[operands[0]] = sizes.get(operands[1], 0) * numbers.get(operands[2], 0)
        elif opcode == _OP_STRUCT:
            sizes[operands[0]] = sum(sizes.get(operand, 0) for operand in operands[1:])
        elif opcode == _OP_POINTER:
            pointed[operands[0]] = operands[2]
        elif opcode == _OP_CONSTANT:
            numbers[operands[1]] = operands[2]
        elif opcode == _OP_VARIABLE and operands[2] == _WORKGROUP:
            shared += sizes.get(pointed.get(operands[0], 0), 0)
    return BlockNeeds(threads, shared, is_divisible)


def too_large(kernels: Sequence[SpirvKernel], threads: int, shared_bytes: int | None = None) -> str:
    """Return why blocks of kernels exceed a device's limits, or "" if they do not.

    Without `shared_bytes` memory is not checked: in a module of several kernels its use per kernel is unknown.
    """
    needs = [block_needs(module) for module in {kernel.module for kernel in kernels}]
    most_threads = max((need.threads_of(threads) for need in needs), default=0)
    most_shared = max((need.shared_bytes for need in needs), default=0)
    if most_threads > threads:
        return f"blocks of {most_threads} threads, at most {threads} here"
    if shared_bytes is not None and most_shared > shared_bytes:
        return f"{byte_text(most_shared)} of shared memory for a block, at most {byte_text(shared_bytes)} here"
    return ""


def _instructions(module: bytes) -> Iterator[tuple[int, memoryview]]:
    """Yield the instructions before the functions: opcodes, with their operands."""
    words = memoryview(module).cast("I")
    place = _HEADER_WORDS
    while place < len(words) and words[place] >> 16:
        length, opcode = words[place] >> 16, words[place] & 0xFFFF
        if opcode == _OP_FUNCTION:
            return
        yield opcode, words[place + 1 : place + length]
        place += length


def fitting_target(
    kind: str, first: Sequence[str], threads: int, shared: int, types: Mapping[str, bool], last: Sequence[str] = ()
) -> str:
    """Return the target for a device, with the options that differ from the defaults.

    `types` are the element types that some devices lack. `first` and `last` are the kind's own options.
    """
    lacking = "+".join(name for name, is_there in types.items() if not is_there)
    options = [
        *first,
        *([f"threads={threads}"] if threads < _USUAL_THREADS else []),
        *([f"shared={shared}"] if shared < _USUAL_SHARED else []),
        *([f"lacks={lacking}"] if lacking else []),
        *last,
    ]
    return f"{kind}{{{' '.join(options)}}}" if options else kind
