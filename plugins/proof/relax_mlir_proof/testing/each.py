# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search for the first wrong tensor: results of each kernel and part, compared with the reference or another program.

A kernel called separately with right inputs shows its own error (*isolated*). Its value in the program has the
*accumulated* error. The kernel's definition, the graph as lowered so far, is interpreted. If the definition differs
from the model, or from the other program, a rewrite is at fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from relax_mlir.bindings.diagnostics import origins
from relax_mlir.bindings.ir import Operation
from relax_mlir.compilation.compiling import compile
from relax_mlir.frontends.module import Module
from relax_mlir.support.errors import OptionError
from relax_mlir.support.registry import table
from relax_mlir.support.suggest import counted
from relax_mlir.targets.core.code_options import USUAL_LEVEL

from .program_values import RESULTS, Arrays, ByNode, ProgramValues, called_name
from .verdicts import Error, error_of

if TYPE_CHECKING:
    from relax_mlir.passes.graph.partition_stages import Wanted

#: Descriptions of faults.
REWRITTEN = "a rewrite of the graph, or a rule, gives another value than the model"
ACCUMULATED = "accumulated: its inputs are wrong already"
OWN = "its code gives another value than its definition, for the same inputs"
IN_PROGRAM = "it is wrong in the program"
_COARSE = 0.1
#: Allowed error relative to a value's largest number, by element type.
TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}


class Observed(NamedTuple):
    """Errors of a kernel's or a part's results."""

    #: Nodes of the model. The last one is the result.
    nodes: tuple[str, ...]
    #: Name of the function or part.
    name: str
    operators: tuple[str, ...]
    #: Error of the program's value against the model, the other program, or else the definition.
    accumulated: Error
    #: Error of the kernel with right inputs, or None if it cannot be called separately.
    isolated: Error | None
    #: Error of the definition against the model or the other program, or None if they lack the value.
    rewritten: Error | None
    #: Description of the fault, or "".
    problem: str = ""
    #: Right inputs of the kernel, and the expected results.
    inputs: tuple[Any, ...] = ()
    expected: tuple[Any, ...] = ()
    #: Index of the call in the program.
    place: int = 0


def each(
    module: Module,
    arguments: Sequence[Any],
    *,
    target: str = "llvm",
    partition: Wanted = (),
    opt_level: int = USUAL_LEVEL,
    tolerance: float | None = None,
) -> list[Observed]:
    """Return the errors of each kernel and part of the module's "main" for these arguments, in program order."""
    values = observed(module, arguments, target=target, partition=partition, opt_level=opt_level)
    return list(compared(values, values.of_model(), tolerance))


def observed(
    module: Module, arguments: Sequence[Any], *, target: str, partition: Wanted, opt_level: int = USUAL_LEVEL
) -> ProgramValues:
    """Compile the module and return the values of its "main"."""
    program = compile(module, target, partition=partition, opt_level=opt_level, cache=False, observe=True)
    if "main" not in program:
        raise OptionError("the module has no function 'main'")
    return ProgramValues(program, "main", arguments)


def compared(values: ProgramValues, other: ByNode, tolerance: float | None, by: str = "") -> Iterator[Observed]:
    """Yield the errors of a program's values against the model, or another program of the name `by`."""
    (found, _), (right, given, results) = values.found(), values.right()
    known_results = next(iter(other.get(RESULTS, ())), None)
    is_same = known_results is not None and not is_far(results, known_results, tolerance)
    for place, (call, nodes) in enumerate(zip(values.calls, values.nodes, strict=True)):
        wanted, inputs = right[place], given[place]
        if wanted is None:
            continue  # the call was not reached
        of_node = other.get(nodes[-1], ()) if nodes else ()
        alike = [each for each in of_node if _is_alike(each, wanted)]
        known = min(alike, key=lambda each: error_of(wanted, each).absolute, default=None)
        if known is not None and is_same and len(of_node) > 1 and is_far(wanted, known, tolerance):
            known = None  # Several nodes have this name and the results agree, so this one is another value.
        isolated, refused = values.alone(place, inputs)
        problem = _problem(found[place], isolated, wanted, known, tolerance, by, refused)
        yield Observed(
            nodes, called_name(call), _operators(call), error_of(found[place], wanted if known is None else known),
            None if isolated is None else error_of(isolated, wanted),
            None if known is None else error_of(wanted, known), problem, inputs, tuple(wanted), place,
        )  # fmt: skip


