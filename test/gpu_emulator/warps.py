# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cooperation of a warp's lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from . import races

if TYPE_CHECKING:
    from .machine import Chunk
    from .program import Block


class Warps:
    def __init__(self, chunk: Chunk) -> None:
        self._m = chunk
        self._count = len(chunk.block_numbers) * chunk.warps_per_block
        self._exist = self._masks(chunk.warp, chunk.lane)
        self._table: Any = None

    def forget(self) -> None:
        self._table = None

    def _masks(self, warps: Any, lanes: Any) -> Any:
        """Return the lanes of each warp, as bits."""
        bits = numpy.left_shift(numpy.int64(1), lanes.astype(numpy.int64))
        return numpy.bincount(warps, weights=bits, minlength=self._count).astype(numpy.int64)

    def ready(self, block: Block, threads: Any) -> Any:
        """Return the threads (as positions) with all members of their mask at this block, or None for all."""
        m = self._m
        if threads is None and m.n == m.total:
            return None
        every = threads is None or len(threads) == m.n
        warps, lanes = (m.warp, m.lane) if every else (m.warp[threads], m.lane[threads])
        wanted: Any = block.member_mask
        if block.member_register is not None:
            value = m.registers[block.member_register]
            wanted = (value if len(value) == 1 or every else value[threads]).astype(numpy.int64)
        wanted = wanted & self._exist[warps]
        return (self._masks(warps, lanes)[warps] & wanted) == wanted

    def places(self) -> Any:
        """Return for each lane of each warp the position among the active threads, or -1."""
        m = self._m
        if m.chosen is None and self._table is not None:
            return self._table
        table = numpy.full(self._count * 32, -1)
        table[m.active("warp") * 32 + m.active("lane")] = numpy.arange(m.count)
        if m.chosen is None:
            self._table = table
        return table

    def shuffle(self, mode: str, value: Any, offset: Any, clamp: Any, mask: Any, line: int) -> tuple[Any, Any]:
        m = self._m
        lane = m.active("lane").astype(numpy.int64)
        shift, packed = offset.astype(numpy.int64) & 31, clamp.astype(numpy.int64)
        segment, last = (packed >> 8) & 31, packed & 31
        highest = (lane & segment) | (last & ~segment & 31)
        if mode == "up":
            source = lane - shift
            inside = source >= highest
        else:
            lowest = (lane & segment) | (shift & ~segment & 31)
            source = {"down": lane + shift, "bfly": lane ^ shift, "idx": lowest}[mode]
            inside = source <= highest
        source = numpy.where(inside, source, lane)
        places = self.places()[m.active("warp") * 32 + source]
        wanted = (mask.astype(numpy.int64) >> source) & (mask.astype(numpy.int64) >> lane) & 1
        wrong = (places < 0) | (wanted == 0)
        if wrong.any():
            first = int(numpy.flatnonzero(wrong)[0])
            message = f"lane {int(source[first])} is read, which does not take part"
            raise m.fault("shuffle", line, first, message)
        return (value if len(value) == 1 else value[places]), inside

    def _ballot(self, value: Any, mask: Any) -> tuple[Any, Any]:
        """Return for each thread the lanes of the mask with a true value, and the active lanes."""
        m = self._m
        warps, lanes = m.active("warp"), m.active("lane")
        there = mask.astype(numpy.int64) & self._masks(warps, lanes)[warps]
        true = m.over_threads(value)
        return self._masks(warps[true], lanes[true])[warps] & there, there

    def vote(self, mode: str, value: Any, mask: Any) -> Any:
        votes, there = self._ballot(value, mask)
        if mode == "ballot":
            return votes.astype(numpy.uint32)
        if mode == "any":
            return votes != 0
        return votes == there if mode == "all" else (votes == there) | (votes == 0)

    def active(self) -> Any:
        m = self._m
        warps = m.active("warp")
        return self._masks(warps, m.active("lane"))[warps].astype(numpy.uint32)

    def _grid(self, value: Any) -> tuple[Any, Any]:
        """Return values by warp and lane, and a mask of the present lanes."""
        m = self._m
        places = self.places()
        given = m.over_threads(value)
        return given[numpy.maximum(places, 0)].reshape(-1, 32), (places >= 0).reshape(-1, 32)

    def match(self, mode: str, value: Any, mask: Any) -> tuple[Any, Any]:
        m = self._m
        values, there = self._grid(value)
        warps = m.active("warp")
        own = m.over_threads(value)
        same = (values[warps] == own[:, None]) & there[warps]
        bits = (same.astype(numpy.int64) << numpy.arange(32)).sum(axis=1) & mask.astype(numpy.int64)
        if mode == "any":
            return bits.astype(numpy.uint32), bits != 0
        wanted = mask.astype(numpy.int64) & self._masks(warps, m.active("lane"))[warps]
        every = bits == wanted
        return numpy.where(every, wanted, 0).astype(numpy.uint32), every

    def reduce(self, name: str, value: Any, mask: Any) -> Any:
        m = self._m
        values, there = self._grid(value)
        warps = m.active("warp")
        lanes = (m.over_threads(mask).astype(numpy.int64)[:, None] >> numpy.arange(32)) & 1
        taking = there[warps] & (lanes == 1)
        limits = numpy.iinfo(value.dtype)
        neutral = {"add": 0, "min": limits.max, "max": limits.min, "or": 0, "xor": 0}.get(name)
        rest = ~value.dtype.type(0) if neutral is None else value.dtype.type(neutral)
        ufunc: Any = {"add": numpy.add, "min": numpy.minimum, "max": numpy.maximum, "and": numpy.bitwise_and}.get(name)
        ufunc = ufunc or {"or": numpy.bitwise_or, "xor": numpy.bitwise_xor}[name]
        return ufunc.reduce(numpy.where(taking, values[warps], rest), axis=1, dtype=value.dtype)

    def synchronize(self) -> None:
        m = self._m
        step = numpy.uint64(1 << races.WARP_SHIFT)
        if m.chosen is None:
            m.stamps = m.stamps + step
        else:
            m.stamps[m.chosen] += step
        m._active.pop("stamps", None)
