# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inversion of indices: the point of a block that reads what a point of another block writes.

Known sums, quotients and remainders are split and combined until each variable is known. Then all points are checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

from relax_mlir.dialects.core.indices import evaluated
from relax_mlir.dialects.core.symbols_expr import Size, from_terms, terms_of
from relax_mlir.dialects.core.symbols_terms import Atom
from relax_mlir.passes.kernels.loops.ranges import range_of
from relax_mlir.passes.kernels.loops.tree import Iter

#: Maximum number of points that are checked.
_MOST_POINTS = 1 << 21
_MOST_FACTS = 64


def inverse_points(
    iters: Sequence[Iter], places: Sequence[tuple[Size, Size]], producer: Sequence[Iter]
) -> dict[str, Size] | None:
    """Return the value of each iter of `found`, in terms of the producer's iters, or None if it is unknown.

    `places` are pairs of equal indices: in terms of `found`, and of the producer. Points of the producer that no point
    of `found` reads get values outside of the extents.
    """
    extents = {iter_.name: iter_.extent for iter_ in iters}
    sizes = {iter_.name: iter_.extent for iter_ in producer}
    if not all(isinstance(extent, int) for extent in (*extents.values(), *sizes.values())):
        return None
    values = _known_variables(dict(places), extents)
    return values if values is not None and _is_inverse(values, places, extents, sizes) else None


def _known_variables(facts: dict[Size, Size], extents: Mapping[str, Size]) -> dict[str, Size] | None:
    """Return the value of each variable, derived from known sums of variables."""
    variables = {from_terms({(atom,): 1}): name for name, atom in _atoms(facts, extents)}
    waiting = list(facts)
    for size in waiting:  # grows in the loop
        if len(facts) > _MOST_FACTS:
            return None
        for index, value in [*_parts(size, facts[size], extents), *_wholes(facts)]:
            if index not in facts:
                facts[index] = value
                waiting.append(index)
    known = {name: facts[whole] for whole, name in variables.items() if whole in facts}
    missing = extents.keys() - known.keys()
    # An iter with one step is 0.
    return None if any(extents[name] != 1 for name in missing) else {**known, **dict.fromkeys(missing, 0)}


def _atoms(facts: Mapping[Size, Size], extents: Mapping[str, Size]) -> list[tuple[str, Atom]]:
    """Return the variables in sums."""
    atoms: dict[str, Atom] = {}
    waiting = [atom for index in facts for monomial in terms_of(index) for atom in monomial]
    for atom in waiting:  # grows in the loop
        if atom.kind == "variable":
            atoms[str(atom)] = atom
        waiting += [inner for arg in atom.args for monomial in terms_of(arg) for inner in monomial]
    return [(name, atom) for name, atom in atoms.items() if name in extents]


def _parts(index: Size, value: Size, extents: Mapping[str, Size]) -> list[tuple[Size, Size]]:
    """Return the values of a known sum's terms, if each term stays below the next one's factor."""
    constant, terms = 0, list[tuple[int, Size, int]]()
    for monomial, factor in terms_of(index).items():
        if not monomial:
            constant = factor
            continue
        term = from_terms({monomial: 1})
        reached = range_of(term, extents)
        if len(monomial) != 1 or factor < 1 or reached is None or reached.start != 0:
            return []
        if not isinstance(reached.extent, int):
            return []
        terms.append((factor, term, reached.extent))
    terms.sort(key=lambda each: (each[0], each[2]))
    if not terms or any(own * count > other or other % own for (own, _, count), (other, _, _) in pairwise(terms)):
        return []
    found = []
    for number, (factor, term, _) in enumerate(terms):
        rest: Size = (value - constant) // factor
        found.append((term, rest if number == len(terms) - 1 else rest % (terms[number + 1][0] // factor)))
    return found


def _wholes(facts: Mapping[Size, Size]) -> list[tuple[Size, Size]]:
    """Return values that follow from known quotients and remainders."""
    wholes = []
    for index, value in facts.items():
        for monomial, factor in terms_of(index).items():
            if len(terms_of(index)) != 1 or factor != 1 or len(monomial) != 1 or monomial[0].kind != "%":
                continue
            whole, by = monomial[0].args
            if isinstance(by, int) and whole // by in facts:
                wholes.append((whole, facts[whole // by] * by + value))
    return wholes


def _is_inverse(
    values: Mapping[str, Size],
    places: Sequence[tuple[Size, Size]],
    extents: Mapping[str, Size],
    sizes: Mapping[str, Size],
) -> bool:
    """Return True if each point has exactly one point of the producer, which writes what the point reads.

    Other points of the producer must leave the extents.
    """
    import numpy

    counts, all_sizes = _numbers(extents), _numbers(sizes)
    if max(prod(counts), prod(all_sizes)) > _MOST_POINTS:
        return False
    points = dict(zip(sizes, numpy.indices(all_sizes).reshape(len(all_sizes), -1), strict=True))
    inside = numpy.ones(prod(all_sizes), bool)
    zeros = numpy.zeros(len(inside), int)
    made = {name: evaluated(value, points) + zeros for name, value in values.items()}
    for name, at in made.items():
        inside &= (at >= 0) & (at < extents[name])
    at = zeros
    for name, size in extents.items():
        at = at * size + made[name]
    if not (numpy.unique(at[inside]) == numpy.arange(prod(counts))).all() or int(inside.sum()) != prod(counts):
        return False
    apart = [evaluated(index, made) - evaluated(value, points) + zeros for index, value in places]
    return not any(each[inside].any() for each in apart)


def _numbers(sizes: Mapping[str, Size]) -> list[int]:
    return [size for size in sizes.values() if isinstance(size, int)]
