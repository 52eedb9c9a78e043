# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes that torch.compile(backend="relax_mlir") cannot compile: eager mode between programs, or an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from relax_mlir.frontends.core.problems import Problem, Problems
from relax_mlir.passes.kernels.tir_use_tuned import UseTuned
from relax_mlir.support.errors import RelaxError
from relax_mlir_torch.compile import torch_compile
from relax_mlir_torch.program_main import AddedGraph


@torch.library.custom_op("fallback::scaled", mutates_args=())
def _scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    return torch.from_numpy(x.detach().numpy() * factor)


@torch.library.custom_op("fallback::increment", mutates_args=("x",))
def _increment(x: torch.Tensor) -> None:
    x.add_(1)


@torch.library.custom_op("fallback::pair", mutates_args=())
def _pair(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x + 1, x.t().contiguous()


def _keep_factor(ctx: Any, inputs: tuple[torch.Tensor, float], output: torch.Tensor) -> None:
    ctx.factor = inputs[1]


_scaled.register_fake(lambda x, factor: torch.empty_like(x))
_scaled.register_autograd(lambda ctx, arriving: (arriving * ctx.factor, None), setup_context=_keep_factor)
_pair.register_fake(lambda x: (torch.empty_like(x), x.new_empty(x.shape[::-1])))


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _in_the_middle(x: torch.Tensor) -> torch.Tensor:
    return _scaled(torch.relu(x) * 2, 3.0).sin() + x


def _changing(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x * 3
    _increment(y)
    return y * 2, y[1:]


def _with_a_list(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    first, second = _pair(x.cos())
    return first * 2, second + x.t(), second[0]


def _complex_determinants(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.slogdet(torch.complex(x, x + 1))[1] + x.shape[0]


def _with_data_in_sizes(x: torch.Tensor) -> torch.Tensor:
    places = (x > 0).nonzero()[:2]
    return _scaled(x[: places.shape[0]] * 2, 2.0) + places.shape[0]


def _drawing(x: torch.Tensor) -> torch.Tensor:
    return _scaled(torch.nn.functional.dropout(x, 0.0) * 2, 2.0)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("function", "named"),
    [
        (_in_the_middle, "fallback::scaled"),
        (_changing, "fallback::increment"),
        (_with_a_list, "fallback::pair"),
        (_complex_determinants, "aten::_linalg_slogdet"),
        (_with_data_in_sizes, "fallback::scaled"),
        (_drawing, "fallback::scaled"),
    ],
)
def test_the_rest_is_compiled(function: Callable[..., Any], named: str, dynamic: bool) -> None:
    x = torch.tensor([[1.0, -2, 3], [4, 5, -6], [7, 8, 10]])
    compiled = torch.compile(function, backend="relax_mlir", dynamic=dynamic)
    with pytest.warns(UserWarning, match=rf"1 of \d+ nodes run in eager mode[^$]*{named}"):
        found = compiled(x)
    torch.testing.assert_close(found, function(x))
    torch.testing.assert_close(compiled(x * 2), function(x * 2))


def test_a_refused_node_that_only_the_results_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the whole graph in eager mode if every part needs the node."""

    def refusing(module: Any, graph: Any, inputs: Any, results: Any, problems: Problems) -> AddedGraph:
        problems.add(Problem("permute", "aten::permute", None, "", "refused"))
        permuted = list(graph.graph.find_nodes(op="call_function", target=torch.ops.aten.permute.default))
        assert len(permuted) == 1
        return AddedGraph([], 0, permuted)

    monkeypatch.setattr(torch_compile, "add_graph", refusing)
    x = torch.arange(6.0).view(2, 3)
    with pytest.warns(UserWarning, match="2 of 2 nodes run in eager mode"):
        assert torch.equal(torch.compile(lambda x: x.t() * 2, backend="relax_mlir")(x), x.t() * 2)


def test_training() -> None:
    grads = []
    for function in (_in_the_middle, torch.compile(_in_the_middle, backend="relax_mlir")):
        x = torch.linspace(-1, 1, 12).view(3, 4).requires_grad_()
        if function is not _in_the_middle:
            with pytest.warns(UserWarning, match="fallback::scaled"):
                function(x).sum().backward()
        else:
            function(x).sum().backward()
        grads.append(x.grad)
    torch.testing.assert_close(*grads)


def test_parameters_are_still_constants() -> None:
    """Keep parameters constant in programs between eager nodes, with a recompilation after a change."""
    linear = torch.nn.Linear(3, 3)
    compiled = torch.compile(lambda x: _scaled(linear(x), 2.0), backend="relax_mlir")
    x = torch.randn(2, 3)
    with torch.no_grad():
        with pytest.warns(UserWarning, match="fallback::scaled"):
            torch.testing.assert_close(compiled(x), linear(x) * 2)
        linear.weight.add_(1)
        torch.testing.assert_close(compiled(x), linear(x) * 2)


@pytest.mark.parametrize("function", [torch.mm, torch.matmul, torch.nn.functional.linear])
def test_factors_of_two_types_are_eagers_error(function: Callable[..., Any]) -> None:
    compiled = torch.compile(function, backend="relax_mlir")
    with (
        pytest.warns(UserWarning, match="same element type, got f32 and i64"),
        pytest.raises(RuntimeError, match="dtype"),
    ):
        compiled(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.int64))


def test_an_error_on_request() -> None:
    compiled = torch.compile(_in_the_middle, backend="relax_mlir", options={"fallback": "error"})
    with pytest.raises(RelaxError, match=r"fallback::scaled.default .*no converter"):
        compiled(torch.ones(2, 2))


def test_an_unknown_choice_is_refused() -> None:
    compiled = torch.compile(torch.sin, backend="relax_mlir", options={"fallback": "eger"})
    with pytest.raises(Exception, match="fallback is 'eager' or 'error', got 'eger'"):
        compiled(torch.ones(2))


def test_plans_of_a_folder_are_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(UseTuned, "run", lambda step, module: asked.append(step.folder))
    x = torch.rand(8, 8)
    product = torch.compile(torch.mm, backend="relax_mlir", options={"tuned": tmp_path})
    torch.testing.assert_close(product(x, x), x @ x)
    assert asked == [str(tmp_path)]
    monkeypatch.undo()
    missing = torch.compile(torch.mm, backend="relax_mlir", options={"tuned": str(tmp_path / "missing")})
    with pytest.raises(Exception, match=r"tuned kernels in '.*missing' cannot be read"):
        missing(torch.ones(3, 3), torch.ones(3, 3))


def test_a_wrong_option_is_no_reason_to_run_in_eager_mode() -> None:
    compiled = torch.compile(torch.sin, backend="relax_mlir", options={"target": "nothing"})
    with pytest.raises(Exception, match="unknown target 'nothing'"):
        compiled(torch.ones(2))
