# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ldmatrix, stmatrix and mma.sync: matrices with elements in the registers of a warp's lanes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy

from . import rounding

if TYPE_CHECKING:
    from .machine import Chunk

_PER_REGISTER = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4, "f64": 1}


class Matrices:
    def __init__(self, chunk: Chunk) -> None:
        self._m = chunk

    def _of_lanes(self, value: Any, lanes: Any) -> Any:
        """Return the values of other lanes of the warp."""
        m = self._m
        return m.over_threads(value)[m.warps.places()[m.active("warp") * 32 + lanes]]

    def _check_rows(self, space: str, address: Any, count: int, line: int) -> None:
        rows = numpy.flatnonzero(self._m.active("lane") < 8 * count)
        with self._m.only(rows):
            self._m.locate(space, address[rows], 16, line)

    def load(self, space: str, address: Any, count: int, turned: bool, line: int) -> list[Any]:
        m = self._m
        space, address = self._space(space, m.over_threads(address))
        self._check_rows(space, address, count, line)
        lane = m.active("lane").astype(numpy.int64)
        found = []
        for number in range(count):
            if not turned:
                place = self._of_lanes(address, 8 * number + lane // 4) + 4 * (lane % 4)
                found += m.load(space, place, numpy.uint32, 1, False, line)
                continue
            halves = []
            for half in range(2):
                place = self._of_lanes(address, 8 * number + 2 * (lane % 4) + half) + 2 * (lane // 4)
                halves += m.load(space, place, numpy.uint16, 1, False, line)
            low, high = (each.astype(numpy.uint32) for each in halves)
            found.append(low | (high << numpy.uint32(16)))
        return found

    def _space(self, space: str, address: Any) -> tuple[str, Any]:
        if space != "generic":
            return space, address
        ((found, _, inner),) = self._m.spaces_of(address)
        return found, inner

    def store(self, address: Any, values: tuple[Any, ...], turned: bool, line: int) -> None:
        m = self._m
        space, address = self._space("shared", m.over_threads(address))
        self._check_rows(space, address, len(values), line)
        lane = m.active("lane").astype(numpy.int64)
        for number, value in enumerate(values):
            given = m.over_threads(value)
            if not turned:
                place = self._of_lanes(address, 8 * number + lane // 4) + 4 * (lane % 4)
                m.store(space, place, (given,), False, line)
                continue
            for half in range(2):
                place = self._of_lanes(address, 8 * number + 2 * (lane % 4) + half) + 2 * (lane // 4)
                piece = (given >> numpy.uint32(16 * half)).astype(numpy.uint16)
                m.store(space, place, (piece,), False, line)

    def multiply(self, shape: str, kinds: tuple[str, ...], a: Any, b: Any, c: Any, line: int) -> list[Any]:
        m = self._m
        match = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", shape)
        assert match is not None
        rows, columns, depth = (int(each) for each in match.groups())
        per = _PER_REGISTER.get(kinds[1])
        if per is None or columns != 8 or rows not in (8, 16) or len(a) * 32 * per != rows * depth:
            raise m.fault("unknown", line, 0, f"mma of {shape} with {len(a)} registers of {kinds[1]}")
        grid = m.warps.places().reshape(-1, 32)
        present = numpy.flatnonzero((grid >= 0).all(axis=1))
        places = grid[present]
        lane = numpy.arange(32)
        group, inner = lane // 4, lane % 4
        left = numpy.zeros((len(present), rows, depth))
        halves = rows // 8
        for number, value in enumerate(a):
            row, base = group + 8 * (number % halves), 4 * per * (number // halves)
            for at, element in enumerate(numbers_in(m.over_threads(value), kinds[1])):
                left[:, row, inner * per + at + base] = element[places]
        right = numpy.zeros((len(present), depth, 8))
        for number, value in enumerate(b):
            for at, element in enumerate(numbers_in(m.over_threads(value), kinds[2])):
                right[:, inner * per + at + 4 * per * number, group] = element[places]
        start = numpy.zeros((len(present), rows, 8))
        spread = [(group + 8 * (number // 2), 2 * inner + number % 2) for number in range(rows // 4)]
        given = [element for value in c for element in numbers_in(m.over_threads(value), kinds[3])]
        for (row, column), element in zip(spread, given, strict=True):
            start[:, row, column] = element[places]
        total = left @ right + start
        return self._results(total, spread, kinds[0], present)

    def _results(self, total: Any, spread: list[tuple[Any, Any]], kind: str, present: Any) -> list[Any]:
        m = self._m
        index = numpy.searchsorted(present, m.active("warp"))
        lane = m.active("lane").astype(numpy.int64)
        found = [total[index, row[lane], column[lane]] for row, column in spread]
        if kind == "f64":
            return found
        if kind == "f32":
            return [each.astype(numpy.float32) for each in found]
        if kind == "s32":
            return [each.astype(numpy.int64).astype(numpy.int32) for each in found]
        pairs = [each.astype(numpy.float16).view(numpy.uint16).astype(numpy.uint32) for each in found]
        return [low | (high << numpy.uint32(16)) for low, high in zip(pairs[::2], pairs[1::2], strict=True)]


def numbers_in(value: Any, kind: str) -> list[Any]:
    """Return the numbers in a register as float64, which represents all of them exactly."""
    if kind in ("f32", "f64", "s32"):
        return [value.astype(numpy.float64)]
    if kind == "tf32":
        return [(value & numpy.uint32(0xFFFFE000)).view(numpy.float32).astype(numpy.float64)]
    narrow = {"f16": "f2", "bf16": "u2", "s8": "i1", "u8": "u1"}[kind]
    pieces = numpy.ascontiguousarray(value).view(narrow).reshape(len(value), -1)
    if kind == "bf16":
        pieces = rounding.from_bf(pieces)
    return [pieces[:, number].astype(numpy.float64) for number in range(pieces.shape[1])]
