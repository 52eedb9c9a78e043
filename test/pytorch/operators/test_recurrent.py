# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RNN, GRU and LSTM, and their cells, compared with torch."""

from __future__ import annotations

import pytest
import torch
from imported import check, exported
from torch import nn

import relax_mlir as rx


def _frozen(module: nn.Module) -> nn.Module:
    return module.eval().requires_grad_(False)


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_layers_and_directions(kind: type[nn.Module]) -> None:
    module = _frozen(kind(5, 6, num_layers=2, bidirectional=True, batch_first=True))
    check(lambda x: module(x), torch.randn(3, 4, 5))


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_any_number_of_steps(kind: type[nn.Module]) -> None:
    module = _frozen(kind(5, 6, bias=False))
    check(lambda x: module(x), torch.randn(12, 3, 5), dynamic=True)


def test_given_states_without_a_batch() -> None:
    gru, rnn = _frozen(nn.GRU(5, 6)), _frozen(nn.RNN(5, 6, nonlinearity="relu"))
    check(lambda x, h: (gru(x, h), rnn(x, h)), torch.randn(4, 5), torch.randn(1, 6))


def test_rows_that_are_made_narrower() -> None:
    module = _frozen(nn.LSTM(5, 6, num_layers=2, proj_size=3, bidirectional=True))
    check(lambda x, h, c: module(x, (h, c)), torch.randn(4, 2, 5), torch.randn(4, 2, 3), torch.randn(4, 2, 6))


@pytest.mark.parametrize("kind", [nn.RNNCell, nn.GRUCell])
def test_cells(kind: type[nn.Module]) -> None:
    module = _frozen(kind(5, 6))
    check(lambda x, h: module(x, h), torch.randn(3, 5), torch.randn(3, 6), dynamic=True)
    check(lambda x: module(x), torch.randn(5))


def test_cell_of_lstm() -> None:
    module = _frozen(nn.LSTMCell(5, 6))
    check(lambda x, h, c: module(x, (h, c)), torch.randn(3, 5), torch.randn(3, 6), torch.randn(3, 6))


def test_dropout_while_training_is_refused() -> None:
    module = nn.GRU(5, 6, num_layers=2, dropout=0.5).requires_grad_(False)
    program = exported(lambda x: module(x), [torch.randn(4, 2, 5)])
    with pytest.raises(rx.ModelError, match="at random"):
        rx.from_torch(program)
