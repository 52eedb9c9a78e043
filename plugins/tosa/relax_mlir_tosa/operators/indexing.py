# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements by their places."""

from __future__ import annotations

from ..prelude import Outputs, TosaNode, cast, register_tosa, relax, sizes


@register_tosa("tosa.gather")
def gather(node: TosaNode) -> Outputs:
    """Rows of [batch, rows, channels] by [batch, places]."""
    places = relax.expand_dims(cast(node.tensor(1), "i64"), axis=[-1])
    return relax.gather_nd(node.tensor(0), places, batch_dims=1)


@register_tosa("tosa.row_gather")
def row_gather(node: TosaNode) -> Outputs:
    """Gather several consecutive rows from each index on."""
    (count,) = node.numbers(2) or (None,)
    if count is None:
        raise node.fail("the number of rows is not known while the module is imported")
    batch, places = node.sizes_of_operand(1)
    every = relax.add(relax.expand_dims(cast(node.tensor(1), "i64"), axis=[-1]), sizes.count_up(count))
    flat = sizes.reshaped(every, [batch, sizes.times(places, count), 1])
    return relax.gather_nd(node.tensor(0), flat, batch_dims=1)


@register_tosa("tosa.scatter")
def scatter(node: TosaNode) -> Outputs:
    """Replace rows of [batch, rows, channels] at the indices [batch, places], which are distinct."""
    updates = node.tensor(2)
    whole = sizes.broadcast(relax.expand_dims(cast(node.tensor(1), "i64"), axis=[-1]), node.sizes_of_operand(2))
    return relax.scatter_elements(node.tensor(0), whole, updates, axis=1)
