# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of jax's libraries by rx.jit, beside jax.jit on XLA's CPU backend: solvers, samplers, physics.

    pip install --target packages --no-deps diffrax equinox optimistix ...
    PYTHONPATH=packages build/env-jax/bin/python bench/jax_libraries.py              all programs
    PYTHONPATH=packages build/env-jax/bin/python bench/jax_libraries.py brax         named programs

Programs of libraries that are not installed are left out. Times are measured as in small_loops.py. XLA's time includes
tracing; relax-mlir finds some traces in jax's cache.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from small_loops import Program, head, row, warm_up

_MODEL = """<mujoco><worldbody><geom type='plane' size='5 5 .1'/>
<body pos='0 0 1'><joint type='free'/><geom type='sphere' size='.1'/></body>
<body pos='0 0 .6'><joint type='hinge' axis='0 1 0'/><geom type='capsule' size='.03 .2'/></body>
</worldbody></mujoco>"""


def diffrax_tsit5() -> Program:
    """Return an explicit solver with adaptive steps and dense output."""
    import diffrax
    import jax.numpy as jnp

    def solve(y: Any) -> Any:
        term = diffrax.ODETerm(lambda t, y, _: jnp.stack([1.5 * y[0] - y[0] * y[1], y[0] * y[1] - 3.0 * y[1]]))
        steps = diffrax.PIDController(rtol=1e-5, atol=1e-5)
        kept = diffrax.SaveAt(ts=jnp.linspace(0, 10, 20))
        found = diffrax.diffeqsolve(
            term, diffrax.Tsit5(), t0=0.0, t1=10.0, dt0=0.01, y0=y, stepsize_controller=steps, saveat=kept
        )
        return found.ys

    return Program(solve, (jnp.array([10.0, 5.0]),))


def diffrax_kvaerno3() -> Program:
    """Return an implicit solver of a stiff system: Newton's method in each step."""
    import diffrax
    import jax.numpy as jnp

    def slope(_: Any, y: Any, __: Any) -> Any:
        a, b = 0.04 * y[0] - 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return jnp.stack([-a, a - b, b])

    def solve(y: Any) -> Any:
        term, steps = diffrax.ODETerm(slope), diffrax.PIDController(rtol=1e-3, atol=1e-5)
        return diffrax.diffeqsolve(
            term, diffrax.Kvaerno3(), t0=0.0, t1=10.0, dt0=0.0002, y0=y, stepsize_controller=steps
        ).ys

    return Program(solve, (jnp.array([1.0, 0, 0]),))


def optimistix() -> Program:
    """Return least squares by Levenberg and Marquardt."""
    import jax.numpy as jnp
    import optimistix

    def residuals(y: Any, _: Any) -> Any:
        return jnp.stack([10 * (y[1] - y[0] ** 2), 1 - y[0]])

    solver = optimistix.LevenbergMarquardt(1e-6, 1e-6)
    return Program(lambda y: optimistix.least_squares(residuals, solver, y).value, (jnp.array([-1.2, 1.0]),))


def blackjax() -> Program:
    """Return 50 steps of the sampler NUTS."""
    import blackjax
    import jax
    import jax.numpy as jnp

    kernel = blackjax.nuts(
        lambda x: -0.5 * jnp.sum(x**2 / jnp.arange(1.0, 6.0)), step_size=0.3, inverse_mass_matrix=jnp.ones(5)
    )

    def step(state: Any, key: Any) -> Any:
        state, info = kernel.step(key, state)
        return state, (state.position, info.num_integration_steps)

    def sample(x: Any, key: Any) -> Any:
        return jax.lax.scan(step, kernel.init(x), jax.random.split(jax.random.wrap_key_data(key), 50))[1]

    return Program(sample, (jnp.ones(5), jnp.array([0, 3], "uint32")))


def optax_lbfgs() -> Program:
    """Return 20 steps of L-BFGS, each with a line search."""
    import jax
    import jax.numpy as jnp
    import optax

    def loss(x: Any) -> Any:
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    optimizer, value_and_grad = optax.lbfgs(), optax.value_and_grad_from_state(loss)

    def step(carried: Any, _: Any) -> Any:
        x, state = carried
        value, grad = value_and_grad(x, state=state)
        update, state = optimizer.update(grad, state, x, value=value, grad=grad, value_fn=loss)
        return (optax.apply_updates(x, update), state), value

    return Program(lambda x: jax.lax.scan(step, (x, optimizer.init(x)), None, length=20)[1], (jnp.zeros(4),))


def brax() -> Program:
    """Return 20 steps of an inverted pendulum."""
    import jax
    import jax.numpy as jnp
    from brax import envs

    environment = envs.get_environment("inverted_pendulum", backend="positional")

    def step(state: Any, action: Any) -> Any:
        state = environment.step(state, action)
        return state, (state.obs, state.reward)

    def simulate(key: Any, actions: Any) -> Any:
        return jax.lax.scan(step, environment.reset(jax.random.wrap_key_data(key)), actions)[1]

    return Program(simulate, (jnp.array([0, 3], "uint32"), jnp.sin(jnp.arange(20.0))[:, None]))


def mjx() -> Program:
    """Return 10 steps of two bodies above a plane."""
    import jax
    import jax.numpy as jnp
    import mujoco
    from mujoco import mjx

    model = mjx.put_model(mujoco.MjModel.from_xml_string(_MODEL))

    def step(data: Any, _: Any) -> Any:
        data = mjx.step(model, data)
        return data, data.qpos

    def simulate(velocity: Any) -> Any:
        return jax.lax.scan(step, mjx.make_data(model).replace(qvel=velocity), None, length=10)[1]

    return Program(simulate, (jnp.zeros(model.nv).at[0].set(0.1),))


PROGRAMS: dict[str, Callable[[], Program]] = {
    each.__name__: each for each in (diffrax_tsit5, diffrax_kvaerno3, optimistix, blackjax, optax_lbfgs, brax, mjx)
}


def main(names: list[str]) -> None:
    warm_up()
    print(head())
    for name in names or PROGRAMS:
        try:
            program = PROGRAMS[name]()
        except ImportError as error:
            print(f"{name:<16} left out: {error}")
            continue
        print(row(name, program), flush=True)


if __name__ == "__main__":
    # Before jax is imported, since it starts as many threads as there are CPUs.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"RELAX_MLIR_CACHE": folder, "JAX_PLATFORMS": "cpu"}
        main(sys.argv[1:])
