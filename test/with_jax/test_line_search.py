# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Step along the gradient with a length from a zoom line search, as in optax.lbfgs: loops in branches of a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import relax_mlir as rx

_MOST_STEPS = 20
# With four parameters, control flow has about 800 blocks.
_NAMES = "abcd"


class Step(NamedTuple):
    size: Any
    point: Any
    value: Any
    slope: Any


class Search(NamedTuple):
    count: Any
    low: Step
    high: Step
    best: Step
    is_done: Any

    def goes_on(self) -> Any:
        return ~self.is_done & (self.count < _MOST_STEPS)


def minimize(function: Callable[..., Any], start: Any) -> Step:
    """Return the best step of a search that doubles the step, then halves the interval around the minimum."""
    direction = jax.grad(function)(start)

    def at(size: Any) -> Step:
        point = jax.tree.map(lambda a, d: a - size * d, start, direction)
        return Step(size, point, function(point), jax.grad(function)(point))

    def better(new: Step, best: Step) -> Step:
        return lax.cond(new.value < best.value, lambda: new, lambda: best)

    def zoom(search: Search) -> Search:
        count, low, high, best, _ = search
        new = at(0.5 * (low.size + high.size))
        is_high = new.value > low.value
        high = lax.cond(is_high, lambda: new, lambda: lax.cond(new.value < best.value, lambda: low, lambda: high))
        low = lax.cond(is_high, lambda: low, lambda: new)
        return Search(count + 1, low, high, better(new, best), jnp.abs(low.size - high.size) < 1e-3)

    def bracket(search: Search) -> Search:
        count, low, high, best, is_done = search
        new = at(high.size * 2)
        found = Search(count, low, new, best, is_done)
        inside = lambda: lax.while_loop(Search.goes_on, zoom, found)  # noqa: E731
        onwards = lambda: Search(count + 1, high, new, better(new, best), is_done)  # noqa: E731
        return lax.cond(new.value > high.value, inside, onwards)

    first, second = at(jnp.float32(0.0)), at(jnp.float32(0.1))
    search = Search(jnp.int32(0), first, second, first, jnp.bool_(False))
    return lax.while_loop(Search.goes_on, bracket, search).best


def test_a_line_search_compiles_and_agrees_with_jax() -> None:
    def step(point: Any) -> Any:
        return minimize(lambda p: sum((p[name] - place) ** 4 for place, name in enumerate(_NAMES)), point)

    start = {name: jnp.float32(1.5) for name in _NAMES}
    got, wanted = rx.jit(step, opt_level=0)(start), jax.jit(step)(start)
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-5), got, wanted)
