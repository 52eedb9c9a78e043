# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A block as grouping sees it, read once: operations and values are numbers, with what each reads and who uses it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...bindings.ir import Attribute, Block, Operation, Type, Value
from ...bindings.navigation import body_of, functions_at, innermost, operations_in, operations_of
from ...dialects.core.aliases import mutated_values, root_of
from ...dialects.core.call_graph import UNITS, references_of, symbols_named_by
from ...dialects.core.ir_attributes import APART, GROUP
from ...dialects.core.substitute import symbols_of
from .marks import group_number

_CALL = "relax.call_tir"
_NUMBERS = "arith.constant"
_KNOWN_ATTRIBUTES = frozenset({"func", GROUP, APART})
#: Of a value that is defined outside of the block, or is its argument.
OUTSIDE = -1


def readings_in(op: Operation) -> Iterator[BlockReading]:
    """The blocks in which graph functions, of a module or the one given, call PrimFuncs, outer ones first."""
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
    """The operations of a block by their positions, the values that they make or read by numbers of their own.

    Nothing is changed before all groups of the block are found. Where control branches between blocks, values are used
    in others than their own: calls there are left alone.
    """

    def __init__(self, block: Block, types: dict[Type, int], *, is_alone: bool):
        self._block = block
        self._is_alone = is_alone
        self.operations = operations_of(block)
        #: By the value: its type, a number that all blocks of a module share; the position of what defines it; those of
        #: what uses it or holds what uses it.
        self.types: list[int] = []
        self.defined: list[int] = []
        self.users: list[list[int]] = []
        #: By the position.
        self.operands: list[list[int]] = []
        self.results: list[range] = []
        #: The calls that are said to be in groups, with the number of the group.
        self.stated: dict[int, int] = {}
        #: These, and those that say why they are in none.
        self.marked: list[int] = []
        #: Those in whose place another one stands now.
        self.replaced: set[int] = set()
        #: What is no such call, and may name symbols.
        self.others: list[int] = []
        #: Those that can stand anywhere before what reads them.
        self.constants: set[int] = set()
        #: Those with blocks of their own.
        self.nested: list[Operation] = []
        #: Calls of PrimFuncs of which nothing else is asked, with the function's name.
        self.plain_calls: dict[int, Attribute] = {}
        self._numbers: dict[Value, int] = {}
        self._type_numbers = types
        self._plain: dict[tuple[str, ...], bool] = {}
        writers = self._read()
        self.values = list(self._numbers)
        #: Where operations of the block define sizes: what mentions those must stand behind.
        self.symbols = self._symbol_positions(writers)
        # A call of this kind writes to nothing but what it makes.
        self._mutated = mutated_values(writers)
        self.has_mutated = bool(self._mutated)

    def _read(self) -> list[Operation]:
        """What may write to something, or knows its sizes: no call of a PrimFunc, and no constant."""
        # A loop with names of its own: it is most of the time that grouping takes.
        numbers, users, defined, add = self._numbers, self.users, self.defined, self._add
        writers = []
        for position, op in enumerate(self.operations):
            operands = []
            for value in op.operands:
                number = numbers.get(value)
                if number is None:
                    number = add(value, OUTSIDE)
                operands.append(number)
                users[number].append(position)
            self.operands.append(operands)
            first = len(defined)
            try:
                # A third of the time that the list takes.
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
        is_plain = self._plain.get(names)
        if is_plain is None:
            is_plain = self._plain[names] = _KNOWN_ATTRIBUTES.issuperset(names)
        if is_plain and self._is_alone:
            self.plain_calls[position] = attributes["func"]
        else:
            self.others.append(position)

    def again(self) -> BlockReading:
        """The block as it is by now."""
        return BlockReading(self._block, self._type_numbers, is_alone=self._is_alone)

    def references(self) -> Counter[str]:
        """How often operations of the block name each symbol, those left out that were replaced."""
        found: Counter[str] = Counter()
        called = Counter(name for position, name in self.plain_calls.items() if position not in self.replaced)
        for attribute, count in called.items():
            found.update(dict.fromkeys(symbols_named_by(attribute), count))
        for position in self.others:
            found.update(references_of(self.operations[position]))
        return found

    def is_mutated(self, position: int) -> bool:
        """Whether a call reads or makes what is written over: what else reads it must not change its place."""
        op = self.operations[position]
        return not self._mutated.isdisjoint(map(root_of, (*op.operands, *op.results)))

    def sizes_known_behind(self, position: int) -> int:
        """The last position where a size in the types of an operation's results is defined."""
        names = {name for number in self.results[position] for name in symbols_of(self.values[number].type)}
        return max((self.symbols.get(name, OUTSIDE) for name in names), default=OUTSIDE)

    def _symbol_positions(self, operations: list[Operation]) -> dict[str, int]:
        definers = [op for op in operations if op.name == "relax.match_cast" or len(op.regions)]
        found: dict[str, int] = {}
        for op in definers:
            for result in op.results:
                for name in sorted(symbols_of(result.type)):
                    found.setdefault(name, self.defined[self._numbers[result]])
        if found:
            for name in _known_outside(self._block):
                found.pop(name, None)
        return found


def _known_outside(block: Block) -> set[str]:
    """The symbols in the types of the arguments of this block and of the function."""
    function = innermost(block.owner, "func.func")
    arguments = [*block.arguments, *body_of(function).arguments]
    return {name for argument in arguments for name in symbols_of(argument.type)}
