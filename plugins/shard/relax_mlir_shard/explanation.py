# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explanation of a sharded program: the sharding of each value, and the collectives with their reasons and costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from relax_mlir.bindings.diagnostics import locate, place_text
from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo, bit_width, describe
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.passes.core.journal import Journal

from .engines import ThreadRank
from .mesh import Mesh, Sharding, show
from .network import CollectiveCost, Network, collective_cost


class MoveReason(NamedTuple):
    """Operator that needs a collective, its place in the user's program, and the reason."""

    operator: str
    place: str
    text: str

    @staticmethod
    def from_user(user: Operation, text: str) -> MoveReason:
        return MoveReason(user.name, place_of_operation(user), text)


def place_of_operation(operation: Operation) -> str:
    return place_text(*locate(operation.location)[:3])


class CollectiveUse:
    """One collective: its kind, what needs it and why, what it returns, the number of ranks in a group, and its cost.

    The cost is None if its sizes are symbols. The time is None, too, without a measured network.
    """

    def __init__(self, collective: Operation, reason: MoveReason, network: Network | None) -> None:
        self.kind = collective.name.partition(".")[2]
        self.operator, self.place, self.reason = reason
        info, self.shown = _info_of(collective.operands[0]), describe(_info_of(collective.results[0]))
        self.count = int(getattr(collective.opview, "group_size", 0)) or len(collective.opview.pairs) // 2
        self.cost: CollectiveCost | None = None
        sizes = [size for size in info.shape or () if isinstance(size, int)]
        if len(sizes) == len(info.shape or ()):
            axis = getattr(collective.opview, "axis", 0)
            itemsize = -(-bit_width(info.dtype or "i8") // 8)
            piece = network.piece if network else ThreadRank.piece
            self.cost = collective_cost(self.kind, sizes, itemsize, axis, self.count, piece)
        self.seconds = network.seconds(self.cost) if network and self.cost else None

    def __str__(self) -> str:
        size = "bytes by its sizes" if self.cost is None else f"{self.cost.bytes:,} bytes"
        return (
            f"{self.place}: {self.kind} for {self.operator}: {self.reason} "
            f"({self.shown} in {self.count} ranks, {size}{_time_text(self.seconds)})"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """Return the fields of a fact in the journal."""
        steps, size = self.cost or (None, None)
        return {
            **{"place": self.place, "collective": self.kind, "operator": self.operator, "why": self.reason},
            **{"result": self.shown, "ranks": self.count, "bytes": size, "steps": steps},
            **_microseconds(self.seconds),
        }


def _info_of(value: Value) -> TensorInfo:
    info = decode(value.type)
    assert isinstance(info, TensorInfo)
    return info


def _time_text(seconds: float | None) -> str:
    return "" if seconds is None else f", about {seconds * 1e6:,.1f} us"


def _microseconds(seconds: float | None) -> dict[str, float]:
    return {} if seconds is None else {"microseconds": round(seconds * 1e6, 1)}


@dataclass
class Explanation:
    """Mesh and collectives of a program, and the shardings of its values."""

    mesh: Mesh
    network: Network | None = None
    moves: list[CollectiveUse] = field(default_factory=list)
    #: Arithmetic operations of a rank, as far as they are known.
    flops: int = 0
    #: Fields of each value's fact.
    values: list[dict[str, Any]] = field(default_factory=list)

    def add_value(self, name: str, place: str, value: Value, shape: Sequence[Dim], sharding: Sharding) -> None:
        info = _info_of(value)
        whole = describe(info.with_shape(shape))
        self.values.append(
            {"value": name, "place": place, "sharding": show(sharding), "whole": whole, "part": describe(info)}
        )

    @property
    def bytes(self) -> int:
        return sum(move.cost.bytes for move in self.moves if move.cost)

    @property
    def seconds(self) -> float | None:
        """Return the estimated time of all collectives, as far as sizes are known."""
        return sum(move.seconds or 0 for move in self.moves) if self.network else None

    def __str__(self) -> str:
        total = f"{len(self.moves)} collectives, {self.bytes:,} bytes{_time_text(self.seconds)}"
        total += f"; {self.flops:,} FLOP in each rank" if self.network else ""
        return "\n".join([*map(str, self.moves), total])

    def record(self) -> None:
        """Record the explanation in the active journal, which reports show."""
        if (journal := Journal.active()) is None:
            return
        total = {
            "collectives": len(self.moves),
            "bytes": self.bytes,
            "flops": self.flops,
            **_microseconds(self.seconds),
        }
        journal.note("mesh", axes=str(self.mesh), ranks=self.mesh.size, **total)
        for move in self.moves:
            journal.note("collective", **move.facts)
        for value in self.values:
            journal.note("sharding", **value)
