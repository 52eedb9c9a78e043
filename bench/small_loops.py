# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of many small loops by rx.jit, beside jax.jit on XLA's CPU backend: samplers, solvers, filters.

    build/env-jax/bin/python bench/small_loops.py                  all programs
    build/env-jax/bin/python bench/small_loops.py rk nuts          named programs

Both run in one process on one CPU and take turns. Times are CPU time of the whole process: seconds from a Python
function to a program, without a cache and helper processes, and the median of milliseconds per call. Both compile
another program before, which imports the modules that they need.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

_CALLS, _ROUNDS = 20, 15


class Program(NamedTuple):
    """Function of jax, and its arguments."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def leapfrog() -> Program:
    """Return a scan of while loops with a data-dependent number of leapfrog steps."""
    import jax
    import jax.numpy as jnp

    grad = jax.grad(lambda x: 0.5 * (x @ x) + 0.1 * jnp.sum(x**4))

    def step(x: Any, key: Any) -> Any:
        first, second = jax.random.split(key)
        last = jax.lax.while_loop(
            lambda s: (s[2] < 12) & (s[1] @ s[1] > 0.05),
            lambda s: (s[0] + 0.1 * s[1], s[1] - 0.1 * grad(s[0]), s[2] + 1),
            (x, jax.random.normal(first, x.shape), 0),
        )
        return jnp.where(jax.random.uniform(second) < 0.9, last[0], x), last[2]

    def sample(x: Any, key: Any) -> Any:
        return jax.lax.scan(step, x, jax.random.split(jax.random.wrap_key_data(key), 100))

    return Program(sample, (jnp.ones(4), jnp.array([0, 3], "uint32")))


def kalman() -> Program:
    """Return nested scans over 3 x 3 matrices."""
    import jax
    import jax.numpy as jnp

    def smooth(a: Any, c: Any, q: Any, r: Any, series: Any) -> Any:
        def step(state: Any, y: Any) -> Any:
            mean, spread = state
            mean, spread = a @ mean, a @ spread @ a.T + q
            gain = spread @ c.T / (c @ spread @ c.T + r)[0, 0]
            mean = mean + gain[:, 0] * (y - (c @ mean)[0])
            return (mean, spread - gain @ c @ spread), mean

        def one(total: Any, y: Any) -> Any:
            (mean, _), means = jax.lax.scan(step, (jnp.zeros(3), jnp.eye(3)), y)
            return total + mean, means.sum(0)

        return jax.lax.scan(one, jnp.zeros(3), series)

    a = jnp.array([[1, 0.1, 0], [0, 1, 0.1], [0, 0, 0.9]], "float32")
    series = jnp.sin(jnp.arange(1000.0)).reshape(20, 50)
    return Program(smooth, (a, jnp.array([[1.0, 0, 0]]), jnp.eye(3) * 0.1, jnp.eye(1) * 0.5, series))


def newton() -> Program:
    """Return Newton's method with bisection as a fallback: a while loop with branches, for 200 numbers."""
    import jax
    import jax.numpy as jnp

    def solve(y: Any) -> Any:
        def function(x: Any) -> Any:
            return x**3 + x - y

        def body(state: Any) -> Any:
            low, high, x, count = state
            near = x - function(x) / jax.grad(function)(x)
            is_inside = (near > low) & (near < high) & (count % 3 != 2)
            x = jax.lax.cond(is_inside, lambda: near, lambda: (low + high) / 2)
            low, high = jax.lax.cond(function(x) > 0, lambda: (low, x), lambda: (x, high))
            return low, high, x, count + 1

        start = (-10.0, 10.0, 0.0, 0)
        return jax.lax.while_loop(lambda s: (jnp.abs(function(s[2])) > 1e-5) & (s[3] < 50), body, start)[2]

    return Program(lambda targets: jax.lax.map(solve, targets), (jnp.linspace(-5, 5, 200),))


def rk() -> Program:
    """Return a Runge-Kutta method of third order with adaptive steps."""
    import jax
    import jax.numpy as jnp

    def slope(y: Any) -> Any:
        return jnp.stack([1.5 * y[0] - y[0] * y[1], y[0] * y[1] - 3.0 * y[1]])

    def integrate(y: Any, end: Any) -> Any:
        def body(state: Any) -> Any:
            at, y, h, count = state
            k1 = slope(y)
            k2 = slope(y + h * k1 / 2)
            k3 = slope(y + h * k2 * 0.75)
            new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
            error = h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - slope(new) / 8)
            size = jnp.sqrt(jnp.mean((error / (1e-6 + 1e-3 * jnp.abs(new))) ** 2))
            at = jnp.where(size < 1, at + h, at)
            following = h * jnp.clip(0.9 * size ** (-1 / 3), 0.2, 5.0)
            return at, jnp.where(size < 1, new, y), jnp.minimum(following, end - at), count + 1

        def one(y: Any, _: Any) -> Any:
            start = (0.0, y, 0.01, 0)
            _, y, _, count = jax.lax.while_loop(lambda s: (s[0] < end - 1e-6) & (s[3] < 1000), body, start)
            return y, (y, count)

        return jax.lax.scan(one, y, None, length=10)

    return Program(integrate, (jnp.array([10.0, 5.0]), jnp.float32(2.0)))


