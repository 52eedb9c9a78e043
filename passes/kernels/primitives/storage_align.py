# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive storage_align: strides of a buffer, by padding of its rows."""

from __future__ import annotations

from ....support.errors import RelaxError
from ....support.replacing import replace
from ..loops.buffer_allocation import places_of
from ..loops.handles import BlockRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree_buffers import StrideAlignment
from .caching import own_buffer

#: Maximum alignment of a stride; a larger one would be a mistake.
_MOST_ELEMENTS = 1 << 16


@register_primitive
def storage_align(edit: Edit, block: BlockRV, buffer_index: int | str, axis: int, factor: int, offset: int) -> None:
    """Allocate a buffer that a block writes so that the stride of an axis is a multiple of `factor`, plus `offset`.

    For example, threads that read a column of a GPU's "shared" memory then access different banks.
    """
    buffer = own_buffer(edit, edit.block(block), buffer_index)
    rank = len(buffer.shape)
    own = axis + rank if axis < 0 else axis
    if not 0 <= own < rank - 1:
        problem = f"'{buffer.name}' has {rank} dimensions: axis {axis} is none of them"
        if own == rank - 1:
            problem = f"elements of the last dimension of '{buffer.name}' stay contiguous: align an earlier axis"
        edit.refuse(problem)
    if not 0 < factor <= _MOST_ELEMENTS or not 0 <= offset < factor:
        expected = f"expected a factor from 1 to {_MOST_ELEMENTS}, and an offset from 0 to below it"
        edit.refuse(f"{expected}, got {factor} and {offset}")
    others = tuple(alignment for alignment in buffer.alignments if alignment.axis != own)
    new = replace(buffer, alignments=tuple(sorted((*others, StrideAlignment(own, factor, offset)))))
    edit.tree = edit.tree.exchanged(buffer, new)
    try:
        places_of(edit.tree)
    except RelaxError as error:
        edit.refuse(error.message)
