# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of IR for upstream tools with --dump-irdl, and back. IRDL cannot express two things:

- IRDL allows no dots in names: `relax.nn.conv2d` is spelt `relax.nn_conv2d`.
- In IRDL the values of a variadic operand share one type. The operand becomes RUNS operands, one for each run of
  values of the same type. The operation has their sizes (operandSegmentSizes, resultSegmentSizes).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby

from ...bindings.diagnostics import locate
from ...bindings.ir import Operation, Type
from ...bindings.irdl import RUNS, irdl_name
from ...bindings.mlir import ir
from ...bindings.navigation import operations_in
from ...dialects.core.dialect import all_ops
from ...dialects.core.opdef import OpDef, OperandDef
from ...dialects.core.operator import group_sizes
from ...support.errors import RelaxError

_OPERANDS, _RESULTS = "operandSegmentSizes", "resultSegmentSizes"
# Operators defined in Python always print as `"dialect.name"(`. In a string the quote would be escaped.
_OP_NAME = re.compile(r'(?<!\\)"([a-z_][\w.]*)"(?=\()')


def _short_name(definition: OpDef) -> str:
    return f"{definition.dialect.name}.{irdl_name(definition.name)}"


def to_irdl(text: str) -> str:
    """Convert operator names to IRDL's spelling."""
    names = {definition.full_name: _short_name(definition) for definition in all_ops()}
    return _OP_NAME.sub(lambda match: f'"{names.get(match[1], match[1])}"', text)


def add_run_sizes(root: Operation) -> None:
    """Add the sizes of runs to every operation with a variadic operand or result."""
    by_name = {definition.full_name: definition for definition in all_ops()}

    # The operations are listed first, because exceptions inside of MLIR's walk change their type.
    for operation in operations_in(root):
        if (definition := by_name.get(operation.name)) is not None:
            _add_sizes(operation, _OPERANDS, definition.operands, [value.type for value in operation.operands])
            _add_sizes(operation, _RESULTS, definition.results, list(operation.results.types))


def _add_sizes(operation: Operation, attribute: str, declared: Sequence[OperandDef], types: list[Type]) -> None:
    if all(item.arity != "variadic" for item in declared):
        return
    sizes: list[int] = []
    start = 0
    for item, size in zip(declared, group_sizes(declared, len(types), operation), strict=True):
        group = types[start : start + size]
        start += size
        sizes += _run_lengths(group, operation) if item.arity == "variadic" else [size]
    operation.attributes[attribute] = ir.DenseI32ArrayAttr.get(sizes, operation.context)


def _run_lengths(types: list[Type], operation: Operation) -> list[int]:
    runs = [len(list(run)) for _, run in groupby(types)]
    if len(runs) > RUNS:
        file, line, column, _ = locate(operation.location)
        problem = f"'{operation.name}' has {len(runs)} runs of values of the same type, more than {RUNS}"
        raise RelaxError(f"--irdl-names: {problem}", location=f"{file}:{line}:{column}" if file else "")
    return runs + [0] * (RUNS - len(runs))


def from_irdl(text: str) -> str:
    """Convert text of `to_irdl` back, and remove the sizes of runs."""
    by_short_name = {_short_name(definition): definition for definition in all_ops()}
    return "\n".join(_line_from_irdl(line, by_short_name) for line in text.split("\n"))


def _line_from_irdl(line: str, by_short_name: Mapping[str, OpDef]) -> str:
    # MLIR prints an operation without regions on one line of any length.
    match = _OP_NAME.search(line)
    definition = by_short_name.get(match[1]) if match else None
    if match is None or definition is None:
        return line
    line = line[: match.start(1)] + definition.full_name + line[match.end(1) :]
    for attribute, declared in ((_OPERANDS, definition.operands), (_RESULTS, definition.results)):
        if any(item.arity == "variadic" for item in declared):
            line = _without_runs(line, attribute, declared)
    return line


def _without_runs(line: str, attribute: str, declared: Sequence[OperandDef]) -> str:
    if (match := re.search(rf"(, )?{attribute} = array<i32: ([\d, ]*)>(, )?", line)) is None:
        return line
    sizes = iter(int(size) for size in match[2].split(","))
    merged = [sum(next(sizes, 0) for _ in range(RUNS if item.arity == "variadic" else 1)) for item in declared]
    if sum(item.arity != "single" for item in declared) > 1:
        kept = f"{attribute} = array<i32: {', '.join(map(str, merged))}>"
        return line[: match.start()] + (match[1] or "") + kept + (match[3] or "") + line[match.end() :]
    between = ", " if match[1] and match[3] else ""
    return (line[: match.start()] + between + line[match.end() :]).replace(") {} :", ") :", 1)
