# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that onnxruntime's tools fuse, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from against_onnxruntime import Compared, one_node

_DOMAIN = "com.microsoft"


def _floats(*shape: int, seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("float32")


@pytest.mark.parametrize("op", ["Gelu", "BiasGelu", "FastGelu", "QuickGelu"])
def test_gelu(op: str) -> None:
    bias = {"bias": _floats(8)} if op in ("BiasGelu", "FastGelu") else {}
    compared = Compared(one_node(op, {"x": _floats(2, 3, 8), **bias}, domain=_DOMAIN), {"x": (None, None, 8)})
    compared(_floats(2, 3, 8), *bias.values())
    compared(_floats(1, 7, 8), *bias.values())


def _skipping(batch: int, *parameters: str) -> dict[str, Any]:
    vectors = {name: None if name.startswith("no") else _floats(8, seed=len(name)) for name in parameters}
    return {"x": _floats(batch, 3, 8), "skip": _floats(batch, 3, 8, seed=4), **vectors}


@pytest.mark.parametrize(
    "op, parameters",
    [
        ("SkipLayerNormalization", ["gamma"]),
        ("SkipLayerNormalization", ["gamma", "beta"]),
        ("SkipLayerNormalization", ["gamma", "no beta", "bias"]),
        ("SkipSimplifiedLayerNormalization", ["gamma"]),
        ("SkipSimplifiedLayerNormalization", ["gamma", "bias"]),
    ],
)
def test_normalization_of_a_sum(op: str, parameters: list[str]) -> None:
    inputs = _skipping(2, *parameters)
    model = one_node(op, inputs, 4, _DOMAIN, epsilon=1e-3)
    for unused in (1, 2):
        model.graph.node[0].output[unused] = ""
        del model.graph.output[1]
    symbolic = {"x": (None, None, 8), "skip": (None, None, 8)}
    compared = Compared(model, symbolic)
    compared(*(value for value in inputs.values() if value is not None))
    compared(*(value for value in _skipping(5, *parameters).values() if value is not None))


def test_the_skipped_part_is_broadcast() -> None:
    inputs = {"x": _floats(2, 3, 8), "skip": _floats(3, 8), "gamma": _floats(8), "beta": _floats(8)}
    Compared(one_node("SkipLayerNormalization", inputs, domain=_DOMAIN, symbolic=False))(*inputs.values())


@pytest.mark.parametrize("opset", [9, 17])
def test_normalizations_of_older_opsets_are_imported(opset: int) -> None:
    inputs = {"x": _floats(2, 3, 8), "scale": _floats(8)}
    Compared(one_node("SimplifiedLayerNormalization", inputs, opset=opset, axis=-1))(*inputs.values())
    inputs["bias"] = _floats(8)
    Compared(one_node("LayerNormalization", inputs, opset=opset))(*inputs.values())
