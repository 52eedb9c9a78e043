# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Walks a graph of torch.fx and builds a graph of relax operators, with the user's own places."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...bindings.ir import Location, Operation
from ...bindings.mlir import ir
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import SymExpr, equal
from ...emit.kernels import FreshSymbols
from ...support.blaming import blaming, shown_place
from ...support.errors import ModelError
from ...support.suggest import suggest
from ..core import sizes
from ..core.limits import Room
from ..core.node import Incomplete, Unsupported, described
from ..core.node_problems import attempted, problem_of
from ..core.problems import Problems
from ..core.scope import Scope
from ..core.values import ComplexValue, Held, Value, as_values
from .dtypes import array_of, dtype_of_parts
from .expressions import Expressions
from .in_place import Updates, updated_argument
from .node import Node
from .registry import find_complex_converter, find_converter, known_names

if TYPE_CHECKING:
    import torch
    from torch.fx import GraphModule
    from torch.fx import Node as FxNode

_PLACE = re.compile(r'File "([^"]+)", line (\d+)')


class Graph(Scope):
    """Builds the nodes of a graph where the caller's insertion point is."""

    def __init__(
        self,
        module: GraphModule,
        problems: Problems,
        symbols: FreshSymbols,
        room: Room,
        expressions: Expressions,
        outer: Graph | None = None,
        region_of: Operation | None = None,
    ):
        """`outer` is the graph around, for one in a node; `region_of` the operation whose region is built, if any."""
        super().__init__(problems, symbols, {} if outer is None else outer.kernels, room, outer, region_of)
        self.module = module
        self.expressions = expressions
        self._by_node: dict[FxNode, Any] = {}
        self._updates = Updates(module.graph)

    def set(self, fx: FxNode, value: object) -> None:
        """Says what a node stands for: an input."""
        self._by_node[fx] = value

    def add_nodes(self) -> list[Any]:
        """What the graph's output lists, nested as there; None where something could not be imported."""
        for fx in self.module.graph.nodes:
            if fx.op == "get_attr":
                self._by_node[fx] = self._attribute(fx)
            elif fx.op == "call_function":
                self._by_node[fx] = self._called(fx)
            elif fx.op == "output":
                return [self._resolved(each) for each in _listed(fx.args[0])]
        raise ModelError("the graph has no output")

    def add_inner(self, module: GraphModule, operands: Sequence[Any], region_of: Operation | None = None) -> list[Any]:
        """The outputs of a graph in a node, built where the insertion point is: in a region of an operation, or where
        the node stands. Raises Incomplete.
        """
        inner = Graph(module, self.problems, self.symbols, self.room, self.expressions.inner(), self, region_of)
        placeholders = module.graph.find_nodes(op="placeholder")
        for fx, operand in zip(placeholders, operands, strict=True):
            held = operand.inside(region_of) if region_of is not None and hasattr(operand, "inside") else operand
            inner.set(fx, held)
            inner.bind(fx.meta.get("val"), held)
        outputs = inner.add_nodes()
        if any(each is None for each in outputs):
            raise Incomplete
        return outputs

    def bind(self, meta: Any, held: Any) -> None:
        """Binds the symbols that torch has for a number, or for the sizes of a tensor."""
        pairs = [(meta, held)] if is_scalar(meta) else []
        if isinstance(held, Value) and hasattr(meta, "shape"):
            pairs = [*zip(meta.shape, held.shape or (), strict=False)]
        for size, own in pairs:
            inner = getattr(size, "node", None)
            if inner is not None and inner.expr.is_Symbol and own is not None:
                self.expressions.bind(inner.expr.name, own)

    def _attribute(self, fx: FxNode) -> object:
        held = operator.attrgetter(str(fx.target))(self.module)
        if not hasattr(held, "dtype"):
            return held
        return constant(held, str(fx.target))

    def _resolved(self, argument: Any) -> Any:
        """An argument of a node, with what nodes stand for in their place."""
        if isinstance(argument, (list, tuple)):
            return [self._resolved(each) for each in argument]
        if type(argument).__name__ == "Node":
            return self._by_node[argument]
        if isinstance(argument, slice):
            return slice(*(self._resolved(each) for each in (argument.start, argument.stop, argument.step)))
        return argument

    def _called(self, fx: FxNode) -> Any:
        if fx.target is operator.getitem:
            held = self._by_node[fx.args[0]]
            return None if held is None else held[fx.args[1]]
        value = fx.meta.get("val")
        if is_scalar(value) and self.is_known(value):
            with location_of(fx):
                return attempted(self._node(fx, {}), lambda: self.expressions.scalar(value))
        node = self.node_of(fx)
        if node is None:
            return None  # what it needs has been noted
        with location_of(fx):
            made = self._converted(node)
        for each in self._updates.simple.get(fx, ()):
            self._by_node[each] = made
        return made

    def node_of(self, fx: FxNode) -> Node | None:
        """What a converter gets; None where an argument could not be imported."""
        if any(self._by_node[each] is None for each in fx.all_input_nodes):
            if find_converter(functional_name(fx.target)) is None:
                self.problems.add(problem_of(self._node(fx, {}), unknown(fx)))
            return None
        given = dict(zip(argument_names(fx), fx.args, strict=False))
        given.update(fx.kwargs)
        arguments = {**defaults_of(fx), **given}
        return self._node(fx, {name: self._resolved(each) for name, each in arguments.items()})

    def _node(self, fx: FxNode, arguments: Mapping[str, object]) -> Node:
        place = place_of(fx)
        shown = f"{fx.name} ({shown_place(*place)})" if place else fx.name
        return Node(fx, shown, functional_name(fx.target), arguments, self)

    def _converted(self, node: Node) -> Any:
        """What a node gives: a value, or a list of them where its operator has several results."""
        outputs = attempted(node, lambda: self.convert(node))
        if outputs is None or isinstance(node.fx.meta.get("val"), (list, tuple)):
            return outputs
        return outputs[0] if outputs else ()  # nothing of an assertion

    def convert(self, node: Node) -> list[Held | None]:
        converter = find_complex_converter(node.op) if node.is_complex else find_converter(node.op)
        if converter is None and node.is_complex:
            raise Unsupported("no converter of this operator for complex numbers")
        if converter is None:
            raise unknown(node.fx)
        what, answers = f"the converter '{converter.function.__name__}'", (Unsupported, Incomplete)
        with blaming(what, converter.function, answers=answers):
            returned = converter.function(node)
        meta = node.fx.meta.get("val")
        metas = list(meta) if isinstance(meta, (list, tuple)) else [] if returned is None else [meta]
        made = [*(as_values(returned) if metas else ()), *[None] * len(metas)]
        return [self._settled(each, meta, index) for index, (each, meta) in enumerate(zip(made, metas, strict=False))]

    # ---- what torch knows of results ----

    def is_known(self, value: Any) -> bool:
        """Whether a number or a size is made of symbols that are defined."""
        inner = getattr(value, "node", None)
        return inner is None or self.expressions.is_known(inner.expr)

    def info_of(self, value: Any) -> TensorInfo | None:
        """The type of a tensor as torch has inferred it, of complex numbers that of their parts; a size of which
        nothing is known yet is None.
        """
        if not hasattr(value, "dtype") or not hasattr(value, "shape"):
            return None
        return TensorInfo(tuple(self._dim(each) for each in value.shape), dtype_of_parts(value.dtype))

    def _dim(self, size: Any) -> int | SymExpr | None:
        if not self.is_known(size):
            return None
        found = self.expressions.size(size)
        return found if sizes.is_known(found) else None

    def _settled(self, held: Held | None, meta: Any, index: int) -> Held | None:
        """A result, checked against what torch says of it, with names for sizes that depend on data."""
        if held is None:
            return None
        if is_scalar(meta):
            self.bind(meta, held)
            return held
        if isinstance(held, ComplexValue):
            real, imag = (self._settled(part, meta.real, index) for part in (held.real, held.imag))
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
            held = self._named(held, meta, expected)
        self.bind(meta, held)
        return held

    def _named(self, held: Value, meta: Any, expected: TensorInfo) -> Value:
        known = Value(ssa=sizes.stated(held.ssa, list(expected.shape or ())))
        if None not in (known.shape or ()):
            return known
        named = sizes.named(known, self.symbols)
        assert isinstance(named, Value)
        return named


