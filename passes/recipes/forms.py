# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two forms of one pattern: of a layer in floating point, and of the same layer between dequantize and quantize.

A codegen states one of them. The quantizer finds layers by the float form, the partition finds quantized layers by the
quantized form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...support.errors import RelaxError
from ..patterns.matched import Match
from ..patterns.operator_patterns import Every, Op, ResultPattern, is_op
from ..patterns.outputs import Outputs
from ..patterns.tree import (
    Check,
    Checked,
    Condition,
    Either,
    GraphPattern,
    Named,
    OfType,
    Repeated,
    UsedOnce,
    is_const,
    walk,
    wildcard,
)
from .recipe import RESULT
from .recipe import Op as RecipeOp
from .stated_dtypes import is_quantized_type
from .stated_types import has_stated_types

_QUANTIZE, _DEQUANTIZE = "relax.quantize", "relax.dequantize"


def is_quantized_form(pattern: GraphPattern) -> bool:
    """Check whether a pattern contains quantize or dequantize."""
    return any(_is_only(part, _QUANTIZE, _DEQUANTIZE) for part in walk(pattern))


def _is_only(part: GraphPattern, *names: str) -> bool:
    return isinstance(part, Op) and set(part.names) <= set(names)


class FloatForm(NamedTuple):
    """Float form of a pattern."""

    pattern: GraphPattern
    #: True if the quantized form also matches layers with real results.
    may_be_real: bool


def float_form(pattern: GraphPattern) -> FloatForm | None:
    """Return the pattern of the layer in floating point, or None if the pattern has none.

    Operators on integers, such as limits behind a quantize, have no float form: alternatives with these are left out.
    """
    made = _ToFloat().part(pattern)
    return None if made is None else FloatForm(made.pattern, not made.is_quantized)


class _Converted(NamedTuple):
    pattern: GraphPattern
    #: True if the value was quantized before the conversion.
    is_quantized: bool


class _ToFloat:
    """Conversion of a pattern. A part that occurs twice is converted once, because it matches one value."""

    def __init__(self) -> None:
        self._made: dict[GraphPattern, _Converted | None] = {}

    def part(self, pattern: GraphPattern) -> _Converted | None:
        if pattern not in self._made:
            self._made[pattern] = made = self._convert(pattern)
            if made is not None:
                self._made.setdefault(made.pattern, made)
        return self._made[pattern]

    def _convert(self, pattern: GraphPattern) -> _Converted | None:
        if isinstance(pattern, Op):
            return self._operator(pattern)
        if isinstance(pattern, Either):
            return self._either(pattern)
        if isinstance(pattern, Condition):
            return self._condition(pattern)
        if isinstance(pattern, Repeated):
            return self._repeated(pattern)
        if isinstance(pattern, (Outputs, ResultPattern, Every)) and is_quantized_form(pattern):
            return None
        return _Converted(pattern, False)

    def _operator(self, op: Op) -> _Converted | None:
        if op.operands is None:
            return _Converted(op, False)
        if _is_only(op, _DEQUANTIZE):
            made = self.part(op.parts[0])
            return None if made is None else _Converted(made.pattern, False)
        if _is_only(op, _QUANTIZE):
            # A real value may have any number of readers, the operand of a quantize has one.
            real = op.parts[0].inner if isinstance(op.parts[0], UsedOnce) else op.parts[0]
            made = self.part(real)
            return None if made is None or made.is_quantized else _Converted(made.pattern, True)
        found = {part: self.part(part) for part in op.parts}
        if any(made is None or made.is_quantized for made in found.values()):
            return None
        made_of = {part: made.pattern for part, made in found.items() if made is not None}
        return _Converted(_with_operands(op, made_of), False)

    def _repeated(self, pattern: Repeated) -> _Converted | None:
        """Convert the value in front of the repeated operators, which are the same for real numbers."""
        made = self.part(pattern.inner)
        if made is None or made.pattern is pattern.inner:
            return None if made is None else _Converted(pattern, False)
        return _Converted(made.pattern.repeated(pattern.around, pattern.least, pattern.most), False)

    def _either(self, pattern: Either) -> _Converted | None:
        is_any_quantized = is_quantized_form(pattern)
        choices = [each for each in pattern.choices if not is_any_quantized or is_quantized_form(each)]
        made = [found for each in choices if (found := self.part(each)) is not None]
        if not made:
            return None
        patterns = tuple(dict.fromkeys(each.pattern for each in made))
        return _Converted(
            patterns[0] if len(patterns) == 1 else Either(patterns), all(each.is_quantized for each in made)
        )

    def _condition(self, pattern: Condition) -> _Converted | None:
        made = self.part(pattern.inner)
        if made is None:
            return None
        if isinstance(pattern, OfType) and pattern.dtypes and all(map(is_quantized_type, pattern.dtypes)):
            return _Converted(made.pattern, True)
        if isinstance(pattern, UsedOnce) and _is_only(pattern.inner, _DEQUANTIZE):
            return made  # each reader has a dequantize of its own
        if isinstance(pattern, Checked):
            return _Converted(made.pattern.where(_where_possible(pattern.check), pattern.reason), made.is_quantized)
        return _Converted(pattern if made.pattern is pattern.inner else pattern.around(made.pattern), made.is_quantized)


def _with_operands(op: Op, made: Mapping[GraphPattern, GraphPattern]) -> Op:
    """Return the pattern with other patterns of operands."""
    if all(part is other for part, other in made.items()):
        return op
    by_operator = {
        name: {key: tuple(made[each] for each in parts) for key, parts in operands.items()}
        for name, operands in op.by_operator.items()
    }
    return op.but(operands=by_operator[op.names[0]], by_operator=by_operator)


def _where_possible(check: Check) -> Check:
    """Return a check that accepts matches without the parts that it reads, such as scales of quantized layers."""

    def where_possible(match: Match) -> bool | str:
        try:
            return check(match)
        except RelaxError:
            return True

    return where_possible


def quantized_form(pattern: GraphPattern, op: RecipeOp) -> GraphPattern:
    """Return the pattern of the quantized layer, for an entry of a recipe.

    Operands are named as in `rx.patterns.quantized_linear()`: x, x_scale, x_zero_point; y_scale and y_zero_point are
    the result's. Layers with other types than the entry states are refused, with the reason.
    """
    made = _ToQuantized(op).part(pattern)
    if not op.has_real_result:
        quantized = is_op(_QUANTIZE)(made.used_once(), *_scales(RESULT))
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
            numbers = _without_dtype(pattern.inner).has_dtype(*(each.dtype for each in types)).named(pattern.name)
            real = is_op(_DEQUANTIZE)(numbers, *_scales(pattern.name)).used_once()
            if not any(each.granularity == "mx" for each in types):
                return real
            blocks = _mx_blocks(numbers, pattern.name)
            return blocks if all(each.granularity == "mx" for each in types) else real | blocks
        if isinstance(pattern, Op) and pattern.operands is not None:
            return _with_operands(pattern, {part: self.part(part) for part in pattern.parts})
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
    real = is_op(_DEQUANTIZE)(numbers, scale, zero_point).used_once()
    whole = is_op("relax.reshape")(real, ...).used_once()
    return is_op("relax.permute_dims")(whole).used_once() | whole


def _scales(name: str) -> tuple[GraphPattern, GraphPattern]:
    return is_const().named(f"{name}_scale"), is_const().named(f"{name}_zero_point")
