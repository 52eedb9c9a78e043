# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers: their ranges and their distributions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from imported import PEER, exported
from op_comparison import tensors_of
from relax_mlir_torch.operators import random_numbers
from torch import nn
from torch.nn import functional

COUNT = 20_000


def _drawn(function: Callable[..., object], x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the results of two calls, after a check of type and shape against torch."""
    run = PEER.compiled(PEER.imported(exported(function, (x,))))
    (first,), (second,), (wanted,) = (tensors_of(each) for each in (run([x]), run([x]), function(x)))
    assert first.dtype == second.dtype == wanted.dtype
    assert first.shape == second.shape == wanted.shape
    return first, second


@pytest.mark.parametrize(
    ("function", "mean", "deviation"),
    [
        (lambda x: torch.rand(COUNT), 0.5, 12**-0.5),
        (lambda x: torch.rand(COUNT, dtype=torch.float16), 0.5, 12**-0.5),
        (lambda x: torch.randn_like(x), 0, 1),
        (lambda x: torch.randint(-2, 3, (COUNT,)), 0, 2**0.5),
        (lambda x: torch.bernoulli(torch.full_like(x, 0.2)), 0.2, 0.4),
        (lambda x: torch.empty_like(x).uniform_(-1, 3), 1, 4 * 12**-0.5),
        (lambda x: torch.normal(x * 0 + 1, 2.0), 1, 2),
        (lambda x: torch.empty_like(x).exponential_(2.0), 0.5, 0.5),
        (lambda x: torch.empty_like(x).geometric_(0.5), 2, 2**0.5),
        (lambda x: functional.dropout(x * 0 + 1, 0.2), 1, 0.5),
        (lambda x: torch.multinomial(torch.tensor([0.25, 0.0, 0.75]), COUNT, True), 1.5, 0.75**0.5),
    ],
)
def test_distributions(function: Callable[..., object], mean: float, deviation: float) -> None:
    first, second = _drawn(function, torch.randn(COUNT))
    assert not torch.equal(first, second)
    for drawn in (first.double(), second.double()):
        assert drawn.mean().item() == pytest.approx(mean, abs=5 * deviation / COUNT**0.5)
        assert drawn.std().item() == pytest.approx(deviation, rel=0.1)


def test_ranges() -> None:
    halves, _ = _drawn(lambda x: torch.rand(COUNT, dtype=torch.bfloat16), torch.randn(2))
    assert halves.min() >= 0 and halves.max() < 1
    integers, _ = _drawn(lambda x: torch.randint(3, 6, (COUNT,)), torch.randn(2))
    assert integers.unique().tolist() == [3, 4, 5]


def test_each_once() -> None:
    order, _ = _drawn(lambda x: torch.randperm(50), torch.randn(2))
    assert sorted(order.tolist()) == list(range(50))
    chosen, _ = _drawn(lambda x: torch.multinomial(x, 4), torch.tensor([[1.0, 0.0, 2.0, 3.0, 4.0]] * 30))
    assert all(sorted(row) == [0, 2, 3, 4] for row in chosen.tolist())


def test_a_loaded_program_draws_the_same() -> None:
    x = torch.randn(2)
    program = exported(lambda x: torch.rand(100), (x,))
    first, second = (tensors_of(PEER.compiled(PEER.imported(program))([x]))[0] for _ in range(2))
    assert torch.equal(first, second)


def test_whole_channels_are_dropped() -> None:
    kept, _ = _drawn(lambda x: functional.dropout2d(x, 0.5), torch.ones(8, 8, 3, 3))
    assert sorted(kept.flatten(2).mean(2).unique().tolist()) == [0, 2]


class _AttentionLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inside, self.outside = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = self.inside(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
        rows = functional.scaled_dot_product_attention(*heads, is_causal=True)
        return x + self.outside(rows.transpose(1, 2).flatten(2))


@pytest.mark.parametrize("falls_back", [False, True])
def test_checkpoints_of_layers_with_attention(falls_back: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat attention, which may draw numbers, in programs or in eager mode between programs."""
    torch.manual_seed(0)
    layers, x = nn.ModuleList(_AttentionLayer() for _ in range(2)), torch.randn(2, 5, 8)

    def loss(x: torch.Tensor) -> torch.Tensor:
        for layer in layers:
            x = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
        return x.square().mean()

    if falls_back:

        def refuse(node: Any, *_: object) -> None:
            raise node.fail("refused by the test")

        monkeypatch.setattr(random_numbers, "_repeat_draw", refuse)
    wanted = torch.autograd.grad(loss(x), layers.parameters())
    options = {"fallback": "eager" if falls_back else "error"}
    compiled = torch.compile(loss, backend="relax_mlir", options=options)
    says = pytest.warns(UserWarning, match="refused by the test") if falls_back else contextlib.nullcontext()
    with says:
        ours = torch.autograd.grad(compiled(x), layers.parameters())
    for one, other in zip(ours, wanted, strict=True):
        torch.testing.assert_close(one, other)


def test_a_checkpoint_draws_the_same_again() -> None:
    """Repeat the forward step's draws in the backward step. Other calls draw other numbers."""

    def dropped(x: torch.Tensor) -> torch.Tensor:
        return torch.utils.checkpoint.checkpoint(lambda x: functional.dropout(torch.sin(x)), x, use_reentrant=False)

    step = torch.compile(dropped, backend="relax_mlir")
    kept = []
    for _ in range(2):
        x = torch.linspace(0.5, 1.5, 200, requires_grad=True)
        result = step(x)
        result.sum().backward()
        kept.append(result != 0)
        torch.testing.assert_close(x.grad, kept[-1] * 2 * torch.cos(x))
    assert 60 < kept[0].sum() < 140 and not torch.equal(*kept)


# ---- torch.compile: torch's generator ----


def _seeded(seed: int, function: Callable[..., torch.Tensor], *arguments: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(seed)
    return function(*arguments)


def _dropped(x: torch.Tensor) -> torch.Tensor:
    return functional.dropout(x, 0.5) + torch.rand(x.shape)


def _drawn_in_a_loop(x: torch.Tensor) -> torch.Tensor:
    step = lambda i, x: (i + 1, x + torch.rand(3))  # noqa: E731
    return torch._higher_order_ops.while_loop(lambda i, x: i < 5, step, (torch.tensor(0), x))[1]


@pytest.mark.parametrize("function", [_dropped, _drawn_in_a_loop])
def test_a_seed_determines_the_numbers(function: Callable[..., torch.Tensor]) -> None:
    torch._dynamo.reset()
    compiled, x = torch.compile(function, backend="relax_mlir"), torch.zeros(3)
    first = _seeded(1, compiled, x)
    assert not torch.equal(first, compiled(x))
    assert not torch.equal(first, _seeded(2, compiled, x))
    assert torch.equal(first, _seeded(1, compiled, x))


def test_the_generator_advances_and_its_state_is_kept() -> None:
    torch._dynamo.reset()
    compiled, x = torch.compile(_dropped, backend="relax_mlir"), torch.ones(100)
    compiled(x)
    state = torch.get_rng_state()
    first, second = compiled(x), torch.rand(3)
    assert not torch.equal(state, torch.get_rng_state())
    torch.set_rng_state(state)
    assert torch.equal(first, compiled(x)) and torch.equal(second, torch.rand(3))


def test_numbers_are_the_same_when_compiled_again() -> None:
    """Draw the same numbers after a compilation for other sizes, for dynamic sizes, and from scratch."""
    found = []
    for length in (100, 101):
        torch._dynamo.reset()
        compiled = torch.compile(functional.dropout, backend="relax_mlir")
        found += [_seeded(1, compiled, torch.ones(each))[:100] for each in (length, 110, 100)]
    assert all(torch.equal(each, found[0]) for each in found)


def test_without_draws_the_generator_stays() -> None:
    """Keep the generator's state: attention without dropout draws nothing, although its operator may."""
    torch._dynamo.reset()
    compiled, x = torch.compile(functional.scaled_dot_product_attention, backend="relax_mlir"), torch.randn(1, 2, 3, 4)
    compiled(x, x, x)
    state = torch.get_rng_state()
    compiled(x, x, x)
    assert torch.equal(state, torch.get_rng_state())


def test_a_seed_repeats_a_step_of_training() -> None:
    torch._dynamo.reset()
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 8))
    compiled, x = torch.compile(model, backend="relax_mlir"), torch.randn(4, 8)
    weight = model[0].weight
    grads = []
    for seed in (3, 3, 4):
        weight.grad = None
        _seeded(seed, compiled, x).sum().backward()
        grads.append(weight.grad)
    assert torch.equal(grads[0], grads[1]) and not torch.equal(grads[0], grads[2])