def _contradict(own: Sequence[Any] | None, expected: Sequence[Any] | None) -> bool:
    if own is None or expected is None:
        return False
    if len(own) != len(expected):
        return True
    pairs = [(one, other) for one, other in zip(own, expected, strict=True) if None not in (one, other)]
    return any(equal(one, other) is False for one, other in pairs)


def constant(tensor: torch.Tensor, name: str) -> Value | ComplexValue:
    """A tensor of the model, whose memory the module shares; that of complex numbers is copied."""
    if tensor.is_complex():
        return ComplexValue(_constant(tensor.real, f"{name}.real"), _constant(tensor.imag, f"{name}.imag"))
    return _constant(tensor, name)


def _constant(tensor: torch.Tensor, name: str) -> Value:
    try:
        value = Value(array=array_of(tensor))
    except ModelError as error:
        raise ModelError(f"tensor '{name}': {error.message}") from None
    value.name = name
    return value


def is_scalar(value: Any) -> bool:
    """Whether a node gives a number or a size, not a tensor."""
    return isinstance(value, (bool, int, float)) or type(value).__name__ in ("SymInt", "SymFloat", "SymBool")


def _listed(argument: Any) -> Sequence[Any]:
    return argument if isinstance(argument, (list, tuple)) else [argument]


# ---- operators and their schemas ----


