# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training through torch.compile(backend="relax_mlir"): parameters and losses equal eager torch's."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch._dynamo.testing
from relax_mlir_torch.compile.torch_compile import torch_backend
from torch import nn
from torch.nn import functional

_STEPS = 20
_CLOSE = {"rtol": 1e-4, "atol": 1e-4}
Optimizer = Callable[[Any], torch.optim.Optimizer]
_OPTIMIZERS: dict[str, Optimizer] = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
    # Gradients that are 0 but for rounding, as of a key's bias, are not to become steps of the learning rate.
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=2e-3, eps=1e-5),
}


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


class Images(nn.Module):
    """Model with convolutions, batch normalization, a pool and a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=2)
        self.last_norm = nn.BatchNorm2d(8)
        self.classes = nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.max_pool2d(torch.relu(self.norm(self.first(x))), 3, 2, padding=1)
        x = x + torch.relu(self.last_norm(self.second(x)))
        return self.classes(functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Words(nn.Module):
    """Model with an embedding, causal attention, layer normalization and gelu."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        self.norm = nn.LayerNorm(32)
        self.heads = nn.Linear(32, 96)
        self.joined = nn.Linear(32, 32)
        self.mlp = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))
        self.words = nn.Linear(32, 50)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = self.embedding(x)
        batch, length, width = found.shape
        query, key, value = self.heads(self.norm(found)).reshape(batch, length, 3, 4, 8).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        found = found + self.joined(seen.transpose(1, 2).reshape(batch, length, width))
        return self.words(found + self.mlp(found))


