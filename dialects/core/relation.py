# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Access relations: the elements that a statement accesses, by the points of the loops around the statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial, reduce
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .indices import evaluated, is_never_negative, regrouped
from .intervals import OPERATIONS
from .symbols import Dim, at_most, dim_max, dim_min
from .symbols_expr import Size, SymbolError, from_terms, make_variable, sole_atom, substituted, terms_of, variables_of
from .symbols_terms import Atom, bounds

if TYPE_CHECKING:
    import numpy

Array: TypeAlias = "numpy.ndarray"
#: Condition of a point: one of the expressions is at least 0.
Guard = tuple[Size, ...]
#: Lowest and highest value of an index, as expressions in sizes; None if unknown.
Range = tuple[Dim, Dim]

#: Visiting more points would take seconds.
_MOST_POINTS = 1 << 22
_MOST = 1 << 62


class TooMany(Exception):
    """A relation with more points than are visited, or with points that depend on unknown sizes."""


class _Digit(NamedTuple):
    """Digit of a loop variable: `variable // divisor % extent`."""

    variable: str
    divisor: int
    extent: Size


class Relation(NamedTuple):
    """Element at `indices` for each point of a domain of loops at which all guards hold.

    Each variable of the domain, the outermost first, takes the values from 0 up to its extent.
    """

    domain: Mapping[str, Size]
    indices: tuple[Size, ...]
    guards: tuple[Guard, ...] = ()

    def is_inside(self, shape: Sequence[Dim]) -> bool:
        """Return True if all indices are proven in bounds at all points of the domain, by their ranges."""
        for index, size in zip(self.indices, shape, strict=True):
            low, high = range_of(index, self.domain)
            if low is None or high is None or size is None or not (at_most(0, low) and at_most(high + 1, size)):
                return False
        return True

    def along(self, axis: int) -> Relation:
        """Return the relation of one index, and the guards that the index depends on, also through others."""
        guards, used = list(self.guards), {*variables_of(self.indices[axis])}
        near: list[Guard] = []
        while more := [guard for guard in guards if not used.isdisjoint(variables_in(guard))]:
            used |= variables_in(expr for guard in more for expr in guard)
            guards, near = [guard for guard in guards if guard not in more], near + more
        return Relation(self.domain, (self.indices[axis],), tuple(near))

    def covers(self, shape: Sequence[Dim]) -> bool:
        """Return True if the indices are proven to take the places of all elements, and no other places.

        Digits that are apart take all combinations of their values, so each dimension is proven by itself.
        """
        limits: dict[Size, Size] = {}
        conditions: list[Size] = []
        for guard in self.guards:
            limited = [(index, guard[0] + index) for index in self.indices if len(guard) == 1]
            known = [(index, last) for index, last in limited if variables_of(last).isdisjoint(self.domain)]
            if known:
                if limits.setdefault(*known[0]) != known[0][1]:
                    return False
            elif any(is_never_negative(substituted(expr, dict.fromkeys(self.domain, 0))) for expr in guard):
                conditions += guard
            else:
                return False
        placed, free = _digits(self.indices, self.domain), _digits(conditions, self.domain)
        if placed is None or free is None or not _are_apart({*free, *placed}, len(placed) + len(set(free))):
            return False
        moving = variables_in(self.indices)
        return all(name in moving or is_repeated(extent) for name, extent in self.domain.items()) and all(
            self._goes_through(index, limits.get(index), size) for index, size in zip(self.indices, shape, strict=True)
        )

    def _goes_through(self, index: Size, limit: Size | None, size: Dim) -> bool:
        """Check whether an index of digits that are apart takes all values from 0 to size - 1, and no others."""
        low, high = range_of(index, self.domain)
        last = limit if limit is not None and high is not None and at_most(limit, high) else high
        return low == 0 and size is not None and last == size - 1 and _is_contiguous(index, self.domain)

    @property
    def is_one_to_one(self) -> bool:
        """Return True if the indices contain each digit of each variable once."""
        digits = _digits(self.indices, self.domain)
        is_apart = digits is not None and _are_apart(set(digits), len(digits))
        return is_apart and prod(digit.extent for digit in digits or ()) == prod(self.domain.values())

    def box(self) -> list[tuple[Size, Size]] | None:
        """Return the lowest and highest index of each dimension if the relation has all elements between them."""
        digits = None if self.guards else _digits(self.indices, self.domain)
        if (
            digits is not None
            and _are_apart(set(digits), len(digits))
            and all(_is_contiguous(index, self.domain) for index in self.indices)
        ):
            ends = [range_of(index, self.domain) for index in self.indices]
            return [(low, high) for low, high in ends if low is not None and high is not None]
        try:
            points = RelationPoints(self, self.domain)
            reached = [points.reach(index) for index in self.indices if points.count]
            is_whole = points.distinct(linear(self.indices, reached)) == prod(high - low + 1 for low, high in reached)
        except TooMany:
            return None
        return [*reached] if is_whole and points.is_exact and points.count else None

    def is_disjoint(self, step: str) -> bool:
        """Return True if no two steps of a loop have points with the same element. Raises TooMany."""
        points, indices = RelationPoints(self, self.domain), (*self.indices, make_variable(step))
        reached = [points.reach(expr) for expr in indices if points.count]
        return points.distinct(linear(indices, reached[:-1])) == points.distinct(linear(indices, reached))

    def same_point(self, other: Relation) -> bool:
        """Return True if each point of another relation has a point of this one with the same element, in the same
        steps of all loops around both."""
        runs = all(name in other.domain or is_repeated(extent) for name, extent in self.domain.items())
        return runs and self.indices == other.indices and set(other.guards).issuperset(self.guards)


