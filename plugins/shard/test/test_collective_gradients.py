# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of collectives and of sharded models, on 2 and 3 ranks."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir_shard import exchanges
from relax_mlir_shard.collectives import KINDS, ccl
from relax_mlir_shard.launch import join_parts, part_of_rank, plan_of
from relax_mlir_shard.mesh import Mesh
from test_collectives import on_ranks

SUM = {"kind": "sum"}
COLLECTIVES: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    *(("all_reduce", (2, 3), {"kind": kind}) for kind in KINDS),
    *(("reduce_scatter", (2, 6), {"kind": kind, "axis": 1}) for kind in KINDS),
    ("reduce_scatter", (5,), {"axis": -1, **SUM}),
    ("all_gather", (2, 3), {"axis": 1, "size": -1}),
    ("all_gather", (2, 2), {"axis": 0, "size": 3}),
    ("all_to_all", (6, 2), {"split_axis": 0, "concat_axis": 1, "size": -1}),
    ("all_to_all", (2, 5), {"split_axis": 1, "concat_axis": 0, "size": 3}),
    ("permute", (3,), {"pairs": [1, 0, 0, 1]}),
    ("permute", (1,), {"pairs": [1, 0, 1, 1]}),
    ("broadcast", (2, 2), {"root": 1}),
    ("broadcast", (), {"root": 0}),
    *(("part", (size,), {"axis": 0}) for size in range(1, 8)),
]


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize(("name", "shape", "options"), COLLECTIVES)
def test_gradients_are_differences(name: str, shape: tuple[int, ...], options: dict[str, Any], ranks: int) -> None:
    """Compare with differences of the sum of all ranks' results. They are exact: no kind is curved in one element."""
    if name != "permute":
        options = {"groups": list(range(ranks))[::-1], "group_size": ranks, **options}
    generator = numpy.random.default_rng(0)
    count = numpy.prod(shape, dtype=int)
    x = [numpy.asarray((generator.permutation(count) + 1).reshape(shape) * (1 + 2 * rank) / 8) for rank in range(ranks)]
    y = on_ranks(lambda part: exchanges.run(name, part, options), x)
    weights = [generator.integers(-4, 5, part.shape).astype("float64") for part in y]

    def total(inputs: Any) -> float:
        parts = on_ranks(lambda part: exchanges.run(name, part, options), inputs)
        return sum(float((part * weight).sum()) for part, weight in zip(parts, weights, strict=True))

    expected = [numpy.zeros(shape) for _ in x]
    for rank in range(ranks):
        for place in numpy.ndindex(*shape):
            high, low = ([part.copy() for part in x] for _ in range(2))
            high[rank][place] += 2.0**-6
            low[rank][place] -= 2.0**-6
            expected[rank][place] = (total(high) - total(low)) * 2.0**5
    module = rx.Module()
    signature = {"x": rx.tensor(shape, "float64"), "w": rx.tensor(y[0].shape, "float64")}
    with module.function("main", signature) as f:
        f.returns(relax.sum(relax.multiply(ccl.ops[name](f.args[0], **options), f.args[1])))
    program = rx.compile(rx.grad(module, wrt=["x"]))
    found = on_ranks(lambda pair: program["main_adjoint"](*pair)[1], list(zip(x, weights, strict=True)))
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def loss() -> rx.Module:
    """Return the loss of two layers, times an argument."""
    module, shapes = rx.Module(), {"x": (6, 5), "w1": (5, 12), "b": (12,), "w2": (12, 4), "seed": ()}
    with module.function("main", {name: rx.tensor(shape) for name, shape in shapes.items()}) as f:
        x, w1, b, w2, seed = f
        hidden = relax.nn.gelu(relax.add(relax.matmul(x, w1), b))
        scores = relax.nn.softmax(relax.matmul(relax.nn.rms_norm(hidden, b), w2))
        f.returns(relax.multiply(relax.mean(relax.square(scores)), seed))
    return module


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize(
    ("specs", "sums", "exact"),
    [
        ({"x": ("a", None)}, "same", {"x"}),
        ({"w1": (None, "a"), "w2": (None, "a")}, "same", {"w2"}),
        ({"w1": (None, "a"), "b": ("a",), "w2": ("a", None)}, "split", set()),
        ({"w1": ("a", None), "b": ("a",)}, "same", {"w1", "b", "w2"}),
    ],
)
def test_a_sharded_module_is_differentiated(specs: Any, sums: str, exact: set[str], ranks: int) -> None:
    """Differentiate the program of a rank, and compare bits where no rank has a part of a gradient's sums.

    Only the loss of rank 0 counts, so an argument that all ranks have gets the sum of the ranks' gradients.
    """
    generator, names = numpy.random.default_rng(2), ["x", "w1", "b", "w2"]
    inputs = [generator.standard_normal(shape, "float32") for shape in ((6, 5), (5, 12), (12,), (12, 4))]
    whole = rx.compile(rx.grad(loss(), wrt=names))
    expected = [to_numpy(value) for value in whole["main_adjoint"](*inputs, numpy.float32(1))][1:]
    program = rx.compile(rx.grad(rx.shard(loss(), {"a": ranks}, specs, sums=sums), wrt=names))
    mesh = Mesh.from_sizes({"a": ranks})
    shardings = [entry["sharding"] for entry in plan_of(program)["arguments"]][: len(names)]

    def adjoint(rank: int) -> Any:
        parts = [part_of_rank(value, *at, mesh, rank) for value, *at in zip(inputs, shardings, strict=True)]
        gradients = program["main_adjoint"](*parts, numpy.float32(rank == 0))[1:]
        return numpy.concatenate([to_numpy(value).ravel() for value in gradients])

    rows = numpy.stack(on_ranks(adjoint, range(ranks)))
    for name, value, sharding, shape in zip(names, expected, shardings, (x.shape for x in inputs), strict=True):
        local = part_of_rank(value, sharding, mesh, 0).shape
        parts, rows = [row.reshape(local) for row in rows[:, : numpy.prod(local)]], rows[:, numpy.prod(local) :]
        gradient = join_parts(parts, sharding, mesh, shape) if any(sharding) else sum(parts)
        numpy.testing.assert_allclose(gradient, value, rtol=1e-5, atol=0 if name in exact else 1e-7)
        assert name not in exact or (gradient == value).all(), name


