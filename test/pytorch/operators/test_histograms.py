# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Histograms of elements, of points and of integers."""

from __future__ import annotations

import torch
from imported import check


def test_histograms() -> None:
    x = torch.tensor([0.1, 0.2, 0.9, 1.0, -3.0, 5.0])
    check(lambda x: (x.histc(4), x.histc(5, 0, 1)), x)
    check(lambda x: (x.histogram(3), x.histogram(2, range=(0.0, 1.0), weight=x + 4, density=True), x[:1].histc(4)), x)
    check(lambda x, e: x.histogram(e), x, torch.tensor([-1.0, 0.2, 0.9, 1.0]))


def test_histograms_of_points() -> None:
    """Count points outside, on an edge, and with NaN."""
    x = torch.tensor([[0.1, 2.0], [1.0, 1.0], [0.5, -3.0], [0.0, float("nan")], [0.7, 0.0]], dtype=torch.float64)
    weight = torch.arange(5.0, dtype=torch.float64)
    check(lambda x, w: torch.histogramdd(x, (2, 3), range=[0.0, 1.0, -1.0, 2.0], weight=w, density=True), x, weight)
    check(lambda x: torch.histogramdd(x[:3], (2, 3)), x)
    check(lambda x: torch.histogramdd(x[:0], (2, 3)), x)
    edges = torch.tensor([-1.0, 0.0, 0.5, 2.0], dtype=torch.float64)
    check(lambda x, e: torch.histogramdd(x, [e, e[1:]]), x, edges)


def test_counts_of_integers() -> None:
    n = torch.tensor([1, 5, 1, 0])
    check(lambda n, w: (n.bincount(), n.bincount(w), n.bincount(minlength=9)), n, torch.randn(4))
