# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The planner "cost": what codegens and the target ask for operations, and what crossing from one to another costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ....bindings.ir import Block, Operation, Value
from ....bindings.navigation import ancestors, operations_of, used_by, users_of
from ....dialects.core.codec import decode
from ....dialects.core.work import bytes_of
from ....support.blaming import blaming
from ....support.errors import RelaxError
from ...canonicalize.constants import is_constant
from ...core.facts import PriceFact, origins_of
from ...core.journal import Journal
from ...patterns.matched import Match
from ..codegen import Codegen, Composite, made_codegen
from ..functions import NUMBER, refuse
from ..planning import Taken, prospects_of, register_planner
from ..pricing import estimate, seconds_of, time_text
from ..sequence import settled

_MOST_ROUNDS = 4


class _Candidate(NamedTuple):
    composite: Composite
    match: Match
    #: The numbers of its operations.
    numbers: tuple[int, ...]
    seconds: float
    host_seconds: float

    @property
    def codegen(self) -> str:
        return self.composite.codegen


@register_planner("cost")
def by_cost(block: Block, composites: Sequence[Composite]) -> Iterator[Taken]:
    """The cheapest of the plans that are reached from the one by priority, and from taking nothing, by taking matches
    or giving parts back, as long as that makes it cheaper.
    """
    operations = settled(operations_of(block))
    prices = _Prices()
    candidates = _candidates(operations, composites, prices)
    plans = [_Plan(operations, candidates, prices), _Plan(operations, candidates, prices)]
    plans[0].take_first(composites)
    for plan in plans:
        plan.improve()
    best = min(plans, key=lambda plan: plan.seconds())
    best.tell()
    yield from best.taken()


class _Prices:
    """What codegens ask for. Raises RelaxError for what is no time, and for what they raise."""

    def __init__(self) -> None:
        self._codegens: dict[str, Codegen] = {}
        self.of_crossing = cache(lambda name, size: self._asked(name, "crossing_cost", size))
        self.of_call = cache(lambda name: self._asked(name, "call_cost"))

    def of_match(self, composite: Composite, operations: Sequence[Operation]) -> tuple[float, float]:
        """By the codegen, and by the target."""
        arguments = composite.name, operations
        return self._asked(composite.codegen, "cost", *arguments), self._asked(
            composite.codegen, "host_cost", *arguments
        )

    def knows_target(self, name: str) -> bool:
        """Whether a codegen says itself what the target asks for."""
        return type(self._codegen(name)).host_cost is not Codegen.host_cost

    def is_separate(self, name: str) -> bool:
        return self._codegen(name).separate

    def _codegen(self, name: str) -> Codegen:
        if name not in self._codegens:
            self._codegens[name] = made_codegen(name)
        return self._codegens[name]

    def _asked(self, name: str, what: str, *arguments: object) -> float:
        method: Callable[..., object] = getattr(self._codegen(name), what)
        with blaming(f"codegen '{name}': {what}()", method):
            price = method(*arguments)
        if not isinstance(price, (int, float)) or not price >= 0:
            raise RelaxError(f"codegen '{name}': {what}() gave {price!r}, not seconds")
        return price


def _candidates(operations: Sequence[Operation], composites: Sequence[Composite], prices: _Prices) -> list[_Candidate]:
    numbers = {op.results[0]: number for number, op in enumerate(operations) if len(op.results)}
    waiting = prospects_of(composites).among(operations)
    found = []
    for place, composite in enumerate(composites):
        for op in waiting.get(place, ()):
            matched = next(composite.matches(op), None)
            if matched is not None:
                inside = tuple(sorted(numbers[each.results[0]] for each in matched.operations))
                price = prices.of_match(composite, [operations[number] for number in inside])
                found.append(_Candidate(composite, matched, inside, *price))
    return found


class _Edge(NamedTuple):
    """A value of the block, or one that it reads."""

    size: int
    #: Who makes it, None for somebody else.
    maker: int | None
    readers: tuple[int | None, ...]


