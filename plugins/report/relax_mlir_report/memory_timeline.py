# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory over time: bytes, arena offset and lifetime of each buffer, in calls."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from relax_mlir.passes.core.journal import Journal
from relax_mlir.tools.run.input_sizes import evaluated, symbols_in

if TYPE_CHECKING:
    from .links import Row

_ALIGNMENT = 64  # alignment of buffers in the arena


def memory_of(journal: Journal, calls: Sequence[Row], sizes: Mapping[str, int]) -> list[Row]:
    """Return calls and buffers per function. Symbolic sizes are evaluated with `sizes`, and 1 for other symbols."""
    return [_plan(fact, calls, sizes) for fact in journal.of("memory")]


def _plan(fact: Row, calls: Sequence[Row], sizes: Mapping[str, int]) -> Row:
    own = [number for number, call in enumerate(calls) if call["function"] == fact["function"]]
    steps = [number for number in own if _works(calls[number])]
    positions = [calls[number]["position"] for number in steps]
    starts, arena = _slots(fact, sizes)
    buffers = [_buffer(each, positions, starts, sizes) for each in fact["buffers"]]
    live = _live(buffers, len(steps))
    peak = max(live, default=0)
    return {
        "function": fact["function"],
        "steps": steps,
        "arena": arena,
        "peak": peak,
        "peak_step": live.index(peak) if live else 0,
        "live": live,
        "symbolic": sorted({name for text in fact["slots"] for name in symbols_in(text)}),
        "buffers": buffers,
    }


def _works(call: Row) -> bool:
    """Check whether a call writes anything. Views do not."""
    read = [place.get("buffer") for place in call["inputs"]]
    made = [place["buffer"] for place in call["outputs"] if "buffer" in place]
    return call["kernel"] is not None or any(buffer not in read for buffer in made)


def _slots(fact: Row, sizes: Mapping[str, int]) -> tuple[list[int], int]:
    """Return the start of each slot with a symbolic size, and the size of the arena."""
    starts, end = [], fact["fixed_bytes"]
    for text in fact["slots"]:
        starts.append(end)
        end += -(-_evaluate(text, sizes) // _ALIGNMENT) * _ALIGNMENT
    return starts, end


def _buffer(fact: Row, positions: Sequence[int], starts: Sequence[int], sizes: Mapping[str, int]) -> Row:
    """Return the buffer with `start` and `end`, the first and last call of its lifetime."""
    start = min(bisect_left(positions, fact["first"]), max(len(positions) - 1, 0))
    end = max(bisect_right(positions, fact["last"]) - 1, start)
    size = fact["bytes"]
    offset = fact["offset"] if fact["slot"] is None else starts[fact["slot"]] + _evaluate(fact["shift"], sizes)
    return {
        "number": fact["number"],
        "type": fact["type"],
        "bytes": _evaluate(size, sizes) if isinstance(size, str) else size,
        "text": size if isinstance(size, str) else "",
        "offset": offset,
        "output": fact["output"],
        "origins": fact["origins"],
        "start": start,
        "end": end,
    }


def _live(buffers: Sequence[Row], steps: int) -> list[int]:
    """Return the live bytes in the arena at each call."""
    changes = [0] * (steps + 1)
    for buffer in buffers:
        if buffer["offset"] is not None and buffer["bytes"] is not None and steps:
            changes[buffer["start"]] += buffer["bytes"]
            changes[buffer["end"] + 1] -= buffer["bytes"]
    live, total = [], 0
    for change in changes[:-1]:
        total += change
        live.append(total)
    return live


def _evaluate(text: str, sizes: Mapping[str, int]) -> int:
    return evaluated(text, {**dict.fromkeys(symbols_in(text), 1), **sizes})
