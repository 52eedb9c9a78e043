# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fault of a kernel, with its line of PTX, its thread and a message, or fault of the host."""

from __future__ import annotations

from dataclasses import dataclass

USE_AFTER_FREE, USED_TOO_EARLY = "use after free", "use before it is there"


@dataclass
class Fault(Exception):
    kind: str  # "out of bounds", "race", ...
    kernel: str  # or the driver's function
    line: int  # 0 for the host
    text: str
    thread: tuple[int, ...]
    block: tuple[int, ...]
    message: str

    @classmethod
    def of_host(cls, kind: str, function: str, message: str) -> Fault:
        return cls(kind, function, 0, "", (), (), message)

    def __str__(self) -> str:
        if not self.line:  # a fault of the host: a copy, or a release of memory
            return f"{self.kernel}: {self.kind}: {self.message}"
        where = f"{self.kernel}, PTX line {self.line}: {self.text!r}"
        return f"{where}: {self.kind} by thread {self.thread} of block {self.block}: {self.message}"
