# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of a codegen's matches are connected and become one part, while a planner tries some and gives others back."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple


class Edge:
    """A value of a block, or one that it reads."""

    def __init__(self, size: int, maker: int | None, readers: int):
        self.size = size
        #: The number of the member that makes it, None where none does, and the codegen that has that; "" without.
        self.maker, self.made_by = maker, ""
        #: How many read it, by codegens.
        self.read_by = Counter([""] * readers)
        #: The candidates that make or read it, by their codegens.
        self.near: defaultdict[str, dict[int, None]] = defaultdict(dict)

    def give(self, number: int, candidate: int, codegen: str) -> None:
        """An operation that makes or reads it is a candidate's now."""
        self.near[codegen][candidate] = None
        self._pass(number, "", codegen)

    def take_back(self, number: int, candidate: int, codegen: str) -> None:
        self.near[codegen].pop(candidate, None)
        self._pass(number, codegen, "")

    def _pass(self, number: int, before: str, now: str) -> None:
        if number == self.maker:
            self.made_by = now
            return
        self.read_by[before] -= 1
        if not self.read_by[before]:
            del self.read_by[before]
        self.read_by[now] += 1

    def crossed(self) -> list[str]:
        """The codegens that it is taken out of, and into."""
        others = self.read_by.keys() - {self.made_by}
        return [name for name in ([self.made_by] if others else []) + sorted(others) if name]

    def candidates(self) -> Iterator[tuple[str, dict[int, None]]]:
        """Those here, by their codegens."""
        return ((codegen, near) for codegen, near in self.near.items() if near)


class Change(NamedTuple):
    """What becomes of regions when candidates go and another one comes."""

    #: How many regions are then at the edges in question, by codegens.
    counts: Counter[str]
    #: Of regions that are split, all pieces but one.
    pieces: Sequence[set[int]]


class Regions:
    """Candidates by their numbers. Those of one codegen that share an edge are in one region."""

    def __init__(self, edges: Sequence[Sequence[Edge]], codegens: Sequence[str], counted: Container[str]):
        """`edges`, `codegens`: of each candidate. `counted`: the codegens whose regions are asked for."""
        self._edges, self._codegens, self._counted = edges, codegens, counted
        self._labels = count()
        self._label: dict[int, int] = {}
        self._members: dict[int, set[int]] = {}

    def begin(self, candidates: Iterable[int]) -> None:
        """These are there."""
        for region in self.among(candidates):
            if self._codegens[next(iter(region))] in self._counted:
                self._name(region)

    def among(self, candidates: Iterable[int]) -> list[set[int]]:
        """The regions that candidates are in, of all codegens, which are found without what is known of some."""
        found: list[set[int]] = []
        seen: set[int] = set()
        for start in candidates:
            if start not in seen:
                search = self._search([start])
                while search.step() is not None:
                    pass
                found.append(search.seen)
                seen |= search.seen
        return found

    def at(self, edges: Iterable[Edge]) -> Counter[str]:
        """How many regions are at edges, by codegens."""
        found = {
            (codegen, self._label[next(iter(near))])
            for edge in edges
            for codegen, near in edge.candidates()
            if codegen in self._counted
        }
        return Counter(codegen for codegen, _ in found)

    def after(self, edges: Iterable[Edge], gone: Collection[int], added: int | None, *, exact: bool) -> Change:
        """The same after a change which the edges know of already, and `made` not yet. Where it need not be exact, no
        region counts as split: there may be more.
        """
        broken = {self._label[each] for each in gone if each in self._label} if exact else set[int]()
        joined = _DisjointSets()
        firsts: dict[int, int] = {}
        starts: dict[int, list[int]] = {}
        for edge in edges:
            for codegen, near in edge.candidates():
                if codegen not in self._counted:
                    continue
                # All that share the edge were in one region before.
                one = next((each for each in near if each != added), None)
                if added is not None and added in near:
                    joined.join(added, added if one is None else one)
                if one is not None and (label := self._label[one]) in broken:
                    joined.join(one, one)
                    starts.setdefault(label, []).append(one)
                elif one is not None:
                    joined.join(one, firsts.setdefault(label, one))
        pieces = [piece for each in starts.values() for piece in self._pieces_of(each, joined, added)]
        return Change(Counter(self._codegens[each] for each in joined.roots()), pieces)

    def made(self, change: Change, gone: Iterable[int], added: int | None) -> None:
        """It is so."""
        for each in gone:
            self._leave(each)
        for piece in change.pieces:
            for each in piece:
                self._leave(each)
            self._name(piece)
        if added is not None and self._codegens[added] in self._counted:
            self._join(added)

    def _leave(self, candidate: int) -> None:
        label = self._label.pop(candidate, None)
        if label is not None:
            self._members[label].remove(candidate)

    def _join(self, added: int) -> None:
        """The regions adjacent to it become one, under the name of the largest."""
        near = [edge.near[self._codegens[added]] for edge in self._edges[added]]
        others = [next((each for each in those if each != added), added) for those in near]
        labels = {self._label[each] for each in others if each != added}
        if not labels:
            self._name({added})
            return
        largest = max(sorted(labels), key=lambda label: len(self._members[label]))
        moved = {added}.union(*(self._members.pop(label) for label in labels - {largest}))
        self._members[largest] |= moved
        self._label.update(dict.fromkeys(moved, largest))

    def _name(self, region: set[int]) -> None:
        label = next(self._labels)
        self._members[label] = region
        self._label.update(dict.fromkeys(region, label))

    def _pieces_of(self, starts: Iterable[int], joined: _DisjointSets, added: int | None) -> Iterator[set[int]]:
        """The pieces that candidates of what was one region are in now, but for one.

        All are looked for at once, step by step, until only one of them may have more: that costs what the smaller
        ones have in them, or what is between those that are connected.
        """
        groups: dict[int, list[int]] = {}
        for each in dict.fromkeys(starts):
            groups.setdefault(joined.root(each), []).append(each)
        pending = deque(self._search(each, added) for each in groups.values())
        finder = {each: search for search in pending for each in search.seen}
        while len(pending) > 1:
            search = pending.popleft()
            reached = search.step()
            if reached is None:
                yield search.seen
                continue
            other = finder.setdefault(reached, search).now
            pending.append(search)
            if other is not search:
                joined.join(search.start, other.start)
                smaller, larger = sorted((search, other), key=lambda each: len(each.seen))
                larger.merge(smaller)
                pending.remove(smaller)

    def _search(self, starts: Sequence[int], without: int | None = None) -> _Search:
        return _Search(starts, self._edges, self._codegens, without)


