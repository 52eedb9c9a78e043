# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Higher-order operators in torch.compile: results, aliasing and gradients equal eager mode's.

Programs that torch's backend "aot_eager" refuses are left out: subgraphs that return views of their arguments,
and `while_loop` with a number as its counter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest
import torch
from torch._higher_order_ops import foreach_map, scan, while_loop
from torch._higher_order_ops import map as map_rows
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.wrap import wrap
from torch.utils import _pytree as pytree
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

Function = Callable[..., Any]
_cond, _region = torch.cond, torch.compiler.nested_compile_region
_checkpoint: Function = partial(checkpoint, use_reentrant=False)
_pairs: Function = partial(associative_scan, combine_mode="generic")
_zero = partial(torch.zeros, (), dtype=torch.int64)


class _Doubled(torch.autograd.Function):
    """Product with gradients that its operators do not have."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w)
        return (x @ w) * 2

    @staticmethod
    def backward(ctx: Any, given: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, w = ctx.saved_tensors
        return given @ w.t() * 3, x.t() @ given * 5


@torch.library.custom_op("relax_higher_order::add_to", mutates_args={"out"})
def _add_to(x: torch.Tensor, out: torch.Tensor) -> None:
    out.add_(x.sin())


@torch.library.custom_op("relax_higher_order::exponential", mutates_args=())
def _exponential(x: torch.Tensor) -> torch.Tensor:
    return x.exp()


_exponential.register_fake(torch.empty_like)
_exponential.register_autograd(
    lambda ctx, given: given * ctx.saved_tensors[0].exp(),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


def _saved(context: object, operator: object, *arguments: object, **named: object) -> CheckpointPolicy:
    is_product = operator == torch.ops.aten.mm.default
    return CheckpointPolicy.MUST_SAVE if is_product else CheckpointPolicy.PREFER_RECOMPUTE


def _twice(body: Function) -> Function:
    """Return a program that calls one region twice."""
    region = _region(body)
    return lambda x, w: (region(x, w), region(x * 2, w))


def _product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x @ w).tanh()


def _changed(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Change parts of a tensor by an operator without a converter."""
    y = x * 2
    torch.ops.relax_higher_order.add_to(w[1:], y[:-1])
    return y, y.t()


