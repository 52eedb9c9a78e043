# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Canonicalization of element type conversions, and of shape checks that are already proven."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Operation, OpView, Type, Value
from ....bindings.navigation import use_count
from ....bindings.patterns import UPDATED, Outcome, Pattern, Rewriter, defining_op
from ....bindings.rewriting import is_used, made_again
from ....dialects.core.codec import decode, encode
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import Info, ShapeInfo, TensorInfo, bit_width, is_float, is_int, is_unsigned
from ....dialects.core.opdef import OpDef
from ....dialects.core.symbols import Dim, equal
from ....dialects.core.verifier import call_of
from ....dialects.relax.values import dtype_of, is_valid, make
from ...patterns.matched import Match
from ...patterns.operator_patterns import is_op
from .rules import X, rule

# Bits of the significand and of the exponent.
_FLOAT_BITS = {"f16": (11, 5), "bf16": (8, 8), "f32": (24, 8), "f64": (53, 11)}


def merge_conversions(match: Match) -> Operation | None:
    """Merge two conversions if the first one keeps every value."""
    op = match.op()
    if not _keeps_values(dtype_of(match[X]), dtype_of(op.x)):
        return None
    return make(op, "relax.astype", [match[X]], {"dtype": op.operation.attributes["dtype"]})


def _keeps_values(source: str, target: str) -> bool:
    """Check whether each value of one element type exists in the other."""
    if source == target or source == "i1":
        return True
    if is_float(source):
        bits, wider = _FLOAT_BITS.get(source), _FLOAT_BITS.get(target)
        return bits is not None and wider is not None and bits[0] <= wider[0] and bits[1] <= wider[1]
    if not is_int(source) or "index" in (source, target):
        return False
    if target in _FLOAT_BITS:
        # Integers up to the significand's bits are exact. Only f16 lacks the exponent range for larger ones.
        return bit_width(source) <= _FLOAT_BITS[target][0]
    if not is_int(target) or is_unsigned(target) and not is_unsigned(source):
        return False
    spare = 1 if is_unsigned(source) and not is_unsigned(target) else 0
    return bit_width(source) + spare <= bit_width(target)


def remove_match_cast(op: OpView, rewriter: Rewriter) -> Outcome:
    """Remove a check that cannot fail: to the value's own type, or to a less precise type with an unused result."""
    if op.value.type == op.operation.results[0].type:
        return op.value
    return () if not is_used(op.operation) and _is_proven(op) else None


def state_what_is_inferred(op: OpView, rewriter: Rewriter) -> Operation | None:
    """Let the operator state the type that a check on its result asks for, if inference proves the type."""
    maker, target = defining_op(op.value), op.operation.results[0].type
    row = row_of(maker) if maker is not None else None
    if maker is None or row is None or row.infer is None or not row.pure or len(maker.operation.results) != 1:
        return None
    if use_count(op.value) != 1:
        return None
    operation = made_again(maker.operation, list(maker.operation.operands), [target])
    return operation if is_valid(operation) and _infer_type(row, operation) == target else None


def _infer_type(row: OpDef, operation: Operation) -> Type | None:
    return encode(row.infer_results(call_of(row, operation))[0], operation.context)


def pass_by_match_cast(op: OpView, rewriter: Rewriter) -> Outcome:
    """Let relax operations use the value from before a cast to a less precise type.

    Their results keep the stated types.
    """
    if not _is_proven(op):
        return None
    uses = [(use.owner.operation, use.operand_number) for use in op.operation.results[0].uses]
    passed = [_take_source(operation, index, op.value) for operation, index in uses]
    return UPDATED if any(passed) else None


def _take_source(operation: Operation, index: int, source: Value) -> bool:
    definition = row_of(operation)
    # Stated result types of calls are promises of the callee about its operands' present types.
    if definition is None or definition.infer is None:
        return False
    operand = operation.operands[index]
    operation.operands[index] = source
    if is_valid(operation):
        return True
    operation.operands[index] = operand
    return False


def _is_proven(op: OpView) -> bool:
    """Check whether the cast's type follows from the value's type."""
    source, target = decode(op.value.type), decode(op.operation.results[0].type)
    if type(source) is not type(target) or not isinstance(target, (TensorInfo, ShapeInfo)):
        return False
    return _says_no_more(_sizes(target), _sizes(source))


def _sizes(info: Info) -> Sequence[Dim] | None:
    return info.shape if isinstance(info, TensorInfo) else info.dims if isinstance(info, ShapeInfo) else None


def _says_no_more(target: Sequence[Dim] | None, source: Sequence[Dim] | None) -> bool:
    if target is None or source is None:
        return target is None
    return all(size is None or equal(known, size) is True for size, known in zip(target, source, strict=True))


_astype = is_op("relax.astype")

PATTERNS = (
    rule(_astype(X), X, name="convert_to_same"),
    rule(is_op("relax.bitcast")(X), X, name="bits_of_same"),
    rule(_astype(_astype(X)), merge_conversions),
    Pattern("relax.match_cast", remove_match_cast),
    Pattern("relax.match_cast", state_what_is_inferred),
    Pattern("relax.match_cast", pass_by_match_cast),
)
