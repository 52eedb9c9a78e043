# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assignment of a model's pieces to codegens by measured prices.

A piece is a set of operations that at least one codegen takes. Matches of several codegens that share operations are
one piece. Its owner is the target or one codegen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir.compilation.claimed_regions import ClaimedMatch, ClaimedRegion, Claims
from relax_mlir.passes.graph.partition.placement import PlacedMatch

#: Owner of pieces without a codegen.
TARGET = ""
#: Owners of the pieces, in their order.
Owners = tuple[str, ...]
#: Identity of equal pieces: patterns and keys of their matches.
Kind = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ModelPiece:
    """Operations that codegens may take, by their numbers in the model."""

    numbers: frozenset[int]
    #: Matches inside, by codegen.
    matches: Mapping[str, tuple[ClaimedMatch, ...]]

    @property
    def kind(self) -> Kind:
        return kind_of(match for each in self.matches.values() for match in each)

    @property
    def operators(self) -> tuple[str, ...]:
        """Return the operators of the first codegen's matches."""
        return tuple(name for match in next(iter(self.matches.values())) for name in match.operators)


def kind_of(matches: Iterable[ClaimedMatch]) -> Kind:
    """Return the patterns and keys of matches, which equal pieces share."""
    return tuple(sorted((match.placed.pattern, match.placed.key) for match in matches))


def pieces_of(claims: Claims) -> list[ModelPiece]:
    """Return the pieces of a model, in program order."""
    owned = [(region.codegen, match) for region in claims.regions for match in region.matches]
    groups: list[tuple[set[int], list[tuple[str, ClaimedMatch]]]] = []
    for codegen, match in owned:
        joined, members = set(match.numbers), [(codegen, match)]
        apart = []
        for numbers, others in groups:
            if joined.isdisjoint(numbers):
                apart.append((numbers, others))
            else:
                joined |= numbers
                members = [*others, *members]
        groups = [*apart, (joined, members)]
    return [_piece(members) for _, members in sorted(groups, key=lambda group: min(group[0]))]


def _piece(members: Sequence[tuple[str, ClaimedMatch]]) -> ModelPiece:
    matches: dict[str, tuple[ClaimedMatch, ...]] = {}
    for codegen, match in members:
        matches[codegen] = (*matches.get(codegen, ()), match)
    return ModelPiece(frozenset[int]().union(*(match.numbers for _, match in members)), matches)


def matches_of(pieces: Sequence[ModelPiece], owners: Owners, codegens: Sequence[str]) -> tuple[PlacedMatch, ...]:
    """Return the matches of an assignment, in the order in which a partition by priority takes them."""
    taken = [
        (codegens.index(owner), match.rank, match.placed)
        for piece, owner in zip(pieces, owners, strict=True)
        for match in piece.matches.get(owner, ())
    ]
    return tuple(placed for *_, placed in sorted(taken, key=lambda each: each[:2]))


@dataclass
class Prices:
    """Measured seconds of the kinds of pieces, by owner, and savings of neighbours with one owner."""

    seconds: dict[tuple[Kind, str], float] = field(default_factory=dict)
    saved: dict[str, float] = field(default_factory=dict)

    def of(self, piece: ModelPiece, owner: str) -> float:
        """Return the seconds of a piece, or infinity if the owner cannot have it."""
        return self.seconds.get((piece.kind, owner), 0.0 if owner == TARGET else float("inf"))

    def note_region(self, region: ClaimedRegion, pieces: Sequence[ModelPiece], target: float, own: float) -> None:
        """Learn from a whole region how much its neighbours save in comparison with single pieces."""
        numbers = {number for match in region.matches for number in match.numbers}
        inside = [piece for piece in pieces if piece.numbers <= numbers]
        for owner, whole in ((TARGET, target), (region.codegen, own)):
            single = sum(self.of(piece, owner) for piece in inside)
            if len(inside) > 1 and single < float("inf"):
                saved = max((single - whole) / (len(inside) - 1), 0.0)
                self.saved[owner] = min(saved, self.saved.get(owner, saved))


def cheapest(
    pieces: Sequence[ModelPiece], prices: Prices, codegens: Collection[str], *, is_joined: bool = True
) -> Owners:
    """Return the owners with the lowest sum of prices, by dynamic programming over the pieces in program order.

    Neighbours with one owner save what whole regions have saved, unless `is_joined` is False.
    """
    best: dict[str, tuple[float, Owners]] = {TARGET: (0.0, ())}
    for piece in pieces:
        following: dict[str, tuple[float, Owners]] = {}
        for owner in (TARGET, *codegens):
            price = prices.of(piece, owner)
            ways = [
                (cost + _with_neighbour(price, prices, owner, owners, is_joined=is_joined), (*owners, owner))
                for cost, owners in best.values()
            ]
            following[owner] = min(ways, key=lambda way: way[0])
        best = {owner: way for owner, way in following.items() if way[0] < float("inf")}
    return min(best.values(), key=lambda way: way[0])[1]


def _with_neighbour(price: float, prices: Prices, owner: str, owners: Owners, *, is_joined: bool) -> float:
    is_same = is_joined and bool(owners) and owners[-1] == owner
    return max(price - prices.saved.get(owner, 0.0), 0.0) if is_same else price


def moves_of(pieces: Sequence[ModelPiece], owners: Owners, prices: Prices, codegens: Sequence[str]) -> Iterator[Owners]:
    """Yield assignments with other owners for all pieces of a kind or for a run of neighbours, best prices first."""
    found: dict[Owners, float] = {}
    for indices in (*_equal_pieces(pieces), *_runs(owners)):
        for owner in (TARGET, *codegens):
            able = {index for index in indices if prices.of(pieces[index], owner) < float("inf")}
            moved = tuple(owner if index in able else each for index, each in enumerate(owners))
            if moved != owners:
                change = (prices.of(pieces[index], owner) - prices.of(pieces[index], owners[index]) for index in able)
                found.setdefault(moved, sum(change))
    yield from sorted(found, key=lambda moved: found[moved])


def _equal_pieces(pieces: Sequence[ModelPiece]) -> list[list[int]]:
    return _group(range(len(pieces)), lambda index: pieces[index].kind)


def _runs(owners: Owners) -> list[list[int]]:
    """Return the places of neighbours with one owner."""
    starts = [index for index in range(len(owners)) if index == 0 or owners[index] != owners[index - 1]]
    return [list(range(start, end)) for start, end in zip(starts, [*starts[1:], len(owners)], strict=True)]


def _group(indices: Iterable[int], key_of: Callable[[int], Kind]) -> list[list[int]]:
    groups: dict[Kind, list[int]] = {}
    for index in indices:
        groups.setdefault(key_of(index), []).append(index)
    return list(groups.values())
