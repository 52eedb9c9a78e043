# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Summary of a block for grouping, read once. Operations and values are numbers, with operands and users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ....bindings.ir import Attribute, Block, Operation, Type, Value
from ....bindings.navigation import body_of, functions_at, innermost, operations_in, operations_of
from ....dialects.core.aliases import mutated_values, root_of
from ....dialects.core.call_graph import UNITS, references_of, symbols_named_by
from ....dialects.core.ir_attributes import APART, GROUP
from ....dialects.core.substitute import symbols_of
from .marks import group_number

_CALL = "relax.call_tir"
_NUMBERS = "arith.constant"
_KNOWN_ATTRIBUTES = frozenset({"func", GROUP, APART})
#: Position of a value that is defined outside of the block, or is a block argument.
OUTSIDE = -1


def readings_in(op: Operation) -> Iterator[BlockReading]:
    """Yield a reading per block in which graph functions of a module, or one function, call PrimFuncs.

    Outer blocks come first.
    """
    types: dict[Type, int] = {}
    for function in functions_at(op):
        if is_graph(function):
            yield from _readings_in(function, types)


def is_graph(operation: Operation) -> bool:
    return operation.name == "func.func" and not any(unit in operation.attributes for unit in UNITS)


def _readings_in(owner: Operation, types: dict[Type, int]) -> Iterator[BlockReading]:
    regions = [list(region.blocks) for region in owner.regions]
    readings = [BlockReading(block, types, is_alone=len(blocks) == 1) for blocks in regions for block in blocks]
    yield from readings
    for reading in readings:
        for operation in reading.nested:
            yield from _readings_in(operation, types)


class BlockReading:
    """Operations of a block by position, and the numbers of the values that they define or read.

    Nothing is changed before all groups of the block are found. If control branches between blocks, values may be used
    outside of their own block. Calls in such blocks are left unchanged.
    """

    def __init__(self, block: Block, types: dict[Type, int], *, is_alone: bool):
        self._block = block
        self._is_alone = is_alone
        self.operations = operations_of(block)
        #: Per value: the number of its type, shared by all blocks of a module, the position of its definition, and the
        #: positions of its users. An operation uses all values that its regions use.
        self.types: list[int] = []
        self.defined: list[int] = []
        self.users: list[list[int]] = []
        #: Per position: operands and results.
        self.operands: list[list[int]] = []
        self.results: list[range] = []
        #: Calls with a stated group, and the number of the group.
        self.stated: dict[int, int] = {}
        #: Calls with a stated group or with reasons for having none.
        self.marked: list[int] = []
        #: Members that a fused call has replaced.
        self.replaced: set[int] = set()
        #: Operations other than plain calls, which may name symbols.
        self.others: list[int] = []
        #: Constants, which can move to any position before their users.
        self.constants: set[int] = set()
        #: Operations with regions.
        self.nested: list[Operation] = []
        #: Calls of PrimFuncs without further attributes, and the function names.
        self.plain_calls: dict[int, Attribute] = {}
        self._numbers: dict[Value, int] = {}
        self._type_numbers = types
        self._plain: dict[tuple[str, ...], bool] = {}
        writers = self._read()
        self.values = list(self._numbers)
        #: Positions where operations of the block define sizes. A type with a size must come later.
        self.symbols = self._symbol_positions(writers)
        # A relax.call_tir writes only to its own results.
        self._mutated = mutated_values(writers)
        self.has_mutated = bool(self._mutated)

    def _read(self) -> list[Operation]:
        """Record all operations.

        Return the operations that may write to a value or define sizes: neither calls nor constants.
        """
        # The loop body is inlined, with local names: grouping spends most of its time here.
        numbers, users, defined, add = self._numbers, self.users, self.defined, self._add
        writers = []
        for position, op in enumerate(self.operations):
            operands = []
            for value in op.operands:
                if (number := numbers.get(value)) is None:
                    number = add(value, OUTSIDE)
                operands.append(number)
                users[number].append(position)
            self.operands.append(operands)
            first = len(defined)
            try:
                # `op.result` takes a third of the time of the list.
                add(op.result, position)
            except ValueError:
                for value in op.results:
                    add(value, position)
            self.results.append(range(first, len(defined)))
            if op.name == _CALL:
                self._read_call(position, op)
                continue
            if op.name == _NUMBERS:
                self.constants.add(position)
            else:
                self.others.append(position)
            if len(op.regions):
                self._read_inside(position, op)
                writers.append(op)
            elif operands:
                writers.append(op)
        return writers

    def _read_inside(self, position: int, op: Operation) -> None:
        self.nested.append(op)
        for number in {self._numbers.get(value) for inside in operations_in(op) for value in inside.operands}:
            if number is not None:
                self.users[number].append(position)

    def _add(self, value: Value, position: int) -> int:
        number = self._numbers[value] = len(self.defined)
        types = self._type_numbers
        self.types.append(types.setdefault(value.type, len(types)))
        self.defined.append(position)
        self.users.append([])
        return number

    def _read_call(self, position: int, op: Operation) -> None:
        attributes = op.attributes
        if len(attributes) == 1 and self._is_alone:
            self.plain_calls[position] = attributes["func"]
            return
        names = tuple(attributes)
        if GROUP in names or APART in names:
            self.marked.append(position)
            if GROUP in names:
                self.stated[position] = group_number(attributes[GROUP], op)
        if (is_plain := self._plain.get(names)) is None:
            is_plain = self._plain[names] = _KNOWN_ATTRIBUTES.issuperset(names)
        if is_plain and self._is_alone:
            self.plain_calls[position] = attributes["func"]
        else:
            self.others.append(position)

    def again(self) -> BlockReading:
        """Return a new reading of the block in its present state."""
        return BlockReading(self._block, self._type_numbers, is_alone=self._is_alone)

    def references(self) -> Counter[str]:
        """Count the references to each symbol by operations of the block, except for replaced calls."""
        found: Counter[str] = Counter()
        called = Counter(name for position, name in self.plain_calls.items() if position not in self.replaced)
        for attribute, count in called.items():
            found.update(dict.fromkeys(symbols_named_by(attribute), count))
        for position in self.others:
            found.update(references_of(self.operations[position]))
        return found

    def is_mutated(self, position: int) -> bool:
        """Check whether a call reads or defines a value that is overwritten. The other readers must not move."""
        op = self.operations[position]
        return not self._mutated.isdisjoint(map(root_of, (*op.operands, *op.results)))

    def sizes_known_behind(self, position: int) -> int:
        """Return the last position that defines a size in the result types of an operation."""
        names = {name for number in self.results[position] for name in symbols_of(self.values[number].type)}
        return max((self.symbols.get(name, OUTSIDE) for name in names), default=OUTSIDE)

    def _symbol_positions(self, operations: list[Operation]) -> dict[str, int]:
        definers = [op for op in operations if op.name == "relax.match_cast" or len(op.regions)]
        symbol_positions: dict[str, int] = {}
        for op in definers:
            for result in op.results:
                for name in sorted(symbols_of(result.type)):
                    symbol_positions.setdefault(name, self.defined[self._numbers[result]])
        if symbol_positions:
            for name in _find_outer_symbols(self._block):
                symbol_positions.pop(name, None)
        return symbol_positions


def _find_outer_symbols(block: Block) -> set[str]:
    """Return the symbols in the argument types of the block and of its function."""
    function = innermost(block.owner, "func.func")
    arguments = [*block.arguments, *body_of(function).arguments]
    return {name for argument in arguments for name in symbols_of(argument.type)}
