# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export jax programs for four devices with their arguments and results: sharded_programs.py FOLDER."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, shard_map
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

MESH = Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))
RING = [(0, 1), (1, 0)]
random = np.random.default_rng(0)


def draw(*shape: int) -> Any:
    return random.standard_normal(shape, "float32")


def on(*axes: Any) -> NamedSharding:
    return NamedSharding(MESH, P(*axes))


def mapped(function: Any, inputs: Any, outputs: Any, **options: Any) -> Any:
    return jax.jit(shard_map(function, mesh=MESH, in_specs=inputs, out_specs=outputs, check_vma=False, **options))


def constrained(value: Any, *axes: Any) -> Any:
    return lax.with_sharding_constraint(value, on(*axes))


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) / 4, -1)
    return jnp.einsum("bhqk,bhkd->bhqd", scores, v)


def scanned(x: Any, w: Any) -> Any:
    return lax.scan(lambda carry, _: (jnp.tanh(carry @ w), None), x, None, length=3)[0]


def ring(x: Any) -> Any:
    def step(k: Any, state: Any) -> Any:
        return state[0] + state[1] * (k + 1), lax.ppermute(state[1], "x", RING)

    return lax.fori_loop(0, 2, step, (jnp.zeros_like(x), x))[0] + lax.axis_index("x")


def loop_of_maps(x: Any) -> Any:
    turn = mapped(lambda a: lax.ppermute(a, "x", RING), P("x"), P("x"))
    return lax.fori_loop(0, 3, lambda i, carry: turn(carry) + i, x)


def nested(a: Any) -> Any:
    inner = shard_map(lambda b: lax.psum(b, "y") * lax.axis_index("y"), in_specs=P(None, "y"), out_specs=P(None, "y"),
                      axis_names={"y"}, check_vma=False)  # fmt: skip
    return inner(a * lax.psum(a, "x"))


def loss(w: Any, x: Any) -> Any:
    layer = shard_map(lambda w, x: lax.psum(jnp.tanh(x @ w), "y"), mesh=MESH, in_specs=(P("y"), P("x", "y")),
                      out_specs=P("x"))  # fmt: skip
    return jnp.mean(layer(w, x) ** 2)


PRODUCT = mapped(lambda a, b: lax.psum(a @ b, "y"), (P("x", "y"), P("y")), P("x"))
X, W, V, Q = draw(16, 32), draw(32, 64), draw(64, 8), draw(4, 8, 16, 16)
#: Programs with their arguments: shardings of jax.jit, then jax.shard_map.
PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "layers": (jax.jit(lambda x, w, v: jnp.tanh(x @ w) @ v, in_shardings=(on("x"), on(None, "y"), on("y"))), (X, W, V)),
    "constraint": (jax.jit(lambda x: constrained(jnp.sin(x) * 2, "x", "y").sum(0)), (X,)),
    "gradient": (jax.jit(jax.grad(lambda w, x: jnp.mean(jnp.tanh(x @ w) ** 2)), in_shardings=(on(), on("x"))), (W, X)),
    "softmax": (jax.jit(jax.nn.softmax, in_shardings=on("x", "y"), out_shardings=on("y", "x")), (X,)),
    "attention": (jax.jit(attention, in_shardings=(on("x", "y"),) * 3), (Q, Q, Q)),
    "scan": (jax.jit(scanned, in_shardings=(on("x"), on(None, "y"))), (X, draw(32, 32))),
    "gather": (jax.jit(lambda t, i: t[i], in_shardings=(on("x"), on("y"))), (W, np.arange(8, dtype="int32"))),
    "sort": (jax.jit(lambda x: jnp.cumsum(jnp.sort(x, 0), 1), in_shardings=on(("x", "y"))), (X,)),
    "pad": (jax.jit(lambda x: jnp.pad(jnp.concatenate([x, x * 2]), 1), in_shardings=on("x")), (X,)),
    "uneven": (jax.jit(lambda x: constrained(x[:10] * 2, "x")), (X,)),
    "nested_jit": (jax.jit(lambda x: jax.jit(lambda a: constrained(a * 2, "y"))(x) + 1, in_shardings=on("x")), (X,)),
    "loop": (jax.jit(lambda x: lax.fori_loop(0, 3, lambda i, c: constrained(jnp.tanh(c) + i, "x"), x),
                     in_shardings=on("x")), (X,)),
    "psum": (mapped(lambda x: lax.psum(x * (1 + 2j), "x"), P("x"), P()), (X,)),
    "pmax": (mapped(lambda x: (lax.pmax(x.max(), ("x", "y")), lax.pmin(x.min(0), "x")), P("x", "y"), (P(), P("y"))),
             (X,)),
    "ppermute": (mapped(lambda x: lax.ppermute(x, "x", [(0, 1)]), P("x"), P("x")), (X,)),
    "all_gather": (mapped(lambda x: lax.all_gather(x > 0, ("y", "x"), axis=1), P("x"), P()), (X,)),
    "psum_scatter": (mapped(lambda x: lax.psum_scatter(x, "x", tiled=True), P(None, "y"), P("x", "y")), (X,)),
    "all_to_all": (mapped(lambda x: lax.all_to_all(x, "x", 1, 0, tiled=True), P("x"), P(None, "x")), (X,)),
    "all_to_all_along_one_axis": (mapped(lambda x: lax.all_to_all(x, "x", 1, 1, tiled=True), P("x"), P("x")), (X,)),
    "axis_index": (mapped(lambda x: x * (lax.axis_index("x") * 10 + lax.axis_index("y")), P("x", "y"), P("x", "y")),
                   (X,)),
    "one_axis_is_manual": (mapped(lambda x: jnp.tanh(lax.psum(x, "x")), P("x"), P(), axis_names={"x"}), (X,)),
    "mixed": (jax.jit(lambda x, w: jnp.sin(PRODUCT(x * 2, w)).sum(1), in_shardings=(on("x"), on())), (X, W)),
    "ring": (mapped(ring, P("x"), P("x")), (X,)),
    "loop_of_maps": (jax.jit(loop_of_maps, in_shardings=on("x")), (X,)),
    "nested_maps": (mapped(nested, P("x"), P("x"), axis_names={"x"}), (X,)),
    "gradient_of_a_map": (jax.jit(jax.grad(loss)), (W, X)),
}  # fmt: skip


def main(folder: Path) -> None:
    for name, (function, arguments) in PROGRAMS.items():
        exported = jax.export.export(function, platforms=["cpu"])(*arguments)
        (folder / f"{name}.mlir").write_text(exported.mlir_module())
        results = jax.tree.leaves(function(*arguments))
        named = {f"argument{index}": value for index, value in enumerate(arguments)}
        named |= {f"result{index}": value for index, value in enumerate(results)}
        np.savez(folder / f"{name}.npz", **named)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
