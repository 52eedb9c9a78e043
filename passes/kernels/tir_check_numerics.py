# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check that floating-point results do not depend on the machine.

The check knows operations that leave a choice to LLVM or to the C library. It does not compare results: relax-check
--same-bits does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from ...bindings.diagnostics import Diagnostic, error_at
from ...bindings.ir import Operation
from ...bindings.mlir import ir, string_value
from ...bindings.navigation import operations_in, outermost, symbol_name
from ...bindings.rewriting import Decline
from ...dialects.core.ir_attributes import NUMERICS, ORDER, SCHEDULE
from ...dialects.tir.prim_func import prim_funcs_in
from ...emit.structured import analyze, structured_ops
from ...support.errors import RefusalError
from ..core.base import Pass
from ..core.registry import register_pass
from .schedule.reduction_order import depends_on_order
from .schedule.vector_body import check_body

#: Flags by which LLVM may compute other bits, and what each allows. nnan, ninf and nsz do not change finite results.
_FLAGS = {
    "fast": "any change of the computation",
    "reassoc": "another order of sums",
    "contract": "fused multiply-adds",
    "afn": "approximate functions",
    "arcp": "multiplication by reciprocals",
}
_FLAG_ATTRIBUTES = ("fastmath", "fastmathFlags")
#: Reductions of a vector, with the attribute that has the operator. A contraction adds.
_VECTOR_REDUCTIONS = ("vector.reduction", "vector.multi_reduction", "vector.contract")
_ORDERED_KINDS = ("add", "mul")
_LLVM_REDUCTION = re.compile(r"llvm\.intr\.vector\.reduce\.(fadd|fmul)")
_ATOMICS = ("memref.atomic_rmw", "affine.atomic_rmw", "memref.generic_atomic_rmw", "llvm.atomicrmw")
#: Functions of the C library that are not rounded exactly, so that versions of the library differ.
_TRANSCENDENTAL = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp exp10 exp2 expm1 hypot lgamma log log10 log1p "
    "log2 pow sin sincos sinh tan tanh tgamma j0 j1 y0 y1".split()
)
#: Operations of the dialect math with a name of their own, and LLVM's intrinsics.
_OF_DIALECTS = {"powf": "pow", "fpowi": "powi", "ipowi": "", "rsqrt": "", "powi": "powi"}
_CALLS = ("func.call", "llvm.call")


@register_pass
@dataclass(frozen=True)
class CheckNumerics(Pass):
    """Report operations with floating-point results that depend on the CPU, on LLVM or on the C library."""

    name: ClassVar[str] = "tir-check-numerics"
    anchor: ClassVar[str] = "builtin.module"

    #: True after llvm-order-reductions and before tir-apply-plan: reductions have to state tir.order.
    orders: bool = False
    #: True after llvm-fuse-multiply-add: the flag contract is an error.
    contraction: bool = True

    def run(self, op: Operation) -> None:
        if diagnostics := list(violations(op, orders=self.orders, contraction=self.contraction)):
            raise RefusalError(diagnostics[0].message, location=diagnostics[0].place, diagnostics=diagnostics)


def violations(op: Operation, *, orders: bool, contraction: bool) -> Iterator[Diagnostic]:
    """Yield an error for each operation with results that depend on the machine."""
    for operation in operations_in(op):
        for problem in _problems(operation, contraction):
            yield error_at(operation.location, f"{operation.name}: {problem}")
    if orders:
        yield from _yield_unordered(op)


def _problems(op: Operation, contraction: bool) -> Iterator[str]:
    for flag in () if _is_extremum(op) else _flags(op):
        if flag != "contract" or contraction:
            yield f"the flag {flag} allows {_FLAGS[flag]}"
    if _is_free_reduction(op):
        yield "the order of its sums or products depends on the length of the vectors"
    if op.name in _ATOMICS and _is_float_atomic(op):
        yield "atomic additions of floats follow the order of the threads"
    if function := _library_function(op):
        yield f"it calls the C library's {function}"


def _is_extremum(op: Operation) -> bool:
    """Check for the largest or smallest lane of a vector, which does not depend on the order."""
    if op.name == "vector.reduction":
        return "max" in str(op.attributes["kind"]) or "min" in str(op.attributes["kind"])
    return re.fullmatch(r"llvm\.intr\.vector\.reduce\.f(max|min)(imum)?", op.name) is not None


def _flags(op: Operation) -> Iterator[str]:
    for name in _FLAG_ATTRIBUTES:
        if name in op.attributes:
            words = re.findall(r"\w+", str(op.attributes[name]).partition("<")[2])
            yield from (word for word in words if word in _FLAGS)


def _is_free_reduction(op: Operation) -> bool:
    if _LLVM_REDUCTION.fullmatch(op.name):
        return False  # Without the flag reassoc, LLVM adds the lanes one after the other.
    if op.name not in _VECTOR_REDUCTIONS or not _has_floats(op.results[0].type):
        return False
    kind = str(op.attributes["kind"]) if "kind" in op.attributes else "add"
    return any(f"<{ordered_kind}>" in kind or kind == ordered_kind for ordered_kind in _ORDERED_KINDS)


def _has_floats(type_: object) -> bool:
    return isinstance(getattr(type_, "element_type", type_), ir.FloatType)


def _is_float_atomic(op: Operation) -> bool:
    """Check for an atomic sum or product of floats. Maxima do not depend on the order."""
    if op.name == "memref.generic_atomic_rmw":
        return any(operation.name in ("arith.addf", "arith.mulf", "arith.subf") for operation in operations_in(op))
    kind = str(op.attributes["kind" if "kind" in op.attributes else "bin_op"])
    is_number = re.fullmatch(r"\d+ : \w+", kind) is not None
    added = ("0", "7") if op.name == "memref.atomic_rmw" else ("11", "12")
    return _has_floats(op.results[0].type) and (
        kind.partition(" ")[0] in added if is_number else any(name in kind for name in ("addf", "fadd", "mulf", "fsub"))
    )


def _library_function(op: Operation) -> str:
    """Return the function of the C library that an operation becomes, or ""."""
    if op.name in _CALLS and "callee" in op.attributes:
        callee = str(op.attributes["callee"]).removeprefix("@").strip('"')
        return next((each for each in (callee, callee.removesuffix("f")) if each in _TRANSCENDENTAL), "")
    dialect, _, name = op.name.rpartition(".")
    if dialect not in ("math", "llvm.intr"):
        return ""
    function = _OF_DIALECTS.get(name, name)
    return function if function in _TRANSCENDENTAL or function == "powi" else ""


def _yield_unordered(module: Operation) -> Iterator[Diagnostic]:
    """Yield an error for each reduction that depends on its order and states none."""
    root = outermost(module)
    if NUMERICS not in root.attributes:
        return
    kept, *free = map(string_value, root.attributes[NUMERICS])
    for function in prim_funcs_in(module) if kept == "same" else ():
        if SCHEDULE in function.attributes or symbol_name(function) in free:
            continue
        for operation in structured_ops(function):
            with suppress(Decline):
                op = analyze(operation)
                check_body(op)
                if depends_on_order(op) and ORDER not in operation.attributes:
                    problem = f"{operation.name}: a reduction of floats does not state {ORDER}"
                    yield error_at(operation.location, problem)
