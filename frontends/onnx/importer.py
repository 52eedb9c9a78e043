# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of a model's graph to a graph of relax operators, with the model's own names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...bindings.ir import Location, Operation
from ...bindings.mlir import ir
from ...support.blaming import blaming
from ...support.errors import ModelError, RelaxError
from ..core.control.scf_branches import convert_each
from ..core.node import Incomplete, Unsupported
from ..core.node_problems import attempted, problem_of
from ..core.problems import Problem
from ..core.sizes import named
from ..core.values import EmptyOptional, Held, OneOf, Value, as_values
from .import_notes import noting
from .limits import DEEPEST_CALLS
from .model import DEFAULT_DOMAINS, versions_of
from .node_problems import lines_to_teach, unknown
from .onnx_node import OnnxNode
from .operator_schemas import check_node, expansion_of, is_defined_by_onnx, own_function
from .order import in_order
from .problems import shown_node
from .registry import find_converter
from .scope import Scope
from .shape_operators import converted
from .tensor_data import FunctionProto, GraphProto, NodeProto, is_absurd
from .texts import held_of, moved, moves_texts


class _Absent(EmptyOptional):
    """Function input that its call leaves out."""


_ABSENT = _Absent()


class GraphImporter(Scope):
    """Builder of a graph's nodes at the caller's insertion point."""

    def add_initializers(self, graph: GraphProto) -> None:
        # Initializers of passed inputs are defaults.
        passed = {each.name for each in graph.input if each.name in self._values}
        for each in graph.initializer:
            if each.name not in passed:
                self.define(each.name, held_of(each, self.model.data))

    def add_nodes(self, nodes: Sequence[NodeProto]) -> None:
        self._nodes = in_order(nodes, self._values)
        for proto in self._nodes:
            self.add_node(proto)

    def add_node(self, proto: NodeProto) -> None:
        """Define the outputs of a node. If it cannot be imported, report the problem and continue."""
        inputs = [self._input(proto, index) for index in range(len(proto.input))]
        if any(value is None for value in inputs):
            # The problem of the missing input is reported already.
            outputs: list[Held | None] = [None] * len(proto.output)
            for problem in self.unreached_problems(self.node_of(proto, inputs)):
                self.problems.add(problem)
        else:
            node = self.node_of(proto, [None if value is _ABSENT else value for value in inputs])
            with self._origin or _location_of(node), noting(node) as note:
                outputs = self._convert(node)
                note(outputs)
        for name, value in zip(proto.output, outputs, strict=False):
            if name:
                with _errors_of(proto):
                    self.define(name, value)

    def node_of(self, proto: NodeProto, inputs: Sequence[Held | None]) -> OnnxNode:
        """Return the node that a converter receives."""
        version = self.opsets.get("" if proto.domain == "ai.onnx" else proto.domain, 1)
        return OnnxNode(proto, inputs, version, self)

    def _input(self, proto: NodeProto, index: int) -> Held | None:
        with _errors_of(proto, f", input #{index}"):
            return self.lookup(proto.input[index]) if proto.input[index] else _ABSENT

    def _convert(self, node: OnnxNode) -> list[Held | None]:
        def checked() -> list[Held | None]:
            check_node(node)
            outputs = [named(each, self.symbols) for each in self.convert(node)]
            _check_sizes(outputs)
            return outputs

        made = attempted(node, checked)
        return [None] * node.output_count if made is None else made

    def convert(self, node: OnnxNode) -> Sequence[Held | None]:
        """Convert a node and return its outputs."""
        self.model.room.take_node()
        if (several := next((input_ for input_ in node.inputs if isinstance(input_, OneOf)), None)) is not None:
            return self._convert_each(node, several)
        if moves_texts(node):
            return moved(node, lambda inputs: self.convert(self.node_of(node.proto, inputs)))
        converter = find_converter(node.domain, node.op, node.version)
        if converter is not None:
            what, answers = f"the converter '{converter.function.__name__}'", (Unsupported, Incomplete)
            with blaming(what, converter.function, answers=answers):
                return as_values(converted(converter.function, node))
        if (function := expansion_of(node, self.model)) is None:
            raise Unsupported(unknown(node), help=lines_to_teach(node))
        return self._expand(node, function)

    def _convert_each(self, node: OnnxNode, several: OneOf) -> Sequence[Held | None]:
        """Convert a node with a tensor that is one of several. Return its named outputs."""
        indices = [index for index, name in enumerate(node.proto.output) if name]

        def convert(inputs: Sequence[Held | None], operation: Operation | None) -> list[Held]:
            inner, held = self, list(inputs)
            if operation is not None:
                inner = GraphImporter(self.model, self.problems, self.symbols, self, operation)
                held = [input_ if input_ is None else input_.inside(operation) for input_ in inputs]
            outputs = inner.convert(inner.node_of(node.proto, held))
            return _complete([outputs[index] for index in indices if index < len(outputs)])

        made = dict(zip(indices, convert_each(node, several, convert), strict=False))
        return [made.get(index) for index in range(node.output_count)]

    def _expand(self, node: OnnxNode, function: FunctionProto) -> list[Held | None]:
        """Inline a function at its call."""
        inner = self.inside(node, function)
        for name, value in zip(function.input, [*node.inputs, *[None] * len(function.input)], strict=False):
            inner.define(name, _ABSENT if value is None else value)
        inner.add_nodes(function.node)
        return [inner.lookup(name) for name in function.output][: node.output_count]

    def inside(self, node: OnnxNode, function: FunctionProto) -> GraphImporter:
        """Return the importer for the function that a node calls."""
        if (call := f"{node.domain}.{node.op}") in self._calls:
            raise Unsupported("the function calls itself")
        if len(self._calls) == DEEPEST_CALLS:
            raise Unsupported(f"calls of functions are nested more than {DEEPEST_CALLS} deep")
        inner = GraphImporter(self.model, self.problems, self.symbols)
        inner.opsets = {**self.opsets, **versions_of(function.opset_import)}
        inner._calls = (*self._calls, call)
        inner.within = node.name
        is_models = own_function(node, self.model) is not None
        inner._origin = self._origin or (None if is_models else _location_of(node))
        return inner

    # ---- nodes with inputs that could not be imported ----

    def unreached_problems(self, node: OnnxNode) -> Iterator[Problem]:
        """Yield the problems of a node, of its subgraphs, and of the model's function that the node calls."""
        self.model.room.take_node()
        for attribute in node.proto.attribute:
            for proto in attribute.g.node if attribute.HasField("g") else ():
                yield from self.unreached_problems(self.node_of(proto, [None] * len(proto.input)))
        try:
            check_node(node)
            if find_converter(node.domain, node.op, node.version) is None:
                yield from self._problems_of_function(node)
        except Unsupported as problem:
            yield problem_of(node, problem)

    def _problems_of_function(self, node: OnnxNode) -> Iterator[Problem]:
        if (function := own_function(node, self.model)) is not None:
            inner = self.inside(node, function)
            for proto in function.node:
                yield from inner.unreached_problems(inner.node_of(proto, [None] * len(proto.input)))
        elif not is_defined_by_onnx(node):
            raise Unsupported(unknown(node), help=lines_to_teach(node))


