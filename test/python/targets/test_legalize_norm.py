# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations, legalized by the default rules, compiled for llvm and run, against onnxruntime and numpy in f64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from onnx_oracle import run_onnx
from prim_jit import run_op

import relax_mlir as rx

BF16 = ml_dtypes.bfloat16
#: Of results around 1.
TOLERANCES = {"float16": 2e-3, BF16: 2e-2, "float32": 2e-6, "float64": 1e-14}
FLOATS = tuple(TOLERANCES)


def ran(name: str, *arrays: Any, **options: Any) -> Any:
    return run_op(f"relax.nn.{name}", *arrays, **options)


def drawn(dtype: Any, *shape: int, seed: int = 7) -> Any:
    return (numpy.random.default_rng(seed).normal(size=shape) * 2 + 1).astype(dtype)


def normalized(x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    """Normalize in f64, for which numpy uses two passes."""
    x = x.astype("float64")
    return (x - x.mean(axes, keepdims=True)) / numpy.sqrt(x.var(axes, keepdims=True) + epsilon)


def along(parameter: Any, axes: tuple[int, ...], rank: int) -> Any:
    """Return a parameter along the axes as an array of the data's rank."""
    order = numpy.argsort([axis % rank for axis in axes])
    sizes = [1] * rank
    for axis, size in zip(axes, parameter.shape, strict=True):
        sizes[axis] = size
    return parameter.transpose(order).astype("float64").reshape(sizes)


def close(actual: Any, expected: Any, dtype: Any, scale: float = 1.0) -> None:
    assert actual.dtype == dtype and actual.shape == expected.shape
    tolerance = TOLERANCES[dtype] * scale
    numpy.testing.assert_allclose(actual.astype("float64"), expected, rtol=tolerance, atol=tolerance)


# ---- layer norm ----
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_layer_norm(dtype: Any) -> None:
    for shape in ((3, 5, 40), (1, 1, 1), (0, 2, 3)):
        x, gamma, beta = drawn(dtype, *shape), drawn(dtype, *shape[1:]), drawn(dtype, *shape[1:], seed=8)
        symbols = [("n", "m", "k"), ("m", "k"), ("m", "k")]
        actual = ran("layer_norm", x, gamma, beta, axes=(-2, -1), symbols=symbols, epsilon=1e-3)
        expected = normalized(x, (1, 2), 1e-3) * gamma.astype("float64") + beta.astype("float64")
        close(actual, expected, dtype, scale=8)


@draws(25)
@given(st.data())
def test_layer_norm_along_any_axes(data: Any) -> None:
    """Order the parameters' dimensions by `axes`, which need not ascend."""
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4), label="shape"))
    rank = len(shape)
    places = data.draw(st.lists(st.sampled_from(range(rank)), unique=True, min_size=1), label="axes")
    axes = tuple(place - rank * data.draw(st.booleans()) for place in places)
    flags = {name: data.draw(st.booleans(), label=name) for name in ("center", "scale")}
    x = drawn("float32", *shape)
    gamma, beta = (drawn("float32", *(shape[axis] for axis in axes), seed=seed) for seed in (1, 2))
    actual = ran("layer_norm", x, gamma, beta, axes=axes, epsilon=0.5, **flags)
    expected = normalized(x, tuple(places), 0.5)
    expected = expected * along(gamma, axes, rank) if flags["scale"] else expected
    expected = expected + along(beta, axes, rank) if flags["center"] else expected
    close(actual, expected, "float32", scale=4)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_layer_norm_as_onnxruntime_does(dtype: str) -> None:
    x, gamma, beta = drawn(dtype, 4, 768), drawn(dtype, 768), drawn(dtype, 768, seed=2)
    (expected,) = run_onnx("LayerNormalization", x, gamma, beta, axis=-1, epsilon=1e-5)
    close(ran("layer_norm", x, gamma, beta, axes=(-1,)), expected.astype("float64"), dtype, scale=4)


# ---- instance norm and group norm ----
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_instance_norm(dtype: Any) -> None:
    x, gamma, beta = drawn(dtype, 2, 3, 4, 5), drawn(dtype, 3), drawn(dtype, 3, seed=8)
    symbols = [("n", "c", "h", 5), ("c",), ("c",)]
    actual = ran("instance_norm", x, gamma, beta, channel_axis=1, axes=(2, 3), symbols=symbols)
    expected = normalized(x, (2, 3), 1e-5) * along(gamma, (1,), 4) + along(beta, (1,), 4)
    close(actual, expected, dtype, scale=8)


