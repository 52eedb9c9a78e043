# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The planner "cost": minimal cost of codegens, the target, and transfers between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from .....bindings.ir import Block, Operation, Value
from .....bindings.navigation import ancestors, operations_of, used_by, users_of
from .....dialects.core.codec import decode
from .....dialects.core.ir_attributes import PART_NUMBER
from .....dialects.core.work import bytes_of
from .....dialects.relax.known_constants import is_constant
from .....support.blaming import blaming
from .....support.errors import RelaxError
from ....core.facts import PriceFact, origins_of
from ....core.journal import Journal
from ....patterns.matched import Match
from ..codegen import Codegen, Composite, made_codegen
from ..external_functions import refuse
from ..planning import Taken, prospects_of, register_planner
from ..pricing import estimate, seconds_of, time_text
from ..regions import Edge, Regions
from ..sequence import sort_by_graph

_MOST_ROUNDS = 4


class _Candidate(NamedTuple):
    composite: Composite
    match: Match
    #: Numbers of the match's operations.
    numbers: tuple[int, ...]
    seconds: float
    host_seconds: float

    @property
    def codegen(self) -> str:
        return self.composite.codegen


@register_planner("cost")
def plan_by_cost(block: Block, composites: Sequence[Composite]) -> Iterator[Taken]:
    """Yield the matches of the cheapest plan found by greedy search.

    The search starts from the plan by priority, and from the empty plan. It takes matches or gives parts back as long
    as that reduces the cost.
    """
    operations = sort_by_graph(operations_of(block))
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
    """Prices that codegens state. Raises RelaxError for prices that are no times, and for errors of codegens."""

    def __init__(self) -> None:
        self._codegens: dict[str, Codegen] = {}
        self.of_crossing = cache(lambda name, size: self._price(name, "crossing_cost", size))
        self.of_call = cache(lambda name: self._price(name, "call_cost"))

    def of_match(self, composite: Composite, operations: Sequence[Operation]) -> tuple[float, float]:
        """Return the seconds of a match, by the codegen and by the target."""
        arguments = composite.name, operations
        return self._price(composite.codegen, "cost", *arguments), self._price(
            composite.codegen, "host_cost", *arguments
        )

    def knows_target(self, name: str) -> bool:
        """Check whether a codegen states the target's time itself."""
        return type(self._codegen(name)).host_cost is not Codegen.host_cost

    def is_separate(self, name: str) -> bool:
        return self._codegen(name).separate

    def _codegen(self, name: str) -> Codegen:
        if name not in self._codegens:
            self._codegens[name] = made_codegen(name)
        return self._codegens[name]

    def _price(self, name: str, what: str, *arguments: object) -> float:
        method: Callable[..., object] = getattr(self._codegen(name), what)
        with blaming(f"codegen '{name}': {what}()", method):
            price = method(*arguments)
        if not isinstance(price, (int, float)) or not price >= 0:
            raise RelaxError(f"codegen '{name}': {what}() returned {price!r}, expected seconds")
        return price


def _candidates(operations: Sequence[Operation], composites: Sequence[Composite], prices: _Prices) -> list[_Candidate]:
    numbers = {op.results[0]: number for number, op in enumerate(operations) if len(op.results)}
    waiting = prospects_of(composites).among(operations)
    candidates = []
    for place, composite in enumerate(composites):
        for op in waiting.get(place, ()):
            if (matched := next(composite.matches(op), None)) is not None:
                inside = tuple(sorted(numbers[operation.results[0]] for operation in matched.operations))
                price = prices.of_match(composite, [operations[number] for number in inside])
                candidates.append(_Candidate(composite, matched, inside, *price))
    return candidates


