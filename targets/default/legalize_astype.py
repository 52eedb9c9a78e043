# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of element types; passes/legalize/conversions.py says what it means for each pair."""

from __future__ import annotations

from typing import Any

from ...passes.legalize.builder import RuleBuilder
from ...passes.legalize.conversions import convert_scalar
from ...passes.legalize.rules import register_legalize


@register_legalize("relax.astype")
def astype(op: Any, operands: list[Any], builder: RuleBuilder) -> Any:
    source, target = builder.dtype(operands[0]), builder.result_dtype()
    if source == target:
        return operands[0]
    return builder.elementwise(lambda x: convert_scalar(x, source, target))