def squared(x: Any, y: Any) -> Any:
    """Return a norm. Its gradient squares tanh(x) twice: one process computes it once, and rounds it."""
    return relax.nn.rms_norm(relax.tanh(x), relax.squeeze(relax.strided_slice(y, axes=[0], begin=[0], end=[1])))


@pytest.mark.parametrize(
    ("build", "function", "specs"),
    [
        (lambda x, y: relax.sum(relax.multiply(x, y), axis=[0]), "main", {"x": ("a", None)}),
        (lambda x, y: relax.sum(relax.nn.gelu(x), axis=[1]), "main", {"x": (None, "a"), "y": ("a", None)}),
        (
            lambda x, y: relax.sum(relax.permute_dims(relax.multiply(x, y), axes=[1, 0]), axis=[1]),
            "main",
            {"y": ("a", None)},
        ),
        (
            lambda x, y: relax.matmul(relax.reshape(x, (2, 80)), relax.reshape(y, (80, 2))),
            "main",
            {"result": (None, "a")},
        ),
        (lambda x, y: relax.sum(relax.square(squared(x, y))), "main_adjoint", {"y": (None, "a")}),
    ],
)
def test_sums_of_products_have_the_bits_of_one_process(build: Any, function: str, specs: Any) -> None:
    """Compare bits: one process adds by fused multiply-add, and no collective may come between."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4, 40)), "y": rx.tensor((4, 40))}) as f:
        f.returns(build(*f))
    generator = numpy.random.default_rng(3)
    inputs = [generator.standard_normal((4, 40), "float32") for _ in range(2)]
    whole = rx.grad(module, wrt=["x"]) if function == "main_adjoint" else module
    expected = rx.compile(whole)[function](*inputs)
    with rx.launch(rx.compile(rx.shard(whole, {"a": 2}, specs, function=function)), timeout=30) as ranks:
        found = ranks[function](*inputs)
    if function == "main":
        found, expected = [found], [expected]
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_array_equal(one, to_numpy(other))
