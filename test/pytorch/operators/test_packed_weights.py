# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with weights that torch has packed."""

from __future__ import annotations

import pytest
import torch
from imported import check, exported

import relax_mlir as rx

_ATEN = torch.ops.aten


def _codes(rows: int, depth: int) -> torch.Tensor:
    return torch.arange(rows * depth, dtype=torch.int32).reshape(rows, depth) * 7 % 16


@pytest.mark.parametrize("rows", [16, 64, 112])
def test_four_bits(rows: int) -> None:
    """Read packed weights in this machine's order, also with zero scales."""
    torch.manual_seed(0)
    # Small scales: sums of 64 in another order differ by less than the tolerance.
    codes, around, x = _codes(rows, 64), 0.1 * torch.randn(2, rows, 2), torch.randn(3, 64)
    around[0, 3, 0] = 0
    packed = _ATEN._convert_weight_to_int4pack_for_cpu(codes, 1)
    check(lambda x: _ATEN._weight_int4pack_mm_for_cpu(x, packed, 32, around), x, dynamic=True)


def test_four_bits_packed_in_the_program() -> None:
    torch.manual_seed(0)

    def product(x: torch.Tensor, codes: torch.Tensor, around: torch.Tensor) -> torch.Tensor:
        return _ATEN._weight_int4pack_mm_for_cpu(x, _ATEN._convert_weight_to_int4pack_for_cpu(codes, 1), 32, around)

    arguments = torch.randn(3, 64), _codes(32, 64), torch.randn(2, 32, 2)
    check(product, *arguments)
    module = str(rx.from_torch(exported(product, arguments)))
    assert "relax.matmul_nbits" in module


def test_packed_weights_of_unknown_order_are_refused() -> None:
    arguments = [torch.randn(3, 64), torch.zeros(16, 32, dtype=torch.uint8), torch.randn(2, 16, 2)]
    with pytest.raises(rx.RelaxError, match="must be a constant, or packed in the program"):
        rx.from_torch(exported(lambda x, w, z: _ATEN._weight_int4pack_mm_for_cpu(x, w, 32, z), arguments))
    with pytest.raises(rx.RelaxError, match="can only be an argument"):
        rx.from_torch(exported(lambda c: _ATEN._convert_weight_to_int4pack_for_cpu(c, 1), [_codes(16, 64)]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_eight_bits(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    weight, scales = (_codes(32, 64) * 17 - 128).to(torch.int8), torch.rand(32, dtype=dtype)
    check(lambda x: _ATEN._weight_int8pack_mm(x, weight, scales), torch.randn(3, 64, dtype=dtype), dynamic=True)


@pytest.mark.parametrize("group", [64, 32])
def test_rows_that_are_quantized_in_the_program(group: int) -> None:
    torch.manual_seed(0)
    weight = (_codes(16, 32) * 17).to(torch.uint8)
    scales = torch.rand(16, 64 // group, dtype=torch.float32 if group == 64 else torch.bfloat16)
    packed = _ATEN._dyn_quant_pack_4bit_weight(weight, scales, None, group, 64, 16)
    x = torch.randn(3, 64)
    x[1] = 0
    check(lambda x: _ATEN._dyn_quant_matmul_4bit(x, packed, group, 64, 16), x, dynamic=True)
