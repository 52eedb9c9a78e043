# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Updates in place: of whole tensors, of views, of aliased views, of arguments."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from relax_mlir_torch.in_place import Updates
from torch import nn
from torch.nn import functional

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


def _mask(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y.view(-1, 2)[y.view(-1, 2)[:, 0] > 0] = 0
    return y


def _several_aliases(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Update views of views, which alias each other."""
    y = x * 2
    turned, row, flat = y.t(), y[1], y.view(-1)
    turned[0].add_(7)
    row.mul_(2)
    flat[3] = 9.0
    total = turned.sum(1)
    turned.transpose(0, 1)[:, :2].sub_(1)
    return y, turned, row, flat, total


def _parts(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x * 2
    one, other = y.split(2, dim=1)
    y[-1] += 5
    y.unsqueeze(0).mul_(3)
    torch.diagonal(y).fill_(0)
    y.permute(1, 0)[1, 1:].copy_(x[0, :2])
    return y, one, other


def _result_of_an_update(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x * 2
    z = y[0].add_(1)
    y.mul_(2)
    return y, z


def _complex_numbers(x: torch.Tensor) -> torch.Tensor:
    y = torch.complex(x, x)
    y[0] = 0
    y[:, 1].mul_(2j)
    return torch.view_as_real(y).clone()


def _copy_or_view(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Update a tensor after two reshapes, of which one copies."""
    y = x * 2
    copied, seen = y.t().reshape(-1), y.reshape(-1)
    y.add_(1)
    return y, copied, seen


def _statistics(x: torch.Tensor) -> torch.Tensor:
    mean, variance = torch.zeros(4), torch.ones(4)
    torch.ops.aten.native_batch_norm(x, None, None, mean, variance, True, 0.1, 1e-5)
    return torch.stack([mean, variance])


def _dropout_of_what_may_be_a_copy(x: torch.Tensor) -> torch.Tensor:
    return functional.dropout(x.t().flatten(), 0.5, training=False, inplace=True) + 1


def _one_of_several_results(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    values, places = x.topk(2)
    values /= values.sum(-1, keepdim=True)
    return values, places


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
        (_view_after, True),
        (_through_a_view, True),
        (_dropout, True),
        (_input, True),
        (_slices, True),
        (_mask, True),
        (_several_aliases, True),
        (_parts, True),
        (_result_of_an_update, True),
        (_complex_numbers, True),
        (_dropout_of_what_may_be_a_copy, True),
        (_one_of_several_results, True),
        (_copy_or_view, False),
        (_statistics, False),
    ],
)
def test_updates(function: Callable[[torch.Tensor], torch.Tensor], is_simple: bool) -> None:
    x = torch.randn(3, 4)
    program = torch.export.export(_Of(function), (x,))
    assert Updates(program.graph).are_all_simple == is_simple
    torch.testing.assert_close(rx.compile(rx.from_torch(program))["main"](x), function(x))
