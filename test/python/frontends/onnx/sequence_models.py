# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers for models with sequences and optionals: compilation, refusals, comparison with onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy
import onnx.parser
import onnxruntime
import pytest

import relax_mlir as rx
from relax_mlir import runtime


def model(text: str, opset: int = 21) -> Any:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]>\nmain {text}')


def compiled(text: str, **shapes: Any) -> Any:
    return rx.compile(rx.from_onnx(model(text), shapes=shapes))["main"]


def plain(result: Any) -> Any:
    """Return a result as an array, a list of arrays, or None."""
    if result is None or isinstance(result, numpy.ndarray):
        return result
    return runtime.to_numpy(result) if hasattr(result, "__dlpack__") else [plain(each) for each in result]


def same(actual: Any, expected: Any) -> None:
    if expected is None or isinstance(expected, list):
        assert (actual is None) == (expected is None)
        for found, wanted in zip(actual or [], expected or [], strict=True):
            same(found, wanted)
        return
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    numpy.testing.assert_allclose(actual, expected, rtol=1e-5)


class Compared:
    """Compiled model beside onnxruntime's. A call compares their results."""

    def __init__(self, text: str, opset: int = 21, **shapes: Any):
        self.model = model(text, opset)
        self.main = rx.compile(rx.from_onnx(self.model, shapes=shapes))["main"]
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(
            self.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, *inputs: Any) -> list[Any]:
        names = [each.name for each in self.model.graph.input]
        expected = self.session.run(None, dict(zip(names, inputs, strict=True)))
        results = self.main(*inputs)
        actual = [plain(each) for each in ([results] if len(expected) == 1 else results)]
        for found, wanted in zip(actual, expected, strict=True):
            same(found, wanted)
        return actual


def floats(*shape: int) -> Any:
    return numpy.random.default_rng(5).normal(size=shape).astype("float32")


def integer(value: int) -> Any:
    return numpy.array(value, "int64")


def truth(value: bool) -> Any:
    return numpy.array(value)


def refused(text: str, **shapes: Any) -> str:
    with pytest.raises(rx.RelaxError) as raised:
        rx.from_onnx(model(text), shapes=shapes)
    return str(raised.value)
