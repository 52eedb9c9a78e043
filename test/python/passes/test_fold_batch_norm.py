# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-fold-batch-norm: results stay within rounding, and next to weights neither a scale nor a batch norm is left.

Situations of Apache TVM's test_transform_fold_batch_norm_to_conv2d.py.
"""

from __future__ import annotations

from typing import Any

import blocks
import numpy
import pytest
from before_after import changed, keeps_results, op_names
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.dialects.relax.known_constants import floats_of

import relax_mlir as rx
from relax_mlir import relax

PASS = "relax-fold-batch-norm"


class Numbers:
    def __init__(self, dtype: str = "float32"):
        self._random = numpy.random.default_rng(3)
        self.dtype = dtype

    def __call__(self, *shape: int) -> Any:
        return relax.const(self._random.uniform(0.5, 1.5, shape), self.dtype)


def batch_norm(x: Any, numbers: Numbers, axis: int, **attributes: Any) -> Any:
    channels = x.type.shape[axis]
    parameters = [numbers(channels) for _ in range(4)]
    return relax.nn.batch_norm(x, *parameters, axis=axis, training=False, **attributes)[0]


@st.composite
def convolutions(draw: Any) -> tuple[rx.Module, bool]:
    """Draw a norm before or after a convolution, and whether only the convolution and an add remain."""
    rank, groups = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2]))
    is_transposed, is_before = draw(st.booleans()), draw(st.booleans())
    padding, has_bias = draw(st.sampled_from([0, 1])), draw(st.booleans())
    channels, outputs = groups * draw(st.integers(1, 3)), groups * draw(st.integers(1, 3))
    spatial = "DHW"[3 - rank :]
    data, result = (draw(st.sampled_from([f"NC{spatial}", f"N{spatial}C"])) for _ in range(2))
    own = {"I": channels if is_transposed else channels // groups, "O": outputs // groups if is_transposed else outputs}
    kernel = "".join(draw(st.permutations([*"OI", *spatial])))
    sizes = {"N": 2, "C": channels, **dict.fromkeys(spatial, 5)}
    taps = {**own, **dict.fromkeys(spatial, 2)}
    numbers = Numbers()
    module = rx.Module()
    with module.function("main", [rx.tensor([sizes[letter] for letter in data])]) as f:
        (x,) = f
        weight = numbers(*(taps[letter] for letter in kernel))
        if is_before:
            x = batch_norm(x, numbers, data.index("C"))
        convolution = rx.find_op(f"relax.nn.conv{rank}d{'_transpose' if is_transposed else ''}")
        y = convolution(
            x, weight, groups=groups, padding=padding, data_layout=data, kernel_layout=kernel, out_layout=result
        )
        axis = result.index("C")
        if has_bias:
            y = relax.add(y, numbers(*(outputs if place == axis else 1 for place in range(rank + 2))))
        f.returns(y if is_before else batch_norm(y, numbers, axis))
    return module, not is_before or (padding == 0 and not is_transposed)


@draws(30)
@given(convolutions())
def test_weights_of_convolutions(case: tuple[rx.Module, bool]) -> None:
    module, is_all = case
    after = keeps_results(module, PASS, tolerance=1e-3)
    names = [name.partition("relax.")[2][:7] for name in op_names(after)]
    # A shift before weights, which has to stay where it is, keeps the scale before it.
    assert names == ["nn.conv", "add"] if is_all else names[:3] == ["multipl", "add", "nn.conv"]


@draws(30)
@given(st.booleans(), st.booleans(), st.sampled_from([(), (2,)]), st.sampled_from([(), (2,)]), st.booleans())
def test_weights_of_products(is_left: bool, is_before: bool, batch: Any, of_weights: Any, is_vector: bool) -> None:
    """Fold weights on either side of a product, batches on either, vectors; with a step before or after it."""
    numbers, module = Numbers(), rx.Module()
    data = (3,) if is_vector else (*batch, 3, 5) if is_left else (*batch, 5, 3)
    with module.function("main", [rx.tensor(data)]) as f:
        (x,) = f
        inputs = len(data) - 1 if is_vector or not is_left else len(data) - 2

        def scaled(value: Any, axis: int) -> Any:
            shape = [3 if place == axis else 1 for place in range(value.type.rank)]
            return relax.subtract(relax.divide(value, numbers(*shape)), numbers(*shape))

        x = scaled(x, inputs) if is_before else x
        weight = numbers(*of_weights, 3, 3)
        y = relax.matmul(weight, x) if is_left else relax.matmul(x, weight)
        outputs = y.type.rank - (2 if is_left and not is_vector else 1)
        f.returns(y if is_before else scaled(y, outputs))
    names = op_names(keeps_results(module, PASS, tolerance=1e-3))
    stays = is_before and of_weights
    assert names == (op_names(module) if stays else ["relax.matmul", "relax.add" if is_before else "relax.subtract"])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_element_types(dtype: str) -> None:
    numbers, module = Numbers(dtype), rx.Module()
    with module.function("main", [rx.tensor((1, 2, 4), dtype)]) as f:
        y = batch_norm(relax.nn.conv1d(*f, numbers(3, 2, 2)), numbers, 1)
        f.returns(relax.astype(y, "float32"))
    x = numpy.random.default_rng(0).normal(size=(1, 2, 4))
    import ml_dtypes

    given = x.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    after = keeps_results(module, PASS, [given], tolerance=1e-5 if dtype == "float64" else 0.1)
    assert op_names(after) == ["relax.nn.conv1d", "relax.add", "relax.astype"]


def test_large_weights_of_half_floats() -> None:
    """Fold large weights, which are resources without text, also in bf16, which numpy lacks."""
    for dtype in ("bfloat16", "float16", "float32"):
        numbers, module = Numbers(dtype), rx.Module()
        with module.function("main", [rx.tensor((2, 40))]) as f:
            y = relax.matmul(relax.astype(*f, dtype), numbers(40, 40))
            f.returns(relax.astype(relax.multiply(y, numbers(40)), "float32"))
        after = keeps_results(module, PASS, tolerance=0.1 if dtype == "bfloat16" else 0.02)
        assert op_names(after) == ["relax.astype", "relax.matmul", "relax.astype"]


def test_wider_results_stay_scaled() -> None:
    """Keep the scale of a sum in f32 with weights of f16."""
    numbers, module = Numbers("float16"), rx.Module()
    with module.function("main", [rx.tensor((2, 3), "float16")]) as f:
        y = relax.matmul(*f, numbers(3, 3), out_dtype="float32")
        f.returns(relax.multiply(y, Numbers()(3)))
    assert op_names(changed(module, PASS)) == op_names(module)


@pytest.mark.parametrize(
    ("variance", "factor"),
    [(numpy.array([0.0, 1.0]), 1.0), (numpy.array([1.0, 1.0]), 0.0), (numpy.array([1.0, numpy.nan]), 1.0)],
)
def test_factors_that_are_not_finite_are_not_folded(variance: Any, factor: float) -> None:
    numbers, module = Numbers(), rx.Module()
    with module.function("main", [rx.tensor((1, 2, 4))]) as f:
        y = relax.nn.conv1d(*f, numbers(2, 2, 1))
        y = relax.nn.batch_norm(
            y, numbers(2), numbers(2), numbers(2), relax.const(variance, "float32"), axis=1, epsilon=0.0, training=False
        )[0]
        f.returns(relax.divide(y, relax.const(numpy.float32(factor))))
    after = keeps_results(module, PASS)
    assert ("relax.divide" if factor == 0 else "relax.nn.batch_norm") in op_names(after)


def test_factors_beyond_the_range_of_half_floats_are_not_folded() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((2, 2), "float16")]) as f:
        y = relax.matmul(*f, relax.const(numpy.full((2, 2), 300.0), "float16"))
        f.returns(relax.multiply(y, relax.const(300.0, "float16")))
    assert op_names(keeps_results(module, PASS, [numpy.zeros((2, 2), "f2")])) == ["relax.matmul", "relax.multiply"]


def test_moving_values_get_the_stated_type() -> None:
    """Infer the number of channels from the data."""
    module = rx.Module.parse(
        """
        func.func @main(%x: tensor<1x2x3xf32>) -> (tensor<1x2x3xf32>, tensor<?xf32>) {
          %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
          %y, %m, %v = "relax.nn.batch_norm"(%x, %c, %c, %c, %c) {axis = 1 : i64, training = false}
            : (tensor<1x2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
            -> (tensor<1x2x3xf32>, tensor<?xf32>, tensor<2xf32>)
          return %y, %m : tensor<1x2x3xf32>, tensor<?xf32>
        }
        """
    )
    after = changed(module, PASS)
    assert op_names(after) == ["relax.multiply", "relax.add", "relax.match_cast"]


def test_a_residual_network_has_no_scales_left() -> None:
    after = keeps_results(blocks.resnet(2), PASS, tolerance=1e-3)
    names = op_names(after)
    assert names.count("relax.nn.conv2d") == 4 and names.count("relax.add") == 6
    assert len(names) == 14, names


@draws(30)
@given(st.one_of(blocks.images(), blocks.sequences()))
def test_any_graph_keeps_its_results(module: rx.Module) -> None:
    after = keeps_results(module, PASS, tolerance=1e-3)
    assert "relax.nn.batch_norm" not in op_names(after)


def test_constants_of_half_floats_are_read_exactly() -> None:
    """Fold numbers written as digits, in hexadecimal, in resources and as splats, with limits, infinities and NaN."""
    import ml_dtypes

    random = numpy.random.default_rng(0)
    special = [0.0, -0.0, 1e-40, -3.38e38, 3.38e38, numpy.inf, -numpy.inf, numpy.nan]
    spread = random.normal(size=600) * 10.0 ** random.integers(-38, 38, 600)
    for numbers in (special, spread[:7], spread[:200], spread, numpy.full((3, 2), 0.1), 2.5, numpy.empty((0, 2))):
        with rx.Module() as module:
            made = relax.const(numpy.asarray(numbers), "bfloat16")
            expected = numpy.asarray(numbers).astype(ml_dtypes.bfloat16).astype("float32")
            numpy.testing.assert_array_equal(floats_of(made), expected, strict=True)
        assert module is not None
