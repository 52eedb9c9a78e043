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
    call: EvaluationCall, x: ndarray, codes: ndarray, scale: ndarray, zero_point: ndarray | None, bias: ndarray | None
) -> ndarray:
    """Compute x @ ((codes - zero_point) * scale)^T + bias. The lowest bits of a byte are the first code."""
    columns, blocks, _ = codes.shape
    apart = [codes >> shift & (2**call.bits - 1) for shift in range(0, 8, call.bits)]
    numbers = numpy.stack(apart, axis=-1).reshape(columns, blocks, call.block_size).astype(float)
    middle = 2.0 ** (call.bits - 1) if zero_point is None else zero_point[..., None].astype(float)
    # The last block may be longer than the rest of a row.
    matrix = ((numbers - middle) * scale[..., None]).reshape(columns, blocks * call.block_size)[:, : x.shape[-1]]
    return x @ matrix.T + (0 if bias is None else bias)


@register_reference("relax.matmul_nbits_panels")
def matmul_nbits_panels(
    call: EvaluationCall, x: ndarray, codes: ndarray, scale: ndarray, zero_point: ndarray | None, bias: ndarray | None
) -> ndarray:
    """Multiply by codes [panels, words, columns * 4 bytes]: 4 adjacent bytes of a column are contiguous."""
    panels, words, _ = codes.shape
    bytes_of_columns = codes.reshape(panels, words, -1, 4).transpose(0, 2, 1, 3)
    codes = bytes_of_columns.reshape(-1, scale.shape[1], call.block_size * call.bits // 8)[: call.columns]
    zeros = None if zero_point is None else _columns(call, zero_point)
    added = None if bias is None else bias.reshape(-1)[: call.columns]
    return matmul_nbits(call, x, codes, _columns(call, scale), zeros, added)


def _columns(call: EvaluationCall, panels: ndarray) -> ndarray:
    """Convert [panels, blocks, columns of a panel] to [columns, blocks]."""
    return panels.transpose(0, 2, 1).reshape(-1, panels.shape[1])[: call.columns]
