# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations, losses and determinants: the node suite, older versions and sizes that vary against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from against_onnxruntime import Compared, one_node
from compiling import array
from node_suite import Case, cases, check

import relax_mlir as rx

_NORMS = [
    "BatchNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization", "LpNormalization",
    "MeanVarianceNormalization", "LRN", "Det",
]  # fmt: skip
_SAMPLE = [
    *cases(*_NORMS)[::2],
    *cases("LayerNormalization")[::4],
    *cases("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")[::5],
]


def _floats(*shape: int, seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("float32")


@pytest.mark.parametrize("case", _SAMPLE, ids=lambda case: case.name)
def test_the_node_suite(case: Case) -> None:
    check(case)


def _batch_norm(*shape: int, parameters: Any = None) -> dict[str, Any]:
    sizes = shape[1:2] if parameters is None else parameters
    names = {name: _floats(*sizes, seed=seed) for seed, name in enumerate(["scale", "bias", "mean"])}
    return {"x": _floats(*shape), **names, "variance": numpy.abs(_floats(*sizes, seed=9)) + 0.5}


@pytest.mark.parametrize("opset", [7, 9, 14, 15])
def test_batch_normalization_in_use(opset: int) -> None:
    inputs = _batch_norm(2, 3, 4, 5)
    compared = Compared(one_node("BatchNormalization", inputs, opset=opset), {"x": (None, 3, None, None)})
    compared(*inputs.values())
    compared(*_batch_norm(1, 3, 2, 2).values())


def test_batch_normalization_of_a_vector_is_of_one_channel() -> None:
    inputs = _batch_norm(4, parameters=(1,))
    Compared(one_node("BatchNormalization", inputs, opset=15, symbolic=False))(*inputs.values())


def test_batch_normalization_of_each_place() -> None:
    inputs = _batch_norm(2, 3, 4, 5, parameters=(3, 4, 5))
    model = one_node("BatchNormalization", inputs, opset=7, symbolic=False, spatial=0)
    Compared(model)(*inputs.values())
    trained = one_node("BatchNormalization", inputs, 5, opset=7, symbolic=False, spatial=0)
    with pytest.raises(rx.RelaxError, match="training with spatial=0 is not supported"):
        rx.from_onnx(trained)


@pytest.mark.parametrize("opset, outputs", [(6, 5), (9, 5), (14, 3)])
@pytest.mark.parametrize("momentum", [0.7, None])
def test_batch_normalization_in_training(opset: int, outputs: int, momentum: float | None) -> None:
    """Keep a share of `momentum` of the old mean and variance, 0.9 by default."""
    inputs = _batch_norm(4, 3, 5)
    attributes: dict[str, Any] = {"training_mode": 1} if opset >= 14 else {}
    attributes |= {} if momentum is None else {"momentum": momentum}
    model = one_node("BatchNormalization", inputs, outputs, opset=opset, symbolic=False, **attributes)
    result, *others = map(array, rx.compile(rx.from_onnx(model))["main"](*inputs.values()))
    x, scale, bias, *old = inputs.values()
    own = [x.mean((0, 2)), x.var((0, 2))]
    expected = (x - own[0][:, None]) / numpy.sqrt(own[1][:, None] + 1e-5) * scale[:, None] + bias[:, None]
    numpy.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    kept = 0.9 if momentum is None else momentum
    moved = [kept * before + (1 - kept) * now for before, now in zip(old, own, strict=True)]
    for found, wanted in zip(others, moved + own, strict=False):
        numpy.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_statistics_of_an_old_test_are_not_trained() -> None:
    inputs = _batch_norm(2, 3, 4)
    found = rx.compile(rx.from_onnx(one_node("BatchNormalization", inputs, opset=6, is_test=1)))
    newer = rx.compile(rx.from_onnx(one_node("BatchNormalization", inputs, opset=9)))
    numpy.testing.assert_array_equal(*(array(each["main"](*inputs.values())) for each in (found, newer)))


@pytest.mark.parametrize("axis", [1, -1])
def test_layer_normalization(axis: int) -> None:
    sizes = (3, 4) if axis == 1 else (4,)
    inputs = {"x": _floats(2, 3, 4), "scale": _floats(*sizes, seed=1), "bias": _floats(*sizes, seed=2)}
    model = one_node("LayerNormalization", inputs, 3, opset=17, axis=axis)
    compared = Compared(model)
    compared(*inputs.values())
    compared(_floats(5, 3, 4), *list(inputs.values())[1:])


def test_layer_normalization_without_a_bias() -> None:
    inputs = {"x": _floats(2, 3, 4), "scale": _floats(4)}
    Compared(one_node("LayerNormalization", inputs, opset=17))(*inputs.values())


def test_a_scale_is_broadcast() -> None:
    inputs = {"x": _floats(2, 3, 4), "scale": _floats(4), "bias": _floats(3, 1)}
    model = one_node("LayerNormalization", inputs, opset=17, symbolic=False, axis=1)
    compared = Compared(model, {"x": (None, 3, None), "scale": (4,)})
    compared(*inputs.values())


def test_wide_scales_of_narrow_data() -> None:
    inputs = {"x": _floats(2, 8).astype("float16"), "scale": _floats(8)}
    found = array(rx.compile(rx.from_onnx(one_node("RMSNormalization", inputs, opset=23)))["main"](*inputs.values()))
    x = inputs["x"].astype("float64")
    expected = x / numpy.sqrt(numpy.mean(x * x, -1, keepdims=True) + 1e-5) * inputs["scale"]
    assert found.dtype == numpy.float32
    numpy.testing.assert_allclose(found, expected, rtol=1e-3)


@pytest.mark.parametrize("opset", [18, 21])
@pytest.mark.parametrize("channels", [6, "c", None], ids=["static", "symbolic", "unknown"])
@pytest.mark.parametrize("is_known", [True, False], ids=["parameters known", "parameters symbolic"])
def test_group_normalization(opset: int, channels: Any, is_known: bool) -> None:
    """Normalize groups. Before opset 21 scales and biases belong to groups."""
    count = 3 if opset < 21 else 6
    x, scale, bias = _floats(2, 6, 5), _floats(count, seed=1), _floats(count, seed=2)
    model = one_node("GroupNormalization", {"x": x, "s": scale, "b": bias}, opset=opset, num_groups=3)
    size = count if is_known else "k"
    main = rx.compile(rx.from_onnx(model, shapes={"x": ("n", channels, "w"), "s": (size,), "b": (size,)}))["main"]
    parts = x.reshape(2, 3, -1)
    normal = (parts - parts.mean(2, keepdims=True)) / numpy.sqrt(parts.var(2, keepdims=True) + 1e-5)
    each = [numpy.repeat(values, 6 // count)[:, None] for values in (scale, bias)]
    numpy.testing.assert_allclose(array(main(x, scale, bias)), normal.reshape(x.shape) * each[0] + each[1], rtol=1e-4)
    with pytest.raises(ValueError):
        main(_floats(2, 7, 5), scale, bias)


@pytest.mark.parametrize("shape", [(2, 7), (2, 7, 3), (2, 7, 3, 4), (1, 7, 2, 3, 2)])
@pytest.mark.parametrize("size", [3, 4])
def test_local_response_normalization(shape: tuple[int, ...], size: int) -> None:
    x = _floats(*shape)
    squares = numpy.pad(x * x, [(0, 0), ((size - 1) // 2, size // 2), *[(0, 0)] * (len(shape) - 2)])
    total = sum(squares[:, start : start + 7] for start in range(size))
    model = one_node("LRN", {"x": x}, size=size, alpha=0.5, beta=0.6, bias=2.0)
    found = array(rx.compile(rx.from_onnx(model, shapes={"x": (None, *shape[1:])}))["main"](x))
    numpy.testing.assert_allclose(found, x / (2 + 0.5 / size * total) ** 0.6, rtol=1e-5)


def test_local_response_normalization_of_unknown_sizes() -> None:
    compared = Compared(one_node("LRN", {"x": _floats(2, 5, 3, 4)}, size=3), {"x": (None, 5, None, None)})
    compared(_floats(2, 5, 3, 4))
    compared(_floats(1, 5, 6, 1))


@pytest.mark.parametrize("op, attributes", [("LpNormalization", {"p": 1, "axis": 0}), ("LpNormalization", {})])
def test_sizes_that_vary(op: str, attributes: dict[str, Any]) -> None:
    compared = Compared(one_node(op, {"x": _floats(3, 4)}, **attributes))
    compared(_floats(3, 4))
    compared(_floats(5, 2))


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_determinants(rows: int) -> None:
    matrices = _floats(4, rows, rows)
    matrices[1] = 0
    matrices[2] = numpy.eye(rows)[::-1]
    matrices[3, :, 0] = 0
    Compared(one_node("Det", {"x": matrices}, symbolic=False))(matrices)


def test_determinants_of_any_number_of_matrices() -> None:
    compared = Compared(one_node("Det", {"x": _floats(2, 2, 2)}), {"x": (None, 2, 2)})
    compared(_floats(3, 2, 2))
    compared(_floats(1, 2, 2))


def test_determinants_of_large_matrices_are_refused() -> None:
    with pytest.raises(rx.RelaxError, match="a known size of at most 16, got 17"):
        rx.from_onnx(one_node("Det", {"x": _floats(17, 17)}, symbolic=False))


def test_losses_of_sizes_that_vary() -> None:
    inputs = {"x": _floats(2, 3, 4), "labels": numpy.array([[0, 2, 1, 1], [2, 2, 0, 1]])}
    compared = Compared(one_node("SoftmaxCrossEntropyLoss", inputs, 2, opset=13, ignore_index=2))
    compared(*inputs.values())
    compared(_floats(1, 3, 2), numpy.array([[1, 2]]))
