# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations beside torch's own, with the statistics that they update while a model trains."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from imported import check
from torch.nn import functional

X = torch.arange(60.0).reshape(2, 6, 5).sin()
BY_CHANNEL = (torch.linspace(0.5, 1.5, 6), torch.linspace(-1, 1, 6))


def of_rows(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> list[torch.Tensor]:
    y = x.transpose(1, 2)
    return [
        functional.layer_norm(y, (6,), weight, bias),
        functional.rms_norm(y, (6,), weight),
        functional.rms_norm(y, (6,), eps=1e-3),
        *torch.native_layer_norm(y, [6], weight, None, 1e-5),
    ]


def of_channels(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> list[torch.Tensor]:
    return [
        functional.group_norm(x, 3, weight, bias),
        *torch.native_group_norm(x, weight, bias, x.shape[0], 6, 5, 2, 1e-5),
        functional.instance_norm(x, weight=weight, bias=bias),
        functional.batch_norm(x, bias, weight, weight, bias),
        functional.batch_norm(x, None, None, training=True),
    ]


@pytest.mark.parametrize("function", [of_rows, of_channels])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_norms(function: Callable[..., list[torch.Tensor]], dtype: torch.dtype) -> None:
    check(function, *(each.to(dtype) for each in (X, *BY_CHANNEL)))


def test_norms_of_rows_of_any_number() -> None:
    check(of_rows, X, *BY_CHANNEL, dynamic=True)


def trained(x: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> list[torch.Tensor]:
    """Train with separate statistics, which only the norms update."""
    statistics = [each.clone() for each in (mean, variance, mean, variance)]
    made = functional.batch_norm(x, *statistics[:2], training=True, momentum=0.5)
    return [made, functional.instance_norm(x, *statistics[2:], momentum=0.25), *statistics]


def test_running_statistics_are_updated_while_a_model_trains() -> None:
    check(trained, X, BY_CHANNEL[1], BY_CHANNEL[0])


def test_a_batch_of_one_dimension() -> None:
    check(lambda x, mean, variance: functional.batch_norm(x, mean, variance), torch.empty(0), *[torch.empty(0)] * 2)
