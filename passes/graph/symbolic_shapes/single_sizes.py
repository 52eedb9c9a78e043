# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbolic sizes with one possible value: a reshape of [n, 8] to [1, 8] makes n 1 for all callers."""

from __future__ import annotations

from ....bindings.diagnostics import warn
from ....bindings.ir import Operation
from ....bindings.navigation import body_of, functions_in, has_body, is_private
from ....bindings.rewriting import located_error
from ....dialects.core.call_graph import UNITS
from ....dialects.core.size_bounds import symbol_ranges
from ....dialects.core.substitute import symbols_of

#: Operation that users write to check a size.
_CHECK = "relax.match_cast"


def warn_of_single_sizes(module: Operation) -> None:
    """Warn of sizes that callers seem to choose but cannot. Raise RelaxError if a function can never return."""
    for function in functions_in(module):
        if has_body(function) and not is_private(function) and not any(name in function.attributes for name in UNITS):
            _warn_of(function)


def _warn_of(function: Operation) -> None:
    passed = {name for argument in body_of(function).arguments for name in symbols_of(argument.type)}
    if not passed:
        return
    from .function_shapes import FunctionShapes  # most programs have fixed sizes

    equations, ranges = FunctionShapes(function).equations, symbol_ranges(function)
    for name in sorted(passed & equations.answers.keys()):
        equation = equations.answers[name].equation
        size, operation = equations.resolve(equations.answers[name].size), equation.operation
        if not isinstance(size, int) or operation.name == _CHECK:
            continue
        least, most = ranges.get(name, (size, size))
        needs = f"'{operation.name}' op needs {equation}: {name} can only be {size}"
        if not least <= size <= most:
            raise located_error(f"{needs}, but is declared from {least} to {most}", operation.location)
        fails = f"calls with another size will fail; bind {name} to {size}, or change the operator"
        warn(f"{needs}, {fails}", operation.location)
