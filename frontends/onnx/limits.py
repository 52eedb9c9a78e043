# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Number of nodes of a model when its functions are expanded."""

from __future__ import annotations

from collections.abc import Iterable

from .tensor_data import FunctionProto, ModelProto, NodeProto

# Limit of nested function calls in a model.
DEEPEST_CALLS = 64


def expanded_nodes(proto: ModelProto) -> int:
    """Return the number of nodes with all functions expanded. Subgraphs of nodes count once."""
    return _NodeCount(proto.functions).of_nodes(proto.graph.node, 0)


class _NodeCount:
    def __init__(self, functions: Iterable[FunctionProto]):
        self._functions = {(function.domain, function.name): function for function in functions}
        self._known: dict[int, int] = {}

    def of_nodes(self, nodes: Iterable[NodeProto], depth: int) -> int:
        count = 0
        for node in nodes:
            inner = self._functions.get((node.domain, node.op_type))
            count += 1 if inner is None else 1 + self._count_function(inner, depth + 1)
            count += sum(self.of_nodes(each.g.node, depth) for each in node.attribute if each.HasField("g"))
        return count

    def _count_function(self, function: FunctionProto, depth: int) -> int:
        known = self._known
        # Deeper or recursive calls are refused during the import.
        if depth <= DEEPEST_CALLS and id(function) not in known:
            known[id(function)] = 0
            known[id(function)] = self.of_nodes(function.node, depth)
        return known.get(id(function), 0)
