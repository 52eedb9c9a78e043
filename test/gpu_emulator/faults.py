# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel does wrong: where in its PTX, which thread, and what was wrong; or what the host does."""

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
        if not self.line:  # of a copy, of what gives memory back
            return f"{self.kernel}: {self.kind}: {self.message}"
        where = f"{self.kernel}, PTX line {self.line}: {self.text!r}"
        return f"{where}: {self.kind} by thread {self.thread} of block {self.block}: {self.message}"
