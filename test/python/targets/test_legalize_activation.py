# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activation functions, legalized by the default rules, compiled for llvm and run, against numpy and scipy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
import scipy.special
from element_arrays import same
from prim_jit import run_op

import relax_mlir as rx

ROOT_OF_HALF = numpy.sqrt(0.5)


def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    return numpy.where(x * beta > threshold, x, numpy.log1p(numpy.exp(numpy.minimum(x * beta, 700))) / beta)


def selu(x: Any) -> Any:
    return 1.0507009873554805 * numpy.where(x > 0, x, 1.6732632423543772 * numpy.expm1(x))


# The references in f64, in the form that loses no digits.
REFERENCES = {
    "relu": (lambda x: numpy.maximum(x, 0), {}),
    "leakyrelu": (lambda x: numpy.where(x > 0, x, 0.2 * x), {"alpha": 0.2}),
    "gelu": (lambda x: x * 0.5 * scipy.special.erfc(-x * ROOT_OF_HALF), {}),
    "gelu_tanh": (lambda x: x * scipy.special.expit(2 * numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x**3)), {}),
    "silu": (lambda x: x * scipy.special.expit(x), {}),
    "selu": (selu, {}),
    "softplus": (softplus, {}),
}
POINTS = [-30.0, -8.0, -3.0, -1.0, -0.5, -1e-3, -0.0, 0.0, 1e-3, 0.5, 1.0, 3.0, 8.0, 19.0, 25.0, numpy.nan]
TOLERANCES = {"float16": 2e-3, "float32": 4e-6, "float64": 1e-13}


@pytest.mark.parametrize("dtype", sorted(TOLERANCES))
@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_values(name: str, dtype: str) -> None:
    reference, attributes = REFERENCES[name]
    x = numpy.array([*POINTS, *numpy.random.default_rng(3).normal(size=50)], dtype)
    actual = run_op(f"relax.nn.{name}", x, **attributes)
    expected = numpy.asarray(reference(x.astype("float64")))
    assert actual.dtype == x.dtype
    smallest = numpy.finfo(dtype).tiny
    numpy.testing.assert_allclose(actual, expected, rtol=TOLERANCES[dtype], atol=smallest, err_msg=name)


def test_gelu_keeps_its_digits_far_below_0() -> None:
    x = numpy.linspace(-12.5, -1, 997).astype("float32")
    wide = x.astype("float64")
    numpy.testing.assert_allclose(run_op("relax.nn.gelu", x), wide * scipy.special.ndtr(wide), rtol=4e-7)
    ends = run_op("relax.nn.gelu", numpy.array([-numpy.inf, -3e38, 3e38, numpy.inf], "float32"))
    numpy.testing.assert_array_equal(ends, numpy.array([0, 0, 3e38, numpy.inf], "float32"))


def test_softplus_with_other_attributes() -> None:
    x = numpy.linspace(-5, 5, 41)
    actual = run_op("relax.nn.softplus", x, beta=2.0, threshold=3.0)
    numpy.testing.assert_allclose(actual, softplus(x, 2.0, 3.0), rtol=1e-13)


def test_softplus_below_a_high_threshold() -> None:
    """Compute softplus for 89 and more, where exp is infinite in f32."""
    x = numpy.float32([-120, -1, 0, 60, 88, 89, 110, 130])
    actual = run_op("relax.nn.softplus", x, threshold=120.0)
    numpy.testing.assert_allclose(actual, softplus(x.astype("float64"), threshold=120.0), rtol=1e-6, atol=1e-44)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
@pytest.mark.parametrize("name", ["gelu", "selu", "silu"])
def test_small_floats_are_rounded_once(name: str, dtype: str) -> None:
    x = numpy.linspace(-3, 3, 25).astype(getattr(ml_dtypes, dtype))
    wide = run_op(f"relax.nn.{name}", x.astype("float32"))
    same(run_op(f"relax.nn.{name}", x), wide.astype(x.dtype))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_relu_of_integers(dtype: str) -> None:
    x = numpy.array([-128, -1, 0, 1, 127], dtype)
    numpy.testing.assert_array_equal(run_op("relax.nn.relu", x), numpy.maximum(x, 0))


def test_infinities_stay_in_relu() -> None:
    x = numpy.array([-numpy.inf, numpy.inf, numpy.nan], "float32")
    numpy.testing.assert_array_equal(run_op("relax.nn.relu", x), numpy.array([0, numpy.inf, numpy.nan], "float32"))


def test_symbolic_sizes() -> None:
    x = numpy.random.default_rng(3).normal(size=(3, 5)).astype("float32")
    actual = run_op("relax.nn.silu", x, symbols=[("n", 5)])
    numpy.testing.assert_allclose(actual, x * scipy.special.expit(x), rtol=1e-6)


PRELUS = [
    ((2, 3, 4), (3,), 1, ()),
    ((2, 3, 4), (1,), 1, ()),
    ((2, 3), (3,), -1, [("n", "c"), ("c",)]),
    ((2, 3), (3,), 1, [("n", "c"), ("d",)]),
    ((2, 3), (1,), 1, [("n", "c"), ("d",)]),
    ((2, 3), (2,), 0, [("n", 3), ("d",)]),
    ((0, 3), (3,), 1, ()),
]


@pytest.mark.parametrize("dtype", sorted(TOLERANCES))
@pytest.mark.parametrize(("shape", "slopes", "axis", "symbols"), PRELUS, ids=str)
def test_prelu(shape: Any, slopes: Any, axis: int, symbols: Any, dtype: str) -> None:
    random = numpy.random.default_rng(3)
    x, alpha = random.normal(size=shape).astype(dtype), random.normal(size=slopes).astype(dtype)
    x[..., -1:] = numpy.nan
    sizes = [1] * len(shape)
    sizes[axis] = -1
    expected = numpy.where(x > 0, x, x * alpha.reshape(sizes))
    actual = run_op("relax.nn.prelu", x, alpha, axis=axis, symbols=symbols)
    assert actual.dtype == dtype
    numpy.testing.assert_allclose(actual, expected, rtol=TOLERANCES[dtype])


def test_prelu_refuses_slopes_for_other_channels() -> None:
    x, alpha = numpy.ones((2, 3), "float32"), numpy.ones(2, "float32")
    with pytest.raises(ValueError, match="operands do not broadcast: sizes 2 and 3 differ"):
        run_op("relax.nn.prelu", x, alpha, symbols=[("n", "c"), ("d",)])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize("symbols", [(), [("n", 3)]])
def test_dropout_drops_nothing(dtype: str, symbols: Any) -> None:
    x = numpy.arange(6).reshape(2, 3).astype(dtype)
    result, mask = run_op("relax.nn.dropout", x, rate=0.3, symbols=symbols)
    assert result.dtype == mask.dtype == x.dtype
    numpy.testing.assert_array_equal(result, x)
    numpy.testing.assert_array_equal(mask, numpy.ones_like(x))


def test_rules_are_listed() -> None:
    rules = {rule.op for rule in rx.all_rules("llvm")}
    assert {f"relax.nn.{name}" for name in (*REFERENCES, "prelu", "dropout")} <= rules
