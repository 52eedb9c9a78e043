# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear attention and its neighbours in language models, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from against_onnxruntime import Compared, one_node

_DOMAIN = "com.microsoft"
_BATCH, _KEYS, _VALUES = 2, 4, 3


def _random(*shape: int, seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).standard_normal(shape).astype("float32")


def _attention(
    rule: str, queries: int, heads: int, steps: int, decay: int = 1, with_state: bool = True, symbolic: bool = True
) -> tuple[Any, list[Any]]:
    inputs: dict[str, Any] = {
        "q": _random(_BATCH, steps, queries * _KEYS, seed=1),
        "k": 0.5 * _random(_BATCH, steps, heads * _KEYS, seed=2),
        "v": _random(_BATCH, steps, heads * _VALUES, seed=3),
        "s": _random(_BATCH, heads, _KEYS, _VALUES, seed=4) if with_state else None,
        "g": -abs(_random(_BATCH, steps, heads * decay, seed=5)) if "gated" in rule else None,
        "b": abs(_random(_BATCH, steps, heads, seed=6)) / 3 if "delta" in rule else None,
    }
    while inputs[list(inputs)[-1]] is None:
        inputs.popitem()
    model = one_node(
        "LinearAttention", inputs, 2, _DOMAIN, symbolic=False, update_rule=rule, q_num_heads=queries, kv_num_heads=heads
    )
    if symbolic:  # Batch and steps.
        for given in model.graph.input:
            given.type.tensor_type.shape.dim[0].dim_param = "b"
            if given.name != "s":
                given.type.tensor_type.shape.dim[1].dim_param = "t"
    return model, [each for each in inputs.values() if each is not None]


@pytest.mark.parametrize(("rule", "queries", "heads", "steps", "decay", "symbolic"), [
    ("gated_delta", 4, 4, 5, 1, True),
    ("gated_delta", 2, 4, 3, 1, False),
    ("gated", 4, 2, 12, _KEYS, False),
    ("delta", 2, 2, 1, 1, True),
    ("linear", 2, 2, 4, 1, False),
])  # fmt: skip
def test_linear_attention(rule: str, queries: int, heads: int, steps: int, decay: int, symbolic: bool) -> None:
    """Share heads of keys among queries, and the other way round. Few steps are unrolled, and more become a loop."""
    model, given = _attention(rule, queries, heads, steps, decay, with_state=steps != 4, symbolic=symbolic)
    Compared(model)(*given)


def test_a_gate_that_is_missing() -> None:
    inputs = {"q": _random(1, 2, 4), "k": _random(1, 2, 4), "v": _random(1, 2, 4)}
    model = one_node("LinearAttention", inputs, 2, _DOMAIN, symbolic=False, q_num_heads=1, kv_num_heads=1)
    with pytest.raises(rx.RelaxError, match="input #4 is missing, which the update rule reads"):
        rx.from_onnx(model)


def test_gates() -> None:
    a, b = _random(2, 3, 4), _random(2, 3, 4, seed=1)
    inputs = {"a": a, "bias": _random(4, seed=2), "scale": -abs(_random(4, seed=3)), "b": b}
    Compared(one_node("LinearAttentionGate", inputs, 2, _DOMAIN))(*inputs.values())


@pytest.mark.parametrize("activation", ["silu", "sigmoid"])
def test_gated_norms(activation: str) -> None:
    inputs = {"x": _random(2, 3, 8), "scale": _random(4, seed=1), "gate": _random(2, 3, 8, seed=2)}
    Compared(one_node("GatedRMSNorm", inputs, domain=_DOMAIN, symbolic=False, activation=activation))(*inputs.values())


@pytest.mark.parametrize(
    ("with_state", "activation", "dilation"), [(True, "silu", 1), (False, "none", 1), (True, "none", 2)]
)
def test_causal_convolutions(with_state: bool, activation: str, dilation: int) -> None:
    inputs = {"x": _random(2, 4, 5), "w": _random(4, 1, 3, seed=1), "b": _random(4, seed=2)}
    if with_state:
        inputs["s"] = _random(2, 4, 2 * dilation, seed=3)
    more = {"dilation": dilation} if dilation > 1 else {}
    Compared(one_node("CausalConvWithState", inputs, 2, _DOMAIN, symbolic=False, activation=activation, **more))(
        *inputs.values()
    )
