# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses, legalized by the default rules and run, against onnxruntime and numpy."""

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

TOLERANCES = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-6, "float64": 1e-14}
REDUCTIONS = ("none", "sum", "mean")
IGNORED = -100
SYMBOLS = [("n", "c", "d"), ("n", "d"), ("c",)]


def ran(name: str, *arrays: Any, **options: Any) -> Any:
    return run_op(f"relax.nn.{name}", *arrays, **options)


def close(actual: Any, expected: Any, dtype: str = "float32") -> None:
    expected = numpy.asarray(expected)
    assert actual.shape == expected.shape
    actual, expected = actual.astype("float64"), expected.astype("float64")
    numpy.testing.assert_allclose(actual, expected, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])


def random(shape: Any, dtype: str = "float32", seed: int = 0) -> Any:
    values = numpy.random.default_rng(seed).normal(size=shape)
    return numpy.asarray(values).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def labels(shape: Any, classes: int, ignored: int | None = None, dtype: str = "int64") -> Any:
    generator = numpy.random.default_rng(3)
    targets = generator.integers(0, max(classes, 1), shape).astype(dtype)
    if ignored is not None:
        targets[generator.random(shape) < 0.3] = ignored
    return targets


def nll(predictions: Any, targets: Any, weights: Any, reduction: str, ignored: int = IGNORED) -> Any:
    """Return onnxruntime's loss, which has no default for the ignored target."""
    given_weights = () if weights is None else (weights,)
    return run_onnx(
        "NegativeLogLikelihoodLoss", predictions, targets, *given_weights, reduction=reduction, ignore_index=ignored
    )[0]


@draws(20)
@given(st.data())
def test_nll_as_onnxruntime(data: Any) -> None:
    reduction = data.draw(st.sampled_from(REDUCTIONS), label="reduction")
    places = data.draw(st.lists(st.integers(1, 3), max_size=2), label="places")
    batch, classes = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    ignored = data.draw(st.sampled_from((IGNORED, 0, 2)), label="ignored")
    predictions = random((batch, classes, *places))
    targets = labels((batch, *places), classes, ignored if data.draw(st.booleans()) else None)
    targets[targets >= classes] = min(ignored, classes - 1) if ignored >= classes else ignored
    weights = (numpy.abs(random(classes, seed=1)) + 0.1) if data.draw(st.booleans(), label="weights") else None
    with numpy.errstate(invalid="ignore"):
        expected = nll(predictions, targets, weights, reduction, ignored)
    arrays = (predictions, targets) if weights is None else (predictions, targets, weights)
    close(ran("nll_loss", *arrays, reduction=reduction, ignore_index=ignored), expected)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float64"))
def test_nll_of_other_floats(dtype: str, reduction: str) -> None:
    predictions, weights = random((4, 5, 3), dtype), numpy.abs(random(5, dtype, 1))
    targets = labels((4, 3), 5, IGNORED)
    wide = [each.astype("float32") for each in (predictions, weights)]
    expected = nll(wide[0], targets, wide[1], reduction)
    tolerance = "float32" if dtype == "float64" else dtype
    close(ran("nll_loss", predictions, targets, weights, reduction=reduction), expected, tolerance)


