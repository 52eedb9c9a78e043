# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant folding: computes operators on constants at compile time, so that no call does it again.

Quantized weights become the numbers that they stand for, transposed ones are stored as they are read. numpy does what
it does to the last bit as the program would; all the rest of a module becomes one program, which whoever runs programs
is asked for (passes/core/evaluating.py): operators are implemented once, those of other packages included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from ..bindings.ir import Operation, Type, Value
from ..bindings.mlir import ir
from ..bindings.rewriting import is_used
from ..dialects.core.dialect import all_ops
from ..dialects.relax.known_constants import STORAGE_NAME, elements_of, make_elements
from ..support.errors import OptionError
from .core.base import Pass
from .core.evaluating import Evaluator, evaluator
from .core.registry import register_pass
from .evaluate.operations import compute, known_operands
from .evaluate.registry import find_evaluation
from .fold.constant_graph import CALL_TIR, ConstantGraph, FoldLimits
from .fold.constant_program import Functions, run_program
from .legalize.rules import rules_by_op
from .quantization.kept import is_of_quantized_model

if TYPE_CHECKING:
    from numpy import ndarray

_MEBIBYTE = 1 << 20
# What could not be computed leaves its operands to be looked at anew.
_MOST_ROUNDS = 4


@register_pass
@dataclass(frozen=True)
class FoldConstant(Pass):
    """Computes what depends on constants alone, unless it has many more elements than they."""

    name: ClassVar[str] = "relax-fold-constant"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: By how many mebibytes constants may grow in all: the numbers that four bits stand for take eight times as many.
    most_growth: int = 512
    #: A result has fewer than this many times the elements of its constants: to spread few is faster than to read many.
    most_spread: float = 2.0
    #: Up to how many elements a result may have, whatever it is made of.
    small: int = 64
    #: Whether what numpy does not know is compiled and run.
    compiled: bool = True
    #: Operators that are left as they are.
    keep: tuple[str, ...] = ()
    #: Whether dequantized constants are left as they are, but weights of products of real numbers.
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
        wanted = graph.worth_keeping()
        arrays = _evaluated(graph.needed_for(wanted, ()))
        missing = [value for value in wanted if value not in arrays]
        if missing and self._evaluator is not None:
            arrays |= run_program(graph, self._functions, missing, arrays, self._evaluator)
        failed = [value for value in wanted if value not in arrays]
        for value in wanted:
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
        """The operators that the evaluator can compute."""
        if self._evaluator is None:
            return set()
        known = {row.full_name for row in all_ops() if row.role == "shape" or row.is_plain_view}
        return known.union(rules_by_op(self._evaluator.target))


def _can_be_kept(type_: Type) -> bool:
    """Whether there are constants of a type, where it is a tensor's."""
    return not isinstance(type_, ir.RankedTensorType) or str(type_.element_type) in STORAGE_NAME


def _evaluated(operations: Sequence[Operation]) -> dict[Value, ndarray]:
    """The results of those that have an evaluation, where it can tell them."""
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
        made = make_elements(array, value.type)
    assert made is not None, op
    value.replace_all_uses_with(made.results[0])