class _Search:
    """What is connected with candidates of one codegen, one after the other."""

    def __init__(
        self, starts: Sequence[int], edges: Sequence[Sequence[Edge]], codegens: Sequence[str], without: int | None
    ):
        self.start, self.seen = starts[0], set[int]()
        self._edges, self._codegen, self._without = edges, codegens[starts[0]], without
        self._looked_at: set[Edge] = set()
        self._pending: deque[Iterator[int]] = deque()
        self._merged_into: _Search | None = None
        for each in starts:
            self._add(each)

    def _add(self, candidate: int) -> None:
        self.seen.add(candidate)
        for edge in self._edges[candidate]:
            if edge not in self._looked_at:
                self._looked_at.add(edge)
                self._pending.append(iter(edge.near[self._codegen]))

    def step(self) -> int | None:
        """Another one; None at the end."""
        while self._pending:
            for each in self._pending[0]:
                if each != self._without and each not in self.seen:
                    self._add(each)
                    return each
            self._pending.popleft()
        return None

    def merge(self, other: _Search) -> None:
        """It goes on where another one was, which has come to the same."""
        other._merged_into = self
        self.seen |= other.seen
        self._looked_at |= other._looked_at
        self._pending += other._pending

    @property
    def now(self) -> _Search:
        """What goes on where this was."""
        search = self
        while search._merged_into is not None:
            search = search._merged_into
        return search


class _DisjointSets:
    """Candidates that are known to be connected: union-find."""

    def __init__(self) -> None:
        self._above: dict[int, int] = {}

    def root(self, candidate: int) -> int:
        above = self._above.setdefault(candidate, candidate)
        while above != candidate:
            candidate, above = above, self._above[above]
        return candidate

    def join(self, one: int, other: int) -> None:
        self._above[self.root(one)] = self.root(other)

    def roots(self) -> list[int]:
        return [each for each, above in self._above.items() if each == above]
