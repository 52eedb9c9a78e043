# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converter of Gradient: derivatives of a part of the graph (ai.onnx.preview.training.Gradient)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relax_mlir import register_onnx
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.frontends.core.problems import Problems, shown
from relax_mlir.frontends.core.values import Held, Outputs, Tensor, Value
from relax_mlir.frontends.onnx.importer import GraphImporter
from relax_mlir.frontends.onnx.onnx_node import OnnxNode
from relax_mlir.frontends.onnx.order import makers_of, names_used
from relax_mlir.frontends.onnx.problems import WORDS
from relax_mlir.frontends.onnx.tensor_data import NodeProto
from relax_mlir.support.suggest import counted, suggest


@register_onnx("ai.onnx.preview.training", "Gradient")
def gradient(node: OnnxNode) -> Outputs:
    """Return the derivatives of the sum of y's elements by the xs, at the values of the node's inputs for xs and zs.

    The part of the graph from the xs and zs to y is imported again with these values, which may differ from the
    graph's.
    """
    # Imported here because it is seldom needed and imports all derivatives.
    from .gradient.reverse import gradients_at

    xs, zs, y = node.strings("xs", []), node.strings("zs", []), node.string("y", "")
    _check(node, xs, zs)
    if node.graph.knows(y) and node.graph.lookup(y) is None:
        return [None] * node.output_count  # The problem of y is reported already.
    # An output without a name is not needed.
    indices = [index for index, name in enumerate(node.proto.output) if name]
    values = {name: node.held(index) for index, name in enumerate([*xs, *zs])}

    def value_of_y(*tensors: Tensor) -> Tensor:
        variables = {xs[index]: Value(ssa=tensor) for index, tensor in zip(indices, tensors, strict=True)}
        return _float(node, shown(y), value_with(node, y, {**values, **variables})).ssa

    made = dict(zip(indices, gradients_at([node.tensor(index) for index in indices], value_of_y), strict=True))
    return [made.get(index) for index in range(node.output_count)]


def _check(node: OnnxNode, xs: list[str], zs: list[str]) -> None:
    if not xs:
        raise node.fail("names no tensor to differentiate by", "xs")
    names = [*xs, *zs]
    if (twice := next((name for name in names if names.count(name) > 1), None)) is not None:
        raise node.fail(f"names '{shown(twice)}' twice", "xs" if twice in xs else "zs")
    if len(node.inputs) != len(names):
        raise node.fail(
            f"has {counted(len(node.inputs), 'input')}, but 'xs' and 'zs' name {counted(len(names), 'tensor')}"
        )
    if node.output_count > len(xs):
        raise node.fail(
            f"has {counted(node.output_count, 'output')}, but 'xs' names {counted(len(xs), 'tensor')}", "xs"
        )
    for index, name in enumerate(xs):
        _float(node, shown(name), node.value(index))


def _float(node: OnnxNode, name: str, value: Held) -> Value:
    if not isinstance(value, Value):
        raise node.fail(f"'{name}' is a sequence or an optional: only tensors have derivatives")
    if not is_float(value.dtype):
        raise node.fail(f"'{name}' has elements of type {value.dtype}: only floats have derivatives")
    return value


# ---- import of a part of the graph with other values for some names ----


def value_with(node: OnnxNode, name: str, values: Mapping[str, Held]) -> Held:
    """Return the value of a name in the enclosing graph, with `values` in place of some names' values.

    Nodes that do not depend on `values` are not imported again. A later node may define the tensor.
    """
    if name in values:
        return values[name]
    nodes = list(node.graph.nodes_around())
    makers = makers_of(nodes, nodes)
    for text in (name, *values):
        if text not in makers and not node.graph.knows(text):
            raise node.fail(f"the graph has no tensor '{shown(text)}'{suggest(text, makers)}")
    importer = GraphImporter(node.graph.model, problems := Problems(WORDS), node.graph.symbols, node.graph)
    for key, value in values.items():
        importer.define(key, value)
    importer.add_nodes(_part(node, name, values, makers))
    found = importer.output(name)
    if problems.found or found is None:
        why = f": {problems.found[0].reason}" if problems.found else ""
        raise node.fail(f"the nodes that compute '{shown(name)}' cannot be imported{why}")
    return found


def _part(node: OnnxNode, name: str, values: Mapping[str, Held], makers: Mapping[str, NodeProto]) -> list[NodeProto]:
    """Return the nodes between the values and a tensor, and its other nodes that are not imported yet, in order."""
    ordered = list(_dependencies(name, values, makers))
    own = {output for output in node.proto.output if output}
    if any(output in own for proto in ordered for output in proto.output):
        raise node.fail(f"'{shown(name)}' depends on the outputs of this node")
    changed = set(values)
    part = []
    for proto in ordered:
        is_new = not all(node.graph.knows(output) for output in proto.output if output)
        if is_new or any(used in changed for used in names_used(proto, differentiated=True)):
            part.append(_without(values, proto))
            changed.update(output for output in proto.output if output)
    return part


def _without(values: Mapping[str, Held], proto: NodeProto) -> NodeProto:
    """Return a node without the outputs that `values` replaces."""
    if not any(output in values for output in proto.output):
        return proto
    copied = type(proto)()
    copied.CopyFrom(proto)
    copied.output[:] = ["" if output in values else output for output in proto.output]
    return copied


def _dependencies(name: str, values: Mapping[str, Held], makers: Mapping[str, NodeProto]) -> Iterator[NodeProto]:
    """Yield the nodes on which a tensor depends, up to the values, each after the nodes of its inputs."""
    done = set(values)
    waiting: list[tuple[str, NodeProto | None]] = [(name, None)]
    while waiting:
        wanted, ready = waiting.pop()
        if ready is not None:
            yield ready
        elif wanted in makers and wanted not in done:
            proto = makers[wanted]
            done.update(proto.output)
            waiting.append((wanted, proto))
            waiting.extend((used, None) for used in names_used(proto, differentiated=True))
