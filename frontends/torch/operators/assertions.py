# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assertions: checked while the program runs, unless torch or the types have checked them."""

from __future__ import annotations

from typing import Any

from ..fx_operators import functional_name
from ..prelude import Node, Outputs, Value, register_rows, register_torch, relax
from ..registry import find_converter
from ..symbolic_sizes import as_scalar
from .elementwise import truth
from .factorizations import require_success


@register_torch("aten::_assert_scalar", "aten::_assert_async", "aten::_functional_assert_scalar",
                "aten::_functional_assert_async")  # fmt: skip
def assertion(node: Node) -> Outputs:
    held, text = node.get(0), node.string("assert_msg", "an assertion of the model does not hold")
    if held is True:
        return None
    condition = truth(node) if isinstance(held, Value) else as_scalar(held, "i1")
    relax.assert_op(relax.reshape(condition, ()), format=text)
    return None


@register_torch("aten::_linalg_check_errors")
def check_errors(node: Node) -> Outputs:
    require_success(node.tensor("info"), f"{node.string('api_name')}: a matrix is singular, or not as it must be")
    return None


@register_torch("higher_order::with_effects")
def with_effects(node: Node) -> Outputs:
    """A token, then an operator and its arguments. Tokens say the order of effects: assertions stay in the graph's."""
    operator: Any = node.get(1)
    converter = find_converter(functional_name(operator))
    if converter is None or operator._schema.returns:
        raise node.fail(f"no converter of {functional_name(operator)} with its effects")
    names = [each.name for each in operator._schema.arguments]
    places = [held for key, held in node.arguments.items() if key.isdigit()][2:]
    named = {key: held for key, held in node.arguments.items() if not key.isdigit()}
    arguments = {**dict(zip(names, places, strict=False)), **named}
    converter.function(Node(node.fx, node.name, functional_name(operator), arguments, node.graph))
    return [node.value(0)]


# Of dtypes and layouts, which are known; and of ranges of sizes, which torch also asserts.
register_rows(
    {
        "aten::_assert_tensor_metadata aten::sym_constrain_range aten::sym_constrain_range_for_size "
        "aten::_functional_sym_constrain_range aten::_functional_sym_constrain_range_for_size "
        "aten::_make_dep_token aten::_functional_sym_constrain_range": lambda node: None
    }
)
