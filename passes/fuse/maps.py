# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Affine maps from the loops of one operation to those of another, and what they say about repeated work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.ir import AffineMap
from ...bindings.mlir import ir


def identity(rank: int) -> AffineMap:
    return ir.AffineMap.get_identity(rank)


def compose(outer: AffineMap, inner: AffineMap) -> AffineMap:
    """The map that applies `inner` first."""
    return ir.AffineMap.get(inner.n_dims, 0, [expression.compose(inner) for expression in outer.results])


def inverse(permutation: AffineMap) -> AffineMap:
    dims = [plain_dim(expression) for expression in permutation.results]
    # Not by get_permutation, which crashes for no dimensions.
    places = [ir.AffineDimExpr.get(dims.index(dim)) for dim in range(len(dims))]
    return ir.AffineMap.get(len(dims), 0, places)


def plain_dim(expression: Any) -> int | None:
    """The dimension that an expression is, unless it is more than that."""
    known = expression.maybe_downcast()
    return known.position if isinstance(known, ir.AffineDimExpr) else None


def dim_beside_constant(expression: Any) -> int | None:
    """The dimension in `dim + constant`; None where an expression has another form."""
    known = expression.maybe_downcast()
    if isinstance(known, ir.AffineAddExpr) and isinstance(known.rhs.maybe_downcast(), ir.AffineConstantExpr):
        return plain_dim(known.lhs)
    return plain_dim(known)


def visits_once(map_: AffineMap, sizes: Sequence[int | None]) -> bool:
    """Whether loops of these sizes come by each of the map's points once at most."""
    found = {_only_dim(expression) for expression in map_.results}
    return all(dim in found or size == 1 for dim, size in enumerate(sizes))


def _only_dim(expression: Any) -> int | None:
    """The dimension in `dim * factor + constant`; None where an expression has another form."""
    known = expression.maybe_downcast()
    if isinstance(known, ir.AffineDimExpr):
        return known.position
    if isinstance(known, (ir.AffineAddExpr, ir.AffineMulExpr)):
        constant = known.rhs.maybe_downcast()
        is_sum = isinstance(known, ir.AffineAddExpr)
        if isinstance(constant, ir.AffineConstantExpr) and (is_sum or constant.value != 0):
            return _only_dim(known.lhs)
    return None
