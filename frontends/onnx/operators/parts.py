# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Part of a graph, imported once more: what computes one tensor, with other values for some of the names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ....support.suggest import suggest
from ..importer import GraphImporter
from ..node import Node
from ..order import makers_of, names_used
from ..problems import Problems, shown


def value_with(node: Node, name: str, values: Mapping[str, Any]) -> Any:
    """What a name of the graph around a node stands for where the names of `values` stand for these values.

    What does not depend on them is not computed again. The tensor may be one that only a later node defines.
    """
    if name in values:
        return values[name]
    makers = _makers(node.graph)
    for given in (name, *values):
        _check_known(node, given, makers)
    importer = GraphImporter(node.graph.model, problems := Problems(), node.graph)
    for given, value in values.items():
        importer.define(given, value)
    importer.add_nodes(_part(node, name, values, makers))
    found = importer.output(name)
    if problems.found or found is None:
        why = f": {problems.found[0].reason}" if problems.found else ""
        raise node.fail(f"what computes '{shown(name)}' cannot be imported{why}")
    return found


def _makers(graph: GraphImporter) -> dict[str, Any]:
    """The node that defines each name, in the graph and those around."""
    nodes = list(graph.nodes_around())
    return makers_of(nodes, nodes)


def _check_known(node: Node, name: str, makers: Mapping[str, Any]) -> None:
    if name not in makers and not node.graph.knows(name):
        raise node.fail(f"the graph has no tensor '{shown(name)}'{suggest(name, makers)}")


def _part(node: Node, name: str, values: Mapping[str, Any], makers: Mapping[str, Any]) -> list[Any]:
    """The nodes between the values and a tensor, and those in front of it that are not imported yet, in order."""
    ordered = list(_in_front_of(name, values, makers))
    own = {output for output in node.proto.output if output}
    if any(output in own for proto in ordered for output in proto.output):
        raise node.fail(f"'{shown(name)}' depends on what this node computes")
    changed = set(values)
    part = []
    for proto in ordered:
        is_new = not all(node.graph.knows(output) for output in proto.output if output)
        if is_new or any(used in changed for used in names_used(proto, differentiated=True)):
            part.append(_without(values, proto))
            changed.update(output for output in proto.output if output)
    return part


def _without(values: Mapping[str, Any], proto: Any) -> Any:
    """A node without those of its outputs that are values, where it is needed for another one."""
    if not any(output in values for output in proto.output):
        return proto
    copied = type(proto)()
    copied.CopyFrom(proto)
    copied.output[:] = ["" if output in values else output for output in proto.output]
    return copied


def _in_front_of(name: str, values: Mapping[str, Any], makers: Mapping[str, Any]) -> Iterator[Any]:
    """The nodes that a tensor depends on up to the values, each after those whose outputs it uses."""
    done = set(values)
    waiting: list[tuple[str, Any]] = [(name, None)]
    while waiting:
        wanted, ready = waiting.pop()
        if ready is not None:
            yield ready
        elif wanted in makers and wanted not in done:
            proto = makers[wanted]
            done.update(proto.output)
            waiting.append((wanted, proto))
            waiting.extend((used, None) for used in names_used(proto, differentiated=True))
