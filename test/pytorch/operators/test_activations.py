# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activation functions, softmax and its kin, compared with torch."""

from __future__ import annotations

import pytest
import torch
from imported import check
from torch.nn import functional

INF, NAN = float("inf"), float("nan")
SPECIAL = [0.0, -0.0, 0.5, -0.5, 3.0, -3.0, 7.0, -7.0, 30.0, -30.0, 1e-6, INF, -INF, NAN]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_of_one_number(dtype: torch.dtype) -> None:
    x = torch.tensor(SPECIAL).to(dtype)
    check(lambda x: (functional.relu6(x), functional.hardtanh(x), functional.leaky_relu(x), functional.softsign(x)), x)
    check(lambda x: (functional.threshold(x, 0.25, 9.0), functional.hardshrink(x), functional.softshrink(x)), x)
    finite = x[:11]
    check(lambda x: (functional.gelu(x), functional.gelu(x, approximate="tanh"), functional.silu(x)), finite)
    check(lambda x: (functional.elu(x, 1.5), functional.celu(x, 0.5), functional.selu(x), functional.mish(x)), finite)
    check(lambda x: (functional.softplus(x, 2.0, 15.0), functional.logsigmoid(x), functional.tanhshrink(x)), finite)
    check(lambda x: (functional.hardswish(x), functional.hardsigmoid(x), functional.rrelu(x)), finite)


def test_prelu_with_slopes_of_channels() -> None:
    check(lambda x, a: functional.prelu(x, a), torch.randn(2, 3, 4), torch.rand(3), dynamic=True)
    check(lambda x, a: functional.prelu(x, a), torch.tensor(-2.0), torch.rand(1))


@pytest.mark.parametrize("dynamic", [False, True])
def test_softmax(dynamic: bool) -> None:
    x = torch.randn(3, 4, 5) * 9
    check(
        lambda x: (
            functional.softmax(x, 1),
            functional.log_softmax(x, -1),
            functional.softmin(x, 0),
            functional.glu(x[:, :2], 1),
        ),
        x,
        dynamic=dynamic,
    )
    check(lambda x: (x.int().softmax(0, dtype=torch.float64), x.half().log_softmax(1, dtype=torch.float32)), x)
    check(lambda x: (x.softmax(0), x.log_softmax(-1)), torch.tensor(2.0))


def test_softmax_of_nothing_but_minus_infinity() -> None:
    x = torch.tensor([[1.0, float("-inf")], [float("-inf")] * 2, [float("nan"), float("-inf")]])
    check(lambda x: torch.ops.aten._safe_softmax(x, 1), x)
