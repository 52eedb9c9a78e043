# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refusals of the codegen cudnn, with reasons. test_cudnn_runtime.py tests the runtime."""

from __future__ import annotations

from typing import Any

import pytest
import relax_mlir as rx
from nvidia_parts import module_of
from relax_mlir import relax
from relax_mlir.passes.core.journal import Journal


def image(name: str, **attributes: Any) -> Any:
    return lambda x: getattr(relax.nn, name)(x, **attributes)


@pytest.mark.parametrize(
    ("body", "parameters", "words"),
    [
        (relax.nn.conv2d, [rx.tensor((1, 2, 5, 5), "float64"), rx.tensor((2, 2, 3, 3), "float64")], "not of f64"),
        (
            lambda x, w: relax.nn.conv2d(x, w, padding=(0, 1, 1, 1)),
            [rx.tensor((1, 2, 5, 5)), rx.tensor((2, 2, 3, 3))],
            "pads both sides equally, not by 0 and 1 along H",
        ),
        (
            lambda x, w: relax.nn.conv2d(x, w, kernel_layout="HWIO"),
            [rx.tensor((1, 2, 5, 5)), rx.tensor((3, 3, 2, 2))],
            "not data NCHW, weight HWIO, result NCHW",
        ),
        (
            lambda x, w: relax.nn.conv2d(x, w, out_dtype="float32"),
            [rx.tensor((1, 2, 5, 5), "float16"), rx.tensor((2, 2, 3, 3), "float16")],
            "of one type, not f16, f16 and f32",
        ),
        (image("max_pool2d", pool_size=2, dilation=2), [rx.tensor((1, 2, 8, 8))], "no dilation, got 2 along H"),
        (image("max_pool2d", pool_size=3, strides=2, ceil_mode=True), [rx.tensor((1, 2, 8, 8))], "(ceil_mode)"),
        (image("max_pool2d", pool_size=2, padding=2), [rx.tensor((1, 2, 8, 8))], "padding 2 along H is not smaller"),
        (image("softmax"), [rx.tensor((3, 4), "float64")], "not of f64"),
    ],
)
def test_refusals(body: Any, parameters: Any, words: str) -> None:
    module = module_of(body, parameters)
    with Journal().recording() as journal:
        rx.Pipeline("relax-partition{codegens=cudnn explain}").run(module)
    assert "relax.call_external" not in str(module)
    assert words in str(journal.facts), journal.facts
