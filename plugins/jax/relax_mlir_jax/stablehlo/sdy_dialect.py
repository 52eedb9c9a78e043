# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of Shardy's dialect, sdy, in StableHLO modules. The bindings do not have the dialect."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_END = r"( loc\(.*\))?$"
_MESH = re.compile(r'sdy\.mesh @("[^"]*"|\S+) = (<.*?>)(?: \{.*\})?' + _END)
_CONSTRAINT = re.compile(r"sdy\.(?:sharding_constraint|reshard) (%\S+) (<.*>) : (\S.*?)" + _END)
_CALL = re.compile(r"\b(?:func\.)?call (@\S+)\((.*?)\) : ")
_RETURN = re.compile(r"sdy\.return(?: (.*?) : (.*?))?" + _END)
_MANUAL = re.compile(
    r"sdy\.manual_computation\((?P<operands>.*?)\) in_shardings=(?P<in_shardings>\[.*\]) "
    r"out_shardings=(?P<out_shardings>\[.*\]) manual_axes=(?P<manual_axes>\{.*?\}) \((?P<arguments>.*)\) \{$"
)


def generic_text(text: str) -> str:
    """Return the text with Shardy's operations in the generic form, in the same lines."""
    return "\n".join(_generic_lines(text)) if "sdy." in text else text


def _generic_lines(text: str) -> Iterator[str]:
    #: Indentation and attributes of the operations around a line.
    regions: list[tuple[str, str]] = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        if match := _MANUAL.search(line):
            names = ("in_shardings", "out_shardings", "manual_axes")
            regions.append((indent, ", ".join(f"{name} = {json.dumps(match[name])}" for name in names)))
            operation = f'"sdy.manual_computation"({match["operands"]})'
            yield f"{line[: match.start()]}{operation} ({{ ^bb0({match['arguments']}):"
        elif regions and line.startswith(f"{regions[-1][0]}}} : ("):
            start, attributes = regions.pop()
            yield f"{start}}}) {{{attributes}}}{line[len(start) + 1 :]}"
        else:
            if regions:
                # In a region of an unregistered operation, MLIR's verifier does not find functions.
                line = _CALL.sub(r'"sdy.call"(\2) {callee = \1} : ', line)
            line = _MESH.sub(_generic_mesh, line)
            line = _CONSTRAINT.sub(_generic_constraint, line)
            yield _RETURN.sub(r'"sdy.return"(\1) : (\2) -> ()\3', line)


def _generic_mesh(match: re.Match[str]) -> str:
    name = match[1].strip('"')
    return f'"sdy.mesh"() {{sym_name = {json.dumps(name)}, mesh = {json.dumps(match[2])}}} : () -> (){match[3] or ""}'


def _generic_constraint(match: re.Match[str]) -> str:
    operand, sharding, type_, end = match.groups()
    return (
        f'"sdy.sharding_constraint"({operand}) {{sharding = {json.dumps(sharding)}}} : ({type_}) -> {type_}{end or ""}'
    )
