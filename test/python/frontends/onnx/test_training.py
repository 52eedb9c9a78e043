# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of optimizers."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from node_suite import Case, cases, check
from onnx import helper

import relax_mlir as rx

_DOMAIN = "ai.onnx.preview.training"
rng = numpy.random.default_rng(2)


@pytest.mark.parametrize("case", cases("Adagrad", "Adam", "Momentum"), ids=lambda case: case.name)
def test_node_suite(case: Case) -> None:
    check(case)


def prepared(op: str, inputs: dict[str, Any], outputs: int, **attributes: Any) -> Any:
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), [f"n{axis}" for axis in range(value.ndim)]
        )
        for name, value in inputs.items()
    ]
    results = [f"y{index}" for index in range(outputs)]
    node = helper.make_node(op, list(inputs), results, domain=_DOMAIN, **attributes)
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=name) for name in results])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(_DOMAIN, 1)]
    return rx.OnnxBackend.prepare(helper.make_model(graph, opset_imports=opsets))


def inputs(histories: str, dtype: str = "float32") -> dict[str, Any]:
    tensors = {name: rng.random((3, 4)).astype(dtype) for name in "XG" + histories}
    return {"R": numpy.array(0.1, "float32"), "T": numpy.array(0), **tensors}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_first_momentum_step_uses_the_whole_gradient(dtype: str) -> None:
    """Apply the whole gradient without correction in step 0, from one compilation for any size."""
    given = inputs("V", dtype)
    run = prepared("Momentum", given, 2, alpha=0.9, beta=0.25, norm_coefficient=0.5, mode="nesterov").run
    for step, beta, count in ((0, 1.0, 3), (7, 0.25, 2)):
        x, gradient, momentum = (given[name][:count] for name in "XGV")
        gradient = 0.5 * x + gradient
        after = 0.9 * momentum + beta * gradient
        made = run([given["R"], numpy.array(step), *(given[name][:count] for name in "XGV")])
        expected = [x - 0.1 * (gradient + 0.9 * after), after]
        for one, other in zip(made, expected, strict=True):
            assert one.dtype == dtype
            numpy.testing.assert_allclose(one, other, rtol=1e-6)


def test_adam_corrects_histories_that_began_with_zeros() -> None:
    given = inputs("VH")
    run = prepared("Adam", given, 3, alpha=0.8, beta=0.6, norm_coefficient_post=0.25, epsilon=0.01).run
    x, gradient, mean, squares = (given[name] for name in "XGVH")
    for step in (0, 1, 5):
        new_mean, new_squares = 0.8 * mean + 0.2 * gradient, 0.6 * squares + 0.4 * gradient**2
        rate = 0.1 * numpy.sqrt(1 - 0.6**step) / (1 - 0.8**step) if step else 0.1
        expected = 0.75 * (x - rate * new_mean / (numpy.sqrt(new_squares) + 0.01))
        made = run([given["R"], numpy.array(step), x, gradient, mean, squares])
        for one, other in zip(made, (expected, new_mean, new_squares), strict=True):
            numpy.testing.assert_allclose(one, other, rtol=1e-5)


def test_refusals() -> None:
    with pytest.raises(rx.RelaxError, match="must be standard or nesterov, got 'fast'"):
        prepared("Momentum", inputs("V"), 2, alpha=0.9, beta=0.25, norm_coefficient=0.5, mode="fast")
    with pytest.raises(rx.RelaxError, match="required attribute 'alpha' is missing"):
        prepared("Momentum", inputs("V"), 2, beta=0.25, norm_coefficient=0.5, mode="standard")
    with pytest.raises(rx.RelaxError, match="has 3 tensors behind rate and count, expected a multiple of 4"):
        prepared("Adam", inputs("V"), 3)
