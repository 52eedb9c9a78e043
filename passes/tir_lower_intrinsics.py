# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says the intrinsics of tensor programs in what a target has, by the rules registered for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ..bindings.conversion import Conversion, ConversionRewriter, Decline
from ..bindings.mlir import ir
from ..dialects.core.dialect import registered_dialects
from ..emit.numbers import Number, element_type, to_float, with_element
from ..emit.small_floats import SMALL_FLOATS
from ..targets.core.registry import find_target, legal_operators
from .core.base import Pass
from .core.registry import register_pass
from .intrinsics.registry import IntrinsicRule, intrinsic_rules_by_op

# Calls and assertions are no intrinsics: they stay, unless the target has a rule for them.
_CALLS = frozenset({"tir.assert", "tir.call_extern", "tir.call_pure_extern", "tir.call_packed"})
_NARROW = frozenset(("f16", "bf16", *SMALL_FLOATS))


@register_pass
@dataclass(frozen=True)
class LowerIntrinsics(Pass):
    """Lowers the intrinsics in tensor programs for a target."""

    name: ClassVar[str] = "tir-lower-intrinsics"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "math", "memref", "scf", "vector")

    target: str = "llvm"
    fast_math: bool = False

    def __post_init__(self) -> None:
        find_target(self.target)

    def run(self, op: Any) -> None:
        conversion = Conversion(
            f"{self.name} for {self.target}", advice='@rx.register_lower_intrinsic("{}") registers one'
        )
        # Between unsigned types and arith's, where the bits stay.
        conversion.legal("builtin.unrealized_conversion_cast")
        rules_of = intrinsic_rules_by_op(self.target, fast_math=self.fast_math)
        packages = set(registered_dialects()) - {"relax", "tir"}
        conversion.legal_if(_is_no_intrinsic, *packages)
        conversion.legal(*legal_operators(self.target))
        own = [definition.full_name for definition in registered_dialects()["tir"].ops.values()]
        for name in sorted({*rules_of, *own}):
            rules = rules_of.get(name, [])
            for position, rule in enumerate(rules):
                conversion.add(name, _as_pattern(rule), priority=-position, name=rule.label)
            if name in _CALLS:
                continue
            conversion.illegal(name)
            if rules:
                conversion.add(name, _through_f32, priority=-len(rules), name="through f32")
        conversion.run(op)


def _is_no_intrinsic(op: Any) -> bool:
    """Operators of packages' own dialects are intrinsics where they take and give scalars and vectors alone."""
    values = [*op.operation.operands, *op.operation.results]
    return any(isinstance(value.type, ir.ShapedType) and not isinstance(value.type, ir.VectorType) for value in values)


def _as_pattern(rule: IntrinsicRule) -> Callable[[Any, list[Any], ConversionRewriter], Any]:
    def apply(op: Any, operands: list[Any], rewriter: ConversionRewriter) -> Any:
        dtype = _first_dtype(op)
        if rule.dtypes and dtype not in rule.dtypes:
            return Decline(f"it is for {', '.join(rule.dtypes)}, not for {dtype}")
        made_before = _count_made()
        outcome = rule.function(op)
        if outcome is not None:
            return _unwrapped(outcome)
        if not len(op.operation.results) and _count_made() > made_before:
            return ()
        return Decline("it gave no reason")

    return apply


def _first_dtype(op: Any) -> str:
    operands = op.operation.operands
    return str(element_type(operands[0].type)) if len(operands) else ""


def _count_made() -> int:
    """How many operations there are where a rule makes its own."""
    return len(ir.InsertionPoint.current.block.operations)


def _unwrapped(outcome: Any) -> Any:
    if isinstance(outcome, Number):
        return outcome.value
    if isinstance(outcome, (list, tuple)):
        return [item.value if isinstance(item, Number) else item for item in outcome]
    return outcome


def _through_f32(op: Any, operands: list[Any], rewriter: ConversionRewriter) -> Any:
    """The same intrinsic on f32, rounded once in the end: what no rule takes in a narrow type."""
    operation = op.operation
    if _first_dtype(op) not in _NARROW:
        return Decline("only floats of at most 16 bits are widened")
    f32 = ir.F32Type.get()
    wide = [_widened(value) for value in operation.operands]
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    types = [with_element(type_, f32) if _is_narrow(type_) else type_ for type_ in _types_of(operation.results)]
    made = ir.Operation.create(operation.name, results=types, operands=wide, attributes=attributes)
    return [
        to_float(Number(result), str(element_type(type_))).value if _is_narrow(type_) else result
        for result, type_ in zip(made.results, _types_of(operation.results), strict=True)
    ]


def _is_narrow(type_: Any) -> bool:
    return str(element_type(type_)) in _NARROW


def _widened(value: Any) -> Any:
    return to_float(Number(value), "f32").value if _is_narrow(value.type) else value


def _types_of(values: Any) -> list[Any]:
    return [value.type for value in values]
