# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes operators on constants when a program is compiled, so that no call does it again.

Quantized weights become the numbers that they stand for, transposed ones lie as they are read. Who knows more than
numpy does, a library or a target, is handed in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, ClassVar

from ..bindings.ir import Operation, OpView
from ..bindings.mlir import ir
from ..bindings.patterns import Pattern, Rewriter, apply_greedy
from ..support.errors import RelaxError
from .canonicalize.constants import elements_of, make_elements
from .canonicalize.folding import BY_NUMPY, Evaluator, constant_arrays
from .canonicalize.support import result_type
from .core.base import Pass
from .core.options import PYTHON_ONLY
from .core.registry import register_pass

if TYPE_CHECKING:
    from numpy import ndarray

_MEBIBYTE = 1 << 20


@register_pass
@dataclass(frozen=True)
class FoldConstant(Pass):
    """Computes operators whose operands are constants, and have as many elements as the result."""

    name: ClassVar[str] = "relax-fold-constant"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: By how many mebibytes constants may grow in all: the numbers that four bits stand for take eight times as many.
    most_growth: int = 512
    max_iterations: int = 32
    evaluator: Evaluator = field(default=BY_NUMPY, metadata={PYTHON_ONLY: True})

    def __post_init__(self) -> None:
        if self.most_growth < 0:
            raise RelaxError(f"pass '{self.name}': most-growth must be 0 or more, got {self.most_growth}")
        if self.max_iterations < 1:
            raise RelaxError(f"pass '{self.name}': max-iterations must be 1 or more, got {self.max_iterations}")

    def run(self, op: Operation) -> None:
        room = self.most_growth * _MEBIBYTE

        def fold(op: OpView, _: Rewriter) -> Operation | None:
            nonlocal room
            arrays = _constant_operands(op)
            if arrays is None:
                return None
            result = self.evaluator.compute(op, *arrays)
            if result is None:
                return None
            growth = max(result.nbytes - sum(array.nbytes for array in arrays), 0)
            if growth > _MOST_CAST_GROWTH and op.operation.name == "relax.astype":
                return None  # to cast while reading costs less than to read so much more
            made = make_elements(result, result_type(op)) if growth <= room else None
            room -= 0 if made is None else growth
            return made

        patterns = [Pattern(self.evaluator.operators, fold, name="fold_constant")]
        apply_greedy(op, patterns, max_iterations=self.max_iterations, what=self.name)


# Packed weights, which are cast where they are used, stay packed.
_MOST_CAST_GROWTH = 1 << 16


def _constant_operands(op: OpView) -> list[ndarray] | None:
    """The elements of all operands, where they are constants and the result has no more elements than they."""
    type_ = result_type(op)
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        return None
    arrays = constant_arrays(op, elements_of)
    if arrays is None:
        return None
    # What spreads few numbers over a tensor takes less time than reading them all from memory.
    return arrays if prod(type_.shape) <= sum(array.size for array in arrays) else None
