# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of assertions, which are checked at run time unless torch or the types have checked them."""

from __future__ import annotations

from relax_mlir.frontends.core.matrices import require_success

from ..inner_node import InnerNode
from ..prelude import Outputs, Tensor, TorchNode, Value, cast, const, like, register_rows, register_torch, relax, sizes
from ..registry import register_complex


@register_torch("aten::_assert_scalar", "aten::_assert_async", "aten::_functional_assert_scalar",
                "aten::_functional_assert_async")  # fmt: skip
def assertion(node: TorchNode) -> Outputs:
    """Check a condition. Functional forms return their token; the order of nodes keeps the order of effects."""
    # In nodes with effects, the first argument is a token.
    held = node.get(0) if isinstance(node, InnerNode) else node.graph.computed(node.fx.args[0])
    if held is not True:
        text = node.string("assert_msg", "an assertion of the model is false")
        relax.assert_op(
            relax.reshape(_truth(held), ()), format=text.replace("{", "{{").replace("}", "}}"), kind="RuntimeError"
        )
    return node.get("dep_token")


def stop_where(wrong: Tensor, text: str) -> None:
    """Stop the program with eager mode's error if an element of a tensor of booleans is true."""
    count = relax.sum(cast(wrong, "i64"), axis=None)
    relax.assert_op(relax.equal(count, const(0, "i64")), format=text, kind="RuntimeError")


def _truth(held: object) -> Tensor:
    if not isinstance(held, Value) or held.dtype == "i1":
        return sizes.as_scalar(held, "i1")
    return relax.not_equal(held.ssa, like(held.ssa, 0))


@register_torch("aten::_linalg_check_errors")
def check_errors(node: TorchNode) -> Outputs:
    require_success(
        node.tensor("info"),
        f"{node.string('api_name')}: a matrix is singular, or violates the requirements of the function",
    )
    return None


def _dep_token(node: TorchNode) -> Outputs:
    return node.get("dep_token")


# torch has checked element types, layouts and the ranges of sizes.
register_rows(
    {
        "aten::_assert_tensor_metadata aten::sym_constrain_range aten::sym_constrain_range_for_size "
        "aten::_functional_sym_constrain_range aten::_functional_sym_constrain_range_for_size": _dep_token
    }
)
register_complex("aten::_assert_tensor_metadata")(_dep_token)
