# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of groups of rows with one matrix each, as in mixtures of experts. Group boundaries depend on data."""

from __future__ import annotations

from ...dialects import relax
from . import sizes
from .tensors import cast, const, joined, part
from .values import Tensor, Value


def grouped_product(rows: Value, weights: Tensor, ends: Tensor, count: int) -> Tensor:
    """Multiply the rows of each group by its matrix. Rows behind the last group give zeros."""
    ends = cast(ends, "i64")
    total = sizes.sizes_of(rows)[0]
    begin: sizes.Size = 0
    products = []
    for index in range(count):
        end = sizes.element(ends, index)
        group = sizes.sliced(rows, {0: (begin, end, 1)})
        products.append(relax.matmul(group, part(weights, 0, index, index + 1, drop=True)))
        begin = end
    columns = sizes.sizes_of(Value(ssa=products[0]))[1]
    products.append(sizes.full([sizes.minus(total, begin), columns], const(0, rows.dtype)))
    return sizes.stated(joined(products), [total, columns])
