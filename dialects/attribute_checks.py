# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of attributes that MLIR reads without verification.

They cover `dense_resource` constants with a byte count that contradicts their type. In bytecode, they also cover affine
maps that use undeclared dimensions or symbols, and texts that are not UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..bindings.affine import unknown_names
from ..bindings.ir import Attribute, Operation
from ..bindings.mlir import ir
from ..bindings.navigation import operations_in
from ..bindings.resources import blob_of
from .core.elements import byte_count, element_bytes, is_resource, resource_name

_SECTION = "dialect_resources"
#: Wider elements are read word by word.
_WORD = 8
#: Bytes in hex, after a word with their alignment.
_BLOB = re.compile(r'"0x([0-9a-fA-F]{8})')
_MOST_ALIGNED = 1 << 16


def may_need_checks(source: str | bytes) -> bool:
    """Check whether a source without parse errors needs further checks.

    MLIR verifies everything in a text except its resources.
    """
    return isinstance(source, bytes) or _SECTION in source


def badly_aligned(source: str) -> tuple[str, int] | None:
    """Return the message and the position of the first alignment in a text that would crash MLIR, or None."""
    start = source.find(_SECTION)
    for match in _BLOB.finditer(source, start) if start >= 0 else ():
        alignment = int.from_bytes(bytes.fromhex(match[1]), "little")
        is_empty = source[match.end() : match.end() + 1] == '"'
        if alignment > _MOST_ALIGNED or (alignment == 0 and not is_empty):
            return (
                f"a resource's alignment, its first four bytes, is {alignment}, and can be 1 to {_MOST_ALIGNED}",
                match.start(),
            )
    return None


def check_attributes(module: Operation) -> bool:
    """Report malformed attributes at their operations. Return True if there are none."""
    problems: dict[Attribute, str | None] = {}
    is_right = True
    for op in (module, *operations_in(module)):
        for attribute in _flatten(_attributes_of(op)):
            if attribute not in problems:
                problems[attribute] = _problem(attribute)
            if problems[attribute]:
                op.location.emit_error(f"'{op.name}' op {problems[attribute]}")
                is_right = False
    return is_right


def _attributes_of(op: Operation) -> Iterator[Attribute]:
    """Yield the attributes of an operation that have a Python class."""
    for name in op.attributes:
        try:
            yield op.attributes[name]
        except TypeError:
            continue  # the bindings have no class for dense complex numbers, which are not resources


def _flatten(attributes: Iterable[Attribute]) -> Iterator[Attribute]:
    """Yield attributes, with arrays and dictionaries replaced by their contents."""
    for attribute in attributes:
        if isinstance(attribute, ir.ArrayAttr):
            yield from _flatten(list(attribute))
        elif isinstance(attribute, ir.DictAttr):
            yield from _flatten([entry.attr for entry in attribute])
        else:
            yield attribute


def _problem(attribute: Attribute) -> str | None:
    if isinstance(attribute, ir.StringAttr):
        return None if _is_text(attribute) else "has a text that is not UTF-8"
    if isinstance(attribute, ir.AffineMapAttr):
        foreign = unknown_names(attribute.value)
        return f"{attribute.value} uses {foreign[0]}, which it does not have" if foreign else None
    return _problem_of_resource(attribute) if is_resource(attribute) else None


def _is_text(attribute: Attribute) -> bool:
    try:
        return isinstance(attribute.value, str)
    except UnicodeDecodeError:
        return False


def _problem_of_resource(attribute: Attribute) -> str | None:
    if (blob := blob_of(attribute)) is None:
        return None  # the elements were omitted, for people to read
    type_ = attribute.type
    what = f"constant dense_resource<{resource_name(attribute)}> : {type_}"
    if not type_.has_static_shape:
        return f"{what} has {len(blob.data)} bytes, and its type does not say how many there are"
    if (needed := byte_count(type_)) is None:
        return None  # elements of a type that this project does not read
    if len(blob.data) != needed:
        return f"{what} needs {needed} bytes, and its resource has {len(blob.data)}"
    least = min(element_bytes(type_.element_type) or 1, _WORD)
    if needed and blob.alignment % least:
        return f"{what} needs an alignment of {least} bytes, and its resource says {blob.alignment}"
    return None