def add_graph(
    node: OnnxNode, graph: GraphProto, inputs: Sequence[Held], region_of: Operation | None = None
) -> list[Held]:
    """Build a graph in a node's attribute at the insertion point, and return its outputs. Raise Incomplete.

    `region_of` is the operation of the region. Without `region_of`, the graph is built in the block of the node.
    """
    outer = node.graph
    importer = GraphImporter(outer.model, outer.problems, outer.symbols, outer, region_of)
    for held, value in zip(graph.input, inputs, strict=False):
        importer.define(held.name, named(value, outer.symbols))
    importer.add_initializers(graph)
    importer.add_nodes(graph.node)
    return _complete([importer.output(output.name) for output in graph.output])


def _complete(outputs: Sequence[Held | None]) -> list[Held]:
    found = [output for output in outputs if output is not None]
    if len(found) < len(outputs):
        raise Incomplete
    return found


def _location_of(node: OnnxNode) -> Location:
    """Return a location with the node's name, and its operator as `onnx.Conv`."""
    domain = "onnx" if node.domain in DEFAULT_DOMAINS else node.domain
    return ir.Location.name(node.name, ir.Location.name(f"{domain}.{node.op}"))


@contextmanager
def _errors_of(proto: NodeProto, where: str = "") -> Iterator[None]:
    """Add the node's name to errors about its inputs and outputs."""
    try:
        yield
    except RelaxError as error:
        raise ModelError(f"node {shown_node(proto)}{where}: {error.message}") from None


def _check_sizes(outputs: Sequence[Held | None]) -> None:
    """Refuse tensors that are too large for any memory, so that the error names their producer."""
    for value in outputs:
        if isinstance(value, Value) and value.is_in_graph:
            sizes = [size for size in value.shape or () if isinstance(size, int)]
            if is_absurd(sizes):
                raise Unsupported(f"its result has the absurd shape ({', '.join(map(str, value.shape or ()))})")
