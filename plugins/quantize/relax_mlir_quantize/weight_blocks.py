# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights in blocks along the summed axis, each with a scale and a zero point: products become relax.matmul_nbits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects import relax
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.known_constants import is_constant
from relax_mlir.dialects.relax.nbits import WIDTHS, WORD
from relax_mlir.dialects.relax.values import dtype_of, result_type, shape_of, stated
from relax_mlir.passes.graph.recipes.operand_types import OperandType
from relax_mlir.passes.graph.relax_fuse_dequantize_matmul import packed_codes
from relax_mlir.passes.patterns.matched import Match

from .mx_blocks import can_be_in_mx_blocks

if TYPE_CHECKING:
    from numpy import ndarray

#: Candidate scales, as shares of the scale that represents the whole range.
_SHARES = tuple(0.6 + 0.025 * step for step in range(21))
#: Rounds that fit scales to the codes.
_ROUNDS = 2
#: Least factor of a row's errors, as a share of the mean. Samples are few: other data may vary where these did not.
_LEAST_SPREAD = 1e-3
#: Weights that are searched at once, which limits the memory.
_AT_ONCE = 1 << 20


def can_be_in_blocks(match: Match, name: str, type_: OperandType) -> bool:
    """Check whether an operand can have a type, if that is a type of blocks."""
    if type_.granularity == "mx":
        return can_be_in_mx_blocks(match, name, type_)
    if type_.granularity != "block":
        return True
    value = match[name]
    if type_.is_float or type_.bits not in WIDTHS or type_.block * type_.bits % (8 * WORD):
        return False
    if not is_constant(value) or len(shape_of(value) or ()) != 2:
        return False
    readers = [operation for operation in match.operations if value in list(operation.operands)]
    return all(reader.name == "relax.matmul" and reader.operands[1] == value for reader in readers)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Matrix in blocks."""

    type: OperandType
    #: Unsigned codes [columns, depth].
    codes: ndarray
    #: Scales [columns, blocks].
    scale: ndarray
    #: Zero points [columns, blocks], or None for the middle of the codes' range.
    zero_point: ndarray | None

    def rounded(self) -> ndarray:
        """Return the matrix [depth, columns] that the codes stand for."""
        import numpy

        depth, block = self.codes.shape[1], self.type.block
        zero = _middle(self.type) if self.zero_point is None else _repeat(self.zero_point.astype("f4"), block, depth)
        real = (self.codes.astype(numpy.float32) - zero) * _repeat(self.scale, block, depth)
        return numpy.ascontiguousarray(real.T)


def _repeat(numbers: ndarray, block: int, depth: int) -> ndarray:
    return numbers.repeat(block, 1)[:, :depth]


def _middle(type_: OperandType) -> int:
    return 1 << (type_.bits - 1)


def _least(type_: OperandType) -> int:
    return 1 if type_.narrow else 0


def _most(type_: OperandType) -> int:
    return (1 << type_.bits) - 1


def in_blocks(
    weights: ndarray, type_: OperandType, importance: ndarray | None = None, mean: ndarray | None = None
) -> Blocks:
    """Return a matrix [depth, columns] in blocks, with the scales of the least squared error.

    importance: factors of the squared errors for each row, such as the variances of the data. mean: means of the data,
    if their errors have to cancel out, because no bias corrects them.
    """
    import numpy

    depth, columns = weights.shape
    count = -(-depth // type_.block)
    spread = numpy.ones(depth) if importance is None else importance + _LEAST_SPREAD * (importance.mean() or 1.0)
    factors = _pad_rows(spread[None].astype(numpy.float32), count * type_.block).reshape(1, count, type_.block)
    codes = numpy.empty((columns, depth), numpy.uint8)
    scale = numpy.empty((columns, count), numpy.float32)
    zero = numpy.empty((columns, count), numpy.uint8)
    rows = max(1, _AT_ONCE // (count * type_.block))
    for first in range(0, columns, rows):
        part = slice(first, first + rows)
        numbers = _pad_rows(weights[:, part].T.astype(numpy.float32), count * type_.block)
        found = _BlockSearch(numbers.reshape(-1, count, type_.block), factors, type_).run()
        codes[part], scale[part], zero[part] = found[0].reshape(len(numbers), -1)[:, :depth], found[1], found[2]
    blocks = Blocks(type_, codes, scale, None if type_.symmetric else zero)
    return blocks if mean is None else _balance(blocks, weights, spread, mean)


def _balance(blocks: Blocks, weights: ndarray, variance: ndarray, mean: ndarray) -> Blocks:
    """Return blocks with new codes. Their errors cancel out for the mean of the data.

    The squared error of a sum is `Σ variance·d² + (Σ mean·d)²` for errors d of weights. Rows are rounded in order, as
    GPTQ does for this matrix: each cancels the part of the error so far that is cheaper here than behind.
    https://arxiv.org/abs/2210.17323
    """
    import numpy

    type_, error = blocks.type, numpy.zeros(weights.shape[1])
    shares = mean**2 / variance
    gains = mean / (variance * (1 + shares[::-1].cumsum()[::-1] - shares) + mean**2)
    codes = numpy.empty(weights.shape, numpy.uint8)
    for row, numbers in enumerate(weights.astype(float)):
        scale = blocks.scale[:, row // type_.block]
        zero = _middle(type_) if blocks.zero_point is None else blocks.zero_point[:, row // type_.block].astype(float)
        found = numpy.clip(numpy.rint((numbers - error * gains[row]) / scale) + zero, _least(type_), _most(type_))
        codes[row], error = found, error + mean[row] * ((found - zero) * scale - numbers)
    made = replace(blocks, codes=numpy.ascontiguousarray(codes.T))
    errors = [(variance @ d**2 + (mean @ d) ** 2) for d in (each.rounded() - weights for each in (blocks, made))]
    return replace(blocks, codes=numpy.where((errors[1] < errors[0])[:, None], made.codes, blocks.codes))


def _pad_rows(rows: ndarray, depth: int) -> ndarray:
    import numpy

    return numpy.pad(rows, ((0, 0), (0, depth - rows.shape[1])))


class _BlockSearch:
    """Search for the scales and zero points of blocks."""

    def __init__(self, numbers: ndarray, factors: ndarray, type_: OperandType):
        self._numbers, self._factors, self._type = numbers, factors, type_
        self._most, self._least = _most(type_), _least(type_)

    def run(self) -> tuple[ndarray, ndarray, ndarray]:
        """Return codes, scales and zero points."""
        import numpy

        best, *kept = self._try(*next(candidates := self._candidates()))
        for candidate in candidates:
            best, kept = _better(best, kept, self._try(*candidate))
        for _ in range(_ROUNDS):
            best, kept = _better(best, kept, self._try(self._fit(kept[0], kept[2], kept[1]), kept[2]))
        codes, scale, zero = kept
        return codes.astype(numpy.uint8), scale[..., 0], zero[..., 0].astype(numpy.uint8)

    def _candidates(self) -> Iterator[tuple[ndarray, ndarray]]:
        """Yield scales and zero points [columns, blocks, 1]."""
        import numpy

        numbers = self._numbers
        least = numpy.minimum(numbers.min(2, keepdims=True), 0)
        most = numpy.maximum(numbers.max(2, keepdims=True), 0)
        if self._type.symmetric:
            zero = numpy.full(least.shape, float(_middle(self._type)), numpy.float32)
            # The range of codes has one more below the zero point: a negative scale gives it to positive numbers.
            side = numpy.where(-least >= most, -least, -most) / numpy.float32(_middle(self._type) - self._least)
            for share in _SHARES:
                yield _positive(side * numpy.float32(share)), zero
            return
        for share in _SHARES:
            scale = _positive((most - least) * numpy.float32(share / (self._most - self._least)))
            yield scale, numpy.clip(numpy.rint(self._least - least / scale * share), self._least, self._most)

    def _try(self, scale: ndarray, zero: ndarray) -> tuple[ndarray, ndarray, ndarray, ndarray]:
        """Return the error, the codes, the scales and the zero points."""
        import numpy

        codes = numpy.clip(numpy.rint(self._numbers / scale) + zero, self._least, self._most)
        error = (self._factors * ((codes - zero) * scale - self._numbers) ** 2).sum(2, keepdims=True)
        return error, codes, scale, zero

    def _fit(self, codes: ndarray, zero: ndarray, scale: ndarray) -> ndarray:
        """Return the scales with the least squared error for codes."""
        import numpy

        steps = codes - zero
        below = (self._factors * steps * steps).sum(2, keepdims=True)
        above = (self._factors * steps * self._numbers).sum(2, keepdims=True)
        fitted = numpy.divide(above, below, out=scale.copy(), where=below > 0)
        return numpy.where(fitted == 0, scale, fitted)


def _positive(scale: ndarray) -> ndarray:
    """Return scales with 1 in place of 0: blocks of zeros have any scale."""
    import numpy

    return numpy.where(abs(scale) < numpy.finfo(numpy.float32).tiny, numpy.float32(1), scale)


def _better(best: ndarray, kept: list[ndarray], tried: tuple[ndarray, ...]) -> tuple[ndarray, list[ndarray]]:
    import numpy

    error, *others = tried
    is_better = error < best
    return numpy.where(is_better, error, best), [
        numpy.where(is_better, new, old) for new, old in zip(others, kept, strict=True)
    ]


def multiply_by_blocks(product: Operation, blocks: Blocks) -> Value:
    """Replace a product by relax.matmul_nbits. Returns the new result."""
    bits, block = blocks.type.bits, blocks.type.block
    x = product.operands[0]
    with product.location, ir.InsertionPoint(product):
        packed = packed_codes(blocks.codes, bits, block)
        zero = None if blocks.zero_point is None else const(blocks.zero_point)
        scale = const(blocks.scale, dtype_of(x))
        by_blocks = relax.matmul_nbits(x, const(packed), scale, zero, None, bits=bits, block_size=block)
        by_blocks = stated(by_blocks, result_type(product.opview))
    product.results[0].replace_all_uses_with(by_blocks)
    product.erase()
    return by_blocks
