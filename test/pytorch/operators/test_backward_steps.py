# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Backward steps that torch has as operators of their own: the gradients are those of eager torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from relax_mlir.compilation.torch_compile import torch_backend
from torch.nn import functional

_IMAGE = (2, 4, 9, 7)
_CASES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "grouped convolution": (
        lambda x, w, b: functional.conv2d(x, w, b, stride=2, padding=1, dilation=2, groups=2),
        [_IMAGE, (6, 2, 3, 3), (6,)],
    ),
    "transposed convolution": (
        lambda x, w: functional.conv_transpose2d(x, w, stride=2, output_padding=1),
        [_IMAGE, (4, 3, 3, 3)],
    ),
    "convolution of a row": (lambda x, w: functional.conv1d(x, w), [(4, 9), (3, 4, 2)]),
    "maxima of windows that overlap": (lambda x: functional.max_pool2d(x, 3, 2, padding=1, ceil_mode=True), [_IMAGE]),
    "maxima of volumes": (lambda x: functional.max_pool3d(x, 2), [_IMAGE]),
    "maxima of uneven parts": (lambda x: functional.adaptive_max_pool2d(x, (4, 3)), [_IMAGE]),
    "maxima of windows at random distances": (
        lambda x: functional.fractional_max_pool2d(x, 3, 4, _random_samples=torch.full((2, 4, 2), 0.7)),
        [_IMAGE],
    ),
    "means without padding": (
        lambda x: functional.avg_pool2d(x, 3, 2, padding=1, ceil_mode=True, count_include_pad=False),
        [_IMAGE],
    ),
    "means of uneven parts": (lambda x: functional.adaptive_avg_pool2d(x, (4, 3)), [_IMAGE]),
    "causal attention": (
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        [(2, 3, 5, 4)] * 3,
    ),
    "antialiased resizing": (
        lambda x: functional.interpolate(x, (4, 5), mode="bilinear", antialias=True),
        [_IMAGE],
    ),
    "nearest resizing": (lambda x: functional.interpolate(x, scale_factor=2), [_IMAGE]),
    "sampling": (
        lambda x, grid: functional.grid_sample(x, torch.tanh(grid), align_corners=False),
        [_IMAGE, (2, 3, 5, 2)],
    ),
    "replication": (lambda x: functional.pad(x, (2, 1, 0, 3), mode="replicate"), [_IMAGE]),
    "reflection": (lambda x: functional.pad(x, (2, 1, 0, 3), mode="reflect"), [_IMAGE]),
    "distances": (lambda x, y: torch.cdist(x, y, p=1.5), [(2, 4, 3), (5, 3)]),
    "distances of pairs": (lambda x: functional.pdist(x), [(5, 3)]),
    "masked writing": (lambda x, y: x.masked_scatter(torch.tensor([True, False, True]), y), [(4, 3), (3, 5)]),
}


def gradients(function: Callable[..., Any], tensors: list[torch.Tensor]) -> list[Any]:
    given = [tensor.clone().requires_grad_() for tensor in tensors]
    result = function(*given)
    weights = torch.linspace(1, 2, result.numel()).reshape(result.shape)
    return [result, *torch.autograd.grad(result, given, weights)]


@pytest.mark.parametrize("name", _CASES)
def test_gradients_are_those_of_torch(name: str) -> None:
    function, shapes = _CASES[name]
    torch._dynamo.reset()
    torch.manual_seed(0)
    tensors = [torch.randn(shape) for shape in shapes]
    found = gradients(torch.compile(function, backend=torch_backend, fullgraph=True), tensors)
    torch.testing.assert_close(found, gradients(function, tensors), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_gradients_of_bags(mode: str) -> None:
    """The last bag is empty, and nothing arrives at its maximum."""
    torch._dynamo.reset()
    places, offsets = torch.tensor([1, 2, 2, 5, 0]), torch.tensor([0, 3, 5])

    def bags(weight: torch.Tensor) -> torch.Tensor:
        return functional.embedding_bag(places, weight, offsets, mode=mode)

    table = torch.randn(6, 3)
    torch.testing.assert_close(
        gradients(torch.compile(bags, backend=torch_backend, fullgraph=True), [table]), gradients(bags, [table])
    )
