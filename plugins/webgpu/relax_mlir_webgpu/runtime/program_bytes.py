# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoder of a program's bytes, which program/whole_program.py encodes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from relax_mlir import RelaxError

if TYPE_CHECKING:
    from .program_types import WebProgram

VERSION = 1


def unpacked(data: memoryview) -> tuple[WebProgram, memoryview]:
    """Return the program and its constants. Raises RelaxError if the bytes do not encode a program."""
    data = memoryview(data).cast("B")
    size = int.from_bytes(data[:8], "little")
    try:
        program: WebProgram = json.loads(bytes(data[16 : 16 + size]))
    except ValueError as error:
        raise RelaxError(f"these bytes are not a WebGPU program: {error}") from None
    if not isinstance(program, dict) or program.get("version") != VERSION:
        raise RelaxError(f"these bytes are not a WebGPU program of version {VERSION}")
    return program, data[16 + size :]