def test_instance_norm_as_onnxruntime_does() -> None:
    x, gamma, beta = drawn("float32", 2, 3, 30, 20), drawn("float32", 3), drawn("float32", 3, seed=2)
    (expected,) = run_onnx("InstanceNormalization", x, gamma, beta, epsilon=1e-3)
    close(ran("instance_norm", x, gamma, beta, channel_axis=-3, axes=(-2, -1), epsilon=1e-3), expected, "float32", 4)


def test_instance_norm_without_parameters_channels_last() -> None:
    x, gamma, beta = drawn("float64", 2, 4, 3), drawn("float64", 3), drawn("float64", 3, seed=2)
    actual = ran("instance_norm", x, gamma, beta, channel_axis=-1, axes=(1,), center=False, scale=False)
    close(actual, normalized(x, (1,), 1e-5), "float64")


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(
    "symbols",
    [
        (),
        [("n", "c", "h", "w"), ("c",), ("c",)],
        [("n", "c", "h", "w"), (6,), ("d",)],
        [("n", 6, "h", "w"), ("c",), (6,)],
    ],
    ids=["static", "symbolic", "symbolic data", "symbolic parameters"],
)
def test_group_norm(dtype: Any, symbols: Any) -> None:
    x, gamma, beta = drawn(dtype, 2, 6, 4, 5), drawn(dtype, 6), drawn(dtype, 6, seed=8)
    actual = ran("group_norm", x, gamma, beta, num_groups=3, channel_axis=1, axes=(2, 3), symbols=symbols)
    expected = normalized(x.reshape(2, 3, 2, 4, 5), (2, 3, 4), 1e-5).reshape(x.shape)
    close(actual, expected * along(gamma, (1,), 4) + along(beta, (1,), 4), dtype, scale=8)


def test_group_norm_channels_last() -> None:
    """Normalize with a single group of all channels, and with one group per channel, which is instance norm."""
    x, gamma, beta = drawn("float64", 2, 3, 4), drawn("float64", 4), drawn("float64", 4, seed=2)
    for groups, axes, view in ((1, (1,), (2, 3, 1, 4)), (4, (1,), (2, 3, 4, 1)), (2, (0, -2), (2, 3, 2, 2))):
        over = tuple(axis % 3 for axis in axes)
        expected = normalized(x.reshape(view), (*over, 3), 1e-5).reshape(x.shape) * gamma + beta
        close(ran("group_norm", x, gamma, beta, num_groups=groups, channel_axis=-1, axes=axes), expected, "float64", 4)


def test_group_norm_refuses_channels_that_are_left_over() -> None:
    x, gamma = drawn("float32", 2, 7, 4), drawn("float32", 7)
    with pytest.raises(ValueError, match="3 groups of channels: sizes 6 and 7 differ"):
        ran(
            "group_norm", x, gamma, gamma,
            num_groups=3, channel_axis=1, axes=(2,), symbols=[("n", "c", 4), ("c",), ("c",)],
        )  # fmt: skip


# ---- RMS norm ----
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rms_norm(dtype: Any) -> None:
    for shape in ((3, 40), (2, 5000), (0, 3)):
        x, weight = drawn(dtype, *shape), drawn(dtype, *shape[1:])
        wide = x.astype("float64")
        expected = wide / numpy.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5) * weight.astype("float64")
        close(ran("rms_norm", x, weight, symbols=[("n", "m"), ("m",)]), expected, dtype, scale=4)
    x, weight = drawn(dtype, 2, 3, 4), drawn(dtype, 3, 4)
    wide = x.astype("float64")
    expected = wide / numpy.sqrt((wide**2).mean((1, 2), keepdims=True) + 0.5) * weight.astype("float64")
    close(ran("rms_norm", x, weight, axes=(1, -1), epsilon=0.5), expected, dtype, scale=4)


# ---- batch norm ----
def parameters(dtype: Any, channels: int) -> list[Any]:
    """Return gamma, beta, moving mean and variance."""
    drawn_ = [drawn(dtype, channels, seed=seed) for seed in range(4)]
    return [*drawn_[:3], numpy.abs(drawn_[3]) + numpy.asarray(0.5, dtype)]


