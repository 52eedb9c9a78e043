# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explanation of the collectives of a sharded program."""

from __future__ import annotations

from dataclasses import dataclass, field

from relax_mlir.bindings.diagnostics import locate, place_text
from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo, bit_width, describe


class CollectiveUse:
    """One collective: its kind, what needs it and why, what it returns, and the number of ranks in a group."""

    def __init__(self, kind: str, user: Operation, reason: str, value: Value, count: int) -> None:
        info = decode(value.type)
        assert isinstance(info, TensorInfo)
        self.kind = kind
        self.operator = user.name
        self.place = place_text(*locate(user.location)[:3])
        self.reason = reason
        self.shown = describe(info)
        self.count = count
        sizes = info.shape or ()
        self.bytes: int | None = bit_width(info.dtype or "i8") // 8
        for size in sizes:
            self.bytes = self.bytes * size if self.bytes is not None and isinstance(size, int) else None

    def __str__(self) -> str:
        size = ", bytes by its sizes" if self.bytes is None else f", {self.bytes:,} bytes"
        return (
            f"{self.place}: {self.kind} for {self.operator}: {self.reason} ({self.shown} in {self.count} ranks{size})"
        )


@dataclass
class Explanation:
    """All moves of a program."""

    moves: list[CollectiveUse] = field(default_factory=list)

    def add(self, move: CollectiveUse) -> None:
        self.moves.append(move)

    def __str__(self) -> str:
        total = sum(move.bytes or 0 for move in self.moves)
        lines = [*map(str, self.moves), f"{len(self.moves)} collectives, {total:,} bytes"]
        return "\n".join(lines)
