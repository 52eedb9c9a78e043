# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive operators (torch._prims), compared with torch."""

from __future__ import annotations

import pytest
import torch
from imported import check

PRIMS = torch.ops.prims
_NUMBERS = torch.tensor([[0.25, -0.5, 0.75], [1.5, 0.125, -2.0]])
_UNARY = """abs asinh atan ceil clone copy_strided cos cbrt digamma erf erfc exp expm1 floor isfinite lgamma neg round
sign sin tanh trunc bessel_i0 bessel_j0 erfcx view_of device_put""".split()
_POSITIVE = "acosh log log10 log1p log2 reciprocal rsqrt sqrt".split()
_BINARY = "add atan2 div eq fmax fmin fmod ge gt hypot le lt maximum minimum mul ne remainder sub".split()


def test_elementwise() -> None:
    more = {"copy_strided": ([3, 1],), "device_put": ("cpu",)}

    def unary(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        below_one = PRIMS.div(PRIMS.tanh(x), PRIMS.full_like(x, 2, dtype=x.dtype, device="cpu", requires_grad=False))
        return (
            *(getattr(PRIMS, name)(x, *more.get(name, ())) for name in _UNARY),
            *(getattr(PRIMS, name)(x * x + 1) for name in _POSITIVE),
            *(getattr(PRIMS, name)(below_one) for name in ("acos", "asin", "atanh", "erf_inv")),
            PRIMS.ndtri(PRIMS.abs(below_one)),
        )

    check(unary, _NUMBERS)


def test_elementwise_of_two() -> None:
    def binary(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        made = [getattr(PRIMS, name)(x, y) for name in _BINARY]
        return (*made, PRIMS.pow(PRIMS.abs(x), y), PRIMS.where(PRIMS.lt(x, y), x, y))

    check(binary, _NUMBERS, _NUMBERS.flip(0) + 0.5)


def test_integers() -> None:
    """Truncate quotients instead of dividing floats like ATen."""
    names = "bitwise_and bitwise_or bitwise_xor div gcd shift_left shift_right_arithmetic".split()
    check(
        lambda x, y: tuple(getattr(PRIMS, name)(x, y) for name in names),
        torch.tensor([7, -7, 12, -1]),
        torch.tensor([2, 2, 3, 5]),
    )


@pytest.mark.parametrize("dynamic", [False, True])
def test_reductions_and_shapes(dynamic: bool) -> None:
    def reduced(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            PRIMS.sum(x, [0, 2]), PRIMS.prod(x, [1]), PRIMS.amax(x, [2]), PRIMS.amin(x, [0, 1]),
            PRIMS.var(x, [1, 2], 1.0), PRIMS.var(x, [0], 0.0),
            PRIMS.collapse_view(x, 1, 2), PRIMS.collapse(x, 0, 1), PRIMS.transpose(x, [2, 0, 1]), PRIMS.rev(x, [1]),
            PRIMS.reshape(x, [x.shape[2], x.shape[0] * x.shape[1]]),
            PRIMS.squeeze(x.unsqueeze(1), [1]), PRIMS.cat([x, x], 1),
            PRIMS.broadcast_in_dim(x, [2, x.shape[0], x.shape[1], 5, x.shape[2]], [1, 2, 4]),
        )  # fmt: skip

    check(reduced, torch.randn(2, 3, 4), dynamic=dynamic)


def test_creation() -> None:
    same = {"dtype": torch.float32, "device": torch.device("cpu"), "requires_grad": False}

    def made(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        places = PRIMS.iota(4, start=3, step=2, **{**same, "dtype": torch.int64})
        scalar = PRIMS.scalar_tensor(3.0, dtype=torch.float64, device=torch.device("cpu"))
        return (
            places, PRIMS.full([2, 3], 7.5, **same), PRIMS.fill(x, 2.5), scalar,
            PRIMS.convert_element_type(x, torch.int32), PRIMS.split_dim(x, 1, 3), PRIMS.view_of_dtype(x, torch.int32),
        )  # fmt: skip

    check(made, torch.arange(6.0).reshape(1, 6).contiguous())


def test_complex_numbers() -> None:
    def made(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        spectrum = PRIMS.fft_r2c(x, dim=[1], onesided=True)
        return (
            spectrum, PRIMS.mul(spectrum, spectrum), PRIMS.conj(spectrum).clone(), PRIMS.real(spectrum).clone(),
            PRIMS.fft_c2r(spectrum, dim=[1], last_dim_size=4), PRIMS.fft_c2c(spectrum, dim=[0], forward=False),
            PRIMS.broadcast_in_dim(spectrum, [2, 2, 3], [0, 2]).clone(),
        )  # fmt: skip

    check(made, torch.randn(2, 4))
