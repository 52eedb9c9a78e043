# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whose fault it is where a converter raises what it did not mean to: ONNX's own checks tell a node that is wrong."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from .dtypes import number_of
from .node import Node
from .order import names_used
from .problems import shown
from .values import EmptyOptional, OneOf, RunTimeOptional, RunTimeSequence, SequenceValue, Value

# Larger constants decide about no shape.
_MOST_ELEMENTS = 1024


def told(node: Node, error: Exception) -> str:
    """What is said of an exception that a node's converter raised: what is wrong with the node, or that it is a bug."""
    given = described_inputs(node)
    raised = f"{type(error).__name__}: {error}"
    refused = refusal(node)
    if refused:
        return f"its attributes or inputs ({given}) are not what the operator takes: {refused}"
    *_, last = traceback.extract_tb(error.__traceback__)
    path = Path(last.filename)
    return f"internal error at {path.parent.name}/{path.name}:{last.lineno}: {raised}; inputs: {given}"


def refusal(node: Node) -> str:
    """What ONNX's checks find wrong with a node and its inputs, on a line; empty where that is nothing."""
    import onnx

    try:
        onnx.checker.check_model(_model_of(node), full_check=True)
    except (
        RuntimeError,
        TypeError,
        ValueError,
        onnx.checker.ValidationError,
        onnx.shape_inference.InferenceError,
    ) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return next((line for line in lines if not line.startswith("==>")), type(error).__name__)
    return ""


def _model_of(node: Node) -> Any:
    """A model of the node alone, with what is known of the tensors that it uses."""
    from onnx import helper, numpy_helper

    graph = helper.make_graph([node.proto], "node", [], [])
    values = dict(zip(node.proto.input, node.inputs, strict=False))
    for name in dict.fromkeys(names_used(node.proto)):
        value = values[name] if name in values else node.graph.lookup(name)
        if isinstance(value, Value) and value.array is not None and value.array.size <= _MOST_ELEMENTS:
            graph.initializer.append(numpy_helper.from_array(value.array, name))
        elif value is not None:
            graph.input.append(helper.make_value_info(name, _type_of(value)))
    opsets = [helper.make_opsetid(domain, version) for domain, version in node.graph.opsets.items()]
    return helper.make_model(graph, opset_imports=opsets, functions=node.graph.model.proto.functions)


def _type_of(value: Any) -> Any:
    from onnx import helper

    if isinstance(value, (SequenceValue, RunTimeSequence)):
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(number_of(value.dtype), None))
    if isinstance(value, RunTimeOptional):
        return helper.make_optional_type_proto(_type_of(value.held))
    if not isinstance(value, Value):
        return helper.make_tensor_type_proto(
            number_of("f32" if isinstance(value, EmptyOptional) else value.dtype), None
        )
    shape = None if value.shape is None else [size if isinstance(size, int) else None for size in value.shape]
    return helper.make_tensor_type_proto(number_of(value.dtype), shape)


def of_operators(node: Node, message: str) -> str:
    """Why a node cannot be imported; where operators that it becomes refuse their operands, with its own inputs."""
    return f"{message}; the node's inputs: {described_inputs(node)}" if message.startswith("'relax.") else message


def described_inputs(node: Node) -> str:
    """The inputs that are there by name, type and shape."""
    pairs = zip(node.proto.input, node.inputs, strict=False)
    return ", ".join(f"'{shown(name)}' {_described(value)}" for name, value in pairs if value is not None) or "none"


def _described(value: Any) -> str:
    if isinstance(value, OneOf):
        return str(value)
    if not isinstance(value, Value):
        return "a sequence or an optional"
    if value.shape is None:
        return f"{value.dtype} of unknown rank"
    return f"{value.dtype} [{', '.join('?' if size is None else str(size) for size in value.shape)}]"
