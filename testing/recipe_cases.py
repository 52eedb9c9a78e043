# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of a recipe: small float models of its layers, which rx.quantize quantizes with their own inputs as samples.

Layers are built from the patterns of the recipe, with and without bias and activation (composites.py). The rows of
products and convolutions add strides, groups and other attributes, with constant weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..passes.partition.codegen import Codegen, Composite, PatternRow
from ..passes.partition.recipe_registry import find_recipe
from ..passes.patterns.operator_patterns import Op
from ..passes.patterns.tree import GraphPattern, walk
from ..quantization.placement import float_form_of
from ..quantization.quantize import quantize
from ..support.errors import OptionError, RelaxError
from .composites import cases_of_pattern
from .core.cases import Case, Setup, Unmade
from .core.rows import case_with_constants
from .core.variants import PLAIN, VARIANTS
from .fitting import rows_of
from .trial import Subject

#: Variants of layers. Samples have to be finite, and sizes have to be known.
_VARIANTS = tuple(each for each in VARIANTS if each.name in (PLAIN.name, "many", "far"))


def cases_of_recipe(subject: Subject) -> Iterator[Case]:
    """Yield the cases of the recipes of a codegen or a target, if there are any."""
    for name in subject.codegens or (subject.target,):
        try:
            found = find_recipe(name)
        except OptionError:
            continue
        patterns = found.recipe.patterns(_rows(found.codegen))
        composites = [Composite(op.name, float_form_of(op, pattern).pattern) for op, pattern in patterns]
        for case in _cases(composites):
            yield _quantized(case, name)


def _cases(composites: Sequence[Composite]) -> Iterator[Case]:
    for composite in composites:
        yield from cases_of_pattern(composite, _VARIANTS)
    inner = (part for each in composites for part in walk(each.pattern) if isinstance(part, Op))
    for name in dict.fromkeys(name for part in inner for name in part.names if _has_weights(name)):
        yield from (case_with_constants(row) for row in rows_of(name))


def _has_weights(operator: str) -> bool:
    return operator == "relax.matmul" or operator.startswith("relax.nn.conv")


def _rows(codegen: type[Codegen] | None) -> Mapping[str, GraphPattern]:
    rows = (PatternRow(*each) for each in (() if codegen is None else codegen.patterns))
    return {row.name: row.pattern for row in rows}


def _quantized(case: Case, name: str) -> Case:
    """Return the case of a quantized model. A model without a layer that the recipe quantizes is no case."""

    def make(seed: int) -> Setup:
        made = case.make(seed)
        try:
            return Setup(quantize(made.module, made.calls, name, calibrate="minmax").module, made.calls)
        except RelaxError:
            raise
        except Exception as error:  # a bug, of whatever kind
            raise Unmade(f"{type(error).__name__} in rx.quantize: {error}") from error

    return Case(f"{case.name} quantized", "recipes", make)
