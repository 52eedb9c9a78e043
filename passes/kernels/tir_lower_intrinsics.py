# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering of intrinsics in tensor programs, by the rules registered for a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...bindings.conversion import Conversion, ConversionRewriter, Decline, PatternFunction
from ...bindings.ir import Operation, OpView, Type, Value
from ...bindings.mlir import ir, is_several
from ...bindings.navigation import functions_in, operations_in, text_in
from ...bindings.rewriting import blaming_at, made_again
from ...dialects.core.dialect import registered_dialects
from ...dialects.core.ir_attributes import TIR_TARGET
from ...emit.arithmetic import element_type, with_element
from ...emit.conversions import to_float
from ...emit.numbers import Number
from ...emit.small_floats import SMALL_FLOATS
from ...targets.core.registry import legal_operators, parse_target
from ..core.base import Pass
from ..core.registry import register_pass
from .intrinsics.registry import IntrinsicRule, intrinsic_rule_finder, is_intrinsic

_NARROW = frozenset(("f16", "bf16", *SMALL_FLOATS))


@register_pass
@dataclass(frozen=True)
class LowerIntrinsics(Pass):
    """Lower the intrinsics in tensor programs for a target."""

    name: ClassVar[str] = "tir-lower-intrinsics"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "math", "memref", "scf", "vector")

    #: Target that provides the rules, with its options.
    target: str = "llvm"
    #: Try rules first that trade exactness for speed.
    fast_math: bool = False

    def __post_init__(self) -> None:
        parse_target(self.target)

    @property
    def _target_name(self) -> str:
        return parse_target(self.target).name

    def run(self, op: Operation) -> None:
        elsewhere: dict[str, list[Operation]] = {}
        for function in filter(self._is_elsewhere, functions_in(op)):
            elsewhere.setdefault(text_in(function, TIR_TARGET), []).append(function)
        own = set(registered_dialects()) - {"relax", "tir"}
        names = sorted({operation.name for operation in operations_in(op)}) if own else []
        needed = [name for name in names if name.partition(".")[0] in own]
        here = self._conversion(self._target_name, needed)
        if elsewhere:
            here.leave_alone(self._is_elsewhere)
        here.run(op)
        for target, functions in elsewhere.items():
            conversion = self._conversion(target, needed)
            for function in functions:
                conversion.run(function)

    def lower(self, function: Operation) -> None:
        """Lower the intrinsics of one function."""
        self._conversion(text_in(function, TIR_TARGET, self._target_name), ()).run(function)

    def _is_elsewhere(self, operation: Operation) -> bool:
        name = self._target_name
        return operation.name == "func.func" and text_in(operation, TIR_TARGET, name) != name

    def _conversion(self, target: str, needed: Sequence[str]) -> Conversion:
        """Return the conversion by the rules of a target, including rules for the needed intrinsics of packages."""
        conversion = Conversion(
            f"{self.name} for {target}", advice='@rx.rules.register_lower_intrinsic("{}") registers one'
        )
        # These casts between unsigned types and arith's types keep the bits.
        conversion.legal("builtin.unrealized_conversion_cast")
        find_rules = intrinsic_rule_finder(target, needed, fast_math=self.fast_math)
        packages = set(registered_dialects()) - {"relax", "tir"}
        conversion.legal_if(lambda op: not is_intrinsic(op), *packages)
        conversion.legal(*legal_operators(target))
        own = registered_dialects()["tir"].ops

        # The conversion is an argument: a closure over it would be a cycle, which only the collector ends.
        def announce(conversion: Conversion, name: str) -> None:
            rules, row = find_rules(name), own.get(name.removeprefix("tir.")) if name.startswith("tir.") else None
            for position, rule in enumerate(rules):
                conversion.add(name, _as_pattern(rule), priority=-position, name=rule.label)
            # A call or an assertion is not an intrinsic. It stays, unless the target has a rule for it.
            if row.role if row is not None else not rules:
                return
            conversion.illegal(name)
            if rules:
                conversion.add(name, _compute_in_f32, priority=-len(rules), name="through f32")

        conversion.when_met(announce)
        return conversion


def _as_pattern(rule: IntrinsicRule) -> PatternFunction:
    def apply(op: OpView, operands: list[Value], rewriter: ConversionRewriter) -> object:
        dtype = _first_dtype(op)
        if rule.dtypes and dtype not in rule.dtypes:
            return Decline(f"the rule is for {', '.join(rule.dtypes)}, not for {dtype}")
        made_before = _count_made()
        with blaming_at(lambda: f"the rule {rule.label} of '{rule.op}'", rule.function, op, Decline):
            outcome = rule.function(op)
        if outcome is not None:
            return _unwrap(outcome)
        if not len(op.operation.results) and _count_made() > made_before:
            return ()
        return Decline("the rule gave no reason")

    return apply


def _first_dtype(op: OpView) -> str:
    operands = op.operation.operands
    return str(element_type(operands[0].type)) if len(operands) else ""


def _count_made() -> int:
    """Return the number of operations in the block that the rule's new operations go to."""
    return len(ir.InsertionPoint.current.block.operations)


def _unwrap(outcome: object) -> Any:
    if is_several(outcome):
        return [_unwrap(item) for item in outcome]
    return outcome.value if isinstance(outcome, Number) else outcome


def _compute_in_f32(op: OpView, operands: list[Value], rewriter: ConversionRewriter) -> list[Value] | Decline:
    """Compute an intrinsic in f32 and round the result once. Used for narrow types that no rule takes."""
    operation = op.operation
    if _first_dtype(op) not in _NARROW:
        return Decline("only floats of at most 16 bits are widened")
    f32 = ir.F32Type.get()
    wide = [(to_float(Number(value), "f32").value if _is_narrow(value.type) else value) for value in operation.operands]
    types = [with_element(type_, f32) if _is_narrow(type_) else type_ for type_ in operation.results.types]
    made = made_again(operation, wide, types)
    return [
        to_float(Number(result), str(element_type(type_))).value if _is_narrow(type_) else result
        for result, type_ in zip(made.results, operation.results.types, strict=True)
    ]


def _is_narrow(type_: Type) -> bool:
    return str(element_type(type_)) in _NARROW
