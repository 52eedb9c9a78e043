# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Large constants in a binary file that the assembler includes, because C compilers parse numbers slowly."""

from __future__ import annotations

import math
from collections.abc import Mapping

from relax_mlir.bindings.ir import Operation

from .data import declaration, elements
from .options import SourceOptions
from .types import BYTES, memory_type

#: Smaller constants are text. All constants are text if their total size is at most the second number.
_LEAST_BYTES, _MOST_TEXT = 4096, 4 << 20
_ALIGNMENT = 64

_ASSEMBLY = """\
/* Constants, by the names that C has for them; the numbers in {binary} are little-endian. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "{binary} is little-endian: write the model with c{{constants=text}}"
#endif
#if defined(__APPLE__)
#define SYMBOL(name) _##name
    .section __TEXT,__const
#elif defined(_WIN32)
#define SYMBOL(name) name
    .section .rdata,"dr"
#else
#define SYMBOL(name) name
    .section .note.GNU-stack,"",%progbits
    .section .rodata
#endif
"""


def is_in_file(constants: Mapping[str, Operation], options: SourceOptions) -> frozenset[str]:
    """Return the names of the constants that go into the binary file."""
    sizes = {name: bytes_of(op) for name, op in constants.items()}
    if options.constants == "text" or (not options.constants and sum(sizes.values()) <= _MOST_TEXT):
        return frozenset()
    return frozenset(name for name, size in sizes.items() if size >= _LEAST_BYTES)


def bytes_of(op: Operation) -> int:
    type_ = op.attributes["type"].value
    return math.prod(type_.shape) * BYTES[memory_type(type_.element_type)]


def weight_files(name: str, constants: Mapping[str, Operation]) -> dict[str, str | bytes]:
    """Return the binary file, and the assembly file that defines the constants' symbols."""
    binary = f"{name}_weights.bin"
    pieces: list[bytes] = []
    lines = [_ASSEMBLY.format(binary=binary)]
    offset = 0
    for symbol, op in constants.items():
        size = bytes_of(op)
        type_ = op.attributes["type"].value
        numbers = elements(op.attributes["initial_value"], type_)
        pieces += [numbers.astype(numbers.dtype.newbyteorder("<"), copy=False).tobytes(), bytes(-size % _ALIGNMENT)]
        lines += [
            f"/* {declaration(op, symbol)} */",
            f"    .globl SYMBOL({symbol})",
            f"    .balign {_ALIGNMENT}",
            f"SYMBOL({symbol}):",
            f'    .incbin "{binary}", {offset}, {size}\n',
        ]
        offset += size + -size % _ALIGNMENT
    return {binary: b"".join(pieces), f"{name}_weights.S": "\n".join(lines)}
