# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The planner "cost": what codegens and the target ask for operations, and what crossing from one to another costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ....bindings.ir import Block, Operation, Value
from ....bindings.navigation import ancestors, operations_of, used_by, users_of
from ....dialects.core.codec import decode
from ....dialects.core.work import bytes_of
from ....support.errors import RelaxError, blaming
from ...canonicalize.constants import is_constant
from ..codegen import Composite, made_codegen
from ..planning import Taken, prospects_of, register_planner
from ..pricing import BYTES_PER_S, estimate, seconds_of
from ..sequence import settled

# Of a value that crosses, beside its bytes: its share of a call.
_CROSSING_S = 1e-6
_MOST_ROUNDS = 4


class _Candidate(NamedTuple):
    taken: Taken
    codegen: str
    #: The numbers of its operations.
    numbers: tuple[int, ...]
    seconds: float


@register_planner("cost")
def by_cost(block: Block, composites: Sequence[Composite]) -> Iterator[Taken]:
    """The cheapest of the plans that are reached from the one by priority, and from taking nothing, by taking matches
    or giving parts back, as long as that makes it cheaper.
    """
    operations = settled(operations_of(block))
    candidates = _candidates(operations, composites)
    plans = [_Plan(operations, candidates), _Plan(operations, candidates)]
    plans[0].take_first(composites)
    for plan in plans:
        plan.improve()
    best = min(plans, key=lambda plan: plan.seconds())
    yield from best.taken()


def _candidates(operations: Sequence[Operation], composites: Sequence[Composite]) -> list[_Candidate]:
    numbers = {op.results[0]: number for number, op in enumerate(operations) if len(op.results)}
    waiting = prospects_of(composites).among(operations)
    found = []
    for place, composite in enumerate(composites):
        codegen = made_codegen(composite.codegen)
        for op in waiting.get(place, ()):
            matched = next(composite.matches(op), None)
            if matched is not None:
                inside = tuple(numbers[each.results[0]] for each in matched.operations)
                with blaming(f"codegen '{composite.codegen}': cost()"):
                    price = codegen.cost(composite.name, matched.operations)
                if not isinstance(price, (int, float)) or not price >= 0:
                    raise RelaxError(f"codegen '{composite.codegen}': cost() gave {price!r}, not seconds")
                found.append(_Candidate(Taken.of(composite, matched), composite.codegen, inside, price))
    return found


class _Edge(NamedTuple):
    """A value of the block, or one that it reads."""

    seconds: float
    #: Who makes it, None for somebody else.
    maker: int | None
    readers: tuple[int | None, ...]


class _Plan:
    """Which candidate has which operation, and what that costs."""

    def __init__(self, operations: Sequence[Operation], candidates: Sequence[_Candidate]):
        self._candidates = candidates
        self._own = [seconds_of([op]) for op in operations]
        self._owner: dict[int, int] = {}
        self._edges: dict[int, list[_Edge]] = {number: [] for number in range(len(operations))}
        for edge in _edges(operations):
            for number in {edge.maker, *edge.readers}:
                if number is not None:
                    self._edges[number].append(edge)

    def take_first(self, composites: Sequence[Composite]) -> None:
        """Earlier patterns come first, of one pattern the larger match."""
        order = {composite.name: number for number, composite in enumerate(composites)}

        def rank(index: int) -> tuple[int, int]:
            candidate = self._candidates[index]
            return order[candidate.taken.composite.name], -len(candidate.numbers)

        for index in sorted(range(len(self._candidates)), key=rank):
            if not any(number in self._owner for number in self._candidates[index].numbers):
                self._set(index)

    def improve(self) -> None:
        for _ in range(_MOST_ROUNDS):
            taken = [self._try({index}, set()) for index in range(len(self._candidates))]
            given_back = [self._try(set(), region) for region in self._regions()]
            if not any((*taken, *given_back)):
                return

    def seconds(self) -> float:
        return self._seconds_of(set(range(len(self._own))))

    def taken(self) -> Iterator[Taken]:
        for index in dict.fromkeys(self._owner[number] for number in sorted(self._owner)):
            yield self._candidates[index].taken

    def _try(self, add: set[int], remove: set[int]) -> bool:
        """Changes owners where that is cheaper."""
        before = dict(self._owner)
        wanted = {number for index in add for number in self._candidates[index].numbers}
        if add and all(self._owner.get(number) in add for number in wanted):
            return False
        evicted = {before[number] for number in wanted if number in before} | remove
        touched = wanted | {number for index in evicted for number in self._candidates[index].numbers}
        cost = self._seconds_of(touched)
        for index in evicted:
            self._unset(index)
        for index in add:
            self._set(index)
        if self._seconds_of(touched) < cost:
            return True
        self._owner = before
        return False

    def _set(self, index: int) -> None:
        self._owner.update(dict.fromkeys(self._candidates[index].numbers, index))

    def _unset(self, index: int) -> None:
        for number in self._candidates[index].numbers:
            del self._owner[number]

    def _codegen(self, number: int | None) -> str:
        index = None if number is None else self._owner.get(number)
        return "" if index is None else self._candidates[index].codegen

    def _seconds_of(self, numbers: set[int]) -> float:
        """What these operations cost, and what crosses at them."""
        total = sum(self._own[number] for number in numbers if number not in self._owner)
        owners = {self._owner[number] for number in numbers if number in self._owner}
        total += sum(self._candidates[index].seconds for index in owners)
        crossing: dict[int, float] = {}
        for number in numbers:
            for edge in self._edges[number]:
                there = {self._codegen(reader) for reader in edge.readers} - {self._codegen(edge.maker)}
                crossing[id(edge)] = len(there) * edge.seconds
        return total + sum(crossing.values())

    def _regions(self) -> list[set[int]]:
        """The candidates that hang together, of one codegen."""
        found: list[set[int]] = []
        seen: set[int] = set()
        for start in dict.fromkeys(self._owner.values()):
            if start not in seen:
                region, pending = {start}, [start]
                while pending:
                    near = self._neighbours(pending.pop()) - region
                    region |= near
                    pending += near
                seen |= region
                found.append(region)
        return found

    def _neighbours(self, index: int) -> set[int]:
        edges = (edge for number in self._candidates[index].numbers for edge in self._edges[number])
        near = {
            self._owner.get(number) for edge in edges for number in (edge.maker, *edge.readers) if number is not None
        }
        codegen = self._candidates[index].codegen
        return {each for each in near if each is not None and self._candidates[each].codegen == codegen}


def _edges(operations: Sequence[Operation]) -> Iterator[_Edge]:
    numbers = {value: number for number, op in enumerate(operations) for value in op.results}
    outer = {value: None for op in operations for value in used_by(op) if value not in numbers}
    for value in (*numbers, *outer):
        if not is_constant(value):
            seconds = _CROSSING_S + estimate(bytes_of(decode(value.type))) / BYTES_PER_S
            readers = {_number_of(user, numbers) for user in users_of(value)}
            yield _Edge(seconds, numbers.get(value), tuple(readers))


def _number_of(user: Operation, numbers: Mapping[Value, int]) -> int | None:
    """Of what stands in the block and has results: what reads inside of it, too, is it."""
    for op in (user, *ancestors(user)):
        if len(op.results) and op.results[0] in numbers:
            return numbers[op.results[0]]
    return None
