# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized form of a pattern: a codegen states the layer in floating point, with the types of a recipe.

The partition finds layers between dequantize and quantize by this form.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...patterns.operator_patterns import Op, is_op
from ...patterns.tree import Condition, Either, GraphPattern, Named, OfType, is_const, walk, wildcard
from .recipe import RESULT
from .recipe import Op as RecipeOp
from .stated_types import has_stated_types

QUANTIZE, DEQUANTIZE = "relax.quantize", "relax.dequantize"


def is_quantized_form(pattern: GraphPattern) -> bool:
    """Check whether a pattern contains quantize or dequantize."""
    return any(is_only(part, QUANTIZE, DEQUANTIZE) for part in walk(pattern))


def is_only(part: GraphPattern, *names: str) -> bool:
    """Check whether a part of a pattern matches operators of these names only."""
    return isinstance(part, Op) and set(part.names) <= set(names)


def with_operands(op: Op, patterns: Mapping[GraphPattern, GraphPattern]) -> Op:
    """Return the pattern with other patterns of operands."""
    if all(part is other for part, other in patterns.items()):
        return op
    by_operator = {
        name: {key: tuple(patterns[each] for each in parts) for key, parts in operands.items()}
        for name, operands in op.by_operator.items()
    }
    return op.but(operands=by_operator[op.names[0]], by_operator=by_operator)


def quantized_form(pattern: GraphPattern, op: RecipeOp) -> GraphPattern:
    """Return the pattern of the quantized layer, for an entry of a recipe.

    Operands are named as in `rx.patterns.quantized_linear()`: x, x_scale, x_zero_point; y_scale and y_zero_point are
    the result's. Layers with other types than the entry states are refused, with the reason.
    """
    made = _ToQuantized(op).part(pattern)
    if not op.has_real_result:
        quantized = is_op(QUANTIZE)(made.used_once(), *_scales(RESULT))
        made = quantized | made if op.may_be_real else quantized
    return made.where(has_stated_types(op))


class _ToQuantized:
    def __init__(self, op: RecipeOp):
        self._types = op.types
        self._made: dict[GraphPattern, GraphPattern] = {}

    def part(self, pattern: GraphPattern) -> GraphPattern:
        if pattern not in self._made:
            self._made[pattern] = self._convert(pattern)
        return self._made[pattern]

    def _convert(self, pattern: GraphPattern) -> GraphPattern:
        if isinstance(pattern, Named) and pattern.name in self._types:
            types = self._types[pattern.name]
            numbers = _without_dtype(pattern.inner).has_dtype(*(type_.dtype for type_ in types)).named(pattern.name)
            real = is_op(DEQUANTIZE)(numbers, *_scales(pattern.name)).used_once()
            if not any(type_.granularity == "mx" for type_ in types):
                return real
            blocks = _mx_blocks(numbers, pattern.name)
            return blocks if all(type_.granularity == "mx" for type_ in types) else real | blocks
        if isinstance(pattern, Op) and pattern.operands is not None:
            return with_operands(pattern, {part: self.part(part) for part in pattern.parts})
        if isinstance(pattern, Either):
            return Either(tuple(map(self.part, pattern.choices)))
        if isinstance(pattern, Condition):
            return pattern.around(self.part(pattern.inner))
        return pattern


def _without_dtype(pattern: GraphPattern) -> GraphPattern:
    """Return the pattern without conditions on element types, which hold for the float layer only."""
    if not isinstance(pattern, Condition):
        return pattern
    inner = _without_dtype(pattern.inner)
    return inner if isinstance(pattern, OfType) and pattern.dtypes else pattern.around(inner)


def _mx_blocks(numbers: GraphPattern, name: str) -> GraphPattern:
    """Return the pattern of an operand in MX blocks, which are rows of the numbers. Run time has scales of its own."""
    scale, zero_point = wildcard().named(f"{name}_scale"), is_const().named(f"{name}_zero_point")
    real = is_op(DEQUANTIZE)(numbers, scale, zero_point).used_once()
    whole = is_op("relax.reshape")(real, ...).used_once()
    return is_op("relax.permute_dims")(whole).used_once() | whole


def _scales(name: str) -> tuple[GraphPattern, GraphPattern]:
    return is_const().named(f"{name}_scale"), is_const().named(f"{name}_zero_point")
