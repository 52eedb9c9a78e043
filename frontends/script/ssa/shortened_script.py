# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shortening of a script before Python parses it: large constants at the end, and repeated types of results."""

from __future__ import annotations

import ast
import base64
import re
from typing import NamedTuple

from ....bindings.ir import Attribute, Context
from ....bindings.mlir import ir, parse_type
from ....dialects.core.elements import byte_count, resource_of_bytes
from ..common.source import Source

# The type annotation of an operator's result: half of the work of Python's parser.
_ANNOTATED = re.compile(r"^( +\w+: )(R\.Tensor\([^#\n]*?\))( = R\.)", re.MULTILINE)
_TYPE = "_type"
_TEXT = r'("(?:[^"\\]|\\["\\])+")'
_LINE = re.compile(rf'( *)I\.resource\({_TEXT}, {_TEXT}, "([A-Za-z0-9+/=]*)"\)')


class Resource(NamedTuple):
    """Bytes of a constant, and their position."""

    name: str
    type: str
    data: str
    line: int


class Shortened:
    """Text of a script with names in place of long parts, at the same positions."""

    def __init__(self, source: Source):
        self._source = source
        self._resources: list[Resource] = []
        self._read: dict[str, Attribute] | None = None
        #: Types in the original text, by the names that replace them.
        self.types: dict[str, str] = {}
        self._names: dict[str, str] = {}
        text = self._without_resources(source) if "I.resource(" in source.text else source.text
        self.text = _ANNOTATED.sub(self._named, text)

    def resources(self, context: Context) -> dict[str, Attribute]:
        """Return the large constants by name.

        They are read once, since a second read would give other handles. Raises ScriptError.
        """
        if self._read is None:
            self._read = {
                resource.name: _read_resource(self._source, resource, context) for resource in self._resources
            }
        return self._read

    def _without_resources(self, source: Source) -> str:
        lines = list(source.lines)
        for number, line in enumerate(lines, start=1):
            if (match := _LINE.fullmatch(line)) is not None:
                margin, *quoted, data = match.groups()
                name, type_ = map(ast.literal_eval, quoted)
                self._resources.append(Resource(name, type_, data, number))
                lines[number - 1] = f"{margin}pass"
        return "\n".join(lines)

    def _named(self, match: re.Match[str]) -> str:
        before, text, after = match.groups()
        if (name := self._names.get(text)) is None:
            name = self._names[text] = f"{_TYPE}{len(self._names)}"
            self.types[name] = text
        return f"{before}{name.ljust(len(text))}{after}"


def _read_resource(source: Source, resource: Resource, context: Context) -> Attribute:
    """Return the attribute of a large constant. Raises ScriptError."""
    place = ast.Pass(lineno=resource.line, col_offset=0)
    try:
        type_, data = parse_type(resource.type, context), base64.b64decode(resource.data, validate=True)
    except ValueError as error:
        raise source.problem(place, f"resource '{resource.name}': {error}") from None
    if not isinstance(type_, (ir.RankedTensorType, ir.VectorType)) or not type_.has_static_shape:
        raise source.problem(place, f"resource '{resource.name}': {type_} is not a tensor with static sizes")
    if (expected := byte_count(type_)) != len(data):
        message = f"resource '{resource.name}' has {len(data)} bytes, and {type_} {expected}"
        raise source.problem(place, message)
    return resource_of_bytes(data, type_, resource.name)
