# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slices, joins and padding, compared with torch, of known and of unknown sizes."""

from __future__ import annotations

import pytest
import torch
from imported import check
from torch.nn import functional

OTHERS = [(torch.randn(7, 3),), (torch.randn(5, 9),)]


def test_slices_whose_bounds_are_sizes() -> None:
    check(
        lambda x: (
            x[: x.shape[0] // 2],
            x[x.shape[0] // 2 :],
            x[-x.shape[0] // 2 :],
            x[: -(x.shape[0] // 2)],
            x[0 : x.shape[0]],
            x[1 : x.shape[0] + 5],
            x[: x.shape[0] - 1],
            x[x.shape[0] - 2],
        ),
        torch.randn(4, 6),
        dynamic=True,
        others=OTHERS,
    )


def test_slices_of_unknown_sizes() -> None:
    check(
        lambda x: (
            x[:],
            x[:100],
            x[-2:],
            x[:-1],
            x[-3:-1],
            x[::2, 1::2],
            x[:, -1],
            x[1],
            x[:, 1:-1],
            x.narrow(0, 1, 2),
            x.narrow(0, -2, 2),
        ),
        torch.randn(4, 6),
        dynamic=True,
        others=OTHERS,
    )


def test_slices_whose_bounds_depend_on_data() -> None:
    def sliced(x: torch.Tensor, count: torch.Tensor) -> object:
        n = count.item()
        return x[:n] + 1, x[n:] * 2, x[n], x[:, -n:]

    x = torch.randn(5, 5)
    check(sliced, x, torch.tensor(2), others=[(x, torch.tensor(each)) for each in (0, 4, -2)])


def test_gradients_of_slices_whose_bounds_are_sizes() -> None:
    """Take bounds that the backward step gets as numbers, because none of its tensors has the size."""

    def taken(x: torch.Tensor) -> torch.Tensor:
        size, rows = x.shape[0], torch.cat([x, x])
        return rows[: size // 3 + size // 4].sum(0) * rows[size // 3 : -(size // 4) : 2].sum(0)

    torch._dynamo.reset()
    compiled = torch.compile(taken, backend="relax_mlir", dynamic=True, options={"fallback": "error"})
    for size in (13, 7, 22):
        x = torch.randn(size, 3, requires_grad=True)
        found, wanted = (torch.autograd.grad(each(x).square().sum(), x)[0] for each in (compiled, taken))
        torch.testing.assert_close(found, wanted)


def test_parts() -> None:
    check(
        lambda x: (
            *x.split(2),
            *x.split([1, 3]),
            *x.chunk(3, 1),
            *x.tensor_split(4, 1),
            *x.tensor_split((3, 1, 9)),
            *x.unbind(0),
            *x.hsplit(2),
        ),
        torch.randn(4, 6),
    )
    check(lambda x: (*x.chunk(2), *x.split(3, 1)[:1]), torch.randn(4, 6), dynamic=True, others=OTHERS[1:])


def test_places_of_parts_that_depend_on_data() -> None:
    check(
        torch.tensor_split, torch.randn(5, 5), torch.tensor([1, 3]), others=[(torch.randn(5, 5), torch.tensor([3, 1]))]
    )


def test_joins_of_types_and_of_nothing() -> None:
    x = torch.randn(4, 6)
    check(lambda x: torch.cat([torch.empty(0), x, (x * 9).long(), x > 0], 0), x)
    check(
        lambda x: (torch.cat([x, x], -1), torch.stack([x, x], -1), torch.hstack([x, x])), x, dynamic=True, others=OTHERS
    )


@pytest.mark.parametrize("dynamic", [False, True])
def test_padding(dynamic: bool) -> None:
    check(
        lambda x: (
            functional.pad(x, (1, 2)),
            functional.pad(x, (-1, 2, 0, -1), value=float("-inf")),
            functional.pad(x > 0, (1, 1), value=True),
            functional.pad(x[None], (1, 2), mode="reflect"),
            functional.pad(x[None], (2, 1), mode="replicate"),
            functional.pad(x[None], (1, 2), mode="circular"),
            functional.pad(x, (x.shape[0], 0), value=2.0),
        ),
        torch.randn(4, 6),
        dynamic=dynamic,
        others=OTHERS if dynamic else (),
    )


def test_parts_that_are_written() -> None:
    def written(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[0] = 1
        y[1:3, 2:4] += 5
        y[:, 1] = y[:, 2]
        return y

    check(written, torch.randn(4, 6), dynamic=True, others=OTHERS[1:])
