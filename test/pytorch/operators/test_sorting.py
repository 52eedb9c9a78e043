# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results that depend on the order of elements, compared with torch: NaN, equal elements, data-dependent sizes."""

from __future__ import annotations

import pytest
import torch
from imported import check

INF, NAN = float("inf"), float("nan")
SPECIAL = torch.tensor([[1.0, NAN, -0.0, 0.0, INF, -INF, NAN, 2.0], [3.0, 3.0, -1.0, 3.0, -1.0, 0.0, -2.0, 7.0]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("descending", [False, True])
def test_order(descending: bool, dtype: torch.dtype) -> None:
    """Sort NaN last, and equal elements stably."""
    check(lambda x: torch.sort(x, dim=1, descending=descending, stable=True), SPECIAL.to(dtype))


@pytest.mark.parametrize("descending", [False, True])
def test_values_alone(descending: bool) -> None:
    check(lambda x: (torch.sort(x, descending=descending)[0], torch.msort(x)), SPECIAL, dynamic=True)


@pytest.mark.parametrize("largest", [False, True])
def test_first_ones(largest: bool) -> None:
    x = torch.tensor([[1.0, NAN, 0.5, INF, -INF, 2.0], [3.0, -1.0, 4.0, 0.0, -2.0, 7.0]])
    check(lambda x: (torch.topk(x, 3, largest=largest), torch.topk(x, 0), torch.topk(x, 2, dim=0)[0]), x)
    check(lambda x: torch.topk(x, x.shape[0] + 1, largest=largest), x, dynamic=True)


def test_one_by_its_rank() -> None:
    """Return the median, also without NaN, the k-th smallest element, and the most frequent one."""
    x = torch.tensor([[1.0, 5.0, 2.0, 5.0], [NAN, 4.0, 3.0, 4.0], [NAN, NAN, NAN, NAN]])
    check(lambda x: (x.median(), x.median(1)[0], x.nanmedian(), x.nanmedian(1)[0], x.nanmedian(0, keepdim=True)[0]), x)
    check(lambda x: (x[:2].kthvalue(2, dim=1, keepdim=True), x.kthvalue(1, dim=0)[0], x[:1].mode()), x)
    check(lambda x: (x.quantile(0.3, dim=1), x.nanquantile(torch.tensor([0.0, 0.5]), dim=1)), x)


def test_most_frequent() -> None:
    check(lambda x: (x.mode(1), x.mode(0, keepdim=True)), torch.tensor([[3, 1, 3, 1], [2, 2, 2, 9], [4, 3, 2, 1]]))


def test_unique() -> None:
    """Treat each NaN as distinct."""
    x = torch.tensor([[2.0, 1.0, NAN], [1.0, NAN, 5.0]])
    check(lambda x: torch.unique(x, return_inverse=True, return_counts=True), x)
    check(lambda x: (torch.unique(x), torch.unique(x, dim=1)), torch.tensor([[3, 3, 1], [3, 3, 0]]))


def test_unique_neighbours() -> None:
    x = torch.tensor([[1, 1, 2, 2, 2, 1], [1, 1, 2, 2, 3, 1]])
    check(lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), x)
    check(lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True, dim=1), x)
    check(lambda x: torch.unique_consecutive(x, return_counts=True), torch.zeros(0))


def test_between_boundaries() -> None:
    x, edges = torch.tensor([[0.5, 1.0, 3.0], [9.0, -1.0, NAN]]), torch.tensor([0.0, 1.0, 3.0])
    check(lambda x, e: (torch.bucketize(x, e), torch.bucketize(x, e, right=True, out_int32=True)), x, edges)
    rows = torch.tensor([[0.0, 1.0, 2.0], [-1.0, -1.0, 9.0]])
    check(lambda x, r: (torch.searchsorted(r, x), torch.searchsorted(r, x, side="right")), x, rows, dynamic=True)


def test_membership() -> None:
    x = torch.tensor([0.1, 0.2, 0.9, 1.0, -3.0, 5.0])
    check(lambda x: torch.isin(x, torch.tensor([0.2, 5.0])), x)
