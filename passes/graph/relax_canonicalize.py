# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folding and simplification of relax operations: all the tables in passes/graph/canonicalize/."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from ...bindings.ir import Operation
from ...bindings.patterns import PatternSet, apply_greedy
from ...dialects.core.in_place import mark_own_memory
from ...support.errors import OptionError
from ..core.base import Pass
from ..core.registry import register_pass
from ..evaluate.registry import evaluated_operators


@register_pass
@dataclass(frozen=True)
class Canonicalize(Pass):
    """Fold and simplify relax operations. Results keep their types and every bit."""

    name: ClassVar[str] = "relax-canonicalize"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: Maximum number of elements of folded constants.
    fold_limit: int = 1024
    #: Number of passes over the IR after which rewriting counts as endless.
    max_iterations: int = 32
    #: Operators that stay unchanged, even with constant operands.
    keep: tuple[str, ...] = ()
    #: Keep dequantized constants, except weights of products of real numbers.
    keep_quantized: bool = False

    def __post_init__(self) -> None:
        if self.fold_limit < 0:
            raise OptionError(f"pass '{self.name}': fold-limit must be 0 or more, got {self.fold_limit}")
        if self.max_iterations < 1:
            raise OptionError(f"pass '{self.name}': max-iterations must be 1 or more, got {self.max_iterations}")

    def run(self, op: Operation) -> None:
        mark_own_memory(op)
        apply_greedy(op, self.patterns(), max_iterations=self.max_iterations, what=self.name)

    def patterns(self) -> PatternSet:
        """Return the patterns, which are built once for the same options and the same registered evaluations."""
        return _patterns(self.fold_limit, self.keep, self.keep_quantized, evaluated_operators())


@lru_cache(maxsize=8)
def _patterns(fold_limit: int, keep: tuple[str, ...], keep_quantized: bool, evaluated: tuple[str, ...]) -> PatternSet:
    """Return the set of all rules, in the order in which the rules are tried on an operation."""
    # The tables of patterns take a while to build. Only a run of the pass needs them.
    from .canonicalize import (
        casts,
        data_movement,
        default_attributes,
        folding,
        identities,
        parts,
        requantization,
        shape_values,
        slicing,
    )
    from .quantization.kept import is_of_quantized_model

    def is_kept(op: Operation) -> bool:
        return op.name in keep or (keep_quantized and is_of_quantized_model(op))

    return PatternSet(
        [
            *default_attributes.PATTERNS,
            *folding.fold_patterns(fold_limit, evaluated, is_kept),
            *identities.PATTERNS,
            *data_movement.PATTERNS,
            *slicing.PATTERNS,
            *parts.PATTERNS,
            *requantization.PATTERNS,
            *casts.PATTERNS,
            *shape_values.PATTERNS,
        ]
    )
