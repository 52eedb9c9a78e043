# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of backward steps of distances between rows. The gradient of equal rows is 0."""

from __future__ import annotations

import math

from ..prelude import Outputs, Tensor, TorchNode, Value, const, info_of, like, register_torch, relax, sizes


@register_torch("aten::_cdist_backward")
def distances_backward(node: TorchNode) -> Outputs:
    """Return the gradient by the first rows: each distance's derivative, summed over the second rows."""
    x, y = node.tensor("x1"), node.tensor("x2")
    rank = x.type.rank
    difference = relax.subtract(relax.expand_dims(x, axis=[rank - 1]), relax.expand_dims(y, axis=[y.type.rank - 2]))
    arriving, found = (relax.expand_dims(node.tensor(name), axis=[-1]) for name in ("grad", "cdist"))
    made = relax.sum(relax.multiply(arriving, _share(difference, found, node.float("p"))), axis=[-2])
    return sizes.broadcast(made, node.sizes_of_result)


@register_torch("aten::_pdist_backward")
def pair_distances_backward(node: TorchNode) -> Outputs:
    """Return the gradient of pairwise distances. Each pair adds to its first row, and subtracts from its second."""
    import numpy

    x, (count, width) = node.tensor("self"), sizes.sizes_of(node.value("self"))
    if not isinstance(count, int):
        raise node.fail("the number of rows must be known while the model is imported")
    node.take_table("the pairs", count * count)
    first, second = (const(index.astype("int64"), "i64") for index in numpy.triu_indices(count, 1))
    difference = relax.subtract(relax.take(x, first, axis=0), relax.take(x, second, axis=0))
    arriving, found = (relax.expand_dims(node.tensor(name), axis=[1]) for name in ("grad", "pdist"))
    shares = relax.multiply(arriving, _share(difference, found, node.float("p")))
    made = sizes.zeros([count, width], node.dtype)
    for rows, each in ((first, shares), (second, relax.negative(shares))):
        places = sizes.broadcast(relax.expand_dims(rows, axis=[1]), sizes.sizes_of(Value(ssa=each)))
        made = relax.scatter_elements(made, places, each, axis=0, reduction="add")
    return made


def _share(difference: Tensor, tensor: Tensor, p: float) -> Tensor:
    """Return the derivative of a distance by each element of the difference."""
    if p == 0:
        return relax.zeros_like(difference)
    if p == 1:
        return relax.sign(difference)
    size = relax.abs(difference)
    if math.isinf(p):
        return relax.where(relax.equal(size, tensor), relax.sign(difference), like(difference, 0))
    is_same = relax.equal(tensor, like(tensor, 0))
    if p < 1:
        is_same = relax.equal(difference, like(difference, 0))
    dtype = info_of(difference).dtype
    ratio = relax.divide(size, relax.where(is_same, like(tensor, 1), tensor))
    weighed = relax.multiply(relax.sign(difference), relax.power(ratio, const(p - 1, dtype)))
    return relax.where(is_same, like(difference, 0), weighed)
