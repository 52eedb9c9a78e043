# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of the arith dialect in C: integers.py, floats.py, conversions.py, and here the rules for all types."""

from __future__ import annotations

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.support.errors import RefusalError

from . import conversions, floats, integers
from .expressions import Expression
from .integers import both, chosen, either, is_bool, negation
from .types import attribute_literal
from .writer import FunctionWriter, Rule


def _constant(writer: FunctionWriter, op: Operation) -> None:
    writer.know(op.results[0], attribute_literal(op.attributes["value"]))


def _select(writer: FunctionWriter, op: Operation) -> None:
    result = op.results[0]
    if isinstance(result.type, ir.MemRefType):
        raise RefusalError("it selects between buffers")
    taken = writer.all(list(op.operands))
    writer.define(result, _chosen_bool(*taken) if is_bool(result.type) else chosen(*taken))


def _chosen_bool(condition: Expression, yes: Expression, no: Expression) -> Expression:
    if no.text in ("true", "false"):
        return both(condition, yes) if no.text == "false" else either(negation(condition), yes)
    if yes.text in ("true", "false"):
        return either(condition, no) if yes.text == "true" else both(negation(condition), no)
    return chosen(condition, yes, no)


RULES: dict[str, Rule] = {
    **integers.RULES,
    **floats.RULES,
    **conversions.RULES,
    "arith.constant": _constant,
    "arith.select": _select,
}
