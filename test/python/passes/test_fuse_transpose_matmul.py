# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-fuse-transpose-matmul: reading an operand in its place equals the permuted operand, to the last bit.

Situations of Apache TVM's test_transform_fuse_transpose_matmul.py.
"""

from __future__ import annotations

from typing import Any

import blocks
import pytest
from before_after import keeps_results, op_names
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.passes.graph.relax_fuse_transpose_matmul import FuseTransposeMatmul

import relax_mlir as rx
from relax_mlir import relax

ALL = "relax-fuse-transpose-matmul{most=none}"


@draws(30)
@given(st.data(), st.sampled_from(["float32", "float16", "int8", "float64"]))
def test_any_permutation_of_either_operand(data: Any, dtype: str) -> None:
    batches = [data.draw(st.sampled_from([(), (2,), (1,), (3, 2), (3, 1), ("n", 2)])) for _ in range(2)]
    rows, columns = data.draw(st.sampled_from([1, 3, "n"])), data.draw(st.sampled_from([1, 4, "n"]))
    shapes: list[Any] = [(*batches[0], rows, 5), (*batches[1], 5, columns)]
    vector = data.draw(st.sampled_from([None, 0, 1]))
    if vector is not None:
        shapes[vector] = (5,)
    orders = [
        data.draw(st.permutations(range(len(shape)))) if data.draw(st.booleans()) else list(range(len(shape)))
        for shape in shapes
    ]
    pairs = list(zip(shapes, orders, strict=True))
    sources = [[shape[order.index(axis)] for axis in range(len(shape))] for shape, order in pairs]
    module = rx.Module()
    try:
        with module.function("main", [rx.tensor(shape, dtype) for shape in sources]) as f:
            f.returns(relax.matmul(*(relax.permute_dims(x, axes=order) for x, order in zip(f, orders, strict=True))))
    except rx.RelaxError:
        return  # batches that do not broadcast
    after = keeps_results(module, ALL, sizes={"n": 3}, tolerance=1e-5 if "float" in dtype else 0)
    moved = any(order != sorted(order) for order in orders)
    assert ("relax.einsum" in op_names(after)) == moved


@pytest.mark.parametrize(("rows", "fused"), [(1, True), (64, True), (65, False), ("n", True)])
def test_how_often_it_is_read_decides(rows: Any, fused: bool) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((rows, 8)), rx.tensor((3, 8))]) as f:
        x, w = f
        f.returns(relax.matmul(x, relax.permute_dims(w)))
    FuseTransposeMatmul()(module)
    assert ("relax.einsum" in op_names(module)) == fused
    columns = rx.Module()
    with columns.function("main", [rx.tensor((8, 3)), rx.tensor((8, rows))]) as f:
        w, x = f
        f.returns(relax.matmul(relax.permute_dims(w), x))
    FuseTransposeMatmul()(columns)
    assert ("relax.einsum" in op_names(columns)) == (fused and rows != "n")


def test_sizes_that_might_be_one_are_checked_by_the_product() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((2, "k")), rx.tensor((3, "l"))]) as f:
        x, w = f
        f.returns(relax.matmul(x, relax.permute_dims(w)))
    assert "relax.einsum" not in op_names(keeps_results(module, ALL))


@draws(30)
@given(blocks.sequences())
def test_any_graph_keeps_its_results(module: rx.Module) -> None:
    keeps_results(module, ALL, tolerance=1e-3)


def test_attention_of_one_query() -> None:
    after = keeps_results(blocks.transformer(), "relax-canonicalize,relax-fuse-transpose-matmul", tolerance=1e-3)
    assert op_names(after).count("relax.einsum") == 2
