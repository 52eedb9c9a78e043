# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Float form of a pattern of quantized layers. The quantizer finds layers in floating point by this form."""

from __future__ import annotations

from typing import NamedTuple

from relax_mlir.passes.graph.recipes.forms import DEQUANTIZE, QUANTIZE, is_only, is_quantized_form, with_operands
from relax_mlir.passes.graph.recipes.stated_dtypes import is_quantized_type
from relax_mlir.passes.patterns.matched import Match
from relax_mlir.passes.patterns.operator_patterns import Every, Op, ResultPattern
from relax_mlir.passes.patterns.outputs import Outputs
from relax_mlir.passes.patterns.tree import Check, Checked, Condition, Either, GraphPattern, OfType, Repeated, UsedOnce
from relax_mlir.support.errors import RelaxError


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
            return self._repeat(pattern)
        if isinstance(pattern, (Outputs, ResultPattern, Every)) and is_quantized_form(pattern):
            return None
        return _Converted(pattern, False)

    def _operator(self, op: Op) -> _Converted | None:
        if op.operands is None:
            return _Converted(op, False)
        if is_only(op, DEQUANTIZE):
            made = self.part(op.parts[0])
            return None if made is None else _Converted(made.pattern, False)
        if is_only(op, QUANTIZE):
            # A real value may have any number of readers, the operand of a quantize has one.
            real = op.parts[0].inner if isinstance(op.parts[0], UsedOnce) else op.parts[0]
            made = self.part(real)
            return None if made is None or made.is_quantized else _Converted(made.pattern, True)
        found = {part: self.part(part) for part in op.parts}
        if any(made is None or made.is_quantized for made in found.values()):
            return None
        made_of = {part: value.pattern for part, value in found.items() if value is not None}
        return _Converted(with_operands(op, made_of), False)

    def _repeat(self, pattern: Repeated) -> _Converted | None:
        """Convert the value in front of the repeated operators, which are the same for real numbers."""
        if (made := self.part(pattern.inner)) is None or made.pattern is pattern.inner:
            return None if made is None else _Converted(pattern, False)
        return _Converted(made.pattern.repeated(pattern.around, pattern.least, pattern.most), False)

    def _either(self, pattern: Either) -> _Converted | None:
        is_any_quantized = is_quantized_form(pattern)
        choices = [choice for choice in pattern.choices if not is_any_quantized or is_quantized_form(choice)]
        made = [found for choice in choices if (found := self.part(choice)) is not None]
        if not made:
            return None
        patterns = tuple(dict.fromkeys(each.pattern for each in made))
        return _Converted(
            patterns[0] if len(patterns) == 1 else Either(patterns), all(each.is_quantized for each in made)
        )

    def _condition(self, pattern: Condition) -> _Converted | None:
        if (made := self.part(pattern.inner)) is None:
            return None
        if isinstance(pattern, OfType) and pattern.dtypes and all(map(is_quantized_type, pattern.dtypes)):
            return _Converted(made.pattern, True)
        if isinstance(pattern, UsedOnce) and is_only(pattern.inner, DEQUANTIZE):
            return made  # each reader has a dequantize of its own
        if isinstance(pattern, Checked):
            return _Converted(made.pattern.where(_where_possible(pattern.check), pattern.reason), made.is_quantized)
        return _Converted(pattern if made.pattern is pattern.inner else pattern.around(made.pattern), made.is_quantized)


def _where_possible(check: Check) -> Check:
    """Return a check that accepts matches without the parts that it reads, such as scales of quantized layers."""

    def where_possible(match: Match) -> bool | str:
        try:
            return check(match)
        except RelaxError:
            return True

    return where_possible
