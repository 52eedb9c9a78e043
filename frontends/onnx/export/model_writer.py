# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Serialization of a finished graph as ONNX messages: names are chosen, dead nodes removed, constants read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from ....bindings.ir import Attribute, Value
from ....bindings.navigation import made_by
from ....dialects.core.elements import elements_bytes, is_resource
from ....dialects.core.infos import TensorInfo, bit_width
from ....dialects.relax.constants import array_of_attribute
from ....support.errors import RefusalError
from ....support.names import FreshNames
from ...core.values import Array
from ..tensor_data import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, byte_count, number_of
from .export_values import ConstantTensor, Ref
from .graph import Graph, NewNode

if TYPE_CHECKING:
    import onnx

AttributeProto: TypeAlias = "onnx.AttributeProto"
#: A requested name, with the tensor and its type.
Named = tuple[str, tuple[Ref, TensorInfo]]

_MOST_BYTES = 2**31 - 1


class ModelWriter:
    """Writer of one model."""

    def __init__(self, graph: Graph):
        self._graph = graph
        self._names, self._node_names = FreshNames(()), FreshNames(())

    def model(self, name: str, inputs: Sequence[Named], outputs: Sequence[Named]) -> ModelProto:
        from onnx import helper

        opset = helper.make_opsetid("", self._graph.opset)
        graph = self._main(name, inputs, outputs)
        version = helper.find_min_ir_version_for([opset])
        opsets = [opset, *(helper.make_opsetid(domain, 1) for domain in sorted(self._graph.domains))]
        return helper.make_model(graph, opset_imports=opsets, ir_version=version, producer_name="relax-mlir")

    def _main(self, name: str, inputs: Sequence[Named], outputs: Sequence[Named]) -> GraphProto:
        from onnx import helper

        for wanted, (ref, _) in inputs:
            ref.name = self._names.of(wanted or "tensor")
        nodes = [*self._graph.nodes]
        results = []
        made = {output for node in nodes for output in node.outputs}
        for wanted, (ref, info) in outputs:
            if ref not in made or ref.name:
                # The output is an input, a constant, or an earlier output, so it needs a copy.
                copied = Ref(ref.dtype)
                nodes.append(NewNode("Identity", [ref], [copied], {}, [wanted]))
                ref = copied
            ref.name = self._names.of(wanted or "tensor")
            results.append((ref, info))
        kept = _find_used(nodes, [ref for ref, _ in results])
        # Names of nodes are chosen first: a constant often has the name of the node that it was created for.
        written = self._nodes(kept)
        constants = self._constants(kept)
        protos = [_value_info(ref, info) for _, (ref, info) in inputs]
        return helper.make_graph(written, name, protos, [_value_info(*result) for result in results], constants)

    def _name(self, ref: Ref) -> str:
        ref.name = ref.name or self._names.of(ref.hint or "tensor")
        return ref.name

    # ---- nodes ----

    def _nodes(self, nodes: Sequence[NewNode]) -> list[NodeProto]:
        """Return the messages of nodes. Of several nodes for one operator, the last gets the operator's plain name.

        The outputs of the last node get the plain name too.
        """
        names = []
        for node in reversed(nodes):
            names.append(self._node_names.of((node.hint[0] if node.hint else node.operator) or "tensor"))
            for output in node.outputs:
                self._name(output)
        return [self._node(node, name) for node, name in zip(nodes, reversed(names), strict=True)]

    def _node(self, node: NewNode, name: str) -> NodeProto:
        from onnx import helper

        inputs = ["" if input_ is None else self._name(input_) for input_ in node.inputs]
        attributes = {
            key: self._subgraph(value, f"{key} of {node.operator}") if isinstance(value, Graph) else value
            for key, value in node.attributes.items()
        }
        outputs = [self._name(output) for output in node.outputs]
        return helper.make_node(node.operator, inputs, outputs, name=name, domain=node.domain or None, **attributes)

    def _subgraph(self, graph: Graph, name: str) -> GraphProto:
        from onnx import helper

        value_infos = [
            helper.make_tensor_value_info(self._name(ref), number_of(ref.dtype), [] if ref.is_scalar else None)
            for ref in graph.inputs
        ]
        nodes, results = [*graph.nodes], []
        outputs = {output for node in nodes for output in node.outputs}
        for ref in graph.outputs:
            if ref not in outputs or ref in results:
                copied = Ref(ref.dtype, ref.hint)
                nodes.append(NewNode("Identity", [ref], [copied], {}, []))
                ref = copied
            results.append(ref)
        written = self._nodes(_find_used(nodes, results))
        returned = [helper.make_tensor_value_info(self._name(ref), number_of(ref.dtype), None) for ref in results]
        return helper.make_graph(written, name, value_infos, returned)

    # ---- constants ----

    def _constants(self, nodes: Sequence[NewNode]) -> list[TensorProto]:
        used = {ref for node in nodes for ref in _read_by(node)}
        kept = [constant for constant in self._graph.constants if constant.ref in used]
        if (total := sum(byte_count(each.info.dtype, _sizes(each.info)) for each in kept)) > _MOST_BYTES:
            raise RefusalError(
                f"the model's constants take {total:,} bytes, an ONNX model has 2 GB at most: "
                "make them arguments of the function"
            )
        return [self._constant(each) for each in kept]

    def _constant(self, constant: ConstantTensor) -> TensorProto:
        from onnx import TensorProto, numpy_helper

        name, info = self._name(constant.ref), constant.info
        if not isinstance(constant.held, Value):
            return numpy_helper.from_array(_contiguous(constant.held), name)
        attribute = _elements(constant.held)
        if is_resource(attribute) and bit_width(info.dtype) >= 8:
            raw = bytes(elements_bytes(attribute))
            return TensorProto(name=name, data_type=number_of(info.dtype), dims=_sizes(info), raw_data=raw)
        return numpy_helper.from_array(array_of_attribute(attribute, info.dtype, _sizes(info)), name)


