# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flat operator graph of a part's function: nodes, values, and the producer and use count of each value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from ....bindings.ir import Operation, Value
from ....bindings.navigation import functions_in, has_body, is_private, symbol_name
from ....dialects.core.infos import TensorInfo
from ....dialects.core.opdef import Call
from ....dialects.core.symbols import Dim
from ....dialects.relax.known_constants import elements_of, splat
from ....dialects.relax.values import tensor_info
from ..partition.external_functions import CODEGEN
from ..partition.steps import Steps
from .operator_checks import call_at

if TYPE_CHECKING:
    from numpy import ndarray


class Whole(Protocol):
    """Group of operations that a codegen converts to one layer: its source value, and all operations but the last."""

    @property
    def source(self) -> Value: ...

    @property
    def inner(self) -> frozenset[Operation]: ...


#: Function that returns the group that ends with an operation, or None.
WholeAt = Callable[[Operation], Whole | None]


@dataclass(eq=False)
class Ref:
    """Value of a part. Each call of a composite has values of its own."""

    value: Value
    is_constant: bool
    made_by: FlatNode | None = None

    @property
    def info(self) -> TensorInfo:
        return tensor_info(self.value)

    @property
    def dims(self) -> tuple[Dim, ...]:
        return tuple(self.info.shape or ())

    @property
    def number(self) -> float | None:
        """Return the number that all elements of a constant equal, or None."""
        found = splat(self.value) if self.is_constant else None
        return None if found is None else float(found)


@dataclass(eq=False)
class FlatNode:
    """Operation of a part with its operands and results."""

    op: Operation
    operands: list[Ref]
    results: list[Ref]
    #: Group that ends with this operation. The node's only operand is then the group's source.
    whole: Whole | None = None

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def operator(self) -> str:
        """Return the operation's name without the dialect."""
        return self.op.name.partition(".")[2]

    @cached_property
    def call(self) -> Call:
        return call_at(self.op)

    def operand(self, name: str) -> Ref:
        """Return the operand with this name in the operator's row."""
        return self.operands[list(self.call.operands).index(name)]

    @property
    def result(self) -> Ref:
        return self.results[0]


@dataclass
class FlatGraph:
    """Function of a part without calls: composites are replaced by their operations."""

    name: str
    inputs: list[Ref]
    outputs: list[Ref]
    nodes: list[FlatNode] = field(default_factory=list)

    @cached_property
    def uses(self) -> Counter[Ref]:
        """Count the uses of each value as an operand or an output."""
        return Counter([*(ref for node in self.nodes for ref in node.operands), *self.outputs])


def public_functions(module: Operation, whole_at: WholeAt | None = None) -> list[FlatGraph]:
    """Return the graphs of a part's entry points.

    Entry points are the functions that a codegen attribute marks, or the public functions if no function has one.
    """
    functions = {symbol_name(function): function for function in functions_in(module) if has_body(function)}
    marked = [function for function in functions.values() if CODEGEN in function.attributes]
    public = marked or [function for function in functions.values() if not is_private(function)]
    return [_graph(each, module, whole_at or (lambda _: None)) for each in public]


def _graph(function: Operation, module: Operation, whole_at: WholeAt) -> FlatGraph:
    part = Steps(function, module, whole=False)
    refs = [Ref(value, number in part.constant_numbers) for number, value in enumerate(part.values)]
    graph = FlatGraph(
        symbol_name(function), [refs[input_] for input_ in part.inputs], [refs[output] for output in part.outputs]
    )
    wholes = {op: whole_at(op) for step in part.steps for op in step.operations}
    inner = {op for each in wholes.values() if each is not None for op in each.inner}
    # Numbers of the values in the current call of a composite. Each call gives the same values new numbers.
    numbers: dict[Value, int] = {}
    for step in part.steps:
        (op,) = step.operations
        numbers.update(zip((*op.operands, *op.results), (*step.inputs, *step.outputs), strict=True))
        if op in inner:
            continue
        whole = wholes[op]
        read = step.inputs if whole is None else [numbers[whole.source]]
        node = FlatNode(op, [refs[each] for each in read], [refs[output] for output in step.outputs], whole)
        for ref in node.results:
            ref.made_by = node
        graph.nodes.append(node)
    return graph


def numbers_in(ref: Ref) -> ndarray | None:
    """Return a constant's elements as a NumPy array, or None for any other value."""
    return elements_of(ref.value) if ref.is_constant else None
