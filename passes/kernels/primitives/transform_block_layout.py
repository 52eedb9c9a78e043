# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive transform_block_layout: transforms a block's iters, and the loops around it, by an index map."""

from __future__ import annotations

from ....dialects.core.indices import undivided
from ....dialects.core.symbols_expr import variables_of
from ....support.replacing import replace
from ..loops.handles import BlockRV, IndexMap
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import SPATIAL, Access, Block, Iter, iter_variable
from .caching import shape_of
from .code_motion import wrap_in_new_loops
from .legality import check_independent, check_serial, plain_path


@register_primitive
def transform_block_layout(edit: Edit, block: BlockRV, index_map: IndexMap) -> None:
    """Replace a block's iters and loops by the results of an index map of the iters.

    The block computes the same as before.
    """
    found = edit.block(block)
    if len(index_map.parameters) != len(found.iters):
        edit.refuse(f"'{found.name}' has {len(found.iters)} iters, but the map takes {len(index_map.parameters)}")
    path = plain_path(edit, found, "transform")
    check_serial(edit, path)
    check_independent(edit, path)
    extents = [iter_.extent for iter_ in found.iters]
    names = [f"v{number}" for number in range(len(index_map.results))]
    if (inverse := index_map.inverse(names, extents)) is None:
        sizes = ", ".join(map(str, extents))
        problem = f"{index_map} does not split and fuse iters of '{found.name}' ({sizes}) without a remainder"
        edit.refuse(f"{problem}: each point must have one place, and each place one point")
    shape = shape_of(edit, index_map.results, dict(zip(index_map.parameters, extents, strict=True)))
    iters = tuple(Iter(*each) for each in zip(names, _kinds(edit, found, index_map), shape, strict=True))
    points = inverse.at(list(map(iter_variable, iters)))
    values = {iter_.name: point for iter_, point in zip(found.iters, points, strict=True)}
    new = found.at(values).with_accesses(lambda each: Access(each.buffer, tuple(map(undivided, each.indices))))
    edit.replace((path[0] if path else found).name, [wrap_in_new_loops(edit, replace(new, iters=iters))])


def _kinds(edit: Edit, block: Block, index_map: IndexMap) -> list[str]:
    """Return the kind of each result of a map. All iters of a result must have the same kind."""
    iters = [iter_variable(iter_) for iter_ in block.iters]
    kinds = {iter_.name: iter_.kind for iter_ in block.iters}
    made = []
    for result in index_map.at(iters):
        of = {kinds[name] for name in variables_of(result)}
        if len(of) > 1:
            edit.refuse(f"{result} mixes spatial iters of '{block.name}' with iters of its reduction")
        made.append(next(iter(of), SPATIAL))
    return made