_LEAVES: Function = lambda s, r: ((s * r).tanh(), s + r)  # noqa: E731
_PROGRAMS: dict[str, Function] = {
    "cond": lambda x, w: _cond(x.sum() > 0, _product, torch.sub, (x, w)),
    "cond, an operand that one branch reads": lambda x, w: _cond(x.sum() > 0, lambda x, w: x * 2, _product, (x, w)),
    "cond with transposed results": lambda x, w: _cond(
        x.sum() > 0, lambda x, w: (x @ w).t(), lambda x, w: (x - w).t(), (x, w)
    ),
    "cond twice": lambda x, w: (
        _cond(x.sum() > 0, _product, torch.sub, (x, w)) + _cond(x.sum() < 0, _product, torch.sub, (w, x))
    ),
    "views of a cond's result": lambda x, w: ((y := _cond(x.sum() > 0, _product, torch.sub, (x, w))), y.t(), y[1:]),
    "while_loop": lambda x, w: while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, _product(y, w)), (_zero(), x))[1],
    "scan": lambda x, w: scan(_LEAVES, w[0], x),
    "scan in reverse": lambda x, w: scan(_LEAVES, w[0], x, reverse=True),
    "scan of overlapping parts": lambda x, w: scan(lambda s, r: ((s * r[0]).tanh(), s + r[1]), w[0], (x[1:], x[:-1])),
    "scan twice": lambda x, w: (*scan(_LEAVES, w[0], x), *scan(_LEAVES, w[1], x)),
    "associative_scan": lambda x, w: _pairs(torch.mul, x, 0),
    "associative_scan in reverse": lambda x, w: _pairs(torch.mul, x.t(), 1, reverse=True),
    "associative_scan of overlapping parts": lambda x, w: _pairs(
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x[1:], x[:-1]), 0
    ),
    "map": lambda x, w: map_rows(lambda row: (w @ row).sin(), x),
    "map with transposed results": lambda x, w: map_rows(lambda row: (row[None] * w).t(), x),
    "map in map": lambda x, w: map_rows(lambda row: map_rows(lambda other: other * row, w), x),
    "region with a cond": _twice(lambda x, w: _cond(x.sum() > 0, _product, torch.sub, (x, w))),
    "region with a scan": _twice(lambda x, w: scan(_LEAVES, w[0], x)[1]),
    "region with a checkpoint": _twice(lambda x, w: _checkpoint(_product, x, w)),
    "region with a function": _twice(lambda x, w: _Doubled.apply(x, w).sin()),
    "region with a saved view": _twice(lambda x, w: ((y := _product(x, w)).t() @ y).sin()),
    "checkpoint": lambda x, w: _checkpoint(lambda x, w: (_product(x, w).t(), (x * w[0])[1:]), x, w),
    "checkpoints of overlapping parts": lambda x, w: _checkpoint(lambda a, b: (a * b).exp(), x[1:], x[:-1]),
    "selective checkpoint": lambda x, w: _checkpoint(
        lambda x, w: _product(_product(x, w), w).exp(),
        x,
        w,
        context_fn=partial(create_selective_checkpoint_contexts, _saved),
    ),
    "function": lambda x, w: _Doubled.apply(x, w) + _Doubled.apply(x * 2, w.t()),
    "function in a cond": lambda x, w: _cond(x.sum() > 0, lambda x, w: _Doubled.apply(x, w), torch.sub, (x, w)),
    "wrap": lambda x, w: wrap(_product, x, w),
    "wrap with views": lambda x, w: wrap(lambda x, w: ((y := x @ w), y.t()), x, w),
    "cond of parts": lambda x, w: _cond(x.sum() > 0, torch.mul, torch.sub, (x[1:], w[:-1])),
    "cond with several results": lambda x, w: _cond(
        x.sum() > 0, lambda x, w: (x @ w, x * 2), lambda x, w: (x - w, w * 3), (x, w)
    ),
    "cond in a cond": lambda x, w: _cond(
        x.sum() > 0, lambda x, w: _cond(w.sum() > 0, torch.mul, torch.add, (x, w)), torch.sub, (x, w)
    ),
    "cond of free variables": lambda x, w: _cond(x.sum() > 0, lambda: x @ w, lambda: x - w, ()),
    "scan of columns": lambda x, w: scan(_LEAVES, w[0], x, dim=1),
    "associative_scan of a tree": lambda x, w: tuple(
        _pairs(lambda a, b: {"x": a["x"] * b["x"], "w": a["w"] + b["w"]}, {"x": x, "w": w}, 0).values()
    ),
    "map of two": lambda x, w: map_rows(lambda rows: (rows[0] * rows[1], rows[0] + rows[1]), (x, w)),
    "while_loop on data": lambda x, w: while_loop(lambda y: y.abs().sum() > 1, lambda y: (y * 0.5,), (x,))[0],
    "region of parts": lambda x, w: (region := _region(_product), region(x[:2], w), region(x[1:3], w))[1:],
    "region of one tensor twice": lambda x, w: (region := _region(_product), region(x, x), region(x.t(), w))[1:],
    "views of a region's result": lambda x, w: (
        region := _region(_product), y := region(x, w), y.t(), y.view(-1), region(y.t(), w)
    )[1:],
    "region in a map": lambda x, w: (region := _region(_product), map_rows(lambda row: region(row, w), x))[1],
    "region in a while_loop": lambda x, w: (
        region := _region(_product),
        while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, region(y, w)), (_zero(), x))[1],
    )[1],
    "region in a checkpoint": lambda x, w: (
        region := _region(_product), _checkpoint(lambda x, w: region(region(x, w), w), x, w)
    )[1],
}  # fmt: skip
#: Programs that read a size, or call one region with several sizes.
_SIZES: dict[str, Function] = {
    "cond on a size": lambda x, w: _cond(x.shape[0] > 5, torch.mul, torch.sub, (x, w)),
    "region that reads a size": _twice(lambda x, w: (x * w * x.shape[0]).view(-1)),
    "region of several sizes": lambda x, w: (
        region := _region(_product), region(x, w), region(x[:-1], w), region(x[:3], w)
    )[1:],
    "checkpoint that reads a size": lambda x, w: _checkpoint(lambda x, w: (x @ w).view(-1).sin() * x.shape[0], x, w),
}  # fmt: skip
#: Programs with an operator that runs in eager mode.
_EAGER: dict[str, Function] = {
    "custom operator": lambda x, w: _exponential(_product(x, w)),
    "region": _twice(lambda x, w: _exponential(_product(x, w))),
    "cond": lambda x, w: _cond(x.sum() > 0, lambda x, w: _exponential(x @ w), torch.sub, (x, w)),
    "scan": lambda x, w: scan(lambda s, r: (_exponential((s * r).tanh()), s + r), w[0], x),
    "map": lambda x, w: map_rows(lambda row: _exponential(row.tanh()), x),
    "checkpoint": lambda x, w: _checkpoint(lambda x, w: _exponential(_product(x, w)).sin(), x, w),
    "between regions": lambda x, w: (
        region := _region(_product), first := region(x, w), first.t(), region(_exponential(first), w)
    )[1:],
    "between a cond and a cond": lambda x, w: _cond(
        x.sum() > 0, _product, torch.sub, (_exponential(_cond(x.sum() > 0, _product, torch.sub, (x, w))), w)
    ),
    "before a scan": lambda x, w: scan(_LEAVES, _exponential(w)[0], x),
    "before a map": lambda x, w: map_rows(lambda row: (w @ row).sin(), _exponential(x)),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _step(function: Function, is_training: bool, size: int = 4) -> list[Any]:
    """Return the results of a function, which of them share memory, and the gradients of its inputs."""
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(size, size, generator=generator).requires_grad_(is_training) for _ in range(2)]
    found = function(*inputs)
    results: Sequence[torch.Tensor] = list(found) if isinstance(found, (tuple, list)) else [found]
    if is_training:
        sum(each.square().sum() + each.sum() for each in results).backward()  # type: ignore[union-attr]
    starts = [each.untyped_storage().data_ptr() for each in (*results, *inputs)]
    return [*results, [[one == other for one in starts] for other in starts], *(each.grad for each in inputs)]