def name_of(target: Any) -> str:
    """`aten::add.Tensor`; of what is no operator of torch's registry its module and name, `_operator::mul`."""
    schema = getattr(target, "_schema", None)
    if schema is not None:
        return f"{schema.name}.{schema.overload_name or 'default'}"
    if hasattr(target, "namespace"):
        return f"{target.namespace}::{target.name()}"
    return f"{getattr(target, '__module__', '?')}::{getattr(target, '__name__', target)}"


def functional_name(target: Any) -> str:
    """The same of an operator that updates its argument, as the one that gives a new tensor is called."""
    name = name_of(target)
    if updated_argument(target) is None:
        return name
    operator_name, _, overload = name.rpartition(".")
    return f"{operator_name.removesuffix('_')}.{overload}"


def argument_names(fx: FxNode) -> Iterator[str]:
    """The names of a node's arguments in the schema of its operator; where it has none their places."""
    schema = getattr(fx.target, "_schema", None)
    if schema is not None:
        return (each.name for each in schema.arguments)
    return (str(index) for index in range(len(fx.args)))


def defaults_of(fx: FxNode) -> Mapping[str, object]:
    """The arguments of an operator in their order, with the values that they have where they are left out."""
    schema = getattr(fx.target, "_schema", None)
    return {} if schema is None else {each.name: each.default_value for each in schema.arguments}


def unknown(fx: FxNode) -> Unsupported:
    """Why a node of an operator without a converter cannot be imported, and how it is taught."""
    name = name_of(fx.target)
    schema = getattr(fx.target, "_schema", None)
    near = suggest(name, known_names(name.partition("::")[0]))
    names = [each.name for each in schema.arguments] if schema is not None else ["x"]
    lines = f"""teach it in your own package, where the operator's arguments have these names: {", ".join(names)}
@rx.register_torch("{name}")
def convert(node):
    return relax.nn.relu(node.tensor("{names[0] if names else "x"}"))  # what it computes, with relax's operators"""
    return Unsupported(f"no converter{near}", help=lines)


# ---- places ----


def place_of(fx: FxNode) -> tuple[str, int] | None:
    """The line of the user's that a node comes from."""
    found = _PLACE.findall(fx.meta.get("stack_trace") or "")
    return (found[-1][0], int(found[-1][1])) if found else None


def location_of(fx: FxNode) -> Location:
    """The node's name, and the user's line."""
    place = place_of(fx)
    if place is None:
        return ir.Location.name(fx.name)
    return ir.Location.name(fx.name, ir.Location.file(place[0], place[1], 0))
