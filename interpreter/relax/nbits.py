# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with matrices of few bits per element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ..registry import register_reference

if TYPE_CHECKING:
    from numpy import ndarray

    from ...passes.evaluate.registry import EvaluationCall


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
    matrix = _matrix(call, codes, scale, zero_point, *others)
    # The last block may be longer than the rest of a row.
    return x @ matrix[:, : x.shape[-1]].T + (0 if bias is None else bias)


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
    factors = _of_blocks(scale, outer_scale)[..., None]
    if offset is not None:
        numbers = numbers * factors + _of_blocks(offset, outer_offset)[..., None]
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


def _of_blocks(numbers: ndarray, factors: ndarray | None) -> ndarray:
    """Return numbers of blocks, times factors for several blocks each."""
    numbers = numbers.astype(float)
    if factors is None:
        return numbers
    count = numbers.shape[1] // factors.shape[1]
    return numbers * factors.astype(float).repeat(count, axis=1)


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
    zeros, *rest = (None if each is None else _columns(call, each) for each in (zero_point, *others))
    added = None if bias is None else bias.reshape(-1)[: call.columns]
    return matmul_nbits(call, x, codes, _columns(call, scale), zeros, added, *rest)


def _columns(call: EvaluationCall, panels: ndarray) -> ndarray:
    """Convert [panels, blocks, columns of a panel] to [columns, blocks]."""
    return panels.transpose(0, 2, 1).reshape(-1, panels.shape[1])[: call.columns]
