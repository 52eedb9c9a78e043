# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of com.microsoft without a counterpart in ONNX, and ONNX's experimental operators, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
import relax_mlir as rx
from against_onnxruntime import Compared, one_node
from fixed_inputs import with_constants

_DOMAIN = "com.microsoft"


def _floats(*shape: int, dtype: str = "float32") -> Any:
    return numpy.random.default_rng(0).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(("metric", "dtype"), [("euclidean", "float32"), ("sqeuclidean", "float64")])
def test_distances(metric: str, dtype: str) -> None:
    """Compute distances as skl2onnx writes them for neighbours and Gaussian processes, with `optim="cdist"`."""
    a, b = _floats(5, 3, dtype=dtype), _floats(4, 3, dtype=dtype) + 2
    Compared(one_node("CDist", {"a": a, "b": b}, domain=_DOMAIN, metric=metric))(a, b)


def test_a_distance_that_is_not_known() -> None:
    with pytest.raises(rx.RelaxError, match="attribute 'metric' must be sqeuclidean or euclidean, got 'cosine'"):
        rx.from_onnx(one_node("CDist", {"a": _floats(2, 3), "b": _floats(4, 3)}, domain=_DOMAIN, metric="cosine"))


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 2e-2), ("float32", 1e-4), ("float64", 1e-9)])
def test_inverse(dtype: str, tolerance: float) -> None:
    x = _floats(2, 3, 3, dtype=dtype)
    Compared(one_node("Inverse", {"x": x}, domain=_DOMAIN), rtol=tolerance, atol=tolerance)(x)


def test_distinct_elements_in_order() -> None:
    x = numpy.array([2, 1, 1, 3, 4, 3], "float32")
    Compared(one_node("Unique", {"x": x}, 3, domain=_DOMAIN))(x)


@pytest.mark.parametrize("symbolic", [True, False])
def test_windows_of_a_dimension(symbolic: bool) -> None:
    x = _floats(2, 7, 3)
    Compared(one_node("UnfoldTensor", {"x": x}, domain=_DOMAIN, symbolic=symbolic, dim=1, size=2, step=2))(x)


def test_windows_that_do_not_fit() -> None:
    with pytest.raises(rx.RelaxError, match="a window of 9 elements is larger than the dimension of 7"):
        rx.from_onnx(one_node("UnfoldTensor", {"x": _floats(7)}, domain=_DOMAIN, symbolic=False, size=9))


@pytest.mark.parametrize(("mode", "sizes"), [("bilinear", (3, 2)), ("nearest", (3, 2)), ("bilinear", (1, 4))])
@pytest.mark.parametrize("known", [True, False])
def test_crops(mode: str, sizes: tuple[int, int], known: bool) -> None:
    """Crop boxes within the image, partly outside of it, and upside down."""
    boxes = numpy.array([[0, 0, 1, 1], [0.1, 0.2, 0.65, 1.3], [0.9, 0.8, 0.1, 0.05], [-0.2, 0.1, 0.5, 0.5]], "float32")
    given: dict[str, Any] = {
        "x": _floats(2, 3, 6, 5), "b": boxes, "i": numpy.array([0, 1, 1, 0], "int32"), "c": numpy.array(sizes, "int32"),
    }  # fmt: skip
    model = one_node("CropAndResize", given, domain=_DOMAIN, symbolic=not known, mode=mode, extrapolation_value=-7.0)
    if known:
        model = with_constants(model, {"c": given.pop("c")})
    Compared(model)(*given.values())


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("symbolic", [True, False])
def test_ngrams_are_not_repeated(size: int, symbolic: bool) -> None:
    """Test n-grams that may be longer than the sequence."""
    tokens, scores = numpy.array([[1, 2, 3, 1, 2], [4, 4, 4, 4, 4]]), _floats(2, 6)
    given = {"i": tokens, "s": scores}
    Compared(one_node("NGramRepeatBlock", given, domain=_DOMAIN, symbolic=symbolic, ngram_size=size))(tokens, scores)


@pytest.mark.parametrize(("dtype", "positive"), [("int32", 0), ("uint32", 1), ("int64", 0), ("float64", 1)])
def test_hashes(dtype: str, positive: int) -> None:
    x = (100 * _floats(4, 5)).astype(dtype)
    Compared(one_node("MurmurHash3", {"x": x}, domain=_DOMAIN, seed=7 * positive, positive=positive), atol=0)(x)


# ---- ONNX's experimental operators ----

_IMAGE = numpy.arange(32, dtype="float32").reshape(1, 2, 4, 4)


@pytest.mark.parametrize(("op", "attributes"), [
    ("Affine", {"alpha": 2.0, "beta": 1.0}),
    ("Scale", {"scale": 3.0}),
    ("ScaledTanh", {"alpha": 2.0, "beta": 0.5}),
    ("ParametricSoftplus", {"alpha": 2.0, "beta": 0.5}),
    ("ImageScaler", {"scale": 2.0, "bias": [1.0, 2.0]}),
    ("Crop", {"border": [1, 0, 0, 1]}),
    ("Crop", {"border": [1, 1, 0, 0], "scale": [2, 3]}),
])  # fmt: skip
def test_experimental_operators(op: str, attributes: dict[str, Any]) -> None:
    _experimental(op, {"x": _IMAGE}, **attributes)(_IMAGE)


def test_slices_of_inputs() -> None:
    begin, end, axes = (numpy.array([each]) for each in (1, 3, 2))
    _experimental("DynamicSlice", {"x": _IMAGE, "b": begin, "e": end, "a": axes}, {"a": axes})(_IMAGE, begin, end)


def _experimental(op: str, inputs: dict[str, Any], constants: Any = (), **attributes: Any) -> Compared:
    model = with_constants(one_node(op, inputs, opset=9, symbolic=False, **attributes), dict(constants))
    model.ir_version = 5
    # onnx has no schema for the operator, so the model has to declare the type of its result.
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("out0", onnx.TensorProto.FLOAT, None))
    return Compared(model)
