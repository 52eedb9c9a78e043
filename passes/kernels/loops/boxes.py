# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exact footprint (a box) of an access in one step of a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....dialects.core.relation import Relation, variables_in
from ....dialects.core.symbols_expr import Size, substituted
from .ranges import Range
from .tree import Access

Limits = Sequence[tuple[Size, Size]]


def box_of(access: Access, inner: Mapping[str, Size], where: Limits = ()) -> list[Range] | None:
    """Return the box that an access covers, by dimension, or None if it is no whole box or unknown.

    The variables in `inner` take all values for which each index of `where` is below its limit.
    """
    start = [substituted(index, dict.fromkeys(inner, 0)) for index in access.indices]
    moves = [index - first for index, first in zip(access.indices, start, strict=True)]
    used = variables_in([*moves, *(index for index, _ in where)])
    if not used <= inner.keys():  # the footprint's shape depends on the step of an outer loop
        return None
    domain = {name: extent for name, extent in inner.items() if name in used}
    box = Relation(domain, tuple(moves), tuple((limit - index - 1,) for index, limit in where)).box()
    return None if box is None else [Range(s + low, high - low + 1) for s, (low, high) in zip(start, box, strict=True)]
