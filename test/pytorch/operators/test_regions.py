# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions that torch.compiler.nested_compile_region compiles once and calls several times, with gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from relax_mlir_torch.compile.torch_compile import TorchProgram
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx

Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _step(function: Function, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return the results of a function, and the gradients of its inputs."""
    given = [each.detach().clone().requires_grad_(each.is_floating_point()) for each in inputs]
    found = function(*given)
    results = list(found) if isinstance(found, tuple) else [found]
    sum((each * each).sum() + each.sum() for each in results).backward()
    return [*results, *(each.grad for each in given if each.grad is not None)]


def _check(body: Function, program: Callable[[Function, Any], Function], dynamic: bool | None = False) -> None:
    """Compare a program that calls the region several times with eager mode: results, strides, and gradients."""
    torch.manual_seed(0)
    region = torch.compiler.nested_compile_region(body)
    inputs = [torch.randn(4, 8), *(torch.randn(8, 8) / 3 for _ in range(3))]
    compiled = torch.compile(program(region, inputs), backend="relax_mlir", dynamic=dynamic)
    found, wanted = _step(compiled, inputs), _step(program(body, inputs), inputs)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
        assert ours.stride() == theirs.stride()


def _in_turn(region: Function, _: object) -> Function:
    """Return a program that calls the region with each weight in turn."""

    def program(x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        for weight in weights:
            x = region(x, weight)
        return x

    return program


def _of_one_input(region: Function, _: object) -> Function:
    return lambda x, *weights: tuple(region(x, weight) for weight in weights)


_BODIES: dict[str, Function] = {
    "product": lambda x, w: x @ w,
    "linear": lambda x, w: nn.functional.linear(x, w, w[0]),
    "gelu": lambda x, w: nn.functional.gelu(x @ w),
    "norm": lambda x, w: nn.functional.layer_norm(x, (8,), w[0], w[1]),
    "product of itself": lambda x, w: (x * x) @ w.t(),
    "softmax": lambda x, w: torch.softmax(x @ w, -1) + x,
    "slices": lambda x, w: torch.cat([x[:, 4:] * w[0, :4], (x @ w)[:, :4]], 1),
    "transposed result": lambda x, w: (w.t() @ x.t()).t(),
    "attention": lambda x, w: nn.functional.scaled_dot_product_attention(x[None] @ w, x[None], x[None])[0],
}


@pytest.mark.parametrize("program", [_in_turn, _of_one_input])
@pytest.mark.parametrize("name", _BODIES)
def test_gradients_of_calls_of_one_region(name: str, program: Any) -> None:
    _check(_BODIES[name], program)


@pytest.mark.parametrize("name", ["linear", "gelu", "product"])
def test_dynamic_sizes(name: str) -> None:
    _check(_BODIES[name], _in_turn, dynamic=True)


def test_calls_with_slices_of_one_tensor() -> None:
    """Call the region with parts of one tensor, which begin at different places of its memory."""

    def program(region: Function, _: object) -> Function:
        return lambda x, a, b, c: sum(region(part, a) for part in (x[:2], x[1:3], x[2:]))

    _check(lambda x, w: torch.tanh(x @ w) * x, program)


def test_regions_in_regions() -> None:
    inner = torch.compiler.nested_compile_region(lambda x, w: torch.sin(x @ w))
    _check(lambda x, w: inner(x, w) + inner(x, w.t()), _in_turn)


def test_layers_of_a_module() -> None:
    torch.manual_seed(0)
    layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU()) for _ in range(3))
    embedding, head, words = nn.Embedding(9, 8), nn.Linear(8, 4), torch.randint(9, (2, 5))
    parameters = [*layers.parameters(), *embedding.parameters(), *head.parameters()]

    def run(call: Function) -> torch.Tensor:
        x = embedding(words)
        for layer in layers:
            x = call(layer, x)
        return head(x)

    region = torch.compiler.nested_compile_region(lambda layer, x: layer(x))
    wanted = torch.autograd.grad(run(lambda layer, x: layer(x)).square().mean(), parameters)
    found = torch.autograd.grad(torch.compile(lambda: run(region), backend="relax_mlir")().square().mean(), parameters)
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_results_without_gradients_are_of_their_own_call() -> None:
    """Compare values and aliasing of results that are views of arguments, or share memory."""
    region = torch.compiler.nested_compile_region(lambda x, y: (x.t().clone().t(), (z := x + y), z * 2))
    compiled = torch.compile(lambda x, y: (*region(x, y), *region(y, x + 1)), backend="relax_mlir")
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    wanted = [x, x + y, (x + y) * 2, y, y + x + 1, (y + x + 1) * 2]
    with torch.no_grad():
        for ours, theirs in zip(compiled(x, y), wanted, strict=True):
            torch.testing.assert_close(ours, theirs)


def _traced(function: Function, inputs: Sequence[torch.Tensor]) -> torch.fx.GraphModule:
    return make_fx(function, tracing_mode="fake")(*inputs)


def _check_graph(graph: torch.fx.GraphModule, function: Function, inputs: Sequence[torch.Tensor]) -> None:
    """Compare the program of a graph with eager mode."""
    program = TorchProgram(graph, {}, freezes=False, falls_back=False)
    for ours, theirs in zip(program(list(inputs)), function(*inputs), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (1,)])
@pytest.mark.parametrize("name", ["parts", "part before the whole"])
def test_results_of_calls_that_share_memory(name: str, order: Sequence[int]) -> None:
    """Call a subgraph with results that share memory. AOTAutograd makes such subgraphs, and Dynamo refuses them."""
    bodies: dict[str, Function] = {
        "parts": lambda x, y: ((z := x + y)[:2], z[2:]),
        "part before the whole": lambda x, y: ((z := x + y)[1:], z),
    }
    inputs = [torch.randn(4, 4), torch.randn(4, 4)]
    inner = _traced(bodies[name], inputs)

    def program(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        calls = [torch.ops.higher_order.invoke_subgraph(inner, "region", *given) for given in ((x, y), (y, x * 3))]
        return tuple(call[place] for call in calls for place in order)

    _check_graph(_traced(program, inputs), program, inputs)


def test_arguments_that_share_memory_while_tracing() -> None:
    """Trace with two parts of one tensor, and call with two tensors."""
    memory = torch.randn(4, 4)

    def program(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x + y, y.t(), y[1:], x[:1]

    graph = _traced(program, [memory[:2], memory[2:]])
    storages = {fx.meta["val"].untyped_storage()._cdata for fx in graph.graph.find_nodes(op="placeholder")}
    assert len(storages) == 1
    _check_graph(graph, program, [torch.randn(2, 4), torch.randn(2, 4)])
