# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers are the same whenever a model is imported; windows are functions of other operators."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from against_onnxruntime import one_node
from compiling import array
from node_suite import Case, cases, check

import relax_mlir as rx


def _run(model: Any, *inputs: Any) -> Any:
    return array(rx.compile(rx.from_onnx(model))["main"](*inputs))


@pytest.mark.parametrize(
    "case", cases("BlackmanWindow", "HannWindow", "HammingWindow")[::2], ids=lambda case: case.name
)
def test_windows_of_the_node_suite(case: Case) -> None:
    check(case)


def test_normal_numbers() -> None:
    model = one_node("RandomNormal", {}, shape=[100, 50], mean=3.0, scale=2.0, seed=7.0)
    found = _run(model)
    assert found.shape == (100, 50) and found.dtype == numpy.float32
    assert abs(found.mean() - 3) < 0.1 and abs(found.std() - 2) < 0.1
    numpy.testing.assert_array_equal(found, _run(model))


def test_uniform_numbers_of_another_type() -> None:
    x = numpy.zeros((20, 30), "float32")
    found = _run(one_node("RandomUniformLike", {"x": x}, symbolic=False, low=-1.0, high=4.0, dtype=11), x)
    assert found.shape == x.shape and found.dtype == numpy.float64
    assert found.min() >= -1 and found.max() < 4 and abs(found.mean() - 1.5) < 0.3


def test_nodes_without_a_seed_differ() -> None:
    first, second = (one_node("RandomUniform", {}, shape=[9]) for _ in range(2))
    second.graph.node[0].name = "another"
    assert (_run(first) != _run(second)).all()


def test_coins() -> None:
    x = numpy.array([0.0, 1.0, 0.5] * 200, "float32")
    found = _run(one_node("Bernoulli", {"x": x}, symbolic=False, seed=1.0, dtype=9), x)
    assert found.dtype == bool and not found[0::3].any() and found[1::3].all()
    assert 60 < found[2::3].sum() < 140


def test_classes() -> None:
    x = numpy.log(numpy.array([[1e-30, 1, 3], [1, 1e-30, 1e-30]], "float32"))
    found = _run(one_node("Multinomial", {"x": x}, symbolic=False, sample_size=400, seed=2.0, dtype=7), x)
    assert found.shape == (2, 400) and found.dtype == numpy.int64
    assert (found[1] == 0).all() and (found[0] > 0).all() and 50 < (found[0] == 1).sum() < 150


def test_shapes_must_be_known() -> None:
    with pytest.raises(rx.RelaxError, match=r"their shape must be known: give shapes="):
        rx.from_onnx(one_node("RandomNormalLike", {"x": numpy.zeros(3, "float32")}))
