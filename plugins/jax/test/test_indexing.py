# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # tables of one line per case read best
"""Gathers and scatters by dimension numbers, beside StableHLO's interpreter."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir as rx
from hlo_oracle import array_of, assert_same, called, module_of

#: Dimension numbers, slice sizes, the operand, the indices, the result.
GATHERS = {
    "rows": (
        "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1",
        "1, 4",
        "5x4",
        "3x1",
        "3x4",
    ),
    "columns": (
        "offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1",
        "5, 1",
        "5x4",
        "3x1",
        "5x3",
    ),
    "elements": (
        "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1",
        "1, 1",
        "5x4",
        "3x2",
        "3",
    ),
    "blocks": ("offset_dims = [1, 2], start_index_map = [1, 0], index_vector_dim = 1", "2, 3", "5x4", "3x2", "3x2x3"),
    "one block": ("offset_dims = [0, 1], start_index_map = [0, 1]", "2, 3", "5x4", "2", "2x3"),
    "a batch": (
        "offset_dims = [2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2",
        "1, 3",
        "5x4",
        "5x2x1",
        "5x2x3",
    ),
}
#: Dimension numbers, the operand, the indices, the updates.
SCATTERS = {
    "rows": ("update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1", "5x4", "3x1", "3x4"),
    "elements": ("inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1", "5x4", "3x2", "3"),
    "blocks": ("update_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1", "5x4", "3x2", "3x2x2"),
    "a batch": ("update_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2", "5x4", "5x2x1", "5x2x1"),
}  # fmt: skip


@pytest.mark.parametrize("name", GATHERS)
def test_gather(name: str) -> None:
    """Gather with some indices out of bounds."""
    numbers, sizes, operand, indices, result = GATHERS[name]
    text = f"""func.func @main(%x: tensor<{operand}xf32>, %i: tensor<{indices}xi32>) -> tensor<{result}xf32> {{
  %r = "stablehlo.gather"(%x, %i) <{{dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: {sizes}>}}>
    : (tensor<{operand}xf32>, tensor<{indices}xi32>) -> tensor<{result}xf32>
  return %r : tensor<{result}xf32>
}}"""
    assert_same(text, [array_of(f"tensor<{operand}xf32>"), array_of(f"tensor<{indices}xi32>", 1)])
    if name == "rows":
        assert "relax.take" in str(rx.from_stablehlo(text)) and "relax.flatten" not in str(rx.from_stablehlo(text))


def test_a_gather_of_a_collapsed_dimension_without_elements() -> None:
    """Give zeros like XLA: nothing can be read, but the result has elements."""
    text = """func.func @main(%x: tensor<0x4xf32>, %i: tensor<3x1xi32>) -> tensor<3x4xf32> {
      %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1],
        collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 0, 4>}
        : (tensor<0x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
      return %0 : tensor<3x4xf32>
    }"""
    (found,) = called(text, [numpy.zeros((0, 4), "float32"), numpy.zeros((3, 1), "int32")])
    assert found.tolist() == [[0.0] * 4] * 3


@pytest.mark.parametrize("name", SCATTERS)
@pytest.mark.parametrize("body", ["add", "maximum", "", "subtract"])
def test_scatter(name: str, body: str) -> None:
    """Drop updates out of bounds. An unknown body is applied update by update."""
    numbers, operand, indices, updates = SCATTERS[name]
    combined = f"%c = stablehlo.{body} %a, %b : tensor<f32>" if body else ""
    text = f"""func.func @main(%x: tensor<{operand}xf32>, %i: tensor<{indices}xi32>, %u: tensor<{updates}xf32>) -> tensor<{operand}xf32> {{
  %r = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    {combined}
    stablehlo.return {"%c" if body else "%b"} : tensor<f32>
  }}) : (tensor<{operand}xf32>, tensor<{indices}xi32>, tensor<{updates}xf32>) -> tensor<{operand}xf32>
  return %r : tensor<{operand}xf32>
}}"""
    places = numpy.random.default_rng(1).permutation(40)[: numpy.prod(list(map(int, indices.split("x"))))] % 6 - 1
    arrays = [array_of(f"tensor<{operand}xf32>"), places.astype("int32").reshape(list(map(int, indices.split("x")))),
              array_of(f"tensor<{updates}xf32>", 2)]  # fmt: skip
    assert_same(text, arrays)


#: Shapes of the operand and of the indices, the dimension, and how many are a batch.
SELECTED = [
    ((3, 4, 5), (2, 2), 1, 0),
    ((3, 4, 5), (3, 2), 1, 1),
    ((3, 4, 5), (3, 2), 2, 1),
    ((3, 4, 5), (3, 4, 2), 2, 2),
    ((2, 3, 4, 5), (2, 3, 2), 3, 1),
]


@pytest.mark.parametrize(("shape", "indices", "axis", "batch"), SELECTED)
def test_torch_index_select(shape: tuple[int, ...], indices: tuple[int, ...], axis: int, batch: int) -> None:
    """Compare with numpy, since the interpreter lacks the operation."""
    random = numpy.random.default_rng(0)
    data, places = random.normal(size=shape).astype("float32"), random.integers(0, shape[axis], indices, "int32")
    rows = numpy.ndindex(*shape[:batch])
    picked = [numpy.take(data[row], places[row], axis=axis - batch) for row in rows]
    expected = numpy.stack(picked).reshape(*shape[:batch], *picked[0].shape)
    x, i, result = (
        f"tensor<{'x'.join(map(str, each))}x{dtype}>"
        for each, dtype in [(shape, "f32"), (indices, "i32"), (expected.shape, "f32")]
    )
    operation = f'"stablehlo.torch_index_select"(%0, %1) {{dim = {axis} : i64, batch_dims = {batch} : i64}} : ({x}, {i}) -> {result}'
    (found,) = called(module_of(operation, [x, i], result), [data, places])
    numpy.testing.assert_array_equal(found, expected)
