# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with matrices of few bits per element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


@register_reference("relax.matmul_nbits")
def matmul_nbits(
    call: EvaluationCall,
    x: ndarray,
    codes: ndarray,
    scale: ndarray,
    zero_point: ndarray | None,
    bias: ndarray | None,
    *others: ndarray | None,
) -> ndarray:
    """Compute x @ (codes * scale + offset)^T + bias."""
    if call.activation_bits:
        return _multiply_rounded_rows(call, x, codes, scale, zero_point, bias, *others)
    matrix = _matrix(call, codes, scale, zero_point, *others)
    # The last block may be longer than the rest of a row.
    return x @ matrix[:, : x.shape[-1]].T + (0 if bias is None else bias)


def _multiply_rounded_rows(
    call: EvaluationCall,
    x: ndarray,
    codes: ndarray,
    scale: ndarray,
    zero_point: ndarray | None,
    bias: ndarray | None,
    offset: ndarray | None,
    outer_scale: ndarray | None,
    outer_offset: ndarray | None,
) -> ndarray:
    """Multiply rows that are rounded to 8 bits block by block. Each step is the f32 operation of the definition."""
    columns, blocks, _ = codes.shape
    digits, row_scale = _rounded_rows(x, blocks, call.block_size)
    numbers = _codes(codes, call.bits, call.block_size).astype(numpy.float32)
    factors = _scale_blocks(scale, outer_scale, numpy.float32)
    if offset is not None:
        added = _scale_blocks(offset, outer_offset, numpy.float32)
    else:
        middle = numpy.float32(2 ** (call.bits - 1)) if zero_point is None else zero_point.astype(numpy.float32)
        added = -(middle * factors)
    sums = digits.sum(axis=-1, dtype=numpy.float32) * row_scale
    first = numpy.zeros(columns, numpy.float32) if bias is None else bias.astype(numpy.float32)
    total = numpy.broadcast_to(first, (len(digits), columns))
    for block in range(blocks):
        part = digits[:, block] @ numbers[:, block].T
        both = row_scale[:, block, None] * factors[:, block]
        total = _multiply_add(part, both, _multiply_add(added[:, block], sums[:, block, None], total))
    return total.reshape(*x.shape[:-1], columns)


def _rounded_rows(x: ndarray, blocks: int, block: int) -> tuple[ndarray, ndarray]:
    """Return the digits [rows, blocks, block] of x, and their scales [rows, blocks], as f32."""
    rows = numpy.zeros((*x.shape[:-1], blocks * block), numpy.float32)
    rows[..., : x.shape[-1]] = x
    rows = rows.reshape(-1, blocks, block)
    most = abs(rows).max(axis=-1, initial=0)
    scale = numpy.maximum(most / numpy.float32(127), numpy.finfo(numpy.float32).tiny)
    return numpy.rint(rows / scale[..., None]), scale


def _multiply_add(x: ndarray, y: ndarray, z: ndarray) -> ndarray:
    """Return x * y + z of f32, rounded once."""
    product, other = x.astype(numpy.float64) * y, z.astype(numpy.float64)
    total = product + other
    back = total - product
    error = (product - (total - back)) + (other - back)
    # An inexact sum of f64 is rounded to odd: rounding to f32 is then a single rounding of the exact sum.
    toward = numpy.where(error > 0, numpy.inf, -numpy.inf)
    is_even = total.view(numpy.uint64) & numpy.uint64(1) == 0
    is_inexact = (error != 0) & numpy.isfinite(total) & is_even
    return numpy.where(is_inexact, numpy.nextafter(total, toward), total).astype(numpy.float32)


def _matrix(
    call: EvaluationCall,
    codes: ndarray,
    scale: ndarray,
    zero_point: ndarray | None,
    offset: ndarray | None,
    outer_scale: ndarray | None,
    outer_offset: ndarray | None,
) -> ndarray:
    """Return the numbers [columns, depth] that the codes stand for."""
    columns, blocks, _ = codes.shape
    numbers = _codes(codes, call.bits, call.block_size).astype(float)
    factors = _scale_blocks(scale, outer_scale)[..., None]
    if offset is not None:
        numbers = numbers * factors + _scale_blocks(offset, outer_offset)[..., None]
    else:
        middle = 2.0 ** (call.bits - 1) if zero_point is None else zero_point[..., None].astype(float)
        numbers = (numbers - middle) * factors
    return numbers.reshape(columns, blocks * call.block_size)


def _codes(packed: ndarray, bits: int, block: int) -> ndarray:
    """Unpack bytes [columns, blocks, bytes]. The lowest bits of a byte are the first code."""
    if bits == 6:
        low, high = packed[..., : block // 2], packed[..., block // 2 :]
        return _codes(low, 4, block) | _codes(high, 2, block) << 4
    apart = [packed >> shift & (2**bits - 1) for shift in range(0, 8, bits)]
    return numpy.stack(apart, axis=-1).reshape(*packed.shape[:2], block)


def _scale_blocks(numbers: ndarray, factors: ndarray | None, dtype: type[numpy.floating] = numpy.float64) -> ndarray:
    """Return numbers of blocks, times factors for several blocks each."""
    numbers = numbers.astype(dtype)
    if factors is None:
        return numbers
    count = numbers.shape[1] // factors.shape[1]
    return numbers * factors.astype(dtype).repeat(count, axis=1)


@register_reference("relax.matmul_nbits_panels")
def matmul_nbits_panels(
    call: EvaluationCall,
    x: ndarray,
    codes: ndarray,
    scale: ndarray,
    zero_point: ndarray | None,
    bias: ndarray | None,
    *others: ndarray | None,
) -> ndarray:
    """Multiply by codes [panels, words, columns * 4 bytes]: 4 adjacent bytes of a column are contiguous."""
    panels, words, _ = codes.shape
    bytes_of_columns = codes.reshape(panels, words, -1, 4).transpose(0, 2, 1, 3)
    codes = bytes_of_columns.reshape(-1, scale.shape[1], call.block_size * call.bits // 8)[: call.columns]
    zeros, *rest = (None if array is None else _columns(call, array) for array in (zero_point, *others))
    added = None if bias is None else bias.reshape(-1)[: call.columns]
    return matmul_nbits(call, x, codes, _columns(call, scale), zeros, added, *rest)


def _columns(call: EvaluationCall, panels: ndarray) -> ndarray:
    """Convert [panels, blocks, columns of a panel] to [columns, blocks]."""
    return panels.transpose(0, 2, 1).reshape(-1, panels.shape[1])[: call.columns]
