# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of a torch.fx graph to a graph of relax operators, with the user's source locations."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from relax_mlir.bindings.ir import Operation
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import equal
from relax_mlir.emit.kernels import FreshSymbols
from relax_mlir.frontends.core import sizes
from relax_mlir.frontends.core.limits import Room
from relax_mlir.frontends.core.node import Incomplete, Unsupported, described
from relax_mlir.frontends.core.node_problems import attempted, problem_of
from relax_mlir.frontends.core.problems import Problems
from relax_mlir.frontends.core.values import ComplexValue, Value, as_values
from relax_mlir.support.blaming import shown_place
from relax_mlir.support.errors import ModelError

from .decomposition import Decomposer
from .fx_node import TorchNode
from .fx_operators import arguments_of, defaults_of, functional_name, is_scalar, listed, location_of, name_of, place_of
from .fx_scope import FxScope
from .in_place import Update, Updates
from .model_constants import constant
from .registry import converted, converter_of, find_converter, unknown
from .symbolic_sizes import Expressions
from .written_views import written

if TYPE_CHECKING:
    from torch.fx import GraphModule
    from torch.fx import Node as FxNode


class GraphBuilder(FxScope):
    """Builder of a graph's nodes at the caller's insertion point."""

    def __init__(
        self,
        module: GraphModule,
        problems: Problems,
        symbols: FreshSymbols,
        room: Room,
        expressions: Expressions,
        outer: GraphBuilder | None = None,
        region_of: Operation | None = None,
        decomposer: Decomposer | None = None,
    ):
        super().__init__(problems, symbols, room, expressions, outer, region_of)
        self.module = module
        self._by_node: dict[FxNode, Any] = {}
        self._updates = Updates(module.graph)
        self._decomposer: Decomposer | None = decomposer if outer is None else outer._decomposer
        #: Nodes that could not be imported, including nodes with such nodes in a subgraph.
        self.refused: list[FxNode] = []

    def set(self, fx: FxNode, value: object) -> None:
        """Set the value of a node that is an input."""
        self._by_node[fx] = value

    def add_nodes(self) -> list[Any]:
        """Build all nodes. Return the graph's outputs, nested as in the graph, with None for values that failed."""
        for fx in self.module.graph.nodes:
            if fx.op == "get_attr":
                self._by_node[fx] = self._attribute(fx)
            elif fx.op == "call_function":
                known = len(self.problems.found)
                self._by_node[fx] = self._call(fx)
                if len(self.problems.found) > known:
                    self.refused.append(fx)
            elif fx.op == "output":
                return [self._resolve(each) for each in listed(fx.args[0])]
        raise ModelError("the graph has no output")

    def add_inner(
        self, module: GraphModule, operands: Sequence[object], region_of: Operation | None = None
    ) -> list[Any]:
        inner = GraphBuilder(module, self.problems, self.symbols, self.room, self.expressions.inner(), self, region_of)
        for fx, operand in zip(module.graph.find_nodes(op="placeholder"), operands, strict=True):
            held = operand.inside(region_of) if region_of is not None and hasattr(operand, "inside") else operand
            inner.set(fx, held)
            inner.bind(fx.meta.get("val"), held)
        outputs = inner.add_nodes()
        if inner.refused:
            raise Incomplete
        return outputs

    def _attribute(self, fx: FxNode) -> object:
        held = operator.attrgetter(str(fx.target))(self.module)
        return held if not hasattr(held, "dtype") else constant(held, str(fx.target))

    def _resolve(self, argument: object) -> Any:
        """Return an argument with the values of nodes in place of the nodes."""
        if isinstance(argument, (list, tuple)):
            return [self._resolve(each) for each in argument]
        if type(argument).__name__ == "Node":
            return self._by_node[argument]
        if isinstance(argument, slice):
            return slice(*(self._resolve(each) for each in (argument.start, argument.stop, argument.step)))
        return argument

    def computed(self, argument: Any) -> Any:
        """Compute a number that depends on data from its operands.

        torch's own expression of the number assumes that all assertions are true. For example, `x.item() == 3` becomes
        True if it is asserted.
        """
        if isinstance(argument, (list, tuple)):
            return [self.computed(each) for each in argument]
        if not _depends_on_data(argument):
            return self._resolve(argument)
        given = {**defaults_of(argument), **arguments_of(argument)}
        node = self._node(argument, {name: self.computed(value) for name, value in given.items()})
        return as_values(converted(node, argument.target))[0]

    def _call(self, fx: FxNode) -> Any:
        if fx.target is operator.getitem:
            held = self._by_node[fx.args[0]]
            return None if held is None else held[fx.args[1]]
        value = fx.meta.get("val")
        if is_scalar(value) and self.is_known(value):
            with location_of(fx):
                return attempted(self._node(fx, {}), lambda: self.expressions.scalar(value))
        if (node := self.node_of(fx)) is None:
            return None  # The problem of the argument is reported already.
        with location_of(fx):
            made = self._convert(node)
        if fx in self._updates.simple and made is not None:
            self._write(self._updates.simple[fx], made)
        return made

    def _write(self, update: Update, made: object) -> None:
        """Replace an updated tensor, the sources of its view, and their other aliases."""
        for view, source in pairwise(update.chain):
            self._by_node[view], old = made, self._by_node[source]
            made = made if view in self._updates.whole else self._written(view, source, old, made)
        self._by_node[update.chain[-1]] = made
        for alias in update.others:
            is_whole = alias in self._updates.whole
            self._by_node[alias] = self._by_node[self._updates.source_of(alias)] if is_whole else self._call(alias)

    def _written(self, view: FxNode, source: FxNode, old: object, new: object) -> Any:
        node = None if new is None else self.node_of(view)
        return None if node is None else attempted(node, lambda: written(node, source, old, new))

    def node_of(self, fx: FxNode) -> TorchNode | None:
        """Return the node for a converter, or None if an argument could not be imported."""
        if any(self._by_node[node] is None for node in fx.all_input_nodes):
            if find_converter(functional_name(fx.target)) is None:
                self.problems.add(problem_of(self._node(fx, {}), unknown(fx.target)))
            return None
        arguments = {**defaults_of(fx), **arguments_of(fx)}
        return self._node(fx, {name: self._resolve(argument) for name, argument in arguments.items()})

    def _node(self, fx: FxNode, arguments: Mapping[str, object]) -> TorchNode:
        place = place_of(fx)
        shown = f"{fx.name} ({shown_place(*place)})" if place else fx.name
        return TorchNode(fx, shown, functional_name(fx.target), arguments, self)

    def _convert(self, node: TorchNode) -> Any:
        """Convert a node. Return its value, or a list of values if its operator has several results."""
        outputs = attempted(node, lambda: self.convert(node))
        if outputs is None or isinstance(node.fx.meta.get("val"), (list, tuple)):
            return outputs
        return outputs[0] if outputs else ()  # An assertion has no results.

    def convert(self, node: TorchNode) -> list[Any]:
        returned = self._return_values(node)
        meta = node.fx.meta.get("val")
        metas = [] if returned is None and not isinstance(meta, (list, tuple)) else listed(meta)
        made = [*([_as_value(each) for each in listed(returned)] if metas else ()), *[None] * len(metas)]
        for index, (each, meta) in enumerate(zip(made, metas, strict=False)):
            if each is None and meta is not None and node.is_wanted[index]:
                raise Unsupported(f"its converter does not make result #{index}, which the model uses")
        return [self._settle(each, meta, index) for index, (each, meta) in enumerate(zip(made, metas, strict=False))]

    def _return_values(self, node: TorchNode) -> Any:
        """Return the result of the node's converter, or of torch's decomposition if the node has no converter."""
        if (converter := converter_of(node)) is not None:
            return converter(node)
        if self._decomposer is None:
            return converted(node, node.fx.target)
        try:
            module = self._decomposer.graph_of(node.fx)
        except Exception as error:  # torch's decompositions raise exceptions of any class.
            raise Unsupported(
                f"torch cannot decompose it: {type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
            ) from error
        if module is None:
            return converted(node, node.fx.target)
        return self.add_inner(module, [self._by_node[input_node] for input_node in node.fx.all_input_nodes])

    # ---- torch's types of results ----

    def _settle(self, held: Any, meta: Any, index: int) -> Any:
        """Check a result against torch's type for it, and name the sizes that depend on data."""
        if held is None:
            return None
        if isinstance(held, list):
            return [self._settle(each, own, index) for each, own in zip(held, meta, strict=True)]
        if is_scalar(meta):
            self.bind(meta, held)
            return held
        if isinstance(held, ComplexValue):
            real, imag = (self._settle(part, meta.real, index) for part in (held.real, held.imag))
            assert isinstance(real, Value) and isinstance(imag, Value)
            return ComplexValue(real, imag)
        expected = self.info_of(meta)
        if not isinstance(held, Value) or expected is None:
            return held
        if held.dtype != expected.dtype or _contradict(held.shape, expected.shape):
            raise Unsupported(
                f"internal error: result #{index} is {described(held)}, torch says {described(expected)}; "
                "this is a bug of the converter, not of the model: please report it"
            )
        if held.is_in_graph and held.shape is not None and None in held.shape:
            held = self._name(held, expected)
        self.bind(meta, held)
        return held

    def _name(self, value: Value, expected: TensorInfo) -> Value:
        known = Value(ssa=sizes.stated(value.ssa, list(expected.shape or ())))
        if None not in (known.shape or ()):
            return known
        named = sizes.named(known, self.symbols)
        assert isinstance(named, Value)
        return named


#: Operators that read an element of a tensor.
_READ = ("aten::item.default", "aten::_local_scalar_dense.default")


def _depends_on_data(argument: Any) -> bool:
    """Check whether a node returns a number that is computed from an element of a tensor."""
    if type(argument).__name__ != "Node" or argument.op != "call_function" or not is_scalar(argument.meta.get("val")):
        return False
    if find_converter(functional_name(argument.target)) is None:
        return False
    return name_of(argument.target) in _READ or any(map(_depends_on_data, argument.all_input_nodes))


def _as_value(each: Any) -> Any:
    if isinstance(each, float) or sizes.is_known(each):
        return each
    return as_values(each) if isinstance(each, list) else as_values([each])[0]


def _contradict(own: Sequence[Any] | None, expected: Sequence[Any] | None) -> bool:
    if own is None or expected is None:
        return False
    if len(own) != len(expected):
        return True
    pairs = [(one, other) for one, other in zip(own, expected, strict=True) if None not in (one, other)]
    return any(equal(one, other) is False for one, other in pairs)
