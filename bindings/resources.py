# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes of `dense_resource` attributes. The bindings cannot return them, so they are read from bytecode."""

from __future__ import annotations

import io
from typing import NamedTuple

from .ir import Attribute
from .mlir import ir

#: Number of the bytecode section with resource data, and the flag bit of aligned sections.
_RESOURCES, _IS_ALIGNED = 5, 0x80
_MAGIC_BYTES = 4


class Blob(NamedTuple):
    """Contents of a resource."""

    alignment: int
    data: memoryview


def blob_of(attribute: Attribute) -> Blob | None:
    """Return the data of a `dense_resource` attribute, or None if its module has no such resource."""
    stream = io.BytesIO()
    with attribute.context, ir.Location.unknown():
        module = ir.Module.create()
        module.operation.attributes["relax.value"] = attribute
        module.operation.write_bytecode(stream)
    if not (section := _resource_section(stream.getbuffer())):
        return None
    alignment, at = _number(section, 0)
    size, _ = _number(section, at)
    return Blob(alignment, section[len(section) - size :])


def _resource_section(bytecode: memoryview) -> memoryview:
    _, at = _number(bytecode, _MAGIC_BYTES)  # skip the version
    while bytecode[at]:  # skip the producer's name
        at += 1
    at += 1
    while at < len(bytecode):
        kind = bytecode[at]
        size, at = _number(bytecode, at + 1)
        if kind & _IS_ALIGNED:
            alignment, at = _number(bytecode, at)
            at += -at % alignment
        if kind & ~_IS_ALIGNED == _RESOURCES:
            return bytecode[at : at + size]
        at += size
    return memoryview(b"")


def _number(data: memoryview, at: int) -> tuple[int, int]:
    """Decode a variable-length number at an offset, and return the number and its end.

    The number has one to nine bytes. The trailing zeros of the first byte give the number of following bytes.
    """
    if (first := data[at]) == 0:
        return int.from_bytes(data[at + 1 : at + 9], "little"), at + 9
    count = (first & -first).bit_length()
    return int.from_bytes(data[at : at + count], "little") >> count, at + count
