# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop-carried dependence test: check whether each step of a loop visits different points of a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...dialects.core.indices import is_below, is_never_negative
from ...dialects.core.symbols_expr import Size, from_terms, terms_of, variables_of
from .ranges import factor_of, range_of, substitute_zero
from .tree import SPATIAL, Block, Loop

#: Maximum number of steps that the test enumerates.
_MOST_STEPS = 1 << 12


def spatial_bindings(block: Block) -> list[Size]:
    return [at for each, at in zip(block.iters, block.bindings, strict=True) if each.kind == SPATIAL]


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
    if block.where or len(moving) != 1 or not isinstance(loop.extent, int):
        return False
    names = variables_of(moving[0]) & inner.keys()
    if any(at is not moving[0] and not variables_of(at).isdisjoint(names) for at in spatial):
        return False
    apart = {0}
    for name in names:
        factor, extent = factor_of(moving[0], name), inner[name]
        if factor is None or not isinstance(extent, int) or len(apart) * extent > _MOST_STEPS:
            return False
        apart = {each + factor * step for each in apart for step in range(1 - extent, extent)}
    by = factor_of(moving[0], loop.name)
    return by is not None and any(by * step in apart for step in range(1, loop.extent))


def _determined_by(indices: Sequence[Size]) -> list[Size]:
    """Return the indices and the values that they determine. A quotient and its remainder determine the dividend."""
    found = list(indices)
    for _ in indices:
        count = len(found)
        for each in indices:
            for monomial, factor in terms_of(each).items():
                if len(monomial) != 1 or monomial[0].kind != "%":
                    continue
                (whole, by), rest = monomial[0].args, each - from_terms({monomial: factor})
                if whole // by in found and is_never_negative(rest) and is_below(rest, factor):
                    found += [part for part in (whole * factor + rest, whole) if part not in found]
        if len(found) == count:
            break
    return found
