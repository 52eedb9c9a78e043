# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LSTMs of onnxruntime's quantizer, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from against_onnxruntime import Compared
from onnx import helper, numpy_helper

_RANDOM = numpy.random.default_rng(12)
_SIZE, _WIDTH = 3, 5


def _floats(*shape: int) -> Any:
    return _RANDOM.standard_normal(shape).astype("float32")


def _model(weight: str, per_channel: bool, optional: bool, **attributes: Any) -> onnx.ModelProto:
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    gates, shape = 4 * _SIZE, (directions, 4 * _SIZE) if per_channel else (directions,)
    # Signed weights have seven bits: without VNNI onnxruntime sums products of bytes in pairs, which saturate at 16
    # bits. MatMulInteger shows the same.
    low, high = (0, 255) if weight == "uint8" else (-64, 63)
    bytes_ = lambda *sizes: _RANDOM.integers(low, high, sizes, endpoint=True).astype(weight)  # noqa: E731
    held = {
        "W": bytes_(directions, _WIDTH, gates),
        "R": bytes_(directions, _SIZE, gates),
        "B": _floats(directions, 2 * gates),
        "h": _floats(directions, 2, _SIZE),
        "c": _floats(directions, 2, _SIZE),
        "P": _floats(directions, 3 * _SIZE),
        "ws": _RANDOM.uniform(0.005, 0.02, shape).astype("float32"),
        # onnxruntime takes none with one scale for each gate.
        "wz": numpy.zeros(shape, weight) if per_channel or weight == "int8" else bytes_(*shape),
        "rs": _RANDOM.uniform(0.005, 0.02, shape).astype("float32"),
        "rz": numpy.zeros(shape, weight) if per_channel or weight == "int8" else bytes_(*shape),
    }
    names = ["x", "W", "R", *("B", "", "h", "c", "P" if "clip" not in attributes else "")]
    names = names if optional else ["x", "W", "R", "", "", "", "", ""]
    node = helper.make_node(
        "DynamicQuantizeLSTM",
        [*names, "ws", "wz", "rs", "rz"],
        ["y", "yh", "yc"],
        domain="com.microsoft",
        hidden_size=_SIZE,
        **attributes,
    )
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", 1, ["steps", "batch", _WIDTH])],
        [helper.make_tensor_value_info(name, 1, None) for name in ("y", "yh", "yc")],
        [numpy_helper.from_array(array, name) for name, array in held.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("weight", ["int8", "uint8"])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize(
    ("optional", "attributes"),
    [
        (False, {}),
        (True, {"direction": "reverse"}),
        (True, {"direction": "bidirectional", "clip": 0.5}),
        (False, {"activations": ["Sigmoid", "Relu", "Tanh"], "input_forget": 1}),
    ],
)
def test_against_onnxruntime(weight: str, per_channel: bool, optional: bool, attributes: dict[str, Any]) -> None:
    compared = Compared(_model(weight, per_channel, optional, **attributes), rtol=1e-3, atol=2e-3)
    for steps, batch in ((1, 2), (6, 2), *(() if optional else ((4, 3),))):
        compared(_floats(steps, batch, _WIDTH))