def linear(indices: Sequence[Size], ends: Sequence[tuple[int, int]]) -> Size:
    """Return indices between these ends as one number from 0 on, in the same order. Missing indices are at their
    lowest."""
    place: Size = 0
    for level, (low, high) in enumerate(ends):
        place = place * (high - low + 1) + (indices[level] - low if level < len(indices) else 0)
    return place


def is_repeated(extent: Size) -> bool:
    """Return True if a loop of this extent is known to run."""
    return isinstance(extent, int) and extent > 0


def range_of(index: Size, domain: Mapping[str, Size]) -> Range:
    """Return the range of an index over all points of a domain, in terms of other variables."""
    moving = {monomial: by for monomial, by in terms_of(index).items() if _moves(monomial, domain)}
    low, high = bounds(moving, partial(_range_of_atom, domain=domain))  # type: ignore[arg-type]  # of sizes
    rest = from_terms({monomial: by for monomial, by in terms_of(index).items() if monomial not in moving})
    return None if low is None else low + rest, None if high is None else high + rest


def _moves(monomial: Iterable[Atom], domain: Mapping[str, Size]) -> bool:
    return any(not atom.variables.isdisjoint(domain) for atom in monomial)


def _range_of_atom(atom: Atom, domain: Mapping[str, Size]) -> Range:
    if not _moves([atom], domain):
        return (whole := from_terms({(atom,): 1})), whole
    if atom.kind == "variable":
        return 0, domain[str(atom)] - 1
    ranges = [range_of(arg, domain) for arg in atom.args]
    if atom.kind in ("//", "%"):
        return OPERATIONS[atom.kind](*ranges)
    lows, highs = zip(*ranges, strict=True)
    extremum = dim_min if atom.kind == "min" else dim_max
    return reduce(extremum, lows), reduce(extremum, highs)


# ---- digits ----


def _terms(index: Size, domain: Mapping[str, Size]) -> list[tuple[_Digit, int]] | None:
    """Return the digits that an index is a sum of, with their factors. None for other indices."""
    try:
        moving = [term for term in terms_of(regrouped(index)).items() if _moves(term[0], domain)]
    except SymbolError:
        return None
    terms = [(_digit(monomial[0], domain) if len(monomial) == 1 else None, factor) for monomial, factor in moving]
    known = [(digit, factor) for digit, factor in terms if digit is not None]
    return known if len(known) == len(terms) else None


def _digits(indices: Iterable[Size], domain: Mapping[str, Size]) -> list[_Digit] | None:
    sums = [_terms(index, domain) for index in indices]
    return None if None in sums else [digit for terms in sums if terms is not None for digit, _ in terms]


