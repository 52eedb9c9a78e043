# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixtures of experts, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from against_onnxruntime import Compared, one_node
from fixed_inputs import with_constants

_DOMAIN = "com.microsoft"
_EXPERTS, _SIZE, _INNER = 4, 8, 6


def _random(*shape: int, seed: int) -> Any:
    return numpy.random.default_rng(seed).standard_normal(shape).astype("float32")


def _mixture(tokens: tuple[int, ...], with_bias: bool = True, pairs: int = 1, **attributes: Any) -> tuple[Any, Any]:
    """Return a model with constant weights, and its inputs."""
    inner = pairs * _INNER
    x, router = _random(*tokens, _SIZE, seed=1), _random(int(numpy.prod(tokens)), _EXPERTS, seed=2)
    weights = {"w1": _random(_EXPERTS, inner, _SIZE, seed=3), "b1": _random(_EXPERTS, inner, seed=4),
               "w2": _random(_EXPERTS, _SIZE, _INNER, seed=5), "b2": _random(_EXPERTS, _SIZE, seed=6)}  # fmt: skip
    held = {name: each if with_bias or name[0] == "w" else None for name, each in weights.items()}
    model = one_node("MoE", {"x": x, "r": router, **held}, domain=_DOMAIN, **attributes)
    return with_constants(model, {name: each for name, each in held.items() if each is not None}), (x, router)


@pytest.mark.parametrize(("activation", "normalized"), [("relu", 0), ("gelu", 1), ("silu", 1), ("identity", 0)])
def test_experts(activation: str, normalized: int) -> None:
    model, given = _mixture((5,), k=2, activation_type=activation, normalize_routing_weights=normalized)
    Compared(model)(*given)


def test_experts_of_sequences_without_biases() -> None:
    model, given = _mixture((2, 3), with_bias=False, k=1)
    Compared(model)(*given)


@pytest.mark.parametrize("more", [{}, {"swiglu_limit": 1.0, "activation_alpha": 1.7, "activation_beta": 1.0}])
def test_gated_experts(more: dict[str, float]) -> None:
    """Use the layout of gpt-oss: pairs of a gate and a value."""
    model, given = _mixture(
        (5,), pairs=2, k=3, activation_type="swiglu", swiglu_fusion=1, normalize_routing_weights=1, **more
    )
    Compared(model)(*given)


def test_k_above_the_number_of_experts_is_refused() -> None:
    with pytest.raises(rx.RelaxError, match="must be between 1 and the number of experts, 4, got 5"):
        rx.from_onnx(_mixture((5,), k=5)[0])