def _elements(value: Value) -> Attribute:
    maker = made_by(value)
    assert maker is not None
    return maker.attributes["value"]


def _contiguous(array: Array) -> Array:
    import numpy

    return numpy.ascontiguousarray(array).reshape(array.shape)


def _sizes(info: TensorInfo) -> tuple[int, ...]:
    """Return the sizes of a constant, which are all static."""
    return tuple(size for size in info.shape or () if isinstance(size, int))


def _value_info(ref: Ref, info: TensorInfo) -> ValueInfoProto:
    """Return the type of a tensor. Dynamic sizes appear as expressions, unknown sizes without a name."""
    from onnx import helper

    sizes = None
    if info.shape is not None:
        sizes = [size if isinstance(size, int) or size is None else str(size) for size in info.shape]
    return helper.make_tensor_value_info(ref.name, number_of(info.dtype), sizes)


# ---- dead nodes ----


def _find_used(nodes: Sequence[NewNode], results: Sequence[Ref]) -> list[NewNode]:
    """Return the nodes that the results need, in order."""
    needed, kept = set(results), []
    for node in reversed(nodes):
        if any(output in needed for output in node.outputs):
            kept.append(node)
            needed.update(_read_by(node))
    return kept[::-1]


def _read_by(node: NewNode) -> list[Ref]:
    """Return the tensors that a node reads, including reads in its subgraphs."""
    inner = [graph for graph in node.attributes.values() if isinstance(graph, Graph)]
    read = [input_ for input_ in node.inputs if input_ is not None]
    return [*read, *(ref for graph in inner for ref in _read_in(graph))]


def _read_in(graph: Graph) -> list[Ref]:
    return [*graph.outputs, *(ref for node in graph.nodes for ref in _read_by(node))]
