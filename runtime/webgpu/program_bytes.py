# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bytes of a program, as targets/webgpu/program makes them."""

from __future__ import annotations

import json
from typing import Any

from ...support.errors import RelaxError

VERSION = 1


def unpacked(data: memoryview) -> tuple[dict[str, Any], memoryview]:
    """The program, and its constants. Raises RelaxError for bytes that are no program's."""
    data = memoryview(data).cast("B")
    size = int.from_bytes(data[:8], "little")
    try:
        program = json.loads(bytes(data[16 : 16 + size]))
    except ValueError as error:
        raise RelaxError(f"these bytes are no program for WebGPU: {error}") from None
    if not isinstance(program, dict) or program.get("version") != VERSION:
        raise RelaxError(f"these bytes are no program for WebGPU of version {VERSION}")
    return program, data[16 + size :]
