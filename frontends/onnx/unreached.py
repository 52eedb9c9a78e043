# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is wrong with nodes whose inputs could not be imported, as far as that is seen without them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .functions import is_defined_by_onnx, own_function
from .node import Node, Unsupported
from .problems import Problem
from .registry import find_converter
from .schemas import check_node
from .teaching import lines_to_teach, unknown


def problem_of(node: Node, found: Unsupported, cause: Exception | None = None) -> Problem:
    """A node that cannot be imported, as it is told."""
    return Problem(node.name, node.domain, node.op, node.version, found.attribute, found.reason, found.help, cause)


def unreached_problems(node: Node) -> Iterator[Problem]:
    """Those of the node, of the graphs in it, and of the model's function that it calls."""
    graph = node.graph
    for attribute in node.proto.attribute:
        for proto in attribute.g.node if attribute.HasField("g") else ():
            yield from unreached_problems(graph.node_of(proto, [None] * len(proto.input)))
    try:
        check_node(node)
        if find_converter(node.domain, node.op, node.version) is None:
            yield from _of_function(node)
    except Unsupported as problem:
        yield problem_of(node, problem)


def _of_function(node: Node) -> Iterator[Problem]:
    function: Any = own_function(node, node.graph.model)
    if function is not None:
        inner = node.graph.inside(node, function)
        for proto in function.node:
            yield from unreached_problems(inner.node_of(proto, [None] * len(proto.input)))
    elif not is_defined_by_onnx(node):
        raise Unsupported(unknown(node), help=lines_to_teach(node))
