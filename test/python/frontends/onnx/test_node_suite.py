# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sample of ONNX's own cases through its interface for backends; `suite.py conformance` runs all of them."""

from __future__ import annotations

import known_failures
import node_suite
import numpy
import pytest
from node_suite import Case, check
from onnx import TensorProto, helper

import relax_mlir as rx

_EVERY = 12


def _sample() -> list[Case]:
    """Return every n-th case of the suite without the listed failures. The list does not change the selection."""
    listed = known_failures.read()
    return [case for case in list(node_suite.cases(all=True))[::_EVERY] if case.name not in listed]


@pytest.mark.slow
@pytest.mark.parametrize("case", _sample(), ids=lambda case: case.name)
def test_sample(case: Case) -> None:
    check(case)


def test_listed_cases_exist_and_the_list_is_sorted() -> None:
    listed = list(known_failures.read())
    known = {case.name for case in node_suite.cases(all=True)}
    assert listed == sorted(listed)
    assert [name for name in listed if "/" not in name and name not in known] == []
    assert all(known_failures.read().values()), "each has a reason"


def test_outputs_have_names_and_inputs_may_be_read_only_or_strided() -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])
    nodes = [helper.make_node("Neg", ["x"], ["negative"]), helper.make_node("Abs", ["x"], ["size"])]
    outputs = [helper.make_empty_tensor_value_info("negative"), helper.make_empty_tensor_value_info("size")]
    prepared = rx.OnnxBackend.prepare(helper.make_model(helper.make_graph(nodes, "g", [x], outputs)))
    strided = numpy.arange(8, dtype="float32").reshape(2, 4).T
    strided.flags.writeable = False
    found = prepared.run([strided])
    numpy.testing.assert_array_equal(found["negative"], -strided)
    numpy.testing.assert_array_equal(found.size, strided)
    numpy.testing.assert_array_equal(prepared.run(strided[:1])[1], strided[:1])


def test_one_node() -> None:
    x = numpy.array([1.5, -2.0], "float32")
    (twice,) = rx.OnnxBackend.run_node(helper.make_node("Add", ["x", "x"], ["y"]), [x, x])
    numpy.testing.assert_array_equal(twice, 2 * x)
    (old,) = rx.OnnxBackend.run_node(helper.make_node("Neg", ["x"], ["y"]), [x], opset_version=6)
    numpy.testing.assert_array_equal(old, -x)
    with pytest.raises(rx.RelaxError, match=r"the node has 2 inputs \(x, z\), got 1 arrays"):
        rx.OnnxBackend.run_node(helper.make_node("Add", ["x", "z"], ["y"]), [x])


def test_devices() -> None:
    assert rx.OnnxBackend.supports_device("CPU") and rx.OnnxBackend.supports_device("CPU:0")
    assert not rx.OnnxBackend.supports_device("CUDA")
    model = helper.make_model(helper.make_graph([], "g", [], []))
    with pytest.raises(rx.RelaxError, match="there is no device 'CUDA'"):
        rx.OnnxBackend.prepare(model, "CUDA")