class _Plan:
    """Assignment of operations to candidates, and its cost."""

    def __init__(self, operations: Sequence[Operation], candidates: Sequence[_Candidate], prices: _Prices):
        self._operations, self._candidates, self._prices = operations, candidates, prices
        self._own = _host_seconds(operations, candidates, prices)
        self._owner: dict[int, int] = {}
        self._edges = _edges(operations)
        codegens = [candidate.codegen for candidate in candidates]
        called = {name for name in set(codegens) if prices.of_call(name)}
        #: Codegens with a separate call for each match.
        self._alone = {name for name in called if prices.is_separate(name)}
        edges = [
            _unique(edge for number in candidate.numbers for edge in self._edges[number]) for candidate in candidates
        ]
        self._regions = Regions(edges, codegens, called - self._alone)

    def take_first(self, composites: Sequence[Composite]) -> None:
        """Take matches in the order of patterns. Of one pattern the larger match comes first."""
        order = {composite.name: number for number, composite in enumerate(composites)}

        def rank(index: int) -> tuple[int, int]:
            candidate = self._candidates[index]
            return order[candidate.composite.name], -len(candidate.numbers)

        for index in sorted(range(len(self._candidates)), key=rank):
            if not any(number in self._owner for number in self._candidates[index].numbers):
                self._own_by(index)
                self._move((), {index})
        self._regions.begin(dict.fromkeys(self._owner.values()))

    def improve(self) -> None:
        for _ in range(_MOST_ROUNDS):
            taken = [self._take(index) for index in range(len(self._candidates))]
            regions = self._regions.among(dict.fromkeys(self._owner.values()))
            given_back = [self._change(None, region) for region in regions]
            if not any((*taken, *given_back)):
                return

    def seconds(self) -> float:
        edges = _unique(edge for each in self._edges for edge in each)
        return self._seconds_of(range(len(self._own)), set(self._owner.values()), edges, self._regions.at(edges))

    def taken(self) -> Iterator[Taken]:
        """Yield the chosen matches. The list is complete before outlining one erases its operations."""
        chosen = dict.fromkeys(self._owner[number] for number in sorted(self._owner))
        yield from [Taken.of(self._candidates[index].composite, self._candidates[index].match) for index in chosen]

    def tell(self) -> None:
        """Note the counted costs, if a journal wants them."""
        journal = Journal.active()
        taken = set(self._owner.values())
        for index, candidate in enumerate(self._candidates):
            operations = [self._operations[number] for number in candidate.numbers]
            if journal is None or PART_NUMBER not in operations[-1].attributes:
                continue
            host = sum(self._own[number] for number in candidate.numbers)
            border = self._border_of(index)
            is_taken = index in taken
            nodes = list(dict.fromkeys(node for op in operations for node in origins_of(op)))
            name = candidate.composite.name
            journal.add(PriceFact(candidate.codegen, name, nodes, is_taken, candidate.seconds, host, border))
            if not is_taken:
                counted = ", ".join(map(time_text, (candidate.seconds, border)))
                why = f"the plan 'cost' counts {counted} for codegen and border, {time_text(host)} for the target"
                refuse((op for op, number in zip(operations, candidate.numbers, strict=True)
                        if number not in self._owner), why)  # fmt: skip

    def _border_of(self, index: int) -> float:
        """Return the cost of transfers and calls that a candidate adds compared to the owners of its operations."""
        evicted = self._owners_of(index)
        edges = self._edges_at(self._candidates[index].numbers)
        self._move(evicted, ())
        without = self._border_at(edges, set(), self._regions.after(edges, evicted, None, exact=True).counts)
        self._move((), {index})
        within = self._border_at(edges, {index}, self._regions.after(edges, evicted, index, exact=True).counts)
        self._move({index}, evicted)
        return within - without

    def _take(self, index: int) -> bool:
        """Give a candidate its operations if that is cheaper. Return True if its owners changed."""
        evicted = self._owners_of(index)
        return evicted != {index} and self._change(index, evicted)

    def _change(self, added: int | None, gone: set[int]) -> bool:
        """Change owners if that is cheaper. Return True if they changed."""
        come = set[int]() if added is None else {added}
        touched = sorted({number for index in come | gone for number in self._candidates[index].numbers})
        edges = self._edges_at(touched)
        cost = self._seconds_of(touched, gone, edges, self._regions.at(edges))
        self._move(gone, come)
        # Finding out whether a region is split takes a search. A change that is too expensive without a split needs
        # none.
        for exact in (False, True):
            change = self._regions.after(edges, gone, added, exact=exact)
            if self._seconds_of(touched, come, edges, change.counts) >= cost:
                self._move(come, gone)
                return False
        self._regions.made(change, gone, added)
        for index in gone:
            for number in self._candidates[index].numbers:
                del self._owner[number]
        for index in come:
            self._own_by(index)
        return True

    def _own_by(self, index: int) -> None:
        self._owner.update(dict.fromkeys(self._candidates[index].numbers, index))

    def _owners_of(self, index: int) -> set[int]:
        """Return the candidates that own its operations."""
        return {self._owner[number] for number in self._candidates[index].numbers if number in self._owner}

    def _move(self, gone: Iterable[int], come: Iterable[int]) -> None:
        """Update the owners at the edges, while a change is tried."""
        for index in gone:
            for number in self._candidates[index].numbers:
                for edge in self._edges[number]:
                    edge.take_back(number, index, self._candidates[index].codegen)
        for index in come:
            for number in self._candidates[index].numbers:
                for edge in self._edges[number]:
                    edge.give(number, index, self._candidates[index].codegen)

    def _seconds_of(
        self, numbers: Iterable[int], owners: set[int], edges: Iterable[Edge], regions: Mapping[str, int]
    ) -> float:
        """Return the seconds of operations with these owners, or with the target, including transfers at the edges."""
        taken = {number for index in owners for number in self._candidates[index].numbers}
        total = sum(self._own[number] for number in numbers if number not in taken)
        total += sum(self._candidates[index].seconds for index in sorted(owners))
        return total + self._border_at(edges, owners, regions)

    def _border_at(self, edges: Iterable[Edge], owners: Iterable[int], regions: Mapping[str, int]) -> float:
        """Return the seconds of transfers at edges from one codegen to another, and of the calls of their parts."""
        total = 0.0
        for edge in edges:
            total += sum(self._prices.of_crossing(name, edge.size) for name in edge.crossed())
        codegens = [self._candidates[index].codegen for index in owners]
        called = [*Counter(regions).elements(), *(name for name in codegens if name in self._alone)]
        return total + sum(self._prices.of_call(name) for name in sorted(called))

    def _edges_at(self, numbers: Iterable[int]) -> list[Edge]:
        return _unique(edge for number in numbers for edge in self._edges[number])


