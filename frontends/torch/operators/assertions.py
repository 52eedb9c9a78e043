# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assertions: checked while the program runs, unless torch or the types have checked them."""

from __future__ import annotations

from ...core.linear_algebra.factorizations import require_success
from ..prelude import Node, Outputs, Value, register_rows, register_torch, relax, sizes
from .elementwise import truth


@register_torch("aten::_assert_scalar", "aten::_assert_async", "aten::_functional_assert_scalar",
                "aten::_functional_assert_async")  # fmt: skip
def assertion(node: Node) -> Outputs:
    """Functional ones give the token that they get: the order of effects is that of the nodes."""
    held, text = node.get(0), node.string("assert_msg", "an assertion of the model does not hold")
    if held is not True:
        condition = truth(node) if isinstance(held, Value) else sizes.as_scalar(held, "i1")
        relax.assert_op(relax.reshape(condition, ()), format=text)
    return node.get("dep_token")


@register_torch("aten::_linalg_check_errors")
def check_errors(node: Node) -> Outputs:
    require_success(node.tensor("info"), f"{node.string('api_name')}: a matrix is singular, or not as it must be")
    return None


# Of dtypes and layouts, which are known; and of ranges of sizes, which torch also asserts.
register_rows(
    {
        "aten::_assert_tensor_metadata aten::sym_constrain_range aten::sym_constrain_range_for_size "
        "aten::_functional_sym_constrain_range aten::_functional_sym_constrain_range_for_size": (
            lambda node: node.get("dep_token")
        )
    }
)
