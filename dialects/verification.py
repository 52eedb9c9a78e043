# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verification of whole modules: MLIR's checks, and checks of upstream's functions and this project's attributes."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from ..bindings.diagnostics import errors_as_relax_error, failure
from ..bindings.ir import Operation
from ..bindings.mlir import ir, is_not_utf8
from ..bindings.navigation import body_of, function_type_of, operations_in, operations_of, symbol_name
from ..support.errors import VerificationError
from .core.codec import TypeProblem, decode
from .core.ir_attributes import ON_ARGUMENTS, TABLE, attribute_problems
from .tir.prim_func import check_prim_funcs, functions_within

_MODULES = ("builtin.module", "gpu.module")


def verify_ir(operation: Operation, what: str) -> None:
    """Raise RelaxError, `what` with every diagnostic, if an operation or a function in it is invalid."""
    with operation.context, errors_as_relax_error(operation.context, what, VerificationError):
        if not operation.verify():
            raise ir.MLIRError("verification failed", [])
    if operation.name == "builtin.module":
        verify_functions(operation, what)


def verify_functions(module: Operation, what: str) -> None:
    """Raise RelaxError if a PrimFunc, a graph function or an attribute of a module is invalid."""
    with module.context, errors_as_relax_error(module.context, what, VerificationError):
        if not check_functions(module):
            raise ir.MLIRError("verification failed", [])


def check_functions(module: Operation) -> bool:
    """Report invalid functions and attributes of a module at their locations. Return True if there are none."""
    functions = list(functions_within(module.operation))
    valid = [_check_signature(function) & _check_arguments(function) for function in functions]
    valid += [_check_attributes(operation) for operation in _walk(module.operation) if _is_marked(operation)]
    return check_prim_funcs(module) and all(valid)


def verify_ended(operation: Operation, ended_by: str, *, everywhere: bool) -> None:
    """Raise RelaxError if attributes exist after the last pass that may leave them.

    With `everywhere` False, only modules and functions are searched, not the operations in functions: a walk through
    the whole module after each stage took 5 % of the lowering time.
    """
    if not (ended := _attributes_ended_by(ended_by)):
        return
    searched = _walk(operation) if everywhere else _parts(operation)
    what = f"pass {ended_by} left attributes that no later pass reads"
    with operation.context, errors_as_relax_error(operation.context, what, VerificationError) as found:
        for each in searched:
            if _is_marked(each):
                _report_ended(each, ended, ended_by)
    if found:
        raise failure(what, found, VerificationError)


@functools.cache
def _attributes_ended_by(pass_name: str) -> frozenset[str]:
    """Return the attributes that must not exist after a pass."""
    return frozenset(row.name for row in TABLE.values() if pass_name in row.until.split(", "))


def _report_ended(operation: Operation, ended: frozenset[str], ended_by: str) -> None:
    for name in sorted(ended.intersection(operation.attributes)):
        named = symbol_name(operation) if "sym_name" in operation.attributes else ""
        shown = f"'{operation.name}' op" + (f" @{named}" if named else "")
        operation.location.emit_error(
            f"{shown} has attribute '{name}' after {ended_by}: this pass must erase it, or dialects/core/"
            "ir_attributes.py must name a later pass in the attribute's row"
        )


def _parts(operation: Operation) -> Iterator[Operation]:
    """Yield the operation, and the functions and nested modules of a module."""
    yield operation
    if operation.name in _MODULES:
        for inner in operations_of(body_of(operation)):
            yield from _parts(inner)


def _check_signature(function: Operation) -> bool:
    """Check that the relax types of a signature are meaningful: their symbolic sizes must agree with the tensor."""
    type_ = function_type_of(function)
    for what, types in (("parameter", type_.inputs), ("result", type_.results)):
        for position, each in enumerate(types):
            try:
                decode(each)
            except TypeProblem as problem:
                function.location.emit_error(f"'func.func' op @{symbol_name(function)} {what} {position}: {problem}")
                return False
    return True


def _walk(operation: Operation) -> Iterator[Operation]:
    """Yield a module and its contents.

    The code of LLVM functions is skipped: it is long and has none of this project's attributes.
    """
    yield operation
    if operation.name in _MODULES:
        for inner in operations_of(body_of(operation)):
            yield from _walk(inner)
    elif operation.name != "llvm.func":
        yield from operations_in(operation)


def _is_marked(operation: Operation) -> bool:
    """Check whether an attribute's name has a dot, like attributes of dialects.

    Few operations have such an attribute.
    """
    try:
        return "." in "".join(operation.attributes)
    except RuntimeError as error:
        if not is_not_utf8(error):
            raise
        return False


def _check_attributes(operation: Operation) -> bool:
    # A function's own attributes are checked with the rest of the function.
    problems = [] if operation.name == "func.func" else list(attribute_problems(operation.name, operation.attributes))
    for problem in problems:
        operation.location.emit_error(f"'{operation.name}' op {problem}")
    return not problems


def _check_arguments(function: Operation) -> bool:
    if "arg_attrs" not in function.attributes:
        return True
    valid = True
    for position, held in enumerate(function.attributes["arg_attrs"]):
        # Only these names are read: the bindings abort on an attribute without a Python class.
        known = {name: held[name] for name in ON_ARGUMENTS if name in held}
        for problem in attribute_problems("", known):
            function.location.emit_error(f"'func.func' op @{symbol_name(function)} argument #{position} {problem}")
            valid = False
    return valid