@pytest.mark.parametrize("symbols", ["static", "symbolic"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_batch_norm_in_use(dtype: Any, symbols: str) -> None:
    x, given_ = drawn(dtype, 2, 3, 4, 5), parameters(dtype, 3)
    shapes = [("n", "c", "h", "w"), *[("c",)] * 4] if symbols == "symbolic" else ()
    actual, mean, variance = ran("batch_norm", x, *given_, axis=1, training=False, symbols=shapes)
    gamma, beta, *moving = (along(each, (1,), 4) for each in given_)
    close(actual, (x.astype("float64") - moving[0]) / numpy.sqrt(moving[1] + 1e-5) * gamma + beta, dtype, scale=16)
    numpy.testing.assert_array_equal(mean, given_[2])
    numpy.testing.assert_array_equal(variance, given_[3])


@pytest.mark.parametrize("symbols", ["static", "symbolic"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_batch_norm_in_training(dtype: Any, symbols: str) -> None:
    x, given_ = drawn(dtype, 2, 5, 4, 3), parameters(dtype, 3)
    shapes = [("n", "h", "w", "c"), *[("c",)] * 4] if symbols == "symbolic" else ()
    actual, mean, variance = ran("batch_norm", x, *given_, axis=-1, momentum=0.25, symbols=shapes)
    gamma, beta, old_mean, old_variance = (each.astype("float64") for each in given_)
    wide = x.astype("float64")
    close(actual, normalized(x, (0, 1, 2), 1e-5) * gamma + beta, dtype, scale=8)
    close(mean, old_mean * 0.75 + wide.mean((0, 1, 2)) * 0.25, dtype, scale=2)
    close(variance, old_variance * 0.75 + wide.var((0, 1, 2)) * 0.25, dtype, scale=2)


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_as_onnxruntime_does(training: bool) -> None:
    """Compare with onnxruntime, whose momentum is the weight of the old values."""
    x, given_ = drawn("float32", 4, 3, 16, 16), parameters("float32", 3)
    expected = run_onnx(
        "BatchNormalization", x, *given_,
        outputs=3 if training else 1, opset=15, epsilon=1e-5, momentum=0.9, training_mode=int(training),
    )  # fmt: skip
    for actual, wanted in zip(ran("batch_norm", x, *given_, axis=1, training=training), expected, strict=False):
        close(actual, wanted, "float32", scale=8)


def test_batch_norm_without_gamma_and_beta() -> None:
    x, given_ = drawn("float64", 6, 3), parameters("float64", 3)
    actual, _, _ = ran("batch_norm", x, *given_, axis=1, center=False, scale=False)
    close(actual, normalized(x, (0,), 1e-5), "float64")


# ---- all ----
@pytest.mark.parametrize("name", ["layer_norm", "instance_norm", "group_norm", "batch_norm"])
def test_large_means_lose_nothing(name: str) -> None:
    """Subtract the mean first: the mean of squares minus the squared mean would be noise."""
    x = (numpy.random.default_rng(1).normal(size=(1, 2, 20000)) + 1000).astype("float32")
    attributes = {
        "layer_norm": {"axes": (0, 2)},
        "instance_norm": {"channel_axis": 1, "axes": (0, 2)},
        "group_norm": {"channel_axis": 1, "axes": (0, 2), "num_groups": 2},
        "batch_norm": {"axis": 1},
    }
    size = (1, 20000) if name == "layer_norm" else (2,)
    ones, zeros = numpy.ones(size, "float32"), numpy.zeros(size, "float32")
    given_ = [ones, zeros, zeros, ones] if name == "batch_norm" else [ones, zeros]
    actual = ran(name, x, *given_, **attributes[name])
    close(actual[0] if name == "batch_norm" else actual, normalized(x, (0, 2), 1e-5), "float32", scale=50)


def test_sizes_that_only_the_run_tells_are_checked() -> None:
    x, short = drawn("float32", 2, 7), drawn("float32", 3)
    with pytest.raises(ValueError, match="gamma and the data along axis 1: sizes 3 and 7 differ"):
        ran("layer_norm", x, short, short, axes=(1,), symbols=[("n", "m"), ("k",), ("k",)])


def test_unknown_sizes_become_known() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((None, None)), *[rx.tensor((None,))] * 4]) as f:
        f.returns(*rx.relax.nn.batch_norm(*f, axis=1))
    rx.LegalizeOps(target="llvm")(module)
    module.verify()
    assert '"relax.nn.batch_norm"(' not in str(module)
