# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of segments, and their gradients."""

from __future__ import annotations

import pytest
import torch
from imported import PEER, check, exported
from relax_mlir_torch.compile.torch_compile import torch_backend

_DATA = torch.tensor([[1.0, 2, 0], [3, 2, 5], [3, 7, 0], [0.5, -4, float("nan")], [2, 2, 2]], dtype=torch.float64)
_REDUCTIONS = ["max", "min", "mean", "sum", "prod"]


@pytest.mark.parametrize("reduce", _REDUCTIONS)
def test_segments(reduce: str) -> None:
    """Return the initial value, or the identity element, for an empty segment."""
    lengths = torch.tensor([0, 3, 2, 0])
    check(lambda x, n: torch.segment_reduce(x, reduce, lengths=n), _DATA, lengths, dynamic=True)
    check(lambda x, n: torch.segment_reduce(x, reduce, lengths=n, initial=2.0), _DATA, lengths)


def test_segments_behind_a_batch() -> None:
    """Reduce with offsets that skip elements at both ends."""
    offsets = torch.tensor([[0, 1, 3], [1, 1, 2]])
    check(lambda x, o: torch.segment_reduce(x, "sum", offsets=o, axis=1), _DATA[:2, :, None], offsets, dynamic=True)


def test_lengths_are_checked() -> None:
    run = PEER.compiled(PEER.imported(exported(lambda x, n: torch.segment_reduce(x, "sum", lengths=n), _few())))
    for lengths in ([2, 2], [-1, 6]):
        with pytest.raises(Exception, match="lengths of segments"):
            run([_DATA, torch.tensor(lengths)])


def _few() -> list[torch.Tensor]:
    return [_DATA, torch.tensor([3, 2])]


@pytest.mark.parametrize("reduce", _REDUCTIONS)
def test_gradients(reduce: str) -> None:
    def loss(data: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        made = torch.segment_reduce(data, reduce, lengths=torch.tensor([0, 3, 2]), initial=1.5)
        return (made * weights).sum()

    data, weights = _DATA.nan_to_num(6.0), torch.arange(9.0, dtype=torch.float64).reshape(3, 3)
    torch._dynamo.reset()
    found, wanted = (
        torch.autograd.grad(function(given, weights), given)[0]
        for function, given in (
            (torch.compile(loss, backend=torch_backend, fullgraph=True), data.clone().requires_grad_()),
            (loss, data.clone().requires_grad_()),
        )
    )
    torch.testing.assert_close(found, wanted)
