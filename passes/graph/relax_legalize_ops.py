# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Legalization of relax operators to calls of PrimFuncs, by rules that packages register per operator and target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from ...bindings.conversion import Conversion, ConversionRewriter, PatternFunction
from ...bindings.ir import Operation, OpView, Value
from ...bindings.mlir import ir
from ...bindings.navigation import operations_in
from ...bindings.rewriting import Decline, blaming_at
from ...dialects.core.dialect import find_op, has_role, registered_dialects, row_of
from ...dialects.core.ir_attributes import RELAX_TARGET
from ...dialects.tir.prim_func import is_prim_func
from ...emit.parallel import steps_apart
from ...support.errors import RelaxError
from ...support.plugins import plugin_problems
from ...targets.core.backend import ChosenTarget
from ...targets.core.registry import legal_operators, parse_target, rules_chain
from ..core.base import Pass
from ..core.journal import Journal
from ..core.options import PYTHON_ONLY
from ..core.registry import register_pass
from ..legalize.call import LegalizeCall, PrimFuncs
from ..legalize.known_sizes import with_known_sizes
from ..legalize.regions import roots_by_target
from ..legalize.remembered import Remembered
from ..legalize.rules import Rule, RuleFunction, rule_finder, rule_of

if TYPE_CHECKING:
    from ..legalize.rule_notes import LegalizationNotes


@register_pass
@dataclass(frozen=True)
class LegalizeOps(Pass):
    """Lower relax operators to calls of PrimFuncs by the rules of the target, its parents and the default target."""

    name: ClassVar[str] = "relax-legalize-ops"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func", "arith", "linalg", "tensor", "math", "scf", "vector")

    #: Target with its options, which describe the machine: cuda{arch=sm_90a}.
    target: str = "default"
    #: Operators that stay unchanged.
    skip_ops: tuple[str, ...] = ()
    #: Treatment of operators without a rule: an error with all names, or leave them unchanged.
    unknown: Literal["error", "leave"] = "error"
    #: Rules of this run, which come before the target's rules: operator -> rule.
    customize_legalize_map: Mapping[str, RuleFunction] = field(default_factory=dict, metadata={PYTHON_ONLY: True})

    def __post_init__(self) -> None:
        parse_target(self.target)
        for name in (*self.skip_ops, *self.customize_legalize_map):
            find_op(name)

    def run(self, op: Operation) -> None:
        operations = operations_in(op, _is_opaque)
        chosen = parse_target(self.target)
        by_target = roots_by_target(op, operations, chosen.name, _is_opaque)
        journal, prim_funcs = Journal.active(), PrimFuncs(op)
        notes = None if journal is None else _notes(journal, op)
        is_one = sum(map(len, by_target.values())) == 1
        for target, roots in by_target.items():
            is_own = target == chosen.name
            own = prim_funcs if is_own else PrimFuncs(op, target, prim_funcs)
            known = {*legal_operators(target), *self.skip_ops, *self.customize_legalize_map}
            rows = map(row_of, {op.name: op for op in operations if op.name not in known}.values())
            needed = [row.full_name for row in rows if row is not None and not row.role and row.dialect.name != "tir"]
            conversion = self._conversion(chosen if is_own else ChosenTarget(target), own, notes, needed)
            conversion.leave_alone(_is_opaque if is_one else _is_elsewhere)
            with steps_apart(any(each.many_threads for each in rules_chain(target))):
                for root in roots:
                    conversion.run(root, operations if is_one else None)

    def _conversion(
        self, chosen: ChosenTarget, prim_funcs: PrimFuncs, notes: LegalizationNotes | None, needed: Sequence[str]
    ) -> Conversion:
        """Return the conversion by the rules of a target."""
        target = chosen.name
        find_rules = rule_finder(target, needed)
        conversion = Conversion(
            f"legalization for target '{target}'", advice=_advice('@rx.rules.register_legalize("{}") registers one')
        )
        if self.unknown == "error":
            conversion.illegal("relax")
            conversion.legal_if(_has_no_tensor, *(set(registered_dialects()) - {"relax", "tir"}))
        legal = {*legal_operators(target), *self.skip_ops}
        remembered = Remembered(notes)
        conversion.shortcut = remembered.again

        # The conversion is an argument: a closure over it would be a cycle, which only the collector ends.
        def announce(conversion: Conversion, name: str) -> None:
            rules = [*self._own_rules(name), *find_rules(name)]
            remembered.watch(name, rules)
            if name in legal or has_role(name):
                # An operator with a role crosses levels already, or belongs to the graph level.
                conversion.legal(name)
            elif rules and self.unknown == "error":
                conversion.illegal(name)
            for position, rule in enumerate(rules):
                pattern = _pattern(rule, chosen, prim_funcs, notes, remembered)
                conversion.add(name, pattern, priority=len(rules) - position, name=rule.label)

        conversion.when_met(announce)
        return conversion

    def _own_rules(self, name: str) -> list[Rule]:
        """Return the rule that this run has for an operator, if it has one."""
        if (function := self.customize_legalize_map.get(name)) is None:
            return []
        return [Rule(name, "this run", rule_of(function), getattr(function, "__module__", ""))]


def _advice(text: str) -> str:
    """Return the advice, followed by the modules with rules that could not be imported."""
    return "; ".join([text, *(problem.replace("{", "{{").replace("}", "}}") for problem in plugin_problems())])


def _has_no_tensor(op: OpView) -> bool:
    """Check whether an operation of a package's own dialect is an intrinsic, without tensors: no graph operator."""
    values = [*op.operation.operands, *op.operation.results]
    return not any(isinstance(value.type, (ir.RankedTensorType, ir.UnrankedTensorType)) for value in values)


def _notes(journal: Journal, op: Operation) -> LegalizationNotes:
    from ..legalize.rule_notes import (
        LegalizationNotes,  # importing it takes time, and most compilations have no journal
    )

    return LegalizationNotes(journal, op, _is_opaque)


def _is_opaque(operation: Operation) -> bool:
    return is_prim_func(operation) or operation.name == "builtin.module"


def _is_elsewhere(operation: Operation) -> bool:
    return _is_opaque(operation) or (len(operation.regions) > 0 and RELAX_TARGET in operation.attributes)


def _pattern(
    rule: Rule, target: ChosenTarget, prim_funcs: PrimFuncs, notes: LegalizationNotes | None, remembered: Remembered
) -> PatternFunction:
    def legalize(op: OpView, operands: list[Value], _: ConversionRewriter) -> object:
        call = LegalizeCall(op, operands, prim_funcs, target)
        with blaming_at(lambda: f"the rule {rule.label} of '{rule.op}'", rule.function, op, Decline):
            values = with_known_sizes(rule.function, call)
        if values is None:
            raise RelaxError(f"the rule {rule.label} of '{rule.op}' returned nothing: return values, or raise Decline")
        if not isinstance(values, Decline):
            remembered.remember(op.operation, operands, rule, values, call.called)
            if notes is not None:
                notes.taken(op.operation, rule, call.called)
        return values

    legalize.__name__ = rule.function.__name__
    return legalize
