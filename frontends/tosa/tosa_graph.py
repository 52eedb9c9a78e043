# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Walks the blocks of a TOSA module and builds a graph of relax operators, with the module's own places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.ir import Block, Operation, Type
from ...bindings.ir import Value as IRValue
from ...dialects.core.symbols import equal
from ...emit.kernels import FreshSymbols
from ..core.limits import Room
from ..core.node import Incomplete, Unsupported, described
from ..core.node_problems import attempted, problem_of
from ..core.problems import Problems
from ..core.sizes import named, stated
from ..core.values import Value, as_values
from .registry import find_converter, unknown
from .tosa_node import Node
from .tosa_scope import TosaScope
from .tosa_types import info_of, is_shape

_TERMINATORS = ("func.return", "tosa.yield")
_DEEPEST_CALLS = 100


class TosaGraph(TosaScope):
    """Builds the operations of blocks where the caller's insertion point is. Functions stand where they are called."""

    def __init__(
        self,
        functions: dict[str, Operation],
        problems: Problems,
        symbols: FreshSymbols,
        room: Room,
        outer: TosaGraph | None = None,
        region_of: Operation | None = None,
    ):
        super().__init__(problems, symbols, {} if outer is None else outer.kernels, room, outer, region_of)
        self.functions = functions
        self._held: dict[IRValue, Any] = {}
        self._depth: int = 0 if outer is None else outer._depth + 1

    def add_block(self, block: Block, operands: Sequence[Any]) -> list[Any]:
        """What a block gives for its arguments; None for what could not be imported."""
        for argument, held in zip(block.arguments, operands, strict=True):
            self._held[argument] = held
        for view in block.operations:
            operation = view.operation
            if operation.name in _TERMINATORS:
                return [self.held(each) for each in operation.operands]
            self._add(operation)
        raise Unsupported("a block without an end")

    def add_inner(self, block: Block, operands: Sequence[Any], region_of: Operation | None = None) -> list[Any]:
        if self._depth == _DEEPEST_CALLS:
            raise Unsupported(f"functions call functions, more than {_DEEPEST_CALLS} deep: do they call themselves?")
        inner = TosaGraph(self.functions, self.problems, self.symbols, self.room, self, region_of)
        given = [each.inside(region_of) if region_of is not None and each is not None else each for each in operands]
        outputs = inner.add_block(block, given)
        if any(each is None for each in outputs):
            raise Incomplete
        return outputs

    def held(self, value: IRValue) -> Any:
        """What a value stands for, here or in a graph around."""
        if value in self._held:
            return self._held[value]
        assert isinstance(self._outer, TosaGraph), "a value of no block around"
        held = self._outer.held(value)
        if self._region_of is not None and held is not None:
            held = self._held[value] = held.inside(self._region_of)
        return held

    def _add(self, operation: Operation) -> None:
        inputs = [self.held(each) for each in operation.operands]
        node = Node(operation, inputs, self)
        with operation.location:
            if any(each is None for each in inputs):
                made = None  # what it needs has been noted
                if node.op != "func.call" and find_converter(node.op) is None:
                    self.problems.add(problem_of(node, unknown(node.op)))
            else:
                made = attempted(node, lambda: self._converted(node))
        results = list(operation.results)
        for result, held in zip(results, [None] * len(results) if made is None else made, strict=True):
            self._held[result] = held

    def _converted(self, node: Node) -> list[Any]:
        self.room.take_node()
        if node.op == "func.call":
            return self._call(node)
        converter = find_converter(node.op)
        if converter is None:
            raise unknown(node.op)
        returned = converter(node)
        made = [] if returned is None and not node.result_types else as_values(returned)
        if len(made) != len(node.result_types):
            raise Unsupported(f"internal error: its converter makes {len(made)} results, not {len(node.result_types)}")
        return [self._settled(*each) for each in zip(made, node.result_types, strict=True)]

    def _call(self, node: Node) -> list[Any]:
        name = node.attr("callee")
        function = self.functions.get(name)
        if function is None or not function.regions[0].blocks:
            raise node.fail(f"the module has no function '{name}' with a body")
        return self.add_inner(function.regions[0].blocks[0], node.inputs)

    def _settled(self, held: Any, type_: Type) -> Any:
        """A result, checked against the module's own type, with names for sizes that depend on data."""
        if is_shape(type_):
            return held
        expected = info_of(type_)
        if held.dtype != expected.dtype or _contradict(held.shape, expected.shape):
            raise Unsupported(
                f"internal error: its result is {described(held)}, the module says {described(expected)}; "
                "this is a bug of the converter, not of the module: please report it"
            )
        if held.is_in_graph and held.shape is not None and None in held.shape:
            return named(Value(ssa=stated(held.ssa, list(expected.shape or ()))), self.symbols)
        return held


def _contradict(own: Sequence[Any] | None, expected: Sequence[Any] | None) -> bool:
    if own is None or expected is None:
        return False
    pairs = [(one, other) for one, other in zip(own, expected, strict=False) if None not in (one, other)]
    return len(own) != len(expected) or any(equal(one, other) is False for one, other in pairs)
