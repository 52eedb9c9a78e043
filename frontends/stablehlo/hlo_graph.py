# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Walks the blocks of a StableHLO module and builds a graph of relax operators, with the module's own places."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ...bindings.ir import Block, Operation, Type
from ...bindings.ir import Value as IRValue
from ...dialects.core.infos import is_float
from ...dialects.core.symbols import equal
from ...emit.kernels import FreshSymbols
from ..core.folding import folding_where_known
from ..core.limits import Room
from ..core.node import Incomplete, Unsupported, described
from ..core.node_problems import attempted, problem_of
from ..core.problems import Problems
from ..core.sizes import is_known, named, of_scalar, stated
from ..core.values import ComplexValue, Value, as_values, known
from .dimensions import DIVISIONS
from .hlo_node import Node
from .hlo_scope import HloScope
from .hlo_types import info_of, is_tensor
from .registry import find_converter, unknown

_TERMINATORS = ("func.return", "stablehlo.return")
#: Calls in calls: jax nests some tens.
_DEEPEST_CALLS = 100


class HloGraph(HloScope):
    """Builds the operations of blocks where the caller's insertion point is. Functions stand where they are called."""

    def __init__(
        self,
        functions: dict[str, Operation],
        problems: Problems,
        symbols: FreshSymbols,
        room: Room,
        outer: HloGraph | None = None,
        region_of: Operation | None = None,
    ):
        super().__init__(problems, symbols, {} if outer is None else outer.kernels, room, outer, region_of)
        self.functions = functions
        self._held: dict[IRValue, Any] = {}
        self._depth: int = 0 if outer is None else outer._depth + 1
        #: Whether a block that is written for scalars is built on tensors: results have the shapes of these.
        self.is_widened: bool = outer is not None and outer.is_widened

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

    def add_inner(
        self, block: Block, operands: Sequence[Any], region_of: Operation | None = None, is_widened: bool = False
    ) -> list[Any]:
        inner = self._inner(region_of, is_widened)
        given = [each.inside(region_of) if region_of is not None and each is not None else each for each in operands]
        return _complete(inner.add_block(block, given))

    def values_in(self, block: Block, operands: Sequence[Any], wanted: Sequence[IRValue]) -> list[Any]:
        inner = self._inner(None, True)
        inner.add_block(block, operands)
        return _complete([inner.held(each) for each in wanted])

    def _inner(self, region_of: Operation | None, is_widened: bool) -> HloGraph:
        if self._depth == _DEEPEST_CALLS:
            raise Unsupported(f"functions call functions, more than {_DEEPEST_CALLS} deep: do they call themselves?")
        inner = HloGraph(self.functions, self.problems, self.symbols, self.room, self, region_of)
        inner.is_widened |= is_widened
        return inner

    def held(self, value: IRValue) -> Any:
        """What a value stands for, here or in a graph around."""
        if value in self._held:
            return self._held[value]
        assert isinstance(self._outer, HloGraph), "a value of no block around"
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
                self._note_unknown(node)
            else:
                made = attempted(node, lambda: self.convert(node))
        results = list(operation.results)
        for result, held in zip(results, [None] * len(results) if made is None else made, strict=True):
            self._held[result] = held

    def _note_unknown(self, node: Node) -> None:
        if node.operation.name != "func.call" and find_converter(node.op) is None:
            self.problems.add(problem_of(node, unknown(node.op)))

    def convert(self, node: Node) -> list[Any]:
        self.room.take_node()
        if node.operation.name == "func.call":
            return self.call(node, node.attr("callee"), node.inputs)
        converter = find_converter(node.op)
        if converter is None and node.operation.name == "stablehlo.composite":
            return self.call(node, node.attr("decomposition"), node.inputs)
        if converter is None:
            raise unknown(node.op)
        with _folding(node):
            made = as_values(converter(node))
        if len(made) != len(node.result_types):
            raise Unsupported(f"internal error: its converter makes {len(made)} results, not {len(node.result_types)}")
        return [self._settled(*each) for each in zip(made, node.result_types, strict=True)]

    def call(self, node: Node, name: str, operands: Sequence[Any]) -> list[Any]:
        """What a function of the module gives."""
        division = _divided_sizes(name, operands)
        if division is not None:
            return [division]
        function = self.functions.get(name)
        if function is None or not function.regions[0].blocks:
            raise node.fail(f"the module has no function '{name}' with a body")
        return self.add_inner(function.regions[0].blocks[0], operands)

    def _settled(self, held: Any, type_: Type) -> Any:
        """A result, checked against the module's own type, with names for sizes that depend on data."""
        if isinstance(held, ComplexValue):
            return ComplexValue(self._settled(held.real, type_), self._settled(held.imag, type_))
        if not isinstance(held, Value) or not is_tensor(type_):
            return held
        expected = info_of(type_)
        if self.is_widened:
            expected = expected.with_shape(held.shape)
        if held.dtype != expected.dtype or _contradict(held.shape, expected.shape):
            raise Unsupported(
                f"internal error: its result is {described(held)}, the module says {described(expected)}; "
                "this is a bug of the converter, not of the module: please report it"
            )
        if held.is_in_graph and held.shape is not None and None in held.shape:
            return named(Value(ssa=stated(held.ssa, list(expected.shape or ()))), self.symbols)
        return held


def _divided_sizes(name: str, operands: Sequence[Any]) -> Value | None:
    """What jax's own functions that divide give for sizes: they are written for negative numbers too."""
    divide = DIVISIONS.get(name.rstrip("0123456789").rstrip("_"))
    if divide is None or len(operands) < 2 or any(not isinstance(each, Value) or each.rank for each in operands):
        return None
    pair = [of_scalar(each) for each in operands[-2:]]
    if not is_known(*pair) or all(isinstance(each, int) for each in pair):
        return None
    return known(divide(*pair), operands[-1].dtype)


def _complete(outputs: list[Any]) -> list[Any]:
    if any(each is None for each in outputs):
        raise Incomplete
    return outputs


def _folding(node: Node) -> AbstractContextManager[None]:
    """Arithmetic on sizes is done while the module is imported; what computes with floats stays in the program."""
    is_data = any(not isinstance(each, Value) or is_float(each.dtype) for each in node.inputs)
    if (
        is_data
        or not node.inputs
        or any(is_float(info_of(each).dtype) for each in node.result_types if is_tensor(each))
    ):
        return nullcontext()
    return folding_where_known(node.inputs)


def _contradict(own: Sequence[Any] | None, expected: Sequence[Any] | None) -> bool:
    if own is None or expected is None:
        return False
    if len(own) != len(expected):
        return True
    pairs = [(one, other) for one, other in zip(own, expected, strict=True) if None not in (one, other)]
    return any(equal(one, other) is False for one, other in pairs)
