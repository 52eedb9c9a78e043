# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns compiled to closures: the tests of each value, in the order of the search, one function after the other.

The closures find the first match of the search, without its lists of goals and of choices. Slots with static numbers
hold the subjects of parts. Alternatives are compiled when the graph first needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ...bindings.ir import Block, Operation
from .matched import Match, refusal_of
from .operator_patterns import Op, Reader, ResultPattern
from .tree import Checked, Condition, Either, GraphPattern, Leaf, Named, OfType, UsedOnce, Wildcard, subject_of, walk

#: Function that finds a match at an operation.
Matcher = Callable[[Operation], Match | None]
#: Function that continues from the filled slots to the match, or returns None if a test fails.
_Step = Callable[[list[Any]], Match | None]
#: Linked list of goals: a pattern, and the slot of its subject.
_Goals = tuple[GraphPattern, int, "_Goals"] | None
#: Slots of matched parts, in matching order.
_Slots = Mapping[GraphPattern, int]

# Each part takes a few nested calls.
_MOST_PARTS = 100
_FIXED = (Op, ResultPattern, Wildcard, Either, Named, Checked, OfType, UsedOnce)
_ROOT = 0


@lru_cache(maxsize=4096)
def matcher(pattern: GraphPattern, is_across: bool = False) -> Matcher | None:
    """Return a function that finds the first match of a pattern, `is_across` blocks or in one.

    Returns None if that takes a search: for repeated parts, several outputs, and calls of PrimFuncs.
    """
    parts = list(walk(pattern))
    if len(parts) > _MOST_PARTS or not all(type(part) in _FIXED or isinstance(part, Leaf) for part in parts):
        return None
    return _Compiler(pattern, parts, is_across).matcher()


