# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers in regions and in checkpoints: drawn again with each call, repeated in the backward step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from torch.nn import functional
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

Function = Callable[..., Any]
_checkpoint: Function = partial(checkpoint, use_reentrant=False)
_region = torch.compiler.nested_compile_region


@torch.library.custom_op("relax_random_regions::copy", mutates_args=())
def _copy(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


_copy.register_fake(torch.empty_like)
_copy.register_autograd(lambda ctx, given: given)


def _dropped(x: torch.Tensor) -> torch.Tensor:
    return functional.dropout(x, 0.5, True)


_dropped_in_a_region: Function = _region(_dropped)


def _twice(body: Function) -> Function:
    """Return a program that calls one region twice."""
    region = _region(body)
    return lambda x: (region(x), region(x))


class _Masked(torch.autograd.Function):
    """Product with a random mask, which the backward step reads."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        mask = (torch.rand_like(x) > 0.5).float()
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
        return given * ctx.saved_tensors[0]


def _saved(context: object, operator: object, *arguments: object, **named: object) -> CheckpointPolicy:
    is_product = operator == torch.ops.aten.mul.Tensor
    return CheckpointPolicy.MUST_SAVE if is_product else CheckpointPolicy.PREFER_RECOMPUTE


_selective: Function = partial(_checkpoint, context_fn=partial(create_selective_checkpoint_contexts, _saved))
#: Products of the argument with random numbers.
_PROGRAMS: dict[str, Function] = {
    "region": _twice(_dropped),
    "region with two masks": _twice(lambda x: _dropped(x) + _dropped(x)),
    "region of its own result": lambda x: _dropped_in_a_region(_dropped_in_a_region(x)),
    "region with a checkpoint": _twice(lambda x: _checkpoint(_dropped, x)),
    # torch's backend "aot_eager" draws anew in the backward step.
    "region in a checkpoint": lambda x: _checkpoint(lambda x: _dropped_in_a_region(_dropped_in_a_region(x)), x),
    "checkpoints of a region": lambda x: (_checkpoint(_dropped_in_a_region, x), _checkpoint(_dropped_in_a_region, x)),
    "region with a function": _twice(lambda x: _Masked.apply(x)),
    "checkpoints": lambda x: (_checkpoint(_dropped, x), _checkpoint(_dropped, x), _dropped(x)),
    "checkpoint of two masks": lambda x: _checkpoint(lambda x: (_dropped(x), _dropped(x)), x),
    "checkpoint in a checkpoint": lambda x: _checkpoint(lambda x: _checkpoint(_dropped, _dropped(x)), x),
    "selective checkpoint": lambda x: _selective(lambda x: _dropped(x * 2), x),
    "checkpoint of other numbers": lambda x: _checkpoint(
        lambda x: (x * torch.rand_like(x), x * torch.randn(x.shape), x * torch.randint(0, 3, x.shape)), x
    ),
    "checkpoint of an order": lambda x: _checkpoint(lambda x: x * torch.randperm(x.shape[1]), x),
    "checkpoint of a function": lambda x: _checkpoint(_Masked.apply, x),
    "scan": lambda x: torch._higher_order_ops.scan(lambda s, row: (s + 0, _dropped(row)), torch.zeros(1), x)[1],
}
#: Programs with an operator that runs in eager mode between draws.
_EAGER: dict[str, Function] = {
    "region": _twice(lambda x: _dropped(_copy(_dropped(x)))),
    "regions": lambda x: (region := _region(_dropped), first := region(x), region(_copy(first)))[1:],
    "checkpoint": lambda x: _checkpoint(lambda x: _dropped(_copy(_dropped(x))), x),
}


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _drawn(compiled: Function, seed: int, rows: int = 16) -> list[torch.Tensor]:
    """Return the random factors of each result, after a check that the gradient has the same factors."""
    generator = torch.Generator().manual_seed(0)
    x = (torch.rand(rows, 16, generator=generator) + 1).requires_grad_()
    torch.manual_seed(seed)
    found = compiled(x)
    results = list(found) if isinstance(found, tuple) else [found]
    weights = [torch.randn(each.shape, generator=generator) for each in results]
    sum((each * weight).sum() for each, weight in zip(results, weights, strict=True)).backward()  # type: ignore[union-attr]
    factors = [(each / x).detach() for each in results]
    torch.testing.assert_close(x.grad, sum(map(torch.mul, factors, weights)), rtol=1e-4, atol=1e-4)
    return factors


def _check(function: Function) -> None:
    compiled = torch.compile(function, backend="relax_mlir")
    first, again, other = (_drawn(compiled, seed) for seed in (0, 0, 1))
    assert all(map(torch.equal, first, again))
    distinct = [*first, *other]
    assert not any(torch.equal(one, two) for place, one in enumerate(distinct) for two in distinct[:place])


@pytest.mark.parametrize("name", _PROGRAMS)
def test_gradients_have_the_numbers_of_the_forward_step(name: str) -> None:
    _check(_PROGRAMS[name])


@pytest.mark.parametrize("name", _EAGER)
def test_operators_without_a_converter_between_draws(name: str) -> None:
    with pytest.warns(UserWarning, match="run in eager mode"):
        _check(_EAGER[name])


@pytest.mark.parametrize("name", ["region", "region with a checkpoint", "checkpoints"])
def test_dynamic_sizes(name: str) -> None:
    compiled = torch.compile(_PROGRAMS[name], backend="relax_mlir", dynamic=True)
    for rows in (5, 9, 16, 5):
        _drawn(compiled, 0, rows)
