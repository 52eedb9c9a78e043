# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant folding: operators on constants are computed at compile time, so that no call repeats the work.

Quantized weights become the numbers that they encode, and transposed weights are stored in the order of their reads.
NumPy computes the operators for which it gives the program's result to the last bit. The rest of a module becomes one
program, which a registered evaluator compiles and runs (passes/core/evaluating.py). So operators are implemented once,
operators of other packages included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from ...bindings.ir import Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.rewriting import is_used
from ...dialects.core.dialect import all_ops
from ...dialects.relax.known_constants import STORAGE_NAME, elements_of, make_elements
from ...support.errors import OptionError
from ..core.base import Pass
from ..core.evaluating import Evaluator, evaluator
from ..core.registry import register_pass
from ..evaluate.operations import compute, known_operands
from ..evaluate.registry import find_evaluation
from ..legalize.rules import rules_by_op
from .fold.constant_graph import CALL_TIR, ConstantGraph, FoldLimits
from .fold.constant_program import Functions, run_program
from .quantization.kept import is_of_quantized_model

if TYPE_CHECKING:
    from numpy import ndarray

_MEBIBYTE = 1 << 20
# If a value could not be computed, its operands are considered anew in the next round.
_MOST_ROUNDS = 4


@register_pass
@dataclass(frozen=True)
class FoldConstant(Pass):
    """Fold operators on constants, unless the result has many more elements than the constants."""

    name: ClassVar[str] = "relax-fold-constant"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: Maximum growth of all constants in MiB. Dequantized 4-bit numbers, for example, take eight times as much memory.
    most_growth: int = 512
    #: Limit of the number of elements of a result, as a multiple of its constants' elements: broadcasting few elements
    #: is faster than reading many.
    most_spread: float = 2.0
    #: Number of elements up to which results are always folded.
    small: int = 64
    #: Compile and run operators that have no evaluation in NumPy.
    compiled: bool = True
    #: Operators that stay unchanged.
    keep: tuple[str, ...] = ()
    #: Keep dequantized constants, except weights of products of real numbers.
    keep_quantized: bool = False

    def __post_init__(self) -> None:
        for option, least in (("most_growth", 0), ("most_spread", 0), ("small", 0)):
            if getattr(self, option) < least:
                shown = option.replace("_", "-")
                raise OptionError(f"pass '{self.name}': {shown} must be {least} or more, got {getattr(self, option)}")

    def run(self, op: Operation) -> None:
        limits = FoldLimits(self.small, self.most_spread, self.most_growth * _MEBIBYTE)
        folding = _Folding(op, limits, evaluator() if self.compiled else None, self._is_kept)
        for _ in range(_MOST_ROUNDS):
            if folding.is_done_after_round():
                break

    def _is_kept(self, op: Operation) -> bool:
        return op.name in self.keep or (self.keep_quantized and is_of_quantized_model(op))


class _Folding:
    """One run of the pass."""

    def __init__(
        self, root: Operation, limits: FoldLimits, evaluator: Evaluator | None, is_kept: Callable[[Operation], bool]
    ):
        self._root, self._limits, self._evaluator, self._is_kept = root, limits, evaluator, is_kept
        self._functions = Functions(root, "" if evaluator is None else evaluator.target)
        #: Values that could not be computed.
        self._unknown: set[Value] = set()

    def is_done_after_round(self) -> bool:
        graph = ConstantGraph(self._root, self._limits, self._can_compute, unknown=self._unknown)
        values = graph.worth_keeping()
        arrays = _evaluate(graph.needed_for(values, ()))
        if (missing := [value for value in values if value not in arrays]) and self._evaluator is not None:
            arrays |= run_program(graph, self._functions, missing, arrays, self._evaluator)
        failed = [value for value in values if value not in arrays]
        for value in values:
            if value in arrays:
                _replace(value, arrays[value])
        for op in reversed(graph.operations.values()):
            if not is_used(op):
                op.erase()
        self._unknown.update(failed)
        return not failed

    def _can_compute(self, op: Operation) -> bool:
        if self._is_kept(op) or not all(map(_can_be_kept, op.results.types)):
            return False
        if find_evaluation(op.name) is not None:
            return True
        if op.name == CALL_TIR:
            return self._evaluator is not None and self._functions.can_call(op)
        return op.name in self._with_rule

    @cached_property
    def _with_rule(self) -> set[str]:
        """Return the operators that the evaluator can compute."""
        if self._evaluator is None:
            return set()
        known = {row.full_name for row in all_ops() if row.role == "shape" or row.is_plain_view}
        return known.union(rules_by_op(self._evaluator.target))


def _can_be_kept(type_: Type) -> bool:
    """Check whether constants of a type exist. Types other than ranked tensors pass."""
    return not isinstance(type_, ir.RankedTensorType) or str(type_.element_type) in STORAGE_NAME


def _evaluate(operations: Sequence[Operation]) -> dict[Value, ndarray]:
    """Compute the results of the operations that have an evaluation."""
    arrays: dict[Value, ndarray] = {}

    def read(value: Value) -> ndarray | None:
        return arrays[value] if value in arrays else elements_of(value)

    for op in operations:
        operands = known_operands(op, read) if find_evaluation(op.name) is not None else None
        results = None if operands is None else compute(op, operands)
        if results is not None:
            arrays.update(zip(op.results, results, strict=True))
    return arrays


def _replace(value: Value, array: ndarray) -> None:
    op = value.owner.operation
    with op.location, ir.InsertionPoint(op):
        elements = make_elements(array, value.type)
    assert elements is not None, op
    value.replace_all_uses_with(elements.results[0])