@pytest.mark.parametrize("dtype", ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"))
def test_targets_of_every_type(dtype: str) -> None:
    predictions, targets = random((6, 4)), labels((6,), 4, 3, dtype)
    expected = nll(predictions, targets.astype("int64"), None, "sum", 3)
    close(ran("nll_loss", predictions, targets, reduction="sum", ignore_index=3), expected)
    # No number without sign is -100, whatever its bits.
    with pytest.raises(IndexError, match="is out of range for 4 classes"):
        ran("nll_loss", predictions, (targets * 0 - 101 if dtype[0] == "i" else targets * 0 - 100).astype(dtype))


def test_nll_without_a_batch() -> None:
    predictions, weights = random((5,)), numpy.abs(random(5, seed=1))
    target = numpy.array(3)
    close(ran("nll_loss", predictions, target, weights, reduction="sum"), -predictions[3] * weights[3])
    close(ran("nll_loss", predictions, target, weights), -predictions[3])
    close(ran("nll_loss", predictions, numpy.array(IGNORED), weights, reduction="none"), 0.0)


def test_nothing_but_ignored_targets() -> None:
    predictions, targets = random((3, 4)), numpy.full(3, IGNORED)
    assert numpy.isnan(ran("nll_loss", predictions, targets))
    assert ran("nll_loss", predictions, targets, reduction="sum") == 0
    nothing = numpy.full((3, 4), numpy.nan, "float32")
    assert ran("nll_loss", nothing, targets, reduction="none").tolist() == [0, 0, 0]


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_nll_with_sizes_known_at_run_time(reduction: str) -> None:
    for batch, classes, places in [(2, 3, 4), (1, 1, 1), (0, 3, 2), (5, 7, 0), (3, 2, 9)]:
        arrays = random((batch, classes, places)), labels((batch, places), classes, IGNORED), random(classes, seed=2)
        actual = ran("nll_loss", *arrays, reduction=reduction, symbols=SYMBOLS)
        if batch * places:
            close(actual, nll(*arrays, reduction), "float16")
        elif reduction == "none":
            assert actual.shape == (batch, places)
        else:
            assert numpy.isnan(actual) if reduction == "mean" else actual == 0


@pytest.mark.parametrize("target", (-1, -99, -101, 5, 2**40, -(2**63), 2**63 - 1))
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_target_that_is_no_class(reduction: str, target: int) -> None:
    targets = numpy.array([[0, 4], [target, IGNORED]])
    with pytest.raises(IndexError, match=f"target {target} is out of range for 5 classes"):
        ran("nll_loss", random((2, 5, 2)), targets, random(5), reduction=reduction, symbols=SYMBOLS)


def test_no_classes() -> None:
    with pytest.raises(IndexError, match="target -100 is out of range for 0 classes"):
        ran("nll_loss", random((2, 0, 2)), numpy.full((2, 2), IGNORED), random(0), symbols=SYMBOLS)


def test_sizes_that_do_not_fit() -> None:
    symbols = [("n", "c"), ("m",), ("k",)]
    targets = numpy.array([0, 1, 0])
    with pytest.raises(ValueError, match="sizes 2 and 3 differ"):
        ran("nll_loss", random((2, 3)), targets, random(3), symbols=symbols)
    with pytest.raises(ValueError, match="classes and weights: sizes 3 and 2 differ"):
        ran("nll_loss", random((3, 3)), targets, random(2), symbols=symbols)
    with pytest.raises(ValueError, match="sizes 2 and 3 differ"):
        ran("cross_entropy_with_logits", random((2, 3)), random((3, 3)), symbols=[("n", 3), ("m", 3)])


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "float32", "float64"))
@pytest.mark.parametrize("shape", [(), (7,), (4, 5), (2, 3, 4), (1, 100)])
def test_cross_entropy(shape: Any, dtype: str) -> None:
    predictions, wanted = random(shape, dtype), random(shape, dtype, 1)
    wide = [each.astype("float64") for each in (predictions, wanted)]
    expected = -(wide[0] * wide[1]).sum() / (shape[0] if len(shape) > 1 else 1)
    close(ran("cross_entropy_with_logits", predictions, wanted), expected, dtype)


def test_cross_entropy_with_sizes_known_at_run_time() -> None:
    for shape in [(2, 3), (1, 1), (5, 40), (3, 0)]:
        x, y = random(shape), random(shape, seed=1)
        expected = -(x.astype("float64") * y).sum() / shape[0]
        close(ran("cross_entropy_with_logits", x, y, symbols=[("n", "c"), ("n", "c")]), expected)
    assert numpy.isnan(ran("cross_entropy_with_logits", *[random((0, 3))] * 2, symbols=[("n", "c"), ("n", "c")]))


def test_cross_entropy_of_log_softmax_is_softmax_cross_entropy() -> None:
    scores, targets = random((6, 5)), labels((6,), 5)
    logs = scores - numpy.log(numpy.exp(scores).sum(1, keepdims=True))
    expected = run_onnx("SoftmaxCrossEntropyLoss", scores, targets)[0]
    close(ran("cross_entropy_with_logits", logs, numpy.eye(5, dtype="float32")[targets]), expected)
    close(ran("nll_loss", logs, targets), expected)


def test_a_long_sum_keeps_its_digits() -> None:
    x = numpy.full((1, 1 << 20), 0.1, "float32")
    exact = -float(numpy.float32(0.1)) * x.size
    close(ran("cross_entropy_with_logits", x, numpy.ones_like(x)), numpy.float64(exact))
