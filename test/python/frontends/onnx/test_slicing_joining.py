# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Slice against onnxruntime, bounds in and outside of the data: known, of symbolic sizes, dynamic, of shapes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import onnx
import onnxruntime
import pytest
from compiling import array
from onnx import TensorProto, helper, numpy_helper

import relax_mlir as rx

_LEAST, _MOST = -(2**63), 2**63 - 1
_BEGINS = (_LEAST, -(2**31), -5, -4, -3, -1, 0, 2, 3, 4, 2**31 - 1, _MOST)
_ENDS = (_LEAST, -(2**31) + 1, -5, -3, -1, 0, 2, 3, 5, 2**31 - 1, _MOST)
_STEPS = (1, 2, _MOST, -1, -2, _LEAST)
_CASES = list(itertools.product(_BEGINS, _ENDS, _STEPS))
_SIZES = (0, 1, 2, 3, 6)


def _model(cases: list[tuple[int, int, int]], size: Any, data: Any = None) -> onnx.ModelProto:
    """Return a Slice for each case of begin, end and step, of the input x or of constant data."""
    numbers = {0, *itertools.chain(*cases)}
    names = {number: f"c{index}" for index, number in enumerate(sorted(numbers))}
    constants = [numpy_helper.from_array(numpy.array([number]), name) for number, name in names.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.INT64, [size])]
    if data is not None:
        constants.append(numpy_helper.from_array(data, "d"))
    source = "x" if data is None else "d"
    nodes, outputs = [], []
    for index, (begin, end, step) in enumerate(cases):
        operands = [source, names[begin], names[end], names[0], names[step]]
        nodes.append(helper.make_node("Slice", operands, [f"y{index}"]))
        outputs.append(onnx.ValueInfoProto(name=f"y{index}"))
    return _of_graph(helper.make_graph(nodes, "slices", inputs, outputs, constants))


def _of_graph(graph: Any) -> onnx.ModelProto:
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _session(model: onnx.ModelProto) -> Any:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _expected(cases: list[tuple[int, int, int]], data: Any) -> list[Any]:
    found = _session(_model(cases, "n")).run(None, {"x": data})
    return [data[:0] if _is_open_upwards(case) else each for case, each in zip(cases, found, strict=True)]


def _is_open_upwards(case: tuple[int, int, int]) -> bool:
    """Check for a slice down to an end beyond the data: empty by the standard, which clamps it, but complete in
    onnxruntime."""
    return case[1] in (2**31 - 1, _MOST) and case[2] < 0


def _check(cases: list[tuple[int, int, int]], found: Any, expected: list[Any], size: int) -> None:
    for (begin, end, step), mine, theirs in zip(cases, found, expected, strict=True):
        mine = array(mine).tolist()
        assert mine == theirs.tolist(), f"[{begin}:{end}:{step}] of {size} elements: {mine}, not {theirs.tolist()}"


def _few(part: int, parts: int) -> list[tuple[int, int, int]]:
    """Return the cases with steps in both directions. Over all parts they have all bounds."""
    return [case for index, case in enumerate(_CASES) if abs(case[2]) <= 2][part::parts]


@pytest.mark.parametrize("size", _SIZES)
def test_constant_bounds_of_static_sizes(size: int) -> None:
    cases, data = _few(_SIZES.index(size), 2 * len(_SIZES)), numpy.arange(size)
    _check(cases, rx.compile(rx.from_onnx(_model(cases, size)))["main"](data), _expected(cases, data), size)


@pytest.mark.slow
def test_constant_bounds_of_symbolic_sizes() -> None:
    """Slice with constant bounds: the import knows the size of the result."""
    cases = _few(3, 12)
    module = rx.from_onnx(_model(cases, "n"))
    assert "tensor<?xi64>" not in str(module).partition("return")[2]
    main = rx.compile(module)["main"]
    for size in _SIZES:
        data = numpy.arange(size)
        _check(cases, main(data), _expected(cases, data), size)


@pytest.mark.parametrize("size", _SIZES)
def test_elements_that_are_known(size: int) -> None:
    """Slice known elements, such as shapes: the import computes them."""
    cases, data = _CASES[_SIZES.index(size) :: 23], numpy.arange(size)
    main = rx.compile(rx.from_onnx(_model(cases, 1, data)))["main"]
    _check(cases, main(numpy.zeros(1, "int64")), _expected(cases, data), size)


@pytest.mark.parametrize("known", [(), (4,), (3, 4)], ids=["all of the run", "known steps", "known axes and steps"])
def test_bounds_of_the_run(known: tuple[int, ...]) -> None:
    names = ["x", "begin", "end", "axis", "step"]
    node = helper.make_node("Slice", names, ["y"])
    inputs = [helper.make_tensor_value_info("x", TensorProto.INT64, [None])]
    inputs += [
        helper.make_tensor_value_info(name, TensorProto.INT64, [1])
        for index, name in enumerate(names)
        if index > 0 and index not in known
    ]
    for step in _STEPS if 4 in known else (1,):
        values = {3: 0, 4: step}
        constants = [numpy_helper.from_array(numpy.array([values[index]]), names[index]) for index in known]
        graph = helper.make_graph([node], "slice", inputs, [onnx.ValueInfoProto(name="y")], constants)
        main = rx.compile(rx.from_onnx(_of_graph(graph)))["main"]
        cases = [case for case in _CASES if 4 not in known or case[2] == step]
        for size in _SIZES:
            data = numpy.arange(size)
            operands = [[begin, end, 0, step] for begin, end, step in cases]
            found = [
                main(data, *(numpy.array([each]) for index, each in enumerate(case, 1) if index not in known))
                for case in operands
            ]
            _check(cases, found, _expected(cases, data), size)