def of_images(batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(batch, 3, 16, 16), torch.randint(0, 10, (batch,))


def of_words(batch: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(0, 50, (batch, 9)), torch.randint(0, 50, (batch, 9))


def loss_of(model: Any, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(model(x).flatten(0, -2), target.flatten())


def step(model: Any, optimizer: torch.optim.Optimizer, *batches: tuple[torch.Tensor, torch.Tensor]) -> float:
    """Make one step with the gradients of several batches, and return the sum of their losses."""
    optimizer.zero_grad()
    losses = [loss_of(model, *batch) for batch in batches]
    for loss in losses:
        loss.backward()
    optimizer.step()
    return sum(loss.item() for loss in losses)


def both(model: nn.Module, optimizer: str, **settings: Any) -> list[tuple[Any, torch.optim.Optimizer, nn.Module]]:
    """Return torch's model and its compiled copy, each with its optimizer."""
    own = copy.deepcopy(model)
    compiled = torch.compile(own, backend=torch_backend, **settings)
    return [
        (called, _OPTIMIZERS[optimizer](each for each in held.parameters() if each.requires_grad), held)
        for called, held in ((model, model), (compiled, own))
    ]


def same(one: nn.Module, other: nn.Module) -> None:
    """Compare parameters and buffers, such as running statistics."""
    torch.testing.assert_close(other.state_dict(), one.state_dict(), **_CLOSE)


@pytest.mark.parametrize("optimizer", _OPTIMIZERS)
@pytest.mark.parametrize(("model", "batch_of"), [(Images, of_images), (Words, of_words)])
def test_steps_are_those_of_torch(model: type[nn.Module], batch_of: Callable[..., Any], optimizer: str) -> None:
    eager, compiled = both(model(), optimizer)
    for _ in range(_STEPS):
        batch = batch_of(4)
        expected, found = (step(called, own, batch) for called, own, _ in (eager, compiled))
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)
    same(eager[2], compiled[2])


def test_batches_of_any_size_are_one_program() -> None:
    counter = torch._dynamo.testing.CompileCounterWithBackend(torch_backend)
    model = Images()
    own = copy.deepcopy(model)
    compiled = torch.compile(own, backend=counter, dynamic=True)
    optimizers = [_OPTIMIZERS["SGD"](each.parameters()) for each in (model, own)]
    frames = []
    for batch_size in (4, 6, 3, 9):
        batch = of_images(batch_size)
        step(model, optimizers[0], batch)
        step(compiled, optimizers[1], batch)
        frames.append(counter.frame_count)
    same(model, own)
    assert set(frames) == {frames[0]}


def test_sizes_that_are_made_of_several_go_to_the_backward_graph() -> None:
    """Save symbols of `arange`'s size for bags, neither of which is a tensor's size."""
    model = nn.EmbeddingBag(10, 4, mode="mean")
    compiled = torch.compile(model, backend=torch_backend, dynamic=True)
    for count in (5, 7):
        places = torch.randint(0, 10, (3, count))
        found, expected = (
            torch.autograd.grad(called(places).square().sum(), model.weight)[0] for called in (compiled, model)
        )
        torch.testing.assert_close(found, expected)


def test_gradients_add_up_over_batches() -> None:
    eager, compiled = both(Words(), "SGD")
    for _ in range(3):
        batches = [of_words(2), of_words(2)]
        for called, optimizer, _ in (eager, compiled):
            step(called, optimizer, *batches)
    same(eager[2], compiled[2])


def test_frozen_parameters_have_no_gradient() -> None:
    model = Images()
    model.first.requires_grad_(False)
    eager, compiled = both(model, "SGD")
    for _ in range(2):
        batch = of_images(4)
        for called, optimizer, _ in (eager, compiled):
            step(called, optimizer, batch)
    same(eager[2], compiled[2])
    assert compiled[2].first.weight.grad is None  # type: ignore[union-attr]


class Broken(nn.Module):
    """Model with a graph break in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(self.first(x))
        torch._dynamo.graph_break()
        return self.second(x).square().mean()


def test_graphs_with_a_break_between() -> None:
    model = Broken()
    own = copy.deepcopy(model)
    x = torch.randn(5, 6)
    model(x).backward()
    torch.compile(own, backend=torch_backend)(x).backward()
    gradients = [[each.grad for each in held.parameters()] for held in (model, own)]
    torch.testing.assert_close(gradients[1], gradients[0])


def test_threads_call_one_model() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)).eval()
    compiled = torch.compile(model, backend=torch_backend)
    given = [torch.randn(3, 8) for _ in range(4)]
    found: list[Any] = [None] * len(given)

    def work(index: int) -> None:
        with torch.no_grad():
            for _ in range(20):
                found[index] = compiled(given[index])

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(given))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with torch.no_grad():
        torch.testing.assert_close(found, [model(x) for x in given])


def test_tensors_go_in_and_out_without_copies() -> None:
    passed: list[tuple[Any, Any]] = []

    def watched(graph: Any, example_inputs: Any) -> Any:
        call = torch_backend(graph, example_inputs)

        def run(*arguments: Any) -> Any:
            results = call(*arguments)
            passed.append((arguments, results))
            return results

        return run

    x = torch.randn(64, 64)
    with torch.no_grad():
        y = torch.compile(lambda x: torch.sin(x) + 1, backend=watched)(x)
    (arguments, results) = passed[0]
    assert any(each.data_ptr() == x.data_ptr() for each in arguments)
    assert results[0].data_ptr() == y.data_ptr()


def test_parameters_that_change_between_calls_are_seen() -> None:
    model = nn.Linear(4, 3).eval()
    compiled = torch.compile(model, backend=torch_backend)
    x = torch.randn(2, 4)

    def agree() -> None:
        torch.testing.assert_close(compiled(x), model(x))

    with torch.no_grad():
        agree()
        model.weight += 1
        agree()
        model.load_state_dict({name: each * 2 for name, each in model.state_dict().items()})
        agree()
        model.bias.copy_(torch.ones(3))
        agree()
        model.bias = nn.Parameter(torch.zeros(3))
        agree()


def test_dropout_keeps_a_share() -> None:
    """Draw the kept elements in the program, with the same ones for the gradient."""
    compiled = torch.compile(nn.Dropout(0.25), backend=torch_backend)
    x = torch.ones(100, 100, requires_grad=True)
    y = compiled(x)
    y.sum().backward()
    assert y.unique().tolist() == pytest.approx([0, 4 / 3])
    assert (y == 0).float().mean().item() == pytest.approx(0.25, abs=0.03)
    torch.testing.assert_close(x.grad, y.detach())
    assert not torch.equal(compiled(x), y)


@pytest.mark.parametrize("option", ["opt_levle", "bind"])
def test_an_unknown_option_is_named(option: str) -> None:
    compiled = torch.compile(nn.Linear(2, 2), backend=torch_backend, options={option: 1})
    with pytest.raises(Exception, match=rf"torch\.compile\(backend='relax_mlir'\): no option '{option}'"):
        compiled(torch.ones(1, 2))
