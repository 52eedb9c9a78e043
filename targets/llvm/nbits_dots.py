# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of rows that are rounded to 8 bits with panels of few bits, by dot instructions.

A mask yields a code of each byte of a word. A dot instruction adds the products of these codes and four digits of x to
a sum of 32 bits. CPUs without the instruction, and codes of 6 bits, take the digits as floats. A block's sum is exact
either way: the bits do not depend on the instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ...bindings.context import load_dialects
from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...dialects import relax
from ...dialects.core.symbols import Dim
from ...dialects.relax.nbits import WORD
from ...emit import loops, vectors
from ...emit.arithmetic import result_of
from ...emit.numbers import Number, constant, number
from ...passes.graph.decompose.row_blocks import rounded_rows
from ...passes.kernels.schedule.dots import call_intrinsic
from ...passes.legalize.call import LegalizeCall
from ..core.machine import DotInstruction, Machine
from .nbits_kernel import NbitsKernel, PackedMatrix, PanelTile, divided, whole_blocks
from .objects.code_target import machine


class RoundedRows(NamedTuple):
    """Inputs of a product: digits of x, sums of blocks times their scales, scales [rows, blocks]; and its kernel."""

    digits: Value
    sums: Value
    scale: Value
    kernel: Callable[..., NbitsKernel]


def rounded(call: LegalizeCall, x: Value, matrix: PackedMatrix, count: Dim, depth: int) -> RoundedRows:
    """Round rows of x, in the order in which the kernel reads the digits."""
    digits, scale = rounded_rows(whole_blocks(call, x, matrix, count, depth), matrix.block)
    numbers = relax.astype(digits, dtype="f32")
    of_blocks = relax.shape_expr(dims=(count, matrix.blocks))
    sums = relax.reshape(relax.multiply(relax.sum(numbers, axis=[1]), scale), of_blocks)
    scale, dot = relax.reshape(scale, of_blocks), _dot_instruction(machine(call.target), matrix)
    if dot is None:
        return RoundedRows(divided(numbers, matrix, count), sums, scale, NbitsKernel)
    load_dialects(call.op.context, ["llvm"])
    return RoundedRows(_reorder_digits(digits, matrix, count), sums, scale, partial(_DotKernel, dot))


def _dot_instruction(processor: Machine, matrix: PackedMatrix) -> DotInstruction | None:
    """Return the instruction for codes times digits, or None. Codes of less than 8 bits have no sign bit."""
    if matrix.bits == 6:
        return None
    kinds = [("u8", "s8"), ("s8", "s8")] if matrix.bits < 8 else [("u8", "s8")]
    fitting = [dot for dot in processor.dots if dot.lanes == matrix.lanes and dot.rows == 1 and not dot.by_halves]
    return next((each for kind in kinds for each in fitting if (each.left, each.right) == kind), None)


def _reorder_digits(digits: Value, matrix: PackedMatrix, count: Dim) -> Value:
    """Reorder digits: the digits of the codes at one place of each byte of a word become adjacent."""
    whole, places = matrix.blocks * matrix.block, _places(matrix)
    if places > 1:
        split = relax.reshape(digits, relax.shape_expr(dims=(count, whole // (WORD * places), WORD, places)))
        digits = relax.permute_dims(split, axes=[0, 1, 3, 2])
    return relax.reshape(digits, relax.shape_expr(dims=(count, whole)))


def _places(matrix: PackedMatrix) -> int:
    """Return the codes in a byte, which are the groups of codes in a word."""
    return 8 // matrix.bits


class _DotKernel(NbitsKernel):
    """Loops of one product with a dot instruction."""

    def __init__(
        self,
        dot: DotInstruction,
        matrix: PackedMatrix,
        x: Value,
        sums: Value,
        operands: Mapping[str, Value],
        dtypes: Mapping[str, str],
        out: Value,
    ):
        super().__init__(matrix, x, sums, operands, dtypes, out)
        self._intrinsic = dot.intrinsic
        self._byte = ir.IntegerType.get_signless(8)
        self._of_bytes = vectors.vector_of(matrix.lanes * WORD, self._byte)
        self._of_sums = vectors.vector_of(matrix.lanes, ir.IntegerType.get_signless(32))

    def block_sums(self, tile: PanelTile, block: Number) -> list[Number]:
        matrix, places = self.matrix, _places(self.matrix)

        def word(inside: Number, *sums: Value) -> list[Number]:
            at = block * matrix.words + inside
            self.prefetch(tile.panel, at)
            codes = [self._codes(self.load_words(tile.panel, at, column)) for column in tile.columns]
            made = list(map(number, sums))
            for place in range(places):
                made = self._add(tile, [code[place] for code in codes], at * places + place, made)
            return made

        return self._sum(matrix.words, word, tile)

    def with_memory(self, blocks: int, use: Callable[[Value], object]) -> None:
        loops.scratch([blocks * self.matrix.block // WORD, self.matrix.width * WORD], self._byte, use)

    def unpack(self, panel: Number, first: Number, place: Number, memory: Value) -> None:
        matrix, places = self.matrix, _places(self.matrix)

        def word(inside: Number) -> None:
            for column in range(matrix.vectors):
                codes = self._codes(self.load_words(panel, (first + place) * matrix.words + inside, column))
                for group, code in enumerate(codes):
                    row = (place * matrix.words + inside) * places + group
                    vectors.store(code, memory, row, column * matrix.lanes * WORD)

        loops.for_range(0, matrix.words, word)

    def unpacked_sums(self, tile: PanelTile, memory: Value, first: Number, place: Number) -> list[Number]:
        groups, width = self.matrix.block // WORD, self.matrix.lanes * WORD

        def group(inside: Number, *sums: Value) -> list[Number]:
            at = place * groups + inside
            codes = [vectors.load(self._of_bytes, memory, at, column * width) for column in tile.columns]
            return self._add(tile, codes, first * groups + at, list(map(number, sums)))

        return self._sum(groups, group, tile)

    def _sum(self, count: int, step: Callable[..., list[Number]], tile: PanelTile) -> list[Number]:
        zeros = [constant(0, self._of_sums)] * len(tile.points)
        sums = loops.for_range(0, count, step, *zeros)
        return [number(result_of("arith.sitofp", [each], self._type)) for each in sums]

    def _codes(self, words: Number) -> list[Value]:
        """Return the codes at each place of the bytes of words, as bytes."""
        bits = self.matrix.bits
        mask = sum((1 << bits) - 1 << 8 * byte for byte in range(WORD))
        found = [words >> place * bits if place else words for place in range(_places(self.matrix))]
        if bits < 8:
            found = [each & mask for each in found]
        return [result_of("vector.bitcast", [each], self._of_bytes) for each in found]

    def _add(self, tile: PanelTile, codes: Sequence[Value], group: Number, sums: list[Number]) -> list[Number]:
        """Add the products of a group of codes and of digits to the sums of a tile."""
        four = vectors.vector_of(WORD, self._byte)
        made = []
        for row in range(tile.rows):
            digits = vectors.repeated(vectors.load(four, self.x, tile.row + row, group * WORD), self.matrix.lanes)
            for column, code in enumerate(codes):
                total = sums[row * len(codes) + column]
                made.append(number(call_intrinsic(self._intrinsic, [total, code, digits], total.type)))
        return made
