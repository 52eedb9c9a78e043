# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dot-product instructions of CPUs, by LLVM's names of features and intrinsics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import NamedTuple

from ...core.machine import DotInstruction

#: Element types of the factors and sums, the intrinsic, the vector bits, and the alternative sets of required features.
_X86 = (
    ("bf16", "bf16", "f32", "llvm.x86.avx512bf16.dpbf16ps.512", 512, ("avx512bf16",)),
    ("bf16", "bf16", "f32", "llvm.x86.avx512bf16.dpbf16ps.256", 256, ("avx512bf16 avx512vl",)),
    ("bf16", "bf16", "f32", "llvm.x86.avx512bf16.dpbf16ps.128", 128, ("avx512bf16 avx512vl",)),
    ("u8", "s8", "i32", "llvm.x86.avx512.vpdpbusd.512", 512, ("avx512vnni",)),
    ("u8", "s8", "i32", "llvm.x86.avx512.vpdpbusd.256", 256, ("avx512vnni avx512vl", "avxvnni")),
    ("u8", "s8", "i32", "llvm.x86.avx512.vpdpbusd.128", 128, ("avx512vnni avx512vl", "avxvnni")),
    ("s8", "s8", "i32", "llvm.x86.avx2.vpdpbssd.256", 256, ("avxvnniint8",)),
    ("s8", "s8", "i32", "llvm.x86.avx2.vpdpbssd.128", 128, ("avxvnniint8",)),
    ("u8", "u8", "i32", "llvm.x86.avx2.vpdpbuud.256", 256, ("avxvnniint8",)),
    ("u8", "u8", "i32", "llvm.x86.avx2.vpdpbuud.128", 128, ("avxvnniint8",)),
)
_AARCH64 = (
    ("bf16", "bf16", "f32", "llvm.aarch64.neon.bfdot.v4f32.v8bf16", 128, ("bf16",)),
    ("s8", "s8", "i32", "llvm.aarch64.neon.sdot.v4i32.v16i8", 128, ("dotprod",)),
    ("u8", "u8", "i32", "llvm.aarch64.neon.udot.v4i32.v16i8", 128, ("dotprod",)),
    ("u8", "s8", "i32", "llvm.aarch64.neon.usdot.v4i32.v16i8", 128, ("i8mm",)),
)
#: Pairs of 16-bit numbers, for CPUs without instructions for bytes; and pairs of bytes, with 16-bit sums that saturate.
_X86_PAIRS = (
    ("llvm.x86.sse2.pmadd.wd", "llvm.x86.ssse3.pmadd.ub.sw.128", 128, ("sse2", "ssse3")),
    ("llvm.x86.avx2.pmadd.wd", "llvm.x86.avx2.pmadd.ub.sw", 256, ("avx2", "avx2")),
    ("llvm.x86.avx512.pmaddw.d.512", "llvm.x86.avx512.pmaddubs.w.512", 512, ("avx512bw", "avx512bw")),
)
_BYTES = ("s8", "u8")
#: Tiles of 16 rows of 64 bytes: element types of the factors and sums, the intrinsic, the feature.
_TILE_ROWS = 16
_X86_TILES = (
    ("bf16", "bf16", "f32", "llvm.x86.tdpbf16ps.internal", "amx-bf16"),
    ("f16", "f16", "f32", "llvm.x86.tdpfp16ps.internal", "amx-fp16"),
    ("s8", "s8", "i32", "llvm.x86.tdpbssd.internal", "amx-int8"),
    ("s8", "u8", "i32", "llvm.x86.tdpbsud.internal", "amx-int8"),
    ("u8", "s8", "i32", "llvm.x86.tdpbusd.internal", "amx-int8"),
    ("u8", "u8", "i32", "llvm.x86.tdpbuud.internal", "amx-int8"),
)
_TABLES = {"x86_64": _X86, "aarch64": _AARCH64}


def all_dot_instructions() -> list[tuple[DotInstruction, Sequence[str]]]:
    """Return the vector instructions of all CPUs, with the alternative sets of required features."""
    return [(pair.instruction, pair.needed) for pair in (*_read(_X86), *_read(_AARCH64), *_read_pairs(frozenset()))]


class _Known(NamedTuple):
    """Instruction, its vector bits, and the alternative sets of required features."""

    instruction: DotInstruction
    bits: int
    needed: Sequence[str]


def _read(table: Iterable[tuple[str, str, str, str, int, Sequence[str]]]) -> Iterator[_Known]:
    for left, right, total, intrinsic, bits, needed in table:
        yield _Known(DotInstruction(intrinsic, left, right, total, bits // 32), bits, needed)


def _read_pairs(features: frozenset[str]) -> Iterator[_Known]:
    for intrinsic, byte_pairs, bits, (needed, of_bytes) in _X86_PAIRS:
        there = byte_pairs if of_bytes in features else ""
        for left, right in combinations_with_replacement(_BYTES, 2):
            instruction = DotInstruction(intrinsic, left, right, "i32", bits // 32, by_halves=True, byte_pairs=there)
            yield _Known(instruction, bits, (needed,))


@lru_cache(maxsize=64)
def dot_instructions(architecture: str, features: frozenset[str], vector_bytes: int) -> tuple[DotInstruction, ...]:
    """Return the instructions of a CPU with these features, on vectors of at most this many bytes."""

    def there(known: Iterable[_Known]) -> list[DotInstruction]:
        fitting = (each for each in known if each.bits <= vector_bytes * 8)
        return [each.instruction for each in fitting if any(features >= set(named.split()) for named in each.needed)]

    of_vectors = there(_read(_TABLES.get(architecture, ())))
    if architecture == "x86_64" and not any(vector.total == "i32" for vector in of_vectors):
        of_vectors += there(_read_pairs(features))
    if architecture != "x86_64" or vector_bytes < _TILE_ROWS * 4:
        return tuple(of_vectors)
    of_tiles = (
        DotInstruction(intrinsic, left, right, total, _TILE_ROWS, _TILE_ROWS)
        for left, right, total, intrinsic, needed in _X86_TILES
        if needed in features
    )
    return (*of_vectors, *of_tiles)
