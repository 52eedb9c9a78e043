# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions to types of 8 bits: overflow, infinities, NaN, signs of zeros and ties are torch's."""

from __future__ import annotations

import pytest
import torch
from imported import check
from relax_mlir_torch.compile.torch_compile import torch_backend

_NARROW = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]
_NUMBERS = [500.0, 448.0, 464.0, 465.0, 480.0, float("inf"), -float("inf"), float("nan"), -0.0, 1e-9, 57344.0, 61440.0,
            61439.0, 1e30, -1e30, 240.0, 247.5, 248.0, 0.013, -0.017]  # fmt: skip


def to_each(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple(x.to(dtype).float() for dtype in _NARROW)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_floats_of_8_bits(dtype: torch.dtype) -> None:
    check(to_each, torch.tensor(_NUMBERS, dtype=dtype))


def test_integers_and_other_floats_of_8_bits() -> None:
    every = torch.arange(256, dtype=torch.uint8)
    check(lambda x, y: (*to_each(x), *to_each(y)), torch.tensor([500, 60000, -1000, 3]), every.view(torch.float8_e5m2))


def test_numbers_of_8_bits() -> None:
    check(
        lambda x: (
            torch.full((2,), 448.0, dtype=torch.float8_e4m3fn).float(),
            torch.where(x > 0, x, 1e9).to(torch.float8_e4m3fn).float(),
        ),
        torch.tensor([1.0, -1.0]),
    )


def test_floats_of_8_bits_by_torch_compile() -> None:
    torch._dynamo.reset()
    given = torch.tensor(_NUMBERS)
    found, wanted = torch.compile(to_each, backend=torch_backend)(given), to_each(given)
    torch.testing.assert_close(found, wanted, equal_nan=True, rtol=0, atol=0)
