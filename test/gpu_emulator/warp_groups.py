# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wgmma: shared memory that it reads, and the registers of its sums and factors, must not be used before a wait.

Sums are computed at once. The emulator marks registers and bytes as in use until the wait, and bytes that their writer
has not shown to the asynchronous proxy by a fence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy

from . import rounding
from .matrices import numbers_in
from .memory import IN_USE

if TYPE_CHECKING:
    from .machine import Chunk

_LINE, _PIECE, _ROWS_OF_WARP, _WARPS = 128, 16, 16, 4
_TURNED = 1
_BYTES = {"f16": 2, "bf16": 2, "s8": 1, "u8": 1}


@dataclass
class _UnderWay:
    warps: Any
    groups: Any  # how many groups these had committed before
    pieces: Any  # of shared memory that they read, by warp
    registers: tuple[int, ...]  # of its sums
    held: tuple[int, ...]  # of its left factor, where that is in registers


class WarpGroups:
    def __init__(self, chunk: Chunk) -> None:
        self._m = chunk
        count = len(chunk.block_numbers) * chunk.warps_per_block
        self._committed = numpy.zeros(count, numpy.int64)
        self._under_way: list[_UnderWay] = []
        self._changed: dict[int, Any] = {}  # by register: the warps that have written it since their last fence
        self._readers = numpy.zeros(len(chunk.shared.data) // _PIECE, numpy.int32)

    # ---- registers ----

    def _warps(self) -> Any:
        return numpy.unique(self._m.active("warp"))

    def check(self, register: int, line: int, does: str) -> None:
        """Check an access to a register of sums or factors by another instruction than wgmma."""
        warps = self._warps()
        if does == "writes":
            self._changed.setdefault(register, numpy.zeros(len(self._committed), bool))[warps] = True
        for each in self._under_way:
            if register in (*each.registers, *each.held) and numpy.isin(each.warps, warps).any():
                what = "sums" if register in each.registers else "factors"
                text = f"{does} a register of {what} of a wgmma that was not waited for"
                raise self._m.fault("missing wait", line, 0, text)

    def fence(self) -> None:
        for changed in self._changed.values():
            changed[self._warps()] = False

    def commit(self) -> None:
        self._committed[self._warps()] += 1

    def wait(self, left: int) -> None:
        warps = self._warps()
        kept = []
        for each in self._under_way:
            done = numpy.isin(each.warps, warps) & (each.groups < self._committed[each.warps] - left)
            self._release(each.pieces[done])
            if not done.all():
                rest = ~done
                left_over = each.warps[rest], each.groups[rest], each.pieces[rest]
                kept.append(_UnderWay(*left_over, each.registers, each.held))
        self._under_way = kept

    # ---- shared memory ----

    def _release(self, pieces: Any) -> None:
        pieces = pieces.reshape(-1)
        numpy.subtract.at(self._readers, pieces, 1)
        self._mark(pieces[self._readers[pieces] == 0], False)

    def _mark(self, pieces: Any, is_used: bool) -> None:
        states = self._m.shared.state.reshape(-1, _PIECE)
        states[pieces] = states[pieces] | IN_USE if is_used else states[pieces] & (255 - IN_USE)

    def _factor(self, descriptor: Any, rows: Any, depth: int, kind: str, turned: bool, line: int) -> tuple[Any, Any]:
        """Return a matrix for each warp, rows by steps, and its pieces of shared memory."""
        m, size = self._m, _BYTES[kind]
        first, next_side, next_lines = (
            (descriptor >> numpy.uint64(at) & numpy.uint64(0x3FFF)).astype(numpy.int64)[:, None, None] * _PIECE
            for at in (0, 16, 32)
        )
        kinds, places = (descriptor >> numpy.uint64(at) for at in (62, 49))
        if (kinds != _TURNED).any() or (places & numpy.uint64(7)).any():
            raise m.fault("unknown", line, 0, "the emulator knows descriptors of turned lines of 128 bytes alone")
        row, step = rows[:, :, None], numpy.arange(depth)[None, None, :]
        if turned:
            offsets = row * size % _LINE + row * size // _LINE * next_side + step % 8 * _LINE + step // 8 * next_lines
        else:
            offsets = row % 8 * _LINE + row // 8 * next_lines + step * size
        places = first + offsets
        places = places ^ ((places // _LINE % 8) * _PIECE)
        threads = m.warps.places().reshape(-1, 32)[self._warps(), 0]
        if (places + size > m.shared_stride).any():
            raise m.fault("out of bounds", line, int(threads[0]), "wgmma reads beyond shared memory")
        places = places + m.active("shared_base")[threads][:, None, None]
        per_piece = _PIECE // size
        pieces = (places[:, ::per_piece] if turned else places[:, :, ::per_piece]).reshape(len(threads), -1) // _PIECE
        self._check(pieces, threads, line)
        return m.shared.view({1: numpy.uint8, 2: numpy.uint16}[size])[places // size], pieces

    def _check(self, pieces: Any, threads: Any, line: int) -> None:
        m = self._m
        mask, wanted = m.readable
        good = ((m.shared.state.reshape(-1, _PIECE)[pieces] & mask) == wanted).all(axis=2)
        if not good.all():
            warp, piece = (int(each[0]) for each in numpy.nonzero(~good))
            states = m.shared.state[pieces[warp, piece] * _PIECE :][:_PIECE]
            at = pieces[warp, piece] * _PIECE + int(numpy.flatnonzero((states & mask) != wanted)[0])
            with m.only(threads[warp : warp + 1]):
                place = numpy.array([at - int(m.active("shared_base")[0])])
                raise m.refused("shared", place, 0, 1, numpy.array([True]), line, "reads")
        m.bulk.check(pieces, threads, line)
        unit = m.program.unit_bytes
        units = (pieces[:, :, None] * (_PIECE // unit) + numpy.arange(_PIECE // unit)).reshape(-1)
        if m.hidden is not None and m.hidden[units].any():
            text = "wgmma reads shared memory whose writer has made no fence.proxy.async behind it"
            raise m.fault("missing fence", line, int(threads[0]), text)
        if m.shared_cells is not None:
            stamps = numpy.repeat(m.active("stamps")[threads], len(units) // len(threads))
            found = m.shared_cells.read(units, stamps, m.launch.threads, m.warps_per_block)
            if found is not None:
                raise m.race("read", "shared", units * unit, 0, *found, line)

    # ---- products ----

    def multiply(
        self, shape: str, kinds: tuple[str, ...], turned: tuple[bool, ...], registers: tuple[int, ...],
        held: tuple[int, ...], sums: tuple[Any, ...], factors: tuple[Any, ...], adds: Any, line: int,
    ) -> list[Any]:  # fmt: skip
        """Return the sums plus the products, each register over all active threads.

        `held` names the left factor's registers, if any.
        """
        m = self._m
        columns, depth = (int(each) for each in re.fullmatch(r"m64n(\d+)k(\d+)", shape).groups())  # type: ignore[union-attr]
        warps = self._warps()
        if len(sums) != columns // 2 or depth * _BYTES[kinds[1]] != 2 * _PIECE or m.count != 32 * len(warps):
            raise m.fault("unknown", line, 0, f"wgmma of {shape} with {len(sums)} registers, {m.count} threads")
        self._check_registers(registers, held, warps, line)
        grid = m.warps.places().reshape(-1, 32)[warps]
        *words, right_at = (m.over_threads(each) for each in factors)
        for each in [right_at] if held else [*words, right_at]:
            if (each[grid] != each[grid[:, :1]]).any():
                raise m.fault("wgmma", line, 0, "lanes of a warp have different descriptors")
        right_rows = numpy.broadcast_to(numpy.arange(columns), (len(warps), columns))
        right, pieces = self._factor(right_at[grid[:, 0]], right_rows, depth, kinds[2], turned[-1], line)
        if held:
            left = _in_registers(words, grid, depth, kinds[1])
        else:
            left_rows = warps[:, None] % m.warps_per_block % _WARPS * _ROWS_OF_WARP + numpy.arange(_ROWS_OF_WARP)
            bits, left_pieces = self._factor(words[0][grid[:, 0]], left_rows, depth, kinds[1], turned[0], line)
            left, pieces = _numbers(bits, kinds[1]), numpy.concatenate([left_pieces, pieces], axis=1)
        self._use(warps, pieces, registers, held)
        products = left @ _numbers(right, kinds[2]).swapaxes(1, 2)
        lane, warp = m.active("lane").astype(numpy.int64), numpy.searchsorted(warps, m.active("warp"))
        found = []
        for number, value in enumerate(sums):
            row = lane // 4 + number // 2 % 2 * 8
            total = products[warp, row, number // 4 * 8 + lane % 4 * 2 + number % 2] + numpy.where(adds, value, 0)
            found.append(total.astype(numpy.float32) if kinds[0] == "f32" else total.astype(numpy.int64).astype("i4"))
        return found

    def _check_registers(self, registers: tuple[int, ...], held: tuple[int, ...], warps: Any, line: int) -> None:
        for register in (*registers, *held):
            changed = self._changed.get(register)
            if changed is not None and changed[warps].any():
                what = "sums" if register in registers else "factors"
                raise self._m.fault("missing fence", line, 0, f"{what} were written, and no wgmma.fence is behind that")
        for each in self._under_way:
            if not numpy.isin(each.warps, warps).any():
                continue
            if set(registers).intersection(each.registers) and each.registers != registers:
                raise self._m.fault(
                    "missing wait", line, 0, "another wgmma that was not waited for has some of the sums"
                )
            if set(registers).intersection(each.held) or set(held).intersection(each.registers):
                text = "factors of one wgmma are sums of another one that was not waited for"
                raise self._m.fault("missing wait", line, 0, text)

    def _use(self, warps: Any, pieces: Any, registers: tuple[int, ...], held: tuple[int, ...]) -> None:
        numpy.add.at(self._readers, pieces.reshape(-1), 1)
        self._mark(pieces.reshape(-1), True)
        self._under_way.append(_UnderWay(warps, self._committed[warps].copy(), pieces, registers, held))


def _in_registers(words: list[Any], grid: Any, depth: int, kind: str) -> Any:
    """Return a matrix for each warp from the registers of its lanes: rows by steps."""
    lane, per = numpy.arange(32), 4 // _BYTES[kind]
    found = numpy.zeros((len(grid), _ROWS_OF_WARP, depth))
    for number, word in enumerate(words):
        row, first = lane // 4 + number % 2 * 8, lane % 4 * per + number // 2 * 4 * per
        for at, each in enumerate(numbers_in(word, kind)):
            found[:, row, first + at] = each[grid]
    return found


def _numbers(bits: Any, kind: str) -> Any:
    if kind == "bf16":
        return rounding.from_bf(bits).astype(numpy.float64)
    return bits.view({"f16": "f2", "s8": "i1", "u8": "u1"}[kind]).astype(numpy.float64)
