# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Classification of operations on memory: work for many threads, reads and writes."""

from __future__ import annotations

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import callee_of, functions_in, has_body, operations_in, outermost, symbol_name
from ...dialects.core.ir_attributes import PARALLEL

READS = frozenset({"memref.load", "vector.load", "vector.transfer_read"})
WRITES = frozenset(
    "memref.store memref.copy vector.store vector.transfer_write memref.atomic_rmw memref.generic_atomic_rmw".split()
)
#: Cost of a 32-bit function, and the math operations that take one or two instructions.
FUNCTION = 32
_SHORT = frozenset(
    f"math.{name}" for name in "absf absi ceil copysign ctpop floor fma roundeven rsqrt sqrt trunc".split()
)


def is_structured(op: Operation) -> bool:
    return op.name.startswith("linalg.")


def is_shared(op: Operation) -> bool:
    """Check whether threads may share a loop's steps."""
    return op.name == "scf.for" and PARALLEL in op.attributes and not len(op.results)


def is_work(op: Operation) -> bool:
    return is_structured(op) or is_shared(op)


def has_work(op: Operation) -> bool:
    """Check whether an operation contains work that a block's threads share."""
    return any(is_work(operation) for operation in operations_in(op, is_work))


def touches(op: Operation) -> bool:
    """Check whether an operation, or one nested in it, accesses memory."""
    inside = (op, *operations_in(op)) if op.regions else (op,)
    return any(is_work(operation) or operation.name in READS or operation.name in WRITES for operation in inside)


def is_for_host(op: Operation) -> bool:
    """Check whether host code runs a loop or a branch.

    It does if only kernels access memory there, or if the body calls host functions.
    """
    others = [operation for operation in operations_in(op, is_work) if not is_work(operation)]
    return any(map(_calls_host, others)) or not any(each.name in READS or each.name in WRITES for each in others)


def _calls_host(op: Operation) -> bool:
    """Check whether an operation calls a host function, defined in the program or registered."""
    if op.name in ("tir.packed", "tir.call_packed"):
        return True
    if op.name != "func.call":
        return False
    name = callee_of(op)
    return any(has_body(function) for function in functions_in(outermost(op)) if symbol_name(function) == name)


def is_in_order(op: Operation) -> bool:
    """Check whether an operation accesses memory in program order, directly or in a loop or a branch."""
    if not op.regions:
        return op.name in READS or (op.name in WRITES and op.name != "memref.copy")
    return not is_work(op) and touches(op) and not is_for_host(op)


def is_scalar(op: Operation) -> bool:
    """Check whether an operation computes scalars from scalars."""
    return op.name.partition(".")[0] in ("arith", "math", "index") or op.name == "affine.apply"


def code_of(op: Operation) -> int:
    """Estimate the number of instructions of an operation."""
    if not op.name.startswith("math.") or op.name in _SHORT:
        return 1
    return FUNCTION * (op.results[0].type.width if isinstance(op.results[0].type, ir.FloatType) else 32) // 32