class _Compiler:
    def __init__(self, pattern: GraphPattern, parts: Sequence[GraphPattern], is_across: bool):
        self._pattern, self._is_across = pattern, is_across
        #: Slots of operations and their operands. The first two slots are the root's value and the root.
        self._slots: dict[tuple[GraphPattern, int | str], int] = {}
        for part in parts:
            if isinstance(part, (Op, ResultPattern)):
                self._slots[part, "op"] = len(self._slots) + 2
            if isinstance(part, Op):
                most = max(len(reader.parts) for reader in part.readers.values())
                self._slots.update({(part, place): len(self._slots) + 2 + place for place in range(most)})

    def matcher(self) -> Matcher:
        begin = self._step((self._pattern, _ROOT, None), {})
        empty = [None] * len(self._slots)

        def match(op: Operation) -> Match | None:
            return begin([subject_of(op), op, *empty])

        return match

    def _step(self, goals: _Goals, bound: _Slots) -> _Step:
        if goals is None:
            return self._end(bound)
        part, slot, rest = goals
        if part in bound:
            return self._same(bound[part], slot, self._step(rest, bound))
        bound = {**bound, part: slot}
        if isinstance(part, Op):
            return self._operation(part, slot, rest, bound)
        if isinstance(part, ResultPattern):
            return self._result(part, slot, rest, bound)
        if isinstance(part, Either):
            first, *others = part.choices
            begin = self._step((first, slot, rest), bound)
            return _first_of(begin, *(self._later((other, slot, rest), bound) for other in others))
        if isinstance(part, Condition):
            then = self._step((part.inner, slot, rest), bound)
            return then if isinstance(part, (Named, Checked)) else _if_not(part.refusal, slot, then)
        then = self._step(rest, bound)
        return _if_not(part.problem, slot, then) if isinstance(part, Leaf) else then

    def _later(self, goals: _Goals, bound: _Slots) -> _Step:
        steps: list[_Step] = []

        def step(slots: list[Any]) -> Match | None:
            if not steps:
                steps.append(self._step(goals, bound))
            return steps[0](slots)

        return step

    def _same(self, one: int, other: int, then: _Step) -> _Step:
        return lambda slots: then(slots) if slots[one] == slots[other] else None

    def _result(self, part: ResultPattern, slot: int, rest: _Goals, bound: _Slots) -> _Step:
        own = self._slots[part, "op"]
        then = self._step((part.op, own, rest), bound)

        def step(slots: list[Any]) -> Match | None:
            op = slots[1] if slot == _ROOT else _maker(slots[slot])
            if op is None or slots[slot] not in op.results[part.index : part.index + 1]:
                return None
            slots[own] = op
            return then(slots)

        return step

    def _operation(self, part: Op, slot: int, rest: _Goals, bound: _Slots) -> _Step:
        own = self._slots[part, "op"]
        is_root, is_made = slot == _ROOT, self._is_of_op(slot)
        ways = self._operands_by_name(part, rest, bound)
        several = frozenset(name for name, reader in part.readers.items() if not (reader.gives_one or is_made))
        attributes, readers = part.attributes, part.readers

        def step(slots: list[Any]) -> Match | None:
            op = slots[1] if is_root else slots[slot] if is_made else _maker(slots[slot])
            if op is None:
                return None
            name = op.name
            then = ways.get(name)
            if then is None or (name in several and not is_root and len(op.results) != 1):
                return None
            for key, wanted in attributes:
                found = readers[name].attribute(op, key)
                if not (wanted(found) if callable(wanted) else found == wanted):
                    return None
            slots[own] = op
            return then(slots)

        return step

    def _is_of_op(self, slot: int) -> bool:
        """Check whether a slot contains an operation, not a value."""
        return any(number == slot and place == "op" for (_, place), number in self._slots.items())

    def _operands_by_name(self, part: Op, rest: _Goals, bound: _Slots) -> dict[str, _Step]:
        """Return the step for the operands, by operator. Operators with the same order of operands share a step."""
        steps: dict[object, _Step] = {}
        ways: dict[str, _Step] = {}
        for name, reader in part.readers.items():
            places = None if reader.in_order is None else tuple(reader.in_order)
            alike = part.operands is None or (places or name, reader.is_commutative)
            if alike not in steps:
                steps[alike] = self._operands(part, reader, rest, bound)
            ways[name] = steps[alike]
        return ways

    def _operands(self, part: Op, reader: Reader, rest: _Goals, bound: _Slots) -> _Step:
        if part.operands is None:
            return self._step(rest, bound)
        own = self._slots[part, "op"]
        held = [(self._slots[part, place], pattern) for place, pattern in enumerate(reader.parts)]
        then = self._step(_prepend(held, rest), bound)
        if reader.in_order is None:
            return self._match_groups(own, reader, [slot for slot, _ in held], then)
        places = [(slot, index) for (slot, _), (index, _) in zip(held, reader.in_order, strict=True)]
        if reader.is_commutative:
            (slot, one), (other_slot, other) = held
            then = _first_of(then, self._later(_prepend([(other_slot, one), (slot, other)], rest), bound))

        count = None if part.is_open else len(places)

        def step(slots: list[Any]) -> Match | None:
            values = slots[own].operands
            if len(values) != count and not reader.fits(len(values)):
                return None
            for slot, index in places:
                slots[slot] = values[index]
            return then(slots)

        return step

    def _match_groups(self, own: int, reader: Reader, held: Sequence[int], then: _Step) -> _Step:
        def step(slots: list[Any]) -> Match | None:
            if isinstance(ways := reader.ways(slots[own]), str):
                return None
            for slot, (_, value) in zip(held, ways[0], strict=True):
                slots[slot] = value
            return then(slots)

        return step

    def _end(self, bound: _Slots) -> _Step:
        """Return the step that runs the checks after all other tests, and builds the match."""
        pattern, is_across = self._pattern, self._is_across
        parts = list(bound.items())
        asked = [(part, self._slots.get((part, "op"), _ROOT)) for part in bound if part.is_asked_last]
        asked = [each for each in asked if isinstance(each[0], Checked) or (bound[each[0]] != _ROOT and not is_across)]

        def end(slots: list[Any]) -> Match | None:
            root = slots[1]
            match = Match(pattern, root, {part: slots[slot] for part, slot in parts})
            for part, slot in asked:
                if refusal_of(part, match) if isinstance(part, Checked) else slots[slot].block != root.block:
                    return None
            return match

        return end


def _maker(value: Any) -> Any:
    owner = value.owner
    return None if type(owner) is Block else owner.operation


def _prepend(held: Sequence[tuple[int, GraphPattern]], goals: _Goals) -> _Goals:
    for slot, pattern in reversed(held):
        goals = (pattern, slot, goals)
    return goals


def _first_of(first: _Step, *others: _Step) -> _Step:
    def step(slots: list[Any]) -> Match | None:
        found = first(slots)
        for other in others:
            if found is not None:
                break
            found = other(slots)
        return found

    return step


def _if_not(problem: Callable[[Any], object], slot: int, then: _Step) -> _Step:
    return lambda slots: None if problem(slots[slot]) else then(slots)
