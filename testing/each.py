# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first wrong tensor: what each kernel and part of a program gives, beside the reference or another program.

A kernel is called alone with right inputs: its own error, *isolated*, is told apart from the one that its value has in
the program, *accumulated*. What it is defined as, the graph as it was lowered up to there, is interpreted: where that
is another value than the model's, or the other program's, a rewrite is at fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from ..bindings.diagnostics import origins
from ..bindings.ir import Operation
from ..compilation.compiling import compile
from ..frontends.module import Module
from ..support.errors import OptionError
from ..support.registry import table
from ..support.suggest import counted
from ..targets.core.code import USUAL_LEVEL
from .program_values import RESULTS, Arrays, ByNode, ProgramValues
from .verdicts import Error, error_of

if TYPE_CHECKING:
    from ..passes.partition_stages import Wanted

#: What can be wrong.
REWRITTEN = "a rewrite of the graph, or a rule, gives another value than the model"
ACCUMULATED = "accumulated: its inputs are wrong already"
OWN = "its code gives another value than its definition, for the same inputs"
IN_PROGRAM = "it is wrong in the program"
_COARSE = 0.1
#: How far a value may be, relative to its largest number, by element type.
TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}


class Observed(NamedTuple):
    """What a kernel or a part gives."""

    #: The model's nodes, the last one is what it gives.
    nodes: tuple[str, ...]
    #: The function or part.
    name: str
    operators: tuple[str, ...]
    #: Of the program's value, beside the model's or the other program's; its definition's where they have none.
    accumulated: Error
    #: Of the kernel with right inputs; None where it cannot be called alone.
    isolated: Error | None
    #: Of its definition, beside the model or the other program; None where that has no such value.
    rewritten: Error | None
    #: What is wrong; "" for nothing.
    problem: str = ""
    #: What it is given where all is right, and what it should give then.
    inputs: tuple[Any, ...] = ()
    expected: tuple[Any, ...] = ()
    #: Which of the program's calls it is.
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
    """What each kernel and part of the module's "main" gives for these arguments, in the program's order."""
    values = observed(module, arguments, target=target, partition=partition, opt_level=opt_level)
    return list(compared(values, values.of_model(), tolerance))


def observed(
    module: Module, arguments: Sequence[Any], *, target: str, partition: Wanted, opt_level: int = USUAL_LEVEL
) -> ProgramValues:
    """The values of the module's "main"."""
    program = compile(module, target, partition=partition, opt_level=opt_level, cache=False, observe=True)
    if "main" not in program:
        raise OptionError("the module has no function 'main'")
    return ProgramValues(program, "main", arguments)


def compared(values: ProgramValues, other: ByNode, tolerance: float | None, by: str = "") -> Iterator[Observed]:
    """Each value of a program, beside those of the model, or of another program of the name `by`."""
    (found, _), (right, given, results) = values.found(), values.right()
    known_results = next(iter(other.get(RESULTS, ())), None)
    is_same = known_results is not None and not is_far(results, known_results, tolerance)
    for place, (call, nodes) in enumerate(zip(values.calls, values.nodes, strict=True)):
        wanted, inputs = right[place], given[place]
        if wanted is None:
            continue  # it was not reached
        of_node = other.get(nodes[-1], ()) if nodes else ()
        alike = [each for each in of_node if _is_alike(each, wanted)]
        known = min(alike, key=lambda each: error_of(wanted, each).absolute, default=None)
        if known is not None and is_same and len(of_node) > 1 and is_far(wanted, known, tolerance):
            known = None  # several have this name, and what is returned is the same: this one is another value
        isolated, refused = values.alone(place, inputs)
        problem = _problem(found[place], isolated, wanted, known, tolerance, by, refused)
        yield Observed(
            nodes, _name(call), _operators(call), error_of(found[place], wanted if known is None else known),
            None if isolated is None else error_of(isolated, wanted),
            None if known is None else error_of(wanted, known), problem, inputs, tuple(wanted), place,
        )  # fmt: skip


def _problem(
    found: Arrays,
    isolated: Arrays | None,
    wanted: Arrays,
    known: Arrays | None,
    tolerance: float | None,
    by: str,
    refused: str,
) -> str:
    if known is not None and is_far(wanted, known, tolerance):
        return f"{by} gives another value than what this is defined as" if by else REWRITTEN
    if isolated is not None and is_far(isolated, wanted, tolerance):
        return OWN
    if refused:
        return refused
    if is_far(found, wanted if known is None else known, tolerance):
        return IN_PROGRAM if isolated is None else ACCUMULATED
    return ""


def first_wrong(values: Sequence[Observed]) -> Observed | None:
    """The first value that is wrong by itself; or, where each is right alone, the first that has become so."""
    return next((each for each in values if each.problem and each.problem != ACCUMULATED), None) or next(
        (each for each in values if each.problem), None
    )


def is_far(found: Arrays, wanted: Arrays, tolerance: float | None) -> bool:
    """Whether values are further from what they should be than right code gets."""
    return len(found) != len(wanted) or any(_is_far(*pair, tolerance) for pair in zip(found, wanted, strict=True))


def _is_far(found: Any, wanted: Any, tolerance: float | None) -> bool:
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
    """Whether they are arrays of the same sizes and types."""
    kinds = ([(a.shape, a.dtype) for a in arrays if isinstance(a, numpy.ndarray)] for arrays in (one, other))
    first, second = kinds
    return first == second and len(first) == len(one)


def _name(call: Operation) -> str:
    """The function, of a part with its module: `part::function`."""
    if "func" not in call.attributes:
        return call.name
    found = call.attributes["func"].value
    return found if isinstance(found, str) else "::".join(found)


def _operators(call: Operation) -> tuple[str, ...]:
    return tuple(origin.operator for origin in origins(call.location) if origin.operator)


def report(values: Sequence[Observed]) -> str:
    """A line for each value, and what is wrong at its end."""
    rows: list[Sequence[str]] = [("node", "kernel or part", "isolated", "accumulated", "")]
    rows += [(*cells(value), value.problem) for value in values]
    return table(*rows) + "\n"


def cells(value: Observed) -> tuple[str, str, str, str]:
    """Node, kernel and errors, as text."""
    errors = ("-" if error is None else f"{error.absolute:.3g}" for error in (value.isolated, value.accumulated))
    isolated, accumulated = errors
    return value.nodes[-1] if value.nodes else "-", value.name, isolated, accumulated


def counts(values: Sequence[Observed], other: ByNode, by: str) -> str:
    """How many values both have; the others are no errors."""
    both = sum(each.rewritten is not None for each in values)
    rest = len(set(other) - {RESULTS} - {each.nodes[-1] for each in values if each.nodes})
    return f"{counted(both, 'value')} of both, {len(values) - both} of this program alone, {rest} of {by} alone\n"
