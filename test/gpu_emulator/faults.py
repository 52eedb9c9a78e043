# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel does wrong: where in its PTX, which thread, and what was wrong."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Fault(Exception):
    kind: str  # "out of bounds", "race", ...
    kernel: str
    line: int
    text: str
    thread: tuple[int, ...]
    block: tuple[int, ...]
    message: str

    def __str__(self) -> str:
        where = f"{self.kernel}, PTX line {self.line}: {self.text!r}"
        return f"{where}: {self.kind} by thread {self.thread} of block {self.block}: {self.message}"