def _digit(atom: Atom, domain: Mapping[str, Size]) -> _Digit | None:
    if atom.kind == "variable":
        return _Digit(str(atom), 1, domain[str(atom)])
    inner: Atom | None = atom
    divisor, extent = 1, 0
    if atom.kind == "%":
        inner, extent = sole_atom(atom.args[0]), atom.args[1]
    if inner is not None and inner.kind == "//":
        divisor = inner.args[1]
        inner = sole_atom(inner.args[0])
    count = None if inner is None else domain.get(str(inner))
    if not isinstance(count, int) or not isinstance(divisor, int) or not isinstance(extent, int) or count < 1:
        return None
    extent = extent or -(-count // divisor)
    # The last group of digits must be whole, or they do not take all combinations.
    return None if count % (divisor * extent) else _Digit(str(inner), divisor, extent)


def _are_apart(digits: Set[_Digit], count: int) -> bool:
    """Return True if this number of digits differ, and each takes all of its values for any values of the others."""
    return len(digits) == count and all(
        one.variable != other.variable or (isinstance(one.extent, int) and one.divisor * one.extent <= other.divisor)
        for one, other in pairwise(sorted(digits, key=lambda digit: digit[:2]))
    )


def _is_contiguous(index: Size, domain: Mapping[str, Size]) -> bool:
    """Return True if an index of digits that are apart takes all values between its lowest and highest one."""
    reached: Size = 0
    for digit, factor in sorted(_terms(index, domain) or (), key=lambda term: abs(term[1])):
        if not isinstance(reached, int) or abs(factor) > reached + 1:
            return False
        reached += abs(factor) * (digit.extent - 1)
    return True


# ---- points ----


class RelationPoints:
    """Points of a relation, which are visited one by one, in the order of the loops.

    Variables that neither indices nor guards depend on are 0 unless they are `visited`: their steps repeat the same
    accesses. Raises TooMany.
    """

    def __init__(self, relation: Relation, visited: Iterable[str] = ()):
        import numpy

        self._domain = domain = relation.domain
        used, needed = _needed(relation, variables_in(relation.indices).union(visited))
        guards = [guard for guard in needed if domain.keys() >= variables_in(guard)]
        #: Variables that are visited. All others are 0.
        self.variables = used
        extents = {name: extent for name, extent in domain.items() if name in used}
        #: False if points depend on unknown sizes, so that some or all of them may be missing.
        self.is_exact = len(guards) == len(needed) and all(isinstance(size, int) for size in domain.values())
        sizes = [max(extent, 0) if isinstance(extent, int) else _MOST for extent in extents.values()]
        if prod(sizes) > _MOST_POINTS or not used.issubset(domain):
            raise TooMany
        if any(isinstance(extent, int) and extent <= 0 for extent in domain.values()):
            sizes = [0, *sizes[1:]]
        self._shape = tuple(sizes)
        grid = numpy.meshgrid(*map(numpy.arange, sizes), indexing="ij", sparse=True)
        self._values: dict[str, object] = {**dict.fromkeys(domain, 0), **dict(zip(extents, grid, strict=False))}
        holds: Array | None = None
        for guard in guards:
            one = numpy.asarray(reduce(numpy.logical_or, [self._at(expr) >= 0 for expr in guard]))
            holds = one if holds is None else holds & one
        self._chosen = None if holds is None else numpy.flatnonzero(numpy.broadcast_to(holds, self._shape))
        self.count = prod(sizes) if self._chosen is None else len(self._chosen)

    def __call__(self, expr: Size) -> Array:
        """Return the value of an expression at each point."""
        import numpy

        flat = numpy.broadcast_to(self._at(expr), self._shape).reshape(-1)
        return flat if self._chosen is None else flat[self._chosen]

    def reach(self, expr: Size) -> tuple[int, int]:
        """Return the lowest and highest value of an expression. There must be a point."""
        values = self._at(expr) if self._chosen is None else self(expr)
        return int(values.min()), int(values.max())

    def distinct(self, expr: Size) -> int:
        """Return the number of different values of an expression."""
        import numpy

        values = self(expr)
        low, high = self.reach(expr) if self.count else (0, 0)
        is_dense = high - low < 2 * _MOST_POINTS  # counting them is ten times faster
        return int(numpy.count_nonzero(numpy.bincount(values - low))) if is_dense else len(numpy.unique(values))

    def _at(self, expr: Size) -> Array:
        import numpy

        if any(not isinstance(end, int) or abs(end) >= _MOST for end in range_of(expr, self._domain)):
            raise TooMany
        try:
            return numpy.asarray(evaluated(expr, self._values))
        except (OverflowError, ArithmeticError):  # a number of more than 64 bits, a division by 0
            raise TooMany from None


def _needed(relation: Relation, used: set[str]) -> tuple[set[str], list[Guard]]:
    """Return the variables to visit, and the guards to check. The others hold in the first step of the other loops."""
    while True:
        first = dict.fromkeys(relation.domain.keys() - used, 0)
        guards = [
            guard for guard in relation.guards if not any(is_never_negative(substituted(expr, first)) for expr in guard)
        ]
        if (more := variables_in(expr for guard in guards for expr in guard) & first.keys()) == set():
            return used, guards
        used = used | more


def variables_in(sizes: Iterable[Size]) -> set[str]:
    return set[str]().union(*map(variables_of, sizes))
