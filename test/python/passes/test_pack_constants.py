# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products by constant matrices, which are stored as panels: results equal numpy's for all sizes."""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax

#: Rows, steps of the sum, columns: whole panels, cut panels, a single panel, several blocks of steps.
SIZES = [(17, 5, 3), (64, 70, 128), (33, 64, 65), (20, 1100, 130), (18, 3, 1000), (1, 5, 3), (1, 70, 300), (5, 64, 65)]


def integers(*shape: int, dtype: str = "float32") -> Any:
    """Return integers with exact products and sums."""
    return numpy.random.default_rng(sum(shape)).integers(-4, 5, shape).astype(dtype)


def lowered(module: rx.Module) -> str:
    return str(rx.lower(module.copy(), pipeline=rx.stages("llvm").until("plan")))


def product(weights: Any, rows: int | str, *, uses: int = 1) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor((rows, weights.shape[0]), str(weights.dtype))]) as f:
        (x,) = f
        w = relax.const(weights)
        results = [
            relax.matmul(relax.multiply(x, relax.const(weights.dtype.type(each + 1))), w) for each in range(uses)
        ]
        f.returns(*results)
    return module


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "float64"])
@pytest.mark.parametrize(("rows", "steps", "columns"), SIZES)
def test_products(rows: int, steps: int, columns: int, dtype: str) -> None:
    weights, x = integers(steps, columns, dtype=dtype), integers(rows, steps, dtype=dtype)
    expected = (x.astype("float64") @ weights.astype("float64")).astype(dtype)
    for known in (rows, "n"):
        program = rx.compile(product(weights, known))
        numpy.testing.assert_array_equal(to_numpy(program["main"](x)), expected)


def test_constants_are_packed_where_a_panel_is_worth_it() -> None:
    for rows in (64, 4, 1):
        assert "packed" in lowered(product(integers(64, 128), rows))


def test_one_row_keeps_its_sums_in_registers_where_the_matrix_is_known() -> None:
    (plan,) = re.findall('"(order .* packed.*)"', lowered(product(integers(64, 1000), 1)))
    lanes = int(re.findall("vector . x ([0-9]+)", plan)[0])
    width = min(8, -(-1000 // lanes))
    assert re.match(f"order .*; carried 1; vector 1 x {lanes}; tile 1: {width}; panel 1 along 2: 64 packed; rule", plan)


def test_weights_of_several_products() -> None:
    weights, x = integers(64, 130), integers(40, 64)
    program = rx.compile(product(weights, 40, uses=3))
    for factor, result in enumerate(program["main"](x), start=1):
        numpy.testing.assert_array_equal(to_numpy(result), factor * x @ weights)


def test_another_plan_unpacks() -> None:
    """Compile a module with packed weights after a change of its plans."""
    weights, x = integers(64, 128), integers(40, 64)
    stages = rx.stages("llvm{vector-bytes=16}")
    text = str(rx.lower(product(weights, 40), "llvm{vector-bytes=16}", pipeline=stages.until("plan")))
    assert " packed" in text
    plan = text.partition('tir.plan = "order 1 0 2')[2].partition('"')[0]
    changed = rx.Module.parse(text.replace(f"order 1 0 2{plan}", "order 0 1 2; carried 1; vector 1 x 4; rule mine"))
    program = rx.compile(changed, "llvm{vector-bytes=16}", pipeline=stages.between(start="apply"))
    numpy.testing.assert_array_equal(to_numpy(program["main"](x)), x @ weights)