def _problem(
    found: Arrays,
    isolated: Arrays | None,
    arrays: Arrays,
    known: Arrays | None,
    tolerance: float | None,
    by: str,
    refused: str,
) -> str:
    if known is not None and is_far(arrays, known, tolerance):
        return f"{by} gives another value than the definition" if by else REWRITTEN
    if isolated is not None and is_far(isolated, arrays, tolerance):
        return OWN
    if refused:
        return refused
    if is_far(found, arrays if known is None else known, tolerance):
        return IN_PROGRAM if isolated is None else ACCUMULATED
    return ""


def first_wrong(values: Sequence[Observed]) -> Observed | None:
    """Return the first value that is wrong by itself, or else the first with an accumulated error."""
    return next((value for value in values if value.problem and value.problem != ACCUMULATED), None) or next(
        (value for value in values if value.problem), None
    )


def is_far(found: Arrays, arrays: Arrays, tolerance: float | None) -> bool:
    """Check whether values exceed the tolerance of right code."""
    return len(found) != len(arrays) or any(_is_far(*pair, tolerance) for pair in zip(found, arrays, strict=True))


def _is_far(found: numpy.ndarray, wanted: numpy.ndarray, tolerance: float | None) -> bool:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return True
    if wanted.dtype.kind in "biu":
        return bool((found != wanted).any())
    a, b = found.astype("float64"), wanted.astype("float64")
    relative = TOLERANCES.get(wanted.dtype.name, _COARSE) if tolerance is None else tolerance
    allowed = relative * float(numpy.abs(b[numpy.isfinite(b)]).max(initial=0.0))
    with numpy.errstate(all="ignore"):
        return not bool(((a == b) | (numpy.isnan(a) & numpy.isnan(b)) | (numpy.abs(a - b) <= allowed)).all())


def _is_alike(one: Arrays, other: Arrays) -> bool:
    """Check whether two lists have arrays of the same sizes and types."""
    kinds = ([(a.shape, a.dtype) for a in arrays if isinstance(a, numpy.ndarray)] for arrays in (one, other))
    first, second = kinds
    return first == second and len(first) == len(one)


def _operators(call: Operation) -> tuple[str, ...]:
    return tuple(origin.operator for origin in origins(call.location) if origin.operator)


def report(values: Sequence[Observed]) -> str:
    """Return a table with a line per value, which ends with its fault."""
    rows: list[Sequence[str]] = [("node", "kernel or part", "isolated", "accumulated", "")]
    rows += [(*cells(value), value.problem) for value in values]
    return table(*rows) + "\n"


def cells(value: Observed) -> tuple[str, str, str, str]:
    """Return node, kernel and errors as text."""
    errors = ("-" if error is None else f"{error.absolute:.3g}" for error in (value.isolated, value.accumulated))
    isolated, accumulated = errors
    return value.nodes[-1] if value.nodes else "-", value.name, isolated, accumulated


def counts(values: Sequence[Observed], other: ByNode, by: str) -> str:
    """Count the values that both programs have. The others are no errors."""
    both = sum(value.rewritten is not None for value in values)
    rest = len(set(other) - {RESULTS} - {value.nodes[-1] for value in values if value.nodes})
    return f"{counted(both, 'value')} of both, {len(values) - both} of this program alone, {rest} of {by} alone\n"
