# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decomposition of operators into simpler ones, which other passes, targets and derivatives know better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from ...bindings.ir import Operation, OpView
from ...bindings.mlir import ir
from ...bindings.navigation import operations_in
from ...bindings.patterns import UPDATED, Outcome, Pattern, apply_greedy
from ...bindings.rewriting import Decline, located_error
from ...dialects.core.dialect import all_ops
from ...dialects.core.rules import RuleByTypes
from ...dialects.relax.values import stated
from ...support.errors import OptionError
from ...support.suggest import counted, suggest
from ..core.base import Pass
from ..core.registry import register_pass
from .decompose.registry import all_decompositions, decomposed

#: All operators that have a decomposition.
_ALL = "all"


@register_pass
@dataclass(frozen=True)
class DecomposeOps(Pass):
    """Decompose operators into simpler operators."""

    name: ClassVar[str] = "relax-decompose-ops"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: Names of operators, with or without `relax.`; "all": every operator with a decomposition.
    ops: tuple[str, ...] = ("nn.batch_norm", "nn.dropout")
    #: Mode of batch norms and dropout; stated: by their attributes. In training, dropout stays.
    mode: Literal["stated", "inference", "training"] = "stated"

    def run(self, op: Operation) -> None:
        if self._has_none_in(op):
            return
        wanted = self._select()
        patterns = [Pattern(tuple(wanted), lambda op, _: _decompose(wanted[op.OPERATION_NAME], op), name="decompose")]
        if self.mode != "stated":
            is_training = self.mode == "training"
            patterns.insert(0, Pattern("relax.nn.batch_norm", lambda view, _: _set_training(view, is_training)))
        if wanted:
            apply_greedy(op, patterns, max_iterations=_MOST_ROUNDS, what=self.name)

    def _has_none_in(self, op: Operation) -> bool:
        """Check whether the pass certainly has nothing to do. Only modules with work load the definitions."""
        names = [name if name.startswith("relax.") else f"relax.{name}" for name in self.ops]
        known = {row.full_name for row in all_ops()}
        return known.issuperset(names) and {operation.name for operation in operations_in(op)}.isdisjoint(names)

    def _select(self) -> Mapping[str, RuleByTypes]:
        known = {decomposition.op: decomposition for decomposition in all_decompositions()}
        full = (name if name in known or f"relax.{name}" not in known else f"relax.{name}" for name in self.ops)
        names = list(known if _ALL in self.ops else full)
        for name in names:
            if name not in known:
                raise OptionError(
                    f"pass '{self.name}': option 'ops': '{name}' has no decomposition{suggest(name, known)} "
                    f"(operators with one: {', '.join(known)})"
                )
        return {name: known[name] for name in names if self.mode != "training" or name != "relax.nn.dropout"}


_MOST_ROUNDS = 32


def _decompose(types: RuleByTypes, op: OpView) -> Outcome:
    try:
        values = decomposed(types, op)
    except Decline:
        return None
    results = list(op.operation.results)
    if len(values) != len(results):
        given = counted(len(values), "value")
        raise located_error(f"the decomposition of {types} gives {given} for {len(results)} results", op.location)
    return [stated(value, result.type) for value, result in zip(values, results, strict=True)]


def _set_training(op: OpView, is_training: bool) -> Outcome:
    if op.training == is_training:
        return None
    op.operation.attributes["training"] = ir.BoolAttr.get(is_training)
    return UPDATED
