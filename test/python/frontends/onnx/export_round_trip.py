# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Round trip of ONNX's own cases: import, export, check, and a run by onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import onnx
import onnxruntime
from node_suite import Case, compare
from onnx import TensorProto

import relax_mlir as rx


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """Return a session. Raise if ONNX or onnxruntime rejects the model."""
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any]:
    """Return onnxruntime's results. Types that numpy lacks are cast at the model's borders, which is exact."""
    narrow = onnx.ModelProto.FromString(model.SerializeToString())
    given = {}
    for about, value in zip(narrow.graph.input, inputs, strict=True):
        array = numpy.ascontiguousarray(value).reshape(numpy.shape(value))
        given[about.name] = array.astype(_PLAIN[_cast(narrow.graph, about, True)]) if _is_narrow(about) else array
    for about in narrow.graph.output:
        if _is_narrow(about):
            _cast(narrow.graph, about, False)
    found = session_of(narrow).run(None, given)
    return [numpy.asarray(each).astype(_dtype(about)) for each, about in zip(found, model.graph.output, strict=True)]


_PLAIN = {TensorProto.FLOAT: "float32", TensorProto.INT8: "int8", TensorProto.UINT8: "uint8"}


def _dtype(about: onnx.ValueInfoProto) -> Any:
    return onnx.helper.tensor_dtype_to_np_dtype(about.type.tensor_type.elem_type)


def _is_narrow(about: onnx.ValueInfoProto) -> bool:
    return bool(_dtype(about).isbuiltin != 1)


def _cast(graph: onnx.GraphProto, about: onnx.ValueInfoProto, is_input: bool) -> int:
    """Insert a cast between an input or output and the graph, and return the type outside."""
    inner, outer, narrow = about.name, f"{about.name} outside", about.type.tensor_type.elem_type
    name = _dtype(about).name
    wide = (
        TensorProto.UINT8
        if name.startswith("uint")
        else TensorProto.INT8
        if name.startswith("int")
        else TensorProto.FLOAT
    )
    about.name, about.type.tensor_type.elem_type = outer, wide
    ends = ([outer], [inner]) if is_input else ([inner], [outer])
    node = onnx.helper.make_node("Cast", *ends, to=narrow if is_input else wide)
    graph.node.insert(0 if is_input else len(graph.node), node)
    return int(wide)


def round_trip(case: Case, opset: int = 21) -> None:
    """Import, export and compare. Raise RelaxError if a step is refused, AssertionError if results differ."""
    inputs, outputs = _tensors(case.inputs), _tensors(case.outputs)
    compare(run(rx.to_onnx(rx.from_onnx(case.model), opset=opset), inputs), case._replace(outputs=outputs))


def _tensors(values: Sequence[Any]) -> list[Any]:
    """Flatten sequences: a module's function has a tensor for each element."""
    return [each for value in values for each in (_tensors(value) if isinstance(value, list) else [value])]