def nuts() -> Program:
    """Return trajectories that double in a random direction until they turn: three nested loops."""
    import jax
    import jax.numpy as jnp

    def density(x: Any) -> Any:
        return -0.5 * jnp.sum(x**2 / jnp.arange(1.0, 6.0)) - 0.05 * jnp.sum(jnp.cos(x))

    def leap(state: Any, step: Any) -> Any:
        x, p = state
        p = p + step / 2 * jax.grad(density)(x)
        x = x + step * p
        return x, p + step / 2 * jax.grad(density)(x)

    def chosen(condition: Any, one: Any, other: Any) -> Any:
        return jax.tree.map(lambda a, b: jnp.where(condition, a, b), one, other)

    def double(state: Any) -> Any:
        left, right, x, weight, depth, _, key = state
        key, for_direction, for_steps = jax.random.split(key, 3)
        is_right = jax.random.bernoulli(for_direction)
        step = jnp.where(is_right, 0.1, -0.1)

        def inner(s: Any) -> Any:
            z, proposal, total, count, _, key = s
            key, own = jax.random.split(key)
            z = leap(z, step)
            here = density(z[0]) - 0.5 * z[1] @ z[1]
            total = jnp.logaddexp(total, here)
            proposal = jnp.where(jnp.log(jax.random.uniform(own)) < here - total, z[0], proposal)
            return z, proposal, total, count + 1, here > -1000.0, key

        start = (chosen(is_right, right, left), x, -jnp.inf, 0, True, for_steps)
        z, proposal, total, _, goes_on, _ = jax.lax.while_loop(lambda s: (s[3] < 2**depth) & s[4], inner, start)
        left, right = chosen(is_right, left, z), chosen(is_right, z, right)
        x = jnp.where(jnp.log(jax.random.uniform(for_direction)) < total - weight, proposal, x)
        across = right[0] - left[0]
        goes_on = goes_on & (across @ left[1] > 0) & (across @ right[1] > 0)
        return left, right, x, jnp.logaddexp(weight, total), depth + 1, goes_on, key

    def step(x: Any, key: Any) -> Any:
        first, second = jax.random.split(key)
        p = jax.random.normal(first, x.shape)
        start = ((x, p), (x, p), x, density(x) - 0.5 * p @ p, 0, True, second)
        last = jax.lax.while_loop(lambda s: (s[4] < 6) & s[5], double, start)
        return last[2], (last[2], last[4])

    def sample(x: Any, key: Any) -> Any:
        return jax.lax.scan(step, x, jax.random.split(jax.random.wrap_key_data(key), 100))

    return Program(sample, (jnp.ones(5), jnp.array([0, 3], "uint32")))


PROGRAMS = {each.__name__: each for each in (leapfrog, kalman, newton, rk, nuts)}


def _measured(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def _calls(functions: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the median milliseconds of a call of each function."""
    found: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(_ROUNDS):
        for name, function in functions.items():
            seconds, _ = _measured(lambda function=function: [function() for _ in range(_CALLS)])
            found[name].append(seconds / _CALLS * 1e3)
    return {name: statistics.median(each) for name, each in found.items()}


def _difference(ours: Any, theirs: Any) -> float:
    import jax
    import numpy

    pairs = zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True)
    return max(float(numpy.abs(numpy.asarray(one) - numpy.asarray(other)).max()) for one, other in pairs)


def row(name: str, program: Program) -> str:
    """Return a line of the table: a program compiled and called by both."""
    import jax

    import relax_mlir as rx

    function, arguments = program
    seconds, theirs = _measured(lambda: jax.jit(function).lower(*arguments).compile())
    ours = rx.jit(function)
    own, _ = _measured(lambda: ours.executable(*arguments))
    difference = _difference(ours(*arguments), theirs(*arguments))
    functions: dict[str, Callable[[], object]] = {
        "XLA": lambda: jax.block_until_ready(theirs(*arguments)),
        "relax": lambda: jax.block_until_ready(ours(*arguments)),
    }
    calls = _calls(functions)
    return (
        f"{name:<16} {seconds:9.2f} {own:9.2f} {own / seconds:7.2f} {calls['XLA']:9.3f} {calls['relax']:9.3f} "
        f"{calls['relax'] / calls['XLA']:7.2f} {difference:9.1e}"
    )


def _warm(x: Any) -> Any:
    """Use what the programs use, so that none of them pays for imports."""
    import jax
    import jax.numpy as jnp

    def body(i: Any, s: Any) -> Any:
        noise = jax.random.normal(jax.random.key(i), s.shape)
        s = jax.lax.cond(s.sum() > i, lambda: s @ jnp.eye(3) + noise, lambda: jnp.cos(s) ** 0.3)
        return s.at[i].set(s[0])

    return jax.lax.fori_loop(0, 3, body, x)


def warm_up() -> None:
    """Compile another program by both."""
    import jax

    import relax_mlir as rx

    for jit in (jax.jit, rx.jit):
        jit(_warm)(jax.numpy.ones(3))


def head() -> str:
    """Return the two lines above the table."""
    words = f"{'XLA':>9} {'relax':>9} {'ratio':>7}"
    return f"{'':16} {'compile s':^27} {'call ms':^27}\n{'':16} {words} {words} {'apart':>9}"


def main(names: list[str]) -> None:
    warm_up()
    print(head())
    for name in names or PROGRAMS:
        print(row(name, PROGRAMS[name]()), flush=True)


if __name__ == "__main__":
    # Before jax is imported, since it starts as many threads as there are CPUs.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"RELAX_MLIR_CACHE": folder, "JAX_PLATFORMS": "cpu"}
        main(sys.argv[1:])
