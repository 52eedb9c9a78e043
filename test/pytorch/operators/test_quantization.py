# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized models, compared with torch."""

from __future__ import annotations

import pytest
import torch
from imported import check
from torch.ao.quantization.fx import _decomposed  # noqa: F401  declares the operators

Q = torch.ops.quantized_decomposed
X = torch.randn(4, 6) * 3
SCALES, ZERO_POINTS = torch.rand(6) * 0.1 + 0.01, torch.randint(-5, 5, (6,))


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [(torch.int8, -128, 127), (torch.int8, -127, 127), (torch.uint8, 0, 127), (torch.int16, -(2**15), 2**15 - 1),
     (torch.int32, -(2**31), 2**31 - 1)],
)  # fmt: skip
def test_one_scale(dtype: torch.dtype, low: int, high: int) -> None:
    """Clamp to limits that may be narrower than the type's."""

    def both(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        quantized = Q.quantize_per_tensor(x, 0.05, 3, low, high, dtype)
        return quantized, Q.dequantize_per_tensor(quantized, 0.05, 3, low, high, dtype)

    check(both, X)


def test_scales_that_are_tensors() -> None:
    check(lambda x, s, z: Q.quantize_per_tensor.tensor(x, s, z, -128, 127, torch.int8), X, torch.tensor(0.05),
          torch.tensor(2))  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32])
def test_scales_along_an_axis(dtype: torch.dtype) -> None:
    limits = torch.iinfo(dtype).min, torch.iinfo(dtype).max

    def both(x: torch.Tensor, s: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        quantized = Q.quantize_per_channel(x, s, z, 1, *limits, dtype)
        return Q.dequantize_per_channel(quantized, s, z, 1, *limits, dtype)

    check(both, X, SCALES, ZERO_POINTS)


def test_scales_of_groups() -> None:
    def both(x: torch.Tensor, s: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        quantized = Q.quantize_per_channel_group(x, s, z, -8, 7, torch.int8, 3)
        return Q.dequantize_per_channel_group(quantized, s, z, -8, 7, torch.int8, 3, torch.float32)

    check(both, X, torch.rand(4, 2) + 0.1, torch.randint(-3, 3, (4, 2)))


def test_scales_of_tokens() -> None:
    """Choose scales while the model runs."""

    def both(x: torch.Tensor) -> torch.Tensor:
        s, z = Q.choose_qparams_per_token_asymmetric(x, torch.int8)
        quantized = Q.quantize_per_token(x, s, z, -128, 127, torch.int8)
        return Q.dequantize_per_token(quantized, s, z, -128, 127, torch.int8, torch.float32)

    check(both, X, dynamic=True)


def test_chosen_scales() -> None:
    check(lambda x: (Q.choose_qparams.tensor(x, -128, 127, 1e-6, torch.int8),
                     Q.choose_qparams_symmetric.tensor(x, 0, 255, 1e-6, torch.uint8)), X)  # fmt: skip


def test_as_trained_for_it() -> None:
    check(lambda x, s, z: (torch.fake_quantize_per_tensor_affine(x, 0.05, 3, -128, 127),
                           torch.fake_quantize_per_channel_affine(x, s, z, 1, 0, 255)),
          X, SCALES, ZERO_POINTS.int().abs())  # fmt: skip


def test_product_of_integers() -> None:
    check(lambda x, w: torch._int_mm(x, w), *(torch.randint(-128, 127, (32, 32), dtype=torch.int8) for _ in range(2)))


def test_convolution_between_quantized_tensors() -> None:
    weight, bias = torch.randint(-127, 127, (4, 3, 3, 3), dtype=torch.int8), torch.randn(4)

    def network(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        data = Q.dequantize_per_tensor(Q.quantize_per_tensor(x, 0.02, 0, -128, 127, torch.int8),
                                       0.02, 0, -128, 127, torch.int8)  # fmt: skip
        kernel = Q.dequantize_per_channel(w, SCALES[:4], None, 0, -127, 127, torch.int8)
        return Q.quantize_per_tensor(torch.conv2d(data, kernel, b).relu(), 0.05, 0, 0, 255, torch.uint8)

    check(network, torch.randn(1, 3, 6, 6), weight, bias)
