# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-regroup-heads: attention equals attention with a copy for each head. The oracle is numpy; IR: test/passes."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from before_after import op_names
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.passes.graph.relax_regroup_heads import RegroupHeads

import relax_mlir as rx
from relax_mlir import relax

DEPTH = 4


def dims(*sizes: Any) -> Any:
    return relax.shape_expr(dims=sizes)


def repeated(x: Any, heads: int, repeats: int, rows: Any, columns: Any, is_flat: bool) -> Any:
    """Return each matrix repeated, with batches and heads as one dimension or as two."""
    several = relax.broadcast_to(relax.expand_dims(x, axis=[2]), dims("b", heads, repeats, rows, columns))
    every = rx.sym("b") * (heads * repeats)
    return relax.reshape(several, dims(every, rows, columns) if is_flat else dims("b", heads * repeats, rows, columns))


@draws(30)
@given(st.data())
def test_products_with_what_is_repeated(data: Any) -> None:
    heads, repeats = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    is_flat, is_turned, factor = (
        data.draw(st.booleans()),
        data.draw(st.booleans()),
        data.draw(st.sampled_from([1.0, 0.5])),
    )
    queries, keys = data.draw(st.sampled_from([("s", "n + s"), (2, 5), (5, 2)]))
    module = rx.Module()
    shape = (keys, DEPTH) if is_turned else (DEPTH, keys)
    inputs = [rx.tensor(("b", heads * repeats, queries, DEPTH)), rx.tensor(("b", heads, *shape))]
    with module.function("main", inputs) as f:
        q, k = f
        right = repeated(k, heads, repeats, *map(parsed, shape), is_flat)
        if is_turned:
            right = relax.permute_dims(right, axes=[0, 2, 1] if is_flat else [0, 1, 3, 2])
        right = relax.reshape(right, dims("b", heads * repeats, DEPTH, parsed(keys)))
        f.returns(relax.matmul(q, relax.multiply(right, relax.const(factor, "float32"))))
    sizes = {"b": 2, "s": 3, "n": 4}
    random = numpy.random.default_rng(0)
    arrays = [random.standard_normal(tuple(evaluated(size, sizes) for size in each.shape)) for each in inputs]
    q, k = (each.astype("float32") for each in arrays)
    rows = numpy.repeat(k, repeats, 1)
    expected = q @ (rows.transpose(0, 1, 3, 2) if is_turned else rows) * factor
    numpy.testing.assert_allclose(rx.compile(module)["main"](q, k), expected, rtol=1e-4, atol=1e-5)
    RegroupHeads()(module)
    rx.Pipeline("relax-canonicalize").run(module)
    assert ("relax.broadcast_to" in op_names(module)) <= (repeats == 1)


def parsed(size: Any) -> Any:
    return rx.sym("n") + rx.sym("s") if size == "n + s" else size


def evaluated(size: Any, sizes: dict[str, int]) -> int:
    return size if isinstance(size, int) else size.evaluate(sizes)


def changed(q: Any, k: Any, body: Any) -> bool:
    module = rx.Module()
    with module.function("main", [q, k]) as f:
        f.returns(body(*f))
    before = str(module)
    RegroupHeads()(module)
    return str(module) != before


@pytest.mark.parametrize(
    ("left", "right", "body"),
    [
        # A batch that broadcasts, heads that are the first of two dimensions, an integer's product.
        ((1, 4, 2, 3), (2, 2, 3, 5), lambda q, k: relax.matmul(q, over(k, (2, 2, 2, 3, 5)))),
        ((2, 4, 2, 3), (2, 1, 2, 3, 5), lambda q, k: relax.matmul(q, relax.reshape(relax.broadcast_to(
            k, dims(2, 2, 2, 3, 5)), dims(2, 4, 3, 5)))),
        ((2, 4, 2, 3), (2, 4, 3, 5), relax.matmul),
    ],
)  # fmt: skip
def test_products_without_shared_heads_are_unchanged(left: Any, right: Any, body: Any) -> None:
    assert not changed(rx.tensor(left), rx.tensor(right), body)


def over(k: Any, shape: Any) -> Any:
    flat = (shape[0], shape[1] * shape[2], *shape[3:])
    return relax.reshape(relax.broadcast_to(relax.expand_dims(k, axis=[2]), dims(*shape)), dims(*flat))


@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "float32"])
def test_scales_of_narrow_types_do_not_move(dtype: str) -> None:
    def body(q: Any, k: Any) -> Any:
        return relax.matmul(q, relax.multiply(k, relax.const(3, dtype)))

    assert changed(rx.tensor((1, 2, 2, 3), dtype), rx.tensor((1, 2, 3, 5), dtype), body) == (dtype == "float32")
