# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Removal of results that callers find in donated arguments instead."""

from __future__ import annotations

from collections.abc import Collection

from ....bindings.ir import Operation
from ....bindings.mlir import ir, string_array, string_value
from ....bindings.navigation import body_of, last_of
from ....dialects.core.ir_attributes import RESULT_NAMES


def result_names(function: Operation) -> list[str]:
    attributes = function.attributes
    return list(map(string_value, attributes[RESULT_NAMES])) if RESULT_NAMES in attributes else []


def drop_results(function: Operation, places: Collection[int]) -> None:
    """Remove results, with their names and attributes. The caller updates the function's type."""
    returned, names = last_of(body_of(function)), result_names(function)
    kept = [value for place, value in enumerate(returned.operands) if place not in places]
    with returned.location, ir.InsertionPoint(returned):
        ir.Operation.create(returned.name, operands=kept)
    returned.erase()
    if names:
        left = [name for place, name in enumerate(names) if place not in places]
        function.attributes[RESULT_NAMES] = string_array(left)
    if "res_attrs" in function.attributes:
        described = enumerate(list(function.attributes["res_attrs"]))
        function.attributes["res_attrs"] = ir.ArrayAttr.get(
            [attribute for place, attribute in described if place not in places]
        )