class _Plan:
    """Which candidate has which operation, and what that costs."""

    def __init__(self, operations: Sequence[Operation], candidates: Sequence[_Candidate], prices: _Prices):
        self._operations, self._candidates, self._prices = operations, candidates, prices
        self._own = _host_seconds(operations, candidates, prices)
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
            return order[candidate.composite.name], -len(candidate.numbers)

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
        """All are made before one is outlined, which erases its operations."""
        chosen = dict.fromkeys(self._owner[number] for number in sorted(self._owner))
        yield from [Taken.of(self._candidates[index].composite, self._candidates[index].match) for index in chosen]

    def tell(self) -> None:
        """What has been counted, where somebody wants to know."""
        journal = Journal.active()
        for index, candidate in enumerate(self._candidates):
            operations = [self._operations[number] for number in candidate.numbers]
            if journal is None or NUMBER not in operations[-1].attributes:
                continue
            host = sum(self._own[number] for number in candidate.numbers)
            border = self._border_of(index)
            is_taken = index in self._owner.values()
            nodes = list(dict.fromkeys(node for op in operations for node in origins_of(op)))
            name = candidate.composite.name
            journal.add(PriceFact(candidate.codegen, name, nodes, is_taken, candidate.seconds, host, border))
            if not is_taken:
                counted = ", ".join(map(time_text, (candidate.seconds, border)))
                told = f"the plan 'cost' counts {counted} for codegen and border, {time_text(host)} for the target"
                refuse((op for op, number in zip(operations, candidate.numbers, strict=True)
                        if number not in self._owner), told)  # fmt: skip

    def _border_of(self, index: int) -> float:
        """What a candidate adds to what crosses, and to calls, where it is instead of what has its operations now."""
        before, numbers = dict(self._owner), set(self._candidates[index].numbers)
        for other in {before[number] for number in numbers if number in before}:
            self._unset(other)
        without = self._border_at(numbers)
        self._set(index)
        added = self._border_at(numbers) - without
        self._owner = before
        return added

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
        total = sum(self._own[number] for number in sorted(numbers) if number not in self._owner)
        owners = {self._owner[number] for number in numbers if number in self._owner}
        total += sum(self._candidates[index].seconds for index in sorted(owners))
        return total + self._border_at(numbers)

    def _border_at(self, numbers: set[int]) -> float:
        """What crosses at operations, out of one codegen and into another, and calls of the parts that are there."""
        edges = {id(edge): edge for number in sorted(numbers) for edge in self._edges[number]}
        total = 0.0
        near = dict.fromkeys(sorted(numbers))
        for edge in edges.values():
            maker = self._codegen(edge.maker)
            others = {self._codegen(reader) for reader in edge.readers} - {maker}
            crossed = [*([maker] if others else []), *sorted(others)]
            total += sum(self._prices.of_crossing(name, edge.size) for name in crossed if name)
            near.update(dict.fromkeys(each for each in (edge.maker, *edge.readers) if each is not None))
        return total + self._calls_at([self._owner[number] for number in near if number in self._owner])

    def _calls_at(self, candidates: Sequence[int]) -> float:
        """Of the parts that these are in."""
        total, seen = 0.0, set[int]()
        for index in dict.fromkeys(candidates):
            price = self._prices.of_call(self._candidates[index].codegen)
            if price and index not in seen:
                is_alone = self._prices.is_separate(self._candidates[index].codegen)
                seen |= {index} if is_alone else self._region(index)
                total += price
        return total

    def _regions(self) -> list[set[int]]:
        """The candidates that hang together, of one codegen."""
        found: list[set[int]] = []
        seen: set[int] = set()
        for start in dict.fromkeys(self._owner.values()):
            if start not in seen:
                found.append(self._region(start))
                seen |= found[-1]
        return found

    def _region(self, start: int) -> set[int]:
        region, pending = {start}, [start]
        while pending:
            near = self._neighbours(pending.pop()) - region
            region |= near
            pending += near
        return region

    def _neighbours(self, index: int) -> set[int]:
        edges = (edge for number in self._candidates[index].numbers for edge in self._edges[number])
        near = {
            self._owner.get(number) for edge in edges for number in (edge.maker, *edge.readers) if number is not None
        }
        codegen = self._candidates[index].codegen
        return {each for each in near if each is not None and self._candidates[each].codegen == codegen}


def _host_seconds(operations: Sequence[Operation], candidates: Sequence[_Candidate], prices: _Prices) -> list[float]:
    """What the target asks for each operation: its share of what a codegen says of a match, of the first one that holds
    it, or what this project knows.
    """
    seconds = [seconds_of([op]) for op in operations]
    known: set[int] = set()
    for candidate in candidates:
        if prices.knows_target(candidate.codegen) and known.isdisjoint(candidate.numbers):
            known.update(candidate.numbers)
            own = sum(seconds[number] for number in candidate.numbers)
            for number in candidate.numbers:
                share = seconds[number] / own if own else 1 / len(candidate.numbers)
                seconds[number] = candidate.host_seconds * share
    return seconds


def _edges(operations: Sequence[Operation]) -> Iterator[_Edge]:
    numbers = {value: number for number, op in enumerate(operations) for value in op.results}
    outer = {value: None for op in operations for value in used_by(op) if value not in numbers}
    for value in (*numbers, *outer):
        if not is_constant(value):
            readers = dict.fromkeys(_number_of(user, numbers) for user in users_of(value))
            yield _Edge(estimate(bytes_of(decode(value.type))), numbers.get(value), tuple(readers))


def _number_of(user: Operation, numbers: Mapping[Value, int]) -> int | None:
    """Of what stands in the block and has results: what reads inside of it, too, is it."""
    for op in (user, *ancestors(user)):
        if len(op.results) and op.results[0] in numbers:
            return numbers[op.results[0]]
    return None
