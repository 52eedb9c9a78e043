# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model of the time of collectives: seconds for each exchange of an engine, and for each byte that a rank reads."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from math import inf, prod
from typing import Any, NamedTuple

import numpy
from relax_mlir.support.errors import OptionError

from . import exchanges
from .engines import Transport

#: Numbers of f32 elements, timed calls of the smallest array, and rounds: the fastest round counts.
_SIZES, _CALLS, _ROUNDS = tuple(2 << 2 * index for index in range(11)), 128, 5
_TIMED = (("all_reduce", {"kind": "sum"}), ("all_gather", {"axis": 0, "size": -1}))


class CollectiveCost(NamedTuple):
    """Exchanges of a collective, and the number of bytes that a rank reads in them, its own included."""

    steps: int
    bytes: int


class Network(NamedTuple):
    """Measured times of an engine: `alpha` seconds for each exchange, `beta` seconds for each byte."""

    engine: str
    ranks: int
    alpha: float
    beta: float
    #: Number of bytes that an exchange moves at most.
    piece: int

    @staticmethod
    def read(path: str) -> Network:
        """Return the network in a file of `relax-run --measure-network=FILE`. Raise OptionError if it has none."""
        try:
            with open(path, encoding="utf-8") as file:
                entries = json.load(file)
            network = Network(**entries)
        except OSError as error:
            raise OptionError(f"network: cannot read '{path}': {error.strerror}") from None
        except (ValueError, TypeError):
            network = None
        if network is None or not all(_is_positive(value) for value in network[1:]):
            raise OptionError(f"network: '{path}' is no file of relax-run --measure-network")
        return network

    def encode(self) -> bytes:
        """Return the content of the file."""
        return (json.dumps(self._asdict()) + "\n").encode()

    def __str__(self) -> str:
        return (
            f"engine {self.engine}, {self.ranks} ranks: alpha {self.alpha * 1e6:.1f} us for each exchange, "
            f"beta {self.beta * 1e9:.3f} ns for each byte"
        )

    def seconds(self, cost: CollectiveCost) -> float:
        """Return the estimated time of a collective."""
        return cost.steps * self.alpha + cost.bytes * self.beta


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < inf


def collective_cost(
    kind: str, shape: Sequence[int], itemsize: int, axis: int, count: int, piece: int
) -> CollectiveCost:
    """Return the cost of a collective of a rank's array in groups of `count` ranks."""
    size = itemsize * prod(shape)
    steps = max(-(-size // (piece // itemsize * itemsize)), 1)
    if kind == "all_gather":
        rows, columns, height, width = exchanges.gathered_blocks(shape, axis, itemsize, piece)
        steps = -(-rows // height) * -(-columns // width)
    return CollectiveCost(steps, size * count if kind in ("all_reduce", "all_gather") else size)


def measure_rank(engine: Transport) -> list[tuple[CollectiveCost, float]]:
    """Return the costs of some collectives, and their seconds on this rank. All ranks call this function."""
    groups: dict[str, Any] = {"groups": list(range(engine.size)), "group_size": engine.size}
    rows = []
    for index, size in enumerate(_SIZES):
        x = numpy.ones(size, "float32")
        for kind, options in _TIMED:
            out = exchanges.run(kind, x, {**options, **groups})
            calls, seconds = max(_CALLS >> index, 1), []
            for _ in range(_ROUNDS):
                begin = time.perf_counter()
                for _ in range(calls):
                    exchanges.run(kind, x, {**options, **groups}, out)
                seconds.append((time.perf_counter() - begin) / calls)
            rows.append((collective_cost(kind, x.shape, x.itemsize, 0, engine.size, engine.piece), min(seconds)))
    return rows


def fit_network(engine: str, ranks: int, piece: int, rows: Iterable[tuple[CollectiveCost, float]]) -> Network:
    """Return the network with the least squares of relative errors."""
    relative = numpy.array([[cost.steps / seconds, cost.bytes / seconds] for cost, seconds in rows])
    scale = relative.max(0)
    solution = numpy.linalg.lstsq(relative / scale, numpy.ones(len(relative)), rcond=None)[0] / scale
    alpha, beta = (max(float(value), 1e-12) for value in solution)
    return Network(engine, ranks, alpha, beta, piece)
