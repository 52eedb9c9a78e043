# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Backward steps that are operators in torch: their gradients equal eager torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from relax_mlir_torch.compile.torch_compile import torch_backend
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
    "antialiased resizing": (lambda x: functional.interpolate(x, (4, 5), mode="bilinear", antialias=True), [_IMAGE]),
    "nearest resizing": (lambda x: functional.interpolate(x, scale_factor=2), [_IMAGE]),
    "sampling": (
        lambda x, grid: functional.grid_sample(x, torch.tanh(grid), align_corners=False),
        [_IMAGE, (2, 3, 5, 2)],
    ),
    "replication": (lambda x: functional.pad(x, (2, 1, 0, 3), mode="replicate"), [_IMAGE]),
    "reflection": (lambda x: functional.pad(x, (2, 1, 0, 3), mode="reflect"), [_IMAGE]),
    "distances": (lambda x, y: torch.cdist(x, y, p=1.5), [(2, 4, 3), (5, 3)]),
    "distances of pairs": (lambda x: functional.pdist(x), [(5, 3)]),
    "systems of equations": (lambda a, b: torch.linalg.solve(a @ a.mT + torch.eye(4), b), [(2, 4, 4), (2, 4, 3)]),
    "solutions of factors": (
        lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a + 3 * torch.eye(4)), b),
        [(4, 4), (4, 2)],
    ),
    "logarithms of sigmoids": (functional.logsigmoid, [(4, 5)]),
    "bilinear products": (functional.bilinear, [(4, 3), (4, 5), (2, 3, 5)]),
    "quantized for training": (
        lambda x: torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.01), torch.tensor(3), -128, 127),
        [(8, 20)],
    ),
    "channels quantized for training": (
        lambda x: torch.fake_quantize_per_channel_affine(
            x, torch.tensor([0.01, 0.02, 0.005]), torch.tensor([0, 4, -3], dtype=torch.int32), 1, -128, 127
        ),
        [(8, 3, 20)],
    ),
    "slopes that are not drawn": (lambda x: functional.rrelu(x, 0.1, 0.4), [(4, 5)]),
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


_LEARNED = {
    "tensor": lambda x, s, z: torch._fake_quantize_learnable_per_tensor_affine(x, s[:1], z[:1], -8, 7, 0.5),
    "channel": lambda x, s, z: torch._fake_quantize_learnable_per_channel_affine(x, s, z, 1, -8, 7, 0.5),
}


@pytest.mark.parametrize("name", _LEARNED)
def test_gradients_of_learned_scales(name: str) -> None:
    torch._dynamo.reset()
    tensors = [torch.linspace(-3, 3, 480).reshape(8, 3, 20), torch.tensor([0.1, 0.2, 0.3]), torch.tensor([2.2, 0, 1])]
    options = {"fallback": "error"}
    found = gradients(torch.compile(_LEARNED[name], backend=torch_backend, fullgraph=True, options=options), tensors)
    torch.testing.assert_close(found, gradients(_LEARNED[name], tensors), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("flags", [(1, 1), (1, 0), (0, 1)])
def test_observed_scales(by_row: bool, symmetric: bool, flags: tuple[int, int]) -> None:
    """Compare fake quantization that also updates ranges, scales and zero points, in two steps."""
    torch.manual_seed(0)
    batches = [torch.randn(8, 20) + 0.3, 2 * torch.randn(8, 20)]

    def run(function: Callable[..., Any]) -> list[torch.Tensor]:
        torch._dynamo.reset()
        count = 8 if by_row else 1
        least, most = torch.full((count,), float("inf")), torch.full((count,), -float("inf"))
        if not flags[0]:
            least, most = -torch.ones(count), torch.ones(count)
        state = [least, most, torch.ones(count), torch.zeros(count, dtype=torch.int32)]
        made = []
        for batch in batches:
            given = batch.clone().requires_grad_()
            result = function(given, *(torch.tensor([flag]) for flag in flags), *state)
            made += [result, *torch.autograd.grad(result, given, batch), *(each.clone() for each in state)]
        return made

    def step(x: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        return torch.fused_moving_avg_obs_fake_quant(x, *rest, 0.1, -8, 7, 0, by_row, symmetric)

    options = {"fallback": "error"}
    found = run(torch.compile(step, backend=torch_backend, fullgraph=True, options=options))
    torch.testing.assert_close(found, run(step), rtol=1e-4, atol=1e-5)


def test_slopes_that_are_drawn_are_those_of_the_gradient() -> None:
    torch._dynamo.reset()
    x = torch.tensor([-2.0, -1, 0, 3]).requires_grad_()
    function = torch.compile(lambda x: functional.rrelu(x, 0.1, 0.4, training=True), backend=torch_backend)
    result = function(x)
    (slopes,) = torch.autograd.grad(result.sum(), x)
    torch.testing.assert_close(slopes * x, result)
    assert ((slopes[:2] >= 0.1) & (slopes[:2] <= 0.4)).all()
    assert slopes[0] != slopes[1] and slopes[3] == 1


def test_a_matrix_that_has_no_inverse_is_an_error() -> None:
    """Call the checking step, which has a token in place of a tensor."""
    torch._dynamo.reset()
    function = torch.compile(lambda x: torch.linalg.inv(x), backend=torch_backend, fullgraph=True)
    x = torch.zeros(3, 3).requires_grad_()
    with pytest.raises(AssertionError, match=r": linalg\.inv: a matrix is singular"):
        function(x)


@pytest.mark.parametrize(("mode", "scaled"), [("sum", False), ("sum", True), ("mean", False), ("max", False)])
def test_gradients_of_bags(mode: str, scaled: bool) -> None:
    """Differentiate bags with an empty last bag, whose maximum gets no gradient.

    The repeated element has the greatest index, since torch computes wrong frequencies for others on CPUs.
    """
    torch._dynamo.reset()
    places, offsets = torch.tensor([1, 5, 5, 2, 0]), torch.tensor([0, 3, 5])

    def bags(weight: torch.Tensor) -> torch.Tensor:
        return functional.embedding_bag(places, weight, offsets, mode=mode, scale_grad_by_freq=scaled)

    table = torch.randn(6, 3)
    torch.testing.assert_close(
        gradients(torch.compile(bags, backend=torch_backend, fullgraph=True), [table]), gradients(bags, [table])
    )
