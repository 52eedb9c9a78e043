# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RNN, GRU and LSTM against onnxruntime: every option, unrolled and in a loop over lengths that are dynamic."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from against_onnxruntime import Compared, one_node
from example_counts import draws
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from node_suite import Case, cases, check

import relax_mlir as rx

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_FUNCTIONS = [
    "Relu",
    "Tanh",
    "Sigmoid",
    "Affine",
    "LeakyRelu",
    "ThresholdedRelu",
    "ScaledTanh",
    "HardSigmoid",
    "Elu",
    "Softsign",
    "Softplus",
]


def _floats(*shape: int, seed: int = 3) -> Any:
    return (numpy.random.default_rng(seed).normal(size=shape) * 0.5).astype("float32")


@pytest.mark.parametrize("case", cases("RNN", "GRU", "LSTM")[::2], ids=lambda case: case.name)
def test_the_node_suite(case: Case) -> None:
    check(case)


def _inputs(op: str, steps: int, batch: int, directions: int, optional: Any, size: int = 4, width: int = 3) -> Any:
    gates = _GATES[op]
    inputs = {
        "x": _floats(steps, batch, width, seed=1),
        "w": _floats(directions, gates * size, width, seed=2),
        "r": _floats(directions, gates * size, size, seed=3),
        "b": _floats(directions, 2 * gates * size, seed=4) if "b" in optional else None,
        "lengths": numpy.array([max(steps - each, 1) for each in range(batch)], "int32") if "l" in optional else None,
        "h": _floats(directions, batch, size, seed=5) if "h" in optional else None,
    }
    if op == "LSTM":
        inputs["c"] = _floats(directions, batch, size, seed=6) if "h" in optional else None
        inputs["p"] = _floats(directions, 3 * size, seed=7) if "p" in optional else None
    return inputs


def _present(inputs: Any) -> list[Any]:
    return [value for value in inputs.values() if value is not None]


def _shapes(inputs: Any, symbolic: bool) -> dict[str, Any]:
    """Only steps and the batch are symbolic, the sizes of the weights are known."""
    sizes = {"x": (None, None, 3), "h": (1, None, 4), "c": (1, None, 4)} if symbolic else {}
    return {name: sizes.get(name, value.shape) for name, value in inputs.items() if value is not None}


@st.composite
def _options(draw: Any) -> tuple[str, str, str, dict[str, Any], bool]:
    op = draw(st.sampled_from(sorted(_GATES)))
    direction = draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    optional = draw(st.sampled_from(["", "b", "bh", "bl", "blhp"]))
    attributes: dict[str, Any] = {"direction": direction}
    if draw(st.booleans()):
        attributes["clip"] = 0.3
    if op == "GRU":
        attributes["linear_before_reset"] = draw(st.integers(0, 1))
    if op == "LSTM":
        attributes["input_forget"] = draw(st.integers(0, 1))
    if draw(st.booleans()):
        count = {"RNN": 1, "GRU": 2, "LSTM": 3}[op] * (2 if direction == "bidirectional" else 1)
        attributes["activations"] = [draw(st.sampled_from(_FUNCTIONS)) for _ in range(count)]
        attributes["activation_alpha"] = [0.5] * count
        attributes["activation_beta"] = [0.25] * count
    return op, direction, optional, attributes, draw(st.booleans())


@draws(12, suppress_health_check=list(HealthCheck), derandomize=True)
@given(_options())
def test_options(options: Any) -> None:
    op, direction, optional, attributes, long = options
    directions = 2 if direction == "bidirectional" else 1
    inputs = _inputs(op, 20 if long else 3, 2, directions, optional)
    model = one_node(op, inputs, outputs=3 if op == "LSTM" else 2, hidden_size=4, symbolic=False, **attributes)
    Compared(model)(*_present(inputs))


@pytest.mark.parametrize("op", sorted(_GATES))
def test_lengths_that_only_the_run_tells(op: str) -> None:
    inputs = _inputs(op, 5, 2, 1, "bh")
    model = one_node(op, inputs, outputs=2, hidden_size=4, direction="reverse")
    compared = Compared(model, _shapes(inputs, symbolic=True))
    compared(*_present(inputs))
    compared(*_present(_inputs(op, 40, 3, 1, "bh")))


def test_without_an_initial_state_the_batch_may_be_symbolic() -> None:
    inputs = _inputs("GRU", 3, 2, 1, "")
    compared = Compared(one_node("GRU", inputs, outputs=2, hidden_size=4), _shapes(inputs, symbolic=True))
    compared(*_present(inputs))
    compared(*_present(_inputs("GRU", 1, 1, 1, "")))


def test_unknown_activations_are_refused() -> None:
    inputs = _inputs("RNN", 3, 2, 1, "")
    model = one_node("RNN", inputs, hidden_size=4, symbolic=False, activations=["Wave"])
    with pytest.raises(rx.RelaxError, match="'Wave' is not an activation function"):
        rx.from_onnx(model)


@pytest.mark.parametrize("op", sorted(_GATES))
@pytest.mark.parametrize("batch", [2, "n"])
def test_weights_whose_sizes_only_the_run_tells(op: str, batch: Any) -> None:
    inputs = _inputs(op, 5, 2, 1, "")
    shapes = {"x": ("t", batch, "i"), "w": (1, "v", "i"), "r": (1, "g", 4)}
    compared = Compared(one_node(op, inputs, outputs=2, hidden_size=4), shapes)
    compared(*_present(inputs))
    compared(*_present(_inputs(op, 40, 2, 1, "")))
    with pytest.raises(ValueError):
        compared._executable["main"](inputs["x"], inputs["w"][:, 1:], inputs["r"])


def test_both_directions_of_weights_whose_sizes_only_the_run_tells() -> None:
    inputs = _inputs("RNN", 5, 1, 2, "")
    model = one_node("RNN", inputs, outputs=2, hidden_size=4, direction="bidirectional")
    shapes = {"x": ("t", 1, "i"), "w": (None, "v", 3), "r": ("d", "g", 4)}
    Compared(model, shapes)(*_present(inputs))
