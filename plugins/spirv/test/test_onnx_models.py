# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MobileNetV2 and BERT, small and from ONNX, on devices of Vulkan and OpenCL, against onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import relax_mlir as rx
from real_devices import KINDS, compiled, device_without_leaks
from small_onnx_models import bert, check, image_calls, mobilenet_v2, word_calls

pytest.importorskip("onnxruntime")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    yield from device_without_leaks(request.param)


def _call(kind: str, model: Any) -> Any:
    return compiled(kind, rx.from_onnx(model)).copying()["main"]


@pytest.mark.slow
def test_mobilenet_v2(kind: str) -> None:
    model = mobilenet_v2()
    check(model, _call(kind, model), image_calls(), 2e-5)


@pytest.mark.slow
def test_bert_of_any_size(kind: str) -> None:
    model = bert()
    check(model, _call(kind, model), word_calls(), 1e-5)
