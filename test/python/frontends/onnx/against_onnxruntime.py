# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that are compiled once and compared with onnxruntime for inputs of several sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import onnx
import onnxruntime
from compiling import array

import relax_mlir as rx


class Compared:
    """Compiled model: `Compared(model)(inputs)` fails if onnxruntime's results differ."""

    def __init__(
        self, model: onnx.ModelProto, shapes: Mapping[str, Any] | None = None, rtol: float = 1e-4, atol: float = 1e-5
    ):
        self.model, self.rtol, self.atol = model, rtol, atol
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self._executable = rx.compile(rx.from_onnx(model, shapes=dict(shapes or {})))

    def __call__(self, *inputs: Any, outputs: Sequence[int] | None = None) -> list[Any]:
        names = [each.name for each in self.model.graph.input]
        expected = self._session.run(None, dict(zip(names, inputs, strict=True)))
        results = self._executable["main"](*inputs)
        actual = [array(each) for each in ([results] if len(expected) == 1 else results)]
        for index in range(len(expected)) if outputs is None else outputs:
            wanted = numpy.asarray(expected[index])
            assert actual[index].dtype == wanted.dtype, self._what(index)
            assert actual[index].shape == wanted.shape, self._what(index)
            # As floats: the differences of bytes wrap around.
            pair = (each.astype("float64") for each in (actual[index], wanted))
            numpy.testing.assert_allclose(*pair, rtol=self.rtol, atol=self.atol, err_msg=self._what(index))
        return actual

    def _what(self, index: int) -> str:
        """Return a description for messages: the output and the operator of its node."""
        name = self.model.graph.output[index].name
        nodes = [node.op_type for node in self.model.graph.node if name in node.output]
        return f"output {index} ({name}) of {', '.join(nodes)} against onnxruntime's"


def one_node(
    op: str,
    inputs: Mapping[str, Any],
    outputs: int = 1,
    domain: str = "",
    opset: int = 21,
    symbolic: bool = True,
    **attributes: Any,
) -> onnx.ModelProto:
    """Return a model of one operator. Inputs are arrays with types and ranks, or None for an omitted one."""
    helper = onnx.helper
    given = {name: value for name, value in inputs.items() if value is not None}
    infos = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(value.dtype),
            [f"{name}_{axis}" if symbolic else size for axis, size in enumerate(value.shape)],
        )
        for name, value in given.items()
    ]
    results = [f"out{index}" for index in range(outputs)]
    names = [name if value is not None else "" for name, value in inputs.items()]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    declared = [onnx.ValueInfoProto(name=name) for name in results]
    graph = helper.make_graph([node], "main", infos, declared)
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def with_unknown_sizes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with a further input, the shape of its first: only its rank is known before the run."""
    helper = onnx.helper
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    first = changed.graph.input[0]
    rank = len(first.type.tensor_type.shape.dim)
    for node in changed.graph.node:
        node.input[:] = ["reshaped" if name == first.name else name for name in node.input]
    changed.graph.node.insert(0, helper.make_node("Reshape", [first.name, "shape"], ["reshaped"]))
    changed.graph.input.append(helper.make_tensor_value_info("shape", onnx.TensorProto.INT64, [rank]))
    return changed
