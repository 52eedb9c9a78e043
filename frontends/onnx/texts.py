# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names in a model are UTF-8; protobuf gives those that are not as bytes, which nothing else is ready for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...support.errors import RelaxError


def check_texts(model: Any) -> None:
    """Refuses a ModelProto with a name that is no text."""
    for kind, text in _texts(model):
        if isinstance(text, bytes):
            raise RelaxError(f"the model's protobuf is malformed: {kind} is {text!r}, which is not UTF-8")


def _texts(model: Any) -> Iterator[tuple[str, Any]]:
    yield "the producer's name", model.producer_name
    yield "the producer's version", model.producer_version
    for each in model.opset_import:
        yield "the domain of an operator set", each.domain
    yield from _of_graph(model.graph)
    for function in model.functions:
        yield "a function's name", function.name
        yield "a function's domain", function.domain
        for each in function.opset_import:
            yield "the domain of an operator set", each.domain
        for name in (*function.input, *function.output):
            yield "the name of a value", name
        for node in function.node:
            yield from _of_node(node)


def _of_graph(graph: Any) -> Iterator[tuple[str, Any]]:
    yield "a graph's name", graph.name
    for each in (*graph.input, *graph.output):
        yield "the name of a value", each.name
        for dim in each.type.tensor_type.shape.dim:
            yield "the name of a size", dim.dim_param
    for tensor in graph.initializer:
        yield "the name of a tensor", tensor.name
    for node in graph.node:
        yield from _of_node(node)


def _of_node(node: Any) -> Iterator[tuple[str, Any]]:
    yield "a node's name", node.name
    yield "a node's operator", node.op_type
    yield "a node's domain", node.domain
    for name in (*node.input, *node.output):
        yield "the name of a value", name
    for attribute in node.attribute:
        yield "an attribute's name", attribute.name
        yield "an attribute's reference", attribute.ref_attr_name
        if attribute.HasField("g"):
            yield from _of_graph(attribute.g)
