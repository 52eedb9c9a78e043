# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators, compared with torch: element types, special values, symbolic sizes."""

from __future__ import annotations

import pytest
import torch
from imported import check

INF, NAN = float("inf"), float("nan")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 1e-30, -1e-30, 3e38, INF, -INF, NAN]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int64, torch.bool])
def test_functions_of_one_number(dtype: torch.dtype) -> None:
    x = torch.tensor([[0.0, 1.0, 2.0], [8.0, 3.0, 1000.0]]).to(dtype)
    check(
        lambda x: (x.log2(), x.log10(), x.log1p(), x.exp2(), x.expm1(), x.sinc(), x.deg2rad(), x.reciprocal()),
        x,
        dynamic=True,
    )


def test_special_values() -> None:
    x = torch.tensor(SPECIAL)
    check(lambda x: (x.sign(), x.frac(), x.round(), x.angle(), x.expm1(), x.log1p(), x.nan_to_num(), x.logit()), x)
    check(lambda x: (torch.nan_to_num(x, 7.0, 8.0, -9.0), x.logit(0.1), torch.heaviside(x, x[2])), x)


def test_logarithms_of_powers_are_exact() -> None:
    """Compute logarithms of powers exactly, so that users get the expected floor(log2(x))."""
    x = torch.tensor([2.0**n for n in range(-20, 60)], dtype=torch.float64)
    check(lambda x: (x.log2().floor(), x.log2().long()), x)


@pytest.mark.parametrize("dynamic", [False, True])
def test_broadcasting_and_promotion(dynamic: bool) -> None:
    check(
        lambda x, y, n, b: (
            x + y,
            torch.sub(n, y, alpha=3),
            n * b,
            b / n,
            torch.hypot(x, y),
            torch.atan2(n, y),
            2 - b.int(),
        ),
        torch.randn(3, 1),
        torch.randn(1, 4),
        torch.tensor([[1], [-7], [3]]),
        torch.tensor([True, False, True, True]),
        dynamic=dynamic,
    )


def test_products_of_truth_values() -> None:
    a, b = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])
    check(lambda a, b: (a * b, a + b, torch.add(a, b, alpha=False), torch.maximum(a, b), a.clamp(min=b)), a, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_divisions_round(dtype: torch.dtype) -> None:
    pairs = [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (1, 10)]
    x, y = (torch.tensor(each).to(dtype) for each in zip(*pairs, strict=True))
    check(lambda x, y: (x // y, torch.div(x, y, rounding_mode="trunc"), x % y, torch.fmod(x, y), torch.div(x, y)), x, y)


def test_division_of_special_values() -> None:
    x = torch.tensor(SPECIAL)
    check(lambda x, y: (x // y, torch.div(x, y, rounding_mode="trunc"), x % y), x[:, None], x[None])


def test_products_and_logarithms() -> None:
    x = torch.tensor(SPECIAL)
    check(lambda x, y: (torch.xlogy(x, y), torch.special.xlog1py(x, y), torch.logaddexp2(x, y)), x[:, None], x[None])


def test_interpolation_and_sums_with_products() -> None:
    x, y, z = torch.randn(3, 4), torch.randn(4), torch.rand(3, 1)
    check(
        lambda x, y, z: (
            torch.lerp(x, y, z),
            torch.lerp(x, y, 0.7),
            torch.addcmul(x, y, z, value=2),
            torch.addcdiv(x, y, z),
        ),
        x,
        y,
        z,
        dynamic=True,
    )
    n = torch.arange(6).reshape(2, 3)
    check(lambda n: torch.addcmul(n, n, n, value=-2), n)


def test_rounding_to_digits() -> None:
    x = torch.tensor([123.456, -123.455, 0.5, 1.5, 2.5], dtype=torch.float64)
    check(lambda x: (x.round(), x.round(decimals=2), x.round(decimals=-1)), x)
