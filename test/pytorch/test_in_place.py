# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Updates in place: of whole tensors, of views, of what views see, of arguments."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from relax_mlir.frontends.torch.in_place import Updates
from torch import nn

import relax_mlir as rx


def _relu(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y.relu_()
    return y + 1


def _chain(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    z = y.add_(1).mul_(3)
    return y + z


def _view_before(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    total = y.view(-1).sum()
    y.add_(1)
    return y + total


def _view_after(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    view = y.view(-1)
    y.add_(1)
    return view + 1


def _through_a_view(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y[0].zero_()
    return y


def _dropout(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    z = nn.functional.dropout(y, training=False)
    z.add_(1)
    return y + z


def _input(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.add_(1)
    return y + x


def _slices(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros_like(x)
    y[1:] = x[1:]
    y[:, 0] += 2
    return y


class _Of(nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]):
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


@pytest.mark.parametrize(
    ("function", "is_simple"),
    [
        (_relu, True),
        (_chain, True),
        (_view_before, True),
        (_view_after, False),
        (_through_a_view, False),
        (_dropout, True),
        (_input, True),
        (_slices, False),
    ],
)
def test_updates(function: Callable[[torch.Tensor], torch.Tensor], is_simple: bool) -> None:
    x = torch.randn(3, 4)
    program = torch.export.export(_Of(function), (x,))
    assert Updates(program.graph).are_all_simple == is_simple
    torch.testing.assert_close(rx.compile(rx.from_torch(program))["main"](x), function(x))