def _check(function: Function, is_training: bool) -> None:
    found = _step(torch.compile(function, backend="relax_mlir"), is_training)
    torch.testing.assert_close(found, _step(function, is_training), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", _PROGRAMS)
def test_results_equal_eager_mode(name: str) -> None:
    _check(_PROGRAMS[name], is_training=True)


def _check_sizes(function: Function) -> None:
    compiled = torch.compile(function, backend="relax_mlir", dynamic=True)
    for size in (4, 7, 5):
        torch.testing.assert_close(_step(compiled, True, size), _step(function, True, size), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", [each for each in (*_PROGRAMS, *_SIZES) if each != "cond with transposed results"])
def test_dynamic_sizes(name: str) -> None:
    """Run programs for several sizes. torch refuses a cond with transposed results of dynamic sizes."""
    _check_sizes({**_PROGRAMS, **_SIZES}[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["between regions", "cond", "before a scan", "before a map"])
def test_dynamic_sizes_with_operators_without_a_converter(name: str) -> None:
    with pytest.warns(UserWarning, match="run in eager mode"):
        _check_sizes(_EAGER[name])


@pytest.mark.parametrize("name", _EAGER)
def test_operators_without_a_converter(name: str) -> None:
    """Run an operator in eager mode, also inside a subgraph."""
    with pytest.warns(UserWarning, match="run in eager mode"):
        _check(_EAGER[name], is_training=True)


def test_operators_without_a_converter_or_gradients() -> None:
    with pytest.warns(UserWarning, match="run in eager mode"):
        _check(_changed, is_training=False)


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x, w: foreach_map(torch.add, [x, w], [x + 1, w]), lambda x, w: (x + (x + 1), w * 2)),
        (lambda x, w: foreach_map(lambda a, b: (a @ b, a - b), [x, x], [x, w]),
         lambda x, w: (x @ x, x - x, x @ w, x - w)),
    ],
)  # fmt: skip
def test_functions_of_lists(function: Function, wanted: Function) -> None:
    """Compare foreach_map, which has no gradients in eager mode, with calls for each tensor."""
    compiled = torch.compile(function, backend="relax_mlir", options={"fallback": "error"})
    found = _step(lambda x, w: pytree.tree_leaves(compiled(x, w)), is_training=True)
    torch.testing.assert_close(found, _step(wanted, is_training=True), rtol=1e-4, atol=1e-4)
