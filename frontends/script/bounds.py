# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bounds check elimination for accesses that are proven in bounds.

Accesses that are proven out of bounds are errors. All other accesses are checked at run time.
"""

from __future__ import annotations

import ast

from ...dialects.core.relation import RelationPoints, TooMany
from .accesses import ElementAccess, ProgramAccesses
from .common.source import Source
from .program import Buffer


def elements_inside(accesses: ProgramAccesses) -> set[ast.AST]:
    """Return the subscripts, and the nodes of the store statements, that are in bounds. Raises ScriptError."""
    source = accesses.annotations.names.source
    return {access.node for access in accesses.of_sizes({}) if access.is_placed and _is_inside(access, source)}


def _is_inside(access: ElementAccess, source: Source) -> bool:
    """Check whether an access is in bounds by its ranges or, in a buffer of static sizes, at each point.

    Raises ScriptError if the access is out of bounds at a point.
    """
    relation, dims = access.relation, [dim for dim in access.buffer.dims if isinstance(dim, int)]
    if relation.is_inside(access.buffer.dims):
        return True
    if len(dims) < len(access.buffer.dims):
        return False
    try:
        for axis, (index, dim) in enumerate(zip(relation.indices, dims, strict=True)):
            points = RelationPoints(relation.along(axis))
            low, high = points.reach(index) if points.count else (0, -1)
            if low < 0 or high >= dim:
                if access.is_sure and points.is_exact and RelationPoints(relation).count:
                    raise source.problem(access.node, outside(access.buffer, axis, low, high))
                return False
    except TooMany:
        return False
    return True


def outside(buffer: Buffer, axis: int, low: int | None, high: int | None) -> str:
    """Return the error message for an index that is out of bounds."""
    reach = f"goes from {low} to {high}" if low != high else f"is {low}"
    return f"'{buffer.name}' has {buffer.dims[axis]} elements along dimension {axis}, but the index {reach}"
