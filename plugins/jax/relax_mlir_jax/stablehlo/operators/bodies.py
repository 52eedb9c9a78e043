# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions of reductions, windows, scatters and sorts: known combiners, or the body itself on whole tensors.

A body is written for scalars. Every operation that it may contain is elementwise, so the body is also built on tensors.
"""

from __future__ import annotations

from relax_mlir.bindings.ir import Block
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.emit.conversions import limits
from relax_mlir.frontends.core.values import ComplexValue, Held, Value

#: Reductions of relax by the operation of two arguments that combines elements.
_COMBINED = {
    "stablehlo.add": "sum",
    "stablehlo.multiply": "prod",
    "stablehlo.maximum": "max",
    "stablehlo.minimum": "min",
    "stablehlo.and": "all",
    "stablehlo.or": "any",
}


def combined(body: Block, index: int = 0, count: int = 1) -> str:
    """Return the combiner of result #index of `count`: `sum`, `max` and so on, or "" if it is not known.

    The result must be a commutative operation of its two arguments. It is `update` if the result is the second
    argument.
    """
    operations = [view.operation for view in body.operations]
    arguments = [body.arguments[index], body.arguments[count + index]]
    if (value := operations[-1].operands[index]) == arguments[1]:
        return "update"
    made = next(
        (operation for operation in operations[:-1] if len(operation.results) == 1 and operation.results[0] == value),
        None,
    )
    if made is None or set(made.operands) != set(arguments) or len(made.operands) != 2:
        return ""
    kind = _COMBINED.get(made.name, "")
    is_truth = str(arguments[0].type.element_type) == "i1"
    if kind in ("all", "any") and not is_truth:
        return ""
    return {"sum": "any", "prod": "all", "max": "any", "min": "all"}.get(kind, kind) if is_truth else kind


def neutral(kind: str, dtype: str) -> float | int:
    """Return the identity element of a combiner."""
    if kind in ("sum", "any"):
        return 0
    if kind in ("prod", "all"):
        return 1
    if is_float(dtype):
        return float("-inf") if kind == "max" else float("inf")
    low, high = limits(dtype)
    return low if kind == "max" else high


def is_neutral(kind: str, initial: Held) -> bool:
    """Check whether an initial value is known to be the identity element."""
    if isinstance(initial, ComplexValue):
        return is_neutral(kind, initial.real) and initial.imag.array is not None and not initial.imag.array.any()
    if not isinstance(initial, Value) or initial.array is None:
        return False
    return bool(initial.array.ravel()[0] == neutral(kind, initial.dtype))
