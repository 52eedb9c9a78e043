# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading and writing at indices, compared with torch: places of the indexed dimensions, masks, repeated indices."""

from __future__ import annotations

import pytest
import torch
from imported import check

PLACES, J = torch.tensor([[2, 0], [-1, 1]]), torch.tensor([1, 3])
X = torch.randn(3, 4, 5)


@pytest.mark.parametrize("dynamic", [False, True])
def test_reading(dynamic: bool) -> None:
    """Keep dimensions of adjacent index tensors in place, and move those of others to the front."""
    check(
        lambda x, i, j: (x[i], x[:, j], x[i, j], x[:, i, j], x[i, :, j], x[..., j], x[i, 1:, 2]),
        X, PLACES, J, dynamic=dynamic,
    )  # fmt: skip


def test_reading_by_masks() -> None:
    mask = X[:, :, 0] > 0
    check(lambda x, m: (x[m], x[:, m[0]], x[x > 0]), X, mask)
    check(lambda x, m: (x.nonzero(), torch.masked_select(x, m[..., None]), torch.argwhere(m)), X, mask, dynamic=True)


@pytest.mark.parametrize("accumulate", [False, True])
def test_writing(accumulate: bool) -> None:
    def put(*indices: object) -> object:
        return lambda x, i, j, v: x.index_put(
            [torch.arange(0, 1) if each is None else {"i": i, "j": j}[str(each)] for each in indices], v, accumulate
        )

    check(put("i", "j"), X, torch.tensor([0, 2]), J, torch.randn(2, 5))
    check(put("j"), X, torch.tensor([0]), torch.tensor([2, 2]) * int(accumulate), torch.randn(4, 5))


def test_assignments() -> None:
    def assign(x: torch.Tensor, j: torch.Tensor, m: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a, b, c, d = (x.clone() for _ in range(4))
        a[:, j] = v
        b[m] = 0.0
        c[:, j, j] = v[:, :, 0]
        d[m] = d[m] * 2
        return a, b, c, d

    check(assign, X, J, X[:, :, 0] > 0, torch.randn(3, 2, 5))
    check(assign, X, J, X[:, :, 0] > 0, torch.randn(3, 2, 5), dynamic=True)


@pytest.mark.parametrize("dynamic", [False, True])
def test_along_a_dimension(dynamic: bool) -> None:
    check(
        lambda x, i, j: (
            x[0].gather(1, i.abs()), x.index_select(1, j), x.take(i), torch.take_along_dim(x[0], i.abs()[:, :1], 0),
            torch.nn.functional.embedding(i.abs(), x[0]),
        ),
        X, PLACES, J, dynamic=dynamic,
    )  # fmt: skip


@pytest.mark.parametrize("way", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [False, True])
def test_values_that_meet(way: str, include_self: bool) -> None:
    index, source = torch.tensor([[0, 0, 2], [1, 1, 1]]), torch.randn(2, 4)
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        check(
            lambda x, i, s: x.scatter_reduce(0, i, s, way, include_self=include_self),
            (torch.randn(3, 3) * 9).to(dtype), index, (source * 9).to(dtype),
        )  # fmt: skip
    if way != "sum":
        check(
            lambda x, i, s: x.index_reduce(1, i, s, way, include_self=include_self),
            torch.randn(3, 4), torch.tensor([2, 0, 2]), torch.randn(3, 3),
        )  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True])
def test_slices(dynamic: bool) -> None:
    check(
        lambda x, j, s: (
            x.index_add(1, j, s, alpha=2), x.index_copy(1, j, s), x.index_fill(1, j, 7.0),
            x.scatter_add(1, j.expand(3, 2)[..., None], s), x.slice_scatter(s, 1, 1, 3),
            x.select_scatter(s[:, 0], 1, 2),
        ),
        X, J, torch.randn(3, 2, 5), dynamic=dynamic,
    )  # fmt: skip


def test_other_ways_to_write() -> None:
    check(
        lambda x, i, j, v: (
            x.scatter(2, i[None], 3.0), x.scatter(2, i[None], v[None], reduce="multiply"), x.put(i, v, accumulate=True),
            x.masked_scatter(x > 0, x * 2), x.diagonal_scatter(v[0, 0].expand(5, 2), 2, 0, 1),
            torch.diagonal_scatter(x, x[0, :, :3] * 9, 0, 0, 2),
        ),
        X, PLACES.abs(), J, torch.randn(2, 2),
    )  # fmt: skip


def test_bags_of_embeddings() -> None:
    weight, places, offsets = torch.randn(6, 3), torch.tensor([0, 2, 5, 1, 2]), torch.tensor([0, 2, 2])
    bag = torch.nn.functional.embedding_bag
    for mode in ("sum", "mean", "max"):
        check(lambda w, p, o, mode=mode: (bag(p, w, o, mode=mode), bag(p, w, o, mode=mode, padding_idx=2)),
              weight, places, offsets)  # fmt: skip
    check(lambda w, p, o: bag(p, w, o, mode="sum", per_sample_weights=w[:5, 0], include_last_offset=True),
          weight, places, torch.tensor([0, 2, 5]))  # fmt: skip


def test_small_forms() -> None:
    check(lambda x, n: (x.gather(0, n), x.index_select(0, n), x.scatter(0, n, 2.0), x.index_fill(0, n, 1.0)),
          torch.tensor(3.0), torch.tensor(0))  # fmt: skip
    check(
        lambda n: (torch.nn.functional.one_hot(n, 4), torch.nonzero_static(n, size=5, fill_value=7)),
        torch.tensor([0, 3, 1]),
    )