def _host_seconds(operations: Sequence[Operation], candidates: Sequence[_Candidate], prices: _Prices) -> list[float]:
    """Return the target's seconds for each operation.

    The first codegen with an estimate for a match decides, each operation with its share. For others this project
    estimates.
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


def _edges(operations: Sequence[Operation]) -> list[list[Edge]]:
    """Return the edges of each operation: its results and operands."""
    numbers = {value: number for number, op in enumerate(operations) for value in op.results}
    outer = {value: None for op in operations for value in used_by(op) if value not in numbers}
    edges: list[list[Edge]] = [[] for _ in operations]
    for value in (*numbers, *outer):
        if not is_constant(value):
            readers = {_number_of(user, numbers) for user in users_of(value)}
            edge = Edge(estimate(bytes_of(decode(value.type))), numbers.get(value), len(readers))
            for number in readers | {edge.maker}:
                if number is not None:
                    edges[number].append(edge)
    return edges


def _number_of(user: Operation, numbers: Mapping[Value, int]) -> int | None:
    """Return the number of the block's operation that contains a user, or None."""
    for op in (user, *ancestors(user)):
        if len(op.results) and op.results[0] in numbers:
            return numbers[op.results[0]]
    return None


def _unique(edges: Iterable[Edge]) -> list[Edge]:
    return list(dict.fromkeys(edges))
