# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of the blocks of an MLIR module to a graph of relax operators, with the module's locations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, TypeVar

from ...bindings.ir import Block, Operation, Type
from ...bindings.ir import Value as IRValue
from ...bindings.mlir import ir
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import Dim, equal
from ...emit.kernels import FreshSymbols
from .converters import NamedConverters
from .dialect_node import DialectNode
from .dialect_scope import DialectScope
from .limits import Room
from .node import Incomplete, Unsupported, described
from .node_problems import attempted, problem_of
from .problems import Problems
from .sizes import named, stated
from .values import Held, Tensor, Value, as_values

#: Limit of nested calls. JAX nests some tens of calls.
_DEEPEST_CALLS = 100
G = TypeVar("G", bound="DialectGraph")


class DialectGraph(DialectScope):
    """Builder of the operations of blocks at the caller's insertion point. Called functions are inlined."""

    #: Set by each front end: the node class, the converters, and the operations that end a block.
    node_class: ClassVar[type[DialectNode]]
    converters: ClassVar[NamedConverters]
    terminators: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        functions: dict[str, Operation],
        problems: Problems,
        symbols: FreshSymbols,
        room: Room,
        outer: DialectGraph | None = None,
        region_of: Operation | None = None,
    ):
        super().__init__(problems, symbols, {} if outer is None else outer.kernels, room, outer, region_of)
        self.functions = functions
        self._held: dict[IRValue, Held | None] = {}
        self._depth: int = 0 if outer is None else outer._depth + 1

    def argument(self, tensor: Tensor, type_: Type) -> Held:
        """Return the value that a function argument represents."""
        return Value(ssa=tensor)

    # ---- blocks ----

    def add_block(self, block: Block, operands: Sequence[Held | None]) -> list[Held | None]:
        """Return the results of a block for the operands. A result that could not be imported is None."""
        for argument, operand in zip(block.arguments, operands, strict=True):
            self._held[argument] = operand
        for view in block.operations:
            operation = view.operation
            if operation.name in self.terminators:
                return [self.held(each) for each in operation.operands]
            self._add(operation)
        raise Unsupported("a block without an end")

    def add_inner(self, block: Block, operands: Sequence[Held | None], region_of: Operation | None = None) -> list[Any]:
        given = [
            operand.inside(region_of) if region_of is not None and operand is not None else operand
            for operand in operands
        ]
        return complete(self.inner(region_of).add_block(block, given))

    def inner(self: G, region_of: Operation | None = None) -> G:
        """Return a graph for a nested block."""
        if self._depth == _DEEPEST_CALLS:
            raise Unsupported(
                f"calls of functions are nested more than {_DEEPEST_CALLS} deep: is a function recursive?"
            )
        return type(self)(self.functions, self.problems, self.symbols, self.room, self, region_of)

    def held(self, value: IRValue) -> Held | None:
        """Return the imported value of an SSA value of this block or of an enclosing one."""
        if value in self._held:
            return self._held[value]
        assert isinstance(self._outer, DialectGraph), "a value of no block around"
        held = self._outer.held(value)
        if self._region_of is not None and held is not None:
            held = self._held[value] = held.inside(self._region_of)
        return held

    # ---- operations ----

    def _add(self, operation: Operation) -> None:
        inputs = [self.held(operand) for operand in operation.operands]
        node = self.node_class(operation, inputs, self)
        with operation.location:
            if any(input_ is None for input_ in inputs):
                made = None  # The problem of the missing input is reported already.
                if not self.is_known(node):
                    self.problems.add(problem_of(node, self.converters.unknown(node.op)))
            else:
                made = attempted(node, lambda: self._converted(node))
        results = list(operation.results)
        for result, held in zip(results, [None] * len(results) if made is None else made, strict=True):
            self._held[result] = held

    def is_known(self, node: DialectNode) -> bool:
        """Check whether an operation has a converter."""
        return node.op == "func.call" or self.converters.converter_of(node.op) is not None

    def _converted(self, node: DialectNode) -> list[Held | None]:
        self.room.take_node()
        if node.op == "func.call":
            return self.call(node, node.attr("callee"))
        if (converter := self.converters.converter_of(node.op)) is None:
            return self.without_converter(node)
        with self.folding(node):
            returned = converter(node)
        made = [] if returned is None and not node.result_types else as_values(returned)
        if len(made) != len(node.result_types):
            raise Unsupported(
                f"internal error: its converter returns {len(made)} results, expected {len(node.result_types)}"
            )
        return [self.settled(*each) for each in zip(made, node.result_types, strict=True)]

    def without_converter(self, node: DialectNode) -> list[Held | None]:
        raise self.converters.unknown(node.op)

    def folding(self, node: DialectNode) -> AbstractContextManager[None]:
        """Return the context of a conversion. Front ends that fold constants at import override this method."""
        return nullcontext()

    def call(self, node: DialectNode, name: str) -> list[Held | None]:
        """Return the results of a call to a function of the module."""
        function = self.functions.get(name)
        if function is None or not function.regions[0].blocks:
            raise node.fail(f"the module has no function '{name}' with a body")
        return self.add_inner(function.regions[0].blocks[0], node.inputs)

    # ---- results ----

    def settled(self, held: Held | None, type_: Type) -> Held | None:
        """Check a result against its type in the module, and name the sizes that depend on data."""
        if not isinstance(held, Value) or not isinstance(type_, ir.RankedTensorType):
            return held
        expected = self.expected(held, type_)
        if held.dtype != expected.dtype or _contradict(held.shape, expected.shape):
            raise Unsupported(
                f"internal error: its result is {described(held)}, the module says {described(expected)}; "
                "this is a bug of the converter, not of the module: please report it"
            )
        if held.is_in_graph and held.shape is not None and None in held.shape:
            return named(Value(ssa=stated(held.ssa, list(expected.shape or ()))), self.symbols)
        return held

    def expected(self, value: Value, type_: Type) -> TensorInfo:
        """Return the expected type of a result."""
        return self.node_class.info_of(type_)


def complete(outputs: list[Any]) -> list[Any]:
    if any(output is None for output in outputs):
        raise Incomplete
    return outputs


def _contradict(own: Sequence[Dim] | None, expected: Sequence[Dim] | None) -> bool:
    if own is None or expected is None:
        return False
    pairs = [(one, other) for one, other in zip(own, expected, strict=False) if None not in (one, other)]
    return len(own) != len(expected) or any(equal(one, other) is False for one, other in pairs)
