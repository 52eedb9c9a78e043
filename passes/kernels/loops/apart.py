# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop-carried dependence test: check whether each step of a loop visits different points of a block.

The rules of `owners_of` also compare steps that access one buffer in different blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ....dialects.core.indices import divisions, is_below, is_never_negative, undivided
from ....dialects.core.relation import Relation, TooMany, variables_in
from ....dialects.core.symbols_expr import Size, from_terms, substituted, terms_of, variables_of
from .ranges import factor_of, range_of, substitute_zero
from .tree import SPATIAL, Block, Loop, Place


def spatial_bindings(block: Block) -> list[Size]:
    return [at for iter_, at in zip(block.iters, block.bindings, strict=True) if iter_.kind == SPATIAL]


def keeps_apart(block: Block, loop: Loop, inner: Mapping[str, Size]) -> bool:
    """Return True if each step of a loop provably visits other points of a block, for all steps of the inner loops."""
    for index in _determined_by(spatial_bindings(block)):
        factor = factor_of(index, loop.name)
        reached = range_of(substitute_zero(index, loop.name), inner)
        if factor and reached is not None and isinstance(reached.extent, int) and reached.extent <= abs(factor):
            return True
    return False


def overlaps(block: Block, loop: Loop, inner: Mapping[str, Size]) -> bool:
    """Return True if several steps of a loop, with all steps of the inner loops, provably share a point of a block."""
    spatial = spatial_bindings(block)
    moving = [at for at in spatial if loop.name in variables_of(at)]
    if len(moving) != 1 or not isinstance(loop.extent, int):
        return False
    names = variables_of(moving[0]) & inner.keys()
    if any(at is not moving[0] and not variables_of(at).isdisjoint(names) for at in spatial):
        return False
    limits = [limit for _, limit in block.where]
    extents = {name: inner[name] for name in variables_in([moving[0], *(at for at, _ in block.where)]) & inner.keys()}
    if not all(isinstance(size, int) for size in (*limits, *extents.values())):
        return False
    domain, indices = {**extents, loop.name: loop.extent}, (moving[0], *(at for at, _ in block.where))
    # Only points in the first steps of the loops outside are considered.
    outer = dict.fromkeys(variables_in(indices) - domain.keys(), 0)
    index, *conditions = (substituted(expr, outer) for expr in indices)
    guards = tuple((limit - at - 1,) for at, limit in zip(conditions, limits, strict=True))
    try:
        return not Relation(domain, (index,), guards).is_disjoint(loop.name)
    except TooMany:
        return False


def _determined_by(indices: Sequence[Size]) -> list[Size]:
    """Return the indices, and each x for which both x // n and x % n are among them."""
    found = list(indices)
    for _ in indices:
        count = len(found)
        for index in indices:
            for monomial, factor in terms_of(index).items():
                if len(monomial) != 1 or monomial[0].kind != "%":
                    continue
                (whole, by), rest = monomial[0].args, index - from_terms({monomial: factor})
                if whole // by in found and is_never_negative(rest) and is_below(rest, factor):
                    found += [part for part in (whole * factor + rest, whole) if part not in found]
        if len(found) == count:
            break
    return found


class Owner(NamedTuple):
    """Rule that finds, from the indices of an element, the step of a loop that accesses the element.

    The step is (at - start) // factor % steps. Only indices from start + factor * step on are accessed, `extent` of
    them, modulo factor * steps.
    """

    loop: str
    #: The index, as a sum of the element's indices.
    at: str
    factor: int
    steps: int
    start: Size
    extent: int

    def joined(self, other: Owner) -> Owner | None:
        """Return a rule that holds for the elements of two rules, or None if the rules disagree."""
        distance, reach = other.start - self.start, abs(self.factor)
        if self[:4] != other[:4] or not isinstance(distance, int):
            return None
        for first, second, after in ((self, other, distance), (other, self, -distance)):
            if (extent := max(first.extent, after % (reach * self.steps) + second.extent)) <= reach:
                return first._replace(extent=extent)
        return None


def common_owners(some: Iterable[Owner], others: Iterable[Owner]) -> frozenset[Owner]:
    """Return the rules that hold for the elements of two sets of accesses."""
    others = list(others)
    return frozenset(both for one in some for other in others if (both := one.joined(other)) is not None)


def owners_of(place: Place, loops: Sequence[Loop], extents: Mapping[str, Size]) -> frozenset[Owner]:
    """Return the rules by which the indices of an element determine the steps of some loops.

    `extents` has all loops around that take several steps. The element may be accessed at any of them.
    """
    sums = _sums_of({f"i{dim}": index for dim, index in enumerate(place) if index is not None})
    each = (_owner(loop, name, index, extents) for loop in loops for name, index in sums.items())
    return frozenset(owner for owner in each if owner is not None)


def _owner(loop: Loop, name: str, index: Size, extents: Mapping[str, Size]) -> Owner | None:
    factor, steps = factor_of(index, loop.name), loop.extent
    if not factor or not isinstance(steps, int):
        return None
    rest = terms_of(substitute_zero(index, loop.name))
    period = factor * steps
    reached = range_of(from_terms({monomial: by for monomial, by in rest.items() if by % period}), extents)
    if reached is None or not isinstance(reached.extent, int) or reached.extent > abs(factor):
        return None
    return Owner(loop.name, name, factor, steps, reached.start, reached.extent)


def _sums_of(indices: Mapping[str, Size]) -> dict[str, Size]:
    """Return indices and sums of them that have fewer quotients and remainders: x // n * n + x % n is x."""
    sums = dict(indices)
    quotients = [(name, index) for name, index in indices.items() if divisions(index)]
    for _ in range(len(quotients) - 1):
        pairs = [(one, other) for one in quotients for other in sums.items()]
        for (name, whole), (other_name, part) in pairs:
            for by in _moduli(part):
                both = undivided(whole * by + part)
                if divisions(both) < divisions(whole) + divisions(part):
                    sums[f"{name}*{by}+{other_name}"] = both
    return sums


def _moduli(index: Size) -> set[int]:
    """Return c * n for each term c * (x % n) of an index."""
    atoms = ((monomial[0], factor) for monomial, factor in terms_of(index).items() if len(monomial) == 1)
    moduli = ((factor, atom.args[1]) for atom, factor in atoms if atom.kind == "%")
    return {factor * by for factor, by in moduli if isinstance(by, int)}


def admitted_steps(block: Block, extents: Mapping[str, Size]) -> dict[str, Size]:
    """Return the extents of loops without the last steps that the conditions of a block's points leave out."""
    found = dict(extents)
    for index, limit in block.where:
        if not isinstance(limit, int):
            continue
        for name in variables_of(index) & found.keys():
            factor, extent = factor_of(index, name), found[name]
            if factor is None or factor < 1 or not is_never_negative(substitute_zero(index, name)):
                continue
            steps = max(-(-limit // factor), 1)
            found[name] = min(steps, extent) if isinstance(extent, int) else steps
    return found
