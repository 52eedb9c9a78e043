# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A part without its calls: the operations of its composites in their order, and who uses what they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from ....bindings.ir import Operation, Value
from ....bindings.navigation import body_of, callee_of, functions_in, has_body, is_private, operations_of, symbol_name
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import TensorInfo
from ....dialects.core.opdef import Call
from ....dialects.core.verifier import call_of
from ....dialects.relax.known_constants import CONSTANTS, elements_of, splat
from ....dialects.relax.values import tensor_info
from ....passes.partition.functions import CODEGEN
from ....support.errors import RefusalError


class Whole(Protocol):
    """Several operations that a codegen has one thing for: what they are of, and those before the last one."""

    @property
    def source(self) -> Value: ...

    @property
    def inner(self) -> frozenset[Operation]: ...


#: What the operations up to this one are together, if they are.
WholeAt = Callable[[Operation], Whole | None]


@dataclass(eq=False)
class Ref:
    """A value of the part. A composite that is called twice has values for each time."""

    value: Value
    made_by: Node | None = None

    @property
    def info(self) -> TensorInfo:
        return tensor_info(self.value)

    @property
    def is_constant(self) -> bool:
        return self.made_by is not None and self.made_by.op.name in CONSTANTS

    @property
    def number(self) -> float | None:
        """The number that it is everywhere."""
        found = splat(self.value) if self.is_constant else None
        return None if found is None else float(found)


@dataclass(eq=False)
class Node:
    """An operation of the part."""

    op: Operation
    operands: list[Ref]
    results: list[Ref] = field(default_factory=list)
    #: What it is the last operation of; then it reads that one's source alone.
    whole: Whole | None = None

    @property
    def name(self) -> str:
        return self.op.name

    @cached_property
    def call(self) -> Call:
        row = row_of(self.op)
        assert row is not None, self.op
        return call_of(row, self.op)

    def operand(self, name: str) -> Ref:
        """By its name in the operator's row."""
        return self.operands[list(self.call.operands).index(name)]

    @property
    def result(self) -> Ref:
        return self.results[0]


@dataclass
class Graph:
    """A function of the part, flat."""

    name: str
    inputs: list[Ref]
    nodes: list[Node] = field(default_factory=list)
    outputs: list[Ref] = field(default_factory=list)

    @cached_property
    def uses(self) -> Counter[Ref]:
        """How often each value is used, by operations and as an output."""
        return Counter([*(ref for node in self.nodes for ref in node.operands), *self.outputs])


def public_functions(module: Operation, whole_at: WholeAt = lambda op: None) -> list[Graph]:
    """The functions of a part that are called from outside, which may be marked by their codegen."""
    functions = {symbol_name(each): each for each in functions_in(module) if has_body(each)}
    marked = [each for each in functions.values() if CODEGEN in each.attributes]
    public = marked or [each for each in functions.values() if not is_private(each)]
    return [_flat(each, _Flattening(functions, whole_at)) for each in public]


class _Flattening(NamedTuple):
    functions: Mapping[str, Operation]
    whole_at: WholeAt


def _flat(function: Operation, flattening: _Flattening) -> Graph:
    inputs = [Ref(argument) for argument in body_of(function).arguments]
    graph = Graph(symbol_name(function), inputs)
    graph.outputs = _inline(function, inputs, graph, flattening)
    return graph


def _inline(function: Operation, arguments: list[Ref], graph: Graph, flattening: _Flattening) -> list[Ref]:
    """Adds a function's operations; gives what it returns."""
    body = body_of(function)
    known: dict[Value, Ref] = dict(zip(body.arguments, arguments, strict=True))
    found = {op: flattening.whole_at(op) for op in operations_of(body)}
    inner = {op for each in found.values() if each is not None for op in each.inner}
    for op in operations_of(body):
        if op in inner:
            continue
        whole = found[op]
        operands = [known[value] for value in ([whole.source] if whole else op.operands)]
        if op.name == "func.return":
            return operands
        if op.name == "func.call":
            made = _inline(flattening.functions[callee_of(op)], operands, graph, flattening)
        else:
            node = Node(op, operands, whole=whole)
            made = node.results = [Ref(value, node) for value in op.results]
            graph.nodes.append(node)
        known.update(zip(op.results, made, strict=True))
    raise RefusalError(f"function @{symbol_name(function)} does not return")


def numbers_in(ref: Ref) -> Any:
    """A constant's elements as numpy has them; None for others."""
    return elements_of(ref.value) if ref.is_constant else None
