# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models, interpreted and compiled for llvm. Quantized models agree to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
import relax_mlir as rx

from onnxruntime import quantization

DIGITS = Path(__file__).parents[4] / "examples" / "digits"


class _Pictures(quantization.CalibrationDataReader):
    def __init__(self) -> None:
        self._left = iter([{"pictures": pictures(20)}])

    def get_next(self) -> Any:
        return next(self._left, None)


def pictures(count: int) -> Any:
    return numpy.load(DIGITS / "digits.npz")["pictures"][:count, None].astype("float32") / 16


def both(model: Any, *arrays: Any) -> tuple[Any, Any]:
    module = rx.from_onnx(model)
    return rx.reference(module)["main"](*arrays), rx.compile(module).copying()["main"](*arrays)


@pytest.mark.slow
def test_floats() -> None:
    found, compiled = both(DIGITS / "digits.onnx", pictures(3))
    numpy.testing.assert_allclose(found, compiled, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("format_", list(quantization.QuantFormat), ids=str)
@pytest.mark.parametrize("per_channel", [False, True])
def test_quantized(tmp_path: Path, format_: Any, per_channel: bool) -> None:
    target = tmp_path / "quantized.onnx"
    quantization.quantize_static(
        DIGITS / "digits.onnx", target, _Pictures(), quant_format=format_, per_channel=per_channel
    )
    assert any("QuantizeLinear" in node.op_type for node in onnx.load(target).graph.node)
    found, compiled = both(target, pictures(5))
    numpy.testing.assert_array_equal(found, compiled)
