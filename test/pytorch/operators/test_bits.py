# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bits of integers and parts of floats, compared with torch."""

from __future__ import annotations

import pytest
import torch
from imported import check

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.uint8, torch.bool])
def test_bits(dtype: torch.dtype) -> None:
    x, y = (torch.tensor(each).to(dtype) for each in ([0, 1, 77, 5], [3, 0, 14, 4]))
    check(lambda x, y: (x & y, x | y, x ^ y, ~x), x, y, dynamic=True)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_shifts_and_divisors(dtype: torch.dtype) -> None:
    x, y = (torch.tensor(each).to(dtype) for each in ([12, -18, 0, 7, -1], [18, 27, 5, 0, 40]))
    check(lambda x, y: (torch.gcd(x, y), torch.lcm(x, y), x << (y % 8), x >> (y % 8)), x, y)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_parts_of_floats(dtype: torch.dtype) -> None:
    x = torch.tensor([0.0, -0.0, 1.0, -3.5, 1e-5, 6e4, INF, NAN]).to(dtype)
    check(lambda x: (torch.frexp(x[:6]), torch.copysign(x, -x), torch.copysign(x, -1), torch.ldexp(x, x[2:3].int())), x)


def test_next_numbers() -> None:
    x = torch.tensor([0.0, 1.0, -1.0, INF, 3e38])
    check(lambda x, y: torch.nextafter(x, y), x, x.flip(0))


def test_hashes() -> None:
    x = torch.tensor([[0.5, -0.0, NAN], [7.25, -1.0, INF]])
    check(lambda x: (torch.hash_tensor(x), torch.hash_tensor(x, 1), torch.hash_tensor(x, 0, keepdim=True)), x)
    check(lambda x: torch.hash_tensor(x, 1), torch.tensor([[[1, -2], [3, 9]]], dtype=torch.int8), dynamic=True)
