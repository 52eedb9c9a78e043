# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Topological order of a graph's nodes. Some tools write nodes in front of the nodes that define their inputs."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import TypeVar

from ...support.errors import ModelError
from .problems import shown_node
from .tensor_data import GraphProto, NodeProto

_MOST_SHOWN = 8
_Maker = TypeVar("_Maker")


def in_order(nodes: Sequence[NodeProto], defined: Container[str] = ()) -> list[NodeProto]:
    """Return the nodes in order, each behind the nodes that define its inputs, except for names in `defined`.

    Nodes keep their order otherwise. Raise ModelError for cycles.
    """
    makers = {name: maker for name, maker in makers_of(range(len(nodes)), nodes).items() if name not in defined}
    ordered: list[NodeProto] = []
    done: set[int] = set()
    begun: dict[int, None] = {}  # Chain of nodes, each needed by the one before it.
    for first in range(len(nodes)):
        waiting = [first]
        while waiting:
            if (index := waiting[-1]) in done or index in begun:
                waiting.pop()
                if index in begun:
                    del begun[index]
                    done.add(index)
                    ordered.append(nodes[index])
                continue
            begun[index] = None
            needed = [makers[name] for name in names_used(nodes[index]) if name in makers]
            for each in needed:
                if each in begun:
                    raise ModelError(_circle(nodes, list(begun)[list(begun).index(each) :]))
            waiting.extend(each for each in reversed(needed) if each not in done)
    return ordered


def makers_of(makers: Sequence[_Maker], nodes: Sequence[NodeProto]) -> dict[str, _Maker]:
    """Map each name to the entry of `makers` for the node that defines it, the first if there are several."""
    found: dict[str, _Maker] = {}
    for maker, proto in zip(makers, nodes, strict=True):
        for output in proto.output:
            if output:
                found.setdefault(output, maker)
    return found


def names_used(proto: NodeProto, differentiated: bool = False) -> Iterator[str]:
    """Yield the names that a node uses, including names used in its subgraphs.

    With `differentiated`, also yield the output that a Gradient differentiates, which a later node may define.
    """
    yield from (name for name in proto.input if name)
    for attribute in proto.attribute:
        if attribute.HasField("g"):
            yield from _names_from_around(attribute.g, differentiated)
        elif differentiated and proto.op_type == "Gradient" and attribute.name == "y":
            yield attribute.s.decode("utf-8", "replace")


def _names_from_around(graph: GraphProto, differentiated: bool) -> Iterator[str]:
    own = {each.name for each in (*graph.input, *graph.initializer)}
    own.update(output for proto in graph.node for output in proto.output)
    for proto in graph.node:
        yield from (name for name in names_used(proto, differentiated) if name not in own)
    yield from (output.name for output in graph.output if output.name not in own)


def _circle(nodes: Sequence[NodeProto], places: Sequence[int]) -> str:
    first, *others = places
    named = [shown_node(nodes[place]) for place in (first, *reversed(others))]
    if len(named) == 1:
        return f"the graph has a cycle: node {named[0]} needs what it makes itself"
    if len(named) > _MOST_SHOWN:
        named[_MOST_SHOWN - 1 : -1] = [f"{len(named) - _MOST_SHOWN} more"]
    return f"the graph has a cycle, of nodes of which each needs what the one before it makes: {', '.join(named)}"
