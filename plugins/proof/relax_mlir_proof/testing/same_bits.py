# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of two programs to the last bit, with the first node of the model that differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from relax_mlir.runtime import Executable
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir.runtime.manifest import PassedValue, Signature, parse_signature
from relax_mlir.support.errors import OptionError, RelaxError

from .array_bits import ArrayDifference, first_difference
from .program_values import ProgramValues, flat_results, passed_argument

_FIRST, _SECOND = "the first program", "the second program"


@dataclass(frozen=True)
class SameBits:
    """Result of a comparison. It is true if all results are equal to the last bit."""

    #: First difference of the results, or None.
    difference: ArrayDifference | None = None
    #: First node of the model with other values. Empty if it is not known.
    node: str = ""
    #: Kernel or part that computes the node in the first program, and the difference of its values.
    kernel: str = ""
    node_difference: ArrayDifference | None = None
    #: Reason why no node is named.
    advice: str = ""

    def __bool__(self) -> bool:
        return self.difference is None

    def __str__(self) -> str:
        if self.difference is None:
            return "all results have the same bits"
        lines = [self.difference.between(_FIRST, _SECOND)]
        if self.node_difference is not None:
            words = self.node_difference.between(_FIRST, _SECOND)
            lines.append(f"the first node that differs is {self.node} ({self.kernel}): {words}")
        return "\n".join([*lines, *filter(None, [self.advice])])


def same_bits(a: Executable, b: Executable, *arguments: object, function: str = "main") -> SameBits:
    """Call a function of two programs, and compare the results to the last bit.

    The programs may have other targets, options and numbers of threads. Any NaN equals any NaN; 0 and -0 differ. If
    both programs were compiled with `observe=True`, the result names the first node of the model with other values.

        assert rx.same_bits(one, other, x), rx.same_bits(one, other, x)

    Raise RelaxError if the programs have different signatures, or refuse the arguments.
    """
    programs: tuple[object, ...] = (a, b)
    for position, program in enumerate(programs):
        if not isinstance(program, Executable):
            which = ("first", "second")[position]
            raise OptionError(
                f"rx.same_bits compares two programs of rx.compile or rx.runtime.load, "
                f"and the {which} argument is a {type(program).__name__}"
            )
    _check_signatures(a, b, function)
    results = [_call(*executables, function, arguments) for executables in ((a, _FIRST), (b, _SECOND))]
    if (difference := first_difference(*results)) is None:
        return SameBits()
    if a.definitions is None or b.definitions is None:
        advice = "compile both programs with observe=True to see the first node of the model that differs"
        return SameBits(difference, advice=advice)
    return _with_node(a, b, function, arguments, difference)


def _check_signatures(a: Executable, b: Executable, function: str) -> None:
    one, other = (parse_signature(executable.signature(function)) for executable in (a, b))
    for what, of_one, of_other in (("arguments", one.inputs, other.inputs), ("results", one.outputs, other.outputs)):
        if len(of_one) != len(of_other):
            raise OptionError(
                f"rx.same_bits: '{function}' has {len(of_one)} {what} in {_FIRST} and {len(of_other)} in {_SECOND}"
            )
        for place, pair in enumerate(zip(of_one, of_other, strict=True)):
            if not _are_alike(*pair):
                first, second = map(_show, pair)
                raise OptionError(
                    f"rx.same_bits: '{function}' has different signatures: {what[:-1]} {place} is {first} in {_FIRST} "
                    f"and {second} in {_SECOND}"
                )


def _are_alike(one: PassedValue, other: PassedValue) -> bool:
    """Check whether values of both types may be equal. A size may be dynamic in one of them."""
    if (one.kind, one.dtype, one.holds, len(one.shape)) != (other.kind, other.dtype, other.holds, len(other.shape)):
        return False
    pairs = zip(one.shape, other.shape, strict=True)
    return all(a == b or not (isinstance(a, int) and isinstance(b, int)) for a, b in pairs)


def _show(value: PassedValue) -> str:
    return f"{value.holds or value.dtype} {list(value.shape)}" if value.kind == "tensor" else f"a {value.kind}"


def _call(program: Executable, name: str, function: str, arguments: Sequence[object]) -> list[Any]:
    """Return the results of a call as a flat list of arrays. The call gets copies of the arguments."""
    signature = parse_signature(program.signature(function))
    try:
        found = program.copying()[function](*map(passed_argument, arguments))
    except (TypeError, ValueError, RelaxError) as error:
        raise RelaxError(f"rx.same_bits: {name} refuses the arguments of '{function}': {error}") from error
    return _arrays(found, signature)


def _arrays(found: Any, signature: Signature) -> list[Any]:
    flat = flat_results(found)
    holds = [output.holds or None for output in signature.outputs] if len(flat) == len(signature.outputs) else []
    stated = holds or [None] * len(flat)
    return [_array(each, hold) for each, hold in zip(flat, stated, strict=True)]


def _array(value: Any, holds: str | None) -> Any:
    if value is None:
        return None
    return to_numpy(value, holds) if hasattr(value, "__dlpack__") else numpy.asarray(value)


def _with_node(
    a: Executable, b: Executable, function: str, arguments: Sequence[object], difference: ArrayDifference
) -> SameBits:
    """Return the result with the first node that differs, in the order of the first program."""
    one, other = ProgramValues(a, function, arguments, _FIRST), ProgramValues(b, function, arguments, _SECOND)
    (found, _), values = one.found(), other.by_node()
    seen: dict[str, int] = {}
    for nodes, kernel, of_one in zip(one.nodes, one.names, found, strict=True):
        if not nodes:
            continue
        position = seen.setdefault(nodes[-1], 0)
        seen[nodes[-1]] += 1
        of_other = values.get(nodes[-1], ())
        if one.counts[nodes[-1]] != len(of_other) or not _have_types(of_one, of_other[position]):
            continue  # The programs compute other values for the node, such as a blocked layout.
        if (differs := first_difference(of_one, of_other[position])) is not None:
            return SameBits(difference, nodes[-1], kernel, differs)
    advice = "no node that both programs show differs: they fuse or lay out the model in other ways"
    return SameBits(difference, advice=advice)


def _have_types(one: Sequence[Any], other: Sequence[Any]) -> bool:
    types = ([(array.shape, array.dtype) if array is not None else None for array in arrays] for arrays in (one, other))
    first, second = types
    return first == second
