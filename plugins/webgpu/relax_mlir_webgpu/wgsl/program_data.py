# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Initial bytes of a program's memory: its constants, and the tables that kernels read."""

from __future__ import annotations

#: Alignment of each piece, in bytes.
ALIGNMENT = 16


class ProgramData:
    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._end = 0

    def add(self, data: bytes) -> int:
        """Append a piece and return its address."""
        place = self._end
        self._pieces.append(data + bytes(-len(data) % ALIGNMENT))
        self._end += len(self._pieces[-1])
        return place

    def __bytes__(self) -> bytes:
        return b"".join(self._pieces)
