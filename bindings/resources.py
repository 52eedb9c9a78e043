# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bytes of `dense_resource` attributes, which the bindings take and do not give back: bytecode has them."""

from __future__ import annotations

import io
from typing import NamedTuple

from .ir import Attribute
from .mlir import ir

#: Of a section with the bytes of resources; its number's highest bit says that it is aligned.
_RESOURCES, _IS_ALIGNED = 5, 0x80
_MAGIC_BYTES = 4


class Blob(NamedTuple):
    """What a resource holds."""

    alignment: int
    data: memoryview


def blob_of(attribute: Attribute) -> Blob | None:
    """What a `dense_resource` attribute refers to; None where its module has no such resource."""
    stream = io.BytesIO()
    with attribute.context, ir.Location.unknown():
        module = ir.Module.create()
        module.operation.attributes["relax.value"] = attribute
        module.operation.write_bytecode(stream)
    section = _resource_section(stream.getbuffer())
    if not section:
        return None
    alignment, at = _number(section, 0)
    size, _ = _number(section, at)
    return Blob(alignment, section[len(section) - size :])


def _resource_section(bytecode: memoryview) -> memoryview:
    _, at = _number(bytecode, _MAGIC_BYTES)  # the version
    while bytecode[at]:  # the producer's name
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
    """A number of one to nine bytes, and where it ends: the zeros at the first byte's end tell how many follow."""
    first = data[at]
    if first == 0:
        return int.from_bytes(data[at + 1 : at + 9], "little"), at + 9
    count = (first & -first).bit_length()
    return int.from_bytes(data[at : at + count], "little") >> count, at + count
