# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants."""

from __future__ import annotations

from ..prelude import TosaNode, Value, register_rows
from ..tosa_types import elements_of


def _constant(node: TosaNode, name: str) -> Value:
    return Value(array=elements_of(node.operation.attributes[name], node.result_types[0]))


register_rows(
    {
        "tosa.const": lambda node: _constant(node, "values"),
        "tosa.const_shape": lambda node: _constant(node, "values"),
        "arith.constant": lambda node: _constant(node, "value"),
    }
)
