# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Connected regions of a codegen's matches, which become one part, while a planner tries and reverts matches."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple


class Edge:
    """Value of a block, or value from outside that the block reads."""

    def __init__(self, size: int, maker: int | None, readers: int):
        self.size = size
        #: Number of the operation that defines the value, or None, and the codegen that owns it, or "".
        self.maker, self.made_by = maker, ""
        #: Number of readers by codegen.
        self.read_by = Counter([""] * readers)
        #: Candidates that define or read the value, by codegen.
        self.near: defaultdict[str, dict[int, None]] = defaultdict(dict)

    def give(self, number: int, candidate: int, codegen: str) -> None:
        """Assign an operation at this edge to a candidate."""
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
        """Return the codegens that the value is transferred from and to."""
        others = self.read_by.keys() - {self.made_by}
        return [name for name in ([self.made_by] if others else []) + sorted(others) if name]

    def candidates(self) -> Iterator[tuple[str, dict[int, None]]]:
        """Yield the candidates at this edge, by codegen."""
        return ((codegen, near) for codegen, near in self.near.items() if near)


class Change(NamedTuple):
    """Effect on regions if candidates go and another one comes."""

    #: Number of regions at the edges in question afterwards, by codegen.
    counts: Counter[str]
    #: All pieces but one of each split region.
    pieces: Sequence[set[int]]


class Regions:
    """Regions of candidates, by number: candidates of one codegen that share an edge are in one region."""

    def __init__(self, edges: Sequence[Sequence[Edge]], codegens: Sequence[str], counted: Container[str]):
        """Initialize with the edges and codegens of each candidate, and the codegens to count regions of."""
        self._edges, self._codegens, self._counted = edges, codegens, counted
        self._labels = count()
        self._label: dict[int, int] = {}
        self._members: dict[int, set[int]] = {}

    def begin(self, candidates: Iterable[int]) -> None:
        """Add the first candidates."""
        for region in self.among(candidates):
            if self._codegens[next(iter(region))] in self._counted:
                self._name(region)

    def among(self, candidates: Iterable[int]) -> list[set[int]]:
        """Return the regions of candidates, of all codegens, found by a search from scratch."""
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
        """Return the number of regions at edges, by codegen."""
        found = {
            (codegen, self._label[next(iter(near))])
            for edge in edges
            for codegen, near in edge.candidates()
            if codegen in self._counted
        }
        return Counter(codegen for codegen, _ in found)

    def after(self, edges: Iterable[Edge], gone: Collection[int], added: int | None, *, exact: bool) -> Change:
        """Return the effect of a change that is applied to the edges but not to the regions yet.

        If not `exact`, no region counts as split: there may be more regions.
        """
        broken = {self._label[number] for number in gone if number in self._label} if exact else set[int]()
        joined = _DisjointSets()
        firsts: dict[int, int] = {}
        starts: dict[int, list[int]] = {}
        for edge in edges:
            for codegen, near in edge.candidates():
                if codegen not in self._counted:
                    continue
                # Before the change, all candidates at the edge were in one region.
                one = next((each for each in near if each != added), None)
                if added is not None and added in near:
                    joined.join(added, added if one is None else one)
                if one is not None and (label := self._label[one]) in broken:
                    joined.join(one, one)
                    starts.setdefault(label, []).append(one)
                elif one is not None:
                    joined.join(one, firsts.setdefault(label, one))
        pieces = [piece for start in starts.values() for piece in self._pieces_of(start, joined, added)]
        return Change(Counter(self._codegens[each] for each in joined.roots()), pieces)

    def made(self, change: Change, gone: Iterable[int], added: int | None) -> None:
        """Apply a change to the regions."""
        for number in gone:
            self._leave(number)
        for piece in change.pieces:
            for each in piece:
                self._leave(each)
            self._name(piece)
        if added is not None and self._codegens[added] in self._counted:
            self._join(added)

    def _leave(self, candidate: int) -> None:
        if (label := self._label.pop(candidate, None)) is not None:
            self._members[label].remove(candidate)

    def _join(self, added: int) -> None:
        """Merge the regions adjacent to a candidate under the label of the largest."""
        near = [edge.near[self._codegens[added]] for edge in self._edges[added]]
        others = [next((each for each in those if each != added), added) for those in near]
        if not (labels := {self._label[each] for each in others if each != added}):
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
        """Yield the pieces that candidates of a former region are in now, except one.

        All pieces are searched at once, step by step, until at most one of them may have more candidates. The cost is
        the size of the smaller pieces, or the distance between connected candidates.
        """
        groups: dict[int, list[int]] = {}
        for fromkey in dict.fromkeys(starts):
            groups.setdefault(joined.root(fromkey), []).append(fromkey)
        pending = deque(self._search(group, added) for group in groups.values())
        finder = {name: search for search in pending for name in search.seen}
        while len(pending) > 1:
            search = pending.popleft()
            if (reached := search.step()) is None:
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
    """Search for the candidates connected with some candidates of one codegen, one after the other."""

    def __init__(
        self, starts: Sequence[int], edges: Sequence[Sequence[Edge]], codegens: Sequence[str], without: int | None
    ):
        self.start, self.seen = starts[0], set[int]()
        self._edges, self._codegen, self._without = edges, codegens[starts[0]], without
        self._looked_at: set[Edge] = set()
        self._pending: deque[Iterator[int]] = deque()
        self._merged_into: _Search | None = None
        for start in starts:
            self._add(start)

    def _add(self, candidate: int) -> None:
        self.seen.add(candidate)
        for edge in self._edges[candidate]:
            if edge not in self._looked_at:
                self._looked_at.add(edge)
                self._pending.append(iter(edge.near[self._codegen]))

    def step(self) -> int | None:
        """Return another connected candidate, or None at the end."""
        while self._pending:
            for each in self._pending[0]:
                if each != self._without and each not in self.seen:
                    self._add(each)
                    return each
            self._pending.popleft()
        return None

    def merge(self, other: _Search) -> None:
        """Take over the state of another search, which has reached the same candidates."""
        other._merged_into = self
        self.seen |= other.seen
        self._looked_at |= other._looked_at
        self._pending += other._pending

    @property
    def now(self) -> _Search:
        """Return the search that continues this one."""
        search = self
        while search._merged_into is not None:
            search = search._merged_into
        return search


class _DisjointSets:
    """Union-find of candidates that are known to be connected."""

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
        return [key for key, above in self._above.items() if key == above]
