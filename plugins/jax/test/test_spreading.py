# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms of the graph for fusion and codegens: elementwise operators broadcast, convolutions have layouts."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir as rx
from hlo_oracle import assert_same

X, ROW = "tensor<3x4xf32>", "tensor<4xf32>"
_NUMBERS = numpy.random.default_rng(0)


def _function(lines: str, arguments: str, result: str) -> str:
    return f"func.func @main({arguments}) -> {result} {{\n{lines}\n return %r : {result}\n}}"


def _drawn(*shapes: tuple[int, ...]) -> list[numpy.ndarray]:
    return [_NUMBERS.normal(size=shape).astype("float32") for shape in shapes]


def _check(text: str, *shapes: tuple[int, ...]) -> str:
    """Return the graph after checking its results against the interpreter."""
    assert_same(text, _drawn(*shapes))
    return rx.from_stablehlo(text).script()


def test_a_bias_broadcast_in_two_steps_is_added_directly() -> None:
    """Add a bias that jax broadcasts in two steps."""
    lines = f"""
  %a = stablehlo.broadcast_in_dim %b, dims = [1] : ({ROW}) -> tensor<1x4xf32>
  %w = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<1x4xf32>) -> {X}
  %r = stablehlo.add %x, %w : {X}"""
    graph = _check(_function(lines, f"%x: {X}, %b: {ROW}", X), (3, 4), (4,))
    assert "R.add(arg0, arg1)" in graph
    assert "broadcast" not in graph and "reshape" not in graph


@pytest.mark.parametrize(
    ("number", "form"), [("0.0", "R.nn.relu(arg0)"), ("-0.0", "R.maximum("), ("1.0", "R.maximum(")]
)
def test_the_larger_of_a_number_and_0_is_relu(number: str, form: str) -> None:
    lines = f"""
  %c = stablehlo.constant dense<{number}> : tensor<f32>
  %w = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> {X}
  %r = stablehlo.maximum %w, %x : {X}"""
    graph = _check(_function(lines, f"%x: {X}", X), (3, 4))
    assert form in graph and "broadcast" not in graph


def test_the_larger_of_a_number_and_the_least_one_is_that() -> None:
    lines = f"""
  %c = stablehlo.constant dense<0xFF800000> : {X}
  %r = stablehlo.maximum %c, %x : {X}"""
    text = _function(lines, f"%x: {X}", X)
    assert "maximum" not in rx.from_stablehlo(text).script()
    assert_same(text, [numpy.float32([[1, -numpy.inf, numpy.nan, -0.0]] * 3)])


def test_broadcasts_of_a_column_times_a_row_stay() -> None:
    """Multiply a column and a row, which have the whole shape together. A single column has not."""
    column = "tensor<3x1xf32>"
    spread = f"""
  %a = stablehlo.broadcast_in_dim %x, dims = [0, 1] : ({column}) -> {X}
  %b = stablehlo.broadcast_in_dim %y, dims = [0, 1] : (tensor<1x4xf32>) -> {X}"""
    outer = _function(f"{spread}\n  %r = stablehlo.multiply %a, %b : {X}", f"%x: {column}, %y: tensor<1x4xf32>", X)
    assert "R.multiply(arg0, arg1)" in _check(outer, (3, 1), (1, 4))
    own = _function(f"{spread}\n  %r = stablehlo.multiply %a, %a : {X}", f"%x: {column}, %y: tensor<1x4xf32>", X)
    assert _check(own, (3, 1), (1, 4)).count("R.broadcast_to(") == 1


def test_numbers_that_are_broadcast_to_one_element_keep_the_dimensions() -> None:
    one = "tensor<1x1xf32>"
    lines = f"""
  %a = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> {one}
  %b = stablehlo.broadcast_in_dim %y, dims = [] : (tensor<f32>) -> {one}
  %r = stablehlo.multiply %a, %b : {one}"""
    assert_same(_function(lines, "%x: tensor<f32>, %y: tensor<f32>", one), _drawn((), ()))


def test_a_choice_reads_what_is_broadcast() -> None:
    lines = f"""
  %c = stablehlo.constant dense<-1.0> : tensor<f32>
  %w = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> {X}
  %m = stablehlo.broadcast_in_dim %b, dims = [1] : ({ROW}) -> {X}
  %p = stablehlo.compare GT, %m, %w : ({X}, {X}) -> tensor<3x4xi1>
  %r = stablehlo.select %p, %x, %w : tensor<3x4xi1>, {X}"""
    graph = _check(_function(lines, f"%x: {X}, %b: {ROW}", X), (3, 4), (4,))
    assert graph.count("R.broadcast_to(") == 1 and "R.const(-1.0" in graph


def test_sizes_that_may_differ_are_broadcast_as_the_module_says() -> None:
    """Broadcast sizes that may be 1 because they differ from the result's."""
    text = """
func.func @main(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<1xi32>
  %one = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %s = stablehlo.concatenate %one, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %w = stablehlo.dynamic_broadcast_in_dim %y, %s, dims = [0, 1] : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
  %r = stablehlo.add %w, %x : tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}"""
    x, y = _drawn((5, 4), (1, 4))
    module = rx.from_stablehlo(text)
    assert module.script().count("R.broadcast_to(") == 1
    numpy.testing.assert_allclose(rx.compile(module)["main"](x, y), x + y)


@pytest.mark.parametrize(
    ("dims", "data", "weight", "layouts"),
    [
        ("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", (2, 6, 5, 3), (3, 2, 3, 4), ("NHWC", "HWIO", "NHWC")),
        ("[b, f, 0, 1]x[o, i, 0, 1]->[b, 0, 1, f]", (2, 3, 6, 5), (4, 3, 3, 2), ("NCHW", "OIHW", "NHWC")),
        ("[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", (3, 6, 5, 2), (3, 3, 2, 4), ("CHWN", "IHWO", "HWNC")),
    ],
)
def test_a_convolution_keeps_its_layout(
    dims: str, data: tuple[int, ...], weight: tuple[int, ...], layouts: tuple[str, ...]
) -> None:
    sizes = {"N": 2, "C": 4, "H": 4, "W": 4}
    result = _type(tuple(sizes[letter] for letter in layouts[2]))
    operation = (
        f"  %r = stablehlo.convolution(%x, %w) dim_numbers = {dims}, window = {{}} "
        "{batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
        f" : ({_type(data)}, {_type(weight)}) -> {result}"
    )
    graph = _check(_function(operation, f"%x: {_type(data)}, %w: {_type(weight)}", result), data, weight)
    stated = {
        name: layout
        for (name, usual), layout in zip(
            (("data_layout", "NCHW"), ("kernel_layout", "OIHW"), ("out_layout", None)), layouts, strict=True
        )
        if layout != usual
    }
    assert all(f'{name}="{layout}"' in graph for name, layout in stated.items() if name != "out_layout")
    assert "permute_dims" not in graph


def _type(shape: tuple[int, ...]) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def test_products_of_batched_rows_need_no_reshape() -> None:
    left, right, result = "tensor<2x3x5xf32>", "tensor<5x4xf32>", "tensor<2x3x4xf32>"
    operation = f"  %r = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : ({left}, {right}) -> {result}"
    graph = _check(_function(operation, f"%x: {left}, %w: {right}", result), (2, 3, 5), (5, 4))
    assert "R.matmul(arg0, arg1)" in graph and "reshape" not in graph
