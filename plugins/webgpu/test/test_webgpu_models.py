# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MobileNetV2 and BERT, small and from ONNX, on a device of WebGPU, against onnxruntime."""

from __future__ import annotations

import pytest
import relax_mlir as rx
from real_webgpu import skip_without
from small_onnx_models import bert, check, image_calls, mobilenet_v2, word_calls

pytest.importorskip("onnxruntime")


@pytest.fixture(autouse=True)
def _device() -> None:
    skip_without()


@pytest.mark.slow
def test_mobilenet_v2() -> None:
    model = mobilenet_v2()
    check(model, rx.compile(rx.from_onnx(model), target="webgpu")["main"], image_calls(), 2e-5)


@pytest.mark.slow
def test_bert_of_any_size() -> None:
    model = bert()
    check(model, rx.compile(rx.from_onnx(model), target="webgpu")["main"], word_calls(), 1e-5)
