# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with a column as products with a vector, whose elements are contiguous.

With a last dimension of size 1, the elements would be loaded one by one.
"""

from __future__ import annotations

from typing import Any

from ...bindings.ir import Value
from ...dialects.core.infos import is_float
from ...emit import linalg
from ...emit.contraction import Term, contraction
from ...emit.tensors import merge, split
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ..default.legalize_linear_algebra import matmul as matmul_of_matrices
from ..default.legalize_linear_algebra import matmul_labels


@register_legalize("relax.matmul", target="llvm", by_types=True)
def matmul(call: LegalizeCall) -> Legalized:
    infos: list[Any] = [call.info(value) for value in call.operands]
    left, right = (info.shape for info in infos)
    result: Any = call.result_infos[0]
    # The strict order is the one of dynamic columns.
    is_strict = call.target.option("numerics") == "same" and is_float(result.dtype)
    if is_strict or len(left) < 2 or len(right) < 2 or right[-1] != 1 or None in result.shape:
        return matmul_of_matrices(call)
    (rows, columns), labels = matmul_labels(len(left), len(right))

    def body(x: Value, column: Value, out: Value) -> Value:
        vector = infos[1].with_shape(right[:-1])
        terms = [Term(x, infos[0], rows), Term(_without_last(column), vector, columns[:-1])]
        product = contraction(terms, _without_last(out), labels[:-1], result.dtype, {"k"})
        last = linalg.rank_of(product) - 1
        return split(product, last, [linalg.size(product, last), 1])

    return call.prim(body)


def _without_last(tensor: Value) -> Value:
    return merge(tensor, linalg.rank_of(tensor) - 2, 2)
